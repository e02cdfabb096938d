"""Faithfulness and redundancy: against their definitions, and their errors against repeated draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from modae import BaggingAutoencoder, LinearModularAutoencoder
from modae.metrics import (
    Estimate,
    distance_correlation,
    distance_correlation_matrix,
    faithfulness,
    redundancy,
)

CURVES = [faithfulness, redundancy]


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:300]


@pytest.fixture(scope="module")
def model(X):
    return LinearModularAutoencoder(4, 3, 0.6, random_state=0).fit(X)


def test_faithfulness_is_the_mean_over_modules(model, X):
    expected = np.mean([distance_correlation(codes, X) for codes in model.transform_modules(X)])
    assert faithfulness(model, X).value == pytest.approx(expected, abs=1e-12)


def test_redundancy_is_the_mean_over_pairs(model, X):
    matrix = distance_correlation_matrix(model.transform_modules(X))
    expected = (matrix.sum() - 4.0) / (4 * 3)
    assert redundancy(model, X).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("curve", CURVES)
def test_both_fall_as_diversity_grows(curve, model, X):
    values = [curve(model.with_diversity(lam), X).value for lam in (0.05, 0.3, 0.6, 0.9, 1.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] - values[-1] > 0.05


def test_equal_modules_are_redundant(X):
    class Same:
        def transform_modules(self, X):
            return [X[:, :20], 3.0 * X[:, :20]]

    value, error = redundancy(Same(), X)
    assert value == pytest.approx(1.0, abs=1e-12)
    assert error == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("curve", CURVES)
def test_the_error_is_that_of_the_draw(curve):
    """A fixed extractor, many draws from a large population: the values spread as the errors say."""
    rng = np.random.default_rng(0)
    population = rng.standard_t(6, (30_000, 8)) * np.arange(1.0, 9.0)
    model = LinearModularAutoencoder(3, 2, 0.8, random_state=0).fit(population)
    draws = [curve(model, population, n_samples=150, random_state=seed) for seed in range(150)]
    spread = np.std([draw.value for draw in draws], ddof=1)
    stated = np.mean([draw.standard_error for draw in draws])
    assert stated == pytest.approx(spread, rel=0.2)  # the spread itself is known to 1 / sqrt(300)


@pytest.mark.parametrize("curve", CURVES)
def test_the_error_is_the_jackknife(curve, model, X):
    rows = X[:15]
    left_out = [curve(model, np.delete(rows, r, axis=0)).value for r in range(15)]
    expected = np.sqrt(14 / 15 * np.sum((left_out - np.mean(left_out)) ** 2))
    assert curve(model, rows).standard_error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("curve", CURVES)
def test_the_seed_draws_the_rows(curve, model, X):
    first = curve(model, X, n_samples=100, random_state=0)
    assert isinstance(first, Estimate)
    assert first == curve(model, X, n_samples=100, random_state=0)
    assert first != curve(model, X, n_samples=100, random_state=1)


@pytest.mark.parametrize("curve", CURVES)
def test_sparse_rows_and_frames_give_the_same(curve, X):
    frame = pd.DataFrame(X, columns=[f"pixel{i}" for i in range(64)])
    model = BaggingAutoencoder(3, 4, random_state=0).fit(frame)
    arguments = {"n_samples": 80, "random_state": 0}
    expected = curve(model, frame, **arguments)
    sparse = BaggingAutoencoder(3, 4, random_state=0).fit(X)
    np.testing.assert_allclose(curve(sparse, csr_array(X), **arguments), expected, atol=1e-8)


def test_only_the_drawn_rows_are_made_dense(model):
    class Rows(csr_array):
        def toarray(self, *args, **kwargs):
            assert self.shape[0] <= 50
            return super().toarray(*args, **kwargs)

    faithfulness(model, Rows(load_digits().data), n_samples=50, random_state=0)


@pytest.mark.parametrize("curve", CURVES)
def test_errors(curve, model, X):
    with pytest.raises(TypeError, match="extractor must have a method transform_modules"):
        curve(PCA(2).fit(X), X)
    with pytest.raises(ValueError, match="n_samples must be at least 3, got 2"):
        curve(model, X, n_samples=2)
    with pytest.raises(ValueError, match="must have at least 3 rows for this, got 2"):
        curve(model, X[:2])


def test_one_module_has_no_redundancy(X):
    model = LinearModularAutoencoder(1, 3, 0.5, random_state=0).fit(X)
    assert 0.0 < faithfulness(model, X, n_samples=50, random_state=0).value < 1.0
    with pytest.raises(ValueError, match="at least two modules to compare, got one"):
        redundancy(model, X)
