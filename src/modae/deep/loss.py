r"""The loss of modules that are trained together, for any modules and any per-element loss.

.. math::
   L=(1-\lambda)\,\frac1M\sum_i\ell(F_i,y)+\lambda\,\ell(\bar F,y)

The first term asks every module :math:`F_i` to be right on its own, the second asks only their mean
:math:`\bar F` to be right. For a convex loss the first is never below the second, and their distance,
the ambiguity, says how different the modules are. With the squared error this is the objective of
:mod:`modae.core.objective` (Proposition 1 of the paper); with targets y other than the input it is the
loss of a Modular Regression Network (the paper's appendix).
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from modae.utils.parameters import check_choice, check_diversity

Loss = str | Callable[[Tensor, Tensor], Tensor]

#: Losses of the error of each element.
ELEMENTWISE: dict[str, Any] = {"squared_error": functional.mse_loss, "huber": functional.huber_loss}

#: Losses that have a name.
LOSSES = (*ELEMENTWISE, "cross_entropy")

#: What is averaged over the modules of a classifier.
AVERAGES = ("probability", "logit")


class LossTerms(NamedTuple):
    """The loss and what it is made of, all reduced over the rows in the same way.

    Attributes
    ----------
    loss : Tensor
        ``(1 - diversity) * members + diversity * of_mean``.
    members : Tensor
        Mean loss of the modules, each on its own.
    of_mean : Tensor
        Loss of the mean of the modules.
    """

    loss: Tensor
    members: Tensor
    of_mean: Tensor

    @property
    def ambiguity(self) -> Tensor:
        """How much the mean gains on the average module: never below 0 for a convex loss."""
        return self.members - self.of_mean


def modular_loss(
    outputs: Tensor,
    target: Tensor,
    diversity: float,
    *,
    loss: Loss = "squared_error",
    average: str = "probability",
    reduction: str = "mean",
    return_terms: bool = False,
) -> Any:
    r"""(1 - diversity) * mean loss of the modules + diversity * loss of their mean.

    Elements of a row are summed, so the squared error of a row is :math:`\|F_i(x)-y\|^2`. Its gradient
    with respect to the output of module i is Proposition 2 of the paper, negative correlation learning:

    .. math:: \frac{\partial L}{\partial F_i}=\frac2M\big((F_i-y)-\lambda(F_i-\bar F)\big).

    Parameters
    ----------
    outputs : Tensor of shape (n_modules, n_rows, ...)
        What each module says of each row; logits of shape (n_modules, n_rows, n_classes) for
        ``loss="cross_entropy"``.
    target : Tensor of shape (n_rows, ...)
        One target for all modules; indices of classes of shape (n_rows,) for ``loss="cross_entropy"``.
    diversity : float in [0, 1]
        0 trains the modules each on its own, 1 trains only their mean.
    loss : {"squared_error", "huber", "cross_entropy"} or callable, default="squared_error"
        A callable ``loss(outputs, target)`` gets two tensors with the same leading axes, first those of
        all modules and then those of the mean, and returns the loss of each element, or of each row,
        without reducing the leading axes. "huber" is half the squared error up to an error of 1, and
        linear beyond.
    average : {"probability", "logit"}, default="probability"
        What is averaged over modules for the cross-entropy: the probabilities, as a vote does, or the
        logits (the normalised geometric mean of the probabilities).
    reduction : {"mean", "sum", "none"}, default="mean"
        Over the rows; "none" gives one value for each.
    return_terms : bool, default=False
        Return the two terms as well.

    Returns
    -------
    loss : Tensor, or LossTerms if ``return_terms``

    Examples
    --------
    Two modules say 1 and 3 where 1 is right: mean squared error 2, squared error of the mean 1.

    >>> import torch
    >>> from modae.deep.loss import modular_loss
    >>> outputs, target = torch.tensor([[[1.0]], [[3.0]]]), torch.tensor([[1.0]])
    >>> terms = modular_loss(outputs, target, 0.5, return_terms=True)
    >>> [value.item() for value in terms], terms.ambiguity.item()
    ([1.5, 2.0, 1.0], 1.0)
    """
    check_diversity(diversity)
    check_choice("reduction", reduction, ("mean", "sum", "none"))
    check_choice("average", average, AVERAGES)
    if not callable(loss):
        check_name("loss", loss, LOSSES, "a callable")
    if not isinstance(target, Tensor):
        raise ValueError(f"target must be a torch tensor, got {type(target).__name__}.")
    if not isinstance(outputs, Tensor):
        raise ValueError(f"outputs must be a torch tensor of floats, got {type(outputs).__name__}.")
    if not outputs.is_floating_point():
        raise ValueError(f"outputs must be a torch tensor of floats, got {outputs.dtype}.")
    if outputs.ndim < 2 or 0 in outputs.shape:
        raise ValueError(
            "outputs must have the shape (n_modules, n_rows, ...) with at least one of each, got "
            f"{tuple(outputs.shape)}."
        )
    if callable(loss):
        members, of_mean = _elementwise(outputs, target, loss)
    elif loss == "cross_entropy":
        members, of_mean = _cross_entropy(outputs, target, average)
    else:
        # Equal shapes: broadcasting would compare every row with every other without a word.
        if target.shape != outputs.shape[1:]:
            raise ValueError(
                f"target must have the shape of one module's outputs, {tuple(outputs.shape[1:])}, got "
                f"{tuple(target.shape)}."
            )
        if target.dtype != outputs.dtype:
            raise ValueError(
                f"target must have the dtype of outputs, {outputs.dtype}, got {target.dtype}: use "
                "target.to(outputs.dtype)."
            )
        # The mean of the errors, not the error of the mean: it keeps all digits of small errors.
        errors, none = outputs - target, torch.zeros_like(target)
        members, of_mean = _elementwise(errors, none, partial(ELEMENTWISE[loss], reduction="none"))
    if reduction != "none":
        members, of_mean = (getattr(term, reduction)() for term in (members, of_mean))
    terms = LossTerms((1.0 - diversity) * members + diversity * of_mean, members, of_mean)
    return terms if return_terms else terms.loss


def _elementwise(
    outputs: Tensor, target: Tensor, loss: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Both terms for each row, by a loss that gives one value for each element, or for each row."""
    n_rows = outputs.shape[1]
    if target.ndim < 1 or len(target) != n_rows:
        raise ValueError(
            f"target must have one row for each of the {n_rows} rows of outputs, got shape "
            f"{tuple(target.shape)}."
        )

    def losses(values: Tensor, wanted: Tensor, n_leading: int) -> Tensor:
        found = loss(values, wanted)
        if not isinstance(found, Tensor):
            raise ValueError(f"loss must return a torch tensor, got {type(found).__name__}.")
        # More than one for each element come from broadcasting, fewer than one for a row from reducing.
        if found.ndim < n_leading or found.shape != values.shape[: found.ndim]:
            raise ValueError(
                "loss must return one value for each element or row, the shape of outputs, "
                f"{tuple(values.shape)}, or what it begins with {tuple(values.shape[:n_leading])}, got "
                f"{tuple(found.shape)}: leave reducing to `reduction`."
            )
        return found

    # Expanded without a copy, as many losses of torch warn where shapes differ.
    each = losses(outputs, target.expand(len(outputs), *target.shape), 2)
    of_mean = losses(outputs.mean(dim=0), target, 1)
    return each.mean(dim=0).reshape(n_rows, -1).sum(dim=1), of_mean.reshape(n_rows, -1).sum(dim=1)


def _cross_entropy(outputs: Tensor, target: Tensor, average: str) -> tuple[Tensor, Tensor]:
    """Both terms for each row, from logits and indices of classes."""
    if outputs.ndim != 3 or target.shape != outputs.shape[1:2]:
        raise ValueError(
            "loss='cross_entropy' needs outputs of shape (n_modules, n_rows, n_classes) and a target of "
            f"shape (n_rows,), got {tuple(outputs.shape)} and {tuple(target.shape)}."
        )
    if target.is_floating_point() or target.is_complex() or target.dtype == torch.bool:
        raise ValueError(f"target must hold indices of classes (integers), got {target.dtype}.")
    # Compiled code cannot look at values without a break in its graph.
    if not torch.compiler.is_compiling() and not 0 <= target.min() <= target.max() < outputs.shape[2]:
        raise ValueError(
            f"target must hold indices of classes from 0 to {outputs.shape[2] - 1}, got values from "
            f"{target.min().item()} to {target.max().item()}."
        )
    n_modules = len(outputs)
    index = target.long()[:, None]
    chosen = outputs.log_softmax(dim=-1).gather(-1, index.expand(n_modules, -1, -1)).squeeze(-1)
    if average == "logit":
        together = outputs.mean(dim=0).log_softmax(dim=-1).gather(-1, index).squeeze(-1)
    else:
        # The logarithm of the mean probability, from logarithms: no probability is rounded to 0.
        together = chosen.logsumexp(dim=0) - math.log(n_modules)
    return -chosen.mean(dim=0), -together


def check_name(name: str, value: Any, names: Iterable[str], other: str) -> None:
    """One of some names; the message says what else the value may be, which the caller has checked."""
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(repr(choice) for choice in names)
        raise ValueError(f"{name} must be one of {listed}, or {other}, got {value!r}.")
