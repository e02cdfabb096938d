"""What is wrong is said where the caller is, as for rows in memory, with the number of the chunk."""

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from modae import BaggingAutoencoder
from sources_dask.parts import FRAME, X, chunked, model, no_task_may_run, with_unknown_rows

EARLY = {
    "one dimension": (lambda: chunked()[:, 0], "two dimensions"),
    "three dimensions": (lambda: chunked()[:, :, None], "got 3 dimensions"),
    "a series": (lambda: dd.from_pandas(FRAME, npartitions=2)["pixel1"], "got a dask Series"),
    "a bag": (lambda: db.from_sequence([1.0, 2.0]), "got a dask Bag"),
    "a delayed value": (lambda: dask.delayed(X), "got a dask DelayedLeaf"),
    "complex": (lambda: chunked().astype(complex), "Complex data not supported"),
    "no columns": (lambda: chunked()[:, :0], "0 feature"),
}


@pytest.mark.parametrize(("make", "message"), EARLY.values(), ids=EARLY)
def test_what_can_be_told_without_reading(make, message):
    with dask.config.set(scheduler=no_task_may_run):
        for fit in (model().fit, model().partial_fit, BaggingAutoencoder(2, 2).fit):
            with pytest.raises(ValueError, match=message):
                fit(make())
        with pytest.raises(ValueError, match=message):
            model().fit(X).transform(make())


def test_other_columns_than_those_of_the_fit():
    fitted, named = model().fit(X), model().fit(FRAME)
    turned = dd.from_pandas(FRAME[FRAME.columns[::-1]], npartitions=2)
    with dask.config.set(scheduler=no_task_may_run):
        for method in (fitted.transform, fitted.partial_fit):
            with pytest.raises(ValueError, match=r"X has 60 features, but .* is expecting 64"):
                method(chunked()[:, :60])
        for method in (named.transform, named.partial_fit):
            with pytest.raises(ValueError, match="feature names should match"):
                method(turned)


def with_one(value, dtype=float):
    rows = X.astype(dtype)
    rows[700, 3] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (with_one(np.nan), "contains NaN"),
        (with_one(np.inf), "contains infinity"),
        (with_one("word", object), "could not convert"),
    ],
)
def test_a_bad_value_names_its_chunk(rows, message):
    array, good = chunked(rows=rows), model().fit(X)
    for ask in (model().fit, BaggingAutoencoder(2, 2).fit, lambda X: good.transform(X).compute()):
        with pytest.raises(ValueError, match=f"(?s)Chunk 2 of X: .*{message}"):
            ask(array)
    frame = dd.from_pandas(FRAME.assign(pixel3=rows[:, 3]), npartitions=3)
    with pytest.raises(ValueError, match=f"(?s)Chunk 1 of X: .*{message}"):
        model().fit(frame)


def test_a_chunk_that_is_not_as_wide_as_dask_believes():
    liar = chunked().map_blocks(lambda block: block[:, :60], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"Chunk \d of X: X has 60 features, but .* is expecting 64"):
        model().fit(liar)


def test_a_partition_whose_columns_are_not_those_that_dask_believes():
    def turn_one(part):
        return part[part.columns[::-1]] if part.index[0] else part

    frame = dd.from_pandas(FRAME, npartitions=2)
    liar = frame.map_partitions(turn_one, meta=FRAME.iloc[:0], enforce_metadata=False)
    fitted = model().fit(FRAME)
    for ask in (model().fit, lambda X: fitted.transform(X).compute()):
        with pytest.raises(ValueError, match=r"(?s)Chunk 1 of X: .*feature names should match"):
            ask(liar)


def test_missing_entries_of_nullable_columns():
    table = FRAME.assign(pixel3=pd.array([None, *range(len(X) - 1)], dtype="Int64"))
    with pytest.raises(ValueError, match="Chunk 0 of X: Input X contains NaN"):
        model().fit(dd.from_pandas(table, npartitions=2))


@pytest.mark.parametrize("estimator", [model(), BaggingAutoencoder(2, 2)])
@pytest.mark.parametrize("rows", [chunked()[:0], chunked()[chunked()[:, 0] > 99.0]])
def test_no_rows_at_all(estimator, rows):
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 64\)\)"):
        estimator.fit(rows)


def test_a_failed_fit_leaves_the_stream_as_it_was():
    stream = model().partial_fit(X)
    before = stream.loss_
    with pytest.raises(ValueError, match="contains NaN"):
        stream.partial_fit(chunked(rows=with_one(np.nan)))
    assert stream.loss_ == before


ONES = da.ones(1700, chunks=300)

WEIGHTS = {
    "negative": (lambda: 1 - 2 * (da.arange(1797, chunks=300) == 700), "Chunk 2 .*not negative, got -1"),
    "too few": (lambda: ONES, "each of the"),
    "too few, unknown": (lambda: ONES[ONES > 0.0], "each of the"),
    "too few, in memory": (lambda: np.ones(3), "each of the 1797 rows"),
    "too few chunks": (lambda: da.ones(900, chunks=300), "each of the 1797 rows"),
    "a matrix": (lambda: chunked(), "one dimension"),
    "a delayed value": (lambda: dask.delayed(np.ones(1797)), "one dimension.*got a dask DelayedLeaf"),
    "all zero": (lambda: da.zeros(1797, chunks=300), "zero for every row"),
    "words": (lambda: da.from_array(np.array(["a"] * 1797), chunks=300), "must be numbers"),
}


@pytest.mark.parametrize(("make", "message"), WEIGHTS.values(), ids=WEIGHTS)
def test_weights(make, message):
    for rows in (chunked(), with_unknown_rows(chunked())):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            model().fit(rows, sample_weight=make())


def test_a_score_of_no_rows_is_no_number():
    rows = chunked()
    with pytest.raises(ValueError, match="0 sample"):
        model().fit(X).score(rows[rows[:, 0] > 1e9])
