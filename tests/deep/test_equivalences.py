r"""What training all modules at once with plain SGD is the same as, step by step, in float64.

Three statements of the paper, each shown by comparing all parameters after twenty steps.
"""

import pytest
import torch
from torch import nn

from modae.deep.loss import modular_loss
from modae.deep.networks import MemberLayer, ModularAutoencoderNetwork, ModularRegressionNetwork

M, N, D, H, STEPS, RATE = 4, 12, 5, 2, 20, 0.05

NETWORKS = {
    "linear": lambda: ModularAutoencoderNetwork(D, M, H),
    "tanh": lambda: ModularRegressionNetwork(D, D, M, (H,), "tanh"),
    "relu": lambda: ModularRegressionNetwork(D, D, M, (H,), "relu"),
    "deep linear": lambda: ModularAutoencoderNetwork(D, M, H, (3,), "identity"),
    "deep tanh": lambda: ModularAutoencoderNetwork(D, M, H, (3,), "tanh"),
}
"""Autoencoders, shallow and deep; "tanh" and "relu" have the activation on the H hidden units."""

every_network = pytest.mark.parametrize("name", NETWORKS)


def made(name):
    torch.manual_seed(0)
    return NETWORKS[name]().double(), torch.randn(N, D, dtype=torch.float64)


def layers_of(network):
    """The layers of each module in turn, and the activations between them."""
    parts = [part for part in network.modules() if not list(part.children())]
    return [part for part in parts if not isinstance(part, (nn.Identity, nn.Sequential))]


def linear(weight, bias):
    layer = nn.Linear(*weight.shape[::-1], dtype=weight.dtype)
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer


def separate(network):
    """Each module as an ordinary network."""
    return [
        nn.Sequential(
            *(
                linear(part.weight[i], part.bias[i]) if isinstance(part, MemberLayer) else part
                for part in layers_of(network)
            )
        )
        for i in range(M)
    ]


def train(network, optimizers, loss_of_step, after_backward=lambda: None):
    for step in range(STEPS):
        network.zero_grad()
        loss_of_step(step).backward()
        after_backward()
        for optimizer in optimizers:
            optimizer.step()


def assert_same_parameters(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def moved(network, before):
    """Training did something: else equal parameters would show nothing."""
    now = nn.utils.parameters_to_vector(network.parameters())
    return (now - before).abs().max() > 0.01


@every_network
def test_diversity_0_is_m_independent_trainings(name):
    r"""At :math:`\lambda=0`, rate :math:`\alpha` on the modular loss is rate :math:`\alpha/M` on each.

    The loss is :math:`\frac1M\sum_i\|F_i-x\|^2`, and no term has parameters of two modules.
    """
    network, x = made(name)
    before = nn.utils.parameters_to_vector(network.parameters()).detach().clone()
    alone = separate(network)
    for one in alone:
        sgd = torch.optim.SGD(one.parameters(), RATE / M)
        train(one, [sgd], lambda _, one=one: (one(x) - x).square().sum(dim=1).mean())
    sgd = torch.optim.SGD(network.parameters(), RATE)
    train(network, [sgd], lambda _: modular_loss(network(x), x, 0.0))
    assert moved(network, before)
    assert_same_parameters(
        network.parameters(),
        [torch.stack(same) for same in zip(*(one.parameters() for one in alone), strict=True)],
    )


def monolith(network):
    """One network of M*H hidden units; its last layer is the modules' last layers side by side, over M.

    Layers between the first and the last are block diagonal. Returns the network and, for each of its
    weights, where a block is.
    """
    parts = layers_of(network)
    own, masks = [], []
    for part in parts:
        if not isinstance(part, MemberLayer):
            own.append(part)
            continue
        weight, bias = part.weight.detach(), part.bias.detach()
        if part is parts[0]:
            weight, bias = weight.flatten(0, 1), bias.flatten()
            masks.append(torch.ones_like(weight))
        elif part is parts[-1]:
            weight, bias = torch.cat(list(weight), dim=1) / M, bias.mean(dim=0)
            masks.append(torch.ones_like(weight))
        else:
            masks.append(torch.block_diag(*torch.ones_like(weight)))
            weight, bias = torch.block_diag(*weight), bias.flatten()
        own.append(linear(weight, bias))
    return nn.Sequential(*own), masks


@every_network
def test_diversity_1_is_one_autoencoder_with_all_hidden_units(name):
    r"""At :math:`\lambda=1` the modules are one autoencoder whose output weights are :math:`U_i=A_i/M`.

    The loss is :math:`\|\bar F-x\|^2` with :math:`\bar F=\sum_iU_i\varphi(B_ix+b_i)+u`, :math:`u` the
    mean of the output biases, for any elementwise activation :math:`\varphi`. If the modules learn at
    rate :math:`\alpha`, then in the one network

    * all layers but the last learn at :math:`\alpha`,
    * the weights of the last at :math:`\alpha/M^2`: once 1/M as :math:`\partial L/\partial A_i=
      \frac1M\partial L/\partial U_i`, and once as :math:`U_i` moves 1/M of what :math:`A_i` does,
    * its bias at :math:`\alpha/M`: every module's bias moves by 1/M of the gradient, and so does
      their mean.

    For deep modules the layers between are block diagonal and stay so: entries outside the blocks are no
    parameters of this network. Their biases, and the first layer, are ordinary.
    """
    network, x = made(name)
    before = nn.utils.parameters_to_vector(network.parameters()).detach().clone()
    one, masks = monolith(network)
    linears = [part for part in one if isinstance(part, nn.Linear)]
    last = linears[-1]
    sgd = torch.optim.SGD(
        [
            {"params": [parameter for part in linears[:-1] for parameter in part.parameters()]},
            {"params": [last.weight], "lr": RATE / M**2},
            {"params": [last.bias], "lr": RATE / M},
        ],
        RATE,
    )

    def only_blocks():
        for part, mask in zip(linears, masks, strict=True):
            part.weight.grad *= mask

    train(one, [sgd], lambda _: (one(x) - x).square().sum(dim=1).mean(), only_blocks)
    sgd = torch.optim.SGD(network.parameters(), RATE)
    train(network, [sgd], lambda _: modular_loss(network(x), x, 1.0))
    assert moved(network, before)
    assert_same_parameters(monolith(network)[0].parameters(), one.parameters())


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("activation", ["identity", "tanh"])
def test_sgd_on_single_examples_is_negative_correlation_learning(activation, diversity):
    r"""Rate :math:`\frac M2\alpha` on the modular loss is Liu and Yao's update at rate :math:`\alpha`.

    Their error of member i for an example is :math:`\frac12\|F_i-y\|^2+\lambda p_i` with the penalty
    :math:`p_i=(F_i-\bar F)\cdot\sum_{j\ne i}(F_j-\bar F)`, and they take its derivative as if the mean
    and the other members were constant: :math:`(F_i-y)-\lambda(F_i-\bar F)`. That is M/2 times
    Proposition 2. All members are updated at once after each example.
    """
    torch.manual_seed(0)
    network = ModularRegressionNetwork(D, 2, M, (6,), activation).double()
    x, y = (torch.randn(STEPS, width, dtype=torch.float64) for width in (D, 2))
    before = nn.utils.parameters_to_vector(network.parameters()).detach().clone()
    members = nn.ModuleList(separate(network))

    def their_error(step):
        outputs = [member(x[step]) for member in members]
        constant = torch.stack(outputs).detach()
        mean = constant.mean(dim=0)
        error = torch.zeros((), dtype=torch.float64)
        for i, own in enumerate(outputs):
            others = sum(constant[j] - mean for j in range(M) if j != i)
            penalty = ((own - mean) * others).sum()
            error = error + (own - y[step]).square().sum() / 2 + diversity * penalty
        return error

    sgd = torch.optim.SGD(members.parameters(), RATE)
    train(members, [sgd], their_error)
    sgd = torch.optim.SGD(network.parameters(), M / 2 * RATE)
    train(
        network,
        [sgd],
        lambda step: modular_loss(network(x[step : step + 1]), y[step : step + 1], diversity),
    )
    assert moved(network, before)
    together = zip(*(member.parameters() for member in members), strict=True)
    assert_same_parameters(network.parameters(), [torch.stack(same) for same in together])
