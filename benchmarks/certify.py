"""The certificate on two grids of problems: ``make certify``.

The first has 1,344 problems on smooth spectra and on plateaus, the second 1,000 hard ones: plateaus and
clusters. For each: the spectral solver's gap to the lower bound; its loss, and the bound, against the
best that rivals find. The rivals share no code and no theory with the solver: they are Algorithm 1 of
the paper and L-BFGS, on the loss as it is defined, from random starts.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from benchmarks import spectra
from modae.core.objective import ATTAINED, UNDECIDED, Problem, Solution
from modae.core.spectral import solve_spectral

MODULES = (1, 2, 3, 4, 5, 10, 20)
COMPONENTS = (1, 3, 10)
DIVERSITIES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
HARD_DIVERSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
N_HARD = 1_000
N_STARTS, N_STARTS_OPEN = 2, 10
"""Random starts of the rivals on each problem, and on one that stays open."""
N_EPOCHS, N_STEPS = 100, 400
"""Most epochs of Algorithm 1, and most steps of L-BFGS."""
GAINED = 1e-13
"""Algorithm 1 ends with an epoch that gains less than this fraction of the variance."""

PROVEN = 1e-8
"""A gap up to this counts as closed, on so large a share of the first and of the second grid."""
SHARES_PROVEN = (0.99, 0.95)

KNOWN_OPTIMA = (
    # M, H, eigenvalues before scaling, optimum at diversity 0.5
    (3, 2, [1.0] * 5, 0.43333333),
    (3, 3, [1.0] * 4, 0.15000000),
    (4, 4, [1.0] * 5, 0.11428571),
    (10, 10, [1.0] * 11, 0.04784689),
    (3, 4, [1.0] * 5 + [0.01] * 7, 0.13214990),
)

INTRODUCTION = f"""\
# Certification

Made by `make certify`. The first grid has M in {{1, 2, 3, 4, 5, 10, 20}}, H in {{1, 3, 10}} and
diversity in {{0, .1, .3, .5, .7, .9, .99, 1}}: 168 problems for each of eight spectra, of which the
last three have plateaus. The second has 1,000 random problems on plateaus and clusters: M in 3..20,
H in 2..12, M H up to 120, diversity in {{.1, .3, .5, .7, .9}}.

All figures are fractions of the variance. *Gap* is loss less lower bound; "attained" means that it is
at most 1e-9, and then `certified_` is true. *Excess*, over the certified problems, is the loss of the
spectral solver less the smallest that rivals found: positive beyond round-off, it would be a false
certificate. *Overshoot* is the lower bound less the smallest loss that any method found: a true bound
has none beyond round-off.

The rivals share no code with the solver; they work on the loss as it is defined, in the leading
principal axes: L-BFGS on decoders and encoders (at most {N_STEPS} steps) from {N_STARTS} random starts;
Algorithm 1 of the paper from the same starts (at most {N_EPOCHS} epochs, fewer if one gains less than
{GAINED:g} of the variance), and L-BFGS from where it ends; L-BFGS from the solver's own modules, moved
aside by random numbers of size 0.01. Problems that stay open get {N_STARTS_OPEN} random starts.
"""


@dataclass(frozen=True)
class Case:
    """One problem of the grid."""

    spectrum: str
    hard: bool
    problem: Problem


@dataclass(frozen=True)
class Record:
    """What was measured on one problem, as fractions of the variance."""

    case: Case
    loss: float
    gap: float
    attainment: str
    excess: float
    """Spectral loss less the smallest that any other method found."""
    overshoot: float
    """Lower bound less the smallest loss that any method found: positive if the bound is wrong."""


def grid() -> Iterator[Case]:
    """Every problem of the table."""
    for (name, values), H in product({**spectra.smooth(), **spectra.plateaus()}.items(), COMPONENTS):
        eigenvalues = values(H) / values(H).sum()
        rank = np.count_nonzero(eigenvalues)
        for M, lam in product(MODULES, DIVERSITIES):
            kept = eigenvalues[: max(H, min(M * H, rank))]
            yield Case(name, False, Problem(kept, 1.0, M, H, lam))
    rng = np.random.default_rng(2026)
    for place in range(N_HARD):
        M, H = 20, 12
        while M * H > 120:
            M, H = int(rng.integers(3, 21)), int(rng.integers(2, 13))
        lam, kind = float(rng.choice(HARD_DIVERSITIES)), spectra.HARD[place % len(spectra.HARD)]
        eigenvalues = spectra.hard(kind, M * H, H, rng)
        missing = max(0, H - len(eigenvalues))
        yield Case(kind, True, Problem(np.pad(eigenvalues, (0, missing)), 1.0, M, H, lam))


def examine(case: Case, thorough: bool = True) -> Record:
    """Solve one problem in every way; not thoroughly, the rivals have one short run."""
    problem = case.problem
    with threadpool_limits(1):
        solution = solve_spectral(problem, np.random.default_rng(0))
        n_starts = N_STARTS if solution.attainment == ATTAINED else N_STARTS_OPEN
        limits = (n_starts, N_EPOCHS, N_STEPS) if thorough else (1, 20, 100)
        found = problem.variance_beyond(len(problem.eigenvalues)) + rivals(problem, solution, *limits)
    return Record(
        case,
        loss=solution.loss,
        gap=solution.gap,
        attainment=solution.attainment,
        excess=solution.loss - found,
        overshoot=solution.lower_bound - min(found, solution.loss),
    )


def rivals(problem: Problem, solution: Solution, n_starts: int, n_epochs: int, n_steps: int) -> float:
    """The smallest loss that other methods find in the leading principal axes."""
    w, lam = problem.eigenvalues, problem.diversity
    shape = (problem.n_modules, len(w), problem.n_components)
    # The solver's own modules, a step aside: is there anything better close by?
    rng = np.random.default_rng(0)
    unused = ((0, 0), (0, len(w) - solution.decoders.shape[1]), (0, 0))
    own = np.stack([np.pad(solution.decoders, unused), np.pad(solution.encoders.mT, unused)])
    found = [descended(own + 1e-2 * rng.standard_normal(own.shape), w, lam, n_steps)]
    for start in range(n_starts):
        rng = np.random.default_rng(start)
        frames = np.linalg.qr(rng.standard_normal(shape))[0]
        random = np.stack([frames, frames])
        found.append(descended(random, w, lam, n_steps))
        found.append(descended(backfitted(random, w, lam, n_epochs), w, lam, n_steps))
    return min(found)


def loss_and_gradient(modules: np.ndarray, w: np.ndarray, diversity: float) -> tuple[float, np.ndarray]:
    """Eq. 1 for decoders A and encoders B' in one array (2, M, K, H), on a diagonal covariance w."""
    (A, B), M, lam = modules, modules.shape[1], diversity
    wB, own, codes = w[:, None] * B, A.mT @ A, B.mT @ (w[:, None] * B)
    single = w.sum() + (np.vdot(own, codes) - 2.0 * np.vdot(A, wB)) / M
    missed = np.hstack(list(A)) @ np.hstack(list(B)).T / M - np.eye(len(w))
    loss = (1.0 - lam) * single + lam * np.square(missed) @ w @ np.ones(len(w))
    to_A = (1.0 - lam) * (A @ codes - wB) + lam * missed @ wB
    to_B = (1.0 - lam) * (wB @ own - w[:, None] * A) + lam * w[:, None] * (missed.T @ A)
    return float(loss), 2.0 / M * np.stack([to_A, to_B])


def descended(modules: np.ndarray, w: np.ndarray, diversity: float, n_steps: int) -> float:
    """Loss that L-BFGS reaches on decoders and encoders."""

    def flat(x: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = loss_and_gradient(x.reshape(modules.shape), w, diversity)
        return loss, gradient.ravel()

    options = {"maxiter": n_steps, "maxcor": 20, "ftol": 1e-16, "gtol": 1e-12}
    return float(minimize(flat, modules.ravel(), jac=True, method="L-BFGS-B", options=options).fun)


def backfitted(modules: np.ndarray, w: np.ndarray, diversity: float, n_epochs: int) -> np.ndarray:
    """Algorithm 1 of the paper, until an epoch gains next to nothing."""
    (A, B), identity, lam = modules.copy(), np.eye(len(w)), diversity
    _, M, K, H = modules.shape
    total, loss = np.einsum("mkh,mlh->kl", A, B), np.inf
    for _ in range(n_epochs):
        for i in range(M):
            total -= A[i] @ B[i].T
            left = identity - lam / M * total
            A[i] = np.linalg.eigh((left * w) @ left.T)[1][:, K - H :]
            B[i] = left.T @ A[i] / (1.0 - lam * (M - 1) / M)
            total += A[i] @ B[i].T
        before, loss = loss, loss_and_gradient(np.stack([A, B]), w, lam)[0]
        if before - loss < GAINED:
            break
    return np.stack([A, B])


def examine_all(cases: list[Case], workers: int) -> Iterator[Record]:
    """Examine cases, the costly ones first."""
    ordered = sorted(cases, key=lambda case: -case.problem.n_modules * len(case.problem.eigenvalues))
    with ProcessPoolExecutor(workers) as pool:
        for done, record in enumerate(pool.map(examine, ordered), 1):
            print(f"\r{done} of {len(ordered)}", end="", flush=True)
            yield record
    print()


def failures(records: list[Record]) -> list[str]:
    """Every requirement that a set of records does not meet, in words."""
    broken = []
    for name, share, hard in zip(("first", "second"), SHARES_PROVEN, (False, True), strict=True):
        group = [record for record in records if record.case.hard is hard]
        closed = sum(record.gap <= PROVEN for record in group)
        if closed < share * len(group):
            broken.append(f"{name} grid: only {closed} of {len(group)} gaps within {PROVEN:g}")
    for record in records:
        if record.attainment == ATTAINED and record.excess > 1e-9:
            broken.append(f"a false certificate: {record}")
        if record.excess > 1e-8:
            broken.append(f"worse than another method: {record}")
        if record.overshoot > 1e-12:
            broken.append(f"bound above a loss: {record}")
    return broken


def optima_missed() -> list[str]:
    """Every known optimum that is not reached, or not proven."""
    return [
        f"known optimum missed: {row}"
        for row in known_optima()
        if max(abs(row[3] - row[5]), abs(row[4] - row[5])) > 1e-8 or row[6] != ATTAINED
    ]


def known_optima(
    cases: Iterable[tuple[int, int, list[float], float]] = KNOWN_OPTIMA,
) -> list[tuple[int, int, float, float, float, float, str]]:
    """Both bounds, loss, reference optimum and state on problems whose optimum is known."""
    rows = []
    for M, H, values, optimum in cases:
        problem = Problem(np.array(values) / np.sum(values), 1.0, M, H, 0.5)
        solution = solve_spectral(problem, np.random.default_rng(0))
        bounds = problem.lower_bound, solution.lower_bound
        rows.append((M, H, *bounds, solution.loss, optimum, solution.attainment))
    return rows


def table(header: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """A table in Markdown; the names of the columns are separated by bars."""
    names = header.split("|")
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return ["", *("| " + " | ".join(cell.strip() for cell in line) + " |" for line in lines), ""]


def summary(name: str, group: list[Record]) -> tuple[str, ...]:
    """A line of the first two tables."""
    states = [record.attainment for record in group]
    certified = [record.excess for record in group if record.attainment == ATTAINED]
    return (
        name,
        f"{sum(record.gap <= PROVEN for record in group):,} of {len(group):,}",
        f"{max(record.gap for record in group):.1e}",
        f"{states.count(ATTAINED):,}",
        f"{states.count(UNDECIDED):,}",
        f"{max(certified, default=np.nan):.1e}",
        f"{max(record.overshoot for record in group):.1e}",
    )


def report(records: list[Record]) -> str:
    """The page for the documentation."""
    columns = "gap <= 1e-8 | largest gap | attained | undecided | largest excess | largest overshoot"
    grids = {
        name: [record for record in records if record.case.hard is hard]
        for name, hard in (("first", False), ("second", True))
    }
    spectra_ = {record.case.spectrum: [] for record in records}
    for record in records:
        spectra_[record.case.spectrum].append(record)
    open_ = [record for record in records if record.gap > PROVEN]
    lines = [INTRODUCTION]
    lines += table(f"grid | {columns}", (summary(*item) for item in grids.items() if item[1]))
    lines += ["By spectrum:"]
    lines += table(f"spectrum | {columns}", (summary(*item) for item in spectra_.items()))
    lines += ["Every problem that stayed open, with the best loss that any method found:"]
    lines += table(
        "spectrum | M | H | axes | diversity | lower bound | gap | best loss known",
        (
            (
                record.case.spectrum,
                record.case.problem.n_modules,
                record.case.problem.n_components,
                len(record.case.problem.eigenvalues),
                f"{record.case.problem.diversity:g}",
                f"{record.loss - record.gap:.8f}",
                f"{record.gap:.1e}",
                f"{record.loss - max(record.excess, 0.0):.8f}",
            )
            for record in open_
        ),
    )
    lines += ["On problems with a known optimum (diversity .5, eigenvalues scaled to sum 1):"]
    lines += table(
        "M | H | bound of the shells alone | lower bound | loss | known optimum | state",
        (
            (M, H, *(f"{value:.8f}" for value in values), state)
            for M, H, *values, state in known_optima()
        ),
    )
    return "\n".join(lines).rstrip() + "\n"


def sample(cases: list[Case], fraction: float, seed: int = 0) -> list[Case]:
    """A fixed random part of the grid."""
    return random.Random(seed).sample(cases, round(fraction * len(cases)))


def main() -> None:
    """Run the grid, write the page, and fail if a requirement is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fraction", type=float, default=1.0, help="part of the grid to run")
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--only", choices=("first", "second"), help="one of the two grids")
    parser.add_argument("--out", type=Path, help="file for the table, in Markdown")
    options = parser.parse_args()
    cases = [case for case in grid() if options.only is None or case.hard == (options.only == "second")]
    order = list(dict.fromkeys(case.spectrum for case in cases))
    records = list(examine_all(sample(cases, options.fraction), options.workers))
    records.sort(key=lambda record: order.index(record.case.spectrum))
    page = report(records)
    print(page)
    if options.out:
        options.out.write_text(page)
    broken = failures(records) + optima_missed()
    print("\n".join(broken) or "every requirement holds")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
