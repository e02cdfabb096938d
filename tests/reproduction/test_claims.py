"""The paper's claims and what was found: names agree, and the right ones are flagged."""

import json
import re
from dataclasses import fields, replace
from importlib.resources import files

import pytest

from modae.reproduction import run as claims_file
from modae.reproduction.run import (
    DIFFERS,
    PARTS,
    REPRODUCED,
    UNCHECKED,
    Claim,
    Finding,
    Verdict,
    claims,
    compare,
    counts,
)

CLAIMS = claims()
FILE = files("modae.reproduction").joinpath("expected.toml").read_text(encoding="utf-8")


def of_every_claim(holds=True, part="figure2"):
    return [Finding(claim.name, holds, "0.5") for claim in claims(part)]


# --- expected.toml -----------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_has_a_part_that_exists_words_and_a_verdict(claim):
    assert claim.part in PARTS
    assert all((claim.where, claim.paper, claim.check))
    assert claim.verdict in {REPRODUCED, DIFFERS, UNCHECKED}
    assert claim.quick in {"", REPRODUCED, DIFFERS} - {claim.verdict}
    assert claim.verdict == REPRODUCED or claim.note, "the note says why"


def test_every_part_has_claims():
    assert {claim.part for claim in CLAIMS} == set(PARTS)


def test_names_are_unique():
    headers = re.findall(r"^\[(.+)\]$", FILE, re.MULTILINE)
    assert headers == [claim.name for claim in CLAIMS]


@pytest.mark.parametrize("field", [field.name for field in fields(Claim) if field.name != "name"])
def test_the_head_of_the_file_explains_every_field(field):
    head = FILE.partition("\n[")[0]
    assert re.search(rf"^#   {field} ", head, re.MULTILINE)


def test_claims_of_one_part_keep_the_order_of_the_file():
    for part in PARTS:
        assert claims(part) == [claim for claim in CLAIMS if claim.part == part]


# --- comparing ---------------------------------------------------------------------------------------


@pytest.fixture
def one_claim(monkeypatch):
    """Make expected.toml hold just one claim, with these fields changed."""

    def use(**changes):
        claim = replace(Claim("it", "figure2", "Section 1", "so", "is it so", REPRODUCED), **changes)
        monkeypatch.setattr(claims_file, "claims", lambda part=None: [claim])
        return claim

    return use


OUTCOMES = [
    # expected, holds, verdict, flagged
    (REPRODUCED, True, REPRODUCED, False),
    (REPRODUCED, False, DIFFERS, True),
    (DIFFERS, False, DIFFERS, False),
    (DIFFERS, True, REPRODUCED, False),
    (UNCHECKED, True, UNCHECKED, False),
    (UNCHECKED, False, UNCHECKED, False),
]


@pytest.mark.parametrize(("expected", "holds", "verdict", "flagged"), OUTCOMES)
@pytest.mark.parametrize("full", [True, False])
def test_what_was_found_decides(one_claim, expected, holds, verdict, flagged, full):
    claim = one_claim(verdict=expected)
    (found,) = compare("figure2", [Finding("it", holds, "0.5")], full=full)
    assert found == Verdict(claim, "0.5", verdict, expected)
    assert found.stopped_holding is flagged


def test_a_small_sample_may_be_expected_to_differ(one_claim):
    one_claim(verdict=REPRODUCED, quick=DIFFERS)
    failed = [Finding("it", False, "0.5")]
    (quick,), (full,) = (compare("figure2", failed, full=full) for full in (False, True))
    assert (quick.verdict, full.verdict) == (DIFFERS, DIFFERS)
    assert full.stopped_holding
    assert not quick.stopped_holding


def test_what_cannot_be_checked_needs_no_finding(one_claim):
    one_claim(verdict=UNCHECKED)
    (found,) = compare("figure2", [], full=True)
    assert (found.verdict, found.measured, found.stopped_holding) == (UNCHECKED, "", False)


def test_a_claim_without_a_finding_is_an_error():
    *most, last = of_every_claim()
    with pytest.raises(ValueError, match=f"figure2 has no finding for its claim '{last.claim}'"):
        compare("figure2", most, full=False)


def test_a_finding_without_a_claim_is_an_error():
    stray = Finding("figure2-nonsense", True, "")
    with pytest.raises(ValueError, match=r"without a claim in expected.toml: \['figure2-nonsense'\]"):
        compare("figure2", [*of_every_claim(), stray], full=False)


def test_a_finding_of_another_part_is_an_error():
    with pytest.raises(ValueError, match="without a claim"):
        compare("figure2", of_every_claim() + of_every_claim(part="transfer"), full=False)


# --- what is shown -----------------------------------------------------------------------------------


def test_a_verdict_as_json_has_the_claim_and_the_value():
    for verdict in compare("figure2", of_every_claim(holds=False), full=True):
        entry = json.loads(json.dumps(verdict.as_dict()))
        assert entry["name"] == verdict.claim.name
        assert entry["paper"] == verdict.claim.paper
        assert entry["check"] == verdict.claim.check
        assert (entry["measured"], entry["verdict"], entry["expected"]) == ("0.5", DIFFERS, REPRODUCED)


def test_each_kind_is_counted(one_claim):
    claim = one_claim()
    found = [Verdict(claim, "", kind, kind) for kind in (DIFFERS, REPRODUCED, REPRODUCED, UNCHECKED)]
    assert counts(found) == {REPRODUCED: 2, DIFFERS: 1, UNCHECKED: 1}
    assert counts(found[1:3]) == {REPRODUCED: 2, DIFFERS: 0, UNCHECKED: 0}
