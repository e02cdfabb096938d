"""Deep estimators in files: the same to the last bit, also when training goes on."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import modae
from deep.parts import KINDS, X, assert_same_training, autoencoder, ends_early, noisy_encoder, says
from modae.deep import ModularAutoencoder


def again(model, tmp_path, **options):
    modae.save(model, tmp_path / "model.modae")
    return modae.load(tmp_path / "model.modae", **options)


@ends_early
@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_the_same(kind, early_stopping, tmp_path):
    make, data = KINDS[kind]
    model = make(early_stopping=early_stopping).fit(*data)
    loaded = again(model, tmp_path)
    assert_same_training(loaded, model)
    np.testing.assert_array_equal(says(loaded, X), says(model, X))
    assert repr(loaded.get_params()) == repr(model.get_params())


def test_an_unfitted_model(tmp_path):
    model = ModularAutoencoder(3, 2, activation=torch.nn.Mish, optimizer=torch.optim.RMSprop)
    loaded = again(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert not loaded.__sklearn_is_fitted__()


def test_names_of_columns_and_a_stream(tmp_path):
    frame = pd.DataFrame(X, columns=[f"pixel{i}" for i in range(X.shape[1])])
    model = autoencoder().partial_fit(frame)
    loaded = again(model, tmp_path)
    assert_same_training(loaded.partial_fit(frame), model.partial_fit(frame))
    assert list(loaded.feature_names_in_) == list(frame.columns)


def test_an_ensemble_on_deep_modules(tmp_path):
    y = (X[:, 10] > X[:, 10].mean()).astype(int)
    vote = modae.ModularClassifier(autoencoder(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(again(vote, tmp_path).predict(X), vote.predict(X))


def test_modules_of_ones_own_need_trust(tmp_path):
    model = autoencoder(encoder=noisy_encoder, decoder=torch.nn.Linear).fit(X)
    with pytest.raises(modae.ModelFormatError, match=r"deep\.parts\.noisy_encoder"):
        again(model, tmp_path, trusted=["torch.nn.modules.linear.Linear"])
    trusted = [noisy_encoder, torch.nn.Linear]
    np.testing.assert_array_equal(
        again(model, tmp_path, trusted=trusted).transform(X), model.transform(X)
    )


def test_a_function_without_a_name_is_refused_when_it_is_saved(tmp_path):
    model = autoencoder(encoder=lambda n, h: torch.nn.Linear(n, h), decoder=torch.nn.Linear)
    with pytest.raises(TypeError, match="lambda"):
        modae.save(model, tmp_path / "model.modae")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["shape", "nan", "missing", "sizes", "optimiser", "kind"])
def test_weights_that_do_not_fit_are_refused(change, tmp_path):
    """By the rules that also a file is read with."""
    model = autoencoder().fit(X)
    fitted = deepcopy(model._fitted)
    weights, memory = fitted.state.weights, fitted.state.optimizer
    name = max(weights, key=lambda key: weights[key].size)
    if change == "shape":
        weights[name] = weights[name][..., :-1]
    if change == "nan":
        weights[name][0] = np.nan
    if change == "missing":
        del weights[name]
    if change == "sizes":
        fitted.arguments["n_modules"] = 10**9  # and no memory is used for it
    if change == "optimiser":
        memory["0"], memory["1"] = memory["1"], memory["0"]
    if change == "kind":
        fitted = replace(fitted, kind="regression")
    model._fitted = fitted
    with pytest.raises((modae.ModelFormatError, TypeError)):
        modae.save(model, tmp_path / "model.modae")
