"""A fit to chunks is the fit to all rows at once."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits

from modae import BaggingAutoencoder, LinearModularAutoencoder
from modae.sources.dask_rows import FAN_IN, PartialSum, joined_sums
from sources_dask.parts import (
    CHUNKINGS,
    FRAME,
    X,
    assert_same_model,
    chunked,
    model,
    no_task_may_run,
    with_unknown_rows,
)

WEIGHTS = np.arange(len(X)) % 3


@pytest.fixture(scope="module")
def in_memory():
    return model().fit(X)


@pytest.mark.parametrize("chunks", CHUNKINGS.values(), ids=CHUNKINGS)
def test_any_chunks_give_the_model_of_all_rows(chunks, in_memory):
    assert_same_model(model().fit(chunked(chunks)), in_memory)


@pytest.mark.parametrize("chunks", CHUNKINGS.values(), ids=CHUNKINGS)
def test_unknown_chunks_give_the_same(chunks, in_memory):
    unknown = with_unknown_rows(chunked(chunks))
    assert np.isnan(unknown.chunks[0]).all()
    assert_same_model(model().fit(unknown), in_memory)


@given(
    cuts=st.lists(st.integers(0, 60), max_size=8),
    columns=st.lists(st.integers(0, 7), max_size=2),
    weighted=st.booleans(),
)
def test_chunks_do_not_matter(cuts, columns, weighted):
    rows = load_digits().data[:60, 20:27]
    heights = np.diff([0, *sorted(cuts), 60])
    widths = np.diff([0, *sorted(columns), 7])
    weights = 1.0 + np.arange(60) % 4 if weighted else None
    plain = LinearModularAutoencoder(3, 2, random_state=0).fit(rows, sample_weight=weights)
    array = da.from_array(rows, chunks=(tuple(heights), tuple(widths)))
    lazy = LinearModularAutoencoder(3, 2, random_state=0).fit(array, sample_weight=weights)
    assert_same_model(lazy, plain)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "bool", "object"])
def test_types_mean_what_they_mean_in_memory(dtype):
    plain, lazy = model().fit(X.astype(dtype)), model().fit(chunked().astype(dtype))
    assert lazy.encoders_.dtype == plain.encoders_.dtype
    assert_same_model(lazy, plain, 1e-8 if plain.encoders_.dtype == np.float64 else 1e-5)


def test_upcast_reaches_the_workers():
    lazy = LinearModularAutoencoder(5, 4, upcast=True, random_state=0).fit(chunked().astype("float32"))
    assert lazy.encoders_.dtype == np.float64


@pytest.mark.parametrize("matrix", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_chunks(matrix, in_memory):
    array = chunked().map_blocks(matrix, meta=matrix((0, 0)))
    lazy = model().fit(array)
    assert_same_model(lazy, in_memory)
    np.testing.assert_allclose(lazy.transform(array).compute(), lazy.transform(X), atol=1e-10)


def test_dataframes_bring_their_names(in_memory):
    frame = dd.from_pandas(FRAME, npartitions=4)
    lazy = model().fit(frame)
    assert lazy.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert_same_model(lazy, in_memory)
    for array in (frame.to_dask_array(), frame.to_dask_array(lengths=True)):
        lazy.fit(array)
        assert not hasattr(lazy, "feature_names_in_")
        assert_same_model(lazy, in_memory)


def test_files(tmp_path, in_memory):
    for place, cut in enumerate(np.array_split(np.arange(len(X)), 4)):
        part = FRAME.iloc[cut].assign(weight=WEIGHTS[cut], word="not a number")
        part.to_parquet(tmp_path / f"{place}.parquet")
    table = dd.read_parquet(tmp_path / "*.parquet")
    features = table[FRAME.columns.tolist()]
    assert_same_model(model().fit(features), in_memory)
    weighted = model().fit(features, sample_weight=table["weight"])
    assert_same_model(weighted, model().fit(X, sample_weight=WEIGHTS))
    few = features[["pixel20", "pixel21"]]
    small = LinearModularAutoencoder(2, 1, random_state=0)
    lazy = small.fit(few, sample_weight=table["pixel22"]).transform(few).compute()
    plain = small.fit(FRAME[["pixel20", "pixel21"]], sample_weight=FRAME["pixel22"])
    np.testing.assert_allclose(np.abs(lazy), np.abs(plain.transform(FRAME[["pixel20", "pixel21"]])))


def test_memory_maps_and_persisted_arrays(tmp_path, in_memory):
    np.save(tmp_path / "rows.npy", X)
    mapped = da.from_array(np.load(tmp_path / "rows.npy", mmap_mode="r"), chunks=(400, -1))
    assert_same_model(model().fit(mapped), in_memory)
    assert_same_model(model().fit(mapped.persist()), in_memory)


def weights_of_all_kinds():
    series = dd.from_pandas(FRAME.assign(weight=WEIGHTS)["weight"], npartitions=4)
    yield "numpy", WEIGHTS
    yield "array", da.from_array(WEIGHTS, chunks=300)
    yield "array, other chunks", da.from_array(WEIGHTS, chunks=100)
    yield "series", series
    yield "unknown chunks", series.to_dask_array()
    yield "series, other partitions", series.repartition(npartitions=3)


@pytest.mark.parametrize(
    "weights", [pytest.param(weights, id=name) for name, weights in weights_of_all_kinds()]
)
def test_weights_of_every_kind(weights):
    plain = model().fit(X, sample_weight=WEIGHTS)
    frame = dd.from_pandas(FRAME, npartitions=4)
    for rows in (chunked(), frame, frame.to_dask_array()):
        assert_same_model(model().fit(rows, sample_weight=weights), plain)


def test_one_weight_for_all_is_no_weight(in_memory):
    lazy = model().fit(with_unknown_rows(chunked()), sample_weight=2.0)
    assert_same_model(lazy, in_memory)


@pytest.mark.parametrize("kind", ["known", "unknown", "frame"])
def test_bootstrap_samples_do_not_depend_on_chunks(kind):
    rows = {
        "known": chunked(((0, 700, 97, 1000), (64,))),
        "unknown": with_unknown_rows(chunked(((0, 700, 97, 1000), (64,)))),
        "frame": dd.from_pandas(FRAME, npartitions=3),
    }[kind]
    plain = BaggingAutoencoder(3, 4, random_state=0).fit(X)
    lazy = BaggingAutoencoder(3, 4, random_state=0).fit(rows)
    np.testing.assert_allclose(lazy.eigenvalues_, plain.eigenvalues_, rtol=1e-10)
    for ours, theirs in zip(lazy.decoders_, plain.decoders_, strict=True):
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-8)


def test_lengths_are_counted_only_where_an_index_is_needed():
    calls = []

    def read(block):
        calls.append(len(block))
        return block

    rows = with_unknown_rows(chunked()).map_blocks(read, dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        model().fit(rows)
        assert sum(calls) == len(X)
        BaggingAutoencoder(3, 4, random_state=0).fit(rows)
        assert sum(calls) == 3 * len(X)


def test_partial_fit_continues_with_chunks(in_memory):
    stream = model().partial_fit(chunked()[:500])
    stream.partial_fit(X[500:900]).partial_fit(with_unknown_rows(chunked()[900:]))
    assert_same_model(stream, in_memory)


@pytest.mark.parametrize("n_rows", [2, 40, 63])
def test_fewer_rows_than_columns(n_rows):
    small = LinearModularAutoencoder(2, 3, random_state=0)
    plain = small.fit(X[:n_rows])
    lazy = LinearModularAutoencoder(2, 3, random_state=0).fit(chunked((9, 64), X[:n_rows]))
    assert lazy.loss_ == pytest.approx(plain.loss_, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(lazy.transform(X).std(), plain.transform(X).std())


def test_a_number_of_columns_that_dask_does_not_know(in_memory):
    array = chunked((500, 10))
    array = array[:, array[0] >= 0.0]
    assert np.isnan(array.shape[1])
    lazy = model().fit(array)
    assert lazy.n_features_in_ == 64
    assert_same_model(lazy, in_memory)
    assert np.isnan(array.shape[1]), "the caller's array was changed"


def test_same_chunks_give_the_same_bits():
    bits = set()
    for scheduler in ("synchronous", "threads", "threads"):
        with dask.config.set(scheduler=scheduler):
            bits.add(model().fit(chunked((50, 64))).encoders_.tobytes())
    assert len(bits) == 1


class Word(str):
    """A summary that remembers the order of the joins."""

    def join(self, other):
        return Word(f"{self}{other}")


@pytest.mark.parametrize("n_parts", [1, 2, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1, 300])
def test_the_tree_joins_neighbours_in_their_order(n_parts):
    words = [f"<{place}>" for place in range(n_parts)]
    sums = np.array([[PartialSum(1, Word(word))] for word in words], dtype=object)
    whole = joined_sums(da.from_array(sums, chunks=(1, 1)))
    assert (whole.n_rows, whole.summary) == (n_parts, "".join(words))


def test_a_task_joins_few_sums():
    seen = []

    def watching(graph, keys, **options):
        tasks = dict(graph.optimize().__dask_graph__())
        seen.extend(len(task.dependencies) for task in tasks.values())
        return dask.get(tasks, keys, **options)

    with dask.config.set(scheduler=watching):
        model().fit(chunked((10, 64)))
    assert max(seen) <= FAN_IN


@pytest.mark.parametrize("estimator", [LinearModularAutoencoder(2, 2), BaggingAutoencoder(2, 2)])
def test_sums_that_do_not_fit_are_refused_before_any_task_runs(estimator):
    wide = da.ones((10**6, 20_000), chunks=(1000, -1))
    with dask.config.set(scheduler=no_task_may_run), pytest.raises(MemoryError, match="20,000 x 20,000"):
        estimator.fit(wide)
