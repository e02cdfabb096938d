"""Tables as people have them: the command that is proposed works as it stands, and nothing is missed."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import modae
from cli.calling import flowers

RNG = np.random.default_rng(0)
KIND = np.where(RNG.random(60) < 0.5, "yes", "no")


def test_wavelengths_are_names_if_the_target_is_one(desk, call):
    names = [f"{900 + i / 2:.1f}" for i in range(8)]
    table = pd.DataFrame(RNG.standard_normal((60, 8)).round(3), columns=names)
    table.assign(kind=KIND).to_csv("spectra.csv", index=False)
    answer = call("fit", "spectra.csv", "--target", "kind", "-o", "m.modae", "--no-check", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["columns"] == 8
    table.to_csv("new.csv", index=False)  # the target is not in it: the model knows the names
    assert call("predict", "m.modae", "new.csv", "-o", "out.csv").code == 0


def test_two_notations_in_one_file_are_both_read(desk, call):
    fees, bills = RNG.uniform(1000, 9000, 60).round(2), RNG.uniform(10, 999, 60).round(2)
    european = [f"{fee:,.2f}".translate(str.maketrans(",.", ".,")) for fee in fees]
    table = pd.DataFrame({"fee": european, "bill": [f"${bill:.2f}" for bill in bills], "kind": KIND})
    table.to_csv("t.csv", sep=";", index=False)
    command = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check").proposed
    assert "--drop" not in command
    assert call(*command, "--scale", "standard").code == 0
    means = modae.load("m.modae")[0].mean_
    assert means == pytest.approx([fees.mean(), bills.mean()])


def test_the_command_has_all_that_would_be_said_next(desk, call):
    texts = [f"it is {word} ({i})" for i, word in enumerate(RNG.choice(["good", "bad"], 60))]
    table = flowers(60).assign(respondent=np.arange(100, 160), comment=texts, town="Ulm")
    table.loc[3, "wide"] = np.nan
    table.to_csv("t.csv", index=False)
    command = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check").proposed
    assert {"--encode", "--impute", "comment", "respondent"} <= set(command)
    answer = call(*command, "--json")
    assert answer.code == 0, answer.err
    assert any("'town'" in note and "same" in note for note in json.loads(answer.out)["notes"])


def test_a_column_without_values_is_to_be_left_out(desk, call):
    flowers(40).assign(empty=np.nan).to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    assert "--impute" not in answer.err
    assert call(*answer.proposed).code == 0


def test_labels_in_another_file_are_answered_with_the_way_to_join_them(desk, call):
    np.save("X.npy", RNG.standard_normal((20, 3)))
    np.save("y.npy", np.arange(20) % 2)
    answer = call("fit", "X.npy", "--target", "y.npy", "-o", "m.modae")
    assert "numpy.savez" in answer.said
    np.savez("t.npz", X=np.load("X.npy"), y=np.load("y.npy"))
    assert call("fit", "t.npz", "--target", "y", "-o", "m.modae", "--no-check").code == 0


def test_a_mark_of_nothing_that_the_model_knows_is_kept_beside_a_new_one(desk, call):
    table = flowers(60).astype({"wide": object})
    table.loc[[3, 9], "wide"] = "?"
    table.to_csv("t.csv", index=False)
    fit = (
        "fit",
        "t.csv",
        "--target",
        "kind",
        "-o",
        "m.modae",
        "--no-check",
        "--missing",
        "?",
        "--impute",
    )
    assert call(*fit, "--strip", "$").code == 0
    table.loc[[20, 21], "wide"] = ["n.a.", "$3"]
    table.to_csv("new.csv", index=False)
    answer = call("predict", "m.modae", "new.csv", "-o", "out.csv")
    assert answer.proposed[-2:] == ["--missing", "n.a."]
    assert call(*answer.proposed).code == 0
    table.loc[22, "wide"] = "€4"
    table.to_csv("new.csv", index=False)
    answer = call("predict", "m.modae", "new.csv", "-o", "out.csv", "--missing", "n.a.")
    assert answer.proposed[-2:] == ["--strip", "€"]
    assert call(*answer.proposed).code == 0


DAYS = pd.to_datetime("2024-03-21 07:54") + pd.to_timedelta(np.arange(60) * 100.5, unit="h")
STAMPS = ["%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S"]


@pytest.mark.parametrize("stamp", [*STAMPS, "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%S+00:00"])
def test_dates_with_times_are_dates(desk, call, stamp):
    flowers(60).assign(when=RNG.permutation(DAYS.strftime(stamp))).to_csv("t.csv", index=False)
    answer = call(
        "fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check", "--scale", "standard"
    )
    assert answer.proposed[-1] == "--dates"
    assert call(*answer.proposed).code == 0
    scaler = modae.load("m.modae")[0]
    days = (DAYS - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    mean = scaler.mean_[list(scaler.feature_names_in_).index("when_days")]
    assert mean == pytest.approx(days.to_numpy().mean(), abs=1e-6)


@pytest.mark.parametrize(
    "stamp", ["%m/%d/%Y %H:%M", "%d.%m.%y %H:%M", "%Y-%m-%d %I:%M %p", "%d %b %Y %H:%M"]
)
def test_of_other_dates_it_is_said_how_to_write_them(desk, call, stamp):
    flowers(60).assign(when=DAYS.strftime(stamp)).to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    assert "column 'when' has dates, such as " in answer.said
    assert "write the dates of 'when' as 2026-01-31" in answer.said


def test_numbers_are_names_where_a_column_of_theirs_is_named(desk, call):
    table = flowers(60).rename(columns={"wide": "2001", "high": "2002"})
    table.to_csv("t.csv", index=False)
    for more in (["--target", "kind", "--no-check"], ["--drop", "kind"]):
        answer = call("fit", "t.csv", "-o", "m.modae", "--json", *more)
        assert "--no-header" not in str(json.loads(answer.out).get("notes"))


LIKERT = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


@pytest.mark.parametrize(
    "answers",
    [
        LIKERT,
        ["Never", "Rarely", "Sometimes", "Often", "Always"],
        ["S", "M", "L", "XL"],
        ["high school", "Bachelor", "Master", "PhD"],
    ],
    ids=lambda answers: answers[0],
)
def test_strings_in_an_order_become_one_number_if_the_order_is_said(desk, call, answers):
    places = np.arange(60) % len(answers)
    table = flowers(60).assign(answer=np.array(answers)[places], town=["Ulm", "Bonn"] * 30)
    table.to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check", "--encode", "--json")
    notes = json.loads(call(*fit).out)["notes"]
    (option,) = [note.partition(" keep it with ")[2].rstrip(".") for note in notes if "--order" in note]
    assert shlex.split(option) == ["--order", ",".join(answers)]
    answer = call(*fit, *shlex.split(option), "--scale", "none")
    assert answer.code == 0, answer.err
    assert not any("--order" in note for note in json.loads(answer.out).get("notes", []))
    steps = modae.load("m.modae")[:-1]
    names = list(steps.get_feature_names_out())
    rows = steps.transform(table.drop(columns="kind"))
    np.testing.assert_array_equal(rows[:, names.index("answer")], places)
    assert {"town_Ulm", "town_Bonn"} <= set(names)
    table.loc[:3, "answer"] = "perhaps"
    table.to_csv("new.csv", index=False)
    answer = call("predict", "m.modae", "new.csv", "-o", "out.csv")
    assert "Column 'answer': 4 values that the fit never saw, taken for the median." in " ".join(
        answer.out.split()
    )


def test_the_proposed_command_has_the_order_of_strings(desk, call):
    answers = ["disagree", "neutral", "agree"]
    table = flowers(60).assign(answer=answers * 20, town=["Ulm", "Bonn"] * 30)
    table.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check"]
    assert call(*fit).proposed == [*fit, "--encode", "--order", ",".join(answers)]
    # An order that was typed is kept.
    other = ",".join(answers[::-1])
    assert call(*call(*fit, "--scale", "none", "--order", other).proposed).code == 0
    steps = modae.load("m.modae")[:-1]
    rows = steps.transform(table.drop(columns="kind")[:3])
    assert rows[:, [*steps.get_feature_names_out()].index("answer")].tolist() == [2.0, 1.0, 0.0]


def test_days_of_dates_are_no_id(desk, call):
    table = flowers(60).assign(when=pd.date_range("2025-01-01", periods=60).strftime("%Y-%m-%d"))
    table.to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check", "--dates", "--json")
    notes = json.loads(call(*fit).out)["notes"]
    assert not any("when_days" in note for note in notes)
    assert any("'when_year'" in note for note in notes)


def test_a_large_file_says_what_makes_it_smaller(desk, call, monkeypatch):
    fit = ("fit", "good.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    assert "is large" not in call(*fit).out
    monkeypatch.setattr("modae.cli.fitting.LARGE", 1_000)
    said = " ".join(call(*fit).out.split())
    assert "m.modae is large: each module has numbers for each of the 6 columns. Fewer --modules" in said


def test_an_order_with_gaps_is_filled_and_goes_with_tune(desk, call):
    table = flowers(60).assign(size=[["S", "M", "L", None][i % 4] for i in range(60)])
    table.to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--encode", "--order", "S,M,L")
    answer = call(*fit, "--no-check")
    assert call(*answer.proposed, "-q").code == 0
    answer = call(*answer.proposed)
    assert any("modae tune" in line and "--order S,M,L" in line for line in answer.out.splitlines())
    rows = modae.load("m.modae")[0].transform(table.drop(columns="kind"))
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("--order S,M,L", "make it numbers with --encode"),
        ("--encode --order S,M", "'size' has 'L' too."),
        ("--encode --order S,S", "--order S,S: name different strings"),
        ("--encode --order S,M,L --drop size", "no column of strings has these only."),
    ],
)
def test_an_order_that_fits_no_column_is_refused(desk, call, typed, says):
    flowers(60).assign(size=["S", "M", "L"] * 20).to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", *typed.split())
    assert answer.code == 2
    assert says in answer.said


def test_a_file_says_how_its_table_was_read(desk, call):
    table = flowers(60).assign(price=[f"{i},5" for i in range(60)], when=DAYS.strftime("%d.%m.%Y %H:%M"))
    table.to_csv("t.csv", index=False, sep=";", decimal=",")
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    assert call(*fit, "--decimal", ",", "--dates", "--missing", "n.a.").code == 0
    (note,) = [each for each in modae.describe("m.modae")["notes"] if "read with" in each]
    assert "read with --decimal , --missing n.a. --dates: " in note
    assert "modae predict" in note
    assert "pandas.read_csv" in note
    assert note in " ".join(call("info", "m.modae").out.split())
    assert call("fit", "good.csv", "--target", "kind", "-o", "m.modae", "--no-check").code == 0
    assert "read with" not in call("info", "m.modae").out


def test_numbers_in_the_first_line_stay_as_they_are_written(desk, call):
    """Names of wavelengths, from every kind of file."""
    import openpyxl

    rows = RNG.standard_normal((30, 3)).round(3)
    names = ["900", "901.0", "902.50"]
    frame = pd.DataFrame(rows, columns=names).assign(kind=KIND[:30])
    frame.to_csv("t.csv", index=False)
    frame.to_csv("t.txt", index=False, sep=" ")
    frame.to_parquet("t.parquet")
    frame.to_json("t.jsonl", orient="records", lines=True)
    book = openpyxl.Workbook()
    for row in [[*names, "kind"], *frame.to_numpy().tolist()]:
        book.active.append(row)
    book.save("t.xlsx")
    for name in ("t.csv", "t.txt", "t.parquet", "t.jsonl", "t.xlsx"):
        answer = call("fit", name, "--target", "kind", "-o", "m.modae", "--no-check")
        assert answer.code == 0, answer.err
        assert list(modae.load("m.modae").feature_names_in_) == names, name


SPECTRA = RNG.random((60, 12)).round(4)
SCALES = {
    "even": np.arange(900, 924, 2),
    "even, falling": [f"{each:.1f}" for each in 4000 - 3.9 * np.arange(12)],
    "rising": [0.5, 1, 2, 5, 7, 11, 12, 18, 20, 21, 30, 60],
    "times": np.arange(12) / 12,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("labelled", [False, True])
def test_a_first_line_that_is_a_scale_has_names(desk, call, scale, labelled):
    table = pd.DataFrame(SPECTRA, columns=[*map(str, SCALES[scale])])
    if labelled:
        table.insert(0, "batch", np.arange(60) % 7)
    table.to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "-o", "m.modae", "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told["rows"] == 60
    assert any("The first line was taken for names" in note for note in told["notes"])
    assert "--no-header" not in answer.out
    assert call("transform", "m.modae", "t.csv", "-o", "out.csv").code == 0


def test_a_first_line_like_the_others_is_a_row(desk, call):
    even = np.arange(60)[:, None] + np.arange(12)
    for rows in (SPECTRA, SPECTRA.cumsum(axis=1), even, SPECTRA[:, :3]):
        pd.DataFrame(rows).to_csv("t.csv", index=False, header=False)
        answer = call("fit", "t.csv", "-o", "m.modae")
        assert answer.code == 2
        assert "--no-header" in answer.said


def test_a_table_that_does_not_fit_is_told_the_columns_of_the_model(desk, call):
    pd.DataFrame(SPECTRA, columns=np.arange(900, 924, 2)).to_csv("t.csv", index=False)
    assert call("fit", "t.csv", "-o", "m.modae", "-q").code == 0
    pd.DataFrame(SPECTRA).to_csv("new.csv", index=False, header=False)
    answer = call("transform", "m.modae", "new.csv", "-o", "out.csv")
    assert "new.csv lacks '900', '902'" in answer.said
    assert "--no-header" not in answer.said
    assert call("fit", "new.csv", "-o", "m.modae", "-q", "--no-header").code == 0
    answer = call("transform", "m.modae", "new.csv", "-o", "out.csv")
    assert "use --no-header, as in the fit" in answer.said


@pytest.mark.parametrize("dtype", [object, "string"])
@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
def test_a_model_that_fills_takes_what_pandas_has_for_nothing(desk, call, dtype, nothing):
    town = np.array(["Ulm", "Bonn", "Ulm", None] * 15, dtype=object)
    size = np.array(["S", "M", "L", "S", None] * 12, dtype=object)
    table = flowers(60).assign(town=town, size=size)
    table.loc[3, "wide"] = np.nan
    table.to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--encode", "--impute")
    assert call(*fit, "--order", "S,M,L", "--no-check").code == 0
    assert call("predict", "m.modae", "t.csv", "-o", "out.csv").code == 0
    rows = table.drop(columns="kind")
    for name in ("town", "size"):
        filled = [nothing if each is None else each for each in table[name]]
        rows[name] = pd.Series(filled, dtype=dtype)
    told = modae.load("m.modae").predict(rows)
    np.testing.assert_array_equal(told, pd.read_csv("out.csv")["predicted_kind"])


def test_each_column_that_is_refused_has_its_line_and_its_reason(desk, call):
    table = flowers(60).assign(
        id=np.arange(500, 560),
        price="7,5",
        comment=[f"it is {i} days ago" for i in range(60)],
        code=[f"K{i}" for i in range(60)],
        town=["Ulm", "Bonn", None] * 20,
        nothing="",
        **{f"q{i:02}": ["yes", "no"] * 30 for i in range(20)},
    )
    table.loc[3, "wide"] = np.nan
    table.to_csv("t.csv", index=False)
    answer = call("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    said = answer.said
    for column, reason in {
        "comment": "another string in most rows, as in free text: leave it out;",
        "code": "another string in most rows, as in an id: leave it out;",
        "town": "no value in 20 rows;",
    }.items():
        assert said.partition(f" {column!r} (")[2].partition("): ")[2].startswith(reason)
    assert "12 more, such as 'q08'; every row of 'id' has another whole number" in said
    assert "no row has a value in 'nothing': leave it out; some cells of 'wide' are empty" in said
    assert call(*answer.proposed).code == 0


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("step", [1, -1], ids=["rising", "falling"])
def test_dates_in_the_order_of_the_rows_are_to_be_left_out(desk, call, stamp, step):
    flowers(60).assign(when=DAYS[::step].strftime(stamp)).to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    answer = call(*fit)
    assert "rows are in the order of 'when': new rows will lie beyond it" in answer.said
    assert answer.proposed == [*fit, "--drop", "when"]
    assert call(*answer.proposed).code == 0
    answer = call(*fit, "--dates", "--json")
    (note,) = [note for note in json.loads(answer.out)["notes"] if "order" in note]
    assert note.startswith("Rows are in the order of 'when': new rows will lie beyond it, and")
    flowers(60).assign(when=RNG.permutation(DAYS.strftime(stamp))).to_csv("t.csv", index=False)
    assert "order" not in str(json.loads(call(*fit, "--dates", "--json").out).get("notes"))


def test_columns_are_counted_as_in_the_file_and_those_left_out_are_not_spoken_of(desk, call):
    table = flowers(60).assign(
        town=["Ulm", "Bonn", "Rom"] * 20,
        when=RNG.permutation(DAYS.strftime("%Y-%m-%d %H:%M")),
        log=DAYS.strftime("%Y-%m-%d"),
        comment=[f"it is {i} days ago" for i in range(60)],
    )
    table.to_csv("t.csv", index=False)
    fit = ("fit", "t.csv", "--target", "kind", "-o", "m.modae", "--no-check")
    answer = call(*call(*fit).proposed)
    assert answer.code == 0, answer.err
    said = " ".join(answer.out.split())
    assert "t.csv: 60 rows, 11 columns." in said
    assert "1 column of strings, 1 column of dates; 14 numbers after --encode and --dates." in said
    names = set(modae.load("m.modae").feature_names_in_)
    assert "when_hour" in names
    assert not any(name.startswith("log") for name in names)
    answer = call("predict", "m.modae", "t.csv", "-o", "out.csv", "--json")
    assert "notes" not in json.loads(answer.out)
    table.assign(more=1).to_csv("new.csv", index=False)
    answer = call("predict", "m.modae", "new.csv", "-o", "out.csv", "--json")
    assert json.loads(answer.out)["notes"] == ["Not used: 'more'."]
