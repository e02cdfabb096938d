"""Sets, intervals, uncertainty and novelty on the command line: the same as in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

import modae
from cli.calling import flowers


@pytest.fixture
def calibrated(desk, call):
    flowers(120, seed=1).to_csv("train.csv", index=False)
    answer = call("fit", "train.csv", "--target", "kind", "-o", "new.modae", "--calibrate", 0.4)
    assert answer.code == 0, answer.err
    assert "--coverage 0.9" in answer.out
    return modae.load("new.modae")


def test_sets_and_uncertainty_are_columns(calibrated, call):
    answer = call(
        "predict", "new.modae", "good.csv", "-o", "out.csv", "--coverage", 0.8, "--uncertainty"
    )
    assert answer.code == 0, answer.err
    out, rows = pd.read_csv("out.csv"), pd.read_csv("good.csv").drop(columns="kind")
    steps, vote = calibrated[:-1], calibrated[-1]
    X = steps.transform(rows)
    names = [f"in_set_{kind}" for kind in ("aster", "bellis", "crocus")]
    np.testing.assert_array_equal(out[names], vote.predict_set(X, 0.8))
    np.testing.assert_allclose(out[["uncertainty", "aleatoric", "epistemic"]], vote.uncertainty(X))
    assert next(iter(out)) == "predicted_kind"


def test_intervals_are_columns(desk, call):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.assign(progression=y).to_csv("train.csv", index=False)
    fit = ("fit", "train.csv", "--target", "progression", "-o", "new.modae", "--calibrate", 0.5)
    assert call(*fit, "-q", "--no-check").code == 0
    answer = call("predict", "new.modae", "train.csv", "-o", "out.parquet", "--coverage", 0.9)
    assert answer.code == 0, answer.err
    out = pd.read_parquet("out.parquet")
    assert list(out) == ["predicted_progression", "spread", "low", "high"]
    expected = modae.load("new.modae")[-1].predict_interval(X, 0.9)
    np.testing.assert_allclose(out[["low", "high"]], expected)
    answer = call("predict", "new.modae", "train.csv", "-o", "out.csv", "--uncertainty")
    assert answer.code == 2
    assert "see the column 'spread'" in answer.said


def test_a_tuned_model_holds_out_rows_that_the_search_never_saw(desk, call, monkeypatch):
    flowers(150, seed=1).to_csv("train.csv", index=False)
    seen, search = [], modae.ModularClassifierCV.fit

    def fit(self, X, y):
        seen.append(np.asarray(X))
        return search(self, X, y)

    monkeypatch.setattr("modae.ModularClassifierCV.fit", fit)
    tune = ("tune", "train.csv", "--target", "kind", "-o", "new.modae", "--calibrate", 0.4, "--json")
    answer = call(*tune, "--estimator", "knn")
    assert answer.code == 0, answer.err
    assert any("--coverage 0.9" in line for line in json.loads(answer.out)["next"])
    ensemble = modae.load("new.modae")[-1]
    assert len(ensemble.held_out_.wrong) == 60
    assert len(seen[0]) == 90
    assert {len(member.targets_) for member in ensemble.estimators_} == {90}
    answer = call("predict", "new.modae", "good.csv", "-o", "out.csv", "--coverage", 0.8)
    assert answer.code == 0, answer.err
    steps = modae.load("new.modae")[:-1]
    X = steps.transform(pd.read_csv("good.csv").drop(columns="kind"))
    names = [f"in_set_{kind}" for kind in ("aster", "bellis", "crocus")]
    np.testing.assert_array_equal(pd.read_csv("out.csv")[names], ensemble.predict_set(X, 0.8))


def test_tuned_numbers_have_intervals(desk, call):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.assign(progression=y).to_csv("train.csv", index=False)
    tune = ("tune", "train.csv", "--target", "progression", "-o", "new.modae", "--calibrate", 0.5, "-q")
    assert call(*tune, "--estimator", "knn").code == 0
    answer = call("predict", "new.modae", "train.csv", "-o", "out.csv", "--coverage", 0.9)
    assert answer.code == 0, answer.err
    assert {"low", "high"} <= set(pd.read_csv("out.csv"))


def test_novelty_beside_the_rows_of_a_table(calibrated, call, monkeypatch):
    strange = flowers(30, seed=2)
    strange.iloc[:15, :6] *= -10.0
    strange.to_csv("new.csv", index=False)
    answer = call("predict", "new.modae", "new.csv", "-o", "out.csv", "--novelty", "train.csv")
    assert answer.code == 0, answer.err
    found = pd.read_csv("out.csv")["novelty_p_value"]
    steps, rows = calibrated[:-1], pd.read_csv("train.csv").drop(columns="kind")
    detector = modae.ModularOutlierDetector(random_state=0).fit(steps.transform(rows))
    expected = detector.p_values(steps.transform(strange.drop(columns="kind")))
    np.testing.assert_allclose(found, expected)
    assert (found[:15] <= 0.05).all()
    monkeypatch.setattr("modae.cli.predicting.USUAL_ROWS", 50)
    answer = call("predict", "new.modae", "new.csv", "-o", "out.csv", "--novelty", "train.csv")
    assert "the first 50 rows" in " ".join(answer.out.split())


@pytest.mark.parametrize("options", ["--scale none", "--encode --scale none", "--encode --impute"])
def test_novelty_after_any_steps(desk, call, options):
    table = flowers(60).assign(colour=np.where(np.arange(60) % 2, "red", "blue"))
    table = table if "encode" in options else table.drop(columns="colour")
    table.to_csv("train.csv", index=False)
    fit = ("fit", "train.csv", "--target", "kind", "-o", "new.modae", *options.split(), "--no-check")
    assert call(*fit, "-q").code == 0
    answer = call("predict", "new.modae", "train.csv", "-o", "out.csv", "--novelty", "train.csv")
    assert answer.code == 0, answer.err
    assert (pd.read_csv("out.csv")["novelty_p_value"] <= 0.05).mean() < 0.2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            "vote.modae good.csv --coverage 0.9",
            "needs rows held out of the fit, and vote.modae has none",
        ),
        ("vote.modae good.csv --coverage 1", "--coverage 1.0: it must be a share of the rows, such as"),
        ("vote.modae good.csv --novelty absent.csv", "absent.csv"),
        ("vote.modae good.csv --novelty few.npy", "few.npy has 4 columns"),
        ("vote.modae good.csv --novelty one.csv", "needs at least 2 rows, got 1"),
    ],
)
def test_what_cannot_be_told_is_refused_with_a_remedy(desk, call, arguments, reason):
    flowers(1).to_csv("one.csv", index=False)
    answer = call("predict", *arguments.split(), "-o", "out.csv")
    assert answer.code == 2
    assert reason in answer.said
    assert "Traceback" not in answer.err
    assert not (desk / "out.csv").exists()


def test_a_coverage_that_too_few_rows_can_keep(calibrated, call):
    answer = call("predict", "new.modae", "good.csv", "-o", "out.csv", "--coverage", 0.999)
    assert answer.code != 0
    assert "coverage=0.999 needs at least 999 rows held out, got 48" in answer.said
    assert "Traceback" not in answer.err


def test_rows_are_held_out_only_for_predictions(desk, call, monkeypatch):
    answer = call("fit", "good.csv", "--drop", "kind", "-o", "new.modae", "--calibrate", 0.2)
    assert answer.code == 2
    assert "--calibrate is for predictions: name the column with --target" in answer.said
    assert call("fit", "good.csv", "--target", "kind", "-o", "n.modae", "--calibrate", 3).code == 2
    monkeypatch.setattr("modae.cli.training_data.IN_MEMORY", 1500)
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 1000)
    answer = call("fit", "good.csv", "--target", "kind", "-o", "n.modae", "--calibrate", 0.2)
    assert answer.code == 2
    assert "the table must fit into 128 MB" in answer.said


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_one_learner_has_no_columns_that_would_say_it_is_certain(desk, call, task):
    target = "kind" if task == "classify" else "far"
    table = flowers(90)
    (table if task == "classify" else table.drop(columns="kind")).to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", target, "-o", "new.modae", "--modules", 1, "--no-check")
    assert call(*fit).code == 0
    more = ["--uncertainty"] if task == "classify" else []
    answer = call("predict", "new.modae", "t.csv", "-o", "out.csv", *more)
    assert answer.code == 0, answer.err
    names = set(pd.read_csv("out.csv"))
    assert not names & {"spread", "disagreement", "aleatoric", "epistemic"}
    assert ("uncertainty" in names) is (task == "classify")
    said = "One learner has no members that could differ: its 'uncertainty' has no parts."
    assert (said in " ".join(answer.out.split())) is (task == "classify")
    assert "no members" not in call("predict", "new.modae", "t.csv", "-o", "out.csv").out


def test_after_one_learner_on_all_columns_the_next_thing_is_to_predict(desk, call):
    rows = np.random.default_rng(0).standard_normal((120, 4))
    table = pd.DataFrame(rows.round(3), columns=list("abcd"))
    table.assign(y=np.where(rows[:, 0] > 0, "up", "down")).to_csv("t.csv", index=False)
    tune = ("tune", "t.csv", "--target", "y", "-o", "new.modae", "--estimator", "tree", "--json")
    answer = call(*tune)
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    columns = type(modae.load("new.modae")[-1].extractor_).__name__ == "AllColumns"
    assert columns, "the table is made so that trees on columns are best"
    following = [command for command in told["next"] if command.startswith("modae")]
    assert following[0].startswith("modae predict")
    assert not any("modae transform" in command for command in following)
