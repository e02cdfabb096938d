"""The rivals of ``benchmarks.field``: strong methods as people use them, tuned where that is custom."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

COSTS = {"C": [0.1, 1.0, 10.0, 100.0]}
WIDTHS = {"gamma": [0.1, 0.3, 1.0, 3.0]}  # times the usual 1 / (columns x variance)


class ScaleIfNeeded(TransformerMixin, BaseEstimator):
    """Standardise columns whose deviations differ by more than ten times, as our search does."""

    def fit(self, X: np.ndarray, y: Any = None) -> Self:
        """Find the deviations."""
        deviations = X.std(axis=0)
        varying = deviations[deviations > 0.0]
        self.scaler_ = None
        if len(varying) and varying.max() > 10.0 * varying.min():
            self.scaler_ = StandardScaler().fit(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """The rows, scaled or as they are."""
        return X if self.scaler_ is None else self.scaler_.transform(X)


class RelativeWidth(BaseEstimator):
    """An SVM whose gamma is a multiple of the usual one, so that one grid serves all data."""

    def __init__(self, svm: Any, gamma: float = 1.0, C: float = 1.0) -> None:
        self.svm, self.gamma, self.C = svm, gamma, C

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Fit the SVM; targets of a regression are standardised."""
        width = self.gamma / (X.shape[1] * (X.var() or 1.0))
        self.mean_, self.spread_ = (y.mean(), y.std() or 1.0) if is_regressor(self) else (0.0, None)
        y = y if self.spread_ is None else (y - self.mean_) / self.spread_
        self.svm_ = clone(self.svm).set_params(gamma=width, C=self.C).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The label or target."""
        answer = self.svm_.predict(X)
        return answer if self.spread_ is None else answer * self.spread_ + self.mean_


class SVMClassifier(ClassifierMixin, RelativeWidth):
    """RBF-SVM for labels."""


class SVMRegressor(RegressorMixin, RelativeWidth):
    """RBF-SVM for targets."""


class RotationForest(BaseEstimator):
    """Rodriguez, Kuncheva and Alonso (2006): trees on columns turned by PCAs of small random groups.

    For each tree the columns are cut into random groups of three; each group is turned by a PCA of a
    bootstrap sample, of 75 % of the rows, of a random subset of the classes.
    """

    def __init__(self, tree: Any, n_trees: int = 100, group: int = 3, seed: int = 0) -> None:
        self.tree, self.n_trees, self.group, self.seed = tree, n_trees, group, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Fit the trees."""
        rng = np.random.default_rng(self.seed)
        spread = X.std(axis=0)
        self.mean_, self.scale_ = X.mean(axis=0), np.where(spread > 0.0, spread, 1.0)
        Z = (X - self.mean_) / self.scale_
        self.classes_ = np.unique(y) if is_classifier(self.tree) else None
        self.parts_ = []
        for _ in range(self.n_trees):
            turn = np.zeros((X.shape[1],) * 2)
            for columns in np.array_split(rng.permutation(X.shape[1]), -(-X.shape[1] // self.group)):
                rows = np.arange(len(Z))
                if self.classes_ is not None:
                    some = rng.permutation(self.classes_)[: rng.integers(1, len(self.classes_) + 1)]
                    rows = np.flatnonzero(np.isin(y, some))
                rows = rng.choice(rows, max(len(columns) + 1, int(0.75 * len(rows))))
                covariance = np.atleast_2d(np.cov(Z[np.ix_(rows, columns)], rowvar=False))
                turn[np.ix_(columns, columns)] = np.linalg.eigh(covariance)[1]
            tree = clone(self.tree).set_params(random_state=int(rng.integers(2**31)))
            self.parts_.append((turn, tree.fit(Z @ turn, y)))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The mean of the trees."""
        Z = (X - self.mean_) / self.scale_
        if self.classes_ is None:
            return np.mean([tree.predict(Z @ turn) for turn, tree in self.parts_], axis=0)
        total = sum(tree.predict_proba(Z @ turn) for turn, tree in self.parts_)
        return self.classes_[total.argmax(axis=1)]


def scaled_or_not(model: Any, grid: dict[str, list[Any]]) -> GridSearchCV:
    """A search over the scale too, as ours: standardised where columns differ much, or as they are."""
    steps = Pipeline([("scale", ScaleIfNeeded()), ("model", model)])
    named = {f"model__{name}": values for name, values in grid.items()}
    return GridSearchCV(steps, {"scale": [ScaleIfNeeded(), "passthrough"], **named}, cv=5)


def classifiers(seed: int) -> dict[str, Any]:
    """Name -> a classifier."""
    logistic = LogisticRegressionCV(
        Cs=7, cv=5, max_iter=2000, l1_ratios=(0.0,), scoring=None, use_legacy_attributes=False
    )
    return {
        "random forest": RandomForestClassifier(300, random_state=seed),
        "extra trees": ExtraTreesClassifier(300, random_state=seed),
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
        "RBF-SVM": scaled_or_not(SVMClassifier(SVC()), COSTS | WIDTHS),
        "logistic": make_pipeline(ScaleIfNeeded(), logistic),
        "1-NN": scaled_or_not(KNeighborsClassifier(1), {}),
        "rotation forest": RotationForest(DecisionTreeClassifier(), seed=seed),
    }


def regressors(seed: int) -> dict[str, Any]:
    """Name -> a regressor."""
    neighbors = scaled_or_not(KNeighborsRegressor(), {"n_neighbors": [1, 3, 5, 10, 20]})
    return {
        "random forest": RandomForestRegressor(300, random_state=seed),
        "extra trees": ExtraTreesRegressor(300, random_state=seed),
        "gradient boosting": HistGradientBoostingRegressor(random_state=seed),
        "RBF-SVM": scaled_or_not(SVMRegressor(SVR()), COSTS | WIDTHS),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "k-NN": neighbors,
        "rotation forest": RotationForest(DecisionTreeRegressor(), seed=seed),
    }


def subspaces(member: Any, seed: int) -> Any:
    """The same member 30 times, each on a random half of the columns."""
    kind = BaggingClassifier if is_classifier(member) else BaggingRegressor
    bag = kind(member, 30, max_features=0.5, bootstrap=False, random_state=seed)
    return make_pipeline(ScaleIfNeeded(), bag)
