"""All parts in order: each is run once, remembered, and compared with its claims."""

import json
from types import SimpleNamespace

import pytest

from modae import __version__
from modae.reproduction import run as run_file
from modae.reproduction.run import DIFFERS, PARTS, REPRODUCED, Finding, Setting, claims, reproduce


class Parts:
    """Stand-ins for the parts: they note that they ran, and find what they are told to."""

    def __init__(self):
        self.ran, self.failing, self.interrupted = [], set(), None

    def load(self, module):
        name = module.removeprefix("modae.reproduction.")
        return SimpleNamespace(run=lambda setting: self.findings(name, setting))

    def findings(self, name, setting):
        if name == self.interrupted:
            raise KeyboardInterrupt
        self.ran.append(name)
        for file in PARTS[name]:
            (setting.out / file).touch()
        return [
            Finding(
                claim.name,
                claim.expected(setting.full) == REPRODUCED and claim.name not in self.failing,
                "0.5",
            )
            for claim in claims(name)
        ]


@pytest.fixture
def parts(monkeypatch):
    made = Parts()
    monkeypatch.setattr(run_file, "import_module", made.load)
    monkeypatch.setattr(run_file, "load_benchmark", lambda *_, **__: None)
    return made


@pytest.fixture
def setting(tmp_path):
    return Setting(tmp_path)


def results(setting, name="results.json"):
    return json.loads((setting.out / name).read_text(encoding="utf-8"))


def test_every_part_is_a_module_with_a_run_of_one_setting():
    for name in PARTS:
        assert callable(run_file.import_module(f"modae.reproduction.{name}").run)


def test_without_names_everything_runs_in_the_order_of_the_paper(parts, setting):
    verdicts = reproduce([], setting)
    assert parts.ran == list(PARTS)
    assert {verdict.claim.name for verdict in verdicts} == {claim.name for claim in claims()}
    assert not any(verdict.stopped_holding for verdict in verdicts)


def test_only_the_parts_that_are_named_run(parts, setting):
    verdicts = reproduce(["transfer", "figure1"], setting)
    assert sorted(parts.ran) == ["figure1", "transfer"]
    assert {verdict.claim.part for verdict in verdicts} == {"figure1", "transfer"}


def test_a_part_that_is_named_twice_counts_once(parts, setting):
    verdicts = reproduce(["transfer", "transfer"], setting)
    assert [verdict.claim.name for verdict in verdicts] == ["transfer-two-tasks"]


def test_results_hold_the_version_the_scale_and_all_claims(parts, setting):
    verdicts = reproduce([], setting)
    content = results(setting)
    assert content["modae"] == __version__
    assert content["scale"] == "quick"
    assert content["claims"] == [verdict.as_dict() for verdict in verdicts]


def test_a_claim_that_stops_holding_is_flagged(parts, setting):
    parts.failing.add("figure2-best-inside")
    flagged = [verdict for verdict in reproduce([], setting) if verdict.stopped_holding]
    assert [verdict.claim.name for verdict in flagged] == ["figure2-best-inside"]
    entry = {claim["name"]: claim for claim in results(setting)["claims"]}["figure2-best-inside"]
    assert (entry["verdict"], entry["expected"]) == (DIFFERS, REPRODUCED)


# --- going on ----------------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on_where_it_stopped(parts, setting):
    parts.interrupted = "figure2"
    with pytest.raises(KeyboardInterrupt):
        reproduce([], setting)
    assert parts.ran == ["theorems", "figure1", "table1"]
    assert not (setting.out / "results.json").exists()
    parts.interrupted = None
    parts.ran.clear()
    verdicts = reproduce([], setting)
    assert parts.ran == ["figure2", "section51", "section52", "transfer"]
    assert len(verdicts) == len(claims())


def test_what_is_remembered_gives_the_same_verdicts(parts, setting):
    first = reproduce([], setting)
    assert reproduce([], setting) == first
    assert parts.ran == list(PARTS)


@pytest.mark.parametrize("changes", [{"full": True}, {"source": "openml"}])
def test_another_setting_is_run_anew(parts, setting, changes):
    reproduce(["transfer"], setting)
    reproduce(["transfer"], Setting(setting.out, **changes))
    assert parts.ran == ["transfer", "transfer"]
    scale = results(setting, "results-transfer.json")["scale"]
    assert scale == ("full" if "full" in changes else "quick")


def test_the_number_of_cores_is_no_reason_to_run_again(parts, setting):
    reproduce(["transfer"], setting)
    reproduce(["transfer"], Setting(setting.out, n_jobs=1))
    assert parts.ran == ["transfer"]


# --- fresh -------------------------------------------------------------------------------------------


def test_fresh_measures_again(parts, setting):
    reproduce([], setting)
    reproduce([], setting, fresh=True)
    assert parts.ran == 2 * list(PARTS)


def test_fresh_needs_no_earlier_run(parts, setting):
    reproduce(["figure1"], setting, fresh=True)
    assert parts.ran == ["figure1"]


def test_fresh_for_one_part_keeps_what_the_others_measured(parts, setting):
    """A full run takes most of an hour; one part that is measured again must not cost the rest."""
    reproduce([], setting)
    reproduce(["theorems"], setting, fresh=True)
    parts.ran.clear()
    reproduce([], setting)
    assert parts.ran == []


def test_fresh_deletes_no_file_of_somebody_else(parts, setting):
    """The folder is the user's choice, and may hold a folder of that name."""
    theirs = setting.out / "measured" / "rainfall.csv"
    theirs.parent.mkdir()
    theirs.write_text("1,2,3")
    reproduce(["figure1"], setting, fresh=True)
    assert theirs.exists()
