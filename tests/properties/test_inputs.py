"""The same rows in any container, precision and number of parts: the same model and the same codes."""

from tempfile import TemporaryDirectory

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import modae
from modae import LinearModularAutoencoder
from properties.parts import assert_same_facts, fitted, mean_reconstruction
from strategies import costly, fits, splits

pytestmark = pytest.mark.filterwarnings("ignore:diversity=0:UserWarning")

IN_MEMORY = {
    "columns first": np.asfortranarray,
    "every second row of a larger array": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "backwards": lambda rows: rows[::-1].copy()[::-1],
    "list": lambda rows: rows.tolist(),
    "read-only": lambda rows: np.broadcast_to(rows, rows.shape),
    "other bytes": lambda rows: rows.astype(rows.dtype.newbyteorder()),
    "pandas": pd.DataFrame,
    "polars": lambda rows: pl.DataFrame(rows, schema=[f"c{k}" for k in range(rows.shape[1])]),
}

#: Many entries are zero, so that what is sparse is not stored.
SPARSE = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


@given(fits(), st.sampled_from(sorted(IN_MEMORY)))
def test_the_container_does_not_matter(case, name):
    rows, params = case
    held = IN_MEMORY[name](rows)
    model, plain = fitted(held, params), fitted(rows, params)
    assert_same_facts(model, plain)
    np.testing.assert_allclose(
        mean_reconstruction(model, held), mean_reconstruction(plain, rows), rtol=1e-7, atol=1e-7
    )


@given(fits(), st.sampled_from(SPARSE), st.floats(0.0, 1.0))
def test_sparse_rows_are_those_with_their_zeros_written_out(case, matrix, share):
    rows, params = case
    rows = np.where(np.random.default_rng(0).random(rows.shape) < share, rows, 0.0)
    model, plain = fitted(matrix(rows), params), fitted(rows, params)
    assert_same_facts(model, plain)
    np.testing.assert_allclose(model.mean_, plain.mean_, atol=1e-12)
    np.testing.assert_allclose(model.transform(matrix(rows)), model.transform(rows), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(matrix(rows)), model.score_samples(rows), atol=1e-8)


@given(fits())
def test_single_precision_is_the_same_to_its_tolerance(case):
    rows, params = case
    rows = rows.astype(np.float32)
    single, double = fitted(rows, params), fitted(rows.astype(np.float64), params)
    assert single.encoders_.dtype == single.transform(rows).dtype == np.float32
    # The mean that is subtracted costs digits.
    scale = np.square(rows, dtype=np.float64).sum(axis=1).mean()
    for name in ("loss_", "lower_bound_", "total_variance_"):
        assert getattr(single, name) == pytest.approx(getattr(double, name), abs=1e-5 * scale)
    wide = fitted(rows, {**params, "upcast": True})
    assert_same_facts(wide, double)


@costly  # a file for each example
@given(fits())
def test_a_memory_map_is_its_rows(case):
    rows, params = case
    with TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        mapped = np.load(f"{folder}/rows.npy", mmap_mode="r")
        model, plain = fitted(mapped, params), fitted(rows, params)
        np.testing.assert_array_equal(model.encoders_, plain.encoders_)
        np.testing.assert_array_equal(model.transform(mapped), plain.transform(rows))
        by_file = fitted(modae.open_batches(f"{folder}/rows.npy"), params)
        del mapped
    assert_same_facts(by_file, plain)


@costly  # a graph of tasks is made and run
@given(fits(), st.data())
def test_dask_gives_the_model_and_the_codes_of_the_rows_in_memory(case, data):
    rows, params = case
    heights = tuple(part.stop - part.start for part in data.draw(splits(len(rows))))
    lazy = da.from_array(rows, chunks=(heights, rows.shape[1]))
    model, plain = fitted(lazy, params), fitted(rows, params)
    assert_same_facts(model, plain)
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(rows), atol=1e-10)


@given(fits(), st.data())
def test_partial_fit_of_any_parts_is_one_fit(case, data):
    rows, params = case
    weights = data.draw(st.sampled_from([None, 1.0 + np.arange(len(rows)) % 3]))
    grown = LinearModularAutoencoder(**params)
    for part in data.draw(splits(len(rows))):
        own = None if weights is None else weights[part]
        grown.partial_fit(rows[part], sample_weight=own)
        if data.draw(st.booleans()) and grown.n_components <= grown.n_features_in_:
            assert np.isfinite(grown.loss_)  # reading in between changes nothing
    assert_same_facts(grown, fitted(rows, params, sample_weight=weights))


@given(fits(), st.data())
def test_batches_of_any_size_are_one_fit(case, data):
    rows, params = case
    parts, size = data.draw(splits(len(rows))), data.draw(st.integers(1, 20))
    batches = modae.open_batches(lambda: (rows[part] for part in parts), batch_size=size)
    model, plain = fitted(batches, params), fitted(rows, params)
    assert_same_facts(model, plain)
    np.testing.assert_allclose(model.transform(batches), model.transform(rows), atol=1e-10)


@given(fits(), st.data())
def test_codes_of_parts_are_parts_of_the_codes(case, data):
    rows, params = case
    model, parts = fitted(rows, params), data.draw(splits(len(rows)))
    codes = np.concatenate([model.transform(rows[part]) for part in parts])
    np.testing.assert_allclose(codes, model.transform(rows), atol=1e-11)
    stacked = model.transform_modules(rows)
    np.testing.assert_array_equal(np.hstack(list(stacked)), model.transform(rows))
