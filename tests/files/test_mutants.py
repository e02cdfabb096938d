"""A sample of the damaged files of ``benchmarks.mutants``: every one is refused, or usable."""

import json

import numpy as np
import pytest
from benchmarks.drafts import draft_of
from benchmarks.mutants import GOLDEN, Mutant, Worker, is_violation, mutant, outcomes, reachable
from benchmarks.mutations import CANARY, KINDS, Bait

import modae
from files import parts

COUNT = 16 * (len(KINDS) + 1)


@pytest.fixture(scope="module")
def found():
    return outcomes(range(COUNT))


def test_every_kind_is_there(found):
    kinds = {(made.kind, made.reaches) for made, _ in found}
    assert kinds == {(kind, reaches) for kind in KINDS for reaches in (False, True)} | {
        ("whole file", False)
    }


def test_no_rule_is_broken(found):
    broken = [
        (made.number, made.kind, made.source, outcome)
        for made, outcome in found
        if is_violation(made, outcome)
    ]
    assert broken == []


def test_mutants_reach_the_parser_and_some_are_models(found):
    """Else the checks behind the checksum would not have been tried."""
    reached = [outcome for made, outcome in found if made.reaches]
    assert "usable" in reached
    assert "refused" in reached


def test_models_that_load_can_nearly_always_be_used(found):
    """A clean error later is no harm, but it should be rare."""
    raised = [outcome for _, outcome in found if outcome.startswith("raised")]
    assert len(raised) <= len(found) / 50, raised


def test_files_taken_apart_and_put_together_are_the_same():
    for path in GOLDEN:
        draft = draft_of(path.read_bytes())
        again = draft_of(draft.assembled())
        assert json.loads(again.header) == json.loads(draft.header), path
        assert (again.tensors, again.parts) == (draft.tensors, draft.parts), path


def test_mutants_do_not_depend_on_the_order():
    assert mutant(33, seed=1) == mutant(33, seed=1)
    assert mutant(33, seed=1).content != mutant(33, seed=2).content


def test_the_bait_is_alive(tmp_path, monkeypatch):
    """Whoever unpickles it creates the canary."""
    monkeypatch.chdir(tmp_path)
    function, arguments = Bait().__reduce__()
    function(*arguments).close()
    assert (tmp_path / CANARY).exists()


def test_the_watch_sees_what_is_not_finite():
    model = parts.regressor(parts.REGRESSORS["ridge"]).fit(parts.X, parts.TARGET)
    model.estimators_[1].coef_[0] = np.nan
    seen = [
        thing
        for thing in reachable(model, {})
        if isinstance(thing, np.ndarray) and thing.dtype.kind == "f"
    ]
    assert sum(np.isnan(each).any() for each in seen) == 1


def test_a_good_file_is_usable_and_must_not_be_among_those_left_as_they_are(tmp_path):
    path = tmp_path / "model"
    modae.save(parts.extractor().fit(parts.X), path)
    good = Mutant(0, "none", "none", False, path.read_bytes())
    with Worker() as worker:
        outcome = worker.outcome(good)
    assert outcome == "usable"
    assert is_violation(good, outcome)
