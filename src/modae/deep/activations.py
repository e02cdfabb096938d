"""Activation functions by name, or made by a factory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Activation = str | Callable[[], nn.Module]

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
}
"""Names and what they stand for, with torch's default settings."""


def make_activation(activation: Activation) -> nn.Module:
    """A new activation module.

    One module serves all members of an ensemble at once, so it must work element by element (or along
    the last axis) and have no parameters: members would share them, and no longer be separate.

    Parameters
    ----------
    activation : str or callable
        A name in :data:`ACTIVATIONS`, or a factory: a class or function that gives a ``torch.nn.Module``
        when called without arguments.

    Returns
    -------
    module : torch.nn.Module

    Examples
    --------
    >>> from functools import partial
    >>> from torch import nn
    >>> from modae.deep.activations import make_activation
    >>> make_activation("tanh"), make_activation(nn.Hardswish), make_activation(partial(nn.ELU, 0.5))
    (Tanh(), Hardswish(), ELU(alpha=0.5))
    """
    if isinstance(activation, str) and activation in ACTIVATIONS:
        return ACTIVATIONS[activation]()
    if isinstance(activation, (str, nn.Module)) or not callable(activation):
        raise ValueError(_message(activation))
    return _checked(activation())


def _message(activation: Any) -> str:
    names = ", ".join(repr(name) for name in ACTIVATIONS)
    remedy = ""
    if isinstance(activation, nn.Module):
        remedy = f" Give the class {type(activation).__name__} or a function that makes the module."
    return (
        f"activation must be one of {names}, or a class or function without arguments that returns a "
        f"torch.nn.Module, got {activation!r}.{remedy}"
    )


def _checked(module: Any) -> nn.Module:
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"activation must return a torch.nn.Module, got {type(module).__name__}: give a class such "
            "as torch.nn.ReLU."
        )
    if any(True for _ in module.parameters()) or any(True for _ in module.buffers()):
        raise ValueError(
            f"activation must have no parameters or buffers, as all members would share them, got "
            f"{module!r}. Write such an encoder and decoder as modules of your own."
        )
    probe = torch.zeros(2, 3, 4)
    with torch.no_grad():
        shape = module(probe).shape
    if shape != probe.shape:
        raise ValueError(
            f"activation must keep the shape of its input, got {module!r}, which makes {tuple(shape)} "
            f"of {tuple(probe.shape)}."
        )
    _check_separate(module, probe)
    return module


def _check_separate(module: nn.Module, probe: Tensor) -> None:
    """What happens to one row of one module changes no other: softmax over modules would."""
    changed = probe.clone()
    changed[0, 0, 0] = 1.0
    module.eval()
    with torch.no_grad():
        same = torch.equal(module(probe).flatten(0, 1)[1:], module(changed).flatten(0, 1)[1:])
    module.train()
    if not same:
        raise ValueError(
            f"activation must treat every row of every module on its own, got {module!r}, which mixes "
            "them: let it work along the last axis (dim=-1)."
        )
