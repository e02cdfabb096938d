"""Small random problems on which the theorems are checked: data, modules, and what they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator

from modae.core.backfitting import random_modules
from modae.core.objective import linear_terms
from modae.utils.arrays import Array

N_ROWS = 40


@dataclass(frozen=True, eq=False)
class Instance:
    """Centred rows, a set of modules, and a source of further random numbers.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    decoders : ndarray of shape (M, D, H)
    encoders : ndarray of shape (M, H, D)
    rng : numpy Generator
    """

    rows: Array
    decoders: Array
    encoders: Array
    rng: Generator

    @cached_property
    def covariance(self) -> Array:
        """Sigma, with divisor n."""
        return self.rows.T @ self.rows / len(self.rows)

    @property
    def variance(self) -> float:
        """Trace of Sigma: the unit in which losses are compared."""
        return float(np.trace(self.covariance))

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, D and H."""
        return self.decoders.shape[0], self.decoders.shape[1], self.decoders.shape[2]

    @property
    def one_module_limit(self) -> float:
        """M/(M-1): below it one module alone cannot drive the loss to minus infinity."""
        return len(self.decoders) / (len(self.decoders) - 1)

    @property
    def outputs(self) -> Array:
        """What each module makes of each row, (M, n, D)."""
        return self.rows @ (self.decoders @ self.encoders).mT

    def loss(self, diversity: float) -> float:
        """E, in the form that does not cancel."""
        terms = linear_terms(self.decoders, self.encoders, self.covariance)
        return float(terms.ambiguity_loss(diversity))

    def with_module(self, module: int, decoder: Array, encoder: Array) -> Instance:
        """The same with one module exchanged."""
        decoders, encoders = self.decoders.copy(), self.encoders.copy()
        decoders[module], encoders[module] = decoder, encoder
        return replace(self, decoders=decoders, encoders=encoders)


def instances(count: int, *, singular: bool = False) -> Iterator[Instance]:
    """Problems of 2 to 4 modules with 1 to 3 units in 4 to 8 dimensions, the same in every call.

    The columns have different sizes and are mixed, so that the eigenvalues are spread and simple. A
    singular covariance lacks two of its D dimensions.
    """
    for seed in range(count):
        rng = np.random.default_rng(seed)
        width = 1 + seed % 3
        n_features = width + int(rng.integers(3, 6))
        rank = n_features - 2 if singular else n_features
        sizes = rng.uniform(0.3, 2.0, rank)
        mixing = np.linalg.qr(rng.standard_normal((n_features, rank)))[0].T
        rows = (rng.standard_normal((N_ROWS, rank)) * sizes) @ mixing
        modules = random_modules(2 + int(rng.integers(3)), n_features, width, rng)
        yield Instance(rows - rows.mean(axis=0), *modules, rng)
