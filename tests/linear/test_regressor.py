"""LinearModularRegressor: its limits, its certificate, and what awkward data give."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_linnerud
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from modae import LinearModularAutoencoder
from modae.linear.regressor import LinearModularRegressor

GRID = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)


def allow_equal(test):
    for message in (
        "With one target",
        "n_components=.* makes all modules",
        "diversity=0 makes all modules",
    ):
        test = pytest.mark.filterwarnings(f"ignore:{message}:UserWarning")(test)
    return test


def made(n=150, d=12, t=20, seed=0):
    """Twenty targets that depend on twelve features, with a smooth spectrum and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(1.0, 3.0, d) + 5.0
    slopes = rng.standard_normal((d, t)) * np.linspace(2.0, 0.3, d)[:, None]
    return X, X @ slopes + rng.standard_normal((n, t)) - 1.0


DATA = {"linnerud": load_linnerud(return_X_y=True), "made": made()}


def loss_of_members(members, Y, lam):
    """The loss of a modular regression network, from what the modules predict."""
    total = 0.0
    for row, y in enumerate(Y):
        outputs = [member[row] for member in members]
        mean = sum(outputs) / len(outputs)
        for output in outputs:
            error, spread = np.sum((output - y) ** 2), np.sum((output - mean) ** 2)
            total += (error - lam * spread) / len(outputs)
    return total / len(Y)


def reduced_rank_regression(X, Y, rank, alpha=0.0):
    """The textbook: least squares (ridge), projected on the leading eigenvectors of Syx Sxx^-1 Sxy."""
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    coefficients = np.linalg.solve(Xc.T @ Xc + alpha * np.eye(X.shape[1]), Xc.T @ Yc)
    V = np.linalg.eigh(Yc.T @ Xc @ coefficients)[1][:, -rank:]
    return (coefficients @ V @ V.T).T


@allow_equal
@parametrize_with_checks([LinearModularRegressor(), LinearModularRegressor(3, 1, 0.9, alpha=0.5)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@allow_equal
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize(("M", "H"), [(1, 2), (2, 1), (2, 2), (3, 1), (5, 2), (10, 1), (10, 3), (4, 8)])
def test_the_objective_is_at_its_bound(name, alpha, M, H):
    X, Y = DATA[name]
    first = LinearModularRegressor(M, H, alpha=alpha, random_state=0).fit(X, Y)
    for model in first.path(GRID):
        assert abs(model.optimality_gap_) <= 1e-8
        assert model.attainment_ == "attained"
        assert model.certified_
        assert model.optimality_gap_ == pytest.approx(
            (model.objective_ - model.lower_bound_) / model.total_variance_, abs=1e-15
        )


@allow_equal
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("diversity", GRID)
def test_the_loss_is_that_of_the_predictions(name, alpha, diversity):
    X, Y = DATA[name]
    model = LinearModularRegressor(4, 2, diversity, alpha=alpha, random_state=0).fit(X, Y)
    members = model.predict_members(X)
    variance = model.total_variance_
    assert variance == pytest.approx(Y.var(axis=0).sum())
    assert model.loss_ == pytest.approx(loss_of_members(members, Y, diversity), abs=1e-11 * variance)
    error = ((members - Y) ** 2).sum(axis=2).mean()
    spread = ((members - members.mean(axis=0)) ** 2).sum(axis=2).mean()
    assert model.reconstruction_error_ == pytest.approx(error, abs=1e-11 * variance)
    assert model.diversity_term_ == pytest.approx(spread, abs=1e-11 * variance)
    C = model.decoders_ @ model.encoders_
    penalty = (1 - diversity) * (C**2).sum() / 4 + diversity * (C.mean(axis=0) ** 2).sum()
    assert model.objective_ == pytest.approx(model.loss_ + alpha / len(X) * penalty, rel=1e-11)
    assert alpha > 0.0 or model.objective_ == model.loss_


@allow_equal
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("rank", [1, 2])
def test_diversity_zero_is_reduced_rank_regression_in_every_module(name, alpha, rank):
    X, Y = DATA[name]
    model = LinearModularRegressor(3, rank, 0.0, alpha=alpha, random_state=0).fit(X, Y)
    expected = reduced_rank_regression(X, Y, rank, alpha)
    for product in model.decoders_ @ model.encoders_:
        np.testing.assert_allclose(product, expected, atol=1e-9)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-9)


@allow_equal
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("alpha", [0.0, 3.0, 500.0])
@pytest.mark.parametrize(("M", "H"), [(20, 1), (10, 2), (3, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_diversity_one_is_linear_regression_or_ridge(name, alpha, M, H, weighted):
    X, Y = DATA[name]
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(X)) if weighted else None
    model = LinearModularRegressor(M, H, 1.0, alpha=alpha, random_state=0).fit(X, Y, weights)
    plain = Ridge(alpha, solver="svd") if alpha else LinearRegression()
    plain.fit(X, Y, weights)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-8)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-8)


@pytest.mark.parametrize("diversity", [0.2, 0.6, 0.95, 1.0])
def test_targets_that_are_the_features_give_the_autoencoder(diversity):
    X = load_digits().data[:300, 8:40]
    autoencoder = LinearModularAutoencoder(4, 3, diversity, random_state=0).fit(X)
    regressor = LinearModularRegressor(4, 3, diversity, random_state=0).fit(X, X)
    variance = autoencoder.total_variance_
    for name in ("loss_", "lower_bound_", "reconstruction_error_", "diversity_term_", "total_variance_"):
        expected = getattr(autoencoder, name)
        assert getattr(regressor, name) == pytest.approx(expected, abs=1e-10 * variance)
    np.testing.assert_allclose(regressor.eigenvalues_, autoencoder.eigenvalues_, atol=1e-10 * variance)
    np.testing.assert_allclose(regressor.allocation_, autoencoder.allocation_, atol=1e-6)
    rebuilt = autoencoder.inverse_transform(autoencoder.transform(X))
    np.testing.assert_allclose(regressor.predict(X), rebuilt, atol=1e-5)


def test_plateaus_are_certified_too():
    rows = np.vstack([np.eye(5), -np.eye(5)])  # five equal eigenvalues, all explained
    model = LinearModularRegressor(3, 2, 0.5, random_state=0).fit(rows, rows)
    assert model.attainment_ == "attained"
    assert model.certified_
    assert model.objective_ / model.total_variance_ == pytest.approx(13 / 30, abs=1e-9)
    assert model.lower_bound_ / model.total_variance_ == pytest.approx(13 / 30, abs=1e-9)


def test_shapes_and_published_numbers_fit_together():
    X, Y = DATA["made"]
    model = LinearModularRegressor(4, 3, 0.7, random_state=0).fit(X, Y)
    assert (model.encoders_.shape, model.decoders_.shape) == ((4, 3, 12), (4, 20, 3))
    assert (model.coef_.shape, model.intercept_.shape) == ((20, 12), (20,))
    members = model.predict_members(X)
    assert members.shape == (4, 150, 20)
    for member, A, B in zip(members, model.decoders_, model.encoders_, strict=True):
        np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-12)
        expected = (X - model.feature_mean_) @ (A @ B).T + model.target_mean_
        np.testing.assert_allclose(member, expected, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), members.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_.T + model.intercept_, atol=1e-10)
    assert model.score(X, Y) == pytest.approx(r2_score(Y, members.mean(axis=0)))
    assert model.allocation_.sum() == pytest.approx(3.0)
    frames = model.principal_axes_ @ model.decoders_
    shares = np.mean([np.diag(frame @ frame.T) for frame in frames], axis=0)
    np.testing.assert_allclose(model.allocation_, shares, atol=1e-10)


@pytest.mark.parametrize(
    ("given", "n_features", "n_targets", "used"),
    [(None, 12, 20, 6), (None, 12, 5, 3), (None, 30, 30, 10), (7, 12, 20, 7), (9, 12, 3, 3)],
)
@allow_equal
def test_components_are_capped_at_features_and_targets(given, n_features, n_targets, used):
    X, Y = made(60, n_features, n_targets)
    assert LinearModularRegressor(2, given).fit(X, Y).n_components_ == used


@allow_equal
def test_one_target_keeps_its_shape_and_is_least_squares_whatever_the_diversity():
    X, Y = DATA["made"]
    y = Y[:, 0]
    plain = LinearRegression().fit(X, y)
    for diversity in GRID:
        model = LinearModularRegressor(4, 3, diversity).fit(X, y)
        assert model.coef_.shape == (12,)
        assert isinstance(model.intercept_, float)
        assert (model.predict(X).shape, model.predict_members(X).shape) == ((150,), (4, 150))
        for member in model.predict_members(X):
            np.testing.assert_allclose(member, plain.predict(X), atol=1e-10)
        assert model.loss_ == pytest.approx(np.mean((plain.predict(X) - y) ** 2))
    column = LinearModularRegressor(4, 3).fit(X, Y[:, :1])
    assert (column.predict(X).shape, column.predict_members(X).shape) == ((150, 1), (4, 150, 1))


def test_equal_modules_are_said_with_the_reason():
    X, Y = DATA["made"]
    with pytest.warns(UserWarning, match=r"one target the linear model is degenerate.*several targets"):
        LinearModularRegressor().fit(X, Y[:, 0])
    with pytest.warns(UserWarning, match=r"n_components=4 makes all modules equal.*rank 4"):
        LinearModularRegressor(n_components=4).fit(X, Y[:, :4])
    with pytest.warns(UserWarning, match=r"diversity=0 makes all modules equal"):
        LinearModularRegressor(n_components=2, diversity=0.0).fit(X, Y)
    # Nothing to say: warnings are errors here.
    LinearModularRegressor(n_components=3).fit(X, Y[:, :4])
    LinearModularRegressor(n_modules=1).fit(X, Y[:, 0])


@allow_equal
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_every_element_of_a_path_is_a_fresh_fit(alpha):
    X, Y = DATA["made"]
    frame = pd.DataFrame(X, columns=[*"abcdefghijkl"])
    first = LinearModularRegressor(4, 3, 0.37, alpha=alpha, random_state=5).fit(frame, Y)
    before = first.coef_.copy()
    for diversity, model in zip(GRID, first.path(GRID), strict=True):
        fresh = LinearModularRegressor(4, 3, diversity, alpha=alpha, random_state=5).fit(X, Y)
        np.testing.assert_allclose(model.predict_members(frame), fresh.predict_members(X), atol=1e-7)
        assert model.loss_ == pytest.approx(fresh.loss_, rel=1e-12)
        assert model.get_params() == fresh.get_params()
        assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(first.coef_, before)
    assert first.diversity == 0.37
    losses = [model.objective_ for model in first.path(GRID)]
    assert np.all(np.diff(losses) <= 1e-12 * first.total_variance_)


def test_before_fit_nothing_is_there():
    model = LinearModularRegressor()
    assert not hasattr(model, "coef_")
    for method, argument in (("predict", [[1.0]]), ("predict_members", [[1.0]]), ("path", [0.3])):
        with pytest.raises(NotFittedError):
            getattr(model, method)(argument)


def test_pickle_and_clone_and_grid_search():
    X, Y = DATA["made"]
    model = LinearModularRegressor(3, 2, 0.9, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_members(X), model.predict_members(X))
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), LinearModularRegressor(3, 2))
    search = GridSearchCV(pipeline, {"linearmodularregressor__alpha": [0.1, 1.0]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.5


def test_one_random_state_one_model_and_one_loss_for_all():
    X, Y = DATA["made"]
    first, second, third = (
        LinearModularRegressor(5, 2, 0.9, random_state=seed).fit(X, Y) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.encoders_, second.encoders_)
    assert third.loss_ == pytest.approx(first.loss_, rel=1e-12)
    assert not np.allclose(third.encoders_, first.encoders_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0.5}, "n_components must be an integer"),
        ({"diversity": 1.2}, r"diversity must be a number in \[0, 1\].*no minimum"),
        ({"alpha": -1.0}, "alpha must be a finite number of at least 0, got -1.0"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearModularRegressor(**parameters).fit(*DATA["made"])


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (lambda Y: None, "requires y to be passed"),
        (lambda Y: Y[:-1], "inconsistent numbers of samples"),
        (lambda Y: np.where(Y > 0.0, np.nan, Y), "contains NaN"),
        (lambda Y: np.ma.masked_greater(Y, 0.0), "y has masked entries"),
        (lambda Y: Y[:, :, None], "dim 3"),
        (lambda Y: 1e170 * Y, "y must spread over 1e-140 to 1e140"),
        (lambda Y: 1e-170 * Y, "multiply y by a power of ten"),
    ],
)
def test_targets_are_checked(targets, message):
    X, Y = DATA["made"]
    with pytest.raises(ValueError, match=message):
        LinearModularRegressor().fit(X, targets(Y))


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_sparse_rows_give_the_model_of_dense_ones(alpha):
    X, Y = DATA["made"]
    X = np.where(X > 5.0, X, 0.0)
    dense, sparse = (
        LinearModularRegressor(4, 3, 0.8, alpha=alpha, random_state=0).fit(kind(X), Y)
        for kind in (np.asarray, csr_array)
    )
    np.testing.assert_allclose(sparse.predict_members(csr_array(X)), dense.predict_members(X), atol=1e-6)
    assert sparse.loss_ == pytest.approx(dense.loss_, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_weight_of_two_is_the_row_twice_and_of_zero_none(alpha):
    X, Y = DATA["made"]
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    absent = (counts == 0)[:, None]
    far = np.where(absent, 1e12, X), np.where(absent, 1e200, Y)
    weighted = LinearModularRegressor(4, 3, 0.8, alpha=alpha, random_state=0).fit(*far, counts)
    twice = np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)
    repeated = LinearModularRegressor(4, 3, 0.8, alpha=alpha, random_state=0).fit(*twice)
    np.testing.assert_allclose(weighted.predict_members(X), repeated.predict_members(X), atol=1e-6)
    assert weighted.loss_ == pytest.approx(repeated.loss_, rel=1e-10)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        LinearModularRegressor().fit(X, Y, np.zeros(len(X)))


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e-120, 1e130), (1e140, 1e-130), (1e3, 1e-5)])
@pytest.mark.parametrize("shape", [(60, 8, 9), (9, 12, 5)])
def test_units_do_not_matter(x_unit, y_unit, shape):
    X, Y = made(*shape)
    model = LinearModularRegressor(3, 2, 0.8, random_state=0).fit(X, Y)
    scaled = LinearModularRegressor(3, 2, 0.8, random_state=0).fit(X * x_unit, Y * y_unit)
    members = scaled.predict_members(X * x_unit) / y_unit
    np.testing.assert_allclose(members, model.predict_members(X), atol=1e-6)
    assert scaled.loss_ / y_unit / y_unit == pytest.approx(model.loss_, rel=1e-10)


def test_float32_stays_float32_and_is_near():
    X, Y = DATA["made"]
    exact = LinearModularRegressor(4, 3, 0.8, alpha=1.0, random_state=0).fit(X, Y)
    single = LinearModularRegressor(4, 3, 0.8, alpha=1.0, random_state=0).fit(X.astype(np.float32), Y)
    for name in ("coef_", "intercept_", "encoders_", "decoders_"):
        assert getattr(single, name).dtype == np.float32
    for method in (single.predict, single.predict_members):
        assert method(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.predict(X), exact.predict(X), atol=1e-3)
    assert single.loss_ == pytest.approx(exact.loss_, rel=1e-5)
