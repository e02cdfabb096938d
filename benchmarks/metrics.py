"""Speed of distance correlation against dcor: part of ``make bench``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import dcor
import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.data import digits
from benchmarks.timing import Ratio, alternate, report
from modae import LinearModularAutoencoder
from modae.metrics import distance_correlation_matrix

N_MODULES, N_ROWS = 10, 1_000

Pair = Callable[[np.ndarray, np.ndarray], object]


def features() -> np.ndarray:
    """Codes of ten modules of ten components, on a thousand digits."""
    X, _ = digits(5_000)
    model = LinearModularAutoencoder(N_MODULES, 10, 0.5, random_state=0).fit(X)
    return model.transform_modules(X[:N_ROWS])


def with_dcor(X: np.ndarray, Y: np.ndarray) -> object:
    """The only method of dcor for vectors is the naive one; the fast ones are for single columns."""
    return dcor.distance_correlation(X, Y, method="naive")


def with_cdist(X: np.ndarray, Y: np.ndarray) -> object:
    """One pair as one would write it by hand, with scipy's distances: faster than dcor."""
    centred = [dcor.double_centered(cdist(sample, sample)).ravel() for sample in (X, Y)]
    squares = [a @ a for a in centred]
    return np.sqrt(centred[0] @ centred[1] / np.sqrt(squares[0] * squares[1]))


def pair_by_pair(name: str, pair: Pair, limit: float) -> Ratio:
    """All pairs of modules one by one, over the whole matrix at once."""
    stack = features()

    def pairs() -> None:
        for X, Y in combinations(stack, 2):
            pair(X, Y)

    name = f"45 pairs by {name} / matrix of 10 modules, {N_ROWS:,} rows"
    ratio = alternate(name, pairs, lambda: distance_correlation_matrix(stack), limit, repeats=3)
    return replace(ratio, at_least=True)


if __name__ == "__main__":
    report([pair_by_pair("dcor", with_dcor, 5.0), pair_by_pair("cdist", with_cdist, 2.0)])
