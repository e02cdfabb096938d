"""One table in every format gives one model, and labels come back as they were."""

import gzip
import json
import subprocess
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

import modae
from cli.calling import flowers


def spaced(frame, path):
    path.write_text(frame.to_string(index=False))


def json_lines(frame, path):
    path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))


def packed_json_lines(frame, path):
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, frame.to_dict("records"))).encode()))


FORMATS = {
    "t.xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "t.jsonl": json_lines,
    "blank.jsonl": lambda frame, path: path.write_text(
        "\n\n".join(json.dumps(row) for row in frame.to_dict("records"))
    ),
    "t.jsonl.gz": packed_json_lines,
    "CAPITALS.JSONL.GZ": packed_json_lines,
    "tabs.txt": lambda frame, path: frame.to_csv(path, sep="\t", index=False),
    "bars.txt": lambda frame, path: frame.to_csv(path, sep="|", index=False),
    "commas.txt": lambda frame, path: frame.to_csv(path, index=False),
    "spaces.txt": spaced,
    "commas.tsv": lambda frame, path: frame.to_csv(path, index=False),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, sep=";", index=False),
}


def loss(path):
    return modae.load(path)[-1].loss_


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_table_gives_the_same_model(desk, call, name):
    FORMATS[name](flowers(), desk / name)
    answer = call("fit", name, "--drop", "kind", "-o", "new.modae", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["rows"] == 60
    assert loss("new.modae") == pytest.approx(loss("features.modae"), rel=1e-9)


@pytest.mark.parametrize("name", ["t.xlsx", "t.jsonl", "tabs.txt"])
def test_a_format_can_be_said(desk, call, name):
    FORMATS[name](flowers(), desk / name)
    (desk / name).rename(desk / "table.data")
    kind = name.rpartition(".")[2]
    answer = call("fit", "table.data", "--format", kind, "--drop", "kind", "-o", "new.modae")
    assert answer.code == 0, answer.err
    assert loss("new.modae") == pytest.approx(loss("features.modae"), rel=1e-9)


def test_batches_of_the_library_are_read_from_them_too(tmp_path):
    frame = flowers().drop(columns="kind")
    for name, write in FORMATS.items():
        write(frame, tmp_path / name)
        rows = np.concatenate([batch.rows for batch in modae.open_batches(tmp_path / name)])
        np.testing.assert_allclose(rows, frame.to_numpy())


def test_commas_in_a_name_do_not_hide_the_separator(desk, call):
    frame = flowers().rename(columns={"long": "long,mm", "wide": "wide,mm"})
    frame.to_csv("t.csv", sep=";", decimal=",", index=False)
    answer = call("fit", "t.csv", "--decimal", ",", "--drop", "kind", "-o", "new.modae", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["columns"] == 6


def test_an_error_in_excel_names_the_row_that_excel_shows(desk, call):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [None, None], [3, None], [5, 6]):
        book.active.append(row)
    book.save("t.xlsx")
    answer = call("fit", "t.xlsx", "-o", "new.modae")
    assert answer.code == 2
    assert "'b' has no value in row 2 (line 4)" in answer.said


def test_of_several_sheets_the_first_is_named(desk, call):
    with pd.ExcelWriter("t.xlsx") as book:
        flowers().to_excel(book, sheet_name="Flowers", index=False)
        flowers().to_excel(book, sheet_name="Copy", index=False)
    answer = call("fit", "t.xlsx", "--drop", "kind", "-o", "new.modae")
    assert "t.xlsx (sheet 'Flowers'): 60 rows" in answer.out


def test_the_sheet_that_has_a_column_is_proposed_and_remembered(desk, call):
    sheets = {"Notes": pd.DataFrame({"about": [1, 2, 3]}), "Old": flowers(9), "Flowers": flowers()}
    sheets["Old"] = sheets["Old"].drop(columns="kind")
    with pd.ExcelWriter("t.xlsx") as book:
        for name, frame in sheets.items():
            frame.to_excel(book, sheet_name=name, index=False)
    fit = ("fit", "t.xlsx", "-o", "new.modae", "--no-check", "--target")
    answer = call(*fit, "sort")
    assert (
        "there are 'about'. --sheet NAME reads one of its other sheets: 'Old', 'Flowers'." in answer.said
    )
    answer = call(*fit, "kind")
    assert "has no such column; the sheet 'Flowers' has what is needed." in answer.said
    answer = call(*answer.proposed)
    assert answer.code == 0, answer.err
    commands = [line.split()[-7:] for line in answer.out.splitlines() if "modae report" in line]
    assert call(*commands[0][commands[0].index("report") :]).code == 0
    assert "read with" not in call("info", "new.modae").out
    # A workbook may have the sheet or not, and other tables have none.
    assert "sheet 'Flowers'" in call("predict", "new.modae", "t.xlsx", "-o", "out.csv").out
    assert call("predict", "new.modae", "good.csv", "-o", "out.csv").code == 0
    with pd.ExcelWriter("t.xlsx") as book:
        sheets["Notes"].to_excel(book, sheet_name="Notes", index=False)
        sheets["Flowers"].to_excel(book, sheet_name="Plants", index=False)
    answer = call("predict", "new.modae", "t.xlsx", "-o", "out.csv")
    assert "which new.modae was fitted to: the sheet 'Plants' has what is needed." in answer.said
    assert call(*answer.proposed).code == 0


def test_another_sheet_can_be_chosen(desk, call):
    with pd.ExcelWriter("t.xlsx") as book:
        pd.DataFrame({"about": ["flowers"]}).to_excel(book, sheet_name="Notes", index=False)
        flowers().to_excel(book, sheet_name="Flowers", index=False)
    fit = ("fit", "t.xlsx", "--target", "kind", "-o", "new.modae", "--no-check", "--sheet")
    answer = call(*fit, "Flowers")
    assert "t.xlsx (sheet 'Flowers'): 60 rows" in answer.out
    assert call("predict", "new.modae", "good.csv", "-o", "out.csv").code == 0
    answer = call(*fit, "Plants")
    assert answer.code == 2
    assert "there is no sheet 'Plants'; the sheets are 'Notes', 'Flowers'." in answer.said
    answer = call("predict", "new.modae", "good.csv", "-o", "out.csv", "--sheet", "Flowers")
    assert "only .xlsx files have sheets: leave out --sheet Flowers." in answer.said


@pytest.mark.parametrize("name", ["t.xlsx", "t.jsonl", "t.csv", "t.parquet"])
def test_truths_come_back_as_truths(desk, call, name):
    frame = flowers().assign(kind=np.arange(60) % 2 == 0)
    writers = FORMATS | {"t.csv": FORMATS["commas.txt"], "t.parquet": lambda f, path: f.to_parquet(path)}
    writers[name](frame, desk / name)
    assert call("fit", name, "--target", "kind", "-o", "new.modae").code == 0
    answer = call("predict", "new.modae", name, "-o", "out.csv", "--json")
    assert json.loads(answer.out)["accuracy"] == 1.0
    assert call("predict", "new.modae", name, "-o", "out.parquet").code == 0
    for told in (pd.read_csv("out.csv"), pd.read_parquet("out.parquet")):
        assert told["predicted_kind"].dtype == bool
        np.testing.assert_array_equal(told["predicted_kind"], frame["kind"])
        assert {"probability_False", "probability_True"} <= set(told)
    assert (desk / "out.csv").read_text().splitlines()[1].startswith("True,")


def test_dates_of_excel_become_numbers_and_are_remembered(desk, call):
    when = pd.date_range("2021-03-01", periods=60, freq="h")
    flowers().assign(when=when).to_excel("t.xlsx", index=False)
    assert call("fit", "t.xlsx", "--target", "kind", "--dates", "-o", "new.modae").code == 0
    names = list(modae.load("new.modae").feature_names_in_)
    parts = ("year", "month", "weekday", "days", "hour")
    assert names[-5:] == [f"when_{part}" for part in parts]
    flowers().assign(when=when).to_parquet("t.parquet")
    for path in ("t.xlsx", "t.parquet"):
        answer = call("predict", "new.modae", path, "-o", "out.csv", "--json")
        assert json.loads(answer.out)["accuracy"] == 1.0
    # New rows at midnight have an hour too; and what lacks them lacks the column of dates.
    flowers().assign(when=when.normalize()).to_csv("new.csv", index=False)
    assert call("predict", "new.modae", "new.csv", "-o", "out.csv").code == 0
    answer = call("predict", "new.modae", "good.csv", "-o", "out.csv")
    assert "good.csv lacks 'when', which new.modae was fitted to" in answer.said
    flowers().assign(when="5 Jan 2024").to_csv("new.csv", index=False)
    answer = call("predict", "new.modae", "new.csv", "-o", "out.csv")
    assert "column 'when' has dates, such as '5 Jan 2024'" in answer.said
    assert "write the dates of 'when' as 2026-01-31" in answer.said


def test_the_hour_is_a_number_of_the_day(desk, call):
    when = pd.date_range("1969-12-30 06:00", periods=60, freq="90min")
    for name, dates in {"t": when, "u": when.normalize()}.items():
        flowers().assign(when=dates).to_csv(f"{name}.csv", index=False)
    fit = ("--target", "kind", "--dates", "-o", "new.modae", "--no-check", "--scale", "standard")
    assert call("fit", "t.csv", *fit).code == 0
    scaler = modae.load("new.modae")[0]
    mean = scaler.mean_[list(scaler.feature_names_in_).index("when_hour")]
    assert mean == pytest.approx((when.hour + when.minute / 60).to_numpy().mean())
    assert call("fit", "u.csv", *fit).code == 0
    assert modae.load("new.modae")[0].feature_names_in_[-1] == "when_days"
    answer = call("predict", "new.modae", "t.csv", "-o", "out.csv", "--json")
    assert "notes" not in json.loads(answer.out), "no hour that is not used"


def test_the_version_has_a_short_option(call):
    assert call("-V").out == call("--version").out == f"modae {modae.__version__}\n"


def test_the_tab_key_completes_estimators():
    program = "from modae.cli import main\nimport sys\nsys.argv[0] = 'modae'\nmain()"
    typed = {"COMP_WORDS": "modae fit t.csv --estimator ", "COMP_CWORD": "4"}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={"_MODAE_COMPLETE": "complete_bash", "PATH": "", "PYTHONPATH": ":".join(sys.path), **typed},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert set(answer.stdout.split()) == {"knn", "logistic", "svm", "tree", "forest"}, answer.stderr
