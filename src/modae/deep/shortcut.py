r"""The squared error of autoencoders without their reconstructions.

M reconstructions of n rows are the largest thing in training: to write and read these (M, n, D) numbers
can take longer than all products. Where the last layer is linear, :math:`F_i=W_ih_i+b_i`, and narrow,
they are not needed. By Proposition 1 the loss is

.. math::
   \lambda\,|\bar F-y|^2+(1-\lambda)\,\frac1M\sum_i|F_i-y|^2
   =|\bar F-y|^2+(1-\lambda)\Big(\frac1M\sum_i|F_i|^2-|\bar F|^2\Big),

where the mean :math:`\bar F` is one product of all hidden units, side by side, as in one wide
autoencoder, and :math:`|W_ih_i+b_i|^2` needs only the small matrices :math:`W_i^TW_i`. So modules that
are trained together cost about as much as that one autoencoder.
"""

from typing import Any

import torch
from torch import Tensor, nn

from modae.deep.loss import Loss, LossTerms, modular_loss
from modae.deep.networks import ModularAutoencoderNetwork


def network_terms(
    network: Any,
    x: Tensor,
    target: Tensor,
    diversity: float,
    loss: Loss = "squared_error",
    **others: Any,
) -> LossTerms:
    """The modular loss of what a network makes of a batch, the shortest way: for training.

    Equal, to rounding, to ``modular_loss(network(x), target, diversity, ..., return_terms=True)``, which
    is also how it is found for any network and loss that have no shorter way.

    Parameters
    ----------
    network : torch.nn.Module
        From rows (n, D) to the outputs of M modules (M, n, ...).
    x : Tensor of shape (n, D)
    target : Tensor
        See :func:`modae.deep.loss.modular_loss`; so for the other parameters.
    diversity : float in [0, 1]
    loss : {"squared_error", "huber", "cross_entropy"} or callable, default="squared_error"
    others
        Other arguments of ``modular_loss``.

    Returns
    -------
    terms : LossTerms
        Means over the rows.

    Examples
    --------
    >>> import torch
    >>> from modae.deep.loss import modular_loss
    >>> from modae.deep.networks import ModularAutoencoderNetwork
    >>> from modae.deep.shortcut import network_terms
    >>> network = ModularAutoencoderNetwork(20, n_modules=5, n_components=3)
    >>> rows = torch.rand(30, 20)
    >>> long_way = modular_loss(network(rows), rows, 0.5)
    >>> bool(torch.isclose(network_terms(network, rows, rows, 0.5).loss, long_way))
    True
    """
    decoder = network.decoder if isinstance(network, ModularAutoencoderNetwork) else None
    if loss == "squared_error" and isinstance(decoder, nn.Sequential):
        last: Any = decoder[-1]
        n_outputs, n_inputs = last.weight.shape[1:]
        # A wide layer has large W^T W, and few rows have small reconstructions.
        if n_inputs < min(n_outputs, len(x)):
            hidden = decoder[:-1](network.encoder(x))
            return linear_output_terms(hidden, last.weight, last.bias, target, diversity)
    return modular_loss(network(x), target, diversity, loss=loss, return_terms=True, **others)


def linear_output_terms(
    hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor, diversity: float
) -> LossTerms:
    r"""Terms of the squared error of the outputs :math:`W_ih_i+b_i`, which are not formed.

    The error of the mean is as exact as ever. The ambiguity is a difference of sums of squares: its
    error is about the precision of the numbers times :math:`|F_i|^2`, so in float32 it may come out as
    :math:`-10^{-7}|F_i|^2` for modules that are equal. Gradients are as exact as by the long way.

    Parameters
    ----------
    hidden : Tensor of shape (M, n, k)
        What the last layer reads.
    weight : Tensor of shape (M, D, k)
    bias : Tensor of shape (M, D)
    target : Tensor of shape (n, D)
    diversity : float in [0, 1]

    Returns
    -------
    terms : LossTerms
        Means over the rows.

    Examples
    --------
    Two modules multiply 1 by 1 and by 3, where 1 is right.

    >>> import torch
    >>> from modae.deep.shortcut import linear_output_terms
    >>> weight, bias = torch.tensor([[[1.0]], [[3.0]]]), torch.zeros(2, 1)
    >>> terms = linear_output_terms(torch.ones(2, 1, 1), weight, bias, torch.ones(1, 1), 0.5)
    >>> [value.item() for value in terms]
    [1.5, 2.0, 1.0]
    """
    n_modules, n_rows, _ = hidden.shape
    units = hidden.transpose(0, 1).reshape(n_rows, -1)
    side_by_side = weight.transpose(0, 1).flatten(1)
    # Divided last: else the way back would divide the gradients of all weights.
    mean = torch.addmm(bias.sum(dim=0), units, side_by_side.T) / n_modules
    # The squares of all outputs, h W^T W h + 2 h W^T b + b b, where only h differs between rows.
    quadratic = _Quadratic.apply(hidden, weight)  # type: ignore[no-untyped-call]
    mixed = (hidden.sum(dim=1) * torch.bmm(weight.transpose(1, 2), bias[..., None]).squeeze(-1)).sum()
    squares = quadratic + 2.0 * mixed + n_rows * bias.square().sum()
    of_mean = (mean - target).square().sum() / n_rows
    ambiguity = (squares / n_modules - mean.square().sum()) / n_rows
    return LossTerms(of_mean + (1.0 - diversity) * ambiguity, of_mean + ambiguity, of_mean)


class _Quadratic(torch.autograd.Function):
    """Sum of squares of W_i h over all rows and modules: the inner product of W^T W and sum h h^T.

    Both are symmetric, so that the gradients 2 W (sum h h^T) and 2 W^T W h are one product each;
    autograd, which does not know that, would make two of each and add them.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor) -> Tensor:
        products = _products(hidden, weight)
        ctx.save_for_backward(hidden, weight, *products)
        return torch.dot(*(product.flatten() for product in products))

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        hidden, weight, *products = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is asked for: they are no constants
            products = _products(hidden, weight)
        of_weight, of_hidden = (2.0 * slope * product for product in products)
        return torch.bmm(hidden, of_weight), torch.bmm(weight, of_hidden)


def _products(hidden: Tensor, weight: Tensor) -> list[Tensor]:
    """W^T W and the sum of h h^T over the rows, each (M, k, k)."""
    return [torch.bmm(each.transpose(1, 2), each) for each in (weight, hidden)]
