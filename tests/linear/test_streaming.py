"""fit = partial_fit = sparse = memory map = weights as counts; and reading never changes a model."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

from modae import LinearModularAutoencoder
from modae.linear import model as estimator_model

PARAMETERS = {"n_modules": 5, "n_components": 4, "diversity": 0.6, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    return load_digits().data


@pytest.fixture(scope="module")
def fitted(X):
    return new().fit(X)


def new(**changes):
    return LinearModularAutoencoder(**{**PARAMETERS, **changes})


def assert_same(model, expected, loss=1e-10, projectors=1e-8):
    assert abs(model.loss_ - expected.loss_) <= loss * expected.total_variance_
    difference = model.decoders_ @ model.decoders_.swapaxes(1, 2)
    difference -= expected.decoders_ @ expected.decoders_.swapaxes(1, 2)
    assert np.abs(difference).max() <= projectors


@pytest.mark.parametrize("seed", range(20))
def test_any_split_in_any_order_is_one_fit(X, fitted, seed):
    rng = np.random.default_rng(seed)
    shuffled = X[rng.permutation(len(X))]
    cuts = np.sort(rng.choice(np.arange(1, len(X)), rng.integers(1, 60), replace=False))
    model = new()
    for batch in np.split(shuffled, cuts):
        model.partial_fit(batch)
    assert_same(model, fitted)


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array"])
def test_sparse_is_dense(X, fitted, kind):
    rows = getattr(sparse, kind)(X)
    model = new().fit(rows)
    assert_same(model, fitted)
    np.testing.assert_allclose(model.transform(rows), fitted.transform(X), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(rows), fitted.score_samples(X), atol=1e-9)
    np.testing.assert_allclose(model.reconstruct_modules(rows), fitted.reconstruct_modules(X), atol=1e-9)


def test_sparse_batches(X, fitted):
    model = new()
    for batch in np.array_split(X, 30):
        model.partial_fit(sparse.csr_array(batch))
    assert_same(model, fitted)


def test_a_memory_map_is_an_array(X, fitted, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = new().fit(rows)
    assert_same(model, fitted)
    np.testing.assert_allclose(model.transform(rows), fitted.transform(X), atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("count", [1797, 50])
def test_integer_weights_are_repetitions_and_zero_is_absence(X, kind, count):
    weights = np.random.default_rng(0).integers(0, 4, count)
    expected = new().fit(np.repeat(X[:count], weights, axis=0))
    assert_same(new().fit(kind(X[:count]), sample_weight=weights), expected)
    streamed = new()
    for batch, part in zip(np.array_split(X[:count], 7), np.array_split(weights, 7), strict=True):
        streamed.partial_fit(kind(batch), sample_weight=part)
    assert_same(streamed, expected)


def test_scaling_all_weights_changes_nothing(X, fitted):
    assert_same(new().fit(X, sample_weight=np.full(len(X), 1e-7)), fitted)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_float32_is_near_and_upcasting_is_exact(offset):
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((4000, 20)) + offset) * 0.8 ** np.arange(20)
    rows = rows.astype(np.float32)
    exact = new().fit(rows.astype(np.float64))
    single = new().fit(rows)
    assert_same(single, exact, loss=1e-5, projectors=1e-4)
    assert single.encoders_.dtype == np.float32
    double = new(upcast=True).fit(rows)
    assert_same(double, exact)
    assert double.encoders_.dtype == np.float64


def test_fit_forgets_and_partial_fit_continues(X, fitted):
    model = new().fit(X[:700] * 3.0)
    assert_same(model.fit(X), fitted)
    assert_same(new().fit(X[:700]).partial_fit(X[700:]), fitted)
    assert_same(new().fit(X[:30]).partial_fit(X[30:]), fitted)  # fewer rows than features
    assert_same(new().fit(sparse.csr_array(X[:30])).partial_fit(X[30:]), fitted)


def test_with_diversity_continues_the_stream(X):
    model = new().fit(X[:700]).with_diversity(0.2).partial_fit(X[700:])
    assert_same(model, new(diversity=0.2).fit(X))


def test_rows_of_the_caller_are_not_referred_to(X):
    rows = X[:30].copy()
    model = new().fit(rows)
    rows[:] = 0.0
    assert_same(model.partial_fit(X[30:60]), new().fit(X[:60]))


def test_ten_thousand_batches_are_solved_once(monkeypatch):
    solved = []
    original = estimator_model.SOLVERS["spectral"]

    def counted(*args, **options):
        solved.append(1)
        return original(*args, **options)

    monkeypatch.setitem(estimator_model.SOLVERS, "spectral", counted)
    rows = np.random.default_rng(0).standard_normal((10_000, 12))
    model = LinearModularAutoencoder(3, 2, random_state=0)
    for row in rows:
        model.partial_fit(row[None])
    assert not solved
    assert_same(model, LinearModularAutoencoder(3, 2, random_state=0).fit(rows))
    _ = model.loss_, model.encoders_, model.transform(rows[:5])
    assert len(solved) == 2  # one for the stream, one for the fit


def test_reading_does_not_change_the_model(X):
    model = new().partial_fit(X[:100])
    before = dict(vars(model))
    _ = model.loss_, model.transform(X[:3]), model._repr_html_()
    assert vars(model) == before


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("seen", [20, 500])
@pytest.mark.parametrize("read", [False, True])
def test_copies_in_mid_stream_go_on_by_themselves(X, fitted, copier, seen, read):
    model = new().partial_fit(X[:seen])
    if read:
        _ = model.loss_
    twin = copier(model)
    assert_same(twin.partial_fit(X[seen:]), fitted)
    assert_same(model, new().fit(X[:seen]))
    assert not hasattr(clone(model), "loss_")


def test_threads_that_read_at_once_see_one_model(X):
    model = new().partial_fit(X)
    with ThreadPoolExecutor(8) as pool:
        losses = list(pool.map(lambda _: model.loss_, range(32)))
    assert len(set(losses)) == 1


def test_the_stream_says_when_it_is_not_fitted(X):
    model = new()
    assert not model.__sklearn_is_fitted__()
    assert model.partial_fit(X[:5]).__sklearn_is_fitted__()


def test_parameters_may_change_between_batches(X):
    model = new().partial_fit(X[:900])
    model.set_params(diversity=0.2).partial_fit(X[900:])
    assert_same(model, new(diversity=0.2).fit(X))


def test_batches_are_checked_against_the_first(X):
    model = new().partial_fit(X[:20])
    with pytest.raises(ValueError, match="X has 63 features"):
        model.partial_fit(X[20:40, :63])
    assert_same(model.partial_fit(X[20:]), new().fit(X))


def test_a_batch_without_weight_adds_nothing(X, fitted):
    model = new().partial_fit(X[:900])
    model.partial_fit(X[:5] * 1e6, sample_weight=np.zeros(5)).partial_fit(X[900:])
    assert_same(model, fitted)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_krylov_finds_the_same_modules_with_a_true_bound(X, fitted, kind):
    model = new(spectrum="krylov").fit(kind(X))
    assert_same(model, fitted)
    assert model.lower_bound_ <= fitted.loss_ + 1e-12 * fitted.total_variance_


def test_a_fit_too_large_to_keep_says_so(X, monkeypatch):
    monkeypatch.setattr("modae.data.summary.MEMORY_LIMIT", 8 * 64 * 40)
    model = new().fit(X[:50])  # 50 rows of 64: more than the limit, though their Gram matrix fits
    with pytest.raises(ValueError, match="partial_fit cannot continue this fit"):
        model.partial_fit(X[50:])


@pytest.mark.parametrize("seed", range(5))
def test_any_split_of_float32_rows_is_one_fit(X, seed):
    rows = X.astype(np.float32) + np.float32(0.1)
    model = new()
    for batch in np.array_split(np.random.default_rng(seed).permutation(rows), 3 + 7 * seed):
        model.partial_fit(batch)
    expected = new().fit(rows)
    assert_same(model, expected, loss=1e-5, projectors=1e-4)
    assert model.encoders_.dtype == np.float32
    weights = np.random.default_rng(seed).integers(0, 3, len(rows))
    repeated = new().fit(np.repeat(rows, weights, axis=0))
    assert_same(new().fit(rows, sample_weight=weights), repeated, loss=1e-5, projectors=1e-4)


@pytest.mark.parametrize("cuts", [(5, 7), (20,), (5,), (70, 80)])
def test_a_stream_of_mixed_precision_has_the_lower_one(X, cuts):
    model = new()
    for place, batch in enumerate(np.split(X[:100], cuts)):
        model.partial_fit(batch.astype(np.float64 if place else np.float32))
    assert model.encoders_.dtype == np.float32


def test_a_writer_and_readers_in_threads(X):
    one, other = X[:400], X[400:900] * 2.0
    model = new().fit(one)
    results = {new().fit(rows).transform(X[:5]).tobytes() for rows in (one, other)}

    def write(_):
        for rows in (other, one) * 10:
            model.fit(rows)

    def read(_):
        return {model.transform(X[:5]).tobytes() for _ in range(300)}

    with ThreadPoolExecutor(3) as pool:
        writer = pool.submit(write, None)
        seen = set().union(*pool.map(read, range(2)))
        writer.result()
    assert seen <= results


def test_a_stream_without_a_model_yet_says_why_and_is_still_shown():
    model = new().partial_fit(np.full((1, 64), 1e200)).partial_fit(np.zeros((1, 64)))
    assert not hasattr(model, "loss_")
    assert "LinearModularAutoencoder" in model._repr_html_()
    with pytest.raises(ValueError, match="X spreads over about"):
        model.transform(np.zeros((1, 64)))


def test_krylov_streams_are_exact(X, fitted):
    model = new(spectrum="krylov").partial_fit(X[:5])
    assert hasattr(model, "loss_")
    assert_same(model.partial_fit(X[5:]), fitted)


def test_keeping_rows_has_a_limit(X, monkeypatch):
    model = new().partial_fit(X[:20])
    before = model.loss_
    monkeypatch.setattr("modae.data.summary.MEMORY_LIMIT", 8 * 64 * 30)
    with pytest.raises(MemoryError, match=r"keeping the rows .* over the limit"):
        model.partial_fit(X[20:40])
    assert model.loss_ == before


def test_published_values_cannot_be_changed(fitted):
    with pytest.raises(AttributeError, match="loss_"):
        fitted.loss_ = 0.0
    with pytest.raises(ValueError, match="read-only"):
        fitted.mean_[0] = 1.0


def test_with_diversity_keeps_the_fitted_number_of_modules(X):
    model = new().fit(X)
    model.set_params(n_modules=7)
    other = model.with_diversity(0.3)
    assert other.n_modules == len(other.encoders_) == 5
