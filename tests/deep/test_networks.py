"""Batched networks against M separate networks with the same numbers."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from modae.deep.loss import modular_loss
from modae.deep.networks import MemberLayer, ModularAutoencoderNetwork, ModularRegressionNetwork

M, N, D, H, T = 3, 7, 6, 2, 4
HIDDEN = [(), (5,), (5, 4)]


def separate(layers, i):
    """Module i as an ordinary network of its own."""
    own = []
    for layer in layers:
        if isinstance(layer, MemberLayer):
            _, n_outputs, n_inputs = layer.weight.shape
            linear = nn.Linear(n_inputs, n_outputs, dtype=layer.weight.dtype)
            linear.load_state_dict({"weight": layer.weight[i], "bias": layer.bias[i]})
            own.append(linear)
        else:
            own.append(layer)
    return nn.Sequential(*own)


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def all_networks(hidden, activation="tanh", **options):
    torch.manual_seed(0)
    autoencoder = ModularAutoencoderNetwork(D, M, H, hidden, activation, **options).double()
    regression = ModularRegressionNetwork(D, T, M, hidden, activation, **options).double()
    shared = ModularRegressionNetwork(D, T, M, hidden, activation, body="shared", **options).double()
    return autoencoder, regression, shared


@pytest.mark.parametrize("activation", ["identity", "relu", "tanh"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_equals_separate_networks(hidden, activation):
    autoencoder, regression, shared = all_networks(hidden, activation)
    x = rows(N, D)
    codes = autoencoder.encoder(x)
    assert codes.shape == (M, N, H)
    for i in range(M):
        code = separate(autoencoder.encoder, i)(x)
        torch.testing.assert_close(codes[i], code)
        torch.testing.assert_close(autoencoder.decoder(codes)[i], separate(autoencoder.decoder, i)(code))
        torch.testing.assert_close(autoencoder(x)[i], separate(autoencoder.decoder, i)(code))
        torch.testing.assert_close(regression(x)[i], separate(regression.members, i)(x))
        torch.testing.assert_close(shared(x)[i], separate(shared.members, i)(shared.body(x)))


@pytest.mark.parametrize("hidden", HIDDEN)
def test_gradients_equal_those_of_separate_networks(hidden):
    autoencoder, _, _ = all_networks(hidden)
    x = rows(N, D)
    alone = [
        nn.Sequential(separate(autoencoder.encoder, i), separate(autoencoder.decoder, i))
        for i in range(M)
    ]
    modular_loss(autoencoder(x), x, 0.3).backward()
    modular_loss(torch.stack([one(x) for one in alone]), x, 0.3).backward()
    for batched, *own in zip(
        autoencoder.parameters(), *(one.parameters() for one in alone), strict=True
    ):
        torch.testing.assert_close(batched.grad, torch.stack([parameter.grad for parameter in own]))


@pytest.mark.parametrize("hidden", HIDDEN)
def test_number_of_parameters(hidden):
    sizes = [D, *hidden, H]
    one_way = sum((a + 1) * b for a, b in pairwise(sizes))
    way_back = sum((b + 1) * a for a, b in pairwise(sizes))
    autoencoder, regression, shared = (
        sum(parameter.numel() for parameter in network.parameters()) for network in all_networks(hidden)
    )
    assert autoencoder == M * (one_way + way_back)
    sizes = [D, *hidden]
    body = sum((a + 1) * b for a, b in pairwise(sizes))
    top = (sizes[-1] + 1) * T
    assert regression == M * (body + top)
    assert shared == body + M * top


@pytest.mark.parametrize("hidden", HIDDEN)
def test_equal_start_makes_modules_equal_and_keeps_them_equal(hidden):
    x = rows(N, D)
    for network in all_networks(hidden, equal_start=True):
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        before = network(x).detach()
        for _ in range(3):
            optimizer.zero_grad()
            modular_loss(network(x), x[:, : before.shape[2]], 0.5).backward()
            optimizer.step()
        after = network(x).detach()
        assert not torch.equal(before, after)
        for outputs in (before, after):
            torch.testing.assert_close(outputs, outputs[:1].expand_as(outputs), rtol=1e-13, atol=1e-14)


def test_equal_starts_are_numbers_of_their_own():
    """Not views of one module: a change of one must not reach the others."""
    layer = MemberLayer(M, D, H, equal_start=True)
    with torch.no_grad():
        layer.weight[0] = 0.0
    assert layer.weight[1].abs().min() > 0


def test_starts_differ_and_are_those_of_linear_layers():
    torch.manual_seed(0)
    layer = MemberLayer(M, 100, 400)
    assert not torch.equal(layer.weight[0], layer.weight[1])
    for values in (*layer.weight, *layer.bias):
        assert values.abs().max() <= 0.1
        assert values.abs().max() > 0.09
        assert values.std().item() == pytest.approx(0.1 / math.sqrt(3), rel=0.1)


def test_start_is_the_caller_s_seed():
    def first_weight(seed):
        torch.manual_seed(seed)
        return next(ModularAutoencoderNetwork(D, M, H).parameters())

    assert torch.equal(first_weight(1), first_weight(1))
    assert not torch.equal(first_weight(1), first_weight(2))


def test_state_goes_through_a_dictionary():
    one, other = (ModularAutoencoderNetwork(D, M, H, (5,)) for _ in range(2))
    other.load_state_dict(one.state_dict())
    x = rows(N, D).float()
    assert torch.equal(one(x), other(x))


def test_one_row_and_one_module():
    assert ModularAutoencoderNetwork(D, 1, H, (5,))(torch.zeros(1, D)).shape == (1, 1, D)


REFUSED = [
    ({"hidden_layer_sizes": 64}, r"hidden_layer_sizes must be a tuple .* got 64"),
    ({"hidden_layer_sizes": "64"}, r"hidden_layer_sizes must be a tuple .* got '64'"),
    ({"hidden_layer_sizes": (5, 0)}, "each of hidden_layer_sizes must be at least 1, got 0"),
    ({"activation": "rely", "hidden_layer_sizes": (5,)}, "activation must be one of .* got 'rely'"),
    ({"activation": "rely"}, "activation must be one of .* got 'rely'"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=range(len(REFUSED)))
def test_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        ModularAutoencoderNetwork(**{"n_features": D, "n_modules": M, "n_components": H, **changes})


def test_errors_of_the_regression_network():
    with pytest.raises(ValueError, match="body must be one of 'separate', 'shared', 'adapters', got"):
        ModularRegressionNetwork(D, T, M, body="yes")
