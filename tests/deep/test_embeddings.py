"""Columns as several numbers, waves of them; dropout that draws fast."""

import numpy as np
import pytest
import torch
from scipy import sparse

import modae
from deep.parts import (
    LABELS_OF_X,
    X,
    assert_same_training,
    classifier,
    ends_early,
    interrupt_after,
    says,
)
from modae.deep import ModularNetworkRegressor
from modae.deep.layers import Dropout, PeriodicEmbedding


def wave(n_rows=400):
    """A target that turns up and down along one column."""
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, size=(n_rows, 2))
    return rows, np.sin(8.0 * rows[:, 0])


def test_what_turns_often_along_a_column_is_learnt_sooner():
    options = {"hidden_layer_sizes": (16,), "max_epochs": 60, "early_stopping": False, "random_state": 0}
    plain = ModularNetworkRegressor(4, **options).fit(*wave())
    embedded = ModularNetworkRegressor(4, embedding="periodic", **options).fit(*wave())
    assert embedded.score(*wave()) > plain.score(*wave()) + 0.3


@ends_early
@pytest.mark.parametrize("body", ["separate", "shared", "adapters"])
def test_waves_with_each_body_files_sparse_rows_and_interruptions(body, tmp_path):
    options = {"embedding": "periodic", "body": body, "early_stopping": True, "max_epochs": 4}
    whole = classifier(**options).fit(X, LABELS_OF_X)
    np.testing.assert_allclose(
        says(classifier(**options).fit(sparse.csr_array(X), LABELS_OF_X), X), says(whole, X), rtol=1e-4
    )
    parts = classifier(**options)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            parts.fit(X, LABELS_OF_X)
    modae.save(parts, tmp_path / "model.modae")
    assert_same_training(modae.load(tmp_path / "model.modae").resume(X, LABELS_OF_X), whole)


def test_other_embeddings_are_refused():
    with pytest.raises(ValueError, match="embedding must be"):
        classifier(embedding="fourier").fit(X, LABELS_OF_X)
    with pytest.raises(ValueError, match="must be what it was in fit"):
        classifier().fit(X, LABELS_OF_X).set_params(embedding="periodic").resume(X, LABELS_OF_X)


def test_waves_are_those_of_the_formula():
    torch.manual_seed(0)
    layer, x = PeriodicEmbedding(2), torch.randn(5, 2)
    found = layer(x).view(5, 2, 8)
    assert torch.equal(found[..., 0], x)
    for j in range(2):
        angles = 2.0 * torch.pi * x[:, j, None] * layer.frequencies[j]
        waves = torch.hstack([angles.cos(), angles.sin()])
        linear = waves @ layer.linear.weight[j].T + layer.linear.bias[j]
        torch.testing.assert_close(found[:, j, 1:], linear.relu())


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("shape", [(100_001,), (20, 5000)])
def test_dropout_leaves_out_its_part_and_keeps_the_mean(probability, shape):
    torch.manual_seed(0)
    x = torch.ones(shape, requires_grad=True)
    layer = Dropout(probability)
    found = layer(x)
    part = (found == 0.0).double().mean().item()
    assert abs(part - probability) < 5.0 * (probability * (1.0 - probability) / x.numel()) ** 0.5
    torch.testing.assert_close(found[found != 0.0].unique(), torch.tensor([1.0 / (1.0 - probability)]))
    found.sum().backward()
    assert torch.equal(x.grad, found.detach())
    halves = (found.detach().flatten() == 0.0)[:100_000].view(2, -1).double()
    assert abs(torch.corrcoef(halves)[0, 1]) < 0.03
    assert layer.eval()(x) is x
