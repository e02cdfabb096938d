"""Where numbers run out of range, rows run out, or somebody writes into what he was given."""

import numpy as np
import pytest
import torch

from deep.parts import X, autoencoder
from modae.deep.base import training_state


@pytest.mark.parametrize(("n_rows", "fraction"), [(2, 0.9), (3, 0.9), (10, 0.99)])
def test_a_validation_part_never_takes_all_rows(n_rows, fraction):
    model = autoencoder(early_stopping=True, validation_fraction=fraction, max_epochs=2)
    assert np.isfinite(model.fit(X[:n_rows]).transform(X)).all()


@pytest.mark.parametrize("size", [1e25, 1e300])
@pytest.mark.parametrize("method", ["score_samples", "transform", "reconstruct_modules"])
def test_rows_too_far_away_are_refused(method, size):
    model = autoencoder(max_epochs=1).fit(X)
    with pytest.raises(ValueError, match="too far from the training data"):
        getattr(model, method)(np.full((1, X.shape[1]), size))


def test_codes_too_large_are_refused():
    model = autoencoder(max_epochs=1).fit(X)
    with pytest.raises(ValueError, match="too large"):
        model.inverse_transform(np.full_like(model.transform(X[:1]), 1e300, dtype=np.float64))


def test_partial_fit_learns_beyond_max_epochs():
    model = autoencoder(max_epochs=2, schedule="cosine")
    for _ in range(4):
        model.partial_fit(X)
    assert (model.history_["learning_rate"] == model.learning_rate).all()


def test_changing_what_was_given_does_not_change_the_model():
    model = autoencoder(max_epochs=1).fit(X)
    before = model.transform(X)
    for weights in training_state(model)["weights"].values():
        weights[...] = 0.0
    model.mean_[...] = 7.0
    model.history_["loss"][...] = 0.0
    np.testing.assert_array_equal(autoencoder(max_epochs=1).fit(X).transform(X), before)
    np.testing.assert_array_equal(model.transform(X), before)


def test_weight_decay_needs_an_optimizer_that_has_it():
    model = autoencoder(optimizer=torch.optim.LBFGS, weight_decay=0.1)
    with pytest.raises(ValueError, match="weight_decay must be 0 for optimizer"):
        model.fit(X)
