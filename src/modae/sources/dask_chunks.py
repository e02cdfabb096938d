"""Dask: chunks are summed where they are, and answers stay lazy.

``fit`` runs one task for each chunk, which validates it and sums it up (D x D moments, or its rows while
they are fewer than D), and a tree of tasks that join the sums. Only the last sum comes to the caller.
``transform``, ``predict`` and the like return dask arrays of which nothing is computed yet.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask._task_spec import DataNode, Task, TaskRef
from dask.array import Array
from dask.base import DaskMethodsMixin, tokenize
from dask.highlevelgraph import HighLevelGraph
from sklearn import get_config
from sklearn.base import BaseEstimator, clone

from modae.data.dispatch import (
    RowwiseCall,
    Summarise,
    check_length,
    columns_of,
    gather,
    map_rows,
    reduce_rows,
)
from modae.data.rows import Rows
from modae.data.summary import MEMORY_LIMIT, Stream, gathered, require_bytes
from modae.data.validation import rows_of, weights_of
from modae.sources.dask_chunks_graph import call_shared, joined, naming_chunk
from modae.sources.dask_chunks_kinds import (
    Chunks,
    chunks_of,
    known_lengths,
    one_row_of,
    weights_of_chunks,
)


@dataclass(frozen=True, eq=False)
class Part:
    """A summary and the number of rows that it is of: chunks may be empty, all of X may not."""

    n_rows: int
    summary: Any

    def join(self, other: Part) -> Part:
        """The summary of both."""
        return Part(self.n_rows + other.n_rows, self.summary.join(other.summary))


@dataclass(frozen=True, eq=False)
class Summing:
    """What a worker does with a chunk in ``fit``: validate it, and make it small.

    ``validator`` is the estimator without anything but its parameters and the columns it expects.
    """

    validator: BaseEstimator
    summarise: Summarise
    upcast: bool

    def __call__(self, chunk: Any, weights: Any, place: int, start: int) -> Part:
        """The part of one chunk."""
        n_rows = int(chunk.shape[0])
        with naming_chunk(place):
            # Joining with nothing turns many rows into moments, and copies few.
            nothing = self.summarise(np.empty((0, self.validator.n_features_in_)), None, start)
            if n_rows == 0:
                return Part(0, nothing)
            rows: Rows = rows_of(chunk, self.validator, upcast=self.upcast)
            summary = self.summarise(rows, weights_of(weights, n_rows), start)
            return Part(n_rows, nothing.join(summary))


@dataclass(frozen=True, eq=False)
class Answering:
    """What a worker does with a chunk in ``transform`` and the like.

    ``empty`` is the answer for no rows; ``nameless`` models get chunks without names of columns.
    """

    call: RowwiseCall
    empty: np.ndarray
    nameless: bool

    @classmethod
    def by(cls, call: RowwiseCall, chunks: Chunks, sample: np.ndarray) -> Answering:
        """The call with a model that is fit to travel, and the answer for one row."""
        light = _light(call.estimator, named=hasattr(chunks.columns, "columns"))
        empty = np.empty(_replaced(sample.shape, call.axis, 0), sample.dtype)
        nameless = not hasattr(call.estimator, "feature_names_in_")
        return cls(replace(call, estimator=light), empty, nameless)

    def __call__(self, chunk: Any, place: int) -> np.ndarray:
        """The answers for the rows of one chunk."""
        if chunk.shape[0] == 0:
            return self.empty
        if self.nameless and hasattr(chunk, "to_numpy"):
            chunk = chunk.to_numpy()  # the caller was told of the names, once
        with naming_chunk(place):
            return np.asarray(self.call(chunk))


@reduce_rows.register(DaskMethodsMixin)
def reduce_chunks(
    X: Any,
    estimator: BaseEstimator,
    summarise: Summarise,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    upcast: bool = False,
    indexed: bool = False,
) -> Any:
    """Sum up all chunks, where they are, and join the sums in a tree."""
    chunks = chunks_of(X)
    # What can be told without reading: number, names and types of the columns, and whether sums fit.
    rows_of(chunks.columns, estimator, reset=reset, upcast=upcast)
    chunks = _with_room(chunks)
    if indexed:
        chunks = chunks.counted()  # lengths that are not known cost a pass over the data
    chunks, weights, sources = weights_of_chunks(sample_weight, chunks)
    places = range(len(chunks.keys))
    arguments = list(zip(chunks.references, weights, places, chunks.starts, strict=True))
    work = Summing(_validator(estimator), summarise, upcast)
    whole: Part = joined(work, arguments, [chunks.collection, *sources])
    if whole.n_rows == 0:
        raise _no_rows(estimator, chunks.width)
    return _as_one_set(whole.summary)


@map_rows.register(DaskMethodsMixin)
def map_chunks(X: Any, call: RowwiseCall) -> Array:
    """A lazy dask array of the answers, in the chunks of X."""
    _refuse_containers(call)
    chunks = chunks_of(X)
    # On a row of zeros, here: errors and warnings about columns come now, and once.
    sample = np.asarray(call(chunks.columns))
    answering = Answering.by(call, chunks, sample)
    name = f"modae-{call.method}-{tokenize(answering, chunks.keys)}"
    lengths = chunks.lengths or (np.nan,) * len(chunks.keys)
    sizes = _replaced(tuple((size,) for size in sample.shape), call.axis, lengths)
    graph = _graph_of_answers(name, answering, chunks)
    return Array(graph, name, sizes, meta=np.empty((0,) * sample.ndim, sample.dtype))


@gather.register(DaskMethodsMixin)
def gather_chunks(values: Any) -> Any:
    """The values, computed."""
    return values.compute()


@columns_of.register(DaskMethodsMixin)
def columns_of_chunks(X: Any) -> Any:
    """A row of zeros with the names and types of the columns."""
    return one_row_of(X)


@check_length.register(DaskMethodsMixin)
def check_length_of_chunks(X: Any, y: Any) -> None:
    """Refuse another number of labels if the lengths are known; if not, the features tell later."""
    lengths = known_lengths(X)
    if lengths is not None and sum(lengths) != len(y):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {sum(lengths)} rows and y has {len(y)}."
        )


def _graph_of_answers(name: str, answering: Answering, chunks: Chunks) -> HighLevelGraph:
    """One task for each chunk; the model is in the graph once, under its own key."""
    shared = f"model-of-{name}"
    layer: dict[Any, Any] = {shared: DataNode(shared, answering)}
    n_axes, axis = answering.empty.ndim, answering.call.axis
    for place, chunk in enumerate(chunks.references):
        key = (name, *_replaced((0,) * n_axes, axis, place))
        layer[key] = Task(key, call_shared, TaskRef(shared), chunk, place)
    return HighLevelGraph.from_collections(name, layer, dependencies=[chunks.collection])


def _replaced(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _no_rows(estimator: BaseEstimator, width: int) -> ValueError:
    return ValueError(
        f"Found array with 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required by "
        f"{type(estimator).__name__}: all chunks of X are empty."
    )


def _validator(estimator: BaseEstimator) -> BaseEstimator:
    """The estimator with nothing but what validation looks at."""
    validator = clone(estimator)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(validator, name, getattr(estimator, name))
    return validator


def _light(estimator: Any, named: bool) -> Any:
    """A copy to travel: without the sums that only ``partial_fit`` needs.

    For chunks without names it forgets the names, or each of them would warn again.
    """
    light = copy(estimator)
    for name, value in vars(estimator).items():
        if hasattr(value, "without_data"):
            vars(light)[name] = value.without_data()
        elif isinstance(value, BaseEstimator):
            vars(light)[name] = _light(value, named)
    if not named:
        vars(light).pop("feature_names_in_", None)
    return light


def _with_room(chunks: Chunks) -> Chunks:
    """The chunks, counted if that matters; an error before anything is summed if sums are too large."""
    width = chunks.width
    if 8 * width * width <= MEMORY_LIMIT:
        return chunks
    chunks = chunks.counted()
    n_rows = sum(chunks.lengths or ())
    if n_rows >= width:
        raise MemoryError(
            f"Chunks of dask are summed into matrices of {width:,} x {width:,} numbers, whatever "
            f"spectrum= is: {8 * width**2 / 1e9:.1f} GB each, over the limit of "
            f"{MEMORY_LIMIT / 1e9:.1f} GB. Reduce the number of features first, or fit in memory with "
            "spectrum='krylov'."
        )
    if isinstance(getattr(chunks.collection, "_meta", None), np.ndarray):  # dense
        require_bytes(4 * n_rows * width, "keeping the rows takes at least")
    return chunks


def _as_one_set(summary: Any) -> Any:
    """A stream whose rows are one matrix, as after a fit to rows in memory."""
    if isinstance(summary, Stream) and len(summary.pending) > 1:
        return replace(summary, pending=(gathered(summary.pending),))
    return summary


def _refuse_containers(call: RowwiseCall) -> None:
    """scikit-learn would make a table in memory of the lazy answer: an error is better."""
    config = getattr(call.estimator, "_sklearn_output_config", {})
    container = config.get("transform", get_config()["transform_output"])
    if call.method == "transform" and container != "default":
        raise ValueError(
            f"set_output(transform={container!r}) would gather what transform returns for dask data: "
            'use set_output(transform="default"), and for a lazy dataframe '
            "dask.dataframe.from_dask_array(codes, columns=model.get_feature_names_out())."
        )
