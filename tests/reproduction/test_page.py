"""The page of the reproduction: six data sets, every claim, and numbers that are those of the sweeps."""

import json
from dataclasses import replace

import numpy as np
import pytest

from modae.reproduction import page
from modae.reproduction.findings import Setting
from modae.reproduction.sweep import FULL_SIZES, Sweep
from modae.reproduction.verdicts import DIFFERS, REPRODUCED, Verdict, claims

GRID = np.linspace(0.0, 1.0, 21).round(2)


def made(name):
    """Least error at 0.55, three runs."""
    ensemble = 0.1 + (GRID - 0.55) ** 2 + np.array([-0.01, 0.0, 0.01])[:, None]
    return Sweep(
        name,
        GRID,
        ensemble=ensemble,
        individual=ensemble + 0.1,
        bagging=np.array([0.14, 0.15, 0.16]),
        faithfulness=np.zeros((2, 21, 2)),
        redundancy=np.zeros((2, 21, 2)),
    )


@pytest.fixture(scope="module")
def facts():
    """Of measurements that are made up, with real images."""
    measured = [made(name) for name in list(FULL_SIZES)[-2:]]
    verdicts = [Verdict(claim, "found", REPRODUCED, REPRODUCED) for claim in claims("figure2")]
    verdicts[0] = replace(verdicts[0], verdict=DIFFERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "sweeps", lambda setting: measured)
        patch.setattr(page, "MOST_ROWS", 200)
        return page.make_page(verdicts, Setting(out=None)).facts


def test_there_is_a_panel_and_a_study_for_each_data_set(facts):
    assert [study["name"] for study in facts["studies"]] == ["rectangles", "convex"]
    assert [chart["title"] for chart in facts["overview"][0]["charts"]] == ["Rectangles", "Convex"]


def test_the_slider_has_tenths_and_the_best_diversities(facts):
    wanted = sorted([*(k / 10 for k in range(11)), 0.55])
    assert facts["diversities"] == pytest.approx(wanted)
    assert facts["diversities"][facts["start"]] == 0.55
    assert all(chart["mark"] == facts["start"] for chart in facts["overview"][0]["charts"])


def test_errors_are_those_of_the_sweep_in_the_panel_and_in_the_study(facts):
    panel = facts["overview"][0]["charts"][0]
    errors = facts["studies"][0]["sections"][0]["charts"][0]
    for chart in (panel, errors):
        assert chart["lines"][0]["values"][facts["start"]] == pytest.approx(0.1)
        assert chart["lines"][1]["values"][facts["start"]] == pytest.approx(0.2)
    assert errors["levels"][-1]["value"] == pytest.approx(0.15)


def test_images_are_shown_as_images(facts):
    for study in facts["studies"]:
        names = [section["id"] for section in study["sections"]]
        assert {"errors", "allocation", "reconstructions", "looks", "answers"} <= set(names)


def test_every_claim_is_in_the_table_with_its_verdict(facts):
    (table,) = facts["closing"][0]["charts"]
    assert len(table["rows"]) == len(claims("figure2"))
    assert [row[3] for row in table["rows"]][:2] == [DIFFERS, REPRODUCED]
    assert facts["numbers"][2]["value"] == "2 of 3"
    assert facts["numbers"][1]["value"] == "2 of 2"


def test_the_facts_are_plain_and_six_of_them_are_small(facts):
    assert len(json.dumps(facts, allow_nan=False)) * 3 < 3_000_000
