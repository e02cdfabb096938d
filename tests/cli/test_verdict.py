"""Whether a model is worth using comes first, beside the strongest of others; what is better is said."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedKFold

import modae
from cli.calling import flowers
from modae.metrics import compare, rivals
from modae.utils.text import format_number


@pytest.fixture
def linear(desk):
    """A target that is linear in many columns, which nearest neighbours are bad at."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 12))
    frame = pd.DataFrame(rows.round(4), columns=[f"x{i}" for i in range(12)])
    frame.assign(y=(rows @ rng.standard_normal(12)).round(4)).to_csv("t.csv", index=False)
    side = np.where(rows @ rng.standard_normal(12) > 0, "up", "down")
    frame.assign(y=side).to_csv("c.csv", index=False)


def test_fit_is_compared_with_strong_methods_on_the_same_folds(desk, call, monkeypatch):
    monkeypatch.setattr("modae.cli.fitting.rivals", rivals)
    answer = call("fit", "good.csv", "--target", "kind", "-o", "new.modae", "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    names = [row["name"] for row in told["others"]]
    wanted = {"this model", "random forest", "gradient boosting", "SVM", "logistic regression"}
    assert wanted | {"member on columns", "member on PCA(3)"} <= set(names)
    table = flowers()
    X, y = table.drop(columns="kind"), table["kind"].to_numpy()
    pipeline = modae.load("new.modae")
    X = pipeline[:-1].transform(X)
    models = {"this model": pipeline[-1], **rivals(X, y, classify=True, member=pipeline[-1].estimator)}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = compare(models, X, y, cv=folds)
    assert told["verdict"] == expected.verdict("this model")
    own = names.index("this model")
    assert told["others"][own]["error"] == pytest.approx(1.0 - told["score"])
    answer = call("info", "new.modae")
    assert told["verdict"] in " ".join(answer.out.split())


@pytest.mark.parametrize(("table", "measure"), [("t.csv", "R2"), ("c.csv", "error")])
def test_a_fit_that_loses_says_so_first_and_gives_the_better_command(linear, call, table, measure):
    answer = call("fit", table, "--target", "y", "-o", "new.modae")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("verdict      Not the best choice for these data:")
    assert f"{measure} " in " ".join(lines[:3])
    following = lines[lines.index("") + 1 :]
    assert following[0].startswith("Next:        # Python, for '")
    commands = [line[13:] for line in following if line[13:].startswith("modae ")]
    assert commands[0] == f"modae tune {table} --target y -o new.modae"
    assert [each.split()[1] for each in commands] == ["tune", "transform", "predict", "report"]
    assert ("%" in "".join(lines[:3])) == (measure == "error")
    assert max(map(len, lines)) <= 80


def test_a_search_that_loses_names_an_estimator(linear, call):
    answer = call("tune", "c.csv", "--target", "y", "-o", "new.modae", "--estimator", "tree")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("verdict      Not the best choice for these data:")
    (first,) = [line for line in lines if line.startswith("Next:")]
    assert first.startswith("Next:        # Python, for '")
    assert "             others = rivals(X, y, classify=True)" in lines


@pytest.mark.parametrize("change", ["", "strings", "unlabelled", "comma"])
def test_the_lines_of_python_train_the_better_method(linear, call, change):
    table, more = pd.read_csv("t.csv"), []
    if change == "strings":
        table, more = table.assign(town=["Ulm", "Bonn"] * 100), ["--encode"]
    if change == "unlabelled":
        table.loc[::5, "y"] = np.nan
    if change == "comma":
        more = ["--decimal", ","]
        table.to_csv("t.csv", index=False, sep=";", decimal=",")
    else:
        table.to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "y", "-o", "new.modae", "--json", *more)
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    known: dict = {}
    if change == "comma":  # pandas alone would not know how numbers are written
        assert "read_csv" not in told["next"][0]
        known = {"X": table.drop(columns="y"), "y": table["y"]}
    exec(told["next"][0], known)
    assert told["others"][0]["name"] == told["next"][0].splitlines()[0].split("'")[1] == "ridge"
    assert known["better"].score(known["X"], known["y"]) > 0.99
    assert len(known["y"]) == (160 if change == "unlabelled" else 200)


def test_large_tables_are_judged_on_a_stated_sample(desk, call, monkeypatch):
    monkeypatch.setattr("modae.cli.fitting.JUDGED_ROWS", 45)
    answer = call("fit", "good.csv", "--target", "kind", "-o", "new.modae")
    assert "on the same 5 folds of 45 of the 60 rows:" in answer.out


def test_r2_has_one_form_everywhere(desk, call):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.assign(y=y).iloc[:150].to_csv("t.csv", index=False)
    answer = call("tune", "t.csv", "--target", "y", "-o", "new.modae", "--estimator", "knn")
    assert answer.code == 0, answer.err
    assert "%" not in answer.out
    told = [line.split() for line in answer.out.splitlines() if "this model" in line]
    assert f"R2 {told[0][2]}" in " ".join(answer.out.split())


def test_a_verdict_says_that_modules_do_not_help_and_how_far_off_numbers_are(linear, call):
    answer = call("tune", "t.csv", "--target", "y", "-o", "new.modae", "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert "n_modules" not in told["chosen"]
    assert told["verdict"].startswith("Modules do not help on these data")
    (own,) = [row for row in told["others"] if row["name"] == "this model"]
    assert told["verdict"].endswith(f"Off by {format_number(own['rmse'], digits=3)} (root mean square).")
    assert 0.0 < own["rmse"] < 0.5 * np.sqrt(12)


def test_a_trivial_certificate_is_not_advertised(desk, call):
    answer = call("fit", "good.csv", "--drop", "kind", "--components", 6, "-o", "new.modae")
    assert answer.code == 0, answer.err
    assert "certificate" not in answer.out
    assert "certificate" not in call("info", "new.modae").out
    assert "certificate" in call("fit", "good.csv", "--drop", "kind", "-o", "new.modae").out


@pytest.mark.parametrize("command", ["fit", "tune"])
@pytest.mark.parametrize("kind", ["strings", "numbers", "booleans", "quantities"])
def test_rows_without_a_target_train_the_modules(desk, call, command, kind):
    table = flowers(90)
    labels = {
        "strings": table["kind"].to_list(),
        "numbers": [["0", "1", "2"][i % 3] for i in range(90)],
        "booleans": [str(i % 3 == 0) for i in range(90)],
        "quantities": [f"{value:.3f}" for value in table["long"]],
    }[kind]
    known = np.arange(90) % 2 == 0
    cells = np.where(known, labels, "")
    table = table.drop(columns=["kind", "long"]).assign(kind=cells)
    table.to_csv("t.csv", index=False)
    more = ("--estimator", "knn") if command == "tune" else ()
    answer = call(command, "t.csv", "--target", "kind", "-o", "new.modae", *more)
    assert answer.code == 0, answer.err
    assert "45 rows have a target and train what predicts; all 90 train the modules." in " ".join(
        answer.out.split()
    )
    pipeline = modae.load("new.modae")
    columns, ensemble = table.drop(columns="kind"), pipeline[-1]
    rows = pipeline[:-1].transform(columns) if len(pipeline) > 1 else columns
    if hasattr(ensemble.extractor_, "mean_"):
        np.testing.assert_allclose(ensemble.extractor_.mean_, np.asarray(rows).mean(axis=0), atol=1e-9)
    members = ensemble.estimators_
    assert {getattr(each, "n_samples_fit_", None) or len(each.targets_) for each in members} == {45}
    if kind != "quantities":
        expected = {"strings": "U", "numbers": "i", "booleans": "b"}[kind]
        assert ensemble.classes_.dtype.kind == expected
    assert call("predict", "new.modae", "t.csv", "-o", "out.csv").code == 0
    assert pd.read_csv("out.csv")["predicted_kind"].notna().all()


def test_rows_without_a_target_need_a_table_in_memory(desk, call, monkeypatch):
    flowers(60).assign(kind=["a", "b", ""] * 20).to_csv("t.csv", index=False)
    monkeypatch.setattr("modae.cli.training_data.IN_MEMORY", 1500)
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 1000)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "n.modae")
    assert answer.code == 2
    assert "the table must fit into 128 MB" in answer.said


def test_a_sample_prefers_rows_with_a_target(desk, call, monkeypatch):
    cells = ["a", "b", *[""] * 8] * 20
    flowers(200).assign(kind=cells).to_csv("t.csv", index=False)
    monkeypatch.setattr("modae.cli.fitting.JUDGED_ROWS", 60)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "n.modae", "--json")
    assert answer.code == 0, answer.err
    errors = {row["name"]: row["error"] for row in json.loads(answer.out)["others"]}
    assert all(error * 40 == pytest.approx(round(error * 40)) for error in errors.values())


def test_a_search_stops_after_its_time(desk, call, monkeypatch):
    given, fit = [], modae.ModularClassifierCV.fit

    def spied(self, X, y):
        given.append(self.time_budget)
        return fit(self.set_params(time_budget=1e-9), X, y)  # any time is over at once

    monkeypatch.setattr("modae.ModularClassifierCV.fit", spied)
    tune = ("tune", "good.csv", "--target", "kind", "-o", "new.modae", "--estimator", "knn")
    answer = call(*tune, "--time-budget", "90.5")
    assert answer.code == 0, answer.err
    assert given == [90.5]
    assert "on 1 fold, begun within 90.5 s;" in " ".join(answer.out.split())
    board = answer.out[answer.out.index("the best of each kind") : answer.out.index("chosen")]
    assert "±" not in board  # one fold does not say how far an error may be off
    assert call(*tune).code == 0
    assert given[1] is None


def test_the_command_that_is_proposed_keeps_the_time(desk, call):
    flowers(60).assign(town=["Ulm", "Bonn"] * 30).to_csv("t.csv", index=False)
    tune = ["tune", "t.csv", "--target", "kind", "-o", "new.modae", "--time-budget", "60"]
    assert call(*tune).proposed == [*tune, "--encode"]


@pytest.mark.parametrize("seconds", ["0", "-5", "nan", "inf"])
def test_a_time_that_is_none_is_refused(desk, call, seconds):
    answer = call("tune", "good.csv", "--target", "kind", "-o", "new.modae", f"--time-budget={seconds}")
    assert answer.code == 2
    rule = f"--time-budget {float(seconds)}: it must be a number of seconds above 0, such as 600."
    assert answer.said == f"modae: {rule}"
