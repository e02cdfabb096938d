"""Batches as lazy rows: summed up, mapped and gathered one batch after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter, validate_data

from modae.data.rows import Rows
from modae.data.validation import LazyRows, RowwiseCall, Summarise, gather, weights_of
from modae.sources.batch import Batch
from modae.sources.batches import Batches
from modae.sources.frames import joined
from modae.utils.arrays import Array


class BatchRows(LazyRows):
    """The rows of :class:`modae.Batches`."""

    data: Batches

    def reduce(
        self,
        estimator: BaseEstimator,
        summarise: Summarise,
        sample_weight: Any,
        *,
        reset: bool,
        upcast: bool,
        indexed: bool,
    ) -> Any:
        """Sum up batch after batch; only the sum so far and one batch are in memory."""
        batches = self.data if reset else self.data.for_model(estimator)
        validate_data(estimator, batches.header, reset=reset, skip_check_array=True)
        given = _given_weights(batches, estimator, sample_weight)
        # Begin with no rows: then each batch is added in the same way, and none is kept as it is.
        stop, summary = batches.begin(summarise(_floats(batches.sample[:0], upcast), None, 0))
        for batch in batches.read(stop):
            with batch.explained():
                rows, weights = _floats(_checked(batch), upcast), _weights(batch, given)
                summary = summary.join(summarise(rows, weights, batch.start))
            stop = batch.stop
            batches.note(stop, summary)
        if stop == 0:
            raise ValueError("the source has no rows: there would be no data.")
        if given is not None and stop != len(given):
            raise ValueError(
                f"sample_weight must have one number for each of the {stop} rows, got {len(given)}."
            )
        return summary

    def map(self, call: RowwiseCall) -> Any:
        """Answers batch by batch, put together in memory along the axis of the rows."""
        answers = [answer for _, answer in answers_of(self.data, call)]
        if not answers:
            raise ValueError("the source has no rows: there is nothing to answer.")
        if call.axis == 0 and any(sparse.issparse(answer) for answer in answers):
            return joined(answers)
        return np.concatenate([np.asarray(answer) for answer in answers], axis=call.axis)

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


def _floats(rows: Rows, upcast: bool) -> Rows:
    return rows.astype(np.float64, copy=False) if upcast else rows


def _checked(batch: Batch) -> Rows:
    """Rows without NaN. Those of a large batch are looked at only if their sums are no numbers."""
    summed_now = len(batch) >= batch.rows.shape[1] and batch.weights is None
    if sparse.issparse(batch.rows) or not summed_now:
        batch.check_finite()
    return batch.rows


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
        raise ValueError(
            f"There are sample_weight and the weights in column {batches.weight!r}: give one of them."
        )


def _weights(batch: Batch, given: Array | None) -> Array | None:
    if given is None:
        return batch.weights
    if batch.stop > len(given):
        raise ValueError(
            f"sample_weight must have one number for each row, got {len(given)}: there are more rows."
        )
    return given[batch.start : batch.stop]
