"""The pass before the fit: its numbers are those of the whole table, its sample is random."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

from modae.cli.console import UserError
from modae.cli.predicting import right_labels
from modae.cli.training_data import Sample, TrainingData, as_labels, scale_ratio, set_target
from modae.sources.opening import source_of
from modae.sources.source import ColumnSelection


def cut(rows, sizes):
    """The rows in batches of these sizes, the last of them again and again."""
    start = 0
    while start < rows.shape[0]:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        yield start, rows[start : start + size]
        start += size


@given(
    st.integers(1, 200),
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.integers(1, 5000),
    st.sampled_from(["dense", "frame", "sparse"]),
)
def test_a_sample_has_all_rows_or_random_ones_within_its_limit(n_rows, sizes, limit, kind):
    matrix = np.column_stack([np.arange(n_rows), np.ones(n_rows)]).astype(float)
    make = {"dense": np.asarray, "frame": pd.DataFrame, "sparse": csr_array}[kind]
    sample = Sample(limit)
    for start, rows in cut(make(matrix), sizes):
        sample.add(rows, start)
    kept = sample.rows.toarray() if kind == "sparse" else np.asarray(sample.rows)
    np.testing.assert_array_equal(kept, matrix[sample.places])
    assert (np.diff(sample.places) > 0).all()
    assert len(kept) == n_rows or sample.share < 1.0
    assert kind == "sparse" or kept.nbytes <= max(limit, 16)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_a_sample_does_not_depend_on_the_batches(sizes):
    samples = [Sample(400), Sample(400)]
    for sample, each in zip(samples, ([10], sizes), strict=True):
        for start, rows in cut(np.arange(200.0)[:, np.newaxis], list(each)):
            sample.add(rows, start)
    shares = [sample.share for sample in samples]
    few, many = sorted(samples, key=lambda sample: sample.share)
    assert set(few.places) <= set(many.places)
    assert max(shares) <= 2 * min(shares)


@pytest.mark.parametrize("period", [2, 4, 7, 8, 64])
def test_a_sample_of_a_periodic_table_has_every_kind_of_row(period):
    sample = Sample(8 * 4096)
    for start in range(0, 60_000, 1000):
        sample.add(np.arange(start, start + 1000.0)[:, np.newaxis] % period, start)
    assert sample.share < 1 / 8
    counts = np.bincount(sample.rows[:, 0].astype(int), minlength=period)
    expected = len(sample.rows) / period
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_scales_are_those_of_the_values_that_are_there():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((50, 3)) * [1, 20, 3], columns=["a", "b", "c"])
    frame.iloc[3, 0] = frame.iloc[40, 2] = np.nan
    table = replace(source_of(frame), kinds=dict.fromkeys("abc", "number"))
    found = TrainingData(table, ColumnSelection(("a", "b", "c")), fills=True)
    expected = StandardScaler().fit(frame)
    np.testing.assert_allclose(found.scaler.mean_, expected.mean_)
    np.testing.assert_allclose(found.scaler.scale_, expected.scale_)
    assert (found.n_rows, found.n_missing) == (50, 2)
    ratio, ends = scale_ratio(found.scaler)
    assert ends.split(", ")[1].startswith("b ")
    assert ratio == pytest.approx(frame.std().max() / frame.std().min(), rel=0.05)


def test_a_constant_column_does_not_make_scales_differ():
    rows = np.column_stack([np.arange(10.0), 2 * np.arange(10.0), np.full(10, 1e6)])
    assert scale_ratio(StandardScaler().fit(rows))[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1.0, 2.0], [1, 2]),
        ([1.0, 2.5], [1.0, 2.5]),
        ([True, False], [True, False]),
        (np.array(["a", "7"], dtype=object), ["a", "7"]),
        ([1e300, 2e300], [1e300, 2e300]),
        (np.array([2**63 + 1, 2], dtype=np.uint64), np.array([2**63 + 1, 2], dtype=np.uint64)),
        (np.array([3, 2], dtype=np.uint64), [3, 2]),
    ],
)
def test_labels_are_whole_numbers_numbers_or_strings(values, labels):
    got = as_labels(np.asarray(values))
    np.testing.assert_array_equal(got, np.asarray(labels))
    assert got.dtype.kind == np.asarray(labels).dtype.kind


def with_target(values):
    table = replace(source_of(np.zeros((len(values), 1))), labels={"y": values})
    return TrainingData(table, ColumnSelection(target="y"), fills=False)


@pytest.mark.parametrize(
    ("values", "task", "classify"),
    [
        (np.arange(51.0), "auto", False),
        (np.arange(100.0) // 2, "auto", True),
        (np.arange(50.0), "auto", False),
        (np.arange(51.0), "classify", True),
        (np.arange(3.0), "regress", False),
        (np.array([0.5, 1.5]), "auto", False),
        (np.array(["a", "b"], dtype=object), "auto", True),
    ],
)
def test_what_a_target_means(values, task, classify):
    found = with_target(values)
    set_target(found, "y", task)
    assert found.classify is classify


def test_an_infinite_target_is_refused():
    with pytest.raises(UserError, match=r"'y' is infinite in row 2"):
        set_target(with_target(np.array([0.5, np.inf, 1.0])), "y", "auto")


@pytest.mark.parametrize(
    ("true", "told", "right"),
    [
        ([True, False], [1, 1], [True, False]),
        ([1.0, 2.0], [1, 1], [True, False]),
        (["1", "x", "1.0"], [1, 1, 1], [True, False, True]),
        (["01", "x"], ["01", "01"], [True, False]),
        ([2**53, 2**53 + 1], [2**53, 2**53], [True, False]),
    ],
)
def test_numbers_are_right_as_numbers_and_strings_as_strings(true, told, right):
    true = np.array(true, dtype=object) if isinstance(true[0], str) else np.array(true)
    assert right_labels(true, np.array(told)).tolist() == right


@pytest.mark.parametrize("options", [[], ["--encode"]], ids=["numbers", "strings"])
def test_many_columns_are_read_at_once(desk, call, options):
    # One by one, pandas warns from the hundredth on, which is an error here, and thousands take minutes.
    rng, names = np.random.default_rng(0), [f"x{i}" for i in range(150)]
    cells = rng.integers(0, 9, (20, 150))
    letters = np.array(list("abcdefghi"))
    pd.DataFrame(letters[cells] if options else cells, columns=names).to_csv("wide.csv", index=False)
    answer = call("fit", "wide.csv", "-o", "wide.modae", *options)
    assert answer.code == 0, answer.err
    assert "PerformanceWarning" not in answer.out + answer.err
