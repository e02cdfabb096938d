"""The choices of a vote, and labels that make sense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from modae.data import check_length, gather
from modae.data.validation import refuse_masked
from modae.ensembles.members import Member

VOTINGS = ("hard", "soft")

TIE_BREAKS = {"probability": ("probability", "prior"), "prior": ("prior",), "first": ()}
"""What each ``tie_break`` asks in turn; the first class in sorted order is the last word."""


FEWEST_OF_A_CLASS = 5
"""As many rows of a rare class stay in a sample, if it has them: one for each fold."""


def check_labels(classifier: Any, X: Any, y: Any) -> np.ndarray:
    """One label for each row of X."""
    if y is None:
        name = type(classifier).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = gather(y)
    refuse_masked("y", y)
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


def check_classes(members: Sequence[Member], classes: np.ndarray) -> None:
    """A member that was fitted elsewhere may know other classes."""
    for member in members:
        known = getattr(member.estimator, "classes_", classes)
        if not np.isin(known, classes).all():
            raise ValueError(
                f"{member} knows classes {list(known)}, some of which are not in y, which has "
                f"{list(classes)}: fit it to the same labels."
            )


def stratified(labels: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Random places, in order: the same share of each class, and at least a few rows of rare ones."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(codes)), codes))  # classes one after the other, each shuffled
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    shares = (ranks + rng.random(len(codes))) / np.repeat(counts, counts)
    first = np.lexsort((shares, ranks >= FEWEST_OF_A_CLASS))[:most]
    return np.sort(order[first])
