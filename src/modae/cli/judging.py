"""How good an ensemble is: cross-validated, beside plain PCA with one member of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from modae.cli.targets import Target
from modae.utils.text import percent

MOST_FOLDS = 5

FEWEST_ROWS = 5
"""Rows from which numbers are predicted: the neighbours that a member takes the mean of."""


@dataclass(frozen=True)
class Score:
    """Mean over the folds, and its standard error."""

    mean: float
    error: float
    classify: bool = True

    @classmethod
    def of(cls, values: Any, classify: bool) -> Score:
        """From the score of each fold."""
        values = np.asarray(values, dtype=float)
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), classify)

    def __str__(self) -> str:
        return percent(self.mean) if self.classify else f"R2 {self.mean:.3f}"


def make_splits(labels: np.ndarray, classify: bool, seed: int) -> Any:
    """Five folds, fewer if a class is rare; None if one has a single row, or if rows are too few."""
    if not classify:
        n_folds = min(MOST_FOLDS, len(labels) // 2)
        enough = n_folds > 1 and len(labels) - -(-len(labels) // n_folds) >= FEWEST_ROWS
        return KFold(n_folds, shuffle=True, random_state=seed) if enough else None
    n_folds = min(MOST_FOLDS, int(np.unique(labels, return_counts=True)[1].min()))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed) if n_folds > 1 else None


def cross_validated(model: Any, rows: Any, target: Target, splits: Any) -> Score:
    """The score of a model on rows that it has not seen."""
    scores = cross_val_score(model, rows, target.values, cv=splits, error_score="raise")
    return Score.of(scores, target.classify)


def best_plain_pca(
    sizes: Sequence[int], member: Any, rows: Any, target: Target, splits: Any
) -> tuple[int, Score]:
    """The best of PCA with these numbers of components and one member: what the ensemble must beat."""
    reduce = TruncatedSVD if issparse(rows) else PCA
    smallest_fold = rows.shape[0] - rows.shape[0] // splits.get_n_splits() - 1
    scores = {}
    for size in sizes:
        width = min(size, smallest_fold, rows.shape[1] - issparse(rows))
        plain = make_pipeline(reduce(max(width, 1), random_state=0), clone(member))
        with np.errstate(invalid="ignore"):  # columns that do not vary have no shares of variance
            scores[size] = cross_validated(plain, rows, target, splits)
    best = max(scores, key=lambda size: scores[size].mean)
    return best, scores[best]
