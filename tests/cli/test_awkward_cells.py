"""Every awkward column gets its answer, and the command that is said makes the right numbers of it."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import modae
from cli.awkward_cells import AWKWARD
from cli.calling import flowers

FIT = "fit t.csv --target kind --no-check --scale standard -o new.modae --json"


def write(cells, name="x"):
    """Forty rows with these cells, again and again."""
    column = (cells * 40)[: 40 - 40 % len(cells)]
    frame = flowers(len(column))[["wide", "kind"]]
    frame.insert(0, name, column)
    frame.to_csv("t.csv", index=False)
    return column


def error_of(answer):
    assert answer.code == 2, answer.err
    assert "Traceback" not in answer.err
    return answer.said


def command_in(answer):
    """What an error says, and the words of the command that it ends with."""
    return error_of(answer).partition(" Type: modae ")[0], answer.proposed


def mean_of(path, name):
    """What the model takes for the mean of a column: it was read as these numbers."""
    first = modae.load(path)[0]
    if hasattr(first, "named_transformers_"):
        numbers = next(list(columns) for part, _, columns in first.transformers_ if part == "numbers")
        return first.named_transformers_["numbers"][-1].mean_[numbers.index(name)]
    return first.mean_[list(first.feature_names_in_).index(name)]


@pytest.mark.parametrize("case", AWKWARD, ids=lambda case: case.name.replace(" ", "-"))
def test_a_column_gets_its_answer(case, desk, call):
    write(case.cells)
    command = [*FIT.split(), *shlex.split(case.typed)]
    answer = call(*command)
    if case.refused:
        said, ready = command_in(answer)
        assert all(words in said or words in ready for words in case.says), said
        before = command[:-2] if case.name == "the wrong mark" else command
        assert ready == ([*before, *shlex.split(case.add)] if case.add else [])
        if not ready:
            return
        answer = call(*ready)
    if case.name == "nothing at all":
        assert "no row has a value in 'x'" in error_of(answer)
        return
    assert answer.code == 0, answer.err
    notes = json.loads(answer.out).get("notes", [])
    assert all(any(words in note for note in notes) for words in case.notes), notes
    if case.read is not None:
        expected = np.nanmean(np.array(case.read, dtype=float))
        assert mean_of("new.modae", "x") == pytest.approx(expected)
    assert call("predict", "new.modae", "t.csv", "-o", "out.csv").code == 0, "the notation is remembered"


#: A whole file, and the answer: a line that is said, in an error or in a note, or classes.
FLOWERS = flowers(40)[["wide", "high", "deep", "kind"]]
TEXT = FLOWERS.to_csv(index=False)
KIND = list(FLOWERS["kind"])
FILES = {
    "a mark of UTF-8": ("\ufeff" + TEXT, 3),
    "Latin-1": (TEXT.replace("aster", "\u00e9t\u00e9").encode("latin-1"), "iconv -f latin1 -t utf-8"),
    "UTF-16": (TEXT.encode("utf-16"), "it is not text"),
    "semicolons": (TEXT.replace(",", ";"), 3),
    "Windows line ends": (TEXT.replace("\n", "\r\n"), 3),
    "blank lines": ("\n" + TEXT + "\n\n", 3),
    "a line break in quotes": (TEXT.replace("aster", '"as\nter"'), 3),
    "a mark at the end of each line": (TEXT.replace("\n", ",\n"), "A column without a name"),
    "a mark at the end of rows": (TEXT.replace("\n", ",\n").replace(",\n", "\n", 1), "5 fields"),
    "a comment above": ("# of 2026\n" + TEXT, "line 2 has 4 fields"),
    "a total below": (TEXT + "Total,12,9,\n", "correct 'Total'"),
    "a name twice": (TEXT.replace("high", "wide"), "'wide' is there more than once"),
    "no name": (TEXT.replace("wide", ""), "A column without a name"),
    "no rows": ("wide,high,deep,kind\n", "no rows"),
    "nothing": ("", "it is empty"),
}
TARGETS = {
    "blanks": (
        [f"{kind}{' ' * (i % 2)}" for i, kind in enumerate(FLOWERS["kind"])],
        "'aster', 'aster '",
    ),
    "capitals": (
        [f"{kind}".title() if i % 2 else kind for i, kind in enumerate(FLOWERS["kind"])],
        "'Aster'",
    ),
    "a class of one row": (["zinnia", *KIND[1:]], 4),
    "two numbers": ([0, 1] * 20, 2),
    "two numbers with points": ([0.0, 1.0] * 20, 2),
    "capital booleans": (["TRUE", "false"] * 20, 2),
    "another whole number in each row": (list(range(1000, 1040)), 0),
    "another string in each row": (
        [f"n{i}" for i in range(40)],
        "looks like an id",
    ),
    "a mark of nothing": (["a", "b", "?", "b"] * 10, "'?' in the target"),
    "NA": (["a", "b", "NA", "b"] * 10, "'NA' in the target"),
    "empty cells": (["a", "b", "", "b"] * 10, 2),
    "only empty cells": ([""] * 40, "has no value in any row"),
    "one class": (["a"] * 40, "in every row: two classes are needed"),
    "dollars": (["$1.5", "$2", "$7.25", "$9"] * 10, "--strip '$'"),
}


@pytest.mark.parametrize("name", [*FILES, *(f"target: {name}" for name in TARGETS)])
def test_a_file_gets_its_answer(desk, call, name):
    if name in FILES:
        content, expected = FILES[name]
    else:
        cells, expected = TARGETS[name.removeprefix("target: ")]
        content = FLOWERS.assign(kind=cells).to_csv(index=False)
    (desk / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = call(*FIT.split())
    if isinstance(expected, str):
        assert expected in (
            error_of(answer) if answer.code else " ".join(json.loads(answer.out)["notes"])
        )
        return
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert len(told["classes"] or ()) == expected
    assert told["rows"] == 40


def test_missing_values_of_all_columns_are_said_with_one_command(desk, call):
    table = FLOWERS.copy()
    table.loc[2, "wide"] = table.loc[5, "high"] = np.nan
    table.assign(empty="").to_csv("t.csv", index=False)
    said, ready = command_in(call(*FIT.split()))
    assert "'empty' has no value in row 1 (line 2), and so do rows of 2 other columns" in said
    assert ready[-3:] == ["--drop", "empty", "--impute"]
    assert call(*ready).code == 0


def test_there_are_thirty_and_no_two_are_the_same():
    assert len({case.name for case in AWKWARD}) == len(AWKWARD) >= 30
    assert len({(tuple(case.cells), case.typed) for case in AWKWARD}) == len(AWKWARD)


def test_all_columns_are_named_at_once_and_one_command_reads_them_all(desk, call):
    frame = flowers(40).assign(
        price=["$3,685.20", "$184.26"] * 20,
        miles=["12", "?", "7", "9"] * 10,
        town=["Ulm", "Bonn"] * 20,
        name=[f"n{i}x" for i in range(40)],
        when=pd.date_range("2020-01-01", periods=40)[::-1].strftime("%Y-%m-%d"),
    )
    frame.loc[0, "when"] = "2019-01-01"  # rows in the order of dates are another matter
    frame.to_csv("t.csv", index=False)
    said, ready = command_in(call(*FIT.split()))
    names = ("price", "miles", "town", "name", "when")
    assert all(repr(name) in said for name in names)
    answer = call(*ready)
    assert answer.code == 0, answer.err
    assert mean_of("new.modae", "price") == pytest.approx((3685.2 + 184.26) / 2)
    days = (pd.to_datetime(frame["when"]) - pd.Timestamp("1970-01-01")).dt.days
    assert mean_of("new.modae", "when_days") == pytest.approx(days.mean())
    weekdays = pd.to_datetime(frame["when"]).dt.day_of_week + 1
    assert mean_of("new.modae", "when_weekday") == pytest.approx(weekdays.mean())
    assert any("--thousands ," in line for line in json.loads(answer.out)["next"])


def test_a_mark_that_means_two_things_is_said(desk, call):
    flowers(40).assign(a=["3,685.20", "5"] * 20, b=["49,0", "1"] * 20).to_csv("t.csv", index=False)
    said, ready = command_in(call(*FIT.split()))
    assert "',' means another thing in 'b'" in said
    assert ready[-4:] == ["--thousands", ",", "--drop", "b"]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["49,0", "7,25", "8,5", "9,5"], "--decimal ,"),
        (["$184.26", "$7.50", "$8", "$9.75"], "--strip '$'"),
        (["2020-01-31", "2021-01-31"], "--dates"),
    ],
)
def test_a_target_is_no_set_of_strings_if_it_is_written_in_another_way(desk, call, cells, says):
    write(cells, "y")
    answer = call("fit", "t.csv", "--target", "y", "--drop", "kind", "-o", "new.modae")
    said = error_of(answer)
    assert says in said
    assert "column 'y'" in said


def test_a_target_with_decimal_commas_is_a_number(desk, call):
    column = write([f"{i},5" for i in range(20)], "y")
    command = "fit t.csv --target y --drop kind --decimal , --no-check -o new.modae --json"
    answer = call(*shlex.split(command))
    assert json.loads(answer.out)["classes"] is None
    answer = call("predict", "new.modae", "t.csv", "-o", "out.csv", "--json")
    told = pd.read_csv("out.csv")["predicted_y"]
    true = np.array([float(cell.replace(",", ".")) for cell in column])
    error = json.loads(answer.out)["root_mean_square_error"]
    assert error == pytest.approx(np.sqrt(np.mean((true - told) ** 2)))


def test_a_mark_that_is_a_class_is_noted_and_can_be_missing(desk, call):
    flowers(40).assign(kind=["a", "b", "?", "b"] * 10).to_csv("t.csv", index=False)
    assert any("'?' in the target" in note for note in json.loads(call(*FIT.split()).out)["notes"])
    answer = call(*FIT.split(), "--missing", "?")
    assert json.loads(answer.out)["labelled_rows"] == 30


def test_new_rows_are_refused_with_the_same_hint(desk, call):
    text = (desk / "good.csv").read_text().splitlines()
    lines = [line.replace(",", ";") for line in text]
    (desk / "new.csv").write_text("\n".join([lines[0], *(line.replace(".", ",") for line in lines[1:])]))
    said, ready = command_in(call("predict", "vote.modae", "new.csv", "-o", "out.csv"))
    assert all(repr(name) in said for name in ("long", "wide", "high", "deep", "far", "old"))
    assert ready == ["predict", "vote.modae", "new.csv", "-o", "out.csv", "--decimal", ","]
    assert call(*ready).code == 0
    assert call("predict", "vote.modae", "good.csv", "-o", "same.csv").code == 0
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), pd.read_csv("same.csv"))


def test_a_mark_far_down_is_told_with_its_line_and_the_option(desk, call, monkeypatch):
    monkeypatch.setattr("modae.sources.arrow_files.BLOCK_BYTES", 4096)
    write(["1.5"] * 39 + ["2"])
    with (desk / "t.csv").open("a") as file:
        file.write("3.5,1.0,aster\n" * 1000 + "?,1.0,aster\n")
    said, ready = command_in(call(*FIT.split()))
    assert "line 1042 has '?' in column 'x'" in said
    assert ready[-2:] == ["--missing", "?"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("--decimal , --thousands ,", "they must differ"),
        ("--decimal comma", "one mark"),
        ("--thousands 0", "one mark"),
        ("--format pdf", "--format pdf: it must be one of"),
        ("--target Kind", "did you mean 'kind'?"),
        ("--drop WIDE", "did you mean 'wide'?"),
    ],
)
def test_what_cannot_be_said_of_a_table_is_refused(desk, call, typed, says):
    answer = call("fit", "good.csv", "-o", "new.modae", *typed.split())
    assert says in error_of(answer)


def test_columns_that_differ_by_capital_letters_are_asked_for(desk, call):
    flowers().rename(columns={"wide": "Wide "}).to_csv("t.csv", index=False)
    assert "did you mean 'Wide '?" in error_of(call("predict", "vote.modae", "t.csv", "-o", "out.csv"))
    flowers().rename(columns={"wide": "Wide ", "high": "heigh"}).to_csv("t.csv", index=False)
    said = error_of(call("predict", "vote.modae", "t.csv", "-o", "out.csv"))
    assert said.startswith("modae: t.csv lacks 'wide', 'high', which vote.modae was fitted to;")
    assert said.endswith("did you mean 'Wide ', 'heigh'? Rename them.")
