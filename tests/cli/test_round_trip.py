"""From a table to a model and back to tables: the same as in Python, whatever format and size."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pytest
from scipy.sparse import csr_array, save_npz
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import modae
from cli.calling import flowers

COLUMNS = ["long", "wide", "high", "deep", "far", "old"]


@pytest.fixture
def small_memory(monkeypatch):
    """As if the table were larger than the memory: many batches, and a sample instead of all rows."""
    monkeypatch.setattr("modae.cli.training_data.IN_MEMORY", 1500)
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 1000)


def by_hand():
    rows = flowers()[COLUMNS]
    model = modae.LinearModularAutoencoder(random_state=0)
    return make_pipeline(StandardScaler(), model).fit(rows), rows


def same_modules(ours, theirs, rows):
    """Modules are the same if their reconstructions are."""
    last, other = ours[-1], theirs[-1]
    np.testing.assert_allclose(last.loss_, other.loss_, rtol=1e-9)
    np.testing.assert_allclose(ours[:-1].transform(rows), theirs[:-1].transform(rows), rtol=1e-9)
    scaled = theirs[:-1].transform(rows)
    np.testing.assert_allclose(
        last.inverse_transform(last.transform(scaled)),
        other.inverse_transform(other.transform(scaled)),
        atol=1e-8,
    )


def test_fit_is_the_pipeline_that_one_would_write_by_hand(desk, call):
    answer = call("fit", "good.csv", "--drop", "kind", "-o", "new.modae")
    assert answer.code == 0, answer.err
    theirs, rows = by_hand()
    same_modules(modae.load("new.modae"), theirs, rows)
    assert list(modae.load("new.modae").feature_names_in_) == COLUMNS


def test_a_table_larger_than_the_memory_gives_the_same_model(desk, call, small_memory):
    answer = call("fit", "good.csv", "--drop", "kind", "-o", "new.modae", "--json")
    assert answer.code == 0, answer.err
    assert any("batch by batch" in note for note in json.loads(answer.out)["notes"])
    theirs, rows = by_hand()
    same_modules(modae.load("new.modae"), theirs, rows)


@pytest.mark.parametrize("option", ["--target kind", "--target kind --encode --impute"])
def test_predictions_do_not_depend_on_the_memory(desk, call, monkeypatch, option):
    table = flowers().assign(colour=np.where(np.arange(60) % 2, "red", "blue"))
    if "impute" in option:
        table.loc[7, "wide"] = np.nan
        table.to_csv("good.csv", index=False)
    for name, limit in (("one", 10**9), ("two", 8000)):
        monkeypatch.setattr("modae.cli.training_data.IN_MEMORY", limit)
        monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", limit)
        command = ("fit", "good.csv", *option.split(), "--no-check", "-o", f"{name}.modae", "-q")
        assert call(*command).code == 0
        assert call("predict", f"{name}.modae", "good.csv", "-o", f"{name}.csv", "-q").code == 0
    one, two = pd.read_csv("one.csv"), pd.read_csv("two.csv")
    assert list(one.columns[[0, -1]]) == ["predicted_kind", "disagreement"]
    if "impute" not in option:  # the median is that of a sample
        pd.testing.assert_frame_equal(one, two)
    assert (one["predicted_kind"] == two["predicted_kind"]).mean() > 0.98


def write_as(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        table.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".gz":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=7)
    elif path.suffix in (".arrow", ".feather"):
        pyarrow.feather.write_feather(pa.Table.from_pandas(table), path, chunksize=7)


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather", "t.csv"])
def test_every_format_with_names_gives_the_same_model(desk, call, name):
    write_as(flowers(), desk / name)
    assert call("fit", name, "--target", "kind", "-o", "new.modae", "--no-check").code == 0
    ours, theirs = modae.load("new.modae"), modae.load("vote.modae")
    rows = flowers()[COLUMNS]
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows))


def test_semicolons_and_a_byte_order_mark_are_understood(desk, call):
    text = flowers().to_csv(index=False, sep=";")
    (desk / "excel.csv").write_text(text, encoding="utf-8-sig")
    assert call("fit", "excel.csv", "--target", "kind", "-o", "new.modae", "--no-check").code == 0
    assert list(modae.load("new.modae").feature_names_in_) == COLUMNS


def test_row_numbers_that_pandas_wrote_are_no_feature(desk, call):
    flowers().to_csv("indexed.csv")
    answer = call("fit", "indexed.csv", "--target", "kind", "-o", "new.modae", "--no-check")
    assert "without a name" in answer.out
    assert list(modae.load("new.modae").feature_names_in_) == COLUMNS


def test_a_csv_without_names(desk, call):
    flowers().to_csv("bare.csv", index=False, header=False)
    command = ("fit", "bare.csv", "--no-header", "--target", "column7", "-o", "new.modae", "--no-check")
    assert call(*command).code == 0
    answer = call("predict", "new.modae", "bare.csv", "--no-header", "-o", "out.csv", "--json")
    assert json.loads(answer.out)["accuracy"] == 1.0  # a row's nearest neighbour is itself


def test_arrays_with_a_target_column_or_labels_beside_them(desk, call):
    rows, kind = flowers()[COLUMNS].to_numpy(), np.arange(60) % 3
    np.save("all.npy", np.column_stack([rows, kind]))
    np.savez("all.npz", X=rows, y=kind)
    save_npz("sparse.npz", csr_array(np.where(np.abs(rows) < 1, 0, rows)))
    assert call("fit", "all.npy", "--target", "-1", "-o", "a.modae", "--no-check").code == 0
    assert call("fit", "all.npz", "--target", "y", "-o", "b.modae", "--no-check").code == 0
    assert call("fit", "sparse.npz", "-o", "c.modae").code == 0
    assert call("transform", "c.modae", "sparse.npz", "-o", "c.npy").code == 0
    assert np.load("c.npy").shape == (60, 60)
    a, b = modae.load("a.modae"), modae.load("b.modae")
    np.testing.assert_array_equal(a.predict(rows), b.predict(rows))
    np.testing.assert_array_equal(a.predict(rows), kind)


def test_a_target_whose_first_values_are_whole_is_read_to_the_end(desk, call, monkeypatch):
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 1000)
    price = np.where(np.arange(60) < 50, "7", "7.5")
    flowers().drop(columns="kind").assign(price=price).to_csv("prices.csv", index=False)
    answer = call("fit", "prices.csv", "--target", "price", "--no-check", "-o", "new.modae", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["classes"] is None


def test_truths_are_numbers_and_missing_ones_are_filled(desk, call):
    flag = np.where(np.arange(60) % 2, "true", "false").astype(object)
    flag[5] = None
    flowers().assign(flag=flag).to_csv("flags.csv", index=False)
    command = ("fit", "flags.csv", "--target", "kind", "--no-check", "-o", "new.modae")
    assert "row 6 (line 7)" in call(*command).said
    answer = call(*command, "--impute", "--json")
    assert json.loads(answer.out)["imputed"] == 1
    assert json.loads(answer.out)["columns"] == 7


def test_names_that_only_one_side_has_do_not_matter_if_the_columns_do_not(desk, call):
    flowers()[COLUMNS].to_csv("rows.csv", index=False)
    assert call("fit", "rows.npy", "-o", "bare.modae").code == 0
    for model, table in (("bare.modae", "rows.csv"), ("features.modae", "rows.npy")):
        assert call("transform", model, table, "-o", f"{table}.npy").code == 0
    np.testing.assert_allclose(np.load("rows.csv.npy"), np.load("rows.npy.npy"), atol=1e-9)


# --- columns by name ---------------------------------------------------------------------------------


def test_columns_are_found_by_name_and_others_are_passed_over(desk, call):
    shuffled = flowers().assign(id=np.arange(60))[["id", *reversed(COLUMNS), "kind"]]
    shuffled.to_csv("other.csv", index=False)
    assert call("transform", "vote.modae", "good.csv", "-o", "one.parquet").code == 0
    answer = call("transform", "vote.modae", "other.csv", "-o", "two.parquet", "--keep", "kind")
    assert "'id'" in answer.out
    assert "found by name" in " ".join(answer.out.split())
    one, two = pd.read_parquet("one.parquet"), pd.read_parquet("two.parquet")
    assert list(two["kind"]) == list(flowers()["kind"])
    pd.testing.assert_frame_equal(one, two.drop(columns="kind"))
    assert list(one.columns[:3]) == ["module0_0", "module0_1", "module1_0"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_features_are_the_same_in_every_format(desk, call, small_memory, ending):
    assert call("transform", "features.modae", "good.csv", "-o", f"out.{ending}").code == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "npy": np.load}[ending]
    expected = modae.load("features.modae").transform(flowers()[COLUMNS])
    np.testing.assert_allclose(np.asarray(read(f"out.{ending}")), expected, rtol=1e-12)


def test_words_with_commas_survive(desk, call):
    kinds = np.array(['a, "b"', "c\nd", "e"])[np.arange(60) % 3]
    flowers().assign(kind=kinds).to_csv("odd.csv", index=False)
    assert call("fit", "odd.csv", "--target", "kind", "-o", "new.modae", "--no-check").code == 0
    assert call("predict", "new.modae", "odd.csv", "-o", "out.csv").code == 0
    assert list(pd.read_csv("out.csv")["predicted_kind"]) == list(kinds)


def test_a_word_that_was_never_seen_is_no_error(desk, call):
    table = flowers().assign(colour=np.where(np.arange(60) % 2, "red", "blue"))
    table.to_csv("colours.csv", index=False)
    command = ("fit", "colours.csv", "--target", "kind", "--encode", "-o", "new.modae", "--no-check")
    answer = call(*command)
    assert "8 numbers after --encode" in answer.out
    table.assign(colour="green").to_csv("green.csv", index=False)
    assert call("predict", "new.modae", "green.csv", "-o", "out.csv").code == 0


# --- what is said ------------------------------------------------------------------------------------


def test_regression(desk, call):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.assign(progression=y).iloc[:200].to_csv("train.csv", index=False)
    X.assign(progression=y).iloc[200:].to_csv("test.csv", index=False)
    answer = call("fit", "train.csv", "--target", "progression", "-o", "new.modae", "--json")
    said = json.loads(answer.out)
    assert said["classes"] is None
    assert said["scaled"] is False
    assert 0.2 < said["score"] < 0.6
    answer = call("predict", "new.modae", "test.csv", "-o", "out.csv", "--json")
    out = pd.read_csv("out.csv")
    assert list(out.columns) == ["predicted_progression", "spread"]
    error = np.sqrt(np.mean((out["predicted_progression"] - y.to_numpy()[200:]) ** 2))
    told = json.loads(answer.out)
    assert told["root_mean_square_error"] == pytest.approx(error)
    assert told["r2"] == pytest.approx(r2_score(y[200:], out["predicted_progression"]))
    answer = call("predict", "new.modae", "test.csv", "-o", "out.csv")
    said = " ".join(answer.out.split())
    assert f"off by {error:.4g} (root mean square, R2 {told['r2']:.3f}): the table has" in said


@pytest.mark.parametrize(("scale", "scaled"), [("auto", True), ("standard", True), ("none", False)])
def test_scaling_is_as_asked_and_stored(desk, call, scale, scaled):
    answer = call("fit", "good.csv", "--drop", "kind", "--scale", scale, "-o", "new.modae", "--json")
    assert json.loads(answer.out)["scaled"] is scaled
    assert ("scale" in modae.load("new.modae").named_steps) is scaled


def test_one_object_for_machines_and_nothing_else(desk, call):
    for command in (
        "fit good.csv --target kind -o new.modae --json",
        "info new.modae --json",
        "transform new.modae good.csv -o out.csv --json",
        "predict new.modae good.csv -o out.csv --json",
    ):
        answer = call(*command.split())
        assert answer.code == 0
        assert answer.err == ""
        assert json.loads(answer.out)["command"] == command.split()[0]


def test_quiet_is_quiet(desk, call):
    answer = call("fit", "good.csv", "--target", "kind", "-o", "new.modae", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_every_line_fits_eighty_columns(desk, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in (
        "fit good.csv --target kind -o new.modae",
        "tune good.csv --target kind --components 2 --estimator knn -o new.modae",
        "predict new.modae good.csv -o out.csv",
        "transform new.modae good.csv -o out.parquet",
        "info new.modae",
    ):
        answer = call(*command.split())
        assert answer.code == 0, answer.err
        assert max(map(len, answer.out.splitlines())) <= 80


def test_info_says_what_the_model_is(desk, call):
    said = json.loads(call("info", "vote.modae", "--json").out)
    model = modae.load("vote.modae")
    assert said["names"] == COLUMNS
    assert said["classes"] == ["aster", "bellis", "crocus"]
    assert said["target"] == "kind"
    assert said["holds_rows"] is True
    assert said["loss"] == model[-1].extractor_.loss_
    assert said["steps"] == ["scale (StandardScaler)", "ensemble (ModularClassifier)"]


def test_info_says_what_a_checkpoint_is(desk, call):
    rows = np.load("rows.npy")
    rows[50, 2] = np.nan
    model = modae.LinearModularAutoencoder(2, 2, random_state=0)
    with pytest.raises(ValueError, match="missing"):
        modae.fit_stream(model, modae.open_batches(rows, batch_size=10), checkpoint="fit.modae")
    answer = call("info", "fit.modae")
    assert answer.code == 0, answer.err
    assert "a fit of fit_stream that has not ended, 50 rows so far" in answer.out
    assert "modae.fit_stream with the same source and checkpoint" in answer.out
    assert json.loads(call("info", "fit.modae", "--json").out)["rows"] == 50
    answer = call("transform", "fit.modae", "rows.npy", "-o", "out.npy")
    assert answer.code == 2
    assert "checkpoint of a fit that has not ended (50 rows so far), not a model" in answer.said


def test_the_diversity_that_is_told_is_that_of_the_fit(desk, call):
    model = modae.LinearModularAutoencoder(3, 2, 0.75, random_state=0).fit(np.load("rows.npy"))
    modae.save(model.set_params(diversity=0.25), "model.modae")
    assert "diversity 0.75" in call("info", "model.modae").out
    assert json.loads(call("info", "model.modae", "--json").out)["diversity"] == 0.75


@pytest.mark.parametrize("name", ["X.NPY", "X.CSV", "X.Parquet", "X.NPZ"])
def test_endings_may_be_in_capitals(desk, call, name):
    table = flowers()[COLUMNS]
    with (desk / name).open("wb") as file:
        if name == "X.NPY":
            np.save(file, table.to_numpy())
        elif name == "X.NPZ":
            np.savez(file, X=table.to_numpy())
        else:
            table.to_csv(file, index=False) if name == "X.CSV" else table.to_parquet(file)
    assert call("fit", name, "-o", "NEW.MODAE").code == 0
    assert call("transform", "NEW.MODAE", name, "-o", "OUT.NPY").code == 0
    assert np.load("OUT.NPY").shape == (60, 60)


def test_dates_are_refused_by_name_and_may_be_numbers(desk, call):
    days = pd.date_range("2020-01-01", periods=3)[np.arange(60) % 3]
    flowers().assign(when=days).to_parquet("t.parquet")
    command = ("fit", "t.parquet", "--target", "kind", "--no-check", "-o", "new.modae")
    answer = call(*command)
    assert answer.code == 2
    assert "column 'when' has dates, such as '2020-01-01" in answer.said
    assert answer.proposed == [*command, "--dates"]
    assert call(*command, "--encode").code == 2
    said = " ".join(call(*command, "--dates").out.split())
    assert "60 rows, 8 columns." in said
    assert "1 column of dates; 10 numbers after --dates." in said


def test_models_that_python_saved_work_too(desk, call):
    rows = flowers()[COLUMNS]
    member, sizes = modae.NearestNeighborClassifier(), {"n_components": [2], "diversities": [0.5]}
    search = modae.ModularClassifierCV(None, member, **sizes, cv=2, scale=False, random_state=0)
    modae.save(search.fit(rows, flowers()["kind"]), "python.modae")
    assert call("info", "python.modae").code == 0
    assert call("predict", "python.modae", "good.csv", "-o", "out.csv").code == 0
    assert list(pd.read_csv("out.csv")["predicted"]) == list(search.predict(rows))
    assert call("transform", "python.modae", "good.csv", "-o", "out.npy").code == 0
    expected = search.best_estimator_.extractor_.transform(rows)
    np.testing.assert_allclose(np.load("out.npy"), expected)
    modae.save(modae.LinearModularAutoencoder(), "unfitted.modae")
    answer = call("info", "unfitted.modae")
    assert answer.code == 2
    assert "not fitted" in answer.said


def test_export_writes_onnx(desk, call):
    assert call("export", "features.modae", "-o", "out.onnx").code == 0
    assert (desk / "out.onnx").stat().st_size > 0
    assert call("export", "features.modae", "-o", "out.txt").code == 2


@pytest.mark.parametrize("options", ["--target kind", "--target long --drop kind"])
def test_tuning_tries_several_kinds_of_members(desk, call, options):
    said = json.loads(call(*f"tune good.csv {options} -o new.modae --json".split()).out)
    assert said["command"] == "tune"
    names = {row["name"] for row in said["leaderboard"]}
    kinds = ("neighbors", "svm", "trees")
    assert names == {"linear on columns"} | {
        f"{k} on {x}" for k in kinds for x in ("modules", "columns")
    }
    assert said["leaderboard"][0]["score"] == pytest.approx(said["score"])
    others = {row["name"]: row["score"] for row in said["others"]}
    assert others.pop("this model") == pytest.approx(said["score"], abs=0.02)
    assert said["baseline"] == max(others, key=others.get)
    model = modae.load("new.modae")
    assert model.predict(flowers()[model.feature_names_in_]).shape == (60,)


def test_tuning_one_kind_of_member_of_one_size(desk, call):
    command = "tune good.csv --target kind --estimator logistic --components 2 -o new.modae --json"
    said = json.loads(call(*command.split()).out)
    assert {row["name"] for row in said["leaderboard"]} == {"logistic on columns", "logistic on modules"}
    assert said["chosen"]["family"] == "logistic"
    assert said["chosen"].get("n_components", 2) == 2
