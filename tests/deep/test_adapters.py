"""Bodies that modules share: batched layers against the formula, and a user's one module for all."""

import pytest
import torch
from torch import nn

from deep.parts import LABELS_OF_X, X, classifier
from modae.deep.copies import OneForAll
from modae.deep.layers import AdapterLayer
from modae.deep.networks import ModularRegressionNetwork

M, N, D, T = 3, 7, 6, 4


def rows(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def scattered(module):
    """Random numbers in place of ones, by which a scale that is forgotten would not be seen."""
    torch.manual_seed(0)
    for values in module.parameters():
        nn.init.normal_(values)
    return module


@pytest.mark.parametrize("shape", [(N, D), (M, N, D)])
def test_an_adapter_scales_what_goes_in_and_what_comes_out(shape):
    layer, x = scattered(AdapterLayer(M, D, T)), rows(*shape)
    found = layer(x)
    for i in range(M):
        row = x if x.ndim == 2 else x[i]
        expected = layer.after[i] * ((layer.before[i] * row) @ layer.weight.T) + layer.bias[i]
        torch.testing.assert_close(found[i], expected)


def test_adapters_start_as_one_network_but_for_signs_of_the_inputs():
    torch.manual_seed(0)
    network = ModularRegressionNetwork(D, T, M, (5, 4), "tanh", body="adapters")
    first, _, second, _, top = network.members
    assert set(first.before.flatten().tolist()) == {-1.0, 1.0}
    assert not torch.equal(first.before[0], first.before[1])
    assert torch.equal(second.before, torch.ones(M, 5))
    for layer in (first, second):
        assert torch.equal(layer.after, torch.ones_like(layer.after))
        assert torch.equal(layer.bias, layer.bias[:1].expand_as(layer.bias))
    x, i = rows(N, D), 1
    hidden = torch.tanh((x * first.before[i]) @ first.weight.T + first.bias[i])
    hidden = torch.tanh(hidden @ second.weight.T + second.bias[i])
    torch.testing.assert_close(network(x)[i], hidden @ top.weight[i].T + top.bias[i])


def test_equal_starts_have_no_signs():
    network = ModularRegressionNetwork(D, T, M, (5,), body="adapters", equal_start=True)
    outputs = network(rows(N, D))
    torch.testing.assert_close(outputs, outputs[:1].expand_as(outputs))


def own(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 5), nn.Tanh(), nn.Linear(5, n_outputs))


def test_one_module_of_a_user_with_an_output_for_each_member():
    shared = OneForAll("module", own, D, T, M, scaled=False)
    x = rows(N, D)
    side_by_side = shared.architecture(x)
    assert side_by_side.shape == (N, M * T)
    for i in range(M):
        torch.testing.assert_close(shared(x)[i], side_by_side[:, T * i : T * (i + 1)])


def test_one_module_of_a_user_that_each_member_scales():
    shared = scattered(OneForAll("module", own, D, T, M, scaled=True))
    x = rows(N, D)
    for i in range(M):
        expected = shared.after[i] * shared.architecture(shared.before[i] * x) + shared.bias[i]
        torch.testing.assert_close(shared(x)[i], expected)


@pytest.mark.parametrize("body", ["shared", "adapters"])
@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(64, 10), "module must be a class or function"),
        (lambda n, k: nn.Linear(n, k + 1), "module must make a module that gives a tensor of shape"),
        (lambda n, k: nn.Linear(n + 1, k), "module made a module that fails on rows of shape"),
        (lambda n, k: nn.Sequential(nn.Linear(n, k), nn.BatchNorm1d(k)), "BatchNorm1d"),
    ],
)
def test_modules_that_cannot_be_shared_are_refused(body, module, message):
    with pytest.raises(ValueError, match=message):
        classifier(body=body, module=module).fit(X, LABELS_OF_X)
