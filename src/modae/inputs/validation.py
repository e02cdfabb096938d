"""Arrays from outside become float matrices and weights that the core can trust."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from modae.core.arrays import Array
from modae.core.rows import Rows

FLOATS = (np.float64, np.float32)


def rows_of(X: Any, estimator: BaseEstimator, *, reset: bool = False, upcast: bool = False) -> Rows:
    """X as a float matrix, sparsity kept, and float32 unless ``upcast``.

    Its columns are checked against those of ``fit`` unless ``reset``.
    """
    if np.ma.is_masked(X):
        raise ValueError("X has masked entries, which would be read as numbers: fill or impute them.")
    dtype = np.float64 if upcast else FLOATS
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers, whose sum is no number
        rows = validate_data(estimator, X, reset=reset, dtype=dtype, accept_sparse="csr")
    if issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def weights_of(sample_weight: Any, n_rows: int) -> Array | None:
    """Weights of the rows as float64, checked; None where there are none."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise ValueError(f"sample_weight must be numbers, got {sample_weight!r}.") from reason
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_rows} rows of X, got shape "
            f"{weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        bad = weights[~np.isfinite(weights) | (weights < 0.0)][0]
        raise ValueError(f"sample_weight must be finite and not negative, got {bad}.")
    if not np.isfinite(weights.sum()):
        raise ValueError("sample_weight adds up to infinity: divide it, only ratios matter.")
    return weights
