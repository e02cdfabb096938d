"""Targets from outside: one label or number for each row, and rows whose label is missing."""

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from modae.data.validation import check_length, gather, refuse_masked, require_in_memory, take_rows
from modae.utils.arrays import Array, Indices


def labels_of(X: Any, y: Any, estimator: BaseEstimator) -> np.ndarray:
    """One label for each row of X, in memory."""
    y = _known(y, estimator)
    if hasattr(y, "isna") and np.any(y.isna()):  # pd.NA cannot be compared with anything
        raise ValueError("Input y contains NaN: a label is missing.")
    series = nw.from_native(y, series_only=True, pass_through=True)
    if series is not y and series.dtype.is_integer():
        y = series.to_numpy()  # through floats, as elsewhere, large integers would merge
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    check_length(X, y)
    return y


def targets_of(X: Any, y: Any, estimator: BaseEstimator, *, copy: bool = True) -> Array:
    """One target, or several, for each row of X; a copy, if the caller may change his array."""
    y = _known(y, estimator)
    targets: Array = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", copy=copy)
    check_length(X, targets)
    return targets


def _known(y: Any, estimator: BaseEstimator) -> Any:
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = gather(y)
    refuse_masked("y", y)
    return y


def known_targets(
    X: Any, y: Any, missing_label: Any, read: Callable[[Any, Any], np.ndarray]
) -> tuple[np.ndarray, Indices]:
    """Targets of all rows as ``read``, and the places of those that have one; None marks no row.

    Where there is none, that of the first row with one stands in its place, and is not used. NaN as the
    mark is None and NA of pandas too; of several targets, one that is marked is enough.
    """
    if missing_label is None or y is None:
        targets = read(X, y)
        return targets, np.arange(len(targets))
    require_in_memory(X, "missing_label")
    values = np.asarray(gather(y))
    marked = values == missing_label
    if missing_label != missing_label:
        marked = np.asarray(y.isna()) if hasattr(y, "isna") else (values != values) | (values == None)  # noqa: E711
    marked = marked.reshape(len(values), -1).any(axis=1)
    check_consistent_length(X, marked)
    known = np.flatnonzero(~marked)
    if not len(known):
        raise ValueError(
            f"y must have a label for at least one row, but missing_label={missing_label!r} stands in "
            f"all {len(marked)}: without labels, fit the extractor alone."
        )
    labels = take_rows(y, known)
    if getattr(getattr(labels, "dtype", None), "kind", "") == "O" and len({*map(type, labels)}) == 1:
        labels = np.array(list(labels))  # they were objects because of the marks
    found = read(known, labels)
    targets = np.repeat(found[:1], len(marked), axis=0)
    targets[known] = found
    return targets, known
