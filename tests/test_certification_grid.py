"""A tenth of the grids of ``make certify``, with a fixed seed, and a fiftieth of it all the time."""

import numpy as np
import pytest
from benchmarks import certify

from modae.core.spectral import solve_spectral

CASES = certify.sample(list(certify.grid()), 0.1, seed=1)
FEW = len(CASES) // 5


def name(case):
    problem = case.problem
    return f"{case.spectrum}-M{problem.n_modules}-H{problem.n_components}-{problem.diversity}"


@pytest.mark.parametrize(
    "case",
    [*CASES[:FEW], *(pytest.param(case, marks=pytest.mark.slow) for case in CASES[FEW:])],
    ids=name,
)
def test_the_certificate_holds(case):
    record = certify.examine(case, thorough=False)
    # A single open problem is no failure of its grid; what it says must be true all the same.
    assert [text for text in certify.failures([record]) if "grid" not in text] == []


@pytest.mark.slow
def test_nearly_all_gaps_are_closed():
    gaps = [solve_spectral(case.problem, np.random.default_rng(0)).gap for case in CASES]
    assert np.mean(np.array(gaps) <= certify.PROVEN) >= 0.95


@pytest.mark.parametrize("known", certify.KNOWN_OPTIMA, ids=lambda known: f"M{known[0]}-H{known[1]}")
def test_known_optima_are_reached(known):
    ((*_, bound, loss, optimum, state),) = certify.known_optima([known])
    assert bound == pytest.approx(optimum, abs=1e-8)
    assert loss == pytest.approx(optimum, abs=1e-8)
    assert state == "attained"


def test_a_broken_certificate_would_be_noticed():
    record = certify.Record(
        CASES[0], loss=1.0, gap=1.0, attainment="attained", excess=1.0, overshoot=1.0
    )
    assert len(certify.failures([record])) == 4
