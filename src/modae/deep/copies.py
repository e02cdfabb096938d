"""Copies of a user's own module as one network, each with its own numbers.

A factory makes one module of any architecture (convolutions, layer normalisation, dropout, ...). It is
called once for each member, the numbers of all members are stacked along a new first axis, and
``torch.func.vmap`` runs the one architecture for all of them at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from modae.utils.parameters import check_count, check_flag

Factory = Callable[[int, int], nn.Module]


class CopiedAutoencoderNetwork(nn.Module):
    """M autoencoders of a user's own architecture, computed together.

    Parameters
    ----------
    encoder : callable
        A class or function, called as ``encoder(n_features, n_components)``, that returns a new
        ``torch.nn.Module`` from rows (n, n_features) to codes (n, n_components).
    decoder : callable
        The same for the way back, called as ``decoder(n_components, n_features)``.
    n_features : int
    n_modules : int
    n_components : int
        Size of the code of each module.
    equal_start : bool, default=False
        Start all modules from the numbers of the first one that the factory makes.

    Notes
    -----
    Dropout draws for each module on its own. Modules that gather statistics while they train (such as
    ``BatchNorm1d``) are refused: every module would need its own, and evaluation would depend on them.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from modae.deep.copies import CopiedAutoencoderNetwork
    >>> def encoder(n_features, n_components):
    ...     return nn.Sequential(nn.Linear(n_features, 8), nn.LayerNorm(8), nn.Linear(8, n_components))
    >>> network = CopiedAutoencoderNetwork(encoder, nn.Linear, 20, n_modules=5, n_components=3)
    >>> rows = torch.zeros(7, 20)
    >>> tuple(network.encode(rows).shape), tuple(network(rows).shape)
    ((5, 7, 3), (5, 7, 20))
    """

    def __init__(
        self,
        encoder: Factory,
        decoder: Factory,
        n_features: int,
        n_modules: int,
        n_components: int,
        equal_start: bool = False,
    ) -> None:
        super().__init__()
        check_count("n_features", n_features)
        check_count("n_components", n_components)
        self.encoder = Copies("encoder", encoder, n_features, n_components, n_modules, equal_start)
        self.decoder = Copies("decoder", decoder, n_components, n_features, n_modules, equal_start)

    def encode(self, x: Tensor) -> Tensor:
        """Rows (n, D) to codes (M, n, H)."""
        return self.encoder(x)

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (M, n, H) to reconstructions (M, n, D)."""
        return self.decoder(codes)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, D) to reconstructions (M, n, D)."""
        return self.decode(self.encode(x))


class CopiedRegressionNetwork(nn.Module):
    """M networks of a user's own architecture with the same inputs and targets, computed together.

    Parameters
    ----------
    module : callable
        A class or function, called as ``module(n_features, n_outputs)``, that returns a new
        ``torch.nn.Module`` from rows (n, n_features) to outputs (n, n_outputs).
    n_features : int
    n_outputs : int
        Targets of a regression, or classes, whose logits the outputs then are.
    n_modules : int
    equal_start : bool, default=False
        Start all modules from the numbers of the first one that the factory makes.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from modae.deep.copies import CopiedRegressionNetwork
    >>> network = CopiedRegressionNetwork(nn.Linear, 4, n_outputs=2, n_modules=3)
    >>> tuple(network(torch.zeros(5, 4)).shape)
    (3, 5, 2)
    """

    def __init__(
        self,
        module: Factory,
        n_features: int,
        n_outputs: int,
        n_modules: int,
        equal_start: bool = False,
    ) -> None:
        super().__init__()
        check_count("n_features", n_features)
        check_count("n_outputs", n_outputs)
        self.members = Copies("module", module, n_features, n_outputs, n_modules, equal_start)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, D) to the outputs of each module, (M, n, T)."""
        return self.members(x)


class Copies(nn.Module):
    """One architecture with the numbers of M modules.

    Every parameter and buffer of ``architecture`` is replaced by the stack of those of all members, so
    the names in ``state_dict`` are the user's own, and optimisers and device moves work as usual.

    Parameters
    ----------
    name : str
        What messages call the factory.
    factory : callable
        Called as ``factory(n_inputs, n_outputs)``, once for each member.
    n_inputs, n_outputs, n_modules : int
    equal_start : bool, default=False

    Attributes
    ----------
    architecture : torch.nn.Module
        What the factory made first, with stacked numbers. Not to be called directly.

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
        check_count("n_modules", n_modules)
        check_flag("equal_start", equal_start)
        self.architecture = _stacked(
            name, _members(name, factory, n_inputs, n_outputs, n_modules, equal_start)
        )
        self._check_shapes(name, n_inputs, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Rows (n, n_inputs) for all members, or rows of each (M, n, n_inputs), to (M, n, n_outputs)."""
        own_rows = 0 if x.ndim == 3 else None
        return torch.vmap(self._run_one, in_dims=(0, own_rows), randomness="different")(
            _numbers(self.architecture), x
        )

    def _run_one(self, state: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(self.architecture, state, (x,))

    def _check_shapes(self, name: str, n_inputs: int, n_outputs: int) -> None:
        """Run two rows, so that a module that does not fit is found now and named."""
        rows = next(self.parameters()).new_zeros(2, n_inputs)
        try:
            with torch.no_grad():
                outputs = self(rows)
        except Exception as error:
            raise ValueError(
                f"{name} made a module that fails on rows of shape (2, {n_inputs}) when torch.func.vmap "
                f"runs it for all members at once: {error}"
            ) from error
        got = tuple(outputs.shape[1:]) if isinstance(outputs, Tensor) else type(outputs).__name__
        if got != (2, n_outputs):
            raise ValueError(
                f"{name} must make a module that gives a tensor of shape (2, {n_outputs}) for rows of "
                f"shape (2, {n_inputs}), got {got}."
            )


def _members(
    name: str, factory: Factory, n_inputs: int, n_outputs: int, n_modules: int, equal_start: bool
) -> list[nn.Module]:
    if isinstance(factory, nn.Module) or not callable(factory):
        raise ValueError(
            f"{name} must be a class or function that returns a new torch.nn.Module when called as "
            f"{name}({n_inputs}, {n_outputs}), got {factory!r}."
        )
    first = factory(n_inputs, n_outputs)
    _check_member(name, first)
    if equal_start:
        return [first, *(copy.deepcopy(first) for _ in range(n_modules - 1))]
    return [first, *(factory(n_inputs, n_outputs) for _ in range(n_modules - 1))]


def _stacked(name: str, members: list[nn.Module]) -> nn.Module:
    """The first member, with every parameter and buffer replaced by those of all members."""
    _check_separate(name, members)
    _check_alike(name, members)
    each, first = [_numbers(member) for member in members], members[0]
    of_all = {id(values): _stack([numbers[key] for numbers in each]) for key, values in each[0].items()}
    # Under all their names: a module may use one parameter in several places.
    for key, values in _numbers(first, remove_duplicate=False).items():
        owner, _, attribute = key.rpartition(".")
        setattr(first.get_submodule(owner), attribute, of_all[id(values)])
    return first


def _stack(values: list[Tensor]) -> Tensor:
    stacked = torch.stack([value.detach() for value in values])
    if isinstance(values[0], nn.Parameter):
        return nn.Parameter(stacked, requires_grad=values[0].requires_grad)
    return stacked


def _numbers(module: nn.Module, remove_duplicate: bool = True) -> dict[str, Tensor]:
    """Parameters and buffers by name."""
    return {
        **dict(module.named_parameters(remove_duplicate=remove_duplicate)),
        **dict(module.named_buffers(remove_duplicate=remove_duplicate)),
    }


def _check_member(name: str, member: Any) -> None:
    if not isinstance(member, nn.Module):
        raise ValueError(f"{name} must return a torch.nn.Module, got {type(member).__name__}.")
    if any(isinstance(values, nn.UninitializedParameter) for values in member.parameters()):
        raise ValueError(
            f"{name} must return a module whose sizes are known, got a lazy one: {member!r}. Use the "
            "two numbers that it is called with."
        )
    if not any(True for _ in member.parameters()):
        raise ValueError(f"{name} must return a module with parameters to train, got {member!r}.")
    for part in member.modules():
        if getattr(part, "track_running_stats", False):
            raise ValueError(
                f"{name} must return a module without running statistics, got one with {part!r}. Use "
                "torch.nn.LayerNorm or torch.nn.GroupNorm."
            )


def _check_separate(name: str, members: list[nn.Module]) -> None:
    """A factory that returns what it returned before would tie the members together."""
    owned = [id(values) for member in members for values in member.parameters()]
    if len(set(owned)) < len(owned):
        raise ValueError(
            f"{name} must return a new module at each call, with parameters of its own, got one again "
            "that it had returned before."
        )


def _check_alike(name: str, members: list[nn.Module]) -> None:
    kinds = {_architecture(member) for member in members}
    if len(kinds) > 1:
        raise ValueError(
            f"{name} must return the same architecture at each call, got {len(kinds)} different ones."
        )


def _architecture(member: nn.Module) -> tuple[Any, ...]:
    """What has to be equal for numbers to be stacked."""
    numbers = _numbers(member).items()
    return type(member).__name__, *((key, v.shape, v.dtype, v.requires_grad) for key, v in numbers)
