"""Whatever holds the rows, the model is the same; sparse rows are never made dense as a whole."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from deep.parts import DIGITS, X, autoencoder, classifier, regressor
from modae.deep.model import Data, Scaling, device_of


@pytest.fixture(scope="module")
def expected():
    return autoencoder(dtype="float64").fit(X).transform(X)


@pytest.mark.parametrize(
    "kind",
    [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, np.asfortranarray, list],
    ids=lambda kind: kind.__name__,
)
def test_the_kind_of_rows_does_not_matter(kind, expected):
    rows = kind(X)
    model = autoencoder(dtype="float64").fit(rows)
    np.testing.assert_allclose(model.transform(rows), expected, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)


def test_float32_and_float64_rows_give_nearly_the_same_model():
    one, other = autoencoder().fit(X), autoencoder().fit(X.astype(np.float32))
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-3)
    assert autoencoder(dtype="float64").fit(X.astype(np.float32)).transform(X).dtype == np.float64


def test_memory_maps(tmp_path, expected):
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(autoencoder(dtype="float64").fit(rows).transform(rows), expected)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "resume", "transform", "score_samples"])
def test_sparse_rows_become_dense_one_batch_at_a_time(monkeypatch, method):
    rng, heights = np.random.default_rng(0), []
    rows = sparse.random_array((3000, 300), density=0.01, rng=rng).tocsr()
    model = autoencoder(batch_size=100, max_epochs=1).fit(rows)
    if method == "resume":
        model.set_params(max_epochs=2)
    monkeypatch.setattr("modae.deep.model.NUMBERS_IN_BLOCK", 300 * 3 * 100)
    original = Scaling.apply

    def apply(scaling, block, dtype):
        heights.append(block.shape[0])
        return original(scaling, block, dtype)

    def refuse(*args, **kwargs):
        raise AssertionError("all rows at once")

    monkeypatch.setattr(Scaling, "apply", apply)
    monkeypatch.setattr(sparse.csr_array, "todense", refuse)
    getattr(model, method)(rows)
    assert max(heights) <= 100


def test_batches_visit_every_chosen_row_once_in_the_order_asked_for():
    model = autoencoder(normalize=False, dtype="float64", max_epochs=1).fit(X)._fitted
    seen = list(model.batches(Data(X, np.arange(200)), 30, np.arange(50, 150)[::-1]))
    assert [len(x) for x, *_ in seen] == [30, 30, 30, 10]
    labels = torch.cat([label for _, label, _ in seen]).numpy()
    np.testing.assert_array_equal(labels, np.arange(50, 150)[::-1])
    np.testing.assert_array_equal(torch.cat([x for x, *_ in seen]).numpy(), X[labels])


def test_the_data_are_not_changed():
    rows, y = X.copy(), X[:, 0].copy()
    regressor().fit(rows, y).predict(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, X[:, 0])


def test_huge_rows_are_normalised():
    small, huge = autoencoder().fit(X), autoencoder().fit(1e100 * X)
    np.testing.assert_allclose(huge.transform(1e100 * X), small.transform(X), atol=1e-3)


@pytest.mark.parametrize("n_rows", [1, 2, 129])
def test_any_number_of_rows(n_rows):
    rows = DIGITS[:n_rows]
    assert np.isfinite(autoencoder().fit(rows).transform(rows)).all()
    assert classifier().fit(rows, np.zeros(n_rows)).predict(rows).tolist() == [0.0] * n_rows


def test_auto_takes_a_device_that_is_there():
    assert device_of("auto", "float32").type in ("cpu", "cuda", "mps")
    assert device_of("cpu", "float64") == torch.device("cpu")


def test_a_model_of_a_device_that_is_not_there_still_predicts():
    model = autoencoder().fit(X)
    expected = model.transform(X)
    there = "cuda" if not torch.cuda.is_available() else "mps"
    model._fitted = replace(model._fitted, device=there)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-4)
