"""How fast the methods converge on the data of section 3: the measurements behind Table 1.

1,000 points of a Gaussian mixture (standard deviation 0.25, means from a standard normal distribution);
each method runs until an epoch lowers the cost by less than 1e-5. The paper does not say how many
dimensions, clusters, modules and units there were, at which diversity, or with which step; here they are
stated.

Each time is that of a whole fit from the rows: all methods make the same moments first, the spectral
solver then makes the eigendecomposition too. They run in turn on one thread, from the same data, and the
iterative methods start from the same random modules. Algorithm 1 is the literal one, on the D x D
covariance, and gradient descent works on that covariance too, which is faster than on 1,000 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from modae.core.backfitting import Descent, backfit, random_modules
from modae.core.gradient import descend
from modae.core.solution import CLOSED, Problem
from modae.core.spectral import solve_spectral
from modae.data.moments import moments_of_rows
from modae.data.spectrum import spectrum_of_moments
from modae.datasets import make_gaussian_mixture
from modae.utils.arrays import Array

N_ROWS, N_CLUSTERS, DIVERSITY = 1000, 10, 0.5
EPSILON = 1e-5
"""The paper's: the cost has stopped falling when an epoch gains less."""

NEAR = 1e-4
"""A gap to the lower bound, as a fraction of the variance, at which a fit may be called done."""

GRID = (0.1, 0.3, 0.5, 0.7, 0.8)
"""Fixed steps of gradient descent, in units of M / (2 w_1): at 1 a single module would be at the edge
of stability along the first principal axis, and at 0.9 about one descent in fifteen stops within a few
epochs. The best one is chosen on data sets of its own."""

CLOSING_EPOCHS = 100
"""Most epochs of Algorithm 1 on the way to a closed gap: if it needs more, its time is a lower limit."""

ALGORITHM_1, SPECTRAL = "Algorithm 1", "spectral"
FIXED, LINE_SEARCH = "gradient, fixed step", "gradient, line search"
METHODS = (ALGORITHM_1, FIXED, LINE_SEARCH, SPECTRAL)


@dataclass(frozen=True)
class Size:
    """One block of the table: D, M, H, how often, and what gradient descent gets.

    Parameters
    ----------
    n_features, n_modules, n_components, repetitions : int
    trials : int
        Data sets on which each step of the grid is tried before.
    max_epochs : int
        Most epochs of one descent.
    """

    n_features: int
    n_modules: int
    n_components: int
    repetitions: int
    trials: int
    max_epochs: int


@dataclass(frozen=True)
class Fit:
    """One method on one data set; gaps are to the lower bound and in units of the variance.

    Parameters
    ----------
    seconds, epochs, cost, gap
        When the method stopped.
    ended : bool
        Whether it stopped by itself; if not, seconds and epochs are lower limits.
    seconds_near : float or None
        Time to a gap of 1e-4; None if it stopped before.
    """

    seconds: float
    epochs: int
    cost: float
    gap: float
    ended: bool
    seconds_near: float | None


@dataclass(frozen=True)
class Repetition:
    """All methods on one data set, and Algorithm 1 all the way to a closed gap."""

    fits: dict[str, Fit]
    closing: Fit
    variance: float

    def ratio(self, slow: str, fast: str) -> float:
        """How many times longer one method took than another."""
        return self.fits[slow].seconds / self.fits[fast].seconds


@dataclass(frozen=True)
class Block:
    """All repetitions of one size, the step that was chosen, and how the trials of each step ended."""

    size: Size
    step: float
    trials: dict[float, list[Fit]]
    repetitions: list[Repetition]

    def fits(self, method: str) -> list[Fit]:
        """Of one method, one for each repetition."""
        return [repetition.fits[method] for repetition in self.repetitions]

    def all_ended(self, method: str) -> bool:
        """Whether no repetition ran into the limit of epochs."""
        return all(fit.ended for fit in self.fits(method))


def measure(size: Size) -> Block:
    """Choose the step, then run every method on every data set."""
    with threadpool_limits(1):
        trials = {step: _trials(size, step) for step in GRID}
        step = min(trials, key=lambda step: _cost_then_time(trials[step]))
        repetitions = [_repeat(size, step, seed) for seed in range(size.repetitions)]
    return Block(size, step, trials, repetitions)


def _trials(size: Size, step: float) -> list[Fit]:
    """Gradient descent with one step of the grid on data that are not used again."""
    fits = []
    for seed in range(size.repetitions, size.repetitions + size.trials):
        rows, start = draw(size, seed)
        fits.append(_timed(_descent(size, start, step), rows, _problem(rows, size)))
    return fits


def _cost_then_time(fits: list[Fit]) -> tuple[float, float]:
    """What makes a step the best: mean final cost, in units of the stopping rule, then time."""
    cost = np.round(mean(fit.cost for fit in fits) / EPSILON)
    return (np.inf if np.isnan(cost) else float(cost)), sum(fit.seconds for fit in fits)


def _repeat(size: Size, step: float, seed: int) -> Repetition:
    rows, start = draw(size, seed)
    problem = _problem(rows, size)
    fits = {
        SPECTRAL: _timed_spectral(rows, size, seed),
        ALGORITHM_1: _timed(_algorithm_1(start), rows, problem),
        FIXED: _timed(_descent(size, start, step), rows, problem),
        LINE_SEARCH: _timed(_descent(size, start, None), rows, problem),
    }
    return Repetition(fits, _timed(_closing(start, problem), rows, problem), problem.total_variance)


def draw(size: Size, seed: int) -> tuple[Array, tuple[Array, Array]]:
    """Rows of the mixture, and random modules to start from."""
    rows, *_ = make_gaussian_mixture(
        N_ROWS,
        n_features=size.n_features,
        n_clusters=N_CLUSTERS,
        standard_deviation=0.25,
        random_state=seed,
    )
    rng = np.random.default_rng(seed)
    return rows, random_modules(size.n_modules, size.n_features, size.n_components, rng)


def _problem(rows: Array, size: Size) -> Problem:
    """The problem in principal axes, from the rows: what the spectral solver is given."""
    M, H = size.n_modules, size.n_components
    spectrum = spectrum_of_moments(moments_of_rows(rows)).leading(M, H)
    return Problem(spectrum.eigenvalues, spectrum.total_variance, M, H, DIVERSITY)


def _descent(size: Size, start: tuple[Array, Array], step: float | None) -> Callable[[Array], Descent]:
    """Gradient descent as a function of the covariance."""

    def run(covariance: Array) -> Descent:
        unit = size.n_modules / (2.0 * float(np.linalg.eigvalsh(covariance)[-1]))
        return descend(
            covariance,
            start,
            DIVERSITY,
            step=None if step is None else step * unit,
            max_iter=size.max_epochs,
            min_decrease=EPSILON,
        )

    return run


def _algorithm_1(start: tuple[Array, Array]) -> Callable[[Array], Descent]:
    """Algorithm 1 with the paper's stopping rule."""
    return lambda sigma: backfit(sigma, start, DIVERSITY, min_decrease=EPSILON)


def _closing(start: tuple[Array, Array], problem: Problem) -> Callable[[Array], Descent]:
    """Algorithm 1 until the gap counts as closed, however slowly."""
    target = problem.lower_bound + CLOSED * problem.total_variance
    return lambda sigma: backfit(
        sigma, start, DIVERSITY, max_iter=CLOSING_EPOCHS, min_decrease=-np.inf, target=target
    )


def _timed(solve: Callable[[Array], Descent], rows: Array, problem: Problem) -> Fit:
    """Moments, then epochs; every epoch counts the same when the time to a gap is read off."""
    begin = perf_counter()
    covariance = moments_of_rows(rows).covariance
    ready = perf_counter()
    descent = solve(covariance)
    end = perf_counter()
    epochs, gaps = len(descent.losses) - 1, [problem.gap(loss) for loss in descent.losses]
    near = next((epoch for epoch, gap in enumerate(gaps) if gap <= NEAR), None)
    seconds_near = None if near is None else ready - begin + (end - ready) * near / epochs
    return Fit(end - begin, epochs, descent.losses[-1], gaps[-1], descent.converged, seconds_near)


def _timed_spectral(rows: Array, size: Size, seed: int) -> Fit:
    begin = perf_counter()
    solution = solve_spectral(_problem(rows, size), np.random.default_rng(seed))
    seconds = perf_counter() - begin
    return Fit(seconds, solution.n_iter, solution.loss, solution.gap, solution.converged, seconds)
