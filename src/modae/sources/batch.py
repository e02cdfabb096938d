"""One batch: rows, the columns that are no features, and where each row is from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from modae.data.rows import Rows
from modae.sources.frames import as_numpy, copied, joined, labelled, missing_in
from modae.utils.arrays import Array

Origin = tuple[str, int, int]
"""A file (or a place in a sequence), the index of the first row in it, and how many rows are from it."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a source.

    Parameters
    ----------
    rows : matrix of shape (n, n_features)
        float32 or float64; dense (in C order) or sparse (CSR).
    start : int
        Index of the first row in the source.
    names : tuple of str or None
        Names of the columns.
    target, weights : arrays of shape (n,) or None
    kept : mapping of str to array
        Columns that are passed through.
    origins : tuple of Origin
        Where the rows are from.
    like : frame or None
        A table of the library that the source is made of.
    """

    rows: Rows
    start: int
    names: tuple[str, ...] | None = None
    target: Any = None
    weights: Array | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()
    like: Any = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def stop(self) -> int:
        """Index of the row after the last."""
        return self.start + len(self)

    @property
    def table(self) -> Any:
        """The rows with the names of their columns, in a table of the library they are from."""
        return labelled(self.rows, self.names, self.like)

    def cut(self, start: int, stop: int) -> Batch:
        """Some of the rows; ``start`` and ``stop`` count from the first of this batch."""
        if (start, stop) == (0, len(self)):
            return self
        origins = tuple(_cut_origins(self.origins, start, stop))
        parts = self._each(lambda values: values[start:stop])
        return replace(self, start=self.start + start, origins=origins, **parts)

    def copy(self) -> Batch:
        """The same in memory of its own: the next batch may overwrite that of this one."""
        return replace(self, **self._each(copied))

    def _each(self, change: Callable[[Any], Any]) -> dict[str, Any]:
        """Rows, target, weights and kept columns, each changed in the same way."""
        single = {"rows": self.rows, "target": self.target, "weights": self.weights}
        changed = {name: None if part is None else change(part) for name, part in single.items()}
        return changed | {"kept": {name: change(values) for name, values in self.kept.items()}}

    def whole_target(self, name: str) -> np.ndarray:
        """The target; a label that is missing would become a class of its own."""
        missing = missing_in(self.target)
        if missing.any():
            raise ValueError(
                f"target column {name!r}, {self.place_of(int(missing.argmax()))} is missing: fill it, "
                "or leave the row out."
            )
        return as_numpy(copied(self.target))

    def place_of(self, row: int) -> str:
        """Where a row of the batch is from, for messages."""
        for origin, first, length in self.origins:
            if row < length:
                return f"row {first + row:,} of {origin}"
            row -= length
        return f"row {self.start + row:,}"

    def check_finite(self) -> None:
        """Refuse missing and infinite entries, and say where the first one is."""
        entries = self.rows.data if sparse.issparse(self.rows) else self.rows
        if is_finite(entries):
            return
        if sparse.issparse(self.rows):
            place = int(np.flatnonzero(~np.isfinite(self.rows.data))[0])
            row = int(np.searchsorted(self.rows.indptr, place, side="right")) - 1
            column = int(self.rows.indices[place])
        else:
            row, column = map(int, np.argwhere(~np.isfinite(self.rows))[0])
        value, name = self.rows[row, column], column if self.names is None else repr(self.names[column])
        what = "is missing (NaN)" if np.isnan(value) else f"is {value}"
        raise ValueError(
            f"{self.place_of(row)}: column {name} {what}, and every entry must be a finite "
            "number: fill or impute it (sklearn.impute.SimpleImputer), or leave the row or column out."
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Where work on the rows fails because of a missing entry, say which one it is."""
        try:
            yield
        except ValueError:
            self.check_finite()
            raise


def is_finite(values: Array) -> bool:
    """Whether there is no NaN and no infinity: either would be in the sum of squares, a fast pass."""
    flat = values.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.vdot(flat, flat)
    return bool(np.isfinite(total) or np.isfinite(values).all())


def _cut_origins(origins: Iterable[Origin], start: int, stop: int) -> Iterator[Origin]:
    for origin, first, length in origins:
        begin, end = max(start, 0), min(stop, length)
        if begin < end:
            yield origin, first + begin, end - begin
        start, stop = start - length, stop - length


def joined_batches(batches: Sequence[Batch]) -> Batch:
    """Batches one after the other as one."""
    first = batches[0]
    if len(batches) == 1:
        return first
    targets = [batch.target for batch in batches]
    return replace(
        first,
        rows=joined([batch.rows for batch in batches]),
        target=None if first.target is None else _joined_column("the target", targets),
        weights=None if first.weights is None else joined([batch.weights for batch in batches]),
        kept={
            name: _joined_column(f"column {name!r}", [batch.kept[name] for batch in batches])
            for name in first.kept
        },
        origins=tuple(origin for batch in batches for origin in batch.origins),
    )


def _joined_column(what: str, parts: Sequence[Any]) -> Any:
    try:
        return joined(parts)
    except ValueError as reason:
        raise ValueError(f"{what} {reason}") from None


def rebatched(batches: Iterable[Batch], size: int) -> Iterator[Batch]:
    """The same rows in batches of exactly ``size``; the last has what is left."""
    waiting: list[Batch] = []
    missing = size
    for batch in batches:
        place = 0
        while len(batch) - place >= missing:
            part = batch.cut(place, place + missing)
            yield joined_batches([*waiting, part])
            place, waiting, missing = place + missing, [], size
        if place < len(batch):
            waiting.append(batch.cut(place, len(batch)).copy())
            missing -= len(batch) - place
    if waiting:
        yield joined_batches(waiting)
