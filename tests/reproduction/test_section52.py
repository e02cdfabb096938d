"""Section 5.2: rank correlations on each side of their threshold, and what is written."""

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from modae.reproduction import section52
from modae.reproduction.figure2 import FULL_SIZES, Sweep
from modae.reproduction.run import Setting, claims, plain
from modae.reproduction.section52 import judge, row

GRID = np.linspace(0.0, 1.0, 11)
RISING = 0.1 + 0.3 * GRID
FALLING = 0.9 - 0.3 * GRID
DIP = 0.2 - 0.3 * GRID * (1.0 - GRID)
CLAIMS = [claim.name for claim in claims("section52")]


def curve(train, test, error=0.01):
    return np.stack([[each, np.full(11, error)] for each in (train, test)]).transpose(0, 2, 1)


def made(name="basic"):
    """Two runs of a picture like the paper's."""
    return Sweep(
        name,
        GRID,
        ensemble=np.stack([DIP, DIP + 0.01]),
        individual=np.stack([RISING, RISING + 0.01]),
        bagging=np.array([0.2, 0.2]),
        faithfulness=curve(FALLING, FALLING),
        redundancy=curve(FALLING, FALLING),
    )


def all_six():
    return [made(name) for name in FULL_SIZES]


def shuffled(values, *swaps):
    """The same values with pairs of places exchanged: ranks that differ by known amounts."""
    values = values.copy()
    for one, other in swaps:
        values[[one, other]] = values[[other, one]]
    return values


# Spearman's correlation of 11 ranks is 1 - sum(d^2) / 220. Exchanging ranks at distance d adds 2 d^2.
JUST_STRONG = ((0, 3), (4, 5))  # 18 + 2 = 20: 0.909
JUST_WEAK = ((0, 3), (4, 5), (6, 7), (8, 9))  # 24: 0.891


def spoil(sweep, claim, swaps):
    if claim == "section52-individual-error-rises":
        return replace(sweep, individual=np.stack(2 * [shuffled(RISING, *swaps)]))
    name = claim.split("-")[1]
    return replace(sweep, **{name: curve(FALLING, shuffled(FALLING, *swaps))})


TRENDS = [claim for claim in CLAIMS if "ensemble" not in claim]


def test_findings_are_the_claims_of_this_part_and_hold_on_the_papers_picture():
    findings = judge(all_six())
    assert [finding.claim for finding in findings] == CLAIMS
    assert all(finding.holds for finding in findings)
    assert all("\n" not in finding.measured for finding in findings)


@pytest.mark.parametrize("claim", TRENDS)
@pytest.mark.parametrize(("swaps", "holds"), [(JUST_STRONG, True), (JUST_WEAK, False)])
def test_a_trend_needs_a_rank_correlation_above_nine_tenths(claim, swaps, holds):
    measured = all_six()
    measured[4] = spoil(measured[4], claim, swaps)
    found = {finding.claim: finding.holds for finding in judge(measured)}
    assert found == dict.fromkeys(CLAIMS, True) | {claim: holds}


@pytest.mark.parametrize(
    ("claim", "value"), [(claim, "+0.891" if "error" in claim else "-0.891") for claim in TRENDS]
)
def test_the_weakest_data_set_is_named_with_its_correlation(claim, value):
    measured = all_six()
    measured[3] = spoil(measured[3], claim, JUST_WEAK)
    text = {finding.claim: finding.measured for finding in judge(measured)}[claim]
    assert text == f"5 of 6; weakest rank correlation: background images, {value}"


@pytest.mark.parametrize("claim", TRENDS)
def test_the_opposite_trend_is_refused(claim):
    backwards = [(k, 10 - k) for k in range(5)]
    measured = [spoil(sweep, claim, backwards) for sweep in all_six()]
    finding = {finding.claim: finding for finding in judge(measured)}[claim]
    assert not finding.holds
    assert finding.measured.startswith("0 of 6")


@pytest.mark.parametrize("name", ["faithfulness", "redundancy"])
def test_correlations_are_judged_on_rows_that_the_modules_have_not_seen(name):
    claim = f"section52-{name}-falls"
    for train, test, holds in [(RISING, FALLING, True), (FALLING, RISING, False)]:
        measured = [replace(sweep, **{name: curve(train, test)}) for sweep in all_six()]
        assert {finding.claim: finding.holds for finding in judge(measured)}[claim] is holds


def test_the_individual_error_is_judged_by_its_mean_over_runs():
    noise = 0.2 * (-1.0) ** np.arange(11)
    noisy = [
        replace(sweep, individual=np.stack([RISING + noise, RISING - noise])) for sweep in all_six()
    ]
    assert judge(noisy)[0].holds


@pytest.mark.parametrize(("at_zero", "holds"), [(0.1001, True), (0.1, False), (0.05, False)])
def test_the_ensemble_has_to_get_better_than_at_zero(at_zero, holds):
    flat = np.full(11, 0.1)
    flat[0] = at_zero
    measured = all_six()
    measured[0] = replace(measured[0], ensemble=np.stack([flat, flat]))
    found = {finding.claim: finding.holds for finding in judge(measured)}
    assert found == dict.fromkeys(CLAIMS, True) | {"section52-ensemble-error-falls": holds}


def test_the_least_fall_is_told_in_points():
    finding = judge([*all_six()[:5], replace(made("convex"), ensemble=np.stack(2 * [DIP / 3]))])[1]
    assert finding.measured == "error at 0 minus least error: 2.5 points or more (convex)"


# --- what is written ---------------------------------------------------------------------------------


def test_a_row_by_hand():
    found = row(replace(made(), faithfulness=curve(RISING, FALLING, error=0.02)))
    assert found["diversities"] == pytest.approx(GRID.tolist())
    assert found["ensemble_error"] == pytest.approx((DIP + 0.005).tolist())
    assert found["individual_error"] == pytest.approx((RISING + 0.005).tolist())
    assert found["faithfulness"]["train"][3] == pytest.approx([RISING[3], 0.02])
    assert found["faithfulness"]["test"][3] == pytest.approx([FALLING[3], 0.02])


def test_a_run_writes_numbers_and_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(section52, "sweeps", lambda setting: all_six())
    section52.run(Setting(tmp_path))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"section52.json", "section52.png", "section52.svg"}
    content = json.loads((tmp_path / "section52.json").read_text(encoding="utf-8"))
    assert content == plain({sweep.name: row(sweep) for sweep in all_six()})
    assert plt.get_fignums() == []


def test_the_picture_shows_both_correlations_on_both_kinds_of_rows():
    sweeps = [
        replace(
            sweep, faithfulness=curve(FALLING, FALLING - 0.1), redundancy=curve(RISING, RISING + 0.1)
        )
        for sweep in all_six()
    ]
    figure = section52.draw(sweeps)
    axes = figure.axes
    assert [ax.get_title() for ax in axes] == [name.replace("_", " ") for name in FULL_SIZES]
    for ax in axes:
        heights = [line.get_ydata() for line in ax.lines]
        np.testing.assert_allclose(heights, [FALLING, FALLING - 0.1, RISING, RISING + 0.1])
    words = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert len(set(words)) == 4
    assert sum("test rows" in word for word in words) == 2
    plt.close(figure)
