"""The regressor and the classifier: ambiguity, averages, labels of all kinds, own modules."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from torch import nn

from deep.parts import DIABETES, DIGITS, LABELS, LABELS_OF_X, PROGRESS, X, classifier, regressor
from modae.deep import ModularNetworkClassifier, ModularNetworkRegressor

FRIEDMAN = make_friedman1(300, random_state=0)
LEARNS = {"n_modules": 4, "batch_size": 32, "learning_rate": 1e-2, "max_epochs": 20, "random_state": 0}
LEARNS |= {"early_stopping": False, "hidden_layer_sizes": (64,), "dropout": 0.0}


@pytest.mark.parametrize("diversity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("data", [(DIABETES, PROGRESS), FRIEDMAN], ids=["diabetes", "friedman"])
def test_the_error_of_the_mean_is_that_of_the_members_minus_their_ambiguity(data, diversity):
    rows, y = data
    model = ModularNetworkRegressor(diversity=diversity, **LEARNS).fit(rows, y)
    members, mean = model.predict_members(rows), model.predict(rows)
    split = np.square(mean - y) + np.square(members - mean).mean(axis=0)
    error = np.square(members - y).mean(axis=0)
    assert (np.abs(error - split) / np.square(y).mean()).max() < 1e-6
    np.testing.assert_allclose(model.reconstruction_error_, error.mean(), rtol=1e-5)
    np.testing.assert_allclose(model.diversity_term_, members.var(axis=0).mean(), rtol=1e-3)


def test_regression_learns():
    train, test, y, y_test = train_test_split(*make_friedman1(600, random_state=1), random_state=0)
    assert ModularNetworkRegressor(**LEARNS).fit(train, y).score(test, y_test) > 0.85


def test_diversity_spreads_the_members():
    spreads = [
        ModularNetworkRegressor(diversity=diversity, **LEARNS).fit(*FRIEDMAN).diversity_term_
        for diversity in (0.0, 0.95)
    ]
    assert spreads[1] > 1.5**2 * spreads[0]


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_several_targets_and_both_losses(loss):
    Y = DIGITS[:300, 30:34]
    model = regressor(loss=loss, max_epochs=20, learning_rate=0.01).fit(DIGITS[:300, :30], Y)
    rows = DIGITS[:7, :30]
    assert (model.predict(rows).shape, model.predict_members(rows).shape) == ((7, 4), (3, 7, 4))
    assert model.score(DIGITS[:300, :30], Y) > 0.3
    np.testing.assert_allclose(model.target_mean_, Y.mean(axis=0))


def test_huber_is_in_units_of_y():
    y = PROGRESS
    model = regressor(loss="huber", dtype="float64").fit(DIABETES, y)
    misses = np.abs(model.predict_members(DIABETES) - y) / model.target_scale_
    losses = np.where(misses <= 1.0, misses**2 / 2.0, misses - 0.5) * model.target_scale_**2
    np.testing.assert_allclose(model.reconstruction_error_, losses.mean())


def test_one_column_stays_one_column():
    model = regressor().fit(X, X[:, 2:3])
    assert model.predict(X).shape == (200, 1)
    with pytest.raises(ValueError, match="y must have its 1 columns of fit"):
        model.partial_fit(X, X[:, 2])


@pytest.mark.parametrize("average", ["probability", "logit"])
def test_probabilities_are_the_mean_that_the_loss_judges(average):
    model = classifier(average=average, diversity=0.8, dtype="float64").fit(X, LABELS_OF_X)
    members = model.predict_proba_members(X)
    logits = np.log(members)
    if average == "probability":
        expected = members.mean(axis=0)
    else:
        expected = np.exp(logits.mean(axis=0))
        expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    alone = np.mean([log_loss(LABELS_OF_X, each) for each in members])
    together = log_loss(LABELS_OF_X, expected)
    np.testing.assert_allclose(model.member_loss_, alone)
    np.testing.assert_allclose(model.diversity_term_, alone - together)
    np.testing.assert_allclose(model.loss_, 0.2 * alone + 0.8 * together)


def test_classification_learns_and_members_are_labels():
    A, B, y, z = train_test_split(DIGITS, LABELS, random_state=0)
    model = ModularNetworkClassifier(4, random_state=0).fit(A, y)
    assert model.score(B, z) > 0.95
    assert model.predict_members(B).shape == (4, len(B))
    assert set(np.unique(model.predict_members(B))) <= set(range(10))
    np.testing.assert_allclose(model.predict_proba(B).sum(axis=1), 1.0)


def test_labels_may_be_words():
    words = np.array(["even", "odd"])[LABELS_OF_X % 2]
    model = classifier(max_epochs=30, learning_rate=0.01).fit(X, words)
    assert model.classes_.tolist() == ["even", "odd"]
    assert model.score(X, words) > 0.9


def test_classes_are_announced_to_a_stream():
    model = classifier().partial_fit(X[LABELS_OF_X < 5], LABELS_OF_X[LABELS_OF_X < 5], classes=range(10))
    assert model.predict_proba(X).shape == (200, 10)
    model.partial_fit(X, LABELS_OF_X)
    with pytest.raises(ValueError, match="y must hold labels that were announced"):
        model.partial_fit(X, LABELS_OF_X + 5)
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, LABELS_OF_X, classes=[1, 2])
    assert model.n_epochs_ == 2


WEIGHTS = {
    "separate": 3 * (64 * 8 + 8) + 3 * (8 * 10 + 10),
    "shared": (64 * 8 + 8) + 3 * (8 * 10 + 10),
    "adapters": 64 * 8 + 3 * (64 + 8 + 8) + 3 * (8 * 10 + 10),
}


@pytest.mark.parametrize("body", WEIGHTS)
def test_what_bodies_share_has_fewer_weights(body):
    model = classifier(body=body).fit(X, LABELS_OF_X)
    assert sum(values.size for values in model._fitted.state.weights.values()) == WEIGHTS[body]


def own_module(n_features, n_outputs):
    return nn.Sequential(nn.Linear(n_features, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, n_outputs))


@pytest.mark.parametrize("body", WEIGHTS)
def test_own_modules(body):
    options = {"module": own_module, "body": body, "max_epochs": 30, "learning_rate": 0.01}
    assert classifier(**options).fit(X, LABELS_OF_X).score(X, LABELS_OF_X) > 0.9
    assert regressor(**options).fit(DIABETES, PROGRESS).score(DIABETES, PROGRESS) > 0.4


def test_uncertainty_is_that_of_the_members():
    model = classifier(n_modules=3).fit(X, LABELS_OF_X)
    members = model.predict_proba_members(X)
    total, aleatoric, epistemic = model.uncertainty(X).T
    np.testing.assert_allclose(total, entropy(members.mean(axis=0), axis=1), atol=1e-6)
    np.testing.assert_allclose(aleatoric, entropy(members, axis=2).mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(epistemic, total - aleatoric, atol=1e-12)
