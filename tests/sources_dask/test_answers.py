"""Answers stay lazy, and are those for all rows at once."""

import dask
import dask.dataframe as dd
import numpy as np
import pytest
from dask.array import Array
from dask.base import tokenize
from sklearn import config_context

from modae import BaggingAutoencoder
from sources_dask.parts import (
    CHUNKINGS,
    FRAME,
    X,
    chunked,
    holds_data,
    model,
    models_in,
    no_task_may_run,
    with_unknown_rows,
)

METHODS = ("transform", "transform_modules", "reconstruct_modules", "score_samples")


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("chunks", CHUNKINGS.values(), ids=CHUNKINGS)
def test_answers_by_chunk_are_the_answers(fitted, method, chunks):
    expected = getattr(fitted, method)(X)
    axis = expected.shape.index(len(X))
    with dask.config.set(scheduler=no_task_may_run):
        lazy = getattr(fitted, method)(chunked(chunks))
        unknown = getattr(fitted, method)(with_unknown_rows(chunked(chunks)))
    assert lazy.shape == expected.shape
    assert lazy.chunks[axis] == chunked(chunks).chunks[0]
    assert np.isnan(unknown.shape[axis])
    for answer in (lazy, unknown):
        assert (answer.dtype, answer._meta.ndim) == (expected.dtype, expected.ndim)
        np.testing.assert_allclose(answer.compute(), expected, atol=1e-9)


def test_codes_go_back_without_being_computed(fitted):
    with dask.config.set(scheduler=no_task_may_run):
        lazy = fitted.inverse_transform(fitted.transform(chunked()))
    np.testing.assert_allclose(lazy.compute(), fitted.inverse_transform(fitted.transform(X)), atol=1e-9)


def test_float32_stays(fitted):
    single = chunked().astype("float32")
    frame = dd.from_pandas(FRAME.astype("float32"), npartitions=2)
    assert fitted.transform(single).dtype == fitted.transform(X.astype("float32")).dtype
    assert model().fit(single).transform(single).dtype == np.float32
    assert model().fit(frame).transform(frame).dtype == np.float32


def test_dataframes_give_arrays(fitted):
    frame = dd.from_pandas(FRAME, npartitions=4)
    lazy = model().fit(frame).transform(frame)
    assert isinstance(lazy, Array)
    np.testing.assert_allclose(lazy.compute(), fitted.transform(X), atol=1e-9)


def test_only_the_chunks_that_are_asked_for_are_read(fitted):
    read = []

    def note(block):
        read.append(len(block))
        return block

    rows = chunked().map_blocks(note, dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        fitted.transform(rows)[:5].compute()
    assert read == [300]


def test_score(fitted):
    assert fitted.score(with_unknown_rows(chunked())) == pytest.approx(fitted.score(X))


def test_fit_transform(fitted):
    lazy = model().fit_transform(chunked())
    np.testing.assert_allclose(lazy.compute(), fitted.transform(X), atol=1e-8)


def test_the_model_travels_once_and_light(fitted):
    (light,) = models_in(fitted.transform(chunked((20, 64))))
    assert not holds_data(light)
    assert holds_data(fitted), "the caller's model lost its sums"
    np.testing.assert_array_equal(light.encoders_, fitted.encoders_)


def test_a_stream_is_solved_before_it_travels():
    stream = model().partial_fit(X[:900]).partial_fit(X[900:])
    (light,) = models_in(stream.transform(chunked()))
    assert not holds_data(light)
    np.testing.assert_array_equal(light.transform(X), stream.transform(X))


def test_bagging_answers(fitted):
    bagging = BaggingAutoencoder(3, 4, random_state=0).fit(X)
    np.testing.assert_allclose(bagging.transform(chunked()).compute(), bagging.transform(X), atol=1e-9)


def test_equal_questions_have_equal_names(fitted):
    same = fitted.transform(chunked()), fitted.transform(chunked())
    assert tokenize(same[0]) == tokenize(same[1])
    other = fitted.with_params(diversity=0.1).transform(chunked())
    assert other.name != same[0].name


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_a_table_in_memory_is_refused(container):
    tabular = model().fit(X).set_output(transform=container)
    with dask.config.set(scheduler=no_task_may_run), pytest.raises(ValueError, match="would gather"):
        tabular.transform(chunked())


def test_a_table_by_global_setting_is_refused(fitted):
    with config_context(transform_output="pandas"), pytest.raises(ValueError, match="would gather"):
        fitted.transform(chunked())


def test_the_remedy_of_that_error_works(fitted):
    codes = fitted.transform(chunked())
    table = dd.from_dask_array(codes, columns=fitted.get_feature_names_out())
    assert table.columns[0] == "module0_0"


def test_missing_names_are_told_once():
    named = model().fit(FRAME)
    with dask.config.set(scheduler="synchronous"):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            lazy = named.transform(chunked())
        np.testing.assert_allclose(lazy.compute(), named.transform(FRAME), atol=1e-9)


def test_names_that_nobody_knows_are_told_once(fitted):
    with dask.config.set(scheduler="synchronous"):
        with pytest.warns(UserWarning, match="fitted without feature names"):
            lazy = fitted.transform(dd.from_pandas(FRAME, npartitions=4))
        np.testing.assert_allclose(lazy.compute(), fitted.transform(X), atol=1e-9)
