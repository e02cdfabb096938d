"""What a fitted linear modular autoencoder knows, and how it publishes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modae.core.arrays import Array, apart, side_by_side
from modae.core.backfitting import solve_backfitting
from modae.core.gradient import solve_gradient
from modae.core.solution import UNDECIDED, Problem, Solution
from modae.core.spectral import solve_spectral
from modae.core.spectrum import Spectrum

SOLVERS = {
    "spectral": solve_spectral,
    "backfitting": solve_backfitting,
    "gradient": solve_gradient,
}


def choose_solver(solver: str) -> str:
    """The solver that "auto" stands for: always the spectral one, whose optimum is certified."""
    return "spectral" if solver == "auto" else solver


@dataclass(frozen=True, eq=False)
class Settings:
    """Parameters of a fit after validation: what, besides the spectrum, decides the model."""

    n_modules: int
    n_components: int
    diversity: float
    solver: str
    tol: float
    max_iter: int
    seed: int


class LinearModel:
    """The leading axes of a spectrum, a solution on them, and everything that follows from the two."""

    def __init__(self, spectrum: Spectrum, settings: Settings, dtype: Any) -> None:
        self.spectrum = spectrum
        self.settings = settings
        self.dtype = dtype
        self.solution = _solve(spectrum, settings)
        axes = spectrum.axes[: self.solution.decoders.shape[1]]
        decoders = axes.T @ side_by_side(self.solution.decoders)
        self.decoders = self._publish(apart(decoders, settings.n_modules))
        self.encoders = self._publish(self.solution.encoders @ axes)
        self.mean = self._publish(spectrum.mean)
        self.principal_axes = self._publish(spectrum.axes)

    def with_diversity(self, diversity: float) -> LinearModel:
        """The model for another diversity on the same axes: the data are not needed again."""
        return LinearModel(self.spectrum, replace(self.settings, diversity=diversity), self.dtype)

    def _publish(self, values: Array) -> Array:
        return np.ascontiguousarray(values, dtype=self.dtype)

    @property
    def certified(self) -> bool:
        """The solver converged, and the gap is closed or proven to be there at the optimum."""
        return self.solution.converged and self.solution.attainment != UNDECIDED

    @property
    def explained_variance_ratio(self) -> Array:
        """Of each module alone, (M,)."""
        decoders, encoders = self.solution.decoders, self.solution.encoders
        seen = encoders * self.spectrum.eigenvalues[: encoders.shape[2]]
        explained = 2.0 * np.einsum("mhk,mkh->m", seen, decoders) - np.einsum(
            "mhk,mhk->m", seen, encoders
        )
        ratio: Array = explained / (self.spectrum.total_variance or 1.0)
        return ratio

    @property
    def explained_variance_ratio_of_mean(self) -> float:
        """Of the mean of the reconstructions."""
        error = self.solution.reconstruction_error - self.solution.diversity_term
        total = self.spectrum.total_variance
        return (total - error) / (total or 1.0)


class Published:
    """A fitted attribute that is read from the model behind the estimator.

    Before ``fit`` it does not exist (``hasattr`` is False), as scikit-learn expects.
    """

    def __init__(self, path: str) -> None:
        self.read = attrgetter(path)

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        check_is_fitted(estimator)
        return self.read(estimator._model)


def resolve_components(n_components: int | float | None, spectrum: Spectrum) -> int:
    """H: the default, the number asked for, or the fewest axes that keep the asked fraction."""
    n_features = len(spectrum.mean)
    if n_components is None:
        return min(10, n_features)
    if isinstance(n_components, float):
        return spectrum.components_for(n_components)
    return int(n_components)


def _solve(spectrum: Spectrum, settings: Settings) -> Solution:
    problem = Problem(
        spectrum.eigenvalues,
        spectrum.total_variance,
        settings.n_modules,
        settings.n_components,
        settings.diversity,
    )
    solve = SOLVERS[choose_solver(settings.solver)]
    rng = np.random.default_rng(settings.seed)
    return solve(problem, rng, tol=settings.tol, max_iter=settings.max_iter)
