"""Errors name the parameter, the rule and the value."""

import numpy as np
import pytest

from modae import LinearModularAutoencoder

X = np.random.default_rng(0).standard_normal((30, 6))

BAD = [
    (
        {"diversity": 1.5},
        r"diversity must be a number in \[0, 1\], got 1.5. Above 1 the loss has no minimum",
    ),
    ({"diversity": -0.1}, r"diversity must be a number in \[0, 1\], got -0.1"),
    ({"diversity": float("nan")}, r"diversity must be a number in \[0, 1\], got nan"),
    ({"diversity": float("inf")}, r"diversity must be a number in \[0, 1\], got inf"),
    ({"diversity": "high"}, r"diversity must be a number in \[0, 1\], got 'high'"),
    ({"diversity": None}, r"diversity must be a number in \[0, 1\], got None"),
    ({"diversity": True}, r"diversity must be a number in \[0, 1\], got True"),
    ({"n_modules": 0}, "n_modules must be at least 1, got 0"),
    ({"n_modules": 2.0}, r"n_modules must be an integer of at least 1, got 2\.0"),
    ({"n_modules": True}, "n_modules must be an integer of at least 1, got True"),
    ({"n_components": 0}, "n_components must be at least 1, got 0"),
    ({"n_components": 7}, "n_components must be at most n_features = 6, got 7"),
    ({"n_components": 2.0}, r"n_components must be None, an integer .* got 2\.0"),
    ({"n_components": 1.0}, r"n_components must be None, an integer .* got 1\.0"),
    ({"n_components": "all"}, "n_components must be None, an integer .* got 'all'"),
    ({"n_components": float("nan")}, "n_components must be None, an integer .* got nan"),
    ({"solver": "newton"}, "solver must be one of 'auto', 'spectral', 'backfitting', 'gradient'"),
    ({"tol": -1e-3}, "tol must be a finite number of at least 0, got -0.001"),
    ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
    ({"max_iter": 10.5}, "max_iter must be an integer of at least 1, got 10.5"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters_are_explained(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearModularAutoencoder(**parameters).fit(X)


def test_numpy_scalars_are_numbers_too():
    model = LinearModularAutoencoder(np.int64(3), np.int32(2), np.float32(0.5)).fit(X)
    assert model.encoders_.shape == (3, 2, 6)


@pytest.mark.parametrize("diversity", [1.5, -1, float("nan"), "x"])
def test_paths_refuse_bad_diversities_at_once(diversity):
    model = LinearModularAutoencoder(random_state=0).fit(X)
    with pytest.raises(ValueError, match="diversity must be"):
        model.with_diversity(diversity)
    with pytest.raises(ValueError, match="diversity must be"):
        model.path([0.5, diversity])


def test_zero_diversity_warns_that_modules_are_equal():
    with pytest.warns(UserWarning, match="diversity=0 makes all modules equal"):
        LinearModularAutoencoder(3, 2, 0.0).fit(X)
    LinearModularAutoencoder(1, 2, 0.0).fit(X)  # one module: no warning


def test_wrong_inputs_are_explained():
    model = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    with pytest.raises(
        ValueError, match="X has 5 features, but LinearModularAutoencoder is expecting 6"
    ):
        model.transform(X[:, :5])
    with pytest.raises(ValueError, match=r"X must have n_modules \* n_components = 6 columns"):
        model.inverse_transform(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="0 sample"):
        LinearModularAutoencoder().fit(X[:0])
    with pytest.raises(ValueError, match="NaN"):
        LinearModularAutoencoder().fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="infinity"):
        LinearModularAutoencoder().fit(np.where(X > 2, np.inf, X))
