"""Batches in the open dispatch: how they are summed up, mapped and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter, validate_data

from modae.data.dispatch import (
    RowwiseCall,
    Summarise,
    check_length,
    columns_of,
    gather,
    map_rows,
    reduce_rows,
    split_weights,
)
from modae.data.rows import Rows
from modae.data.validation import weights_of
from modae.sources.batch import Batch
from modae.sources.batches import Batches
from modae.sources.frames import joined
from modae.utils.arrays import Array


@reduce_rows.register(Batches)
def reduce_batches(
    batches: Batches,
    estimator: BaseEstimator,
    summarise: Summarise,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    upcast: bool = False,
    indexed: bool = False,
) -> Any:
    """Sum up batch after batch; only the sum so far and one batch are in memory."""
    if not reset:
        batches = batches.for_model(estimator)
    validate_data(estimator, batches.header, reset=reset, skip_check_array=True)
    given = _given_weights(batches, estimator, sample_weight)
    # Begin with no rows: from then on each batch is added in the same way, and none is kept as it is.
    stop, summary = batches.begin(summarise(_floats(batches.sample[:0], upcast), None, 0))
    for batch in batches.read(stop):
        with batch.explained():
            rows, weights = _checked(batch, upcast), _weights(batch, given)
            summary = summary.join(summarise(rows, weights, batch.start))
        stop = batch.stop
        batches.note(stop, summary)
    _check_end(stop, given)
    return summary


def _floats(rows: Rows, upcast: bool) -> Rows:
    return rows.astype(np.float64, copy=False) if upcast else rows


def _checked(batch: Batch, upcast: bool) -> Rows:
    """Rows without NaN. Those of a large batch are looked at only if their sums are no numbers."""
    summed_now = len(batch) >= batch.rows.shape[1] and batch.weights is None
    if sparse.issparse(batch.rows) or not summed_now:
        batch.check_finite()
    return _floats(batch.rows, upcast)


def _given_weights(batches: Batches, estimator: BaseEstimator, sample_weight: Any) -> Array | None:
    """Weights of all rows that a caller passed beside the batches."""
    if batches.weight is not None:
        _refuse_both(batches, sample_weight)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"{type(estimator).__name__} takes no weights: open the batches without "
                f"weight={batches.weight!r}."
            )
    if sample_weight is None:
        return None
    n_rows = batches.n_rows if batches.n_rows is not None else np.size(sample_weight)
    return weights_of(sample_weight, n_rows)


def _refuse_both(batches: Batches, sample_weight: Any) -> None:
    if sample_weight is not None:
        raise ValueError(f"sample_weight and the weights in column {batches.weight!r}: give one.")


def _weights(batch: Batch, given: Array | None) -> Array | None:
    if given is None:
        return batch.weights
    if batch.stop > len(given):
        raise ValueError(
            f"sample_weight must have one number for each row, got {len(given)}: there are more rows."
        )
    return given[batch.start : batch.stop]


def _check_end(stop: int, given: Array | None) -> None:
    if stop == 0:
        raise ValueError("the source has no rows: there would be no data.")
    if given is not None and stop != len(given):
        raise ValueError(
            f"sample_weight must have one number for each of the {stop} rows, got {len(given)}."
        )


@map_rows.register(Batches)
def map_batches(batches: Batches, call: RowwiseCall) -> Any:
    """Answers batch by batch, put together in memory along the axis of the rows."""
    answers = [answer for _, answer in answers_of(batches, call)]
    if not answers:
        raise ValueError("the source has no rows: there is nothing to answer.")
    if call.axis == 0 and any(sparse.issparse(answer) for answer in answers):
        return joined(answers)
    return np.concatenate([np.asarray(answer) for answer in answers], axis=call.axis)


def answers_of(batches: Batches, call: RowwiseCall) -> Any:
    """Each batch with the answer for it; columns are found by the names that the estimator knows."""
    for batch in batches.for_model(call.estimator):
        with batch.explained():
            answer = call(batch.table)
        yield batch, answer


@gather.register(Batches)
def gather_batches(batches: Batches) -> Rows:
    """All rows in memory."""
    return batches.to_array()


@columns_of.register(Batches)
def columns_of_batches(batches: Batches) -> Any:
    """A table without rows."""
    return batches.header


@check_length.register(Batches)
def check_length_of_batches(batches: Batches, y: Any) -> None:
    """As many labels as rows, where the number of rows is known before reading."""
    if batches.n_rows is not None and batches.n_rows != len(y):
        raise ValueError(f"y must have one label for each of the {batches.n_rows} rows, got {len(y)}.")


@split_weights.register(Batches)
def split_weights_of_batches(batches: Batches, sample_weight: Any) -> tuple[Batches, Any]:
    """The column of weights, and the batches without it."""
    if batches.weight is None:
        return batches, gather(sample_weight)
    _refuse_both(batches, sample_weight)
    return batches.without_weights(), batches.read_weights()
