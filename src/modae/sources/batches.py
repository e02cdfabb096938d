"""Batches: data of any size, read piece by piece, where an estimator expects a matrix."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter, validate_data

from modae.data.rows import Rows, weights_of
from modae.data.validation import LazyRows, RowwiseCall, gather
from modae.sources.frames import as_numpy, copied, joined, labelled, matrix_of, missing_in
from modae.sources.opening import source_of
from modae.sources.source import ROLES, Batch, Chunk, ColumnSelection, Source, named
from modae.utils.arrays import Array, Precision
from modae.utils.parameters import check_count
from modae.utils.text import listed

# About how many bytes of rows make a batch, unless the caller says otherwise: 64 MB.
BATCH_BYTES = 1 << 26

# Rows of a sparse matrix count for this at least: the first ones may be empty.
LEAST_ROW_BYTES = 64


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
        self.kind = source.kind
        self.n_rows = source.n_rows
        self.names = columns.features
        self.n_features = source.width if columns.features is None else len(columns.features)
        self.target, self.weight = columns.target, columns.weight

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        return f"<Batches from {self._source.origin}: {rows} rows, {self.n_features} features>"

    def __iter__(self) -> Iterator[Batch]:
        return self._read(0)

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse to become a matrix by accident."""
        need = "this needs all rows in memory at once: pass batches.to_array(), if they fit"
        raise TypeError(f"Batches are read piece by piece, and {need}.")

    def read_target(self) -> np.ndarray:
        """The target column as a whole; the features are not even read, where a source lets them be."""
        found = []
        for batch in self._only("target"):
            missing = missing_in(batch.target)
            if missing.any():  # it would become a class of its own
                place = batch.place_of(int(missing.argmax()))
                raise ValueError(f"target column {self.target!r}, {place} is missing: fill or drop it.")
            found.append(as_numpy(copied(batch.target)))
        return np.concatenate(found) if found else np.empty(0)

    def read_weights(self) -> Array:
        """The column of weights as a whole, without the features."""
        found = [copied(batch.weights) for batch in self._only("weight")]
        return np.concatenate(found) if found else np.empty(0)

    def _only(self, role: str) -> "Batches":
        """The batches of one column that is no feature."""
        name = getattr(self, role)
        if name is None:
            raise ValueError(f"the batches have no {role}: name its column in open_batches({role}=...).")
        only: dict[str, Any] = {role: name, "strings": self._columns.strings}
        return self._with(ColumnSelection((), **only))

    def without_weights(self) -> "Batches":
        """The same batches; the column of weights is not read, and still no feature."""
        return self._with(replace(self._columns, weight=None))

    def to_array(self) -> Rows:
        """All rows in memory, as one matrix."""
        rows = [copied(batch.rows) for batch in self]
        return joined(rows) if rows else self.sample[:0]

    def keeping(self, names: Sequence[str]) -> "Batches":
        """The same batches with columns that are passed through, in ``Batch.kept``.

        They are features only if they were chosen as such.
        """
        features = self.names
        if features is None and names:
            raise ValueError(f"keep={list(names)} needs a source whose columns have names.")
        if len(set(names)) < len(names):
            raise ValueError(f"keep must name each column once, got {listed(names, 8)}.")
        if features is not None and self._columns.known is not None:
            features = tuple(name for name in features if name not in names)
        return self._with(replace(self._columns, features=features, kept=tuple(names)))

    def for_model(self, estimator: Any) -> "Batches":
        """The same batches with the columns that a fitted estimator knows, by name, in its order."""
        known = getattr(estimator, "feature_names_in_", None)
        there = self._source.names
        if known is None or there is None or not set(known) <= set(there):
            return self  # scikit-learn's own check of names has the message for it
        return self._with(replace(self._columns, features=tuple(known), known=None))

    @cached_property
    def sample(self) -> Rows:
        """The first rows as a matrix, in a precision that serves all files of a folder.

        They are read when asked for: until then, other columns may be chosen.
        """
        found = []
        for part in (self._source, *self._source.parts):
            with named(part.origin):
                rows = part.sample if part is self._source else part.sample[:0]
                found.append(matrix_of(rows, self.names))
        return found[0].astype(np.result_type(*(rows.dtype for rows in found)), copy=False)

    @property
    def dtype(self) -> Precision:
        """Precision of the rows, by the first ones."""
        precision: Precision = self.sample.dtype
        return precision

    @property
    def batch_size(self) -> int:
        """Rows in each batch but the last."""
        if self._batch_size is not None:
            return self._batch_size
        row_bytes = self.sample.data.nbytes // max(1, self.sample.shape[0])
        return int(max(1, BATCH_BYTES // max(LEAST_ROW_BYTES, row_bytes)))

    def for_answers(self, width: int) -> "Batches":
        """The same data in batches whose answers, of so many columns, are not too large either."""
        fitting = max(1, BATCH_BYTES // (8 * max(1, width)))
        if self._batch_size is not None or fitting >= self.batch_size:
            return self
        return Batches(self._source, self._columns, fitting)

    @property
    def header(self) -> Any:
        """A table without rows that has the columns: for checks of their number and names."""
        return labelled(self.sample[:0], self.names, self._source.sample)

    def begin(self, empty: Any) -> tuple[int, Any]:
        """Where a sum over the batches begins: at a row, with what was summed before it."""
        return 0, empty

    def note(self, stop: int, summary: Any) -> None:
        """Told after each batch how far a sum has come: for a subclass that remembers it."""

    def _with(self, columns: ColumnSelection) -> "Batches":
        self._source.check(columns)
        return Batches(self._source, columns, self._batch_size)

    def read(self, start: int = 0) -> Iterator[Batch]:
        """Batches of the rows from ``start`` on; rows before are passed over as cheaply as possible."""
        check_count("start", start, minimum=0)
        return self._read(int(start))

    def _read(self, start: int) -> Iterator[Batch]:
        """Chunks of the source, cut and joined to batches of one size; the last has what is left."""
        size, length, first = self.batch_size, self.n_rows or 0, start
        parts: list[tuple[Chunk, dict[str, Any]]] = []
        missing = size
        for chunk in self._source.read(start, self._columns, size):
            n_rows = int(chunk.table.shape[0])
            length = max(length, chunk.start + n_rows)
            place = max(0, start - chunk.start)
            while place < n_rows:
                stop = min(n_rows, place + missing)
                values = self._columns.read(chunk, place, stop, self._source.sample)
                place, missing = stop, missing - (stop - place)
                if missing:  # it waits, and the next chunk may overwrite the memory of this one
                    values = {name: copied(each) for name, each in values.items()}
                parts.append((chunk._replace(table=None), values))
                if not missing:
                    yield self._batch(first, parts)
                    parts, missing, first = [], size, first + size
        if length < start:
            gone = f"the source has {length:,} rows, the checkpoint is at row {start:,}: some are gone"
            raise ValueError(f"{gone}. Delete the checkpoint to start afresh.")
        if parts:
            yield self._batch(first, parts)

    def _batch(self, first: int, parts: list[tuple[Chunk, dict[str, Any]]]) -> Batch:
        """Parts of chunks, one after the other, as one batch."""
        chunks, values = zip(*parts, strict=True)
        whole = {name: joined([each[name] for each in values], name) for name in values[0]}
        rows, target, weights = (whole.pop(name) for name in ROLES)
        if self._source.parts:  # all files of a folder in one precision, whichever comes first
            rows = rows.astype(self.dtype, copy=False)
        kept = dict(zip(self._columns.kept, whole.values(), strict=True))
        return Batch(rows, first, chunks, self.names, target, weights, kept, self._source.sample)


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
        - A path: a ``.npy`` file (mapped into memory), a ``.npz`` file (its one matrix, in memory), a
          ``.parquet``, ``.arrow``, ``.feather`` or ``.csv`` file, or a folder of files of one of these
          kinds, in the order of the numbers in their names; names that begin with a dot or an underscore
          and notes such as a README are passed over, anything else is refused. All but those of NumPy
          need ``pip install "modae[arrow]"``.
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
    check_count("batch_size", batch_size, optional=True)
    if isinstance(source, Batches):
        if any(option is not None for option in (columns, target, weight, batch_size)):
            raise ValueError("source is open already: give its options where it was opened.")
        return source
    found = source_of(source)
    if not found.width:
        raise ValueError(f"{found.origin} has no columns: there would be no data.")
    selection = found.select(columns, target, weight)
    found.check(selection)
    return Batches(found, selection, None if batch_size is None else int(batch_size))


class BatchRows(LazyRows):
    """The rows of :class:`modae.Batches`: summed up, mapped and gathered one batch after the other."""

    data: Batches

    def reduce(
        self, estimator: Any, summarise: Any, weights: Any, *, reset: bool, upcast: bool, indexed: bool
    ) -> Any:
        """Sum up batch after batch; only the sum so far and one batch are in memory."""
        batches = self.data if reset else self.data.for_model(estimator)
        validate_data(estimator, batches.header, reset=reset, skip_check_array=True)
        if batches.weight is not None:
            _refuse_both(batches, weights)
            if not has_fit_parameter(estimator, "sample_weight"):
                remedy = f"open the batches without weight={batches.weight!r}"
                raise ValueError(f"{type(estimator).__name__} takes no weights: {remedy}.")
        given = weights_of(weights, np.size(weights) if batches.n_rows is None else batches.n_rows)

        def summed(rows: Rows, weights: Array | None, start: int) -> Any:
            return summarise(rows.astype(np.float64, copy=False) if upcast else rows, weights, start)

        # Begin with no rows: then each batch is added in the same way, and none is kept as it is.
        stop, summary = batches.begin(summed(batches.sample[:0], None, 0))
        for batch in batches.read(stop):
            stop, weights = batch.stop, batch.weights
            if given is not None:
                weights = given[batch.start : stop]
                if len(weights) < len(batch):
                    break
            with batch.explained():
                # Entries of a large batch are looked at only if their sums are no numbers.
                is_large = len(batch) >= batch.rows.shape[1] and batch.weights is None
                if sparse.issparse(batch.rows) or not is_large:
                    batch.check_finite()
                summary = summary.join(summed(batch.rows, weights, batch.start))
            batches.note(stop, summary)
        if stop == 0:
            raise ValueError("the source has no rows: there would be no data.")
        if given is not None and stop != len(given):
            got = f"{len(given)} for {stop} rows{' or more' if stop > len(given) else ''}"
            raise ValueError(f"sample_weight must have one number for each row, got {got}.")
        return summary

    def map(self, call: RowwiseCall) -> Any:
        """Answers batch by batch, put together in memory along the axis of the rows."""
        answers = [answer for _, answer in answers_of(self.data, call)]
        if not answers:
            raise ValueError("the source has no rows: there is nothing to answer.")
        if call.axis == 0 and any(sparse.issparse(answer) for answer in answers):
            return joined(answers)
        return np.concatenate([np.asarray(answer) for answer in answers], axis=call.axis)

    def fold(self, call: RowwiseCall, states: Any, step: Any, **shared: Any) -> list[Any]:
        """Batch after batch; only the states and one batch are in memory."""
        now: list[Any] = list(states)
        for _, answer in answers_of(self.data, call):
            now = [step(*pair, **shared) for pair in zip(now, answer, strict=True)]
        return now

    def gather(self) -> Rows:
        """All rows in memory."""
        return self.data.to_array()

    def columns(self) -> Any:
        """A table without rows."""
        return self.data.header

    def n_rows(self) -> int | None:
        """Known for arrays and for files that say so."""
        return self.data.n_rows

    def split_weights(self, sample_weight: Any) -> tuple[Batches, Any]:
        """The batches without their column of weights, and that column."""
        if self.data.weight is None:
            return self.data, gather(sample_weight)
        _refuse_both(self.data, sample_weight)
        return self.data.without_weights(), self.data.read_weights()


def answers_of(batches: Batches, call: RowwiseCall) -> Iterator[tuple[Batch, Any]]:
    """Each batch with the answer for it; columns are found by the names that the estimator knows."""
    for batch in batches.for_model(call.estimator):
        with batch.explained():
            answer = call(batch.table)
        yield batch, answer


def _refuse_both(batches: Batches, sample_weight: Any) -> None:
    if sample_weight is not None:
        raise ValueError(f"Got sample_weight and the weights in column {batches.weight!r}: give one.")
