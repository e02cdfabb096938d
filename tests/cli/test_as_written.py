"""What stands in a table is what is used: ids, labels and classes are not changed on the way."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from cli.calling import flowers

NUMBERS = flowers().drop(columns="kind")
LARGE = 2**53


def write_parquet(path, **columns):
    pyarrow.parquet.write_table(pa.Table.from_pandas(NUMBERS.assign(**columns)), path)


def fitted(call, path, *more):
    answer = call("fit", path, "--target", "kind", "--no-check", "-o", "new.modae", "--json", *more)
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def accuracy(call, path):
    answer = call("predict", "new.modae", path, "-o", "out.csv", "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)["accuracy"]


@pytest.mark.parametrize(
    ("judged", "memory"), [(100, 10**9), (5000, 20_000)], ids=["rows to judge", "rows in memory"]
)
def test_noise_in_a_table_that_alternates_is_not_predicted(desk, call, monkeypatch, judged, memory):
    monkeypatch.setattr("modae.cli.fitting.JUDGED_ROWS", judged)
    monkeypatch.setattr("modae.cli.training_data.IN_MEMORY", memory)
    noise = np.random.default_rng(0).standard_normal((1000, 3))
    pd.DataFrame(noise, columns=list("abc")).assign(y=np.arange(1000) % 2).to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "y", "-o", "new.modae", "--modules", "2", "--json")
    assert answer.code == 0, answer.err
    assert 0.25 < json.loads(answer.out)["score"] < 0.75


def test_what_is_kept_stays_as_it_was_written(desk, call, monkeypatch):
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 1000)
    ids = ["00007", "9" * 22, "2020-01-02 03:04:05", "1e5", "NA", "true", *["12"] * 53, "a word"]
    flowers().assign(id=ids).to_csv("ids.csv", index=False)
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        out = f"out.{ending}"
        assert (
            call("predict", "vote.modae", "ids.csv", "--keep", "id", "--keep", "id", "-o", out).code == 0
        )
        kept = read(out, dtype=str, keep_default_na=False) if ending == "csv" else read(out)
        assert list(kept["id"]) == ids
        assert list(kept.columns).count("id") == 1


def test_kept_numbers_of_a_csv_go_into_an_array(desk, call):
    flowers().assign(id=np.arange(60)).to_csv("ids.csv", index=False)
    assert call("transform", "features.modae", "ids.csv", "--keep", "id", "-o", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy")[:, 0], np.arange(60))


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(60) % 2 == 0,
        np.array([Decimal("1.0"), Decimal("2.0")])[np.arange(60) % 2],
        np.arange(60) % 2 + LARGE,
        np.array([2**63 + 1, 2**63 + 2049], dtype=np.uint64)[np.arange(60) % 2],
        np.array(["01", "x"])[np.arange(60) % 2],
        np.array(["True", "False", "perhaps"])[np.arange(60) % 3],
    ],
    ids=["truths", "decimals", "large", "beyond int64", "words like numbers", "words like truths"],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_two_classes_stay_two_and_right_is_right(desk, call, labels, ending):
    new = NUMBERS.assign(kind=labels)[np.asarray(labels) != "x"]
    new = new[new["kind"] != "perhaps"]
    if ending == "csv":
        NUMBERS.assign(kind=labels).to_csv("t.csv", index=False)
        new.to_csv("new.csv", index=False)
    else:
        write_parquet("t.parquet", kind=labels)
        new.to_parquet("new.parquet")
    as_it_was = (str, bool, np.bool_)
    classes = {str(label if isinstance(label, as_it_was) else int(label)) for label in labels}
    assert set(fitted(call, f"t.{ending}")["classes"]) == classes
    assert accuracy(call, f"new.{ending}") == 1.0  # a row's nearest neighbour is itself


def test_large_labels_beside_a_missing_one_stay_apart(desk, call):
    labels = pd.array(np.arange(60) % 2 + LARGE, dtype="Int64")
    write_parquet("t.parquet", kind=labels)
    fitted(call, "t.parquet")
    swapped = pd.array(np.arange(1, 61) % 2 + LARGE, dtype="Int64")
    swapped[0] = pd.NA
    write_parquet("new.parquet", kind=swapped)
    assert accuracy(call, "new.parquet") == 0.0


def test_a_missing_truth_is_not_counted_and_the_others_are(desk, call):
    labels = np.arange(60) % 2 == 0
    write_parquet("t.parquet", kind=labels)
    fitted(call, "t.parquet")
    write_parquet("new.parquet", kind=pa.array([None, *labels[1:].tolist()]).to_pandas())
    assert accuracy(call, "new.parquet") == 1.0


def test_words_that_are_missing_or_new_are_noticed(desk, call):
    table = flowers().assign(colour=np.where(np.arange(60) % 2, "red", "blue"))
    table.to_csv("t.csv", index=False)
    fitted(call, "t.csv", "--encode")
    table.loc[:4, "colour"] = "green"
    table.to_csv("new.csv", index=False)
    answer = call("predict", "new.modae", "new.csv", "-o", "out.csv")
    assert "Column 'colour': 5 values that the fit never saw" in " ".join(answer.out.split())
    table.loc[7, "colour"] = None
    table.to_csv("new.csv", index=False)
    answer = call("predict", "new.modae", "new.csv", "-o", "out.csv")
    assert answer.code == 2
    assert "'colour' has no value in row 8 (line 9)" in answer.said


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n\n" + text,
        lambda text: text.replace("\n", "\n\n", 4),
        lambda text: text.replace("long,", '"long;;;;;;;;;\n",', 1),
    ],
    ids=["blank lines first", "blank lines between", "separators and a line break in quotes"],
)
def test_layout_of_the_text_does_not_matter(desk, call, change):
    (desk / "t.csv").write_text(change((desk / "good.csv").read_text()))
    assert fitted(call, "t.csv")["rows"] == 60
    lines = change((desk / "good.csv").read_text()).splitlines()
    lines[20] = lines[20].replace(",", ",x", 1)
    (desk / "t.csv").write_text("\n".join(lines))
    answer = call("fit", "t.csv", "--target", "kind", "-o", "other.modae")
    assert "(line 21)" in answer.said


def test_years_may_be_names_and_that_is_said(desk, call):
    NUMBERS.rename(columns={"long": "2001"}).to_csv("years.csv", index=False)
    answer = call("fit", "years.csv", "-o", "new.modae", "--json")
    assert any("'2001'" in note for note in json.loads(answer.out)["notes"])


def test_an_id_in_words_is_noticed(desk, call):
    flowers().assign(name=[f"n{i}" for i in range(60)]).to_csv("t.csv", index=False)
    assert any("'name'" in note for note in fitted(call, "t.csv", "--encode")["notes"])


def test_columns_that_do_not_vary_are_no_news_about_division(desk, call):
    flowers().assign(**dict.fromkeys(NUMBERS, 1.0)).to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "new.modae")
    assert answer.code == 0
    assert "divide" not in answer.out


def test_what_onnx_cannot_say_is_said_in_our_words(desk, call):
    assert call("fit", "good.csv", "--encode", "-o", "new.modae").code == 0
    answer = call("export", "new.modae", "-o", "out.onnx")
    assert answer.code == 2
    assert "--encode and --impute need names of columns" in answer.said


def test_a_word_among_numbers_that_are_filled_is_named(desk, call):
    assert call("fit", "good.csv", "--drop", "kind", "--impute", "-o", "new.modae").code == 0
    flowers().astype({"wide": object}).replace({"wide": {flowers()["wide"][3]: "oops"}}).to_csv("t.csv")
    answer = call("transform", "new.modae", "t.csv", "-o", "out.csv")
    assert answer.code == 2
    assert "column 'wide' has strings, such as 'oops' in row 4 (line 5)" in answer.said
    assert "fitted to numbers there: correct it" in answer.said
