"""ModularRegressor: means, medians, spreads, several targets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from modae import LinearModularAutoencoder, ModularRegressor, NearestNeighborRegressor

M = 4


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:300], y[:300], X[300:], y[300:]


def small(estimator=None, **params):
    return ModularRegressor(LinearModularAutoencoder(M, 3, 0.6, random_state=0), estimator, **params)


def member_predictions(member, A, a, B):
    extractor = LinearModularAutoencoder(M, 3, 0.6, random_state=0).fit(A)
    pairs = zip(extractor.transform_modules(A), extractor.transform_modules(B), strict=True)
    return np.array([member.fit(train, a).predict(test) for train, test in pairs])


@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_the_aggregate_and_the_spread_of_the_members(diabetes, aggregate):
    A, a, B, _ = diabetes
    model = small(KNeighborsRegressor(5), aggregate=aggregate).fit(A, a)
    members = member_predictions(KNeighborsRegressor(5), A, a, B)
    np.testing.assert_allclose(model.predict_members(B), members)
    prediction, spread = model.predict(B, return_std=True)
    np.testing.assert_array_equal(prediction, model.predict(B))
    np.testing.assert_allclose(prediction, getattr(np, aggregate)(members, axis=0))
    expected = [np.sqrt(np.mean((row - row.mean()) ** 2)) for row in members.T]
    np.testing.assert_allclose(spread, expected)


def test_the_ambiguity_decomposition(diabetes):
    A, a, B, b = diabetes
    model = small(KNeighborsRegressor(5)).fit(A, a)
    mean, spread = model.predict(B, return_std=True)
    members = np.mean([mean_squared_error(b, each) for each in model.predict_members(B)])
    assert mean_squared_error(b, mean) == pytest.approx(members - np.mean(spread**2))


def test_member_scores_are_coefficients_of_determination(diabetes):
    A, a, B, b = diabetes
    model = small(Ridge()).fit(A, a)
    weights = np.random.default_rng(0).uniform(0, 1, len(b))
    members = model.predict_members(B)
    np.testing.assert_allclose(model.member_scores(B, b), [r2_score(b, each) for each in members])
    expected = [r2_score(b, each, sample_weight=weights) for each in members]
    np.testing.assert_allclose(model.member_scores(B, b, sample_weight=weights), expected)


@pytest.mark.parametrize("member", [None, Ridge(), RandomForestRegressor(3, random_state=0)])
def test_several_targets_are_the_columns_one_by_one(member):
    X, Y = load_linnerud(return_X_y=True)
    extractor = LinearModularAutoencoder(2, 2, 0.5, random_state=0)
    model = ModularRegressor(extractor, member).fit(X, Y)
    assert model.predict(X).shape == (20, 3)
    assert model.predict_members(X).shape == (2, 20, 3)
    assert model.predict(X, return_std=True)[1].shape == (20, 3)
    if not isinstance(member, RandomForestRegressor):
        columns = [ModularRegressor(extractor, member).fit(X, y).predict(X) for y in Y.T]
        np.testing.assert_allclose(model.predict(X), np.array(columns).T)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(
    "members",
    [
        [("ridge", Ridge()), ("near", NearestNeighborRegressor())],
        [("tree", DecisionTreeRegressor(random_state=0)), ("ridge", Ridge())],
        [("tree", DecisionTreeRegressor(random_state=0)), ("near", NearestNeighborRegressor())],
    ],
)
def test_a_single_column_of_targets_with_members_that_differ(diabetes, members):
    A, a, B, _ = diabetes
    model = ModularRegressor(LinearModularAutoencoder(2, 3, random_state=0), members)
    expected = model.fit(A, a).predict(B)
    np.testing.assert_allclose(np.ravel(model.fit(A, a[:, None]).predict(B)), expected)


def test_targets_of_every_kind(diabetes):
    A, a, B, _ = diabetes
    expected = small().fit(A, a).predict(B)
    for targets in (a.tolist(), a.astype(int), pd.Series(a), pl.Series(a), a.astype(np.float32)):
        np.testing.assert_allclose(small().fit(A, targets).predict(B), expected)


def test_sparse_rows_and_single_precision(diabetes):
    A, a, B, _ = diabetes
    expected = small(Ridge()).fit(A, a).predict(B)
    thin = small(Ridge()).fit(sparse.csr_array(A), a).predict(sparse.csr_array(B))
    np.testing.assert_allclose(thin, expected)
    single = small(Ridge()).fit(A.astype(np.float32), a).predict(B.astype(np.float32))
    np.testing.assert_allclose(single, expected, rtol=1e-2)


def test_jobs_change_nothing_and_seeds_repeat(diabetes):
    A, a, B, _ = diabetes
    forest = RandomForestRegressor(3)
    one = small(forest, random_state=0).fit(A, a).predict(B)
    np.testing.assert_array_equal(small(forest, random_state=0, n_jobs=2).fit(A, a).predict(B), one)
    assert (small(forest, random_state=1).fit(A, a).predict(B) != one).any()


@pytest.mark.parametrize("method", ["predict", "predict_members", "predict_interval"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(ModularRegressor(), method)(np.zeros((2, 3)))
