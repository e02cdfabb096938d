"""Where batches come from: anything that can be read piece by piece, in one form.

A source is a function that reads pieces from a given row on, and what is known before reading: names,
number of columns, number of rows. Each kind of source is one function that makes such a record. Files of
pyarrow's formats are in ``arrow_files``, and ``opening`` picks the function for what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from modae.sources.tables import library_of, names_of, shape_of, sliced

SAMPLE_ROWS = 256
"""First rows that are looked at when a source is opened: their types, and a mark to know it by."""


READ_ALREADY = (
    "iterator that was read already, and it cannot be read again: pass a list, a file, or a function "
    "that returns a fresh iterator each time."
)


class Piece(NamedTuple):
    """Some rows, and where they are from."""

    table: Any
    origin: str
    """The file, or the place in a sequence."""
    first: int
    """Index of the first row in the file."""
    start: int
    """Index of the first row in the whole source."""


class Wanted(NamedTuple):
    """Names of the columns to read."""

    features: tuple[str, ...]
    beside: tuple[str, ...] = ()
    """Columns that are no features: a target, weights, an identity."""

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys((*self.features, *self.beside)))


Read = Callable[[int, Wanted | None, int], Iterator[Piece]]
"""(first row wanted, columns wanted or None for a matrix, rows at a time) -> pieces. The first piece may
begin before the row that is wanted: a source that cannot jump there reads all."""


@dataclass(frozen=True)
class Source:
    """What can be read, and what is known of it.

    ``sample`` is a table of the first rows. ``parts`` are the files of a folder.
    """

    kind: str
    origin: str
    read: Read
    sample: Any
    n_rows: int | None = None
    names: tuple[str, ...] | None = None
    parts: tuple[Source, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names) if self.names is not None else shape_of(self.sample)[1]


def table_source(table: Any, kind: str = "table", origin: str = "the table") -> Source:
    """Rows that are in memory, or in a memory map: cut, not copied."""
    n_rows, _ = shape_of(table)
    if not library_of(table):
        kind, origin = ("array", "the array") if kind == "table" else (kind, origin)
        table = table.tocsr() if sparse.issparse(table) else table

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        for first in range(start, n_rows, size):
            piece = sliced(table, first, min(first + size, n_rows))
            yield Piece(piece, origin, first, first)

    return Source(kind, origin, read, sliced(table, 0, SAMPLE_ROWS), n_rows, names_of(table))


def sequence_source(batches: Sequence[Any]) -> Source:
    """A list of batches: its length is known, and batches can be passed over."""
    tables = [_as_table(batch) for batch in batches]
    lengths = [shape_of(table)[0] for table in tables]

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        return (piece for piece in numbered(tables) if piece.start + shape_of(piece.table)[0] > start)

    sample = _sample_of(_first_with_rows(tables)[-1:])
    return Source("sequence", "the sequence", read, sample, sum(lengths), names_of(sample))


def callable_source(make: Callable[[], Iterable[Any]]) -> Source:
    """A function that returns the batches anew whenever they are read."""
    last: list[Any] = [None]

    def made() -> Iterator[Any]:
        batches = make()
        if batches is last[0] and iter(batches) is batches:
            raise ValueError(f"source is a function that returns an {READ_ALREADY}")
        last[0] = batches
        return iter(batches)

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        return numbered(made())

    sample = _sample_of(_first_with_rows(made())[-1:])
    return Source("function", "the function", read, sample, None, names_of(sample))


def once_source(batches: Iterable[Any]) -> Source:
    """An iterator, which can be read one time only."""
    iterator = iter(batches)
    first = _first_with_rows(iterator)
    sample = _sample_of(first[-1:])
    unread: list[Iterator[Any]] = [chain(first, iterator)]

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        if not unread:
            raise ValueError(f"source is an {READ_ALREADY}")
        return numbered(unread.pop())

    return Source("iterator", "the iterator", read, sample, None, names_of(sample))


def numbered(batches: Iterable[Any]) -> Iterator[Piece]:
    """Batches with their place."""
    start = 0
    for place, batch in enumerate(batches):
        table = _as_table(batch)
        yield Piece(table, f"batch {place}", 0, start)
        start += shape_of(table)[0]


def from_row(pieces: Iterable[Piece], start: int, n_rows: int | None) -> Iterator[Piece]:
    """Pieces with rows from ``start`` on. A source that ends before it is not the one it was."""
    length = n_rows or 0
    for piece in pieces:
        size = shape_of(piece.table)[0]
        length = max(length, piece.start + size)
        if size and piece.start + size > start:
            yield piece
    if length < start:
        raise ValueError(
            f"the source has {length:,} rows, the checkpoint is at row {start:,}: some are gone. Delete "
            "the checkpoint to start afresh."
        )


def _as_table(batch: Any) -> Any:
    if isinstance(batch, (str, bytes, PathLike, Mapping)):
        raise TypeError(
            f"a batch must be an array, a sparse matrix or a table, got {type(batch).__name__}: files "
            "go into one folder, or into a function that opens one after the other."
        )
    known = library_of(batch) or sparse.issparse(batch) or hasattr(batch, "__array__")
    return batch if known else np.asarray(batch)


def _first_with_rows(batches: Iterable[Any]) -> list[Any]:
    """The first batch with rows, after those without: an empty table need not know its types."""
    found: list[Any] = []
    for batch in batches:
        found.append(batch)
        if shape_of(_as_table(batch))[0]:
            break
    return found


def _sample_of(first: Sequence[Any]) -> Any:
    if not first:
        raise ValueError("source has no batches: there would be no data.")
    table = _as_table(first[0])
    sample = sliced(table, 0, SAMPLE_ROWS)
    return sample.copy() if isinstance(sample, np.ndarray) else sample  # its owner may reuse the memory
