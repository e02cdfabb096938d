r"""Modules of one architecture as one network: every layer of all modules is one batched product.

A Python loop over M small networks starts M small products for each layer. Here the first layer, which
reads the same rows in every module, is one product :math:`(n,D)\times(D,Mh)`, and each later one is a
batched product :math:`(M,n,h)\times(M,h,h')`. The numbers are the same (to rounding), the time is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from modae.deep.activations import Activation, make_activation
from modae.utils.parameters import check_count, check_flag


class ModularAutoencoderNetwork(nn.Module):
    """M autoencoders D - hidden - H - hidden reversed - D, computed together.

    The activation is between layers; the code and the reconstruction are linear, so with
    ``hidden_layer_sizes=()`` each module is the linear autoencoder of the paper plus biases.

    Parameters
    ----------
    n_features : int
    n_modules : int
    n_components : int
        Size of the code of each module.
    hidden_layer_sizes : tuple of int, default=()
        Between input and code; mirrored between code and output.
    activation : str or callable, default="relu"
        See :func:`modae.deep.activations.make_activation`.
    equal_start : bool, default=False
        Start all modules from the same numbers. They then stay equal under any training that treats them
        alike; the default draws each module on its own, from torch's global generator.

    Examples
    --------
    >>> import torch
    >>> from modae.deep.networks import ModularAutoencoderNetwork
    >>> network = ModularAutoencoderNetwork(20, n_modules=5, n_components=3, hidden_layer_sizes=(8,))
    >>> rows = torch.zeros(7, 20)
    >>> tuple(network.encode(rows).shape), tuple(network(rows).shape)
    ((5, 7, 3), (5, 7, 20))
    """

    def __init__(
        self,
        n_features: int,
        n_modules: int,
        n_components: int,
        hidden_layer_sizes: Sequence[int] = (),
        activation: Activation = "relu",
        equal_start: bool = False,
    ) -> None:
        super().__init__()
        check_count("n_components", n_components)
        sizes = _layer_sizes(n_features, hidden_layer_sizes, n_components)
        self.encoder = _modules(sizes, n_modules, activation, equal_start, shared_input=True)
        self.decoder = _modules(sizes[::-1], n_modules, activation, equal_start, shared_input=False)

    def encode(self, x: Tensor) -> Tensor:
        """Rows (n, D) to codes (M, n, H)."""
        return self.encoder(x)

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (M, n, H) to reconstructions (M, n, D)."""
        return self.decoder(codes)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, D) to reconstructions (M, n, D)."""
        return self.decode(self.encode(x))


class ModularRegressionNetwork(nn.Module):
    """M networks D - hidden - T with a linear top layer, computed together.

    The Modular Regression Network of the paper's appendix. For a classifier, the T outputs are logits.

    Parameters
    ----------
    n_features : int
    n_outputs : int
    n_modules : int
    hidden_layer_sizes : tuple of int, default=(64,)
    activation : str or callable, default="relu"
        After each hidden layer, see :func:`modae.deep.activations.make_activation`.
    shared_body : bool, default=False
        One body (all hidden layers) for all modules, which then differ only in their top layer.
    equal_start : bool, default=False
        Start all modules from the same numbers.

    Examples
    --------
    >>> import torch
    >>> from modae.deep.networks import ModularRegressionNetwork
    >>> network = ModularRegressionNetwork(4, n_outputs=2, n_modules=3, shared_body=True)
    >>> tuple(network(torch.zeros(5, 4)).shape)
    (3, 5, 2)
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        n_modules: int,
        hidden_layer_sizes: Sequence[int] = (64,),
        activation: Activation = "relu",
        shared_body: bool = False,
        equal_start: bool = False,
    ) -> None:
        super().__init__()
        check_count("n_outputs", n_outputs)
        check_flag("shared_body", shared_body)
        sizes = _layer_sizes(n_features, hidden_layer_sizes, n_outputs)
        self.body = _shared_body(sizes[:-1], activation) if shared_body else nn.Identity()
        own_sizes = sizes[-2:] if shared_body else sizes
        self.members = _modules(own_sizes, n_modules, activation, equal_start, shared_input=True)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, D) to the outputs of each module, (M, n, T)."""
        return self.members(self.body(x))


class MemberLayer(nn.Module):
    r"""The same linear layer in M modules, each with its own numbers, as one batched product.

    Module i computes :math:`W_ih_i+b_i` as ``torch.nn.Linear`` does, with its start too: uniform within
    :math:`\pm1/\sqrt{\text{fan in}}`.

    Parameters
    ----------
    n_modules, n_inputs, n_outputs : int
    equal_start : bool, default=False

    Attributes
    ----------
    weight : Parameter of shape (n_modules, n_outputs, n_inputs)
    bias : Parameter of shape (n_modules, n_outputs)

    Examples
    --------
    >>> import torch
    >>> from modae.deep.networks import MemberLayer
    >>> tuple(MemberLayer(5, 3, 2)(torch.zeros(5, 7, 3)).shape)
    (5, 7, 2)
    """

    def __init__(self, n_modules: int, n_inputs: int, n_outputs: int, equal_start: bool = False) -> None:
        super().__init__()
        check_count("n_modules", n_modules)
        check_flag("equal_start", equal_start)
        self.weight = _start((n_modules, n_outputs, n_inputs), n_inputs, equal_start)
        self.bias = _start((n_modules, n_outputs), n_inputs, equal_start)

    def forward(self, x: Tensor) -> Tensor:
        """Inputs (M, n, n_inputs), one for each module, to (M, n, n_outputs)."""
        # In place: baddbmm first writes the bias to every row, which takes longer than this.
        return torch.bmm(x, self.weight.transpose(1, 2)).add_(self.bias[:, None])

    def extra_repr(self) -> str:
        """Sizes, for the printed network."""
        n_modules, n_outputs, n_inputs = self.weight.shape
        return f"{n_modules} modules, {n_inputs} inputs, {n_outputs} outputs"


class SharedInputLayer(MemberLayer):
    """A :class:`MemberLayer` whose modules all read the same rows: one product for all.

    Examples
    --------
    >>> import torch
    >>> from modae.deep.networks import SharedInputLayer
    >>> tuple(SharedInputLayer(5, 3, 2)(torch.zeros(7, 3)).shape)
    (5, 7, 2)
    """

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) to (M, n, n_outputs), a view of (n, M * n_outputs)."""
        side_by_side = functional.linear(x, self.weight.flatten(0, 1), self.bias.flatten())
        return side_by_side.view(len(x), *self.bias.shape).transpose(0, 1)


def _modules(
    sizes: Sequence[int],
    n_modules: int,
    activation: Activation,
    equal_start: bool,
    *,
    shared_input: bool,
) -> nn.Sequential:
    """Layers of these sizes in every module, with the activation between them."""
    layers: list[nn.Module] = []
    for n_inputs, n_outputs in pairwise(sizes):
        kind = SharedInputLayer if shared_input and not layers else MemberLayer
        layers += [kind(n_modules, n_inputs, n_outputs, equal_start), make_activation(activation)]
    return nn.Sequential(*layers[:-1])


def _shared_body(sizes: Sequence[int], activation: Activation) -> nn.Sequential:
    """Ordinary layers of these sizes, each followed by the activation."""
    layers: list[nn.Module] = []
    for n_inputs, n_outputs in pairwise(sizes):
        layers += [nn.Linear(n_inputs, n_outputs), make_activation(activation)]
    return nn.Sequential(*layers)


def _start(shape: tuple[int, ...], fan_in: int, equal_start: bool) -> nn.Parameter:
    bound = 1.0 / math.sqrt(fan_in)
    drawn = torch.empty(1, *shape[1:]) if equal_start else torch.empty(shape)
    return nn.Parameter(drawn.uniform_(-bound, bound).expand(shape).contiguous())


def _layer_sizes(n_inputs: int, hidden_layer_sizes: Any, n_outputs: int) -> list[int]:
    check_count("n_features", n_inputs)
    if isinstance(hidden_layer_sizes, str) or not isinstance(hidden_layer_sizes, Sequence):
        raise ValueError(
            "hidden_layer_sizes must be a tuple of integers, such as (64,) or () for no hidden layer, "
            f"got {hidden_layer_sizes!r}."
        )
    for size in hidden_layer_sizes:
        check_count("each of hidden_layer_sizes", size)
    return [n_inputs, *hidden_layer_sizes, n_outputs]
