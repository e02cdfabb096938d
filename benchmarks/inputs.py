"""Speed of float32 fits and of bagging: part of ``make bench``."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.data import digits
from benchmarks.timing import Ratio, alternate, report
from modae import BaggingAutoencoder, LinearModularAutoencoder


def float32_fit(n_rows: int = 70_000) -> Ratio:
    """A whole fit against the one matrix product that it cannot do without."""
    X = digits(n_rows)[0].astype(np.float32)
    model = LinearModularAutoencoder(10, 10, 0.5, random_state=0)
    name = f"float32 fit, {len(X):,} x 784 / X.T @ X alone"
    return alternate(name, lambda: model.fit(X), lambda: X.T @ X, 2.0)


def bagging(n_rows: int = 10_000) -> Ratio:
    """Ten modules by weighted moments against ten PCAs on resampled copies, both on two cores.

    The modules use the cores by two at a time, the PCAs through the threads of BLAS.
    """
    X, _ = digits(n_rows)
    model = BaggingAutoencoder(10, 10, n_jobs=2, random_state=0)

    def resampled_pcas() -> None:
        rng = np.random.default_rng(0)
        for _ in range(10):
            sample = X[rng.integers(0, len(X), len(X))]
            PCA(10, svd_solver="covariance_eigh").fit(sample)

    name = f"bagging of 10 modules, {len(X):,} x 784 / ten PCA(10)"
    return alternate(name, lambda: model.fit(X), resampled_pcas, 0.7)


if __name__ == "__main__":
    report([float32_fit(), bagging()])
