"""The loss without reconstructions, against the loss of the reconstructions."""

import pytest
import torch
from torch import nn

from modae.deep import shortcut
from modae.deep.loss import modular_loss
from modae.deep.networks import ModularAutoencoderNetwork, ModularRegressionNetwork
from modae.deep.shortcut import linear_output_terms, network_terms

M, N, D, H = 3, 12, 8, 2
SHORT = {
    "linear": lambda: ModularAutoencoderNetwork(D, M, H),
    "relu": lambda: ModularAutoencoderNetwork(D, M, H, (5,)),
    "deep tanh": lambda: ModularAutoencoderNetwork(D, M, H, (5, 4), "tanh"),
    "one module": lambda: ModularAutoencoderNetwork(D, 1, H, (5,)),
}
LONG = {
    "wide": lambda: ModularAutoencoderNetwork(D, M, H, (9,)),
    "more units than rows": lambda: ModularAutoencoderNetwork(30, M, H, (N,)),
    "regression": lambda: ModularRegressionNetwork(D, 20, M, (5,)),
    "copies": lambda: ModularAutoencoderNetwork(D, M, H, encoder=nn.Linear, decoder=nn.Linear),
}


def problem(make, dtype=torch.float64):
    torch.manual_seed(0)
    network = make().to(dtype)
    x = torch.randn(N, next(network.parameters()).shape[-1], dtype=dtype)
    return network, x, torch.randn(network(x).shape[1:], dtype=dtype)


@pytest.fixture
def short_ways(monkeypatch):
    """How often the short way was taken."""
    taken = []

    def counted(*arguments):
        taken.append(arguments)
        return linear_output_terms(*arguments)

    monkeypatch.setattr(shortcut, "linear_output_terms", counted)
    return taken


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", [*SHORT, *LONG])
def test_equals_the_long_way_with_its_gradients(name, diversity, short_ways):
    network, x, target = problem({**SHORT, **LONG}[name])
    short = network_terms(network, x, target, diversity)
    long = modular_loss(network(x), target, diversity, return_terms=True)
    assert len(short_ways) == (name in SHORT)
    for one, other in zip(short, long, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    gradients = (torch.autograd.grad(terms.loss, list(network.parameters())) for terms in (short, long))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("loss", ["huber", lambda a, b: (a - b).abs()])
def test_other_losses_take_the_long_way(loss, short_ways):
    network, x, target = problem(SHORT["relu"])
    terms = network_terms(network, x, target, 0.3, loss=loss)
    assert terms.loss == modular_loss(network(x), target, 0.3, loss=loss)
    assert not short_ways


@pytest.mark.parametrize("error", [1.0, 1e-2])
def test_single_precision_near_the_solution(error):
    """Outputs near the target: what rounding does is small beside the squared rows."""
    torch.manual_seed(0)
    weight, hidden = torch.randn(M, 30, 4), torch.randn(1, 50, 4).expand(M, -1, -1)
    weight = weight[:1] + error * torch.randn(M, 30, 4)
    target = hidden[0] @ weight[0].T

    def terms(dtype):
        inputs = [values.to(dtype) for values in (hidden, weight, torch.zeros(M, 30), target)]
        inputs[1].requires_grad_()
        found = linear_output_terms(*inputs, 0.5)
        return found, torch.autograd.grad(found.loss, inputs[1])[0]

    (single, slope), (double, exact) = terms(torch.float32), terms(torch.float64)
    size = target.square().sum(dim=1).mean().item()
    torch.testing.assert_close(single.of_mean.double(), double.of_mean, rtol=1e-5, atol=0)
    torch.testing.assert_close(single.members.double(), double.members, rtol=1e-5, atol=1e-6 * size)
    torch.testing.assert_close(slope.double(), exact, rtol=0, atol=1e-6 * size)


def test_second_derivatives():
    torch.manual_seed(0)
    shapes = (2, 3, 2), (2, 4, 2), (2, 4), (3, 4)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(lambda *values: linear_output_terms(*values, 0.3).loss, inputs)
    assert torch.autograd.gradgradcheck(lambda *values: linear_output_terms(*values, 0.3).loss, inputs)
