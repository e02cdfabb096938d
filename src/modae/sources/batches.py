"""Batches: data of any size, read piece by piece, where an estimator expects a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse

from modae.data.rows import Rows
from modae.data.validation import weights_of
from modae.sources.batch import Batch, rebatched
from modae.sources.frames import (
    as_numpy,
    as_strings,
    column_of,
    joined,
    kept_column,
    labelled,
    labels_of,
    matrix_of,
    names_of,
)
from modae.sources.opening import source_of
from modae.sources.source import Chunk, ColumnSelection, Source
from modae.utils.arrays import Array, Precision
from modae.utils.parameters import check_count
from modae.utils.text import listed

BATCH_BYTES = 1 << 26
"""About how many bytes of rows make a batch, unless the caller says otherwise: 64 MB."""

LEAST_ROW_BYTES = 64
"""Rows of a sparse matrix count for this at least: the first ones may be empty."""


class Batches:
    """A source of rows that is read batch by batch, with memory for a few batches only.

    Made by :func:`open_batches`. Linear estimators and ensembles take it in place of a matrix: ``fit``
    sums up batch after batch, ``transform`` and ``predict`` answer batch by batch.

    Attributes
    ----------
    kind : str
        What the source is, in a word.
    n_features : int
    names : tuple of str or None
        Names of the features, in their order.
    n_rows : int or None
        None where it cannot be known without reading.
    dtype : numpy dtype
        float32 or float64, by the first rows.
    batch_size : int
        Rows in each batch but the last.
    target, weight : str or None
        Names of the columns beside the features.

    Examples
    --------
    >>> import numpy as np
    >>> import modae
    >>> batches = modae.open_batches([np.ones((3, 2)), np.zeros((4, 2))], batch_size=5)
    >>> batches.n_rows, batches.n_features, [len(batch) for batch in batches]
    (7, 2, [5, 2])
    """

    def __init__(self, source: Source, columns: ColumnSelection, batch_size: int | None = None) -> None:
        self._source = source
        self._columns = columns
        self._batch_size = batch_size
        self._sample_rows: Rows | None = None
        self.kind = source.kind
        self.n_rows = source.n_rows
        self.names = columns.features
        self.n_features = source.width if columns.features is None else len(columns.features)
        self.target, self.weight = columns.target, columns.weight

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        return f"<Batches from {self._source.origin}: {rows} rows, {self.n_features} features>"

    def __iter__(self) -> Iterator[Batch]:
        return self.read()

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse to become a matrix by accident."""
        raise TypeError(
            "Batches are read piece by piece, and this needs all rows in memory at once: pass "
            "batches.to_array(), if they fit."
        )

    def read(self, start: int = 0) -> Iterator[Batch]:
        """Batches of the rows from ``start`` on; rows before are passed over as cheaply as possible."""
        check_count("start", start, minimum=0)
        return rebatched(self._parts(start), self.batch_size)

    def read_target(self) -> np.ndarray:
        """The target column as a whole; the features are not even read, where a source lets them be."""
        if self.target is None:
            raise ValueError(
                "these batches have no target: name its column in open_batches(target=...)."
            )
        alone = replace(self._columns, features=(), weight=None, kept=(), exact=False)
        found = [batch.whole_target(self.target) for batch in self._with(alone)]
        return np.asarray(joined(found)) if found else np.empty(0)

    def read_weights(self) -> Array:
        """The column of weights as a whole, without the features."""
        if self.weight is None:
            raise ValueError(
                "these batches have no weights: name their column in open_batches(weight=...)."
            )
        alone = replace(self._columns, features=(), target=None, kept=(), exact=False)
        found = [batch.copy().weights for batch in self._with(alone)]
        return np.concatenate([np.empty(0), *found])

    def without_weights(self) -> Self:
        """The same batches; the column of weights is not read, and still no feature."""
        ignored = (*self._columns.ignored, *([] if self.weight is None else [self.weight]))
        return self._with(replace(self._columns, weight=None, ignored=ignored))

    def to_array(self) -> Rows:
        """All rows in memory, as one matrix."""
        rows = [batch.copy().rows for batch in self]
        return joined(rows) if rows else self.sample[:0]

    def keeping(self, names: Sequence[str], strings: Iterable[str] = ()) -> Self:
        """The same batches with columns that are passed through, in ``Batch.kept``.

        Of these and the target, those in ``strings`` are read as strings, as a CSV file has them.
        """
        if self.names is None and names:
            raise ValueError(f"keep={list(names)} needs a source whose columns have names.")
        return self._with(self._columns.keeping(names, strings))

    def for_model(self, estimator: Any) -> Self:
        """The same batches with the columns that a fitted estimator knows, by name, in its order."""
        known = getattr(estimator, "feature_names_in_", None)
        there = self._source.names
        if known is None or there is None or not set(known) <= set(there):
            return self  # scikit-learn's own check of names has the message for it
        return self._with(replace(self._columns, features=tuple(known), exact=False))

    @property
    def sample(self) -> Rows:
        """The first rows as a matrix, made when asked for: until then, other columns may be chosen."""
        if self._sample_rows is None:
            self._sample_rows = self._source.first_rows(self._columns)
        return self._sample_rows

    @property
    def dtype(self) -> Precision:
        """Precision of the rows, by the first ones."""
        precision: Precision = self.sample.dtype
        return precision

    @property
    def batch_size(self) -> int:
        """Rows in each batch but the last."""
        return default_batch_size(self.sample) if self._batch_size is None else self._batch_size

    @property
    def header(self) -> Any:
        """A table without rows that has the columns: for checks of their number and names."""
        return labelled(self.sample[:0], self.names, self._source.sample)

    @property
    def mark(self) -> str:
        """A short digest of the first rows, by which other data of the same shape are noticed."""
        first = self.sample.toarray() if sparse.issparse(self.sample) else self.sample
        return blake2b(np.ascontiguousarray(first).tobytes(), digest_size=8).hexdigest()

    def begin(self, empty: Any) -> tuple[int, Any]:
        """Where a sum over the batches begins: at a row, with what was summed before it."""
        return 0, empty

    def note(self, stop: int, summary: Any) -> None:
        """Told after each batch how far a sum has come: for a subclass that remembers it."""

    def _with(self, columns: ColumnSelection) -> Self:
        columns.check(self._source)
        other = copy(self)
        Batches.__init__(other, self._source, columns, self._batch_size)
        return other

    def _parts(self, start: int) -> Iterator[Batch]:
        """The chunks of the source as batches. A source that ends before ``start`` has lost rows."""
        length = self.n_rows or 0
        for chunk in self._source.read(start, self._columns, self.batch_size):
            stop = chunk.start + int(chunk.table.shape[0])
            length = max(length, stop)
            if stop > max(start, chunk.start):
                yield self._batch(chunk, max(0, start - chunk.start))
        if length < start:
            raise ValueError(
                f"the source has {length:,} rows, the checkpoint is at row {start:,}: some are gone. "
                "Delete the checkpoint to start afresh."
            )

    def _batch(self, chunk: Chunk, skipped: int) -> Batch:
        """A chunk as a batch, without its first rows."""
        table, columns = chunk.table[skipped:] if skipped else chunk.table, self._columns
        first, n_rows = chunk.first + skipped, int(table.shape[0])
        try:
            columns.check_columns(names_of(table), int(table.shape[1]), self._source.width)
            self._check_labels(labels_of(table))
            rows = matrix_of(table, columns.features)
            weights = None if columns.weight is None else as_numpy(column_of(table, columns.weight))
            target = None if columns.target is None else column_of(table, columns.target)
            kept = {name: kept_column(table, name) for name in columns.kept}
            for name in columns.strings & kept.keys():
                kept[name] = as_strings(name, kept[name])
            if columns.target is not None and columns.target in columns.strings:
                target = as_strings(columns.target, target)
            weights = weights_of(weights, n_rows)
        except ValueError as reason:
            place = f"{chunk.origin}, rows {first:,} to {first + n_rows - 1:,}"
            raise ValueError(f"{place}: {reason}") from None
        if self._source.parts:  # all files of a folder in one precision, whichever comes first
            rows = rows.astype(self.dtype, copy=False)
        origins = ((chunk.origin, first, n_rows),)
        start, like = chunk.start + skipped, self._source.sample
        return Batch(rows, start, columns.features, target, weights, kept, origins, like)

    def _check_labels(self, labels: tuple[Any, ...] | None) -> None:
        """Columns without names are told apart by their order, and labels must not deny it."""
        expected = labels_of(self._source.sample)
        if self.names is None and labels != expected:
            first, other = (
                "counted from 0" if each is None else str(list(each)) for each in (expected, labels)
            )
            raise ValueError(f"the columns are {other}, and those of the first rows {first}.")


def open_batches(
    source: Any,
    *,
    columns: Iterable[str] | None = None,
    target: str | None = None,
    weight: str | None = None,
    batch_size: int | None = None,
) -> Batches:
    """Open data that need not fit into memory, to be read batch by batch.

    Whatever the pieces are that the source comes in (row groups, files, batches of a generator), they
    are cut and joined to batches of ``batch_size`` rows, so that results do not depend on them.

    Parameters
    ----------
    source : path, array, table, sequence, iterator, callable or Batches
        - A path: a ``.npy`` file (mapped into memory), a ``.parquet``, ``.arrow``, ``.feather`` or
          ``.csv`` file, or a folder of files of one of these kinds, in the order of the numbers in their
          names; names that begin with a dot or an underscore and notes such as a README are passed over,
          anything else is refused. All but ``.npy`` need ``pip install "modae[arrow]"``.
        - A NumPy array or memory map, a sparse matrix, a table of pandas, polars or pyarrow, a
          ``pyarrow.dataset.Dataset``.
        - A list of batches, each an array, a sparse matrix or a table; a function without arguments that
          returns an iterator of them; or an iterator, which can be read one time only.
    columns : iterable of str, optional
        Names of the features, in this order. None means all columns but ``target`` and ``weight``.
        Columns are found by name, whatever their order in a file.
    target, weight : str, optional
        Names of columns beside the features: labels for :meth:`Batches.read_target`, and weights of the
        rows, which ``fit`` uses, in an ensemble for the extractor and the members.
    batch_size : int, optional
        Rows in a batch. None means as many as make 64 MB.

    Returns
    -------
    batches : Batches

    Examples
    --------
    >>> import numpy as np
    >>> import modae
    >>> def rows():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(10):
    ...         yield rng.normal(size=(1000, 20))
    >>> batches = modae.open_batches(rows)
    >>> model = modae.LinearModularAutoencoder(3, 2, random_state=0).fit(batches)
    >>> model.transform(batches).shape
    (10000, 6)
    """
    if batch_size is not None:
        check_count("batch_size", batch_size)
    if isinstance(source, Batches):
        if any(option is not None for option in (columns, target, weight, batch_size)):
            raise ValueError("source is open already: give its options where it was opened.")
        return source
    found = source_of(source)
    if not found.width:
        raise ValueError(f"{found.origin} has no columns: there would be no data.")
    selection = _selection(found, columns, target, weight)
    selection.check(found)
    return Batches(found, selection, None if batch_size is None else int(batch_size))


def _selection(
    source: Source, columns: Iterable[str] | None, target: str | None, weight: str | None
) -> ColumnSelection:
    """What a caller said of the columns."""
    names = source.names
    if names is None:
        for parameter, value in {"columns": columns, "target": target, "weight": weight}.items():
            if value is not None:
                raise ValueError(
                    f"{parameter}={value!r} names a column, and those of {source.origin} have no names."
                )
        return ColumnSelection()
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got the string {columns!r}.")
    features = tuple(name for name in names if name not in (target, weight))
    features = features if columns is None else tuple(columns)
    if not features:
        raise ValueError("columns must name one feature or more.")
    if len(set(features)) < len(features):
        raise ValueError(f"columns must name each feature once, got {listed(features, 8)}.")
    if target is not None and target == weight:
        raise ValueError(f"target and weight are both {target!r}: a column is one or the other.")
    for parameter, name in (("target", target), ("weight", weight)):
        if name is not None and name in features:
            raise ValueError(f"{parameter}={name!r} is also one of columns: it cannot be a feature too.")
    return ColumnSelection(features, target, weight, exact=columns is None)


def default_batch_size(sample: Rows) -> int:
    """Rows of such a kind that make 64 MB."""
    if sparse.issparse(sample):
        row_bytes = (sample.data.nbytes + sample.indices.nbytes) // max(1, sample.shape[0])
    else:
        row_bytes = sample.itemsize * sample.shape[1]
    return max(1, BATCH_BYTES // max(LEAST_ROW_BYTES, int(row_bytes)))
