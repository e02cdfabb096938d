"""Activations by name and by factory."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from modae.deep.networks import ACTIVATIONS, make_activation

FUNCTIONS = {
    "identity": lambda x: x,
    "relu": lambda x: x.clamp(min=0),
    "tanh": torch.tanh,
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "gelu": functional.gelu,
    "elu": lambda x: torch.where(x > 0, x, torch.expm1(x)),
    "leaky_relu": lambda x: torch.where(x > 0, x, 0.01 * x),
    "silu": lambda x: x * torch.sigmoid(x),
    "softplus": lambda x: torch.log1p(torch.exp(x)),
}


def test_every_name_is_tested():
    assert FUNCTIONS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_names(name):
    x = torch.linspace(-3, 3, 31, dtype=torch.float64)
    torch.testing.assert_close(make_activation(name)(x), FUNCTIONS[name](x))


@pytest.mark.parametrize("factory", [nn.Hardswish, partial(nn.Softmax, dim=-1), lambda: nn.ELU(0.5)])
def test_factories_give_a_new_module_each_time(factory):
    one, other = make_activation(factory), make_activation(factory)
    assert isinstance(one, nn.Module)
    assert one is not other


REFUSED = [
    ("rely", "activation must be one of 'identity', 'relu', .* got 'rely'"),
    (None, "activation must be one of .* got None"),
    (nn.ReLU(), r"got ReLU\(\). Give the class ReLU"),
    (dict, "activation must return a torch.nn.Module, got dict"),
    (nn.PReLU, "no parameters or buffers, as all members would share them, got PReLU"),
    (partial(nn.BatchNorm1d, 3, affine=False), "no parameters or buffers"),
    (nn.GLU, r"must keep the shape .* got GLU\(dim=-1\), which makes \(2, 3, 2\) of \(2, 3, 4\)"),
]


@pytest.mark.parametrize(("activation", "message"), REFUSED, ids=range(len(REFUSED)))
def test_errors(activation, message):
    with pytest.raises(ValueError, match=message):
        make_activation(activation)
