"""A user's own module for all members: copies with numbers of their own, or one that they share.

A factory makes one module of any architecture (convolutions, layer normalisation, dropout, ...). It is
called once for each member, ``torch.func.stack_module_state`` stacks the numbers of all members along a
new first axis, and ``torch.func.vmap`` runs the one architecture for all of them at once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from modae.deep.layers import scales

Factory = Callable[[int, int], nn.Module]


class Copies(nn.Module):
    """One architecture with the numbers of M modules.

    Every parameter and buffer of ``architecture`` holds the stack of those of all members, so the names
    in ``state_dict`` are the user's own, and optimisers and device moves work as usual.

    Parameters
    ----------
    name : str
        What messages call the factory.
    factory : callable
        A class or function that returns a new ``torch.nn.Module``, from rows (n, n_inputs) to
        (n, n_outputs), when called as ``factory(n_inputs, n_outputs)``; called once for each member.
    n_inputs, n_outputs, n_modules : int
    equal_start : bool, default=False
        Start all members from the numbers of the first one that the factory makes.

    Attributes
    ----------
    architecture : torch.nn.Module
        What the factory made first, with stacked numbers. Not to be called directly.

    Notes
    -----
    Dropout draws for each module on its own. Modules that gather statistics while they train (such as
    ``BatchNorm1d``) are refused: every module would need its own, and evaluation would depend on them.

    Examples
    --------
    >>> from torch import nn
    >>> from modae.deep.copies import Copies
    >>> copies = Copies("module", nn.Linear, 4, 2, n_modules=3)
    >>> {name: tuple(values.shape) for name, values in copies.named_parameters()}
    {'architecture.weight': (3, 2, 4), 'architecture.bias': (3, 2)}
    """

    def __init__(
        self,
        name: str,
        factory: Factory,
        n_inputs: int,
        n_outputs: int,
        n_modules: int,
        equal_start: bool = False,
    ) -> None:
        super().__init__()
        members = _made(name, factory, n_inputs, n_outputs, 1 if equal_start else n_modules)
        parameters, buffers = stack_module_state(members * n_modules if equal_start else members)
        self.architecture = members[0]
        for key, values in _numbers(self.architecture).items():
            values.data = {**parameters, **buffers}[key].detach()  # in place: tied weights stay tied
        how = "torch.func.vmap runs it for all members at once"
        _check_outputs(name, self, n_inputs, n_outputs, how, n_leading=1)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) for all members, or rows of each (M, n, n_inputs), to (M, n, n_outputs)."""
        in_dims, run_one = (0, 0 if x.ndim == 3 else None), partial(functional_call, self.architecture)
        run_all = torch.vmap(run_one, in_dims=in_dims, randomness="different")
        return run_all(_numbers(self.architecture), x)


class OneForAll(nn.Module):
    """One module of a user that serves all members of an ensemble.

    Without ``scaled`` it is made as ``factory(n_inputs, n_modules * n_outputs)``: members share all but
    their part of its last layer. With ``scaled`` it is made as ``factory(n_inputs, n_outputs)`` and run
    once for each member, which scales the rows and the outputs, see
    :class:`modae.deep.layers.AdapterLayer`.

    Parameters
    ----------
    name, factory, n_inputs, n_outputs, n_modules
        See :class:`Copies`.
    scaled : bool
    equal_start : bool, default=False
        Start from scales of 1 in place of random signs; only a scaled module can.

    Examples
    --------
    >>> import torch
    >>> from modae.deep.copies import OneForAll
    >>> shared = OneForAll("module", torch.nn.Linear, 4, 2, n_modules=3, scaled=True)
    >>> tuple(shared(torch.zeros(5, 4)).shape)
    (3, 5, 2)
    """

    def __init__(
        self,
        name: str,
        factory: Factory,
        n_inputs: int,
        n_outputs: int,
        n_modules: int,
        scaled: bool,
        equal_start: bool = False,
    ) -> None:
        super().__init__()
        if equal_start and not scaled:
            raise ValueError(
                f"equal_start must be False with a {name} of your own and body='shared', got True: the "
                "module starts as it likes."
            )
        width = n_outputs if scaled else n_modules * n_outputs
        self.sizes, self.scaled = (n_modules, n_outputs), scaled
        (self.architecture,) = _made(name, factory, n_inputs, width, 1)
        if scaled:
            self.before = scales(n_modules, n_inputs, random_signs=not equal_start)
            self.after = scales(n_modules, n_outputs)
            self.bias = nn.Parameter(torch.zeros(n_modules, n_outputs))
        _check_outputs(name, self.architecture, n_inputs, width, "it is tried")

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) to outputs of all members, (M, n, n_outputs)."""
        if not self.scaled:
            return self.architecture(x).unflatten(-1, self.sizes).transpose(0, 1)
        rows = (x * self.before[:, None]).flatten(0, 1)
        outputs = self.architecture(rows).unflatten(0, (self.sizes[0], x.shape[0]))
        return torch.addcmul(self.bias[:, None], outputs, self.after[:, None])


def _check_outputs(
    name: str, module: nn.Module, n_inputs: int, n_outputs: int, when: str, n_leading: int = 0
) -> None:
    """Two rows, so that a module that does not fit is found now and named."""
    rows = next(module.parameters()).new_zeros(2, n_inputs)
    try:
        with torch.no_grad():
            outputs = module(rows)
    except Exception as error:
        raise ValueError(
            f"{name} made a module that fails on rows of shape (2, {n_inputs}) when {when}: {error}"
        ) from error
    got = tuple(outputs.shape[n_leading:]) if isinstance(outputs, Tensor) else type(outputs).__name__
    if got != (2, n_outputs):
        raise ValueError(
            f"{name} must make a module that gives a tensor of shape (2, {n_outputs}) for rows of "
            f"shape (2, {n_inputs}), got {got}."
        )


def _numbers(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _made(name: str, factory: Any, n_inputs: int, n_outputs: int, count: int) -> list[Any]:
    """What the factory makes: modules that can be stacked, and trained as separate ones."""
    if isinstance(factory, nn.Module) or not callable(factory):
        raise ValueError(
            f"{name} must be a class or function that returns a new torch.nn.Module when called as "
            f"{name}({n_inputs}, {n_outputs}), got {factory!r}."
        )
    members = [factory(n_inputs, n_outputs) for _ in range(count)]
    first = members[0]
    if not isinstance(first, nn.Module):
        raise ValueError(f"{name} must return a torch.nn.Module, got {type(first).__name__}.")
    if any(isinstance(values, nn.UninitializedParameter) for values in first.parameters()):
        raise ValueError(
            f"{name} must return a module whose sizes are known, got a lazy one: {first!r}. Use the "
            "two numbers that it is called with."
        )
    if not list(first.parameters()):
        raise ValueError(f"{name} must return a module with parameters to train, got {first!r}.")
    for part in first.modules():
        if getattr(part, "track_running_stats", False):
            raise ValueError(
                f"{name} must return a module without running statistics, got one with {part!r}. Use "
                "torch.nn.LayerNorm or torch.nn.GroupNorm."
            )
    owned = [id(values) for member in members for values in member.parameters()]
    if len(set(owned)) < len(owned):
        raise ValueError(
            f"{name} must return a new module at each call, with parameters of its own, got one again "
            "that it had returned before."
        )
    kinds = set()
    for member in members:
        numbers = _numbers(member).items()
        kinds.add((type(member), *((key, v.shape, v.dtype, v.requires_grad) for key, v in numbers)))
    if len(kinds) > 1:
        raise ValueError(
            f"{name} must return the same architecture at each call, got {len(kinds)} different ones."
        )
    return members
