"""Where numbers run out of range, rows run out, or somebody writes into what he was given."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import modae
from deep.parts import X, assert_equal, autoencoder, global_states, noisy_encoder


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
    model.mean_[...] = 7.0
    model.history_["loss"][...] = 0.0
    np.testing.assert_array_equal(autoencoder(max_epochs=1).fit(X).transform(X), before)
    np.testing.assert_array_equal(model.transform(X), before)


def test_weight_decay_needs_an_optimizer_that_has_it():
    model = autoencoder(optimizer=torch.optim.LBFGS, weight_decay=0.1)
    with pytest.raises(ValueError, match="weight_decay must be 0 for optimizer"):
        model.fit(X)


def test_a_checkpoint_inside_a_pipeline(tmp_path):
    path = tmp_path / "run.modae"
    pipeline = make_pipeline(StandardScaler(), autoencoder(max_epochs=2, checkpoint=path)).fit(X)
    loaded = modae.load(path)
    rows = pipeline[0].transform(X)
    np.testing.assert_array_equal(loaded.transform(rows), pipeline[-1].transform(rows))
    assert loaded.loss_ == pipeline[-1].loss_
    assert loaded.checkpoint is None  # a file does not say where to write


def test_a_checkpoint_that_cannot_be_written_keeps_the_epochs(tmp_path, monkeypatch):
    model = autoencoder(max_epochs=4, checkpoint=tmp_path / "run.modae")

    def full(estimator, path):
        if estimator.n_epochs_ == 2:
            raise OSError("no space left")

    monkeypatch.setattr("modae.deep.base.save", full)
    with pytest.raises(OSError, match="no space"):
        model.fit(X)
    monkeypatch.undo()
    assert model.n_epochs_ == 2
    whole = autoencoder(max_epochs=4).fit(X)
    resumed = model.set_params(checkpoint=None).resume(X)
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))


def test_a_checkpoint_that_cannot_be_written_leaves_the_global_generators(tmp_path):
    missing = tmp_path / "missing" / "run.modae"
    model = autoencoder(encoder=noisy_encoder, decoder=torch.nn.Linear, checkpoint=missing)
    before = global_states()
    with pytest.raises(OSError, match="missing"):
        model.fit(X)
    assert_equal(global_states(), before)
    assert model.n_epochs_ == 1


def with_constants(n_features, n_components):
    """Numbers that are made from tensors, and a buffer with infinite entries."""
    module = torch.nn.Linear(n_features, n_components)
    module.rates = [rate.item() for rate in torch.linspace(0.0, 0.2, 2)]
    module.register_buffer("mask", torch.from_numpy(np.array([0.0, -np.inf], dtype=np.float32)))
    return module


def test_modules_with_constants_can_be_saved(tmp_path):
    model = autoencoder(encoder=with_constants, decoder=torch.nn.Linear, max_epochs=1).fit(X)
    modae.save(model, tmp_path / "model.modae")
    loaded = modae.load(tmp_path / "model.modae", trusted=[with_constants, torch.nn.Linear])
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


@pytest.mark.parametrize("dim", [0, 1])
def test_an_activation_that_mixes_rows_or_modules_is_refused(dim):
    with pytest.raises(ValueError, match="activation must treat every row"):
        autoencoder(activation=partial(torch.nn.Softmax, dim)).fit(X)
    autoencoder(activation=partial(torch.nn.Softmax, -1), max_epochs=1).fit(X)


@pytest.mark.parametrize("method", ["resume", "partial_fit"])
def test_another_optimizer_starts_without_memory(method):
    model = autoencoder(max_epochs=2).fit(X).set_params(optimizer=torch.optim.RMSprop, max_epochs=4)
    assert np.isfinite(getattr(model, method)(X).loss_)
