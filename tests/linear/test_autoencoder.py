"""LinearModularAutoencoder as a transformer: shapes, names, frames, numbers."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import oracles
from modae import LinearModularAutoencoder

M, H, D = 4, 3, 64


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:500]


@pytest.fixture(scope="module")
def model(X):
    return LinearModularAutoencoder(M, H, 0.6, random_state=0).fit(X)


def test_shapes(model, X):
    assert model.encoders_.shape == (M, H, D)
    assert model.decoders_.shape == (M, D, H)
    assert model.principal_axes_.shape == (M * H, D)
    assert model.eigenvalues_.shape == model.allocation_.shape == (M * H,)
    assert model.transform(X).shape == (500, M * H)
    assert model.transform_modules(X).shape == (M, 500, H)
    assert model.inverse_transform(model.transform(X)).shape == X.shape
    assert model.reconstruct_modules(X).shape == (M, 500, D)
    assert model.explained_variance_ratio_.shape == (M,)


def test_codes_are_encoders_on_centred_rows(model, X):
    expected = [(X - X.mean(axis=0)) @ encoder.T for encoder in model.encoders_]
    np.testing.assert_allclose(model.transform_modules(X), expected, atol=1e-10)
    np.testing.assert_allclose(model.transform(X), np.hstack(expected), atol=1e-10)


def test_the_inverse_is_the_mean_of_the_reconstructions(model, X):
    mean = model.reconstruct_modules(X).mean(axis=0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), mean, atol=1e-10)


def test_score_samples_is_minus_the_loss_by_definition(model, X):
    expected = [
        -oracles.loss_by_loops([row - model.mean_], model.decoders_, model.encoders_, 0.6)
        for row in X[:20]
    ]
    np.testing.assert_allclose(model.score_samples(X[:20]), expected, rtol=1e-10)


def test_the_score_on_the_training_data_is_minus_the_loss(model, X):
    assert model.score(X) == pytest.approx(-model.loss_, rel=1e-12)
    assert model.loss_ == pytest.approx(
        model.reconstruction_error_ - 0.6 * model.diversity_term_, rel=1e-12
    )


def test_score_samples_finds_outliers(model, X):
    noise = np.random.default_rng(0).uniform(0, 16, (50, D))
    assert model.score_samples(noise).max() < np.quantile(model.score_samples(X), 0.2)


def test_score_uses_the_diversity_of_the_fit(X):
    model = LinearModularAutoencoder(M, H, 0.6, random_state=0).fit(X)
    before = model.score(X)
    model.set_params(diversity=0.1)
    assert model.score(X) == before


def test_explained_variance_ratios_are_one_minus_relative_errors(model, X):
    errors = ((model.reconstruct_modules(X) - X) ** 2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(model.explained_variance_ratio_, 1 - errors / model.total_variance_)
    error = ((model.inverse_transform(model.transform(X)) - X) ** 2).sum(axis=1).mean()
    assert model.explained_variance_ratio_of_mean_ == pytest.approx(1 - error / model.total_variance_)


def test_conventions_of_order_and_sign(model, X):
    codes = model.transform_modules(X)
    variances = codes.var(axis=1)
    assert np.all(np.diff(variances, axis=1) <= 1e-5 * variances.max())
    products = model.principal_axes_ @ model.decoders_
    largest = np.take_along_axis(products, np.abs(products).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)
    captured = [np.trace(A.T @ np.cov(X.T, bias=True) @ A) for A in model.decoders_]
    assert np.all(np.diff(captured) <= 1e-9 * captured[0])
    np.testing.assert_allclose(
        model.decoders_.swapaxes(1, 2) @ model.decoders_, np.tile(np.eye(H), (M, 1, 1)), atol=1e-12
    )


def test_codes_of_a_module_are_uncorrelated_at_an_optimum(model, X):
    for codes in model.transform_modules(X):
        covariance = np.cov(codes.T)
        np.testing.assert_allclose(
            covariance, np.diag(np.diag(covariance)), atol=1e-5 * covariance.max()
        )


def test_allocation_is_the_share_of_modules_on_each_component(model):
    frames = model.principal_axes_ @ model.decoders_
    shares = np.mean([np.diag(frame @ frame.T) for frame in frames], axis=0)
    np.testing.assert_allclose(model.allocation_, shares, atol=1e-10)
    assert model.allocation_.sum() == pytest.approx(H)


def test_names_and_frames(X):
    names = [f"pixel {k}" for k in range(D)]
    frame = pd.DataFrame(X, columns=names)
    model = LinearModularAutoencoder(M, H, random_state=0).set_output(transform="pandas").fit(frame)
    codes = model.transform(frame)
    assert list(model.feature_names_in_) == names
    assert list(codes.columns[:4]) == ["module0_0", "module0_1", "module0_2", "module1_0"]
    assert codes.shape == (500, M * H)
    assert list(model.get_feature_names_out()) == list(codes.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[names[::-1]])


def test_polars_in_and_out(X):
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(D)])
    model = LinearModularAutoencoder(M, H, random_state=0).set_output(transform="polars").fit(frame)
    codes = model.transform(frame)
    assert isinstance(codes, pl.DataFrame)
    plain = LinearModularAutoencoder(M, H, random_state=0).fit(X)
    np.testing.assert_allclose(codes.to_numpy(), plain.transform(X))


def test_float32_stays_float32(X):
    model = LinearModularAutoencoder(M, H, random_state=0).fit(X.astype(np.float32))
    assert model.encoders_.dtype == model.decoders_.dtype == model.mean_.dtype == np.float32
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.inverse_transform(model.transform(X.astype(np.float32))).dtype == np.float32
    exact = LinearModularAutoencoder(M, H, random_state=0).fit(X)
    assert model.loss_ == pytest.approx(exact.loss_, rel=1e-6)


def test_pickle_and_clone(model, X):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.loss_ == model.loss_
    fresh = clone(model)
    assert not hasattr(fresh, "loss_")
    assert fresh.get_params() == model.get_params()


def test_inside_a_pipeline_and_a_grid_search(X):
    y = load_digits().target[:500]
    pipeline = make_pipeline(LinearModularAutoencoder(M, H, random_state=0), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, {"linearmodularautoencoder__diversity": [0.2, 0.8]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


def test_the_html_representation_works_fitted_and_not(model):
    assert "LinearModularAutoencoder" in model._repr_html_()
    assert "LinearModularAutoencoder" in clone(model)._repr_html_()


def test_before_fit_nothing_is_there(X):
    model = LinearModularAutoencoder()
    assert not hasattr(model, "encoders_")
    for call in (
        lambda: model.transform(X),
        lambda: model.with_diversity(0.3),
        lambda: model.path([0.3]),
        lambda: model.get_feature_names_out(),
        lambda: model.inverse_transform(X),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_a_fraction_of_variance_picks_the_components_of_pca(X):
    model = LinearModularAutoencoder(M, 0.8, random_state=0).fit(X)
    assert model.n_components_ == PCA(0.8).fit(X).n_components_
    assert model.with_diversity(0.9).n_components_ == model.n_components_


def test_default_components(X):
    assert LinearModularAutoencoder().fit(X).n_components_ == 20  # 0.4 of 50
    assert LinearModularAutoencoder().fit(X[:, 20:24]).n_components_ == 2
    assert LinearModularAutoencoder().fit(X[:, 20:21]).n_components_ == 1


def test_iterative_solvers_keep_their_history(X):
    for solver in ("backfitting", "gradient"):
        model = LinearModularAutoencoder(M, H, 0.6, solver=solver, tol=1e-6, random_state=0).fit(X)
        assert model.solver_ == solver
        assert len(model.loss_history_) == model.n_iter_ + 1
        assert np.all(np.diff(model.loss_history_) <= 1e-9 * model.total_variance_)
        assert model.loss_history_[-1] == pytest.approx(model.loss_)


def test_too_few_epochs_are_said(X):
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=2 iterations with a gap of .*, or use solver='spectral'"
    ):
        LinearModularAutoencoder(M, H, 0.9, solver="backfitting", max_iter=2, random_state=0).fit(X)


def test_one_random_state_one_model(X):
    first = LinearModularAutoencoder(M, H, random_state=3).fit(X)
    second = LinearModularAutoencoder(M, H, random_state=3).fit(X)
    np.testing.assert_array_equal(first.encoders_, second.encoders_)
    third = LinearModularAutoencoder(M, H, random_state=4).fit(X)
    assert third.loss_ == pytest.approx(first.loss_, rel=1e-12)
    assert not np.allclose(third.encoders_, first.encoders_)
