"""Models of the command line know which rows are new to them."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import modae
from modae.cli.app import app
from modae.cli.console import run
from modae.cli.seen_rows import MOST_ROWS, SeenRows


def remembered(rows):
    seen = SeenRows()
    for start in range(0, len(rows), 997):
        seen.add(rows[start : start + 997])
    return SeenRows.of(json.loads(json.dumps(seen.notes())))


@pytest.mark.parametrize("n_rows", [1, 500, 3 * MOST_ROWS])
def test_old_rows_are_known_and_new_ones_are_not(n_rows):
    rng = np.random.default_rng(0)
    old, new = rng.standard_normal((n_rows, 3)), rng.standard_normal((5_000, 3))
    seen = remembered(old)
    seen.look_for(old)
    assert seen.seen == seen.looked > 0 if n_rows < MOST_ROWS else seen.looked > MOST_ROWS / 3
    assert seen.part == 1.0
    seen = remembered(old)
    seen.look_for(new)
    assert seen.part < 0.005


def test_the_file_does_not_matter(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 0], "b": ["x", "y", None], "c": [0.1, 0.2, np.nan]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    seen = remembered(frame)
    seen.look_for(pd.read_csv(tmp_path / "rows.csv").astype({"a": float}))
    assert seen.part == 1.0


@pytest.mark.parametrize(
    "notes",
    [None, {}, {"share": 0.0, "bits": "AAAA", "n_bits": 64}, {"share": 1.0, "bits": "!", "n_bits": 64}],
)
def test_nonsense_is_no_memory(notes):
    assert SeenRows.of(notes) is None


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wine")
    frame = load_wine(as_frame=True).frame.sample(frac=1.0, random_state=0)
    parts = {"train": frame[:110], "new": frame[110:], "mixed": frame[80:140]}
    for name, part in parts.items():
        part.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def run_cli():
    """What a command says, without going through capture, which ends with each test."""

    def said(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(app, [str(each) for each in arguments])
        assert code == 0, err.getvalue()
        return out.getvalue()

    return said


@pytest.fixture(scope="module")
def model(tables, run_cli):
    run_cli("fit", tables / "train.csv", "--target", "target", "-o", tables / "m.modae", "--no-check")
    return tables / "m.modae"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("train", "But the model was fitted to these rows"),
        ("new", "these rows are new to the model"),
        ("mixed", "it was fitted to 50.0% of these rows"),
    ],
)
def test_predict_says_which_rows_are_new(model, tables, run_cli, name, words):
    said = run_cli("predict", model, tables / f"{name}.csv", "-o", tables / "out.csv")
    assert words in " ".join(said.split())


def test_the_headline_of_a_report_is_the_error_on_new_rows_only(model, tables, run_cli):
    estimator = modae.load(model)
    for name, is_own in (("new", True), ("train", False)):
        frame = pd.read_csv(tables / f"{name}.csv")
        error = 1.0 - estimator.score(frame.drop(columns="target"), frame["target"])
        out = tables / f"{name}.html"
        said = run_cli("report", model, tables / f"{name}.csv", "-o", out, "--json")
        number = json.loads(said)["numbers"][0]
        assert ("this model" in number["label"]) is is_own
        assert (number["value"] == f"{100 * error:.1f}%") is is_own


def test_a_report_says_which_rows_are_new_and_each_number_once(model, tables, run_cli):
    estimator = modae.load(model)
    words = {
        "new": "",
        "train": ": it was fitted to them.",
        "mixed": ": it was fitted to 30 of them (50.0%).",
    }
    for name, end in words.items():
        out = tables / f"{name}.html"
        frame = pd.read_csv(tables / f"{name}.csv")
        frame["target"] = np.roll(frame["target"], 9)  # so that many are wrong
        frame.to_csv(tables / "wrong.csv", index=False)
        error = 1.0 - estimator.score(frame.drop(columns="target"), frame["target"])
        said = " ".join(run_cli("report", model, tables / "wrong.csv", "-o", out).split())
        own = f"wrong on {100 * error:.1f}% of these rows, which "
        assert said.startswith(f"verdict This model is {own}are new to it. read") == (name == "new")
        assert (f"The model itself is {own}says little{end}" in said) == (name != "new")
        assert said.count(f"{100 * error:.1f}%") == 1
        assert " if it was fitted" not in said


def test_a_model_need_not_know_its_rows(tables, run_cli):
    out = tables / "forgets.modae"
    run_cli(
        "fit", tables / "train.csv", "--target", "target", "-o", out, "--no-check", "--no-fingerprint"
    )
    assert "fingerprint" not in modae.describe(out)["summary"]["notes"]
    said = run_cli("predict", out, tables / "train.csv", "-o", tables / "out.csv")
    assert "fitted to these rows" not in " ".join(said.split())
    assert "fingerprint  none" in run_cli("info", out)


def test_a_description_does_not_show_the_bits(model):
    notes = modae.describe(model)["summary"]["notes"]
    assert notes["fingerprint"] is True
    assert "seen" not in notes
