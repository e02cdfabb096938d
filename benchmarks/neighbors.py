"""Nearest neighbours of codes beside what one would choose by hand: part of ``make bench``.

Also counted: labels that differ from those of scikit-learn, and training rows of two far clusters that
do not find themselves.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.spatial import cKDTree
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.data import labelled_digits
from benchmarks.ensembles import faiss_search
from benchmarks.timing import Ratio, alternate, seconds
from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    NearestNeighborClassifier,
    NearestNeighborRegressor,
)

N_ROWS, N_QUERIES, WIDTHS, N_MODULES = 10_000, 2_000, (5, 10, 15, 20, 30), 10


def blocked_products(rows: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Plain float32 products with an argmin, in blocks: not exact."""
    rows, queries = rows.astype(np.float32), queries.astype(np.float32)
    squares, turned = np.einsum("nd,nd->n", rows, rows), -2.0 * rows.T
    blocks = np.array_split(queries, max(1, len(queries) // 100))
    return np.concatenate([(block @ turned + squares).argmin(axis=1) for block in blocks])


BY_HAND = {
    "cKDTree": lambda rows, queries: cKDTree(rows).query(queries, workers=-1),
    "float32 products": blocked_products,
    "scikit-learn": lambda rows, queries: pairwise_distances_argmin(queries, rows),
    "faiss": lambda rows, queries: faiss_search(rows.astype(np.float32), queries.astype(np.float32)),
}


def beside_the_best(width: int) -> bool:
    """First prediction of ten members on codes, against the fastest way found by hand.

    Trees are built in it. Fitting is not in it: it only checks and keeps the rows.
    """
    X, y, _ = labelled_digits(N_ROWS + N_QUERIES)
    train, query = X[:N_ROWS], X[N_ROWS:]
    extractor = LinearModularAutoencoder(N_MODULES, width, 0.5, random_state=0).fit(train)
    pairs = list(
        zip(extractor.transform_modules(train), extractor.transform_modules(query), strict=True)
    )
    labels = y[:N_ROWS]

    def fitted() -> list[NearestNeighborClassifier]:
        return [NearestNeighborClassifier(n_jobs=-1).fit(rows, labels) for rows, _ in pairs]

    def predict(members: list[NearestNeighborClassifier]) -> list[np.ndarray]:
        return [member.predict(queries) for member, (_, queries) in zip(members, pairs, strict=True)]

    def one_round() -> dict[str, float]:
        times = {
            name: seconds(lambda find=find: [find(*pair) for pair in pairs])
            for name, find in BY_HAND.items()
        }
        return times | {"ours": seconds(partial(predict, fitted()))}

    rounds = [one_round() for _ in range(10)][1:]
    times = {name: min(each[name] for each in rounds) for name in rounds[0]}
    best = min(BY_HAND, key=times.__getitem__)
    ratio = Ratio(f"{width} features: ours / {best}", times["ours"], times[best], 1.15)
    exact = [labels[pairwise_distances_argmin(queries, rows)] for rows, queries in pairs]
    differ = int((np.array(predict(fitted())) != np.array(exact)).sum())
    everything = ", ".join(f"{name} {1e3 * each / N_MODULES:.0f}" for name, each in times.items())
    print(
        f"{ratio}\n    ms for one module: {everything}; labels that differ from scikit-learn's: {differ}"
    )
    return ratio.holds


def first_prediction() -> bool:
    """100 modules of 15 components, against trees, which was the rule up to 20 features before."""
    X, y, _ = labelled_digits(N_ROWS + N_QUERIES)
    train, query = X[:N_ROWS], X[N_ROWS:]
    extractor = FrozenEstimator(LinearModularAutoencoder(100, 15, 0.5, random_state=0).fit(train))

    def predict(backend: str) -> None:
        member = NearestNeighborClassifier(backend=backend)
        ModularClassifier(extractor, member, n_jobs=-1).fit(train, y[:N_ROWS]).predict(query)

    name = "100 modules of 15: fit and first predict / by trees"
    ratio = alternate(name, lambda: predict("auto"), lambda: predict("tree"), 0.45, repeats=3)
    print(ratio)
    return ratio.holds


def far_clusters(width: int) -> bool:
    """Two clusters whose distance is 1e8 times their spread: each row is its own nearest."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2_000, width)) + 1e8 * (np.arange(2_000) % 2)[:, None]
    numbers = np.arange(2_000.0)
    share = float((NearestNeighborRegressor().fit(rows, numbers).predict(rows) == numbers).mean())
    print(f"two far clusters, {width} features: {share:.2%} of the rows find themselves")
    return share == 1.0


if __name__ == "__main__":
    held = [beside_the_best(width) for width in WIDTHS]
    held += [first_prediction(), *(far_clusters(width) for width in WIDTHS)]
    raise SystemExit(not all(held))
