"""What is behind a fitted linear modular autoencoder: a stream of data, settings, their model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from threading import Lock
from typing import Any
from warnings import warn

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from modae.core.arrays import Array, apart, side_by_side
from modae.core.backfitting import solve_backfitting
from modae.core.gradient import solve_gradient
from modae.core.moments import out_of_range
from modae.core.solution import UNDECIDED, Problem, Solution
from modae.core.spectral import solve_spectral
from modae.core.spectrum import Spectrum
from modae.core.stream import Stream

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
    """Parameters of a fit after validation: what, besides the data, decides the model."""

    n_modules: int
    n_components: int | float
    diversity: float
    solver: str
    spectrum: str
    tol: float
    max_iter: int
    seed: int

    @property
    def n_axes(self) -> int | None:
        """Principal axes that the modules can use; unknown while H depends on the spectrum."""
        whole = isinstance(self.n_components, int)
        return int(self.n_modules * self.n_components) if whole else None


class LinearModel:
    """The leading axes of a spectrum, a solution on them, and everything that follows from the two."""

    def __init__(self, spectrum: Spectrum, settings: Settings, dtype: Any) -> None:
        self.spectrum = spectrum
        self.settings = settings
        self.dtype = dtype
        self.variance_unit = _variance_unit(spectrum)
        self.eigenvalues = spectrum.eigenvalues * self.variance_unit
        self.total_variance = spectrum.total_variance * self.variance_unit
        self.solution = _solve(spectrum, settings).scaled(self.total_variance or 1.0)
        axes = spectrum.axes[: self.solution.decoders.shape[1]]
        decoders = axes.T @ side_by_side(self.solution.decoders)
        self.decoders = self._publish(apart(decoders, settings.n_modules))
        self.encoders = self._publish(self.solution.encoders @ axes)
        self.mean = self._publish(spectrum.mean)
        self.principal_axes = self._publish(spectrum.axes)

    @classmethod
    def of(cls, stream: Stream, settings: Settings) -> LinearModel:
        """The model of all rows of a stream."""
        spectrum = stream.spectrum(settings.n_axes, settings.spectrum)
        width = settings.n_components
        n_components = width if isinstance(width, int) else spectrum.components_for(width)
        leading = spectrum.leading(settings.n_modules, n_components)
        return cls(leading, replace(settings, n_components=n_components), stream.dtype)

    def with_diversity(self, diversity: float) -> LinearModel:
        """The model for another diversity on the same axes: the data are not needed again."""
        return LinearModel(self.spectrum, replace(self.settings, diversity=diversity), self.dtype)

    @property
    def certified(self) -> bool:
        """The solver converged, and the gap is closed or proven to be there at the optimum."""
        return self.solution.converged and self.solution.attainment != UNDECIDED

    @property
    def explained_variance_ratio(self) -> Array:
        """Of each module alone, (M,)."""
        decoders, encoders = self.solution.decoders, self.solution.encoders
        seen = encoders * self.spectrum.eigenvalues[: encoders.shape[2]]
        explained = np.einsum("mhk,mhk->m", seen, 2.0 * decoders.swapaxes(1, 2) - encoders)
        ratio: Array = explained / (self.spectrum.total_variance or 1.0)
        return ratio

    @property
    def explained_variance_ratio_of_mean(self) -> float:
        """Of the mean of the reconstructions."""
        error = self.solution.reconstruction_error - self.solution.diversity_term
        return (self.total_variance - error) / (self.total_variance or 1.0)

    def warn_if_doubtful(self) -> None:
        """Say what a user should know about this model before trusting it."""
        settings = self.settings
        if settings.diversity == 0.0 and settings.n_modules > 1:
            warn(
                "diversity=0 makes all modules equal: each is the same PCA, and an ensemble on them "
                "gains nothing.",
                UserWarning,
                stacklevel=4,
            )
        if not self.solution.converged:
            warn(
                f"solver={self.solution.solver!r} stopped after max_iter={settings.max_iter} epochs "
                f"with a gap of {self.solution.gap:.1e} to the lower bound; raise max_iter, or use "
                "solver='spectral', which needs no epochs.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _publish(self, values: Array) -> Array:
        return np.ascontiguousarray(values, dtype=self.dtype)


class Fitted:
    """A stream, settings and their model, which is solved when first asked for, and then kept.

    Adding data makes a new one, so a reader in another thread never sees half of a change.
    """

    def __init__(
        self, stream: Stream | None, settings: Settings, model: LinearModel | None = None
    ) -> None:
        self.stream = stream
        self.settings = settings
        self._model = model
        self._lock = Lock()

    @property
    def model(self) -> LinearModel:
        """The model of everything seen so far."""
        with self._lock:
            if self._model is None:
                assert self.stream is not None
                self._model = LinearModel.of(self.stream, self.settings)
                self._model.warn_if_doubtful()
            return self._model

    def __getstate__(self) -> dict[str, Any]:
        return {"stream": self.stream, "settings": self.settings, "model": self._model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


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
        return self.read(estimator._fitted.model)


def _variance_unit(spectrum: Spectrum) -> float:
    """The unit of the variances as a number, if the variances fit in a float64 at all."""
    unit = spectrum.unit**2
    total = spectrum.total_variance * unit
    if (
        spectrum.total_variance > 0.0
        and not np.finfo(np.float64).tiny <= total <= np.finfo(np.float64).max
    ):
        raise out_of_range(spectrum.unit * np.sqrt(spectrum.total_variance))
    return unit


def _solve(spectrum: Spectrum, settings: Settings) -> Solution:
    """Solve in units of the total variance, so that the scale of the data does not matter."""
    total = spectrum.total_variance or 1.0
    problem = Problem(
        spectrum.eigenvalues / total,
        spectrum.total_variance / total,
        settings.n_modules,
        int(settings.n_components),
        settings.diversity,
        hidden=spectrum.hidden / total,
        slack=spectrum.slack / total,
    )
    solve = SOLVERS[choose_solver(settings.solver)]
    rng = np.random.default_rng(settings.seed)
    return solve(problem, rng, tol=settings.tol, max_iter=settings.max_iter)
