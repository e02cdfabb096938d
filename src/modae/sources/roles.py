"""Which column of a source is what: features, a target, weights, columns that are passed through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modae.data.rows import Rows
from modae.sources.sources import Source, Wanted
from modae.sources.tables import matrix_of, sliced


@dataclass(frozen=True)
class Roles:
    """What each column is for; of a matrix, every column is a feature.

    ``exact`` says that the features are all columns that are there, so that no other may turn up.
    """

    features: tuple[str, ...] | None = None
    target: str | None = None
    weight: str | None = None
    kept: tuple[str, ...] = ()
    exact: bool = True
    ignored: tuple[str, ...] = ()
    """Columns that are known to be there and are not read."""

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are no features."""
        return tuple(name for name in (self.target, self.weight, *self.kept) if name is not None)

    @property
    def wanted(self) -> Wanted | None:
        """What must be read."""
        return None if self.features is None else Wanted(self.features, self.beside)

    def keeping(self, names: Sequence[str]) -> Roles:
        """The same with columns that are passed through, which are features only if chosen as such."""
        if len(set(names)) < len(names):
            raise ValueError(f"keep must name each column once, got {listed(names)}.")
        features = self.features
        if self.exact and features is not None:
            features = tuple(name for name in features if name not in names)
        return replace(self, features=features, kept=tuple(names))

    def without_weight(self) -> Roles:
        """The same without weights, for who got them before."""
        ignored = self.ignored if self.weight is None else (*self.ignored, self.weight)
        return replace(self, weight=None, ignored=ignored)

    def check(self, names: tuple[str, ...] | None, width: int, expected: int) -> None:
        """Refuse a table that does not have these columns: its names, its width, that of the source."""
        if self.features is None:
            if width != expected:
                raise ValueError(f"there are {width} columns, and the first rows have {expected}.")
            if names is not None:
                raise ValueError(
                    f"the columns have names, {listed(names)}, and those of the first rows have none: "
                    "which is which cannot be known."
                )
            return
        if names is None:
            raise ValueError("the columns have no names, and those of the first rows have.")
        needed, there = (*self.features, *self.beside), set(names)
        missing = [name for name in needed if name not in there]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r}; the columns are {listed(names)}.")
        known = {*needed, *self.ignored}
        extra = sorted(there - known, key=names.index) if self.exact else []
        if extra:
            raise ValueError(
                f"column {extra[0]!r} is not in the first rows: name the features with columns=[...]."
            )


def roles_of(
    source: Source, columns: Iterable[str] | None, target: str | None, weight: str | None
) -> Roles:
    """Roles by what a caller said, checked against the source."""
    names = source.names
    if names is None:
        given = {"columns": columns, "target": target, "weight": weight}
        for parameter, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{parameter}={value!r} names a column, and those of {source.origin} have no names."
                )
        check_source(source, Roles())
        return Roles()
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got the word {columns!r}.")
    chosen = names if columns is None else tuple(columns)
    features = chosen if columns is not None else tuple(n for n in names if n not in (target, weight))
    roles = Roles(features, target, weight, exact=columns is None)
    _check_choice(roles)
    check_source(source, roles)
    return roles


def _check_choice(roles: Roles) -> None:
    features = roles.features or ()
    if not features:
        raise ValueError("columns must name one feature or more.")
    if len(set(features)) < len(features):
        raise ValueError(f"columns must name each feature once, got {listed(features)}.")
    if roles.target is not None and roles.target == roles.weight:
        raise ValueError(f"target and weight are both {roles.target!r}: a column is one or the other.")
    for parameter, name in (("target", roles.target), ("weight", roles.weight)):
        if name is not None and name in features:
            raise ValueError(f"{parameter}={name!r} is also one of columns: it cannot be a feature too.")


def check_source(source: Source, roles: Roles) -> None:
    """Refuse a source, or a file of a folder, that does not have the columns."""
    for part in source.parts or (source,):
        try:
            roles.check(part.names, part.width, source.width)
        except ValueError as reason:
            raise ValueError(f"{part.origin}: {reason}") from None


def first_rows(source: Source, roles: Roles) -> Rows:
    """The first rows as a matrix, in a precision that serves all files of a folder."""
    rows = _rows_of(source.origin, source.sample, roles)
    parts = [_rows_of(part.origin, sliced(part.sample, 0, 0), roles) for part in source.parts]
    dtype = np.result_type(rows.dtype, *(part.dtype for part in parts))
    return rows.astype(dtype, copy=False)


def _rows_of(origin: str, sample: Any, roles: Roles) -> Rows:
    """What is wrong with the first rows is wrong with the source."""
    try:
        return matrix_of(sample, roles.features)
    except ValueError as reason:
        raise ValueError(f"{origin}: {reason}") from None


def listed(names: Sequence[str]) -> str:
    """A few names, in words."""
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
