"""Where batches come from: anything that can be read chunk by chunk, in one form.

A source is a function that reads chunks from a given row on, and what is known before reading: names,
number of columns, number of rows. Each kind of source is one function that makes such a record; here are
those for data in memory. Files are in ``arrow_files`` and ``csv_files``, and ``opening`` picks the
function for what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from modae.sources.frames import as_table, is_frame, matrix_of, names_of
from modae.utils.text import listed

SAMPLE_ROWS = 256
"""First rows that are looked at when a source is opened: their types, and a digest to know it by."""

READ_ALREADY = (
    "iterator that was read already, and it cannot be read again: pass a list, a file, or a function "
    "that returns a fresh iterator each time."
)


class Chunk(NamedTuple):
    """Some rows, and where they are from."""

    table: Any
    """A matrix, or a frame of narwhals."""
    origin: str
    """The file, or the place in a sequence."""
    first: int
    """Index of the first row in the file."""
    start: int
    """Index of the first row in the whole source."""


@dataclass(frozen=True)
class ColumnSelection:
    """What each column is for; of a matrix, where ``features`` is None, every column is a feature.

    ``exact`` says that the features are all columns that are there, so that no other may turn up.
    ``ignored`` are columns that are known to be there and are not read. Those in ``strings`` are read
    as strings, as they are written.
    """

    features: tuple[str, ...] | None = None
    target: str | None = None
    weight: str | None = None
    kept: tuple[str, ...] = ()
    exact: bool = True
    ignored: tuple[str, ...] = ()
    strings: frozenset[str] = frozenset()

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """Columns that are read and are no features."""
        return tuple(name for name in (self.target, self.weight, *self.kept) if name is not None)

    @property
    def names(self) -> list[str] | None:
        """All columns to read, each once; None is all of a matrix."""
        if self.features is None:
            return None
        return list(dict.fromkeys((*self.features, *self.extra_columns)))

    def keeping(self, names: Sequence[str], strings: Iterable[str] = ()) -> ColumnSelection:
        """The same with columns that are passed through, which are features only if chosen as such."""
        if len(set(names)) < len(names):
            raise ValueError(f"keep must name each column once, got {listed(names, 8)}.")
        features = self.features
        if self.exact and features is not None:
            features = tuple(name for name in features if name not in names)
        return replace(self, features=features, kept=tuple(names), strings=frozenset(strings))

    def check(self, source: Source) -> None:
        """Refuse a source, or a file of a folder, that does not have the columns."""
        for part in source.parts or (source,):
            try:
                self.check_columns(part.names, part.width, source.width)
            except ValueError as reason:
                raise ValueError(f"{part.origin}: {reason}") from None

    def check_columns(self, names: tuple[str, ...] | None, width: int, expected: int) -> None:
        """Refuse a table that does not have these columns: its names, its width, that of the source."""
        if self.features is None:
            if width != expected:
                raise ValueError(f"there are {width} columns, and the first rows have {expected}.")
            if names is not None:
                raise ValueError(
                    f"the columns have names, {listed(names, 8)}, and those of the first rows have "
                    "none: which is which cannot be known."
                )
            return
        if names is None:
            raise ValueError("the columns have no names, and those of the first rows have.")
        needed, there = (*self.features, *self.extra_columns), set(names)
        missing = [name for name in needed if name not in there]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r}; the columns are {listed(names, 8)}.")
        extra = sorted(there - {*needed, *self.ignored}, key=names.index) if self.exact else []
        if extra:
            raise ValueError(
                f"column {extra[0]!r} is not in the first rows: name the features with columns=[...]."
            )


Read = Callable[[int, ColumnSelection, int], Iterator[Chunk]]
"""(first row wanted, columns to read, rows at a time) -> chunks. The first chunk may begin before the
row that is wanted: a source that cannot jump there reads all."""


@dataclass(frozen=True)
class Source:
    """What can be read, and what is known of it.

    ``sample`` is a table of the first rows, ``parts`` are the files of a folder, ``schema`` that of
    pyarrow where a file has one. ``line_of`` finds the line of a text file on which a row begins.
    """

    kind: str
    origin: str
    read: Read
    sample: Any
    n_rows: int | None = None
    parts: tuple[Source, ...] = ()
    schema: Any = None
    line_of: Callable[[int], int] | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""
        return names_of(self.sample)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.sample.shape[1])

    def first_rows(self, columns: ColumnSelection) -> Any:
        """The first rows as a matrix, in a precision that serves all files of a folder."""
        found = []
        for part in (self, *self.parts):
            try:
                found.append(
                    matrix_of(part.sample if part is self else part.sample[:0], columns.features)
                )
            except ValueError as reason:
                raise ValueError(f"{part.origin}: {reason}") from None
        return found[0].astype(np.result_type(*(rows.dtype for rows in found)), copy=False)


def table_source(table: Any, kind: str = "array", origin: str = "the array") -> Source:
    """Rows that are in memory, or in a memory map: cut, not copied."""
    if is_frame(table):
        kind, origin = "table", "the table"
    table = as_table(table.tocsr() if sparse.issparse(table) else table)
    n_rows = int(table.shape[0])

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        for first in range(start, n_rows, size):
            yield Chunk(table[first : min(first + size, n_rows)], origin, first, first)

    return Source(kind, origin, read, table[:SAMPLE_ROWS], n_rows)


def sequence_source(batches: Sequence[Any]) -> Source:
    """A list of batches: its length is known, and batches can be passed over."""
    tables = [as_table(batch) for batch in batches]

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        return (chunk for chunk in _numbered(tables) if chunk.start + chunk.table.shape[0] > start)

    n_rows = sum(int(table.shape[0]) for table in tables)
    return Source("sequence", "the sequence", read, _sample(_first_with_rows(tables)), n_rows)


def callable_source(make: Callable[[], Iterable[Any]]) -> Source:
    """A function that returns the batches anew whenever they are read."""
    last: list[Any] = [None]

    def made() -> Iterator[Any]:
        batches = make()
        if batches is last[0] and iter(batches) is batches:
            raise ValueError(f"source is a function that returns an {READ_ALREADY}")
        last[0] = batches
        return iter(batches)

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        return _numbered(made())

    return Source("function", "the function", read, _sample(_first_with_rows(made())))


def once_source(batches: Iterable[Any]) -> Source:
    """An iterator, which can be read one time only."""
    iterator = iter(batches)
    first = _first_with_rows(iterator)
    sample = _sample(first)
    unread: list[Iterator[Any]] = [chain(first, iterator)]

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        if not unread:
            raise ValueError(f"source is an {READ_ALREADY}")
        return _numbered(unread.pop())

    return Source("iterator", "the iterator", read, sample)


def _numbered(batches: Iterable[Any]) -> Iterator[Chunk]:
    """Batches with their place."""
    start = 0
    for place, batch in enumerate(batches):
        table = as_table(batch)
        yield Chunk(table, f"batch {place}", 0, start)
        start += table.shape[0]


def _first_with_rows(batches: Iterable[Any]) -> list[Any]:
    """The first batch with rows, after those without: an empty table need not know its types."""
    found: list[Any] = []
    for batch in batches:
        found.append(batch)
        if as_table(batch).shape[0]:
            break
    return found


def _sample(first: Sequence[Any]) -> Any:
    if not first:
        raise ValueError("source has no batches: there would be no data.")
    sample = as_table(first[-1])[:SAMPLE_ROWS]
    return sample.copy() if isinstance(sample, np.ndarray) else sample  # its owner may reuse the memory
