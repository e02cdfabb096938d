"""Section 3, Table 1: Algorithm 1 against gradient descent, and both against the spectral solver.

:mod:`modae.reproduction.convergence` measures; here the claims are judged, the table is printed, and all
numbers go to ``table1.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from statistics import mean, median

from modae.reproduction.convergence import (
    ALGORITHM_1,
    DIVERSITY,
    FIXED,
    LINE_SEARCH,
    METHODS,
    SPECTRAL,
    Block,
    Fit,
    Size,
    measure,
)
from modae.reproduction.findings import Finding, Setting
from modae.utils.atomic import atomic_write

SMALL_SIZES = (Size(10, 5, 2, 10, 5, 20_000), Size(30, 5, 5, 10, 5, 20_000))
QUICK_SIZES = (*SMALL_SIZES, Size(100, 10, 10, 3, 1, 250))
FULL_SIZES = (*SMALL_SIZES, Size(100, 10, 10, 10, 2, 3000), Size(200, 10, 10, 10, 1, 500))
"""D, M, H, repetitions, trials of each step, most epochs of gradient descent."""

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


def run(setting: Setting) -> list[Finding]:
    """Measure every size, write ``table1.json`` and ``table1.txt``, judge the claims."""
    blocks = []
    for size in FULL_SIZES if setting.full else QUICK_SIZES:
        setting.tell(f"Table 1: {size.n_features} dimensions, {size.repetitions} repetitions")
        blocks.append(measure(size))
    with atomic_write(setting.out / "table1.json", "w") as file:
        json.dump([asdict(block) for block in blocks], file, indent=1)
    with atomic_write(setting.out / "table1.txt", "w") as file:
        file.write(table(blocks))
    return judge(blocks)


def judge(blocks: list[Block]) -> list[Finding]:
    """All findings from the measurements."""
    return [
        _slightly_lower_cost(blocks),
        _faster_than_gradient(blocks),
        _speed_up_column(),
        _spectral_cost(blocks),
        _spectral_speed_to_closed_gap(blocks),
        _spectral_speed_to_stop(blocks),
    ]


def _slightly_lower_cost(blocks: list[Block]) -> Finding:
    """Algorithm 1 ends lower on average, and not by much, wherever gradient descent came to its end."""
    ended = [block for block in blocks if block.all_ended(FIXED)]
    excess = [mean(_gaps(block, FIXED)) - mean(_gaps(block, ALGORITHM_1)) for block in ended]
    measured = "mean excess of gradient descent, of the variance: " + _by_size(ended, excess, ".0e")
    return Finding("table1-cost", bool(ended) and all(0.0 < e <= SIMILAR for e in excess), measured)


def _gaps(block: Block, method: str) -> list[float]:
    return [fit.gap for fit in block.fits(method)]


def _faster_than_gradient(blocks: list[Block]) -> Finding:
    """Mean speed up of Algorithm 1 over gradient descent with its best step; if cut, it is more."""
    ratios = [mean(r.ratio(FIXED, ALGORITHM_1) for r in block.repetitions) for block in blocks]
    slowest = [_slowest_step(block) for block in blocks]
    cut = "" if all(block.all_ended(FIXED) for block in blocks) else " (cut short at the last: at least)"
    measured = (
        f"mean speed up {_by_size(blocks, ratios, '.2g')}{cut}; "
        f"with the worst step of the grid {max(slowest):.0f} at most"
    )
    return Finding("table1-speed-up", all(ratio >= ORDERS for ratio in ratios), measured)


def _slowest_step(block: Block) -> float:
    """Mean time with the slowest step over the mean time of Algorithm 1."""
    longest = max(mean(fit.seconds for fit in fits) for fits in block.trials.values())
    return longest / mean(fit.seconds for fit in block.fits(ALGORITHM_1))


def _speed_up_column() -> Finding:
    """Is the last column of the printed table the ratio of the two before it?"""
    ratios = {row: descent / algorithm for row, (algorithm, descent, _) in PAPER.items()}
    holds = all(abs(ratios[row] / printed - 1.0) < 0.01 for row, (_, _, printed) in PAPER.items())
    measured = "; ".join(f"{row} {ratios[row]:.0f}, printed {PAPER[row][2]:.0f}" for row in PAPER)
    return Finding("table1-speed-up-column", holds, measured)


def _spectral_cost(blocks: list[Block]) -> Finding:
    """The spectral solver ends at or below every other method, every time."""
    excess = max(
        (r.fits[SPECTRAL].cost - r.fits[other].cost) / r.variance
        for block in blocks
        for r in block.repetitions
        for other in (ALGORITHM_1, FIXED, LINE_SEARCH)
    )
    return Finding(
        "table1-spectral-cost",
        excess <= ROUND_OFF,
        f"spectral cost less any other: {excess:+.0e} at most",
    )


def _spectral_speed_to_closed_gap(blocks: list[Block]) -> Finding:
    """Both until the gap to the lower bound is closed."""
    large = [block for block in blocks if block.size.n_features >= LARGE]
    ratios = [
        median(r.closing.seconds / r.fits[SPECTRAL].seconds for r in block.repetitions)
        for block in large
    ]
    holds = bool(ratios) and min(ratios) >= ORDERS
    measured = f"median ratio at least {_by_size(large, ratios, '.0f')}"
    return Finding("table1-spectral-speed-closed", holds, measured)


def _spectral_speed_to_stop(blocks: list[Block]) -> Finding:
    """Algorithm 1 until the paper's rule stops it; the spectral solver is at a smaller gap by then."""
    large = [block for block in blocks if block.size.n_features >= LARGE]
    ratios = [median(r.ratio(ALGORITHM_1, SPECTRAL) for r in block.repetitions) for block in large]
    holds = bool(ratios) and min(ratios) >= ORDERS
    return Finding("table1-spectral-speed-stop", holds, f"median ratio {_by_size(large, ratios, '.0f')}")


def _by_size(blocks: list[Block], values: Iterable[float], form: str) -> str:
    """Each value with the dimension it belongs to."""
    pairs = zip(blocks, values, strict=True)
    return ", ".join(f"{value:{form}} (D = {block.size.n_features})" for block, value in pairs)


def table(blocks: list[Block]) -> str:
    """The table as text, at most 80 columns wide; ">" marks descents that were cut short."""
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Block) -> str:
    size, speed_ups = block.size, [r.ratio(FIXED, ALGORITHM_1) for r in block.repetitions]
    lines = [
        f"D = {size.n_features}, M = {size.n_modules}, H = {size.n_components}, diversity {DIVERSITY}, "
        f"{size.repetitions} repetitions, step {block.step} M/(2 w1)",
        f"{'seconds':22}{'min':>9}{'mean':>10}{'max':>10}{'epochs':>8}{'gap':>9}{'to 1e-4':>10}",
        *(_row(method, block.fits(method)) for method in METHODS),
        _speed_up_row(speed_ups, cut=not block.all_ended(FIXED)),
    ]
    return "\n".join(lines) + "\n"


def _row(method: str, fits: list[Fit]) -> str:
    """One method: times, and medians of epochs, final gap and time to a gap of 1e-4."""
    seconds = [fit.seconds for fit in fits]
    mark = "" if all(fit.ended for fit in fits) else ">"
    times = [mark + _short(value) for value in (min(seconds), mean(seconds), max(seconds))]
    near = median(float("inf") if fit.seconds_near is None else fit.seconds_near for fit in fits)
    epochs, gap = median(fit.epochs for fit in fits), max(0.0, median(fit.gap for fit in fits))
    reached = "never" if near == float("inf") else _short(near)
    return f"{method:22}{times[0]:>9}{times[1]:>10}{times[2]:>10}{epochs:8.0f}{gap:9.0e}{reached:>10}"


def _short(seconds: float) -> str:
    """Seconds in at most seven characters."""
    return f"{seconds:.4f}" if seconds < 10.0 else f"{seconds:.1f}"


def _speed_up_row(speed_ups: list[float], *, cut: bool) -> str:
    """The paper's last column, of the ratios of single repetitions."""
    cells = [
        f"{'>' if cut else ''}{value:.1f}x"
        for value in (min(speed_ups), mean(speed_ups), max(speed_ups))
    ]
    return f"{'speed up, fixed step':22}{cells[0]:>9}{cells[1]:>10}{cells[2]:>10}"
