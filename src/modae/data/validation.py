"""Arrays from outside become float matrices and weights that the core can trust."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from modae.data.devices import (
    DeviceArray,
    Place,
    on_host,
    place_of,
    remember_place,
    without_gradient,
)
from modae.data.rows import Rows
from modae.utils.arrays import FLOAT64, Array

FLOATS = (np.float64, np.float32)


def rows_of(X: Any, estimator: BaseEstimator, *, reset: bool = False, upcast: bool = False) -> Rows:
    """X as a float matrix, sparsity kept, and float32 unless ``upcast``.

    Its columns are checked against those of ``fit`` unless ``reset``. Arrays of another namespace stay
    where they are, if the estimator has the tag ``array_api_support`` and the device has the precision.
    """
    refuse_masked("X", X)
    if hasattr(type(X), "__dask_graph__"):
        raise TypeError(
            f"{type(estimator).__name__} does not take dask data here, because that would gather all "
            "rows: give it a sample in memory, X.compute()."
        )
    if not issparse(X):
        X = _without_dates(X)
    place = place_of(X)
    X = plain_numbers(X, place)
    if place is not None and not _can_stay(place, estimator, upcast):
        X, place = place.fetch(X), None
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers, whose sum is no number
        rows = validate_data(
            estimator, X, reset=reset, dtype=dtypes_of(place, upcast), accept_sparse="csr"
        )
    if reset:
        remember_place(estimator, place)
    if place is not None:
        return DeviceArray(rows, place)
    if issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    # NumPy multiplies rows that are not aligned, as they may arrive from another process, by another
    # routine, with other round-off.
    return rows if issparse(rows) else np.require(rows, requirements="A")


def refuse_masked(name: str, values: Any) -> None:
    """Masked entries would be read as the numbers behind the mask."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked entries, which would be read as numbers: fill them, or drop those rows."
        )


def _without_dates(X: Any) -> Any:
    """X in the byte order of this machine; dates are refused: they would be read as nanoseconds."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "mM":
            raise ValueError(
                f"X holds dates or durations ({X.dtype}), not numbers: convert them, for example to "
                "days since a first date."
            )
        foreign = X.dtype.kind == "f" and not X.dtype.isnative
        return X.astype(X.dtype.newbyteorder("=")) if foreign else X
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X must be in memory, got a lazy {type(X).__name__} of {type(X).__module__.split('.')[0]}: "
            "use X.collect()."
        )
    if isinstance(frame, nw.DataFrame):
        dates = [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
        if dates:
            raise ValueError(
                f"X has dates or durations in column {dates[0]!r}, not numbers: convert them, for "
                "example to days since a first date, or leave the column out."
            )
    return X


def plain_numbers(X: Any, place: Place | None) -> Any:
    """X without a gradient; what validation would not see in other namespaces is refused here."""
    if "sparse" in str(getattr(X, "layout", "")):
        raise TypeError("X must be dense or a sparse matrix of scipy, got a sparse tensor: convert it.")
    if place is not None and place.xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: X must be real numbers.")
    return without_gradient(X)


def _can_stay(place: Place, estimator: BaseEstimator, upcast: bool) -> bool:
    precise = not upcast or place.precise == FLOAT64
    return precise and getattr(get_tags(estimator), "array_api_support", False)


def dtypes_of(place: Place | None, upcast: bool = False) -> Any:
    """Types of numbers that are kept as they are; others become the first."""
    dtypes = [np.float64] if upcast else FLOATS
    if place is None:
        return dtypes
    known = [dtype for dtype in dtypes if np.dtype(dtype).itemsize <= place.precise.itemsize]
    return [getattr(place.xp, dtype.__name__) for dtype in known]


def codes_of(X: Any) -> Rows:
    """What ``transform`` returned, or something like it, as a dense float matrix."""
    place = place_of(X)
    codes = check_array(plain_numbers(X, place), dtype=dtypes_of(place))
    return codes if place is None else DeviceArray(codes, place)


def weights_of(sample_weight: Any, n_rows: int) -> Array | None:
    """Weights of the rows as float64, checked; None where there are none."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    try:
        given = np.asarray(on_host(sample_weight))
        if np.iscomplexobj(given):
            raise ValueError("no real numbers")
        weights = given.astype(np.float64, copy=False)
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


def take_rows(X: Any, places: Any) -> Any:
    """Some rows of a matrix, frame or list, in the same container."""
    frame = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if frame is not X:
        return frame[places].to_native()
    return X[places] if hasattr(X, "shape") else [X[place] for place in places]
