"""Section 3, Table 1: Algorithm 1 against gradient descent, and both against the spectral solver.

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

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from math import inf, isfinite
from statistics import mean, median
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from modae.core.backfitting import Descent, backfit, random_modules
from modae.core.gradient import descend
from modae.core.objective import CLOSED, Problem
from modae.core.spectral import solve_spectral
from modae.data.moments import moments_of_rows
from modae.data.spectrum import spectrum_of_moments
from modae.datasets import make_gaussian_mixture
from modae.reproduction.claims import Finding
from modae.reproduction.run import Setting
from modae.utils.arrays import Array

Start: TypeAlias = tuple[Array, Array]
"""Decoders and encoders of the modules from which an iteration starts."""

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

SIMILAR = 1e-3
"""Costs that differ by less, as a fraction of the variance, are similar."""

ROUND_OFF = 1e-9
ORDERS = 100.0
"""At least this for "several orders of magnitude", and for the spectral solver over Algorithm 1."""

LARGE = 100
"""Dimensions from which the spectral solver has to be that much faster."""

PAPER = {
    "minimum": (0.1134, 455.2, 102.9),
    "mean": (1.4706, 672.9, 1062.6),
    "maximum": (4.9842, 1871.5, 6685.4),
}
"""Table 1 as printed: seconds of Algorithm 1, seconds of gradient descent, speed up."""


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


SMALL_SIZES = (Size(10, 5, 2, 10, 5, 20_000), Size(30, 5, 5, 10, 5, 20_000))
QUICK_SIZES = (*SMALL_SIZES, Size(100, 10, 10, 3, 1, 250))
FULL_SIZES = (*SMALL_SIZES, Size(100, 10, 10, 10, 2, 3000), Size(200, 10, 10, 10, 1, 500))


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
class SizeResult:
    """All repetitions of one size, the step that was chosen, and how the trials of each step ended."""

    size: Size
    step: float
    trials: dict[float, list[Fit]]
    repetitions: list[Repetition]

    def fits(self, method: str) -> list[Fit]:
        """Of one method, one for each repetition."""
        return [repetition.fits[method] for repetition in self.repetitions]

    def mean(self, field: str, method: str) -> float:
        """Over the repetitions."""
        return mean(getattr(fit, field) for fit in self.fits(method))

    def all_ended(self, method: str) -> bool:
        """Whether no repetition ran into the limit of epochs."""
        return all(fit.ended for fit in self.fits(method))


def run(setting: Setting) -> list[Finding]:
    """Measure every size, write ``table1.json`` and ``table1.txt``, judge the claims."""
    results = []
    for size in FULL_SIZES if setting.full else QUICK_SIZES:
        setting.tell(f"Table 1: {size.n_features} dimensions, {size.repetitions} repetitions")
        results.append(measure(size))
    setting.save_json("table1.json", [asdict(result, dict_factory=_finite) for result in results])
    setting.save_text("table1.txt", table(results))
    return judge(results)


def _finite(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of a record for JSON, which has no infinity: a step that is too large diverges."""
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in fields}


# --- measurements ------------------------------------------------------------------------------------


def measure(size: Size) -> SizeResult:
    """Choose the step of gradient descent, then run every method on every data set."""
    with threadpool_limits(1):
        trials: dict[float, list[Fit]] = {step: [] for step in GRID}
        for step, fits in trials.items():  # on data that are not used again
            for seed in range(size.repetitions, size.repetitions + size.trials):
                rows, start = draw(size, seed)
                fits.append(_gradient_descent(size, step, rows, start, _problem(rows, size)))
        step = min(trials, key=lambda step: _cost_then_time(trials[step]))
        repetitions = [_repeat(size, step, seed) for seed in range(size.repetitions)]
    return SizeResult(size, step, trials, repetitions)


def draw(size: Size, seed: int) -> tuple[Array, Start]:
    """Rows of the mixture, and random modules to start from."""
    rows, _ = make_gaussian_mixture(
        N_ROWS, size.n_features, N_CLUSTERS, standard_deviation=0.25, random_state=seed
    )
    rng = np.random.default_rng(seed)
    return rows, random_modules(size.n_modules, size.n_features, size.n_components, rng)


def _problem(rows: Array, size: Size) -> Problem:
    """The problem in principal axes, from the rows: what the spectral solver is given."""
    M, H = size.n_modules, size.n_components
    spectrum = spectrum_of_moments(moments_of_rows(rows)).leading(M, H)
    return Problem(spectrum.eigenvalues, spectrum.total_variance, M, H, DIVERSITY)


def _cost_then_time(fits: list[Fit]) -> tuple[float, float]:
    """What makes a step the best: mean final cost, in units of the stopping rule, then time."""
    cost = mean(fit.cost for fit in fits) / EPSILON
    return float(np.round(cost)) if isfinite(cost) else inf, sum(fit.seconds for fit in fits)


def _repeat(size: Size, step: float, seed: int) -> Repetition:
    rows, start = draw(size, seed)
    problem = _problem(rows, size)
    begin = perf_counter()
    solution = solve_spectral(_problem(rows, size), np.random.default_rng(seed))
    seconds = perf_counter() - begin
    closed = problem.lower_bound + CLOSED * problem.total_variance
    closing = {"max_iter": CLOSING_EPOCHS, "min_decrease": -inf, "target": closed}
    fits = {
        SPECTRAL: Fit(
            seconds, solution.n_iter, solution.loss, solution.gap, solution.converged, seconds
        ),
        ALGORITHM_1: _timed(backfit, rows, start, problem, min_decrease=EPSILON),
        FIXED: _gradient_descent(size, step, rows, start, problem),
        LINE_SEARCH: _gradient_descent(size, None, rows, start, problem),
    }
    return Repetition(fits, _timed(backfit, rows, start, problem, **closing), problem.total_variance)


def _gradient_descent(
    size: Size, step: float | None, rows: Array, start: Start, problem: Problem
) -> Fit:
    """With a step in units of M / (2 w_1), or with a line search."""
    length = None if step is None else step * size.n_modules / (2.0 * float(problem.eigenvalues[0]))
    limits = {"max_iter": size.max_epochs, "min_decrease": EPSILON}
    return _timed(descend, rows, start, problem, step=length, **limits)


def _timed(
    solve: Callable[..., Descent], rows: Array, start: Start, problem: Problem, **options: Any
) -> Fit:
    """Moments, then epochs; every epoch counts the same when the time to a gap is read off."""
    begin = perf_counter()
    covariance = moments_of_rows(rows).covariance
    ready = perf_counter()
    descent = solve(covariance, start, DIVERSITY, **options)
    end = perf_counter()
    epochs, gaps = len(descent.losses) - 1, [problem.gap(loss) for loss in descent.losses]
    near = next((epoch for epoch, gap in enumerate(gaps) if gap <= NEAR), None)
    seconds_near = None if near is None else ready - begin + (end - ready) * near / epochs
    return Fit(end - begin, epochs, descent.losses[-1], gaps[-1], descent.converged, seconds_near)


# --- judgement ---------------------------------------------------------------------------------------


def judge(results: list[SizeResult]) -> list[Finding]:
    """The six claims that can be checked."""
    return [*_judge_algorithm_1(results), *_judge_spectral(results)]


def _judge_algorithm_1(results: list[SizeResult]) -> list[Finding]:
    """Against gradient descent with its best step: cost where that came to its end, and time."""
    ended = [result for result in results if result.all_ended(FIXED)]
    excess = [r.mean("gap", FIXED) - r.mean("gap", ALGORITHM_1) for r in ended]
    similar = bool(ended) and all(0.0 < value <= SIMILAR for value in excess)
    cost = f"mean excess of gradient descent, of the variance: {_by_size(ended, excess, '.0e')}"
    speed_ups = [mean(each.ratio(FIXED, ALGORITHM_1) for each in r.repetitions) for r in results]
    slowest = max(
        mean(fit.seconds for fit in fits) / result.mean("seconds", ALGORITHM_1)
        for result in results
        for fits in result.trials.values()
    )
    cut = "" if len(ended) == len(results) else " (cut short at the last: at least)"
    faster = f"mean speed up {_by_size(results, speed_ups, '.2g')}{cut}"
    faster += f"; with the worst step of the grid {slowest:.0f} at most"
    printed = {row: (slow / fast, speed_up) for row, (fast, slow, speed_up) in PAPER.items()}
    is_ratio = all(abs(ratio / column - 1.0) < 0.01 for ratio, column in printed.values())
    column = "; ".join(f"{row} {ratio:.0f}, printed {c:.0f}" for row, (ratio, c) in printed.items())
    return [
        Finding("table1-cost", similar, cost),
        Finding("table1-speed-up", min(speed_ups) >= ORDERS, faster),
        Finding("table1-speed-up-column", is_ratio, column),
    ]


def _judge_spectral(results: list[SizeResult]) -> list[Finding]:
    """It ends lowest, every time; on large problems it is faster than Algorithm 1 to two ends."""
    excess = max(
        (each.fits[SPECTRAL].cost - each.fits[other].cost) / each.variance
        for result in results
        for each in result.repetitions
        for other in (ALGORITHM_1, FIXED, LINE_SEARCH)
    )
    cost = f"spectral cost less any other: {excess:+.0e} at most"
    large = [result for result in results if result.size.n_features >= LARGE]
    closing, stopping = [], []
    for result in large:
        each = result.repetitions
        closing.append(median(r.closing.seconds / r.fits[SPECTRAL].seconds for r in each))
        stopping.append(median(r.ratio(ALGORITHM_1, SPECTRAL) for r in each))
    to_closed_gap = f"median ratio at least {_by_size(large, closing, '.0f')}"
    to_stop = f"median ratio {_by_size(large, stopping, '.0f')}"
    return [
        Finding("table1-spectral-cost", excess <= ROUND_OFF, cost),
        Finding("table1-spectral-speed-closed", min(closing, default=0.0) >= ORDERS, to_closed_gap),
        Finding("table1-spectral-speed-stop", min(stopping, default=0.0) >= ORDERS, to_stop),
    ]


def _by_size(results: list[SizeResult], values: Iterable[float], form: str) -> str:
    """Each value with the dimension it belongs to."""
    pairs = zip(results, values, strict=True)
    return ", ".join(f"{value:{form}} (D = {result.size.n_features})" for result, value in pairs)


# --- what is printed ---------------------------------------------------------------------------------


def table(results: list[SizeResult]) -> str:
    """The table as text, at most 80 columns wide; ">" marks descents that were cut short."""
    text = ""
    for result in results:
        size = result.size
        text += "\n" if text else ""
        text += (
            f"D = {size.n_features}, M = {size.n_modules}, H = {size.n_components}, "
            f"diversity {DIVERSITY}, {size.repetitions} repetitions, step {result.step} M/(2 w1)\n"
            f"{'seconds':22}{'min':>9}{'mean':>10}{'max':>10}{'epochs':>8}{'gap':>9}{'to 1e-4':>10}\n"
        )
        for method in METHODS:
            text += _row(method, result.fits(method))
        speed_ups = [repetition.ratio(FIXED, ALGORITHM_1) for repetition in result.repetitions]
        mark = "" if result.all_ended(FIXED) else ">"
        cells = [f"{mark}{each(speed_ups):.1f}x" for each in (min, mean, max)]
        text += f"{'speed up, fixed step':22}{cells[0]:>9}{cells[1]:>10}{cells[2]:>10}\n"
    return text


def _row(method: str, fits: list[Fit]) -> str:
    """One method: times, and medians of epochs, final gap and time to a gap of 1e-4."""
    seconds = [fit.seconds for fit in fits]
    mark = "" if all(fit.ended for fit in fits) else ">"
    times = [mark + _short(each(seconds)) for each in (min, mean, max)]
    near = median(inf if fit.seconds_near is None else fit.seconds_near for fit in fits)
    epochs, gap = median(fit.epochs for fit in fits), max(0.0, median(fit.gap for fit in fits))
    reached = "never" if near == inf else _short(near)
    return f"{method:22}{times[0]:>9}{times[1]:>10}{times[2]:>10}{epochs:8.0f}{gap:9.0e}{reached:>10}\n"


def _short(seconds: float) -> str:
    """Seconds in at most seven characters."""
    return f"{seconds:.4f}" if seconds < 10.0 else f"{seconds:.1f}"
