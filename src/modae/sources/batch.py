"""One batch: rows, what is beside them, and where each row is from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from modae.data.rows import Rows
from modae.sources.tables import as_numpy, copied, first_missing, joined, labelled
from modae.utils.arrays import Array


class Stretch(NamedTuple):
    """Rows that lie together in one file."""

    origin: str
    first: int
    length: int


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
    stretches : tuple of Stretch
        Where the rows are from.
    library : str or None
        Whose tables the source is made of.
    """

    rows: Rows
    start: int
    names: tuple[str, ...] | None = None
    target: Any = None
    weights: Array | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()
    library: str | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def stop(self) -> int:
        """Index of the row after the last."""
        return self.start + len(self)

    @property
    def table(self) -> Any:
        """The rows with the names of their columns, in a table of the library they are from."""
        return labelled(self.rows, self.names, self.library)

    def cut(self, start: int, stop: int) -> Batch:
        """Some of the rows; ``start`` and ``stop`` count from the first of this batch."""
        if (start, stop) == (0, len(self)):
            return self
        return replace(
            self,
            rows=self.rows[start:stop],
            start=self.start + start,
            target=None if self.target is None else self.target[start:stop],
            weights=None if self.weights is None else self.weights[start:stop],
            kept={name: values[start:stop] for name, values in self.kept.items()},
            stretches=tuple(_cut_stretches(self.stretches, start, stop)),
        )

    def copy(self) -> Batch:
        """The same in memory of its own: the next batch may overwrite that of this one."""
        return replace(
            self,
            rows=self.rows.copy(),
            target=copied(self.target),
            weights=copied(self.weights),
            kept={name: copied(values) for name, values in self.kept.items()},
        )

    def whole_target(self, name: str) -> np.ndarray:
        """The target; a label that is missing would become a class of its own."""
        gap = first_missing(self.target)
        if gap is not None:
            raise ValueError(
                f"target column {name!r}, {self.place_of(gap)} is missing: fill it, or leave the row "
                "out."
            )
        return as_numpy(copied(self.target))

    def place_of(self, row: int) -> str:
        """Where a row of the batch is from, in words."""
        for stretch in self.stretches:
            if row < stretch.length:
                return f"row {stretch.first + row:,} of {stretch.origin}"
            row -= stretch.length
        return f"row {self.start + row:,}"

    def column_name(self, column: int) -> str:
        """A column, in words."""
        return f"column {column}" if self.names is None else f"column {self.names[column]!r}"

    def check_finite(self) -> None:
        """Refuse missing and infinite entries, and say where the first one is."""
        entries = self.rows.data if sparse.issparse(self.rows) else self.rows
        if is_finite(entries):
            return
        row, column = self._first_strange()
        value = self.rows[row, column]
        what = "is missing (NaN)" if np.isnan(value) else f"is {value}"
        raise ValueError(
            f"{self.place_of(row)}: {self.column_name(column)} {what}, and every entry must be a finite "
            "number: fill or impute it (sklearn.impute.SimpleImputer), or leave the row or column out."
        )

    def _first_strange(self) -> tuple[int, int]:
        if sparse.issparse(self.rows):
            place = int(np.flatnonzero(~np.isfinite(self.rows.data))[0])
            row = int(np.searchsorted(self.rows.indptr, place, side="right")) - 1
            return row, int(self.rows.indices[place])
        row = int(np.flatnonzero(~np.isfinite(self.rows).all(axis=1))[0])
        return row, int(np.flatnonzero(~np.isfinite(self.rows[row]))[0])

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


def _cut_stretches(stretches: Iterable[Stretch], start: int, stop: int) -> Iterator[Stretch]:
    for origin, first, length in stretches:
        begin, end = max(start, 0), min(stop, length)
        if begin < end:
            yield Stretch(origin, first + begin, end - begin)
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
        stretches=tuple(stretch for batch in batches for stretch in batch.stretches),
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
