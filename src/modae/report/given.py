"""What a report is given, checked before the work: rows, labels, stops of the slider."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from modae.ensembles.base import require_in_memory
from modae.ensembles.labels import stratified

HUGE = 1e150
"""Numbers whose squares a computer cannot hold."""


def checked_rows(X: Any) -> Any:
    """Rows in a container that has a shape and from which rows can be taken."""
    require_in_memory(X, "report")
    if issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def checked_labels(ensemble: Any, X: Any, y: Any) -> np.ndarray | None:
    """One label for each row: none missing, and none that the classifier does not know."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"y must have one value for each row, got the shape {labels.shape}: a report has one "
            "target; make one for each."
        )
    check_consistent_length(X, labels)
    missing = [place for place, value in enumerate(labels.tolist()) if _is_missing(value)]
    if missing:
        raise ValueError(f"y has no value in row {missing[0] + 1}: leave rows without one out.")
    if ensemble is not None:
        _check_known(ensemble, labels)
    return labels.astype(str) if labels.dtype.kind == "O" and _has_words(labels) else labels


def _check_known(ensemble: Any, labels: np.ndarray) -> None:
    if not is_classifier(ensemble):
        if labels.dtype.kind not in "fiub" or not np.all(np.abs(labels.astype(float)) < HUGE):
            raise ValueError(f"y must hold numbers below {HUGE:g} for a regressor, got {labels.dtype}.")
        return
    known = set(ensemble.classes_.tolist())
    strange = [value for value in dict.fromkeys(labels.tolist()) if value not in known]
    if strange:
        shown = ", ".join(repr(value) for value in list(ensemble.classes_[:5].tolist()))
        more = ", ..." if len(known) > 5 else ""
        raise ValueError(
            f"y has the class {strange[0]!r}, which the model does not know: its classes are "
            f"{shown}{more}. Give the labels that it was fitted to."
        )


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for them, which cannot be compared."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _has_words(labels: np.ndarray) -> bool:
    return any(isinstance(value, str) for value in labels.tolist())


def drawn_rows(n_rows: int, labels: Any, n_samples: int, random_state: Any) -> np.ndarray:
    """Which rows to look at, in their order: all, or so many at random, with some of each class."""
    if n_rows <= n_samples:
        return np.arange(n_rows)
    rng = check_random_state(random_state)
    if labels is not None and len(np.unique(labels)) <= n_samples // 10:
        return stratified(labels, n_samples, int(rng.randint(2**31 - 1)))
    return np.sort(rng.choice(n_rows, n_samples, replace=False))


def checked_stops(diversities: Any) -> list[float]:
    """The stops of the slider that were asked for."""
    if isinstance(diversities, str) or not isinstance(diversities, Iterable):
        raise ValueError(f"diversities must be a sequence of numbers, got {diversities!r}.")
    return [float(value) for value in diversities]
