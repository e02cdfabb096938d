"""Linear layers of M modules, computed together: with numbers of their own, or with shared weights."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class MemberLayer(nn.Module):
    r"""The same linear layer in M modules, each with its own numbers, as one product for all of them.

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
    >>> from modae.deep.layers import MemberLayer
    >>> layer = MemberLayer(5, 3, 2)
    >>> tuple(layer(torch.zeros(7, 3)).shape), tuple(layer(torch.zeros(5, 7, 3)).shape)
    ((5, 7, 2), (5, 7, 2))
    """

    def __init__(self, n_modules: int, n_inputs: int, n_outputs: int, equal_start: bool = False) -> None:
        super().__init__()
        self.weight = _start((n_modules, n_outputs, n_inputs), n_inputs, equal_start)
        self.bias = _start((n_modules, n_outputs), n_inputs, equal_start)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) for all modules, or rows of each (M, n, n_inputs), to (M, n, n_outputs)."""
        return _products(x, self.weight, self.bias)


class AdapterLayer(nn.Module):
    r"""One linear layer for M modules, each of which scales what goes in and what comes out.

    Module i computes :math:`s_i\circ W(r_i\circ h_i)+b_i`, that is, its weights are :math:`W` times the
    matrix :math:`s_ir_i^T` of rank one (BatchEnsemble: Wen, Tran and Ba, 2020), as in TabM (Gorishniy,
    Kotelnikov and Babenko, 2025). The scales are 1 at first, but for random signs :math:`r_i` in the
    layer that reads the rows, by which modules come to differ.

    Parameters
    ----------
    n_modules, n_inputs, n_outputs : int
    random_signs : bool, default=False

    Attributes
    ----------
    weight : Parameter of shape (n_outputs, n_inputs)
    before : Parameter of shape (n_modules, n_inputs)
    after, bias : Parameter of shape (n_modules, n_outputs)

    Examples
    --------
    >>> import torch
    >>> from modae.deep.layers import AdapterLayer
    >>> layer = AdapterLayer(5, 3, 2)
    >>> tuple(layer(torch.zeros(7, 3)).shape), tuple(layer(torch.zeros(5, 7, 3)).shape)
    ((5, 7, 2), (5, 7, 2))
    """

    def __init__(
        self, n_modules: int, n_inputs: int, n_outputs: int, random_signs: bool = False
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(_start((1, n_outputs, n_inputs), n_inputs, True).detach()[0])
        self.bias = _start((n_modules, n_outputs), n_inputs, True)
        self.before = scales(n_modules, n_inputs, random_signs)
        self.after = scales(n_modules, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) for all modules, or rows of each (M, n, n_inputs), to (M, n, n_outputs)."""
        # Weights are scaled and not rows, of which there are more in a batch.
        return _products(x, self.after[..., None] * self.weight * self.before[:, None], self.bias)


class PeriodicEmbedding(nn.Module):
    r"""Each column as 8 numbers: itself, and what a layer of its own, with a ReLU, makes of waves.

    The waves of column j are :math:`\cos(2\pi c_{jk}x_j)` and :math:`\sin(2\pi c_{jk}x_j)` with 16
    frequencies that are trained (Gorishniy, Rubachev and Babenko, 2022): so a network sees small
    differences in it.

    Parameters
    ----------
    n_inputs : int

    Examples
    --------
    >>> import torch
    >>> from modae.deep.layers import PeriodicEmbedding
    >>> tuple(PeriodicEmbedding(3)(torch.zeros(7, 3)).shape)
    (7, 24)
    """

    #: Numbers that a column becomes.
    width = 8

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(0.3 * torch.randn(n_inputs, 1, 16))
        self.linear = MemberLayer(n_inputs, 32, self.width - 1)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) to (n, 8 n_inputs)."""
        columns = x.T[..., None]
        angles = 2.0 * math.pi * columns * self.frequencies
        waves = torch.cat([angles.cos(), angles.sin()], dim=-1)
        return torch.cat([columns, self.linear(waves).relu()], dim=-1).transpose(0, 1).flatten(1)


class Dropout(nn.Module):
    """In training, leave out each number with this probability, and scale the others up.

    As ``torch.nn.Dropout``, whose random numbers take longer than all products of a small network: four
    of these are drawn at once, so the probability is exact to 2**-17.

    Parameters
    ----------
    probability : float in (0, 1)

    Examples
    --------
    >>> import torch
    >>> from modae.deep.layers import Dropout
    >>> Dropout(0.5)(torch.ones(1000)).unique()
    tensor([0., 2.])
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Of any shape."""
        if not self.training or x.device.type != "cpu":
            return functional.dropout(x, self.probability, self.training)
        drawn = torch.empty(x.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
        numbers = drawn.view(torch.int16)[: x.numel()].view(x.shape)
        # A comparison that writes floats: faster than one that writes flags.
        least = round(self.probability * 2**16) - 2**15
        kept = torch.ge(numbers, least, out=torch.empty(x.shape, dtype=x.dtype))
        return x * kept.div_(1.0 - self.probability)


def _products(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """W_i h_i + b_i for each module: (M, n, n_outputs) from (n, n_inputs) or (M, n, n_inputs)."""
    if x.ndim == 2:  # one product for all modules, (n, M * n_outputs)
        side_by_side = functional.linear(x, weight.flatten(0, 1), bias.flatten())
        # Not len(x), which exporters take for a constant.
        return side_by_side.view(x.shape[0], *bias.shape).transpose(0, 1)
    # In place: baddbmm first writes the bias to every row, which takes longer than this.
    return torch.bmm(x, weight.transpose(1, 2)).add_(bias[:, None])


def scales(n_modules: int, width: int, random_signs: bool = False) -> nn.Parameter:
    """Numbers that each module multiplies what passes by: 1 at first, or -1 and 1 by chance."""
    ones = torch.ones(n_modules, width)
    return nn.Parameter(2.0 * torch.bernoulli(0.5 * ones) - ones if random_signs else ones)


def _start(shape: tuple[int, ...], fan_in: int, equal_start: bool) -> nn.Parameter:
    bound = 1.0 / math.sqrt(fan_in)
    drawn = torch.empty(1, *shape[1:]) if equal_start else torch.empty(shape)
    return nn.Parameter(drawn.uniform_(-bound, bound).expand(shape).contiguous())
