"""How training goes: schedules, early stopping, divergence, streams, whose random numbers are used."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from deep.parts import (
    DIGITS,
    KINDS,
    X,
    assert_equal,
    assert_same_training,
    autoencoder,
    ends_early,
    global_states,
    noisy_encoder,
    says,
)
from modae.deep import DivergedError, modular_loss
from modae.deep.model import Scaling
from modae.deep.networks import ModularAutoencoderNetwork

LATER = DIGITS[200:400]


def test_the_history_has_a_number_for_each_epoch_and_its_terms_agree():
    history = autoencoder(diversity=0.3).fit(X).history_
    assert {len(values) for values in history.values()} == {6}
    np.testing.assert_allclose(history["diversity"], history["members"] - history["of_mean"])
    weighed = 0.7 * history["members"] + 0.3 * history["of_mean"]
    np.testing.assert_allclose(history["loss"], weighed, rtol=1e-5)
    assert history["loss"][-1] < history["loss"][0]


def test_one_epoch_in_one_batch_is_one_step_of_a_plain_loop():
    options = {"batch_size": "all", "max_epochs": 1, "optimizer": "sgd", "dtype": "float64"}
    model = autoencoder(learning_rate=1e-3, **options).fit(X)
    start = autoencoder(learning_rate=0.0, **options).fit(X)._fitted
    network = ModularAutoencoderNetwork(64, 3, 2, (8,)).double()
    network.load_state_dict({k: torch.as_tensor(v) for k, v in start.state.weights.items()})
    rows = torch.as_tensor((X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean()))
    modular_loss(network(rows), rows, 0.5).backward()
    for name, weights in network.named_parameters():
        expected = (weights - 1e-3 * weights.grad).detach().numpy()
        np.testing.assert_allclose(model._fitted.state.weights[name], expected, atol=1e-12)


def test_losses_are_in_units_of_the_data_whether_or_not_they_are_normalised():
    model = autoencoder(normalize=True).fit(1000.0 * X)
    unscaled = autoencoder(normalize=True).fit(X)
    np.testing.assert_allclose(model.history_["loss"], 1e6 * unscaled.history_["loss"], rtol=1e-4)
    np.testing.assert_allclose(model.loss_, -model.score(1000.0 * X))
    plain = autoencoder(normalize=False).fit(X)
    np.testing.assert_allclose(plain.loss_, -plain.score(X))
    assert plain.scale_ == 1.0
    assert not plain.mean_.any()


def test_loss_is_made_of_its_terms_and_equals_the_loss_of_the_reconstructions():
    model = autoencoder(diversity=0.7, dtype="float64").fit(X)
    modules = model.reconstruct_modules(X)
    members = np.square(modules - X).sum(axis=2).mean()
    spread = np.square(modules - modules.mean(axis=0)).sum(axis=2).mean()
    np.testing.assert_allclose(model.reconstruction_error_, members)
    np.testing.assert_allclose(model.diversity_term_, spread)
    np.testing.assert_allclose(model.loss_, members - 0.7 * spread)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [1.0, 1.0, 1.0, 1.0]),
        ("cosine", [(1 + np.cos(np.pi * k / 4)) / 2 for k in range(4)]),
        ("exponential", [0.01 ** (k / 4) for k in range(4)]),
        (lambda epoch, max_epochs: epoch / max_epochs, [0.0, 0.25, 0.5, 0.75]),
    ],
    ids=["constant", "cosine", "exponential", "callable"],
)
def test_schedules(schedule, expected):
    model = autoencoder(schedule=schedule, max_epochs=4, learning_rate=0.02).fit(X)
    np.testing.assert_allclose(model.history_["learning_rate"], 0.02 * np.array(expected))


def test_early_stopping_keeps_the_best_weights():
    options = {"early_stopping": True, "patience": 3, "learning_rate": 0.1, "max_epochs": 60}
    model = autoencoder(**options).fit(X)
    losses = model.history_["valid_loss"]
    assert model.best_epoch_ == losses.argmin() + 1
    assert model.n_epochs_ == model.best_epoch_ + 3 < 60
    shorter = clone(model).set_params(max_epochs=model.best_epoch_)
    with pytest.warns(ConvergenceWarning, match=r"while the validation loss was still improving"):
        shorter.fit(X)
    np.testing.assert_array_equal(model.transform(X), shorter.transform(X))


def test_without_early_stopping_there_is_no_validation():
    model = autoencoder().fit(X)
    assert "valid_loss" not in model.history_
    assert model.best_epoch_ == model.n_epochs_ == 6


def test_the_fitted_diversity_stays_when_the_parameter_changes():
    model = autoencoder(diversity=0.3).fit(X).set_params(diversity=0.9)
    assert model.diversity_ == 0.3


def test_weight_decay_shrinks_the_weights():
    def size(weight_decay):
        model = autoencoder(optimizer="adamw", weight_decay=weight_decay, learning_rate=0.01).fit(X)
        return sum(np.square(values).sum() for values in model._fitted.state.weights.values())

    assert size(5.0) < 0.9 * size(0.0)


def test_an_optimizer_class_can_be_given():
    model = autoencoder(optimizer=torch.optim.RMSprop).fit(X)
    assert model.history_["loss"][-1] < model.history_["loss"][0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"learning_rate": 1e25, "optimizer": "sgd"}], ids=str)
def test_global_generators_are_untouched_also_by_a_training_that_fails(kind, options):
    make, data = KINDS[kind]
    before, model = global_states(), make(**options)
    if options:
        with pytest.raises(DivergedError):
            model.fit(*data)
    else:
        says(model.fit(*data), X)
        model.partial_fit(*data)
    assert_equal(global_states(), before)


def test_global_generators_are_untouched_by_modules_that_draw():
    before = global_states()
    model = autoencoder(encoder=noisy_encoder, decoder=nn.Linear).fit(X)
    model.transform(X)
    assert_equal(global_states(), before)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_model_whatever_the_global_generator_does(kind):
    make, data = KINDS[kind]
    one = make().fit(*data)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        other = make().fit(*data)
    assert_same_training(one, other)
    assert not np.array_equal(says(make(random_state=1).fit(*data), X), says(one, X))


def test_threads_give_the_same_models():
    """Those that draw random numbers and those that do not wait for each other, but not for ever."""
    noisy = {"encoder": noisy_encoder, "decoder": nn.Linear}
    models = [autoencoder(max_epochs=2, **noisy if k % 2 else {}) for k in range(8)]
    before = global_states()

    def answers(model):
        codes = model.fit(X).transform(X)
        return codes, model.inverse_transform(codes), model.score_samples(X)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(answers, models))
    for k, other in enumerate(found[2:]):
        assert_equal(list(other), list(found[k % 2]))
    assert_equal(global_states(), before)


@pytest.mark.parametrize("options", [{"learning_rate": 1e25}, {"learning_rate": 3.0, "max_epochs": 50}])
def test_a_diverging_loss_stops_with_epoch_terms_and_advice_and_changes_nothing(options):
    model = autoencoder(random_state=0).fit(X)
    before = dict(vars(model))
    model.set_params(optimizer="sgd", normalize=False, activation="identity", **options)
    parameters = model.get_params()
    expected = r"in epoch \d+ it is .* modules .* mean .* smaller learning_rate"
    with pytest.raises(DivergedError, match=expected):
        model.fit(DIGITS[:, :32])
    assert vars(model) == {**before, **parameters}
    assert model.transform(X).shape == (200, 6)


def test_a_loss_that_grows_without_overflow_is_stopped_too():
    model = autoencoder(learning_rate=0.3, schedule=lambda epoch, _: 10.0**epoch, max_epochs=12)
    with pytest.raises(DivergedError, match=r"grew from .* in the first epoch: in epoch \d"):
        model.fit(X)


def test_one_wild_batch_is_no_divergence():
    wild = np.random.default_rng(0).normal(size=(1000, 5))
    wild[500] *= 1e4
    for seed in range(4):
        model = autoencoder(normalize=False, learning_rate=0.0, random_state=seed, max_epochs=2).fit(
            wild
        )
        assert model.n_epochs_ == 2


def test_partial_fit_is_one_epoch_and_learns():
    stream = autoencoder().partial_fit(X)
    assert stream.n_epochs_ == 1
    once = stream.loss_
    for _ in range(9):
        stream.partial_fit(X)
    assert stream.n_epochs_ == 10
    assert stream.loss_ < once


def test_partial_fit_over_the_same_rows_is_fit_epoch_by_epoch():
    stream = autoencoder()
    for _ in range(6):
        stream.partial_fit(X)
    whole = autoencoder().fit(X)
    np.testing.assert_array_equal(stream.transform(X), whole.transform(X))
    assert_equal(stream.history_, whole.history_)


def test_partial_fit_keeps_the_scaling_of_the_first_rows():
    stream = autoencoder().partial_fit(X).partial_fit(5.0 * LATER + 1.0)
    np.testing.assert_allclose(stream.mean_, X.mean(axis=0))
    np.testing.assert_allclose(stream.scale_, np.sqrt(X.var(axis=0).mean()))


def test_partial_fit_goes_on_from_the_weights_of_the_best_epoch():
    options = {"early_stopping": True, "patience": 2, "learning_rate": 0.2, "max_epochs": 60}
    model = autoencoder(**options).fit(X)
    assert model.best_epoch_ < model.n_epochs_
    codes = model.transform(X)
    np.testing.assert_array_equal(model.set_params(learning_rate=0.0).partial_fit(X).transform(X), codes)


def test_constant_data_are_no_problem():
    model = autoencoder().fit(np.full((20, 5), 3.0))
    assert np.isfinite(model.transform(np.full((2, 5), 3.0))).all()
    assert model.scale_ == 1.0


def test_the_scale_is_one_number_and_far_data_keep_their_digits():
    far = X + 1e6
    scaling = Scaling.of(far)
    near = Scaling.of(X).apply(X, np.float32)
    np.testing.assert_allclose(scaling.apply(far, np.float32), near, atol=1e-6)
    np.testing.assert_allclose(scaling.undo(scaling.apply(far, np.float64), np.float64), far)


@ends_early
def test_nothing_is_printed_or_written_and_progress_goes_to_stderr(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    autoencoder(early_stopping=True).fit(X).transform(X)
    assert capfd.readouterr() == ("", "")
    autoencoder(verbose=True).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "training" in err
    assert list(tmp_path.iterdir()) == []


def test_compile_trains_the_compiled_network_and_leaves_an_ordinary_one(monkeypatch):
    compiled, original = [], torch.compile

    def eager(module, **options):
        compiled.append(module)
        return original(module, backend="eager", **options)

    monkeypatch.setattr(torch, "compile", eager)
    model = autoencoder(compile=True, max_epochs=2).fit(X)
    assert len(compiled) == 1
    ordinary = autoencoder(max_epochs=2).fit(X)
    np.testing.assert_allclose(model.transform(X), ordinary.transform(X), atol=1e-4)
    assert not any("_orig_mod" in name for name in model._fitted.state.weights)


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopped = autoencoder(early_stopping=True, patience=1, learning_rate=0.3, max_epochs=60)
        stopped.fit(X).resume(X).partial_fit(X)
