"""The deep autoencoder against the linear one, its shapes, and modules that do not collapse."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from torch import nn

from deep.parts import DIGITS, ConvolutionalDecoder, ConvolutionalEncoder, X, autoencoder
from modae import LinearModularAutoencoder
from modae.deep import ModularAutoencoder
from modae.metrics import distance_correlation_matrix

LINEAR = {
    "hidden_layer_sizes": (),
    "activation": "identity",
    "max_epochs": 20,
    "learning_rate": 0.02,
    "schedule": "cosine",
    "batch_size": 64,
    "random_state": 0,
}


@pytest.mark.filterwarnings("ignore:diversity=0 makes all modules equal:UserWarning")
@pytest.mark.parametrize("diversity", [0.0, 0.5, 0.9])
def test_linear_modules_come_within_a_percent_of_the_lower_bound(diversity):
    bound = LinearModularAutoencoder(5, 4, diversity, random_state=0).fit(DIGITS).lower_bound_
    model = ModularAutoencoder(5, 4, diversity, **LINEAR).fit(DIGITS)
    assert bound <= model.loss_ * (1 + 1e-6)
    assert model.loss_ <= 1.01 * bound


def test_nonlinear_modules_beat_the_linear_bound():
    bound = LinearModularAutoencoder(5, 2, random_state=0).fit(DIGITS).lower_bound_
    model = ModularAutoencoder(5, 2, learning_rate=5e-3, max_epochs=20, random_state=0).fit(DIGITS)
    assert model.loss_ < bound


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hidden", [(), (8,), (16, 8)], ids=str)
def test_shapes_precision_and_agreement_of_the_methods(hidden, dtype):
    model = autoencoder(hidden_layer_sizes=hidden, max_epochs=2).fit(X)
    rows = X[:50].astype(dtype)
    codes, modules = model.transform(rows), model.transform_modules(rows)
    whole, each = model.inverse_transform(codes), model.reconstruct_modules(rows)
    assert (codes.shape, modules.shape) == ((50, 6), (3, 50, 2))
    assert (whole.shape, each.shape) == ((50, 64), (3, 50, 64))
    assert {values.dtype for values in (codes, modules, whole, each)} == {np.dtype(dtype)}
    np.testing.assert_array_equal(codes[:, 2:4], modules[1])
    np.testing.assert_allclose(whole, each.mean(axis=0), atol=1e-4)


def test_scores_are_minus_the_loss_of_the_reconstructions():
    model = autoencoder(diversity=0.4).fit(X)
    modules = model.reconstruct_modules(X)
    members = np.square(modules - X).sum(axis=2).mean(axis=0)
    spread = np.square(modules - modules.mean(axis=0)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(model.score_samples(X), 0.4 * spread - members, rtol=1e-4)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    assert model.score(X[::-1] + 8.0) < model.score(X)


def test_the_answer_for_many_rows_is_that_for_blocks_of_them(monkeypatch):
    model = autoencoder(dtype="float64").fit(X)
    expected = model.transform(X), model.score_samples(X), model.inverse_transform(model.transform(X))
    monkeypatch.setattr("modae.deep.model.NUMBERS_IN_BLOCK", 64 * 3 * 7)
    found = model.transform(X), model.score_samples(X), model.inverse_transform(model.transform(X))
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right)


def test_names_of_columns():
    model = autoencoder(max_epochs=1).fit(X)
    names = [f"module{i}_{h}" for i in range(3) for h in range(2)]
    assert model.get_feature_names_out().tolist() == names
    table = model.set_output(transform="pandas").transform(X)
    assert table.columns.tolist() == model.get_feature_names_out().tolist()


def test_components_by_default_are_a_share_of_the_columns():
    assert autoencoder(n_components=None, max_epochs=1).fit(X).n_components_ == 20
    assert autoencoder(n_components=None, max_epochs=1).fit(X[:, 20:24]).n_components_ == 2


@pytest.mark.parametrize("activation", ["tanh", "gelu", nn.Mish, lambda: nn.LeakyReLU(0.3)])
def test_activations_by_name_class_and_function(activation):
    model = autoencoder(activation=activation, learning_rate=0.01).fit(X)
    assert model.history_["loss"][-1] < model.history_["loss"][0]


def test_convolutional_modules():
    options = {"encoder": ConvolutionalEncoder, "decoder": ConvolutionalDecoder, "random_state": 0}
    model = ModularAutoencoder(4, 6, max_epochs=30, learning_rate=1e-2, **options).fit(DIGITS[:600])
    variance = DIGITS[:600].var(axis=0).sum()
    assert model.loss_ < 0.5 * variance
    assert model.transform_modules(DIGITS[:10]).shape == (4, 10, 6)
    assert model.inverse_transform(model.transform(DIGITS[:10])).shape == (10, 64)


def mean_similarity(model):
    """Mean distance correlation over the pairs of modules."""
    similarities = distance_correlation_matrix(model.transform_modules(X))
    return similarities[np.triu_indices(len(similarities), 1)].mean()


def test_equal_starts_stay_equal_without_diversity():
    model = autoencoder(diversity=0.0, equal_start=True, dtype="float64").fit(X)
    assert mean_similarity(model) == pytest.approx(1.0, abs=1e-9)
    modules = model.reconstruct_modules(X)
    np.testing.assert_allclose(modules[1:], np.broadcast_to(modules[0], modules[1:].shape), atol=1e-8)


def test_diversity_makes_modules_differ_and_they_do_not_collapse():
    def similarity(diversity):
        options = {"max_epochs": 20, "learning_rate": 0.01, "diversity": diversity}
        models = [autoencoder(**options | {"random_state": seed}) for seed in range(4)]
        return [mean_similarity(model.fit(X)) for model in models]

    alone, half, most = (np.mean(similarity(diversity)) for diversity in (0.0, 0.5, 0.9))
    assert most < alone
    assert half < alone


def test_nothing_works_before_the_fit():
    model = ModularAutoencoder()
    assert not hasattr(model, "loss_")
    for method in ("transform", "inverse_transform", "reconstruct_modules", "score"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
