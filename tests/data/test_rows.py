"""Products with centred rows equal those with the centred matrix."""

import numpy as np
import pytest
from scipy import sparse

from modae import LinearModularAutoencoder
from modae.data import rows as core_rows

KINDS = [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((37, 6)) * (rng.random((37, 6)) < 0.5) + 0.0


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(core_rows, "BLOCK_BYTES", 8 * 6 * 5)


@pytest.mark.parametrize("kind", KINDS)
def test_products(X, kind):
    rng = np.random.default_rng(1)
    mean, right = X.mean(axis=0) + 1.0, rng.standard_normal((6, 3))
    centred = X - mean
    rows = kind(X)
    np.testing.assert_allclose(core_rows.centred_product(rows, mean, right), centred @ right, atol=1e-12)
    np.testing.assert_allclose(
        core_rows.centred_squares(rows, mean), (centred**2).sum(axis=1), atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_means(X, kind):
    weights = np.random.default_rng(2).random(37)
    np.testing.assert_allclose(core_rows.mean_row(kind(X)), X.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(
        core_rows.mean_row(kind(X), weights), np.average(X, axis=0, weights=weights), atol=1e-14
    )


def test_the_mean_of_equal_rows_is_that_row():
    rows = np.full((1000, 3), 0.1)
    np.testing.assert_array_equal(core_rows.mean_row(rows), rows[0])


def test_blocks_cover_the_rows_once(X):
    shift = np.ones(6)
    blocks = [(cut, block.copy()) for cut, block in core_rows.shifted_blocks(X, shift)]
    assert len(blocks) == 8
    np.testing.assert_array_equal(np.vstack([block for _, block in blocks]), X - shift)
    for cut, block in blocks:
        np.testing.assert_array_equal(block, X[cut] - shift)


def test_weighted_blocks_leave_out_rows_without_weight(X):
    weights = np.tile([0.0, 4.0], 19)[:37]
    parts = [
        (block.copy(), roots) for block, roots in core_rows.weighted_blocks(X, np.ones(6), 1.0, weights)
    ]
    np.testing.assert_array_equal(np.vstack([block for block, _ in parts]), 2.0 * (X[1::2] - 1.0))
    np.testing.assert_array_equal(np.concatenate([roots for _, roots in parts]), np.full(18, 2.0))


def test_float32_stays_float32(X):
    rows = X.astype(np.float32)
    product = core_rows.centred_product(rows, X.mean(axis=0), np.eye(6))
    assert product.dtype == np.float32
    assert core_rows.centred_squares(rows, X.mean(axis=0)).dtype == np.float64


def test_a_numpy_that_does_not_describe_itself_does_for_fits_and_scores(X, monkeypatch):
    """As before NumPy 2.1: no ``__array_namespace_info__``, and ``clip`` knows no ``min``."""
    monkeypatch.delattr(np, "__array_namespace_info__", raising=False)
    clip = np.clip
    monkeypatch.setattr(np, "clip", lambda values, low, high: clip(values, low, high))
    vars(core_rows.HOST).pop("precise", None)  # what was found out is kept
    model = LinearModularAutoencoder(2, 2, random_state=0).fit(X)
    assert -model.score_samples(X).mean() == pytest.approx(model.loss_)
