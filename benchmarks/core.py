"""Speed of the linear model against PCA and against Algorithm 1: ``make bench``."""

from __future__ import annotations

from statistics import median

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.data import digits
from benchmarks.timing import Ratio, alternate, report, seconds
from modae import LinearModularAutoencoder
from modae.core.backfitting import backfit, random_modules
from modae.core.moments import moments_of_rows

N_ROWS = 10_000
DIVERSITIES = (0.3, 0.5, 0.8, 0.95)
PATH = np.linspace(0.0, 1.0, 21)

LITERAL_LIMIT = 200
"""How many fits one run of the paper's algorithm should cost. Not reached: see docs/benchmarks.md."""


def fit(X: np.ndarray, diversity: float) -> LinearModularAutoencoder:
    """M = H = 10."""
    return LinearModularAutoencoder(10, 10, diversity, random_state=0).fit(X)


def path(X: np.ndarray) -> list[LinearModularAutoencoder]:
    """Twenty-one diversities, the first fit included."""
    first = fit(X, PATH[-1])
    return [first, *first.path(PATH[:-1])]


def literal_algorithm_1(X: np.ndarray, model: LinearModularAutoencoder, seed: int) -> None:
    """The paper's algorithm, D x D, until it is within 1e-6 of the variance of the lower bound."""
    covariance = moments_of_rows(X).covariance
    start = random_modules(10, X.shape[1], 10, np.random.default_rng(seed))
    target = model.lower_bound_ + 1e-6 * model.total_variance_
    descent = backfit(covariance, start, model.diversity, target=target)
    print(f"literal Algorithm 1: {len(descent.losses) - 1} epochs")


def main() -> None:
    """Fits, paths and Algorithm 1 on the digits."""
    X, source = digits(N_ROWS)
    print(f"{X.shape[0]:,} x {X.shape[1]}, {source}; M = H = 10; medians of 5 alternating runs")

    def pca() -> object:
        return PCA(100, svd_solver="covariance_eigh").fit(X)

    ratios = [
        alternate(f"fit at diversity {lam} / PCA(100)", lambda lam=lam: fit(X, lam), pca, 1.15)
        for lam in DIVERSITIES
    ]
    ratios.append(alternate("path of 21 diversities / PCA(100)", lambda: path(X), pca, 2.0))
    model = fit(X, 0.5)
    literal = median(seconds(lambda s=s: literal_algorithm_1(X, model, s)) for s in range(3))
    one_fit = ratios[DIVERSITIES.index(0.5)].numerator
    name = "literal Algorithm 1 / fit at diversity 0.5"
    ratios.append(Ratio(name, literal, one_fit, LITERAL_LIMIT, at_least=True))
    report(ratios)


if __name__ == "__main__":
    main()
