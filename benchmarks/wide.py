"""Wide data: sparse ones against TruncatedSVD, few rows against PCA.

``python -m benchmarks.wide``. The target is the default size, 100,000 x 50,000; for a quick look at a
fifth of each side, ``python -m benchmarks.wide 0.2``.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import PCA, TruncatedSVD

from benchmarks.memory import peak_growth
from benchmarks.timing import Ratio, alternate
from modae import LinearModularAutoencoder, ModularClassifierCV, NearestNeighborClassifier

N_ROWS, N_FEATURES, ROW_ENTRIES = 100_000, 50_000, 50
MODULES, COMPONENTS = 10, 10
TIME_LIMIT = 1.2
MEMORY_LIMIT = 1e9
REPEATS = 3

RANKS = np.arange(1, 501)
SPECTRA = {"1/k": 1.0 / RANKS, "1/sqrt(k)": RANKS**-0.5, "0.95^k": 0.95**RANKS}
"""The planted eigenvalues, k = 1..500. The first is the target, the others are there to compare."""


def planted(
    eigenvalues: np.ndarray, share: float = 1.0, noise: float = 0.25, seed: int = 0
) -> csr_array:
    r"""Sparse rows whose covariance has the given leading eigenvalues, on average, and noise below them.

    There are as many topics as eigenvalues, :math:`w_1..w_r`, and each has 25 random columns with random
    signs :math:`\pm1`. A row belongs to one topic k, all equally likely: its entries there are the signs
    times :math:`z\sqrt{r w_k/25}` with one standard normal z. Where topics share no column, topic k is
    an eigenvector with eigenvalue :math:`w_k`. The other 25 entries of the row are normal noise in
    random columns; together they have ``noise`` times the variance of the topics.

    50 entries in each row of 50,000 columns are a density of 0.1 %. A share below 1 makes both sides
    shorter.
    """
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(share * N_ROWS), int(share * N_FEATURES)
    width = ROW_ENTRIES // 2
    n_topics = len(eigenvalues)
    columns = np.stack([rng.choice(n_features, width, replace=False) for _ in range(n_topics)])
    patterns = (
        rng.choice([-1.0, 1.0], (n_topics, width)) * np.sqrt(eigenvalues * n_topics / width)[:, None]
    )
    topic = rng.integers(n_topics, size=n_rows)
    spread = np.sqrt(noise * eigenvalues.sum() / width)
    entries = np.hstack(
        [
            rng.standard_normal((n_rows, 1)) * patterns[topic],
            spread * rng.standard_normal((n_rows, width)),
        ]
    )
    places = np.hstack([columns[topic], rng.integers(n_features, size=(n_rows, width))])
    starts = np.arange(0, n_rows * ROW_ENTRIES + 1, ROW_ENTRIES)
    rows = csr_array((entries.ravel(), places.ravel(), starts), shape=(n_rows, n_features))
    rows.sum_duplicates()
    return rows


def fit(X: csr_array) -> LinearModularAutoencoder:
    """M = H = 10, so 100 axes."""
    return LinearModularAutoencoder(MODULES, COMPONENTS, random_state=0).fit(X)


def truncated_svd(X: csr_array) -> TruncatedSVD:
    """As many components, otherwise its defaults."""
    return TruncatedSVD(MODULES * COMPONENTS).fit(X)


def captured_variance(X: csr_array, components: np.ndarray) -> float:
    r""":math:`\mathrm{tr}(V^T\Sigma V)` for orthonormal V that spans the components, and the centred
    covariance :math:`\Sigma`.
    """
    V = np.linalg.qr(components.T)[0]
    codes = X @ V
    return float(codes.var(axis=0).sum())


def compare(name: str, share: float) -> bool:
    """Variance, time and memory on one planted spectrum; whether all limits are kept."""
    X = planted(SPECTRA[name], share)
    model, svd = fit(X), truncated_svd(X)
    ours = captured_variance(X, model.principal_axes_)
    theirs = captured_variance(X, svd.components_)
    print(f"{name}: gap {model.optimality_gap_:.2g} to the lower bound, certified_ {model.certified_}")
    shares = f"{ours:.6f}, TruncatedSVD {theirs:.6f}, of {model.total_variance_:.6f}"
    print(f"{name}: variance in 100 axes {shares}   {word(ours >= theirs)}")
    runs = partial(fit, X), partial(truncated_svd, X)
    ratio = alternate(f"{name}: fit / TruncatedSVD(100)", *runs, TIME_LIMIT, REPEATS)
    print(ratio)
    growth = peak_growth(fit, partial(planted, SPECTRA[name], share))
    small = growth < MEMORY_LIMIT
    print(f"{name}: memory grows by {growth / 1e6:.0f} MB   (limit < 1000) {word(small)}")
    return ours >= theirs and ratio.holds and small


def few_rows() -> list[Ratio]:
    """200 x 20,000: other diversities and a search stay in the few dimensions that the rows span."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20_000)) / np.sqrt(np.arange(1, 20_001))
    y = (X[:, 0] > 0.0) + 2 * (X[:, 1] > 0.0)
    model, path = fit(X), np.linspace(0.0, 1.0, 21)
    search = ModularClassifierCV(
        estimator=NearestNeighborClassifier(),
        n_modules=MODULES,
        n_components=[3, 6, 10],
        scale=False,
        random_state=0,
    )

    def pca() -> object:
        return PCA(100, svd_solver="full").fit(X)

    return [
        alternate("200 x 20,000: with_diversity / PCA", lambda: model.with_diversity(0.3), pca, 0.05),
        alternate(
            "200 x 20,000: 21 losses / PCA", lambda: [each.loss_ for each in model.path(path)], pca, 0.5
        ),
        alternate(
            "200 x 20,000: search of 3 x 11, 5 folds / 5 PCAs",
            lambda: search.fit(X, y),
            lambda: [pca() for _ in range(5)],
            4.0,
            REPEATS,
        ),
    ]


def word(holds: bool) -> str:
    return "ok" if holds else "MISSED"


def main() -> None:
    """All spectra; the exit code says whether every limit was kept."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(
        f"{int(share * N_ROWS):,} x {int(share * N_FEATURES):,}, {ROW_ENTRIES} entries in a row; "
        f"the fastest of {REPEATS} alternating runs"
    )
    held = [compare(name, share) for name in SPECTRA]
    for ratio in few_rows():
        print(ratio)
        held.append(ratio.holds)
    raise SystemExit(not all(held))


if __name__ == "__main__":
    main()
