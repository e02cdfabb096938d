"""The records of one stream: a source, the columns that are wanted of it, its chunks and its batches.

A source is a function that reads chunks from a given row on, and what is known before reading: names,
number of columns, number of rows. Each kind of source is one function that makes such a record: those
for files are in ``arrow_files``, the others in ``opening``. :class:`modae.Batches`
cuts and joins chunks to batches of one size.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from modae.data.rows import Rows, weights_of
from modae.sources.frames import as_numpy, column_of, labelled, labels_of, matrix_of, names_of
from modae.utils.arrays import Array
from modae.utils.text import listed

# First rows that are looked at when a source is opened: their types, and a digest to know it by.
SAMPLE_ROWS = 256

# What a batch has beside the columns that are kept, as messages call it.
ROLES = ("the matrix", "the target", "the weights")


@contextmanager
def named(origin: str) -> Iterator[None]:
    """Errors about the data say where these are from."""
    try:
        yield
    except (ValueError, TypeError) as reason:
        kind = TypeError if isinstance(reason, TypeError) else ValueError
        raise kind(f"{origin}: {reason}") from reason


class Chunk(NamedTuple):
    """Some rows, as a matrix or a frame of narwhals, and where they are from.

    ``origin`` is the file, or the place in a sequence, ``first`` the index of the first row there, and
    ``start`` its index in the whole source.
    """

    table: Any
    origin: str
    first: int
    start: int


@dataclass(frozen=True)
class ColumnSelection:
    """What each column is for; of a matrix, where ``features`` is None, every column is a feature.

    ``known`` are the columns that may be there, if no other may turn up. Those in ``strings`` are read
    as strings, as they are written.
    """

    features: tuple[str, ...] | None = None
    target: str | None = None
    weight: str | None = None
    kept: tuple[str, ...] = ()
    known: frozenset[str] | None = None
    strings: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str] | None:
        """All columns to read, each once; None is all of a matrix."""
        if self.features is None:
            return None
        names = dict.fromkeys((*self.features, self.target, self.weight, *self.kept))
        return [name for name in names if name is not None]

    def check(self, table: Any, first: Any) -> None:
        """Refuse a table without these columns, or whose columns are not those of the first rows."""
        names, wanted = names_of(table), self.names
        if wanted is None:
            if table.shape[1] != first.shape[1]:
                columns = f"there are {table.shape[1]} columns"
                raise ValueError(f"{columns}, and the first rows have {first.shape[1]}.")
            if names is not None:
                why = "and those of the first rows have none: which is which cannot be known"
                raise ValueError(f"the columns have names, {listed(names, 8)}, {why}.")
            # Columns without names are told apart by their order, and labels must not deny it.
            here, there = (labels_of(each) or "counted from 0" for each in (table, first))
            if here != there:
                raise ValueError(f"the columns are {here}, those of the first rows {there}.")
            return
        if names is None:
            raise ValueError("the columns have no names, and those of the first rows have.")
        present = set(names)  # there may be thousands
        missing = [name for name in wanted if name not in present]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r}; the columns are {listed(names, 8)}.")
        extra = [name for name in names if name not in (self.known or present)]
        if extra:
            remedy = "name the features with columns=[...]"
            raise ValueError(f"column {extra[0]!r} is not in the first rows: {remedy}.")

    def read(self, chunk: Chunk, start: int, stop: int, first: Any) -> dict[str, Any]:
        """What is wanted of some rows of a chunk, counted from its first row; ``first`` as in ``check``.

        By the names that messages use: those in ``ROLES``, then the columns that are kept.
        """
        table, target, weights = chunk.table[start:stop], self.target, None
        with named(f"{chunk.origin}, rows {chunk.first + start:,} to {chunk.first + stop - 1:,}"):
            self.check(table, first)
            if self.weight is not None:
                weights = weights_of(as_numpy(column_of(table, self.weight)), stop - start)
            if target is not None:
                target = column_of(table, target, as_strings=target in self.strings)
            values = dict(zip(ROLES, (matrix_of(table, self.features), target, weights), strict=True))
            for name in self.kept:
                column = column_of(table, name, kept=True, as_strings=name in self.strings)
                values[f"column {name!r}"] = column
        return values


@dataclass(frozen=True)
class Source:
    """What can be read, and what is known of it.

    ``read(start, columns, size)`` yields chunks, from the row ``start`` on; a source that cannot jump
    there begins before it, and one that is in memory need not heed ``size``. ``sample`` is a table of
    the first rows, ``parts`` are the files of a folder. ``kinds`` says which columns of a file are a
    "number", "string", "date" or "other", ``line_of`` finds the line of a text file on which a row
    begins, ``missing`` are cells of it that stand for nothing beside empty ones, ``sheets`` the names of
    columns in the other sheets of an Excel file. Of an array, ``matrix``
    has all rows, and ``labels`` are arrays in the same file.
    """

    kind: str
    origin: str
    read: Callable[[int, ColumnSelection, int], Iterator[Chunk]]
    sample: Any
    n_rows: int | None = None
    parts: tuple["Source", ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    line_of: Callable[[int], int] | None = None
    missing: Sequence[str] = ()
    sheets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    matrix: Any = None
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""
        return names_of(self.sample)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.sample.shape[1])

    def check(self, columns: ColumnSelection) -> None:
        """Refuse columns that are not there, in all files of a folder."""
        for part in self.parts or (self,):
            with named(part.origin):
                columns.check(part.sample, self.sample)

    def select(
        self, columns: Iterable[str] | None, target: str | None, weight: str | None
    ) -> ColumnSelection:
        """What a caller said of the columns, checked."""
        if self.names is None:
            options = {"columns": columns, "target": target, "weight": weight}
            given = [f"{name}={value!r}" for name, value in options.items() if value is not None]
            if given:
                raise ValueError(f"{given[0]} names a column, and those of {self.origin} have no names.")
            return ColumnSelection()
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of names, got the string {columns!r}.")
        features = tuple(name for name in self.names if name not in (target, weight))
        features = features if columns is None else tuple(columns)
        if not features:
            raise ValueError("columns must name one feature or more.")
        if len(set(features)) < len(features):
            raise ValueError(f"columns must name each feature once, got {listed(features, 8)}.")
        if target is not None and target == weight:
            raise ValueError(f"target and weight are both {target!r}: a column is one or the other.")
        for parameter, name in {"target": target, "weight": weight}.items():
            if name is not None and name in features:
                raise ValueError(f"{parameter}={name!r} is also one of columns: it cannot be both.")
        known = frozenset(self.names) if columns is None else None
        return ColumnSelection(features, target, weight, known=known)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a source, the columns that are no features, and where each row is from.

    Parameters
    ----------
    rows : matrix of shape (n, n_features)
        float32 or float64; dense (in C order) or sparse (CSR).
    start : int
        Index of the first row in the source.
    chunks : sequence of Chunk
        Those that the rows are from; their tables are not kept.
    names : tuple of str or None
        Names of the columns.
    target, weights : arrays of shape (n,) or None
    kept : mapping of str to array
        Columns that are passed through.
    like : frame or None
        A table of the library that the source is made of.
    """

    rows: Rows
    start: int
    chunks: Sequence[Chunk]
    names: tuple[str, ...] | None = None
    target: Any = None
    weights: Array | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
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

    def place_of(self, row: int) -> str:
        """Where a row of the batch is from, for messages."""
        index = self.start + row
        chunk = [each for each in self.chunks if each.start <= index][-1]
        return f"row {index - chunk.start + chunk.first:,} of {chunk.origin}"

    def check_finite(self) -> None:
        """Refuse missing and infinite entries, and say where the first one is."""
        if np.isfinite(self.rows.data if sparse.issparse(self.rows) else self.rows).all():
            return
        found = sparse.coo_array(self.rows)
        bad = int(np.flatnonzero(~np.isfinite(found.data))[0])
        value, column = found.data[bad], int(found.col[bad])
        name = column if self.names is None else repr(self.names[column])
        what = "is missing (NaN)" if np.isnan(value) else f"is {value}"
        raise ValueError(
            f"{self.place_of(int(found.row[bad]))}: column {name} {what}, and every entry must be a "
            "finite number: fill or impute it (sklearn.impute.SimpleImputer), or leave the row or "
            "column out."
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Where work on the rows fails because of a missing entry, say which one it is."""
        try:
            yield
        except ValueError:
            self.check_finite()
            raise
