"""Where batches come from: anything that can be read piece by piece, in one form.

A source is a function that reads pieces from a given row on, and what is known before reading: names,
number of columns, number of rows. Each kind of source is one function that makes such a record. Files of
pyarrow's formats are in ``arrow_files``, and ``opening`` picks the function for what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from modae.inputs.tables import library_of, names_of, shape_of, sliced

SAMPLE_ROWS = 256
"""First rows that are looked at when a source is opened: their types, and a mark to know it by."""


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

    sample = _sample_of(tables[0] if tables else None)
    return Source("sequence", "the sequence", read, sample, sum(lengths), names_of(sample))


def callable_source(make: Callable[[], Iterable[Any]]) -> Source:
    """A function that returns the batches anew whenever they are read."""

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        return numbered(make())

    sample = _sample_of(next(iter(make()), None))
    return Source("function", "the function", read, sample, None, names_of(sample))


def once_source(batches: Iterable[Any]) -> Source:
    """An iterator, which can be read one time only."""
    iterator = iter(batches)
    first = next(iterator, None)
    sample = _sample_of(first)
    unread: list[Iterator[Any]] = [chain([first], iterator)]

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        if not unread:
            raise ValueError(
                "source is an iterator that was read already, and it cannot be read again: pass a list, "
                "a file, or a function that returns a fresh iterator."
            )
        return numbered(unread.pop())

    return Source("iterator", "the iterator", read, sample, None, names_of(sample))


def numbered(batches: Iterable[Any]) -> Iterator[Piece]:
    """Batches with their place."""
    start = 0
    for place, batch in enumerate(batches):
        table = _as_table(batch)
        yield Piece(table, f"batch {place}", 0, start)
        start += shape_of(table)[0]


def _as_table(batch: Any) -> Any:
    known = library_of(batch) or sparse.issparse(batch) or hasattr(batch, "__array__")
    return batch if known else np.asarray(batch)


def _sample_of(first: Any) -> Any:
    if first is None:
        raise ValueError("source has no batches: there would be no data.")
    table = _as_table(first)
    shape_of(table)
    sample = sliced(table, 0, SAMPLE_ROWS)
    return sample.copy() if isinstance(sample, np.ndarray) else sample  # its owner may reuse the memory
