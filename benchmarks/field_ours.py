"""Our side of ``benchmarks.field``: the search as it comes, and the steps that led to it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.field_rivals import ScaleIfNeeded
from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    ModularRegressorCV,
)
from modae.ensembles.families import default_families

OURS = "modae"
ABLATION = ["ten modules of ten", "sizes", "search", "members"]
"""Each adds to the one before; ``OURS`` adds rotated trees."""


class TenOfTen(BaseEstimator):
    """The default before: ten modules of ten components, nearest neighbours, only diversity searched."""

    def __init__(self, search: Any) -> None:
        self.search = search

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Search with as many components as there are, ten at most."""
        extractor = LinearModularAutoencoder(10, min(10, X.shape[1]))
        self.search_ = clone(self.search).set_params(extractor=extractor).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels or targets."""
        return self.search_.predict(X)


class SomeFamilies(BaseEstimator):
    """The search as it comes, with some kinds of members only."""

    def __init__(self, search: Any, task: str, names: tuple[str, ...]) -> None:
        self.search, self.task, self.names = search, task, names

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Search among these kinds."""

        class Search(type(self.search)):  # type: ignore[misc]
            def _families(search, targets: np.ndarray, n_features: int, weighted: bool) -> Any:
                found = default_families(self.task, targets, n_features)
                return {name: found[name] for name in self.names}

        self.search_ = Search(**self.search.get_params(deep=False)).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels or targets."""
        return self.search_.predict(X)


def ours(name: str, task: str, seed: int) -> Any:
    """One of our methods by its name."""
    labels = task == "classification"
    search = (ModularClassifierCV if labels else ModularRegressorCV)(random_state=seed)
    single = (ModularClassifier if labels else ModularRegressor)(random_state=seed)
    return {
        OURS: search,
        "ten modules of ten": TenOfTen(clone(search).set_params(estimator=None, scale=False)),
        "sizes": make_pipeline(ScaleIfNeeded(), single),
        "search": SomeFamilies(search, task, ("neighbors",)),
        "members": SomeFamilies(search, task, ("neighbors", "svm", "linear")),
    }[name]


def member_of(search: Any) -> Any:
    """An unfitted copy of the member that a search chose."""
    best = search.best_estimator_
    return clone((best[-1] if isinstance(best, Pipeline) else best).estimators_[0])
