"""Predictions in ONNX are those of predict."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from modae import LinearModularAutoencoder, LinearModularRegressor, ModularRegressor
from modae import NearestNeighborRegressor as NearestNeighbor
from onnx_export.parts import CLOSE, outputs_of

MANY_TARGETS = [
    DecisionTreeRegressor(),
    KNeighborsRegressor(3),
    KNeighborsRegressor(4, weights="distance"),
    LinearRegression(),
    NearestNeighbor(),
    RandomForestRegressor(5),
    Ridge(),
]
ONE_TARGET = [*MANY_TARGETS, SVR(C=100.0), make_pipeline(StandardScaler(), SVR())]


def rows_and_targets():
    """Diabetes, in float32 numbers, with three targets of different sizes."""
    X, y = load_diabetes(return_X_y=True)
    return (100 * X).astype(np.float32).astype(np.float64), np.c_[y, y**2 / 100, np.sqrt(y)]


def assert_same_predictions(model, X, directory):
    found, expected = outputs_of(model, X, directory)["prediction"], model.predict(X)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= CLOSE * np.abs(expected).max()


@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("member", ONE_TARGET, ids=str)
def test_one_target(member, aggregate, tmp_path):
    X, Y = rows_and_targets()
    model = ModularRegressor(LinearModularAutoencoder(4, 3), member, aggregate=aggregate, random_state=0)
    assert_same_predictions(model.fit(X[::2], Y[::2, 0]), X, tmp_path)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("member", MANY_TARGETS, ids=str)
def test_columns_of_targets(member, n_targets, tmp_path):
    X, Y = rows_and_targets()
    model = ModularRegressor(LinearModularAutoencoder(3, 3), member, aggregate="median", random_state=0)
    assert_same_predictions(model.fit(X[::2], Y[::2, :n_targets]), X, tmp_path)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_linear_modules(offset, tmp_path):
    X, Y = rows_and_targets()
    X = (X + offset).astype(np.float32).astype(np.float64)
    model = LinearModularRegressor(3, 1, random_state=0).fit(X, Y)
    assert_same_predictions(model, X, tmp_path)
    assert_same_predictions(make_pipeline(StandardScaler(), model).fit(X, Y), X, tmp_path)


@pytest.mark.filterwarnings("ignore:With one target the linear model is degenerate:UserWarning")
def test_linear_modules_with_one_target(tmp_path):
    X, Y = rows_and_targets()
    assert_same_predictions(LinearModularRegressor(3, 1, random_state=0).fit(X, Y[:, 0]), X, tmp_path)
