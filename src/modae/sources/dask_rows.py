"""Dask arrays and dataframes as lazy rows: chunks are summed where they are, and answers stay lazy.

Both kinds become one dask array whose blocks are chunks of whole rows. ``fit`` maps a function over the
blocks that validates each and sums it up (D x D moments, or its rows while they are fewer than D), and
joins the sums in a tree, in an order that does not depend on who is ready first; only the last sum comes
to the caller. ``transform``, ``predict`` and the like return dask arrays of which nothing is computed
yet. All of it runs wherever the user runs dask: no cluster is ever started here.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from math import isnan
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute, is_dask_collection, persist
from dask.delayed import Delayed, delayed
from sklearn.base import BaseEstimator, clone

from modae.data.placed_parts import Parts, Task
from modae.data.rows import weights_of
from modae.data.summary import MEMORY_LIMIT, require_room
from modae.data.validation import LazyRows, RowwiseCall, gather, rows_of
from modae.sources.source import named
from modae.utils.parallel import in_one_thread

# Sums that one task adds: a worker holds so many of them at a time.
FAN_IN = 8


class DaskRows(LazyRows):
    """The rows of a dask array with two dimensions, or of a dask dataframe."""

    def reduce(
        self, estimator: Any, summarise: Any, weights: Any, *, reset: bool, upcast: bool, indexed: bool
    ) -> Any:
        """Sum up all chunks, where they are, and join the sums in a tree."""
        # What can be told without reading: number, names and types of the columns, and whether sums fit.
        columns, blocks = self.columns(), self._blocks()
        rows_of(columns, estimator, reset=reset, upcast=upcast)
        width = columns.shape[1]
        is_wide = 8 * width * width > MEMORY_LIMIT
        if indexed or is_wide:
            blocks = _counted(blocks)  # lengths that are not known cost a pass over the data
        if is_wide and blocks.shape[0] >= width:
            require_room(width, "each sum of chunks of dask")
        blocks, weights = _aligned_weights(weights, blocks)
        lengths = blocks.chunks[0] if _is_counted(blocks) else [0] * blocks.npartitions
        validator = clone(estimator)  # workers get nothing but what validation looks at
        for name in {"n_features_in_", "feature_names_in_"} & vars(estimator).keys():
            setattr(validator, name, getattr(estimator, name))
        starts = [0, *accumulate(lengths)]  # indices of the first rows of all chunks

        def chunk_sum(chunk: Any, place: int, weights: Any) -> np.ndarray:
            """What a worker does: validate a chunk, and make it small. An array of one object."""
            n_rows, start = int(chunk.shape[0]), starts[place]
            # Joining with nothing turns many rows into moments, and copies few.
            summary = summarise(np.empty((0, width)), None, start)
            if n_rows:
                rows = rows_of(chunk, validator, upcast=upcast)
                weights = weights_of(weights[:, 0] if np.ndim(weights) else weights, n_rows)
                summary = summary.join(summarise(rows, weights, start))
            return np.array([[PartialSum(n_rows, summary)]], dtype=object)

        work = delayed(chunk_sum, traverse=False)  # in the graph once, under a key of its own
        cells, like = ((1,) * blocks.npartitions, (1,)), np.empty((0, 0), object)
        sums = _map_chunks(work, blocks, weights, like=like, chunks=cells)
        whole = joined_sums(sums)
        if whole.n_rows == 0:
            rule = f"while a minimum of 1 is required by {type(estimator).__name__}"
            none = f"Found array with 0 sample(s) (shape=(0, {width}))"
            raise ValueError(f"{none} {rule}: all chunks of X are empty.")
        return whole.summary

    def map(self, call: RowwiseCall) -> Any:
        """A lazy dask array of the answers, in the chunks of X."""
        sample, answer = self._answers(call)
        axis, blocks = call.axis, self._blocks()
        one = _rows_first(sample, axis)

        def chunk_answer(chunk: Any, place: int) -> np.ndarray:
            return _rows_first(answer(chunk), axis)

        work = delayed(chunk_answer, pure=True, traverse=False)  # the model is in the graph once
        shape = {"chunks": (blocks.chunks[0], *one.shape[1:]), "new_axis": list(range(2, one.ndim))}
        answers = _map_chunks(work, blocks, like=one, **shape)
        return answers[:, 0] if sample.ndim == 1 else da.moveaxis(answers, 0, axis)

    def parts(self, call: RowwiseCall) -> "DaskParts":
        """The answers for each chunk, cut along their first axis; they stay where they are computed."""
        sample, answer = self._answers(call)
        on_chunk, work = delayed(_on_chunk, nout=len(sample)), opaque(lambda chunk, place: answer(chunk))
        blocks = enumerate(self._blocks().to_delayed().ravel())
        chunks = [on_chunk(chunk, work, block_id=(place,)) for place, chunk in blocks]
        return DaskParts([[chunk[part] for chunk in chunks] for part in range(len(sample))])

    def fold(self, call: RowwiseCall, states: Any, step: Any, **shared: Any) -> list[Any]:
        """The steps of each part are a chain of tasks; those of several parts run at the same time."""
        return self.parts(call).fold(states, step, **shared)

    def _answers(self, call: RowwiseCall) -> tuple[np.ndarray, Any]:
        """The answer for a row of zeros, and a function for workers that answers for a chunk."""
        columns = self.columns()
        # On a row of zeros, here: errors and warnings about columns come now, and once.
        answer = call(columns)
        # scikit-learn would make a table in memory of the lazy answer too: an error is better.
        if hasattr(answer, "columns"):
            library = type(answer).__module__.partition(".")[0]
            raise ValueError(
                f"set_output(transform={library!r}) would gather what transform returns for dask data: "
                'use set_output(transform="default"), and for a lazy dataframe '
                "dask.dataframe.from_dask_array(codes, columns=model.get_feature_names_out())."
            )
        is_named = hasattr(columns, "columns")
        # Of names that the model does not know the caller was told, once.
        forgets = is_named and not hasattr(call.estimator, "feature_names_in_")
        light, sample = replace(call, estimator=_light(call.estimator, is_named)), np.asarray(answer)
        nothing = np.moveaxis(np.moveaxis(sample, call.axis, 0)[:0], 0, call.axis)

        def chunk_answer(chunk: Any) -> np.ndarray:
            if chunk.shape[0] == 0:
                return nothing
            return np.asarray(light(chunk.to_numpy() if forgets else chunk))

        return sample, chunk_answer

    def gather(self) -> Any:
        """The values, computed."""
        return self.data.compute()

    def columns(self) -> Any:
        """A row of zeros with the names and types of the columns; an error if X has no columns."""
        X = self.data
        if isinstance(X, da.Array) and X.ndim == 2:
            width = int(_with_known_columns(X).shape[1])
            return np.zeros((1, width), X.dtype if X.dtype.kind in "fiubc" else np.float64)
        if _is_table(X) and X.ndim == 2:
            # In their common type: float32 stays float32, and what is no number is tried as one.
            kinds = [
                kind if isinstance(kind, np.dtype) and kind.kind in "fiub" else np.float64
                for kind in X.dtypes
            ]
            return X.dtypes.to_frame().T.isna().astype(np.result_type(np.bool_, *kinds))
        shape = f"{X.ndim} dimensions" if isinstance(X, da.Array) else f"a dask {type(X).__name__}"
        raise ValueError(
            "X must be a dask array with two dimensions, rows and columns, or a dask dataframe, got "
            f"{shape}. Reshape your data, for example X.reshape(len(X), -1), X[:, None] or X.to_frame()."
        )

    def n_rows(self) -> int | None:
        """Known for arrays with known chunks."""
        known = isinstance(self.data, da.Array) and _is_counted(self.data)
        return int(self.data.shape[0]) if known else None

    def split_weights(self, sample_weight: Any) -> tuple[Any, Any]:
        """The data as they are: their weights are given apart."""
        return self.data, gather(sample_weight)

    def _blocks(self) -> da.Array:
        """A dask array with a block for each chunk of rows; blocks of a dataframe stay tables."""
        X = self.data
        if isinstance(X, da.Array):
            # A sum of products needs whole rows.
            return X if X.numblocks[1] == 1 else _with_known_columns(X).rechunk({1: -1})
        # Projections reach the reader of the files first, which may also change the partitions.
        meta = np.empty((0, len(X.columns)))
        same: Any = {"meta": meta, "enforce_metadata": False}
        blocks: da.Array = X.optimize().map_partitions(lambda table: table, **same)
        return blocks


class DaskParts(Parts):
    """Parts of all rows, each in pieces, one for each chunk: nothing is computed until it is needed.

    Parameters
    ----------
    pieces : sequence of sequences of Delayed
        For each part, its arrays (rows of a chunk, columns) in the order of the rows.
    shared : mapping of str to Delayed
        Arguments of all functions: they travel to a worker once, not with each task.
    """

    def __init__(
        self, pieces: Sequence[Sequence[Delayed]], shared: dict[str, Delayed] | None = None
    ) -> None:
        self.pieces = pieces
        self.shared = shared or {}
        self._wholes: dict[int, Delayed] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    def run(
        self, tasks: Sequence[Task], n_jobs: int | None = None, advance: Any = None, **shared: Any
    ) -> list[Any]:
        """``function(part, **shared)`` for each task, on the workers; only the answers come here."""
        given = self.shared | {name: opaque(value) for name, value in shared.items()}
        work = [
            opaque(partial(in_one_thread, function))(self._whole(place), **given)
            for place, function in tasks
        ]
        answers = list(compute(*work))
        if advance is not None:
            for _ in answers:
                advance()
        return answers

    def fold(self, states: Sequence[Any], step: Callable[..., Any], **shared: Any) -> list[Any]:
        """``state = step(state, piece, **shared)`` for each part over its pieces: the last states."""
        given = {name: opaque(value) for name, value in shared.items()}
        advance, work = opaque(partial(in_one_thread, step)), []
        for state, pieces in zip(map(opaque, states), self.pieces, strict=True):
            for piece in pieces:
                state = advance(state, piece, **given)
            work.append(state)
        return list(compute(*work))

    def derived(self, functions: Sequence[Callable[..., Any]]) -> "DaskParts":
        """Parts that are ``function(part 0)`` for each function, computed on the workers."""
        return DaskParts([[opaque(each)(self._whole(0))] for each in functions])

    def keep(self, **shared: Any) -> "DaskParts":
        """The same parts, whole, computed once and kept on the workers, with what all tasks need."""
        given = {name: opaque(value) for name, value in shared.items()}
        wholes, given = persist([self._whole(place) for place in range(len(self))], given)
        return DaskParts([[each] for each in wholes], self.shared | given)

    def _whole(self, place: int) -> Delayed:
        """All rows of a part in one array, on some worker; several tasks share it."""
        if place not in self._wholes:
            pieces = list(self.pieces[place])
            self._wholes[place] = pieces[0] if len(pieces) == 1 else delayed(_joined)(pieces)
        return self._wholes[place]


def opaque(value: Any) -> Any:
    """A value in the graph as it is: dask looks for its own objects in lists and dataclasses."""
    return delayed(value, traverse=False, pure=False)


def _joined(pieces: list[np.ndarray]) -> np.ndarray:
    """One array; what arrives from elsewhere may not be aligned, and would round differently."""
    return np.require(np.concatenate(pieces), requirements="A")


@dataclass(frozen=True, eq=False)
class PartialSum:
    """A summary and the number of rows that it is of: chunks may be empty, all of X may not."""

    n_rows: int
    summary: Any

    def __add__(self, other: "PartialSum") -> "PartialSum":
        return PartialSum(self.n_rows + other.n_rows, self.summary.join(other.summary))


def joined_sums(sums: da.Array) -> PartialSum:
    """The sum of a column of partial sums: dask adds neighbours in their order, ``FAN_IN`` at a time."""
    whole: PartialSum = sums.sum(axis=0, split_every=FAN_IN).compute().item()
    return whole


def _map_chunks(work: Any, blocks: da.Array, *arguments: Any, like: np.ndarray, **options: Any) -> Any:
    """``work(chunk, place, *arguments)`` for all chunks, lazily; answers are arrays such as ``like``."""
    kind = {"dtype": like.dtype, "meta": np.empty((0,) * like.ndim, like.dtype)}
    return da.map_blocks(_on_chunk, blocks, work, *arguments, **kind, **options)


def _on_chunk(chunk: Any, work: Any, *arguments: Any, block_id: Any) -> Any:
    """Do the work that all chunks share, and say which chunk was wrong.

    Other errors, such as a lack of memory, stay as they are.
    """
    with named(f"Chunk {block_id[0]} of X"):
        return work(chunk, block_id[0], *arguments)


def _rows_first(answer: np.ndarray, axis: int) -> np.ndarray:
    """The answer as a block of at least two dimensions, like the chunk that it is of."""
    answer = np.moveaxis(answer, axis, 0)
    return answer[:, None] if answer.ndim == 1 else answer


def _aligned_weights(sample_weight: Any, blocks: da.Array) -> tuple[da.Array, Any]:
    """The blocks, and weights to map with them: none, one number, or a column in the same chunks.

    The blocks are counted where there is no other way to tell which weight is whose; where dask does
    not know the lengths of equally many chunks, workers check.
    """
    if not is_dask_collection(sample_weight):
        if sample_weight is None or np.ndim(sample_weight) == 0:
            return blocks, sample_weight
        blocks = _counted(blocks)
        weights: Any = weights_of(sample_weight, blocks.shape[0])
        return blocks, da.from_array(weights, chunks=(blocks.chunks[0],))[:, None]
    weights = sample_weight.optimize().to_dask_array() if _is_table(sample_weight) else sample_weight
    if not isinstance(weights, da.Array) or weights.ndim != 1:
        rule = "one dimension: a dask array or series with one number for each row of X"
        raise ValueError(f"sample_weight must have {rule}, got a dask {type(sample_weight).__name__}.")
    known = _is_counted(weights) and _is_counted(blocks)
    if weights.npartitions != blocks.npartitions or (known and weights.chunks[0] != blocks.chunks[0]):
        blocks, weights = _counted(blocks), _counted(weights)
        if weights.shape[0] != blocks.shape[0]:
            rule = f"one number for each of the {blocks.shape[0]} rows of X"
            raise ValueError(f"sample_weight must have {rule}, got shape {weights.shape}.")
        weights = weights.rechunk((blocks.chunks[0],))
    return blocks, weights[:, None]


def _is_counted(array: da.Array) -> bool:
    """Whether dask knows the lengths of the chunks."""
    return not isnan(array.shape[0])


def _counted(array: da.Array) -> da.Array:
    """The same with lengths: one pass over the data if dask does not know them."""
    return array if _is_counted(array) else array.copy().compute_chunk_sizes()


def _with_known_columns(X: da.Array) -> da.Array:
    """The same array; the widths of its chunks are looked up if dask does not know them."""
    if not isnan(X.shape[1]):
        return X
    widths = X.blocks[0].compute_chunk_sizes().chunks[1]  # the first chunk of rows has them all
    return da.Array(X.dask, X.name, (X.chunks[0], widths), meta=X)


def _is_table(X: Any) -> bool:
    """Whether X is a dask dataframe or series. (A delayed value claims to have every attribute.)"""
    return hasattr(type(X), "to_dask_array")


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
