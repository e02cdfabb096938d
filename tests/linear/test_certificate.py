"""What the estimator promises about its optimum: limits, paths, reproducibility."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from modae import LinearModularAutoencoder

GRID = np.linspace(0.0, 1.0, 11)


@pytest.fixture(scope="module")
def X():
    return load_digits().data


def projectors(model):
    return model.decoders_ @ model.decoders_.swapaxes(1, 2)


def pca_error(X, n_components):
    pca = PCA(n_components).fit(X)
    return ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1).mean()


@pytest.mark.filterwarnings("ignore:diversity=0")
@pytest.mark.parametrize(("M", "H"), [(1, 5), (2, 3), (3, 10), (10, 4)])
def test_diversity_zero_is_pca_in_every_module(X, M, H):
    model = LinearModularAutoencoder(M, H, 0.0, random_state=0).fit(X)
    axes = PCA(H).fit(X).components_
    assert model.loss_ == pytest.approx(pca_error(X, H), abs=1e-10 * model.total_variance_)
    np.testing.assert_allclose(projectors(model), np.tile(axes.T @ axes, (M, 1, 1)), atol=1e-10)
    assert model.diversity_term_ == pytest.approx(0.0, abs=1e-10 * model.total_variance_)


@pytest.mark.parametrize(("M", "H"), [(1, 5), (2, 3), (3, 10), (10, 4), (10, 10)])
def test_diversity_one_has_the_loss_of_one_large_pca(X, M, H):
    model = LinearModularAutoencoder(M, H, 1.0, random_state=0).fit(X)
    assert model.loss_ == pytest.approx(pca_error(X, min(M * H, 64)), abs=1e-10 * model.total_variance_)
    assert model.attainment_ == "attained"


@pytest.mark.parametrize("diversity", GRID[1:])
def test_the_optimum_is_certified_and_published_consistently(X, diversity):
    model = LinearModularAutoencoder(5, 4, diversity, random_state=0).fit(X)
    assert abs(model.optimality_gap_) <= 1e-12
    assert model.attainment_ == "attained"
    assert model.certified_
    assert model.optimality_gap_ == (model.loss_ - model.lower_bound_) / model.total_variance_
    assert -model.score(X) == pytest.approx(model.loss_, abs=1e-11 * model.total_variance_)


@pytest.mark.filterwarnings("ignore:diversity=0")
@pytest.mark.parametrize("order", [GRID, GRID[::-1], np.random.default_rng(0).permutation(GRID)])
def test_every_element_of_a_path_is_a_fresh_fit_at_its_diversity(X, order):
    first = LinearModularAutoencoder(4, 3, 0.37, random_state=5).fit(X)
    for diversity, model in zip(order, first.path(order), strict=True):
        fresh = LinearModularAutoencoder(4, 3, diversity, random_state=5).fit(X)
        np.testing.assert_allclose(projectors(model), projectors(fresh), atol=1e-8)
        np.testing.assert_allclose(model.transform(X), fresh.transform(X), atol=1e-6)
        assert model.loss_ == pytest.approx(fresh.loss_, rel=1e-12)
        assert model.get_params() == fresh.get_params()


def test_a_path_keeps_names_and_leaves_the_first_model_alone(X):
    first = LinearModularAutoencoder(4, 3, 0.5, random_state=5).fit(X)
    before = first.encoders_.copy()
    other = first.with_diversity(0.9).with_diversity(0.5)
    np.testing.assert_array_equal(other.encoders_, before)
    np.testing.assert_array_equal(first.encoders_, before)
    assert other.n_features_in_ == 64


def test_a_path_without_a_random_state_is_consistent_in_itself(X):
    first = LinearModularAutoencoder(4, 3, 0.5).fit(X)
    np.testing.assert_array_equal(
        first.with_diversity(0.9).with_diversity(0.5).encoders_, first.encoders_
    )


def test_the_optimal_loss_never_rises_with_diversity(X):
    first = LinearModularAutoencoder(4, 3, random_state=0).fit(X)
    losses = [model.loss_ for model in first.path(GRID)]
    assert np.all(np.diff(losses) <= 1e-9 * first.total_variance_)


@pytest.mark.parametrize("diversity", [0.3, 0.6, 0.95])
def test_one_and_two_blas_threads_give_the_same_model(X, diversity):
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            models.append(LinearModularAutoencoder(6, 5, diversity, random_state=0).fit(X))
    one, two = models
    assert abs(one.loss_ - two.loss_) <= 1e-12 * one.total_variance_
    np.testing.assert_allclose(projectors(one), projectors(two), atol=1e-8)


def test_plateaus_are_certified_too():
    rng = np.random.default_rng(0)
    rows = np.linalg.qr(rng.standard_normal((50, 5)) - 0.0)[0]
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0] * np.sqrt(50)  # five equal eigenvalues
    model = LinearModularAutoencoder(3, 2, 0.5, random_state=0).fit(rows)
    assert model.attainment_ == "attained"
    assert model.certified_
    assert model.loss_ / model.total_variance_ == pytest.approx(13 / 30, abs=1e-9)
    assert model.lower_bound_ / model.total_variance_ == pytest.approx(13 / 30, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 7), (5, 7), (7, 7), (8, 7), (40, 7), (3, 200)])
def test_few_rows_and_wide_data(shape):
    rows = np.random.default_rng(1).standard_normal(shape)
    model = LinearModularAutoencoder(3, 4, 0.6, random_state=0).fit(rows)
    assert np.isfinite(model.transform(rows)).all()
    assert abs(model.optimality_gap_) < 1e-9
    assert -model.score(rows) == pytest.approx(model.loss_, abs=1e-9 * max(model.total_variance_, 1.0))


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "gradient", "tol": 0.5},
        {"solver": "backfitting", "tol": 0.5},
    ],
)
def test_every_solver_has_the_same_bound_and_no_certificate_above_it(parameters):
    rows = np.vstack([np.eye(5), -np.eye(5)])
    best = LinearModularAutoencoder(3, 2, 0.5, random_state=1).fit(rows)
    assert best.certified_
    model = LinearModularAutoencoder(3, 2, 0.5, random_state=1, **parameters).fit(rows)
    assert model.attainment_ == "undecided"
    assert not model.certified_
    assert model.lower_bound_ == pytest.approx(best.lower_bound_, abs=1e-12)


def test_a_search_cut_short_is_no_certificate():
    rows = np.random.default_rng(0).permutation(np.vstack([np.eye(11), -np.eye(11)]))
    short = LinearModularAutoencoder(4, 4, 0.5, solver="gradient", max_iter=1, random_state=3)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 iterations .* raise max_iter, or use"):
        model = short.fit(rows)
    assert not model.certified_
