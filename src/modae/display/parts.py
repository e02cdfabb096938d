"""What displays read from fitted estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modae.ensembles.members import require_modules
from modae.utils.parameters import check_count


def extractor_of(estimator: Any) -> Any:
    """The estimator itself, or the extractor inside an ensemble, or inside a search for an ensemble."""
    check_is_fitted(estimator)
    for inside in ("best_estimator_", "extractor_"):
        estimator = getattr(estimator, inside, estimator)
    require_modules(estimator)
    return estimator


def chosen_indices(name: str, chosen: Any, n_available: int) -> list[int]:
    """Numbers of modules or components, one or several, which must be there."""
    indices: list[int] = np.ravel(chosen).tolist()
    if not indices:
        raise ValueError(f"{name} must not be empty.")
    for index in indices:
        check_count(name, index, minimum=0)
        if index >= n_available:
            raise ValueError(f"{name} must be at most {n_available - 1}, got {index}.")
    return indices
