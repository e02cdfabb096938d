"""Copies of a user's own module, against the modules themselves one after the other."""

import copy
import pickle

import pytest
import torch
from torch import nn

from modae.deep.copies import Copies
from modae.deep.loss import modular_loss
from modae.deep.networks import ModularAutoencoderNetwork, ModularRegressionNetwork


class Tied(nn.Module):
    """One weight in two places, and a buffer."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.first, self.second = nn.Linear(n_inputs, n_inputs), nn.Linear(n_inputs, n_inputs)
        self.second.weight = self.first.weight
        self.top = nn.Linear(n_inputs, n_outputs)
        self.register_buffer("shift", torch.randn(n_inputs))

    def forward(self, x):
        return self.top(self.second(self.first(x + self.shift).tanh()))


def convolution(n_inputs, n_outputs):
    """Rows of 16 as images of 4 x 4."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)),
        nn.Conv2d(1, 3, 3),
        nn.GroupNorm(1, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(12, n_outputs),
    )


def deconvolution(n_inputs, n_outputs):
    return nn.Sequential(
        nn.Linear(n_inputs, 12),
        nn.Unflatten(1, (3, 2, 2)),
        nn.ConvTranspose2d(3, 1, 3),
        nn.Flatten(),
    )


FACTORIES = [nn.Linear, Tied, convolution]


class Remembered:
    """A factory that keeps what it made, as it was made."""

    def __init__(self, factory):
        self.factory, self.made = factory, []

    def __call__(self, *sizes):
        module = self.factory(*sizes)
        self.made.append(copy.deepcopy(module))
        return module


def rows(n=7, width=16, seed=0):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("factory", FACTORIES)
def test_equals_the_modules_one_by_one(factory):
    remembered = Remembered(factory)
    network = ModularRegressionNetwork(16, module=remembered, n_outputs=3, n_modules=4)
    assert len(remembered.made) == 4
    expected = torch.stack([module(rows()) for module in remembered.made])
    torch.testing.assert_close(network(rows()), expected)
    assert not torch.allclose(expected[0], expected[1])


def test_an_autoencoder_is_encoders_then_decoders():
    encoders, decoders = Remembered(convolution), Remembered(deconvolution)
    network = ModularAutoencoderNetwork(
        16, encoder=encoders, decoder=decoders, n_modules=3, n_components=2
    )
    codes = torch.stack([module(rows()) for module in encoders.made])
    expected = torch.stack([module(code) for module, code in zip(decoders.made, codes, strict=True)])
    torch.testing.assert_close(network.encoder(rows()), codes)
    torch.testing.assert_close(network.decoder(codes), expected)
    torch.testing.assert_close(network(rows()), expected)


def test_decoders_read_their_own_codes_even_if_there_are_as_many_rows_as_modules():
    network = ModularAutoencoderNetwork(
        16, encoder=nn.Linear, decoder=nn.Linear, n_modules=3, n_components=3
    )
    whole = network(rows(3))
    torch.testing.assert_close(whole, torch.cat([network(row[None]) for row in rows(3)], dim=1))


@pytest.mark.parametrize("factory", FACTORIES)
def test_gradients_equal_those_of_the_modules(factory):
    remembered = Remembered(factory)
    network = ModularRegressionNetwork(16, module=remembered, n_outputs=3, n_modules=4)
    target = rows(7, 3, seed=1)
    modular_loss(network(rows()), target, 0.5).backward()
    modular_loss(torch.stack([module(rows()) for module in remembered.made]), target, 0.5).backward()
    each = [dict(module.named_parameters()) for module in remembered.made]
    for key, values in network.members.architecture.named_parameters():
        torch.testing.assert_close(values.grad, torch.stack([one[key].grad for one in each]))


def test_numbers_are_registered_under_the_names_of_the_user():
    members = ModularRegressionNetwork(16, module=Tied, n_outputs=3, n_modules=4).members
    plain = Tied(16, 3)
    stacked = members.architecture.state_dict()
    assert {key: values.shape for key, values in stacked.items()} == {
        key: (4, *values.shape) for key, values in plain.state_dict().items()
    }
    assert sum(1 for _ in members.parameters()) == sum(1 for _ in plain.parameters())
    assert all(isinstance(values, nn.Parameter) and values.is_leaf for values in members.parameters())


def test_a_tied_weight_stays_tied_while_it_trains():
    network = ModularRegressionNetwork(16, module=Tied, n_outputs=3, n_modules=4)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    network(rows()).square().mean().backward()
    optimiser.step()
    tied = network.members.architecture
    assert tied.first.weight is tied.second.weight


def test_frozen_parameters_stay_frozen():
    def factory(n_inputs, n_outputs):
        module = nn.Linear(n_inputs, n_outputs)
        module.bias.requires_grad_(False)
        return module

    members = ModularRegressionNetwork(16, module=factory, n_outputs=3, n_modules=4).members
    trained = {key: values.requires_grad for key, values in members.architecture.named_parameters()}
    assert trained == {"weight": True, "bias": False}


def test_equal_start():
    equal = ModularRegressionNetwork(16, module=Tied, n_outputs=3, n_modules=4, equal_start=True)
    outputs = equal(rows())
    torch.testing.assert_close(outputs, outputs[:1].expand_as(outputs), rtol=0, atol=1e-6)
    # Equal numbers, not the same ones: training may part them.
    assert equal.members.architecture.first.weight.is_contiguous()


def test_the_start_follows_the_global_generator():
    torch.manual_seed(5)
    one = ModularRegressionNetwork(16, module=nn.Linear, n_outputs=3, n_modules=4)
    torch.manual_seed(5)
    other = ModularRegressionNetwork(16, module=nn.Linear, n_outputs=3, n_modules=4)
    assert torch.equal(one(rows()), other(rows()))


def test_dropout_differs_between_modules_and_stops_in_evaluation():
    def factory(n_inputs, n_outputs):
        return nn.Sequential(nn.Linear(n_inputs, 50), nn.Dropout(0.5), nn.Linear(50, n_outputs))

    network = ModularRegressionNetwork(16, module=factory, n_outputs=3, n_modules=4, equal_start=True)
    outputs = network(rows())
    assert not torch.allclose(outputs[0], outputs[1])
    network.eval()
    assert torch.equal(network(rows()), network(rows()))
    torch.testing.assert_close(network(rows())[0], network(rows())[1])


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda network: pickle.loads(pickle.dumps(network))]
)
def test_copies_of_the_network_give_the_same(duplicate):
    network = ModularAutoencoderNetwork(
        16, encoder=convolution, decoder=deconvolution, n_modules=3, n_components=2
    )
    assert torch.equal(duplicate(network)(rows()), network(rows()))


def test_state_dict_carries_everything():
    one, other = (Copies("module", Tied, 16, 3, n_modules=4) for _ in range(2))
    assert not torch.allclose(one(rows()), other(rows()))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(rows()), other(rows()))


def test_other_precisions():
    network = ModularRegressionNetwork(16, module=Tied, n_outputs=3, n_modules=4).double()
    assert network(rows().double()).dtype == torch.float64
    made_so = ModularRegressionNetwork(16, 3, n_modules=2, module=lambda a, b: nn.Linear(a, b).double())
    assert made_so(rows().double()).dtype == torch.float64


def test_normalisation_by_the_batch_alone_is_taken():
    def factory(n_inputs, n_outputs):
        return nn.Sequential(
            nn.Linear(n_inputs, n_outputs), nn.BatchNorm1d(n_outputs, track_running_stats=False)
        )

    remembered = Remembered(factory)
    network = ModularRegressionNetwork(16, module=remembered, n_outputs=3, n_modules=4)
    expected = torch.stack([module(rows()) for module in remembered.made])
    torch.testing.assert_close(network(rows()), expected)


def with_running_statistics(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, n_outputs), nn.BatchNorm1d(n_outputs))


def always(module):
    return lambda n_inputs, n_outputs: module


def growing():
    """Every module has one hidden unit more than the one before."""
    sizes = iter(range(1, 10))

    def factory(n_inputs, n_outputs):
        hidden = next(sizes)
        return nn.Sequential(nn.Linear(n_inputs, hidden), nn.Linear(hidden, n_outputs))

    return factory


REFUSED = {
    "a module": (nn.Linear(16, 3), r"must be a class or function .* module\(16, 3\), got Linear"),
    "no callable": (3, "must be a class or function .* got 3"),
    "no module": (lambda a, b: 3, "must return a torch.nn.Module, got int"),
    "lazy": (lambda a, b: nn.LazyLinear(b), "sizes are known, got a lazy one"),
    "nothing to train": (lambda a, b: nn.Identity(), "with parameters to train, got Identity"),
    "running statistics": (with_running_statistics, "without running statistics.*LayerNorm"),
    "the same again": (always(nn.Linear(16, 3)), "must return a new module at each call"),
    "another each time": (growing(), "same architecture at each call, got 4 different"),
    "too wide": (lambda a, b: nn.Linear(a, b + 1), r"shape \(2, 3\) for .* \(2, 16\), got \(2, 4\)"),
    "too deep": (lambda a, b: nn.Linear(a + 1, b), r"fails on rows of shape \(2, 16\)"),
    "a tuple": (lambda a, b: nn.RNN(a, b, 1), "vmap|got tuple"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_copied_is_refused_and_named(case):
    factory, message = REFUSED[case]
    with pytest.raises(ValueError, match=f"^module .*(?s:{message})"):
        ModularRegressionNetwork(16, module=factory, n_outputs=3, n_modules=4)


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_messages_name_the_factory(name):
    factories = {"encoder": nn.Linear, "decoder": nn.Linear} | {name: with_running_statistics}
    with pytest.raises(ValueError, match=f"^{name} must return a module without running"):
        ModularAutoencoderNetwork(**factories, n_features=16, n_modules=2, n_components=3)
