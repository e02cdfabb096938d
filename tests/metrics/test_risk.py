"""Risk and coverage, against a count of every prefix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.metrics import area_under_risk_coverage, risk_coverage_curve, split_uncertainty

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12
)


@given(ROWS)
def test_every_prefix_counted(rows):
    truth, told, doubt = map(np.array, zip(*rows, strict=True))
    coverage, risk = risk_coverage_curve(truth, told, doubt)
    for answered in range(1, len(rows) + 1):
        last = np.sort(doubt)[answered - 1]
        surer, tied = doubt < last, doubt == last
        wrong = (truth != told)[surer].sum()
        wrong = wrong + (truth != told)[tied].mean() * (answered - surer.sum())
        assert coverage[answered - 1] == pytest.approx(answered / len(rows))
        assert risk[answered - 1] == pytest.approx(wrong / answered)
    assert area_under_risk_coverage(truth, told, doubt) == pytest.approx(risk.mean())


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    truth, told, doubt = rng.integers(2, size=(3, 50))
    order = rng.permutation(50)
    again = risk_coverage_curve(truth[order], told[order], doubt[order])
    np.testing.assert_allclose(again, risk_coverage_curve(truth, told, doubt))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0, 1], [0.1]), "inconsistent numbers of samples"),
        (([0, 1], [0, 1], [0.1, np.nan]), "doubt contains NaN"),
        (([], [], []), "y_true must have at least one row, got none"),
    ],
)
def test_what_cannot_be_judged_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        risk_coverage_curve(*arguments)


def test_members_that_agree_have_no_epistemic_part():
    members = np.tile(np.random.default_rng(0).dirichlet(np.ones(4), 7), (5, 1, 1))
    total, aleatoric, epistemic = split_uncertainty(members).T
    np.testing.assert_allclose(total, aleatoric)
    assert (epistemic >= 0.0).all()
