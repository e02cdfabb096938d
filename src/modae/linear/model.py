"""The fitted state of a linear modular autoencoder: settings, spectrum, solution, modules.

Models for other diversities follow from one fit: the spectrum is all that they need.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self
from warnings import warn

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from modae.core.backfitting import solve_backfitting
from modae.core.frames import random_rotations
from modae.core.gradient import solve_gradient
from modae.core.objective import ATTAINED, CLOSED, Problem, Solution
from modae.core.spectral import solve_spectral
from modae.data.rows import HOST, Rows, centred_product, centred_squares, place_and_values
from modae.data.spectrum import Spectrum
from modae.data.summary import DataSummary
from modae.utils.arrays import Array, Precision
from modae.utils.parameters import check_count, check_diversity, check_non_negative

#: Name of a solver -> ``solve(problem, rng, *, tol, max_iter)``, which returns a Solution.
SOLVERS: dict[str, Callable[..., Solution]] = {
    "spectral": solve_spectral,
    "backfitting": solve_backfitting,
    "gradient": solve_gradient,
}

ROTATIONS = (None, "random")

#: What "auto" stands for: the only solver whose optimum is certified.
DEFAULT_SOLVER = "spectral"

#: A gap that counts as closed where the products were made in float32.
CLOSED_SINGLE = 1e-5

#: Components of a module where none are given: a fraction of the columns, or of this number of them.
DEFAULT_FRACTION, MOST_COLUMNS = 0.4, 50

#: Shares of the modules this close to 0 or 1 count as none or all of them.
EQUAL = 1e-9


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
    rotation: str | None = None

    @staticmethod
    def check(estimator: Any) -> None:
        """Check those parameters of an estimator that both linear models have."""
        check_count("n_modules", estimator.n_modules)
        check_diversity(estimator.diversity)
        check_non_negative("tol", estimator.tol)
        check_count("max_iter", estimator.max_iter)

    @classmethod
    def of(cls, estimator: Any, n_components: int | float, seed: int | None = None, **rest: Any) -> Self:
        """Those of an estimator with checked parameters; it draws a seed if none is given."""
        if seed is None:
            seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
        return cls(
            n_modules=int(estimator.n_modules),
            n_components=n_components,
            diversity=float(estimator.diversity),
            tol=float(estimator.tol),
            max_iter=int(estimator.max_iter),
            seed=seed,
            **rest,
        )


@dataclass(frozen=True, eq=False)
class Modules:
    """What an estimator's methods need, read once in each call: another thread may fit in between.

    Encoders are (M, H, D), decoders (M, D, H) with orthonormal columns.
    """

    mean: Array
    encoders: Array
    decoders: Array
    diversity: float

    def codes(self, rows: Rows) -> Any:
        """Codes of all modules side by side, (n, M*H), in the precision of the rows."""
        return centred_product(rows, self.mean, self.encoders.reshape(-1, self.encoders.shape[2]).T)

    def codes_by_module(self, rows: Rows) -> Any:
        """Codes of each module, (M, n, H)."""
        codes = self.codes(rows)
        place, _ = place_and_values(rows)
        stack = place.xp.reshape(codes, (rows.shape[0], len(self.encoders), -1))
        stack = place.xp.permute_dims(stack, (1, 0, 2))
        return np.ascontiguousarray(stack) if place is HOST else stack

    def losses(self, rows: Rows) -> Any:
        r"""Loss of each row, (n,), in float64 and without the reconstructions.

        :math:`\|A_iz_i-x\|^2=\|x\|^2+\langle z_i,\,z_i-2A_i^Tx\rangle`, and with
        :math:`A=[A_1\dots A_M]` the error of the mean is
        :math:`\|x\|^2-\frac2M\langle z,A^Tx\rangle+\frac1{M^2}\langle z,A^TAz\rangle`.
        """
        n_modules, flat = len(self.decoders), np.hstack(list(self.decoders))
        place, _ = place_and_values(rows)
        squares = centred_squares(rows, self.mean)
        pair = self.codes(rows), centred_product(rows, self.mean, flat)
        codes, matches = (place.cast(each, place.precise) for each in pair)
        flat = flat.astype(np.float64)
        overlap = place.xp.vecdot(codes, matches) * (2.0 / n_modules)
        own = place.xp.vecdot(codes, codes) / n_modules
        mapped = codes @ place.send(flat.T @ flat, place.precise)
        together = place.xp.vecdot(mapped, codes) / n_modules**2
        reconstruction = place.xp.clip(squares + own - overlap, 0.0, None)
        error_of_mean = place.xp.clip(squares + together - overlap, 0.0, None)
        return (1.0 - self.diversity) * reconstruction + self.diversity * error_of_mean


class LinearModel:
    """Settings and a summary of the data, and everything that follows from the two.

    It is solved when it is first read, and never changes for its readers: more data, or other settings,
    make a new one, which an estimator swaps in by one assignment. There is no lock: threads that read it
    for the first time at once find the same solution, as its seed is settled.

    Parameters
    ----------
    settings : Settings
    summary : DataSummary or None
        What is known of the data; None in a model that can take no more of them.
    spectrum : Spectrum or None
        The leading axes of the data, where they are known already.
    dtype : numpy dtype or None
        Precision of the published arrays; None takes that of the summary, when the model is solved.
    grows : bool
        Whether it was made by ``partial_fit``: more data are expected.
    """

    def __init__(
        self,
        settings: Settings,
        summary: DataSummary | None = None,
        spectrum: Spectrum | None = None,
        dtype: Precision | None = None,
        *,
        grows: bool = False,
    ) -> None:
        self.summary = summary
        self.grows = grows
        if dtype is not None:
            self.dtype = dtype
        self._settings = settings
        self._spectrum = spectrum
        self._solution: Solution | None = None

    def solved(self) -> Self:
        """The same model, with its solution found: modules in the leading principal axes."""
        if self._solution is None:
            solve_all([self])
        return self

    def _decomposed(self) -> tuple[Settings, Spectrum]:
        """Settings with a known number of components, and the leading axes."""
        if self._spectrum is None:
            assert self.summary is not None
            now = self._settings
            summary, spectrum, width = self.summary.decomposed(
                now.n_modules, now.n_components, now.spectrum
            )
            self._settings, self.dtype = replace(now, n_components=width), summary.dtype
            self.summary = self.summary if self.grows else summary.owned()
            self._spectrum = spectrum  # last: an interrupt or a fork finds all of it, or nothing
        return self._settings, self._spectrum

    @property
    def settings(self) -> Settings:
        """The settings; ``n_components`` is a number once the model is solved."""
        return self._settings

    @property
    def is_solved(self) -> bool:
        """Whether reading the model costs nothing."""
        return self._solution is not None

    @property
    def spectrum(self) -> Spectrum:
        """The leading principal axes of the data."""
        return self._decomposed()[1]

    @property
    def solution(self) -> Solution:
        """The modules in principal axes, their loss and their certificate."""
        self.solved()
        assert self._solution is not None
        return self._solution

    @cached_property
    def mean(self) -> Array:
        """Mean of the data, (D,)."""
        return read_only(self.spectrum.mean, self.dtype)

    @cached_property
    def encoders(self) -> Array:
        """Encoders of the modules, (M, H, D)."""
        encoders = self.solution.encoders
        return read_only(encoders @ self.spectrum.axes[: encoders.shape[2]], self.dtype)

    @cached_property
    def decoders(self) -> Array:
        """Decoders of the modules, (M, D, H), with orthonormal columns."""
        decoders = self.solution.decoders
        flat = self.spectrum.axes[: decoders.shape[1]].T @ np.hstack(list(decoders))
        return read_only(np.stack(np.hsplit(flat, len(decoders))), self.dtype)

    @cached_property
    def modules(self) -> Modules:
        """What maps rows to codes and back."""
        return Modules(self.mean, self.encoders, self.decoders, self.settings.diversity)

    @cached_property
    def total_variance(self) -> float:
        """Variance of the data in all directions."""
        return self.spectrum.total_variance * self.spectrum.unit**2

    @cached_property
    def certified(self) -> bool:
        """Whether loss and lower bound meet, in the precision of the data."""
        return self.solution.attainment == ATTAINED

    @cached_property
    def explained_variance_ratio(self) -> Array:
        """Of each module alone, (M,)."""
        decoders, encoders = self.solution.decoders, self.solution.encoders
        seen = encoders * self.spectrum.eigenvalues[: encoders.shape[2]]
        explained = np.einsum("mhk,mhk->m", seen, 2.0 * decoders.mT - encoders)
        return explained / (self.spectrum.total_variance or 1.0)

    @property
    def explained_variance_ratio_of_mean(self) -> float:
        """Of the mean of the reconstructions."""
        error = self.solution.reconstruction_error - self.solution.diversity_term
        return (self.total_variance - error) / (self.total_variance or 1.0)

    def with_settings(self, **changes: Any) -> "LinearModel":
        """The model for another diversity or size on the same axes: the data are not needed again."""
        now, spectrum = self._decomposed()
        settings = replace(now, **changes)
        n_modules, n_components = settings.n_modules, int(settings.n_components)
        if (n_modules, n_components) != (now.n_modules, now.n_components):
            kept, n_features = spectrum.axes.shape
            # Axes that were not kept cannot be had again, unless those kept are all there are.
            all_kept = spectrum.rank < now.n_modules * now.n_components or kept == n_features
            if n_modules * n_components > kept and not all_kept:
                raise ValueError(
                    f"n_modules * n_components must be at most {kept}, the number of principal axes "
                    f"that this fit kept, got {n_modules} * {n_components}: fit with more."
                )
            spectrum = spectrum.leading(n_modules, n_components)
        return LinearModel(settings, self.summary, spectrum, self.dtype, grows=self.grows)

    def solutions(self, changes: Sequence[dict[str, Any]]) -> list[Solution]:
        """Those of the models for several changes of the settings."""
        return solve_all([self.with_settings(**each) for each in changes])

    def without_data(self) -> Self:
        """The solved model alone, to travel: the sums are D x D, the model is not."""
        light = copy(self.solved())
        light.summary = None
        return light

    def warn_if_unfinished(self, stacklevel: int) -> None:
        """Say that a solver stopped too early, and what to do."""
        solution = self.solution
        if not solution.converged:
            other = "" if solution.solver == DEFAULT_SOLVER else f", or use solver={DEFAULT_SOLVER!r}"
            warn(
                f"solver={solution.solver!r} stopped after max_iter={self.settings.max_iter} iterations "
                f"with a gap of {solution.gap:.1e} to the lower bound; raise max_iter{other}.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_if_equal(self, stacklevel: int) -> None:
        """Say that modules which are all the same gain nothing, and what to do."""
        settings, shares = self.settings, self.solution.shares
        if settings.n_modules == 1 or np.minimum(shares, 1.0 - shares).max() > EQUAL:
            return  # some axis is used by some modules, and not by others
        reason = (
            "All modules are equal, so an ensemble on them gains nothing over one member: n_components "
            f"is {settings.n_components} for {len(self.mean)} columns; lower it, or raise the diversity."
        )
        if settings.diversity == 0.0:
            reason = (
                "diversity=0 makes all modules equal: each is the same PCA, and an ensemble on them "
                "gains nothing. If a search chose 0, scale the columns or lower n_components."
            )
        warn(reason, UserWarning, stacklevel=stacklevel + 1)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)  # files and pickles have what was solved, beside what it was solved for


def solve_all(models: Sequence[LinearModel]) -> list[Solution]:
    """Find the solution of each model: modules in the leading principal axes of its data.

    The solver works in units of the total variance, so that the scale of the data does not matter.
    """
    solutions = []
    for model in models:
        spectrum = model._spectrum or model._decomposed()[1]
        settings = model._settings
        shape, total = (settings.n_modules, int(settings.n_components)), spectrum.total_variance or 1.0
        problem = Problem(
            spectrum.eigenvalues / total,
            spectrum.total_variance / total,
            *shape,
            settings.diversity,
            hidden=spectrum.hidden / total,
            slack=spectrum.slack / total,
            closed=CLOSED if model.dtype.itemsize == 8 else CLOSED_SINGLE,
        )
        solve = SOLVERS[DEFAULT_SOLVER if settings.solver == "auto" else settings.solver]
        rng = np.random.default_rng(settings.seed)
        solution = solve(problem, rng, tol=settings.tol, max_iter=settings.max_iter)
        if settings.rotation is not None:  # from a random stream of its own: the subspaces stay
            turns = random_rotations(*shape, np.random.default_rng([settings.seed, 1]))
            decoders, encoders = solution.decoders @ turns.mT, turns @ solution.encoders
            solution = replace(solution, decoders=decoders, encoders=encoders)
        model._solution = solution.scaled(spectrum.total_variance * spectrum.unit**2 or 1.0)
        solutions.append(model._solution)
    return solutions


def read_only(values: Array, dtype: Any = np.float64) -> Array:
    """The array in its precision, not to be changed by accident: models share them."""
    published = np.ascontiguousarray(values, dtype=dtype).view()
    published.flags.writeable = False
    return published


def share_of_columns(fraction: float, n_features: int) -> int:
    """So many components as this fraction of the columns, of 50 at most; at least 1, not all of several.

    Modules differ by what they leave out. ``python -m benchmarks.sizes`` has the evidence for 0.4.

    Examples
    --------
    >>> from modae.linear.model import share_of_columns
    >>> [share_of_columns(0.4, width) for width in (1, 2, 4, 30, 784)]
    [1, 1, 2, 12, 20]
    """
    share = round(fraction * min(n_features, MOST_COLUMNS))
    return max(1, min(share, n_features - 1))


def resolved_components(n_components: Any, n_features: int) -> int | float:
    """n_components for these data: the default for None, a fraction as it is, no more than features."""
    if n_components is None:
        return share_of_columns(DEFAULT_FRACTION, n_features)
    if isinstance(n_components, Integral) and int(n_components) > n_features:
        raise ValueError(f"n_components must be at most n_features = {n_features}, got {n_components}.")
    return int(n_components) if isinstance(n_components, Integral) else float(n_components)
