"""What is behind a fitted linear modular autoencoder: a stream of data, settings, their model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from threading import Lock
from typing import Any
from warnings import warn

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from modae.core.backfitting import solve_backfitting
from modae.core.gradient import solve_gradient
from modae.core.solution import ATTAINED, CLOSED, NOT_ATTAINABLE, Problem, Solution
from modae.core.spectral import solve_spectral
from modae.data.spectrum import Spectrum
from modae.data.summary import Stream
from modae.linear.modules import Modules
from modae.utils.arrays import Array, Precision, apart, side_by_side

SOLVERS = {
    "spectral": solve_spectral,
    "backfitting": solve_backfitting,
    "gradient": solve_gradient,
}


CLOSED_SINGLE = 1e-5
"""A gap that counts as closed where the products were made in float32."""


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

    def __init__(self, spectrum: Spectrum, settings: Settings, dtype: Precision) -> None:
        self.spectrum = spectrum
        self.settings = settings
        self.dtype = dtype
        self.total_variance = spectrum.total_variance * spectrum.variance_unit
        self.eigenvalues = _read_only(spectrum.eigenvalues * spectrum.variance_unit)
        self.solution = _solve(spectrum, settings, dtype).scaled(self.total_variance or 1.0)
        axes = spectrum.axes[: self.solution.decoders.shape[1]]
        decoders = apart(axes.T @ side_by_side(self.solution.decoders), settings.n_modules)
        self.modules = Modules(
            mean=_read_only(spectrum.mean, dtype),
            encoders=_read_only(self.solution.encoders @ axes, dtype),
            decoders=_read_only(decoders, dtype),
            diversity=settings.diversity,
        )
        self.explained_variance_ratio = _explained_variance_ratio(self.solution, spectrum)

    @cached_property
    def principal_axes(self) -> Array:
        """The kept axes, (K, D), in the precision of the data."""
        return _read_only(self.spectrum.axes, self.dtype)

    @classmethod
    def of(cls, stream: Stream, settings: Settings) -> LinearModel:
        """The model of all rows of a stream."""
        spectrum = stream.spectrum(settings.n_axes, settings.spectrum)
        width = settings.n_components
        n_components = width if isinstance(width, int) else spectrum.components_for(width)
        leading = spectrum.leading(settings.n_modules, n_components)
        return cls(leading, replace(settings, n_components=n_components), stream.dtype)

    def with_settings(self, **changes: Any) -> LinearModel:
        """The model for another diversity or size on the same axes: the data are not needed again."""
        settings = replace(self.settings, **changes)
        sizes = settings.n_modules, int(settings.n_components)
        self._check_axes(*sizes)
        same = sizes == (self.settings.n_modules, self.settings.n_components)
        spectrum = self.spectrum if same else self.spectrum.leading(*sizes)
        return LinearModel(spectrum, settings, self.dtype)

    def _check_axes(self, n_modules: int, n_components: int) -> None:
        """Axes that were not kept cannot be had again, unless those kept are all there are."""
        kept, n_features = self.spectrum.axes.shape
        asked = self.settings.n_modules * int(self.settings.n_components)
        all_kept = self.spectrum.rank < asked or kept == n_features
        if n_modules * n_components > kept and not all_kept:
            raise ValueError(
                f"n_modules * n_components must be at most {kept}, the number of principal axes that "
                f"this fit kept, got {n_modules} * {n_components}: fit with more."
            )

    @property
    def certified(self) -> bool:
        """The gap is closed, or proven to be there at the optimum and descent on it came to an end."""
        if self.solution.attainment == ATTAINED:
            return True
        searched = self.solution.solver == "spectral" and self.settings.tol <= CLOSED
        return self.solution.attainment == NOT_ATTAINABLE and searched and self.solution.converged

    @property
    def explained_variance_ratio_of_mean(self) -> float:
        """Of the mean of the reconstructions."""
        error = self.solution.reconstruction_error - self.solution.diversity_term
        return (self.total_variance - error) / (self.total_variance or 1.0)

    def warn_if_equal(self, stacklevel: int) -> None:
        """Say that without diversity there is nothing for an ensemble to gain."""
        if self.settings.diversity == 0.0 and self.settings.n_modules > 1:
            warn(
                "diversity=0 makes all modules equal: each is the same PCA, and an ensemble on them "
                "gains nothing. If a search chose 0, scale the columns or lower n_components.",
                UserWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_if_unfinished(self, stacklevel: int) -> None:
        """Say that a solver stopped too early, and what to do."""
        solution = self.solution
        if not solution.converged:
            other = "" if solution.solver == "spectral" else ", or use solver='spectral'"
            warn(
                f"solver={solution.solver!r} stopped after max_iter={self.settings.max_iter} iterations "
                f"with a gap of {solution.gap:.1e} to the lower bound; raise max_iter{other}.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )


class Fitted:
    """A stream, settings and their model, which is solved when first asked for, and then kept.

    Adding data makes a new one, so a reader in another thread never sees half of a change. One that
    ``grows`` was made by ``partial_fit``: more data are expected.
    """

    def __init__(
        self,
        stream: Stream | None,
        settings: Settings,
        model: LinearModel | None = None,
        grows: bool = False,
    ) -> None:
        self.stream = stream
        self.settings = settings
        self.grows = grows
        self._model = model
        self._lock = Lock()

    @property
    def model(self) -> LinearModel:
        """The model of everything seen so far."""
        with self._lock:
            if self._model is None:
                assert self.stream is not None
                self._model = LinearModel.of(self.stream, self.settings)
                self._model.warn_if_unfinished(stacklevel=4)
            return self._model

    @property
    def is_solved(self) -> bool:
        """Whether reading the model costs nothing."""
        return self._model is not None

    def without_data(self) -> Fitted:
        """The solved model alone, to travel: the sums are D x D, the model is not."""
        return Fitted(None, self.settings, self.model, self.grows)

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot be pickled; a copy gets its own.
        return {
            "stream": self.stream,
            "settings": self.settings,
            "model": self._model,
            "grows": self.grows,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


class UnsolvedError(ValueError, AttributeError):
    """The data seen so far have no model yet, for the reason given; ``hasattr`` is False."""


class Published:
    """A fitted attribute that is read from the model behind the estimator, and cannot be set.

    Before ``fit`` it does not exist (``hasattr`` is False), as scikit-learn expects.
    """

    def __init__(self, path: str) -> None:
        self.read = attrgetter(path)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        check_is_fitted(estimator)
        try:
            return self.read(estimator._fitted.model)
        except ValueError as reason:
            raise UnsolvedError(str(reason)) from reason

    def __set__(self, estimator: Any, value: Any) -> None:
        raise AttributeError(f"{self.name} follows from the fit and cannot be set.")


def _read_only(values: Array, dtype: Any = np.float64) -> Array:
    """The array in its precision, not to be changed by accident: models share them."""
    published = np.ascontiguousarray(values, dtype=dtype)
    published.flags.writeable = False
    return published


def _explained_variance_ratio(solution: Solution, spectrum: Spectrum) -> Array:
    """Of each module alone, (M,)."""
    decoders, encoders = solution.decoders, solution.encoders
    seen = encoders * spectrum.eigenvalues[: encoders.shape[2]]
    explained = np.einsum("mhk,mhk->m", seen, 2.0 * decoders.swapaxes(1, 2) - encoders)
    ratio: Array = explained / (spectrum.total_variance or 1.0)
    return ratio


def _solve(spectrum: Spectrum, settings: Settings, dtype: Precision) -> Solution:
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
        closed=CLOSED if dtype.itemsize == 8 else CLOSED_SINGLE,
    )
    solve = SOLVERS[choose_solver(settings.solver)]
    rng = np.random.default_rng(settings.seed)
    return solve(problem, rng, tol=settings.tol, max_iter=settings.max_iter)
