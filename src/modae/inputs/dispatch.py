"""The dispatch itself, and its default: whatever scikit-learn can read as a dense matrix."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from modae.core.arrays import Array
from modae.core.moments import Summary, summarise

FLOATS = (np.float64, np.float32)


@singledispatch
def collect(X: Any, estimator: BaseEstimator) -> Summary:
    """Validate training data for an estimator and sum them up.

    The type of ``X`` picks the implementation *before* validation, because what "valid" means is a
    matter of the type. An implementation sets ``n_features_in_`` and ``feature_names_in_`` on the
    estimator. Register one with ``@collect.register(TheType)``.
    """
    return summarise(rows_of(X, estimator, reset=True))


def rows_of(X: Any, estimator: BaseEstimator, *, reset: bool = False) -> Array:
    """X as a float matrix, float32 kept; its columns checked against the ones seen in ``fit``."""
    rows: Array = validate_data(estimator, X, reset=reset, dtype=FLOATS)
    return rows
