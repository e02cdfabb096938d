"""Speed of the linear model against PCA, Algorithm 1 and gradient descent: ``make bench``."""

from __future__ import annotations

from statistics import median
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from benchmarks.data import digits
from benchmarks.timing import Ratio, alternate, report, seconds
from modae import LinearModularAutoencoder
from modae.core.backfitting import backfit, random_modules
from modae.data.moments import moments_of_rows

ROWS = (10_000, 70_000)
DIVERSITIES = (0.3, 0.5, 0.8, 0.95)
PATH = np.linspace(0.0, 1.0, 21)

LITERAL_LIMIT = 100
"""How many fits one run of the paper's algorithm costs at least."""

STEPS = 1_000
"""Of gradient descent, which is then near 1e-6 of the variance above the bound."""


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


def against_pca(n_rows: int) -> list[Ratio]:
    """Fits and paths on the first digits."""
    X, source = digits(n_rows)
    small = n_rows <= 10_000
    repeats, limits = (15, (1.0, 1.4)) if small else (5, (1.15, 1.4))
    print(f"{X.shape[0]:,} x {X.shape[1]}, {source}; M = H = 10; the fastest of {repeats} runs")

    def pca() -> object:
        return PCA(100, svd_solver="covariance_eigh").fit(X)

    ratios = [
        alternate(
            f"{n_rows:,}: fit at {lam} / PCA(100)", lambda lam=lam: fit(X, lam), pca, limits[0], repeats
        )
        for lam in DIVERSITIES
    ]
    floor = alternate("", lambda: np.linalg.eigh(X.T @ X), pca, 1.0, repeats)
    print(f"{n_rows:,}: product and eigenvectors alone / PCA(100): {floor.value:.2f}")
    whole = f"{n_rows:,}: path of 21 / PCA(100)"
    return [*ratios, alternate(whole, lambda: path(X), pca, limits[1], repeats)]


def against_algorithm_1(X: np.ndarray, one_fit: float) -> Ratio:
    """How many fits the paper's algorithm costs."""
    model = fit(X, 0.5)
    literal = [seconds(lambda s=s: literal_algorithm_1(X, model, s)) for s in range(3)]
    shown = ", ".join(f"{each / one_fit:.0f}" for each in sorted(literal))
    print(f"literal Algorithm 1 / fit from three random starts: {shown}")
    name = "literal Algorithm 1 / fit at diversity 0.5, median"
    return Ratio(name, median(literal), one_fit, LITERAL_LIMIT, at_least=True)


def against_product(n_rows: int = 60_000) -> Ratio:
    """A fit in float32 against the one product that it cannot do without."""
    X = digits(n_rows)[0].astype(np.float32)
    return alternate(
        f"{n_rows:,} float32: fit / X.T @ X", lambda: fit(X, 0.5), lambda: X.T @ X, 1.45, repeats=7
    )


def against_gradient(X: np.ndarray, one_fit: float) -> Ratio:
    """How many fits gradient descent costs, even in principal axes, where a step is cheap."""
    model = LinearModularAutoencoder(
        10, 10, 0.5, solver="gradient", max_iter=STEPS, tol=0.0, random_state=0
    )
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)
        descent = min(seconds(lambda: model.fit(X)) for _ in range(3))
    print(f"gradient descent: gap {model.optimality_gap_:.0e} of the variance after {STEPS:,} steps")
    return Ratio("gradient descent / fit at diversity 0.5", descent, one_fit, 5.0, at_least=True)


def main() -> None:
    """Fits, paths, Algorithm 1 and gradient descent on the digits."""
    ratios = [ratio for n_rows in ROWS for ratio in against_pca(n_rows)]
    one_fit = ratios[DIVERSITIES.index(0.5)].numerator
    X, _ = digits(ROWS[0])
    slow = against_algorithm_1(X, one_fit), against_gradient(X, one_fit)
    report([*ratios, against_product(), *slow])


if __name__ == "__main__":
    main()
