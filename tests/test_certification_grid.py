"""A tenth of the grid of ``make certify``, with a fixed seed."""

import pytest
from benchmarks import certify

CASES = certify.sample(list(certify.grid()), 0.1, seed=1)


def name(case):
    problem = case.problem
    return f"{case.spectrum}-M{problem.n_modules}-H{problem.n_components}-{problem.diversity}"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_certificate_holds(case):
    assert certify.failures([certify.examine(case)]) == []


@pytest.mark.parametrize("row", certify.known_optima(), ids=lambda row: f"M{row[0]}-H{row[1]}")
def test_known_optima_are_reached(row):
    *_, loss, optimum, state = row
    assert loss == pytest.approx(optimum, abs=1e-7)
    assert state == "not attainable"


def test_a_broken_certificate_would_be_noticed():
    record = certify.Record(CASES[0], gap=1.0, attainment="not attainable", excess=1.0, overshoot=1.0)
    assert len(certify.failures([record])) >= 3
