"""Dask arrays and dask dataframes as one thing: a list of chunks of whole rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
from dask._task_spec import TaskRef
from dask.array import Array
from dask.base import is_dask_collection
from dask.utils import is_dataframe_like, is_series_like

from modae.data.validation import weights_of
from modae.sources.dask_chunks_graph import answers_of


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks of a dask collection, none of which is in memory.

    Parameters
    ----------
    collection : dask array or dataframe
    keys : tuple
        Names of the chunks in the graph of the collection, in the order of the rows.
    lengths : tuple of int, or None
        Rows of each chunk; None if dask does not know them.
    columns : ndarray or pandas DataFrame of shape (1, n_features)
        A row of zeros with the names and types of the columns.
    """

    collection: Any
    keys: tuple[Any, ...]
    lengths: tuple[int, ...] | None
    columns: Any

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.columns.shape[1])

    @property
    def starts(self) -> list[int]:
        """Index of the first row of each chunk; 0 where the lengths are not known."""
        lengths = self.lengths or (0,) * len(self.keys)
        return [0, *np.cumsum(lengths).tolist()][:-1]

    @property
    def references(self) -> list[TaskRef]:
        """The chunks as arguments of a task."""
        return [TaskRef(key) for key in self.keys]

    def counted(self) -> Chunks:
        """The same with lengths: one pass over the data if dask does not know them."""
        if self.lengths is not None:
            return self
        heights = answers_of(_height, self.keys, self.collection)
        return replace(self, lengths=tuple(heights))


def chunks_of(X: Any) -> Chunks:
    """The chunks of a dask array with two dimensions, or of a dask dataframe."""
    columns = one_row_of(X)
    if not isinstance(X, Array):
        # Projections reach the reader of the files, which may also change the partitions.
        optimised = X.optimize()
        return Chunks(optimised, tuple(optimised.__dask_keys__()), None, columns)
    # A sum of products needs whole rows.
    X = X if X.numblocks[1] == 1 else _with_known_columns(X).rechunk({1: -1})
    keys = tuple((X.name, place, 0) for place in range(X.numblocks[0]))
    return Chunks(X, keys, known_lengths(X), columns)


def one_row_of(X: Any) -> Any:
    """A row of zeros in memory with the columns of X; an error if X has no columns."""
    if isinstance(X, Array) and X.ndim == 2:
        width = int(_with_known_columns(X).shape[1])
        return np.zeros((1, width), X.dtype if X.dtype.kind in "fiubc" else np.float64)
    if is_dataframe_like(X):
        return _one_row_of_frame(X._meta)
    shape = f"{X.ndim} dimensions" if isinstance(X, Array) else f"a dask {type(X).__name__}"
    raise ValueError(
        "X must be a dask array with two dimensions, rows and columns, or a dask dataframe, got "
        f"{shape}. Reshape your data, for example X.reshape(len(X), -1), X[:, None] or X.to_frame()."
    )


def known_lengths(X: Any) -> tuple[int, ...] | None:
    """Rows of each chunk of an array; None where dask does not know, as in a dataframe."""
    if not isinstance(X, Array) or any(isnan(rows) for rows in X.chunks[0]):
        return None
    return tuple(int(rows) for rows in X.chunks[0])


def weights_of_chunks(sample_weight: Any, chunks: Chunks) -> tuple[Chunks, list[Any], list[Any]]:
    """Weights of each chunk as arguments of its task, and the dask collections that they are from.

    The chunks are counted where there is no other way to tell which weight is whose.
    """
    if is_dask_collection(sample_weight):
        return _aligned(sample_weight, chunks)
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return chunks, [sample_weight] * len(chunks.keys), []
    chunks = chunks.counted()
    weights: Any = weights_of(sample_weight, sum(chunks.lengths or ()))
    return chunks, np.split(weights, chunks.starts[1:]), []


def _aligned(weights: Any, chunks: Chunks) -> tuple[Chunks, list[Any], list[Any]]:
    """Weights in chunks like those of X. Where dask does not know, workers check."""
    if weights.ndim != 1 or not (isinstance(weights, Array) or is_series_like(weights)):
        raise ValueError(
            "sample_weight must have one dimension: a dask array or series with one number for each "
            f"row of X, got a dask {type(weights).__name__} with {weights.ndim} dimensions."
        )
    weights = weights if isinstance(weights, Array) else weights.optimize()
    lengths = known_lengths(weights)
    both_known = None not in (lengths, chunks.lengths)
    same = lengths == chunks.lengths if both_known else weights.npartitions == len(chunks.keys)
    if not same:
        chunks = chunks.counted()
        weights = _rechunked(weights, chunks.lengths or ())
    return chunks, [TaskRef(key) for key in weights.__dask_keys__()], [weights]


def _rechunked(weights: Any, lengths: tuple[int, ...]) -> Array:
    array = weights if isinstance(weights, Array) else weights.to_dask_array(lengths=True)
    if known_lengths(array) is None:
        heights = answers_of(_height, tuple(array.__dask_keys__()), array)
        array = Array(array.dask, array.name, (tuple(heights),), meta=array._meta)
    if array.shape[0] != sum(lengths):
        raise ValueError(
            f"sample_weight must have one number for each of the {sum(lengths)} rows of X, got shape "
            f"{array.shape}."
        )
    return array.rechunk((lengths,))


def _with_known_columns(X: Array) -> Array:
    """The same array; the widths of its chunks are looked up if dask does not know them."""
    if not any(isnan(width) for width in X.chunks[1]):
        return X
    # The first chunk of rows has them all.
    keys = tuple((X.name, 0, place) for place in range(X.numblocks[1]))
    widths = answers_of(_width, keys, X)
    return Array(X.dask, X.name, (X.chunks[0], tuple(widths)), meta=X._meta)


def _one_row_of_frame(meta: Any) -> Any:
    """Zeros in the types of the columns: float32 stays float32. What is no number is tried as one."""
    row = meta.reindex([0]).astype(object)
    row.iloc[:, :] = 0.0
    types = [kind if _is_plain_number(kind) else np.dtype(np.float64) for kind in meta.dtypes]
    columns = [row.iloc[:, place].astype(kind) for place, kind in enumerate(types)]
    frame = type(meta)(dict(enumerate(columns)), index=row.index)
    frame.columns = meta.columns
    return frame


def _is_plain_number(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in "fiub"


def _height(chunk: Any) -> int:
    return int(chunk.shape[0])


def _width(chunk: Any) -> int:
    return int(chunk.shape[1])
