"""How many answers are wrong if only the surest rows are answered."""

from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from modae.utils.arrays import Array


def risk_coverage_curve(y_true: Any, y_pred: Any, doubt: Any) -> tuple[Array, Array]:
    """Share of wrong answers if rows are answered from the surest on.

    Rows with equal doubt are answered in no order: each counts as wrong by the share of them that is.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true labels and the predicted ones.
    doubt : array-like of shape (n_samples,)
        High where the prediction is unsure, such as one minus the largest probability, or a column of
        ``uncertainty``.

    Returns
    -------
    coverage : ndarray of shape (n_samples,)
        Share of the rows that are answered, from 1 / n_samples to 1.
    risk : ndarray of shape (n_samples,)
        Share of these that is wrong; the last one is the error.

    Examples
    --------
    >>> from modae.metrics import risk_coverage_curve
    >>> coverage, risk = risk_coverage_curve(list("aabb"), list("abba"), [0.0, 0.4, 0.1, 0.5])
    >>> coverage.tolist(), risk.round(2).tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.33, 0.5])
    """
    truth, told = column_or_1d(y_true), column_or_1d(y_pred)
    doubts = column_or_1d(doubt, dtype=np.float64)
    check_consistent_length(truth, told, doubts)
    assert_all_finite(doubts, input_name="doubt")
    if not len(doubts):
        raise ValueError("y_true must have at least one row, got none.")
    _, places, counts = np.unique(doubts, return_inverse=True, return_counts=True)
    wrong = np.bincount(places, weights=np.asarray(truth != told, dtype=np.float64)) / counts
    answered = np.arange(1, len(doubts) + 1)
    return answered / len(doubts), np.cumsum(np.repeat(wrong, counts)) / answered


def area_under_risk_coverage(y_true: Any, y_pred: Any, doubt: Any) -> float:
    """Mean of :func:`risk_coverage_curve` over all coverages: low if errors are few and last.

    Examples
    --------
    >>> from modae.metrics import area_under_risk_coverage
    >>> area_under_risk_coverage([1, 1, 0, 0], [1, 0, 0, 1], [0.0, 0.4, 0.1, 0.5])
    0.20833333333333331
    """
    return float(risk_coverage_curve(y_true, y_pred, doubt)[1].mean())
