"""Data, small models and helpers that the tests of the deep estimators share."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_digits
from torch import nn

from modae.deep import ModularAutoencoder, ModularNetworkClassifier, ModularNetworkRegressor, training

DIGITS, LABELS = load_digits(return_X_y=True)
X, LABELS_OF_X = DIGITS[:200], LABELS[:200]
DIABETES, PROGRESS = load_diabetes(return_X_y=True, scaled=False)

SMALL = {"hidden_layer_sizes": (8,), "max_epochs": 6, "batch_size": 64, "random_state": 0}

#: For tests that end a training on purpose before it is done.
ends_early = pytest.mark.filterwarnings("ignore:Training ended with max_epochs")

#: A fixed number of epochs for the supervised ones too, which otherwise stop early.
FIXED = {**SMALL, "early_stopping": False}


def autoencoder(**options):
    return ModularAutoencoder(**{"n_modules": 3, "n_components": 2, **SMALL, **options})


def regressor(**options):
    return ModularNetworkRegressor(**{"n_modules": 3, **FIXED, **options})


def classifier(**options):
    return ModularNetworkClassifier(**{"n_modules": 3, **FIXED, **options})


KINDS = {
    "autoencoder": (autoencoder, (X,)),
    "regressor": (regressor, (X, X[:, :2].sum(axis=1))),
    "classifier": (classifier, (X, LABELS_OF_X)),
}


def noisy_encoder(n_features, n_components):
    return nn.Sequential(nn.Linear(n_features, 8), nn.Dropout(0.3), nn.Linear(8, n_components))


class ConvolutionalEncoder(nn.Sequential):
    """8 x 8 images to codes."""

    def __init__(self, n_features, n_components):
        super().__init__(
            nn.Unflatten(1, (1, 8, 8)),
            nn.Conv2d(1, 4, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * 4 * 4, n_components),
        )


class ConvolutionalDecoder(nn.Sequential):
    """And back."""

    def __init__(self, n_components, n_features):
        super().__init__(
            nn.Linear(n_components, 4 * 4 * 4),
            nn.ReLU(),
            nn.Unflatten(1, (4, 4, 4)),
            nn.ConvTranspose2d(4, 1, 2, stride=2),
            nn.Flatten(),
        )


def says(model, rows):
    """What a model says of rows, whatever kind it is."""
    if hasattr(model, "transform"):
        return model.transform(rows)
    if hasattr(model, "classes_"):
        return model.predict_proba_members(rows)
    return model.predict_members(rows)


def assert_equal(one, other):
    """Nested dicts and lists of arrays and numbers, bit for bit."""
    if isinstance(one, dict):
        assert set(one) == set(other)
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_equal(left, right)
    else:
        np.testing.assert_array_equal(one, other)


def assert_same_training(one, other):
    """Two models with all that training depends on equal bit for bit."""
    assert_equal(asdict(one._fitted), asdict(other._fitted))


def interrupt_after(monkeypatch, n_epochs):
    """Ctrl-C in the middle of the epoch that comes after ``n_epochs`` whole ones of a call."""
    step, rate, epochs = training.train_step, training.learning_rate, []

    def learning_rate(options, epoch):
        epochs.append(epoch)
        return rate(options, epoch)

    def train_step(*arguments):
        terms = step(*arguments)
        if len(epochs) == n_epochs + 1:
            raise KeyboardInterrupt
        return terms

    monkeypatch.setattr(training, "learning_rate", learning_rate)
    monkeypatch.setattr(training, "train_step", train_step)


def global_states():
    """The states of the global generators of NumPy and torch."""
    return {"numpy": list(np.random.get_state()[1:3]), "torch": torch.get_rng_state().numpy()}  # noqa: NPY002
