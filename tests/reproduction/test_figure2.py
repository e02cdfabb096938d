"""Figure 2: the three claims on each side of their thresholds, the table, the numbers, the picture."""

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from modae.reproduction import figure2
from modae.reproduction.figure2 import FULL_SIZES, Sweep, judge, margin, row, table
from modae.reproduction.run import Setting, claims

GRID = np.array([0.0, 0.5, 0.75, 1.0])
RUNS = np.array([-0.01, 0.0, 0.01])
CLAIMS = [claim.name for claim in claims("figure2")]


def made(name="basic"):
    """Errors 20, 12, 10 and 18 % over diversity, Bagging 15.1 %; three runs that differ by a point."""
    ensemble = np.array([0.20, 0.12, 0.10, 0.18]) + RUNS[:, None]
    return Sweep(
        name,
        GRID,
        ensemble=ensemble,
        individual=ensemble + 0.1,
        bagging=np.array([0.14, 0.15, 0.163]),
        faithfulness=np.zeros((2, 4, 2)),
        redundancy=np.zeros((2, 4, 2)),
    )


def all_six():
    return [made(name) for name in FULL_SIZES]


def with_columns(sweep, **columns):
    """Other ensemble errors at some places of the grid: ``at_0``, ``at_3``."""
    ensemble = sweep.ensemble.copy()
    for place, values in columns.items():
        ensemble[:, int(place[-1])] = values
    return replace(sweep, ensemble=ensemble)


def verdict_of(claim, measured):
    return {finding.claim: finding for finding in judge(measured)}[claim]


def strict(text):
    """JSON as every reader takes it: without NaN and Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


# --- measures ----------------------------------------------------------------------------------------


def test_the_margin_is_the_mean_in_standard_errors():
    assert margin(np.array([1.0, 2.0, 3.0])) == pytest.approx(2.0 / (1.0 / np.sqrt(3.0)))
    assert margin(np.array([-1.0, -3.0])) == pytest.approx(-2.0)


def test_a_margin_without_spread():
    assert margin(np.array([0.5, 0.5])) == np.inf
    assert margin(np.array([-0.5, -0.5])) == -np.inf


def test_no_difference_at_all_is_no_margin():
    """So it is where the best diversity is 1, which is then compared with itself."""
    assert margin(np.zeros(5)) == 0.0


def test_gain_and_rise_are_paired_and_taken_at_the_best_mean():
    sweep = made()
    assert sweep.best == 2
    np.testing.assert_allclose(sweep.gain, [0.05, 0.05, 0.053])
    np.testing.assert_allclose(sweep.rise, [0.08, 0.08, 0.08])


def test_the_best_diversity_has_the_least_mean_not_the_least_single_error():
    lucky = with_columns(made(), at_1=[0.001, 0.30, 0.30])
    assert lucky.ensemble.argmin() % 4 == 1
    assert lucky.best == 2


# --- claims ------------------------------------------------------------------------------------------


def test_findings_are_the_claims_of_this_part_and_hold_on_a_clear_picture():
    findings = judge(all_six())
    assert [finding.claim for finding in findings] == CLAIMS
    assert all(finding.holds for finding in findings)
    assert all("\n" not in finding.measured for finding in findings)


# Of two runs with differences a and b the margin is (a + b) / |a - b|: for b = 1 it is 2 at a = 3.
SIDES = [((2.99, 1.0), True), ((3.01, 1.0), False), ((-3.0, -1.0), False), ((1.0, 1.0), True)]


def two_runs():
    """Two of the three runs, on every data set."""
    return [
        replace(sweep, ensemble=sweep.ensemble[:2], bagging=sweep.bagging[:2]) for sweep in all_six()
    ]


@pytest.mark.parametrize(("points", "holds"), SIDES)
def test_two_paired_standard_errors_below_bagging(points, holds):
    above = np.array(points) / 100
    measured = [replace(sweep, bagging=sweep.ensemble[:, 2] + above) for sweep in two_runs()]
    assert verdict_of("figure2-below-bagging", measured).holds is holds


@pytest.mark.parametrize(("points", "holds"), SIDES[:2])
def test_two_paired_standard_errors_higher_at_one(points, holds):
    above = np.array(points) / 100
    measured = [with_columns(sweep, at_3=sweep.ensemble[:, 2] + above) for sweep in two_runs()]
    assert verdict_of("figure2-rises-towards-one", measured).holds is holds


SPOILS = {
    "figure2-below-bagging": lambda sweep: replace(sweep, bagging=sweep.ensemble[:, 2] - 0.01),
    "figure2-best-inside": lambda sweep: with_columns(sweep, at_0=0.01),
    "figure2-rises-towards-one": lambda sweep: with_columns(sweep, at_3=[0.09, 0.10, 0.12]),
}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("place", [0, 3, 5])
def test_one_data_set_of_six_refutes_just_its_claim(claim, place):
    measured = all_six()
    measured[place] = SPOILS[claim](measured[place])
    findings = {finding.claim: finding for finding in judge(measured)}
    assert [name for name in CLAIMS if not findings[name].holds] == [claim]


def test_the_least_clear_data_set_is_named_with_its_margin():
    measured = all_six()
    measured[3] = replace(measured[3], bagging=measured[3].ensemble[:, 2] - [0.01, 0.02, 0.03])
    text = verdict_of("figure2-below-bagging", measured).measured
    assert text == "below Bagging in 5 of 6; least clear: background images, -3.5 se"


@pytest.mark.parametrize("place", [0, 3])
def test_a_best_diversity_at_either_end_is_not_inside(place):
    measured = [with_columns(sweep, **{f"at_{place}": 0.01 + RUNS}) for sweep in all_six()]
    finding = verdict_of("figure2-best-inside", measured)
    assert not finding.holds
    assert finding.measured == f"best diversities {', '.join(6 * [f'{GRID[place]:g}'])}"


def test_a_best_diversity_of_one_does_not_rise_and_says_so_in_numbers():
    measured = all_six()
    measured[2] = with_columns(measured[2], at_3=0.01 + RUNS)
    finding = verdict_of("figure2-rises-towards-one", measured)
    assert not finding.holds
    assert finding.measured == "higher at 1 in 5 of 6; least clear: background noise, 0.0 se"


# --- what is written ---------------------------------------------------------------------------------


def test_a_row_by_hand():
    found = row(made("background_noise"))
    assert found["data"] == "background_noise"
    expected = {
        "bagging": 0.151,
        "best": 0.10,
        "best_diversity": 0.75,
        "at_zero": 0.20,
        "at_one": 0.18,
        "gain": 0.051,
        # gains 5, 5 and 5.3 points: their standard deviation is sqrt(3) / 10 points, the error 0.1
        "gain_in_standard_errors": 51.0,
        "diversities": [0.0, 0.5, 0.75, 1.0],
        "ensemble": [0.20, 0.12, 0.10, 0.18],
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value), name
    assert found["rise_in_standard_errors"] > 1e9  # the same in each run


def test_the_table_fits_a_terminal_and_has_the_numbers_of_the_rows():
    measured = all_six()
    lines = table(measured).splitlines()
    assert max(map(len, lines)) <= 80
    body = lines[-6:]
    assert [line[:18].strip() for line in body] == [sweep.title for sweep in measured]
    for line in body:
        assert line[18:].split() == ["15.10", "20.00", "10.00", "0.75", "18.00", "5.10", "0.10"]


def test_errors_of_one_hundred_percent_keep_the_columns_apart():
    worst = replace(made("background_images"), bagging=np.ones(3))
    worst = with_columns(worst, at_0=1.0, at_3=1.0)
    line = table([worst]).splitlines()[-1]
    assert len(line) <= 80
    assert len(line[18:].split()) == 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a run writes when the best diversity of one data set is 1."""
    out = tmp_path_factory.mktemp("figure2")
    measured = all_six()
    measured[1] = with_columns(measured[1], at_3=0.01 + RUNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure2, "sweeps", lambda setting: measured)
        figure2.run(Setting(out))
    return out


def test_a_run_writes_numbers_a_table_and_pictures(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {"figure2.json", "figure2.png", "figure2.svg", "figure2.txt"}
    assert (folder / "figure2.png").read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_the_numbers_are_json_for_every_reader(folder):
    rows = strict((folder / "figure2.json").read_text(encoding="utf-8"))
    assert [each["data"] for each in rows] == list(FULL_SIZES)
    assert rows[1]["best_diversity"] == 1.0


def test_the_picture_has_six_titled_panels_and_one_legend():
    figure = figure2.draw(all_six())
    axes = figure.axes
    assert [ax.get_title() for ax in axes] == [name.replace("_", " ") for name in FULL_SIZES]
    assert [ax.get_legend() is not None for ax in axes] == [True, *5 * [False]]
    ensemble = [line for line in axes[0].lines if len(line.get_ydata()) == len(GRID)]
    assert any(np.allclose(line.get_ydata(), made().ensemble.mean(axis=0)) for line in ensemble)
    plt.close(figure)
