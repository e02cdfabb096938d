"""Data in batches: every source gives the model of the same rows in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits

import modae

X, LABELS = load_digits(return_X_y=True)
X = X[:600] + 0.01 * np.random.default_rng(0).standard_normal((600, 64))
LABELS = LABELS[:600]
NAMES = [f"pixel{place}" for place in range(64)]
FRAME = pd.DataFrame(X, columns=NAMES)
LABELLED = FRAME.assign(label=LABELS)
SHUFFLED = ["label", *reversed(NAMES)]


def new():
    return modae.LinearModularAutoencoder(4, 3, 0.5, random_state=0)


WHOLE = new().fit(X)


def axes_of(model):
    """The projector on the principal axes: axes may change their sign."""
    return model.principal_axes_.T @ model.principal_axes_


def assert_same_model(model, whole=WHOLE, tolerance=1e-9):
    assert model.loss_ == pytest.approx(whole.loss_, rel=tolerance)
    np.testing.assert_allclose(model.allocation_, whole.allocation_, atol=tolerance)
    np.testing.assert_allclose(model.mean_, whole.mean_, atol=tolerance)
    np.testing.assert_allclose(axes_of(model), axes_of(whole), atol=tolerance)


def cut(rows, *places):
    edges = [0, *places, rows.shape[0]]
    return [rows[a:b] for a, b in pairwise(edges)]


def npy(folder):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def fortran(folder):
    np.save(folder / "rows.npy", np.asfortranarray(X))
    return folder / "rows.npy"


def npy_folder(folder):
    for place, part in enumerate(cut(X, *range(50, 600, 50))):
        np.save(folder / f"part-{place}.npy", part)  # part-10 comes after part-9, not after part-1
    return folder


def parquet(folder):
    table = pa.Table.from_pandas(LABELLED)
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=37)
    return folder / "rows.parquet"


def parquet_folder(folder):
    """Files with the columns in another order."""
    for place, part in enumerate((LABELLED[:250], LABELLED[250:][SHUFFLED])):
        part.to_parquet(folder / f"{place}.parquet")
    return folder


def feather(folder):
    pyarrow.feather.write_feather(pa.Table.from_pandas(LABELLED), folder / "rows.feather", chunksize=70)
    return folder / "rows.feather"


def csv(folder):
    LABELLED.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def dataset(folder):
    return pyarrow.dataset.dataset(parquet(folder))


FILES = [npy, fortran, npy_folder]
NAMED_FILES = [parquet, parquet_folder, feather, csv, dataset]
NAMED = {
    "pandas": lambda: LABELLED,
    "polars": lambda: pl.from_pandas(LABELLED),
    "pyarrow": lambda: pa.Table.from_pandas(LABELLED),
    "reader": lambda: pa.Table.from_pandas(LABELLED).to_reader(max_chunksize=90),
    "list of pandas": lambda: [LABELLED[:100], LABELLED[100:][SHUFFLED]],
    "iterator of polars": lambda: iter([pl.from_pandas(LABELLED[:7]), pl.from_pandas(LABELLED[7:])]),
    "function of pyarrow": lambda: lambda: pa.Table.from_pandas(LABELLED).to_batches(max_chunksize=11),
}
PLAIN = {
    "array": lambda: X,
    "list": lambda: cut(X, 3, 4, 400),
    "with empty batches": lambda: [X[:0], X[:70], X[70:70], X[70:], X[:0]],
    "lists of numbers": lambda: [part.tolist() for part in cut(X, 300)],
    "one row each": lambda: (row[None] for row in X),
    "generator": lambda: (part for part in cut(X, 1, 2, 500)),
    "function": lambda: lambda: iter(cut(X, 200)),
    "sparse": lambda: [sparse.csr_array(part) for part in cut(X, 123)],
    "sparse matrix": lambda: sparse.csc_matrix(X),
    "dense and sparse": lambda: [X[:99], sparse.csr_array(X[99:])],
    "batch in other layouts": lambda: [np.asfortranarray(X[:99]), X[99:, ::-1][:, ::-1]],
}


@pytest.mark.parametrize("batch_size", [None, 1, 64, 100, 599])
@pytest.mark.parametrize("kind", PLAIN)
def test_plain_sources(kind, batch_size):
    batches = modae.open_batches(PLAIN[kind](), batch_size=batch_size)
    assert (batches.n_features, batches.names, batches.dtype) == (64, None, np.float64)
    assert batches.n_rows in (600, None)
    model = new().fit(batches)
    assert_same_model(model)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("batch_size", [None, 50])
@pytest.mark.parametrize("kind", NAMED)
def test_named_sources(kind, batch_size):
    batches = modae.open_batches(NAMED[kind](), target="label", batch_size=batch_size)
    assert batches.names == tuple(NAMES)
    model = new().fit(batches)
    assert_same_model(model)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)


@pytest.mark.parametrize("make", FILES)
def test_files_without_names(make, tmp_path):
    batches = modae.open_batches(make(tmp_path), batch_size=77)
    assert batches.n_rows == 600
    assert_same_model(new().fit(batches))
    np.testing.assert_array_equal(batches.to_array(), X)


@pytest.mark.parametrize("make", NAMED_FILES)
def test_files_with_names(make, tmp_path):
    batches = modae.open_batches(make(tmp_path), target="label", batch_size=77)
    assert batches.names == tuple(NAMES)
    assert batches.n_rows == (None if make is csv else 600)
    model = new().fit(batches)
    assert_same_model(model)
    np.testing.assert_array_equal(batches.read_target(), LABELS)
    np.testing.assert_allclose(model.transform(batches), model.transform(FRAME), atol=1e-9)


@given(st.lists(st.integers(0, 600), max_size=8), st.integers(1, 700))
def test_pieces_of_any_size_are_cut_to_batches_of_one_size(places, batch_size):
    batches = modae.open_batches(cut(X, *sorted(places)), batch_size=batch_size)
    found = list(batches)
    assert [len(batch) for batch in found[:-1]] == [batch_size] * (len(found) - 1)
    assert [batch.start for batch in found] == list(range(0, 600, batch_size))
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in found]), X)
    assert all(batch.rows.flags.c_contiguous for batch in found)


@given(st.integers(0, 600), st.integers(20, 200), st.sampled_from([npy_folder, parquet, feather, csv]))
def test_reading_can_begin_at_any_row(tmp_path_factory, start, batch_size, make):
    batches = opened(tmp_path_factory, make, batch_size)
    parts = list(batches.read(start))
    assert sum(len(part) for part in parts) == 600 - start
    if parts:
        assert parts[0].start == start
        np.testing.assert_allclose(np.concatenate([part.rows for part in parts]), X[start:], rtol=1e-15)


FOLDERS = {}


def opened(tmp_path_factory, make, batch_size):
    """The files are made once for all examples."""
    if make not in FOLDERS:
        FOLDERS[make] = make(tmp_path_factory.mktemp("source"))
    target = None if make is npy_folder else "label"
    return modae.open_batches(FOLDERS[make], target=target, batch_size=batch_size)


def test_rows_know_their_file(tmp_path):
    batch = next(iter(modae.open_batches(npy_folder(tmp_path), batch_size=120)))
    assert batch.place_of(0) == f"row 0 of {tmp_path / 'part-0.npy'}"
    assert batch.place_of(119) == f"row 19 of {tmp_path / 'part-2.npy'}"


def test_single_precision_stays(tmp_path):
    single = X.astype(np.float32)
    np.save(tmp_path / "rows.npy", single)
    batches = modae.open_batches(tmp_path / "rows.npy", batch_size=100)
    model, whole = new().fit(batches), new().fit(single)
    assert batches.dtype == model.encoders_.dtype == np.float32
    assert_same_model(model, whole, 1e-5)
    upcast = new().set_params(upcast=True)
    assert_same_model(upcast.fit(batches), new().fit(single.astype(np.float64)))


def test_a_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    batch = next(iter(modae.open_batches(tmp_path / "rows.npy", batch_size=100)))
    assert not batch.rows.flags.owndata
    assert not batch.rows.flags.writeable  # it is the file itself


def test_integers_and_booleans_are_numbers():
    whole = new().fit((X > 4).astype(float))
    assert_same_model(new().fit(modae.open_batches([X[:300] > 4, (X[300:] > 4).astype(np.int8)])), whole)
    frame = pd.DataFrame(X > 4, columns=NAMES).astype({"pixel3": "int64", "pixel4": "float32"})
    assert_same_model(new().fit(modae.open_batches(frame)), whole)


@pytest.mark.parametrize("batch_size", [None, 70, 30])
def test_weights_beside_the_rows(batch_size):
    weights = np.random.default_rng(1).integers(0, 3, 600)
    whole = new().fit(X, sample_weight=weights)
    batches = modae.open_batches(FRAME.assign(w=weights), weight="w", batch_size=batch_size)
    assert_same_model(new().fit(batches), whole)
    given_apart = modae.open_batches(X, batch_size=batch_size)
    assert_same_model(new().fit(given_apart, sample_weight=weights), whole)


def test_columns_are_chosen_by_name():
    chosen = ["pixel9", "pixel3", "pixel20", "pixel11", "pixel30"]
    batches = modae.open_batches([LABELLED[:99], LABELLED[99:][SHUFFLED]], columns=chosen)
    model = modae.LinearModularAutoencoder(2, 2, random_state=0).fit(batches)
    whole = modae.LinearModularAutoencoder(2, 2, random_state=0).fit(FRAME[chosen])
    assert_same_model(model, whole)
    np.testing.assert_allclose(
        model.transform(modae.open_batches(LABELLED[SHUFFLED])),
        model.transform(FRAME[chosen]),
        atol=1e-9,
    )


def test_partial_fit_takes_batches_and_finds_its_columns():
    model = new().partial_fit(modae.open_batches(FRAME[:200], batch_size=33))
    model.partial_fit(modae.open_batches(LABELLED[200:][SHUFFLED], columns=SHUFFLED[1:]))
    assert_same_model(model)


def test_a_source_that_is_open_stays_so():
    batches = modae.open_batches(X, batch_size=10)
    assert modae.open_batches(batches) is batches


@pytest.mark.parametrize("batch_size", [7, 50])
def test_a_generator_may_reuse_its_memory(batch_size):
    def rows():
        buffer = np.empty((7, 64))
        for start in range(0, 595, 7):
            buffer[:] = X[start : start + 7]
            yield buffer

    batches = modae.open_batches(rows, batch_size=batch_size)
    np.testing.assert_array_equal(batches.to_array(), X[:595])
    assert_same_model(new().fit(batches), new().fit(X[:595]))


def test_a_target_is_read_without_the_features():
    frame = LABELLED.assign(words="word")
    np.testing.assert_array_equal(modae.open_batches(frame, target="label").read_target(), LABELS)


@pytest.mark.parametrize(
    "method",
    ["transform", "transform_modules", "reconstruct_modules", "score_samples"],
)
def test_methods_answer_batch_by_batch(method):
    batches = modae.open_batches(X, batch_size=77)
    np.testing.assert_allclose(getattr(WHOLE, method)(batches), getattr(WHOLE, method)(X), atol=1e-9)


def test_bagging_draws_the_same_samples():
    whole = modae.BaggingAutoencoder(3, 4, random_state=0).fit(X)
    model = modae.BaggingAutoencoder(3, 4, random_state=0).fit(modae.open_batches(X, batch_size=90))
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.encoders_), np.abs(whole.encoders_), atol=1e-7)


def test_ensembles():
    batches = modae.open_batches(LABELLED, target="label", batch_size=90)
    model = modae.ModularClassifier(new(), random_state=0).fit(batches, batches.read_target())
    whole = modae.ModularClassifier(new(), random_state=0).fit(FRAME, LABELS)
    np.testing.assert_array_equal(model.predict(batches), whole.predict(FRAME))
    np.testing.assert_allclose(model.predict_proba(batches), whole.predict_proba(FRAME))
    assert model.score(batches, LABELS) == whole.score(FRAME, LABELS)
    regressor = modae.ModularRegressor(new(), random_state=0).fit(batches, LABELS)
    assert regressor.predict(batches).shape == (600,)


def test_wide_rows_are_kept_as_they_are():
    wide = np.random.default_rng(0).standard_normal((30, 200))
    whole = modae.LinearModularAutoencoder(3, 2, random_state=0).fit(wide)
    batches = modae.open_batches(wide, batch_size=7)
    assert_same_model(modae.LinearModularAutoencoder(3, 2, random_state=0).fit(batches), whole)
