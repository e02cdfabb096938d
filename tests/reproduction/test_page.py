"""The page of the reproduction: six data sets, every claim, and numbers that are those of the sweeps."""

import json

import pytest

from modae.reproduction.run import DIFFERS, REPRODUCED, claims
from reproduction.made_page import made_page


@pytest.fixture(scope="module")
def facts():
    return made_page(["rectangles", "convex"], 200).facts


def test_there_is_a_panel_and_a_study_for_each_data_set(facts):
    assert [study["name"] for study in facts["studies"]] == ["Rectangles", "Convex"]
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
        assert {"errors", "allocation", "reconstructions", "columns", "predictions"} <= set(names)


def test_every_claim_is_in_the_table_with_its_verdict(facts):
    (table,) = facts["closing"][0]["charts"]
    assert len(table["rows"]) == len(claims("figure2"))
    assert [row[3] for row in table["rows"]][:2] == [DIFFERS, REPRODUCED]
    assert facts["numbers"][2]["value"] == "2 of 3"
    assert facts["numbers"][1]["value"] == "2 of 2"


def test_the_facts_are_plain_and_six_of_them_are_small(facts):
    assert len(json.dumps(facts, allow_nan=False)) * 3 < 3_000_000
