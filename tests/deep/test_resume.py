"""A training that was interrupted and resumed equals the one that was not, bit for bit."""

import copy
import pickle
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from torch import nn

import modae
from deep.parts import (
    DIGITS,
    KINDS,
    X,
    assert_same_training,
    autoencoder,
    classifier,
    ends_early,
    interrupt_after,
    noisy_encoder,
    says,
)
from modae.deep import ModularAutoencoder

pytestmark = ends_early

OPTIONS = {
    "adam": {},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.1},
    "sgd": {"optimizer": "sgd", "learning_rate": 1e-3},
    "cosine": {"schedule": "cosine"},
    "exponential": {"schedule": "exponential"},
    "early stopping": {"early_stopping": True, "patience": 2, "learning_rate": 0.05},
    "patience runs out": {"early_stopping": True, "patience": 1, "learning_rate": 0.3, "max_epochs": 30},
    "float64": {"dtype": "float64"},
    "one batch": {"batch_size": "all"},
    "dropout": {"dropout": 0.3},
    "dropout of a user": {"encoder": noisy_encoder, "decoder": nn.Linear},
    "clipping": {"max_gradient_norm": 0.01},
}


def through_a_file(model):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.modae"
        modae.save(model, path)
        return modae.load(path)


WAYS = {
    "same object": lambda model: model,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "file": through_a_file,
}


def interrupted(model, data, n_epochs):
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, n_epochs)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data)
    assert model.n_epochs_ == n_epochs
    return model


@pytest.mark.parametrize("n_epochs", [1, 3, 5])
@pytest.mark.parametrize("name", OPTIONS)
def test_resuming_equals_not_being_interrupted(name, n_epochs):
    options = {**OPTIONS[name], "max_epochs": OPTIONS[name].get("max_epochs", 6)}
    whole = autoencoder(**options).fit(X)
    if whole.n_epochs_ <= n_epochs:
        n_epochs = whole.n_epochs_ - 1
    parts = interrupted(autoencoder(**options), (X,), n_epochs)
    assert_same_training(parts.resume(X), whole)
    np.testing.assert_array_equal(parts.transform(X), whole.transform(X))


SUPERVISED = {
    "early stopping": {"early_stopping": True, "patience": 2, "learning_rate": 0.05},
    "refit": {"early_stopping": True, "patience": 2, "learning_rate": 0.05, "refit": True},
    "shared": {"body": "shared"},
    "adapters": {"body": "adapters"},
    "class weights": {"class_weight": "balanced"},
}


@pytest.mark.parametrize("n_epochs", [1, 3, 5])
@pytest.mark.parametrize("name", SUPERVISED)
def test_resuming_a_classifier_equals_not_being_interrupted(name, n_epochs):
    data = KINDS["classifier"][1]
    whole = classifier(**SUPERVISED[name]).fit(*data)
    parts = interrupted(classifier(**SUPERVISED[name]), data, n_epochs)
    assert_same_training(parts.resume(*data), whole)


def test_a_second_training_on_all_rows_can_be_interrupted_too():
    data, options = (
        KINDS["classifier"][1],
        SUPERVISED["refit"] | {"learning_rate": 0.2, "max_epochs": 40},
    )
    whole = classifier(**options).fit(*data)
    first = classifier(**{**options, "refit": False}).fit(*data)
    assert whole.n_epochs_ == whole.best_epoch_ == first.best_epoch_ > 1
    parts = classifier(**options)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, first.n_epochs_ + 1)
        with pytest.raises(KeyboardInterrupt):
            parts.fit(*data)
    assert parts.n_epochs_ == 1
    assert_same_training(parts.resume(*data), whole)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_resuming_works_in_a_new_object_too(kind, way):
    make, data = KINDS[kind]
    whole = make(early_stopping=True).fit(*data)
    parts = WAYS[way](interrupted(make(early_stopping=True), data, 3))
    says(parts, X)
    assert_same_training(parts.resume(*data), whole)
    np.testing.assert_array_equal(says(parts, X), says(whole, X))


def test_resuming_sparse_rows_equals_resuming_dense_ones():
    whole = autoencoder().fit(X)
    parts = interrupted(autoencoder(), (csr_array(X),), 2).resume(csr_array(X))
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-4)
    again = interrupted(autoencoder(), (csr_array(X),), 4).resume(csr_array(X))
    assert_same_training(parts, again)


def test_after_an_interruption_the_last_whole_epoch_is_what_a_shorter_fit_gives():
    parts = interrupted(autoencoder(), (X,), 4)
    short = autoencoder(max_epochs=4).fit(X)
    np.testing.assert_array_equal(parts.transform(X), short.transform(X))
    assert parts.loss_ == pytest.approx(parts.history_["loss"][-1])


def test_an_interruption_in_the_first_epoch_leaves_nothing():
    model = autoencoder()
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert vars(model) == vars(autoencoder())


def test_an_interruption_in_the_first_epoch_of_a_second_fit_leaves_the_first_fit():
    model = autoencoder().fit(X)
    before = model.transform(X)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(DIGITS[:, :32])
    np.testing.assert_array_equal(model.transform(X), before)


def test_a_longer_training_goes_on_from_the_shorter_one():
    longer = autoencoder(max_epochs=3).fit(X).set_params(max_epochs=6).resume(X)
    assert_same_training(longer, autoencoder(max_epochs=6).fit(X))


@pytest.mark.parametrize("name", ["adam", "patience runs out"])
def test_there_is_nothing_to_resume_after_the_last_epoch(name):
    model = autoencoder(**OPTIONS[name]).fit(X)
    assert (model.n_epochs_ < model.max_epochs) == (name == "patience runs out")
    before = copy.deepcopy(model)
    assert_same_training(model.resume(X), before)


def test_the_state_is_plain():
    def leaves(tree):
        if isinstance(tree, (dict, list)):
            for part in tree.values() if isinstance(tree, dict) else tree:
                yield from leaves(part)
        else:
            yield tree

    state = asdict(autoencoder(early_stopping=True).fit(X)._fitted)
    kinds = (int, float, str, bool, tuple, type(None), np.ndarray)
    assert all(isinstance(leaf, kinds) for leaf in leaves(state))
    assert all(leaf.dtype != object for leaf in leaves(state) if isinstance(leaf, np.ndarray))


def test_a_change_of_parameters_after_the_fit_does_not_reach_a_restored_model():
    model = autoencoder(hidden_layer_sizes=[8]).fit(X)
    expected = model.transform(X)
    model.set_params(n_modules=7, hidden_layer_sizes=(3,), diversity=0.1)
    for other in (model, through_a_file(model)):
        np.testing.assert_array_equal(other.transform(X), expected)
    assert through_a_file(model).score(X) == model.score(X)


@pytest.mark.parametrize(
    ("change", "rows", "message"),
    [
        ({}, X[:50], "which had 200 rows, got 50"),
        ({}, X[:, :10], "features"),
        ({"n_modules": 4}, X, "n_modules must be what it was in fit, 3"),
        ({"hidden_layer_sizes": (9,)}, X, "hidden_layer_sizes must be what it was in fit"),
    ],
)
def test_what_cannot_be_resumed_says_so(change, rows, message):
    model = autoencoder(max_epochs=2).fit(X).set_params(**change)
    with pytest.raises(ValueError, match=message):
        model.resume(rows)


def test_a_stream_is_continued_by_partial_fit_and_not_by_resume():
    model = autoencoder().partial_fit(X)
    with pytest.raises(ValueError, match="the last call was partial_fit"):
        model.resume(X)


def test_resume_needs_a_fit():
    with pytest.raises(NotFittedError):
        ModularAutoencoder().resume(X)


def test_a_checkpoint_is_the_model_after_the_last_whole_epoch(tmp_path):
    path = tmp_path / "run.modae"
    model = autoencoder(max_epochs=3, checkpoint=path).fit(X)
    np.testing.assert_array_equal(modae.load(path).transform(X), model.transform(X))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", [{}, {"early_stopping": True}, {"schedule": "cosine"}])
def test_a_checkpoint_resumes_to_the_bits_of_an_uninterrupted_training(tmp_path, kind, monkeypatch):
    path = tmp_path / "run.modae"
    whole = autoencoder(max_epochs=5, **kind).fit(X)
    model = autoencoder(max_epochs=5, checkpoint=path, **kind)

    def interrupt(estimator, path):
        modae.save(estimator, path)
        if estimator.n_epochs_ == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("modae.deep.base.save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    monkeypatch.undo()
    resumed = modae.load(path).set_params(checkpoint=None).resume(X)
    assert_same_training(resumed, whole)
