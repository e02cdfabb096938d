"""From a CSV to a model and back to a CSV: names, types and missing values of any kind come through."""

import csv
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import modae
from modae.cli.app import app
from modae.cli.console import run
from strategies import column_names, costly, tables, words


def say(*command):
    """Run a command, which must succeed."""
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(told):
        code = run(app, [str(word) for word in command])
    assert code == 0, told.getvalue()


def write(table, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(table.columns)
        writer.writerows(table.itertuples(index=False, name=None))


def read(path):
    """Names and columns of strings."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def with_target(table, name, classes):
    labels = [classes[row % len(classes)] for row in range(len(table))]
    return table.assign(**{name: pd.Series(labels, dtype=object)})


def as_read(table):
    """The frame that a model gets: truths are 0 and 1, missing numbers are NaN."""
    frame = pd.DataFrame(index=table.index)
    for name, column in table.items():
        is_text = any(isinstance(value, str) for value in column)
        frame[name] = column if is_text else column.astype(float)
    return frame


def unlike(*names):
    return lambda name: name not in names


@st.composite
def training_tables(draw, classes):
    """A table, the name of its target, and the table with it."""
    table = draw(tables())
    name = draw(column_names.filter(unlike(*table.columns)))
    found = draw(st.lists(classes, min_size=2, max_size=3, unique=True))
    return table, name, with_target(table, name, found)


def fit(data, model, target, *options):
    say("fit", data, "--target", target, "--encode", "--impute", "--no-check", *options, "-o", model)


@costly  # commands and files for each example
@given(training_tables(words))
def test_predictions_and_columns_that_are_kept_come_back(case):
    table, target, whole = case
    with TemporaryDirectory() as name:
        data, model, out = (Path(name) / each for each in ("t.csv", "m.modae", "out.csv"))
        write(whole, data)
        fit(data, model, target)
        keep = [word for column in whole.columns for word in ("--keep", column)]
        say("predict", model, data, *keep, "-o", out)
        told, ours = read(out), modae.load(model)
    for column in whole:
        assert_same_cells(told[column], whole[column])
    rows = as_read(table)
    assert list(ours.feature_names_in_) == list(table.columns)
    assert list(told[f"predicted_{target}"]) == list(ours.predict(rows))
    for label, chances in zip(ours.classes_, ours.predict_proba(rows).T, strict=True):
        np.testing.assert_allclose(np.array(told[f"probability_{label}"], float), chances, atol=1e-12)


def assert_same_cells(told, column):
    """Words as they were, numbers as numbers, and nothing where there was nothing."""
    for cell, value in zip(told, column, strict=True):
        if value is None:
            assert cell == ""
        elif isinstance(value, bool):
            assert cell.lower() == str(value).lower()
        else:
            assert type(value)(cell) == value


@costly
@given(tables(missing=False), st.sampled_from(["csv", "parquet"]))
def test_features_come_back_and_make_a_table_again(table, ending):
    with TemporaryDirectory() as name:
        data, model, out = (Path(name) / each for each in ("t.csv", "m.modae", f"out.{ending}"))
        write(table, data)
        say("fit", data, "--encode", "-o", model)
        say("transform", model, data, "-o", out)
        frame = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
        say("fit", out, "--scale", "none", "-o", Path(name) / "again.modae")
        ours, again = modae.load(model), modae.load(Path(name) / "again.modae")
    expected = ours.transform(as_read(table))
    assert list(frame.columns) == list(ours.get_feature_names_out())
    np.testing.assert_allclose(frame.to_numpy(), expected, rtol=1e-12, atol=1e-12)
    by_hand = modae.LinearModularAutoencoder(random_state=0).fit(frame)
    assert abs(again[-1].loss_ - by_hand.loss_) <= 1e-9 * by_hand.total_variance_


@costly
@given(training_tables(st.integers(-9, 9)))
def test_whole_numbers_are_classes_and_stay_whole(case):
    _, target, whole = case
    with TemporaryDirectory() as name:
        data, model, out = (Path(name) / each for each in ("t.csv", "m.modae", "out.csv"))
        write(whole, data)
        fit(data, model, target, "--task", "classify")
        say("predict", model, data, "-o", out)
        told = read(out)[f"predicted_{target}"]
    assert set(told) <= {str(label) for label in whole[target]}
