"""The training loop: from the state after some epochs to the state after each of the next.

All random numbers of epoch k (the order of the rows, dropout) are functions of ``(seed, k)``. So there
are no states of generators to keep, and a training that stopped after epoch k goes on exactly as if it
had not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from modae.deep.batches import TensorBatches
from modae.deep.loss import LossTerms, loss_terms
from modae.deep.options import learning_rate, make_optimizer
from modae.deep.shortcut import network_terms
from modae.utils.arrays import Array, Indices

GROWTH_LIMIT = 1e3
"""A loss this many times that of the first epoch, and still growing, will not come back."""

_ORDER, _SPLIT, _TORCH = range(3)
"""Purposes, so that no two draws come from the same stream."""

_ONE_AT_A_TIME = RLock()


class DivergedError(RuntimeError):
    """Training was stopped because the loss ran away."""


@dataclass(frozen=True, eq=False)
class TrainingState:
    """All that later epochs depend on, in plain numbers, dicts and NumPy arrays."""

    seed: int
    epoch: int = 0
    """Whole epochs done."""

    history: dict[str, Array] = field(default_factory=dict)
    """Quantity -> a number for each epoch, NaN where it was not measured."""

    weights: dict[str, np.ndarray] = field(default_factory=dict)
    """What ``state_dict`` of the network gives; empty before the first epoch."""

    best_epoch: int = 0
    """The epoch, from 1, whose weights are to be used."""

    best_weights: dict[str, np.ndarray] | None = None
    """Those of the least validation loss; None without early stopping, which uses the last."""

    optimizer_name: str = ""
    optimizer: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the optimiser remembers of each parameter, by its place."""


def train(
    network: nn.Module,
    data: TensorBatches,
    objective: dict[str, Any],
    options: Any,
    state: TrainingState,
    *,
    until: int,
    unit: float = 1.0,
    validate: bool = False,
    stream: bool = False,
    draws: bool = False,
) -> Iterator[TrainingState]:
    """Train a network in place; gives the state after each whole epoch.

    Parameters
    ----------
    network : torch.nn.Module
        From rows (n, D) to the outputs of all modules (M, n, ...).
    data : TensorBatches
    objective : dict
        Diversity, loss and average, see :func:`modae.deep.loss.modular_loss`.
    options : estimator
        Its parameters say how to train.
    state : TrainingState
        Where to go on; without weights, the network starts as it is.
    until : int
        Number of epochs after which training ends.
    unit : float, default=1.0
        A loss of 1 in the network, in units of the data: the losses of the history are in those.
    validate : bool, default=False
        Hold rows out, keep the weights of the best epoch, and stop when patience runs out.
    stream : bool, default=False
        Whether the rows are one part of a stream: the next may be quite different.
    draws : bool, default=False
        Whether the network itself may draw random numbers.

    Yields
    ------
    state : TrainingState
    """
    chosen, held_out = training_rows(data.n_rows, state.seed, options, validate=validate)
    batch_size = len(chosen) if options.batch_size == "all" else int(options.batch_size)
    optimizer = make_optimizer(options, network)
    _restore(network, optimizer, state)
    forward = torch.compile(network) if options.compile else network
    while state.epoch < until and not (validate and _patience_is_over(state, options.patience)):
        epoch = state.epoch + 1
        rate = learning_rate(options, state.epoch, stream=stream)
        for group in optimizer.param_groups:
            group["lr"] = rate
        order = np.random.default_rng([state.seed, _ORDER, state.epoch]).permutation(len(chosen))
        with seeded_torch(data.device, state.seed, state.epoch) if draws else nullcontext():
            network.train()
            steps = (
                (len(x), train_step(forward, optimizer, x, target, objective))
                for x, target in data.batches(batch_size, chosen[order])
            )
            loss, members, of_mean = _means_over_rows(steps, unit, epoch)
            record = {"loss": loss, "members": members, "of_mean": of_mean}
            record |= {"diversity": members - of_mean, "learning_rate": rate}
            network.eval()
            if validate:
                with torch.no_grad():
                    measured = (
                        (len(x), loss_terms(forward(x), target, **objective))
                        for x, target in data.batches(batch_size, held_out)
                    )
                    record["valid_loss"], *_ = _means_over_rows(measured, unit, epoch)
        history = _with_epoch(state, record)
        if not stream:
            _check_growth(history)
        weights = to_arrays(network.state_dict())
        best_weights = state.best_weights
        if validate and _best_epoch(history, epoch) == epoch:
            best_weights = weights
        state = TrainingState(
            seed=state.seed,
            epoch=epoch,
            history=history,
            weights=weights,
            best_epoch=epoch if best_weights is None else _best_epoch(history, epoch),
            best_weights=best_weights,
            optimizer_name=type(optimizer).__name__,
            optimizer=to_arrays(optimizer.state_dict()["state"]),
        )
        yield state


def train_step(
    network: Any,
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    target: Tensor,
    objective: dict[str, Any],
) -> LossTerms:
    """One step of the optimiser, which may ask for the loss more than once; the terms it saw last."""
    seen: list[LossTerms] = []

    def loss() -> Tensor:
        optimizer.zero_grad()
        terms = network_terms(network, x, target, **objective)
        terms.loss.backward()  # type: ignore[no-untyped-call]
        seen[:] = [terms]
        return terms.loss

    optimizer.step(loss)  # type: ignore[arg-type]
    return seen[0]


def training_rows(
    n_rows: int, seed: int, options: Any, *, validate: bool
) -> tuple[Indices, Indices | None]:
    """Indices of the rows to train on and, with ``validate``, of those held out: each has some."""
    if not validate:
        return np.arange(n_rows), None
    if n_rows < 2:
        raise ValueError("early_stopping=True holds rows out and needs at least 2, got n_samples = 1.")
    order = np.random.default_rng([seed, _SPLIT]).permutation(n_rows)
    n_held_out = max(1, min(round(options.validation_fraction * n_rows), n_rows - 1))
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _means_over_rows(
    terms_of_batches: Iterable[tuple[int, LossTerms]], unit: float, epoch: int
) -> list[float]:
    """Means of loss, members and of_mean, in units of the data; a number that is none stops at once."""
    n_rows, sums = 0, [0.0] * 3
    for count, terms in terms_of_batches:
        values = [term.item() for term in terms]
        if not all(math.isfinite(value) for value in values):
            raise diverged(epoch, [unit * value for value in values], "is not finite")
        n_rows += count
        sums = [before + count * value for before, value in zip(sums, values, strict=True)]
    return [unit * value / n_rows for value in sums]


def _with_epoch(state: TrainingState, record: dict[str, float]) -> dict[str, Array]:
    """The history with one more epoch; a quantity that is missing in some epochs is NaN there."""
    unknown = np.full(state.epoch, np.nan)
    return {
        name: np.append(state.history.get(name, unknown), record.get(name, np.nan))
        for name in {**state.history, **record}
    }


def _best_epoch(history: dict[str, Array], epoch: int) -> int:
    """The epoch (from 1) with the least validation loss; the last one, if none was measured."""
    losses = history.get("valid_loss", np.empty(0))
    return epoch if np.isnan(losses).all() else int(np.nanargmin(losses)) + 1


def _patience_is_over(state: TrainingState, patience: int) -> bool:
    return state.epoch - _best_epoch(state.history, state.epoch) >= patience


def _check_growth(history: dict[str, Array]) -> None:
    """Compare with the first epoch (a single batch may be unlike the others) and the one before."""
    losses = history["loss"]
    if losses[-1] > max(GROWTH_LIMIT * losses[0], losses[-2:][0]):
        terms = [history[name][-1] for name in ("loss", "members", "of_mean")]
        raise diverged(len(losses), terms, f"grew from {losses[0]:.3g} in the first epoch")


def diverged(epoch: int, terms: list[float], what: str) -> DivergedError:
    """The error, with the two terms and what to try."""
    loss, members, of_mean = terms
    return DivergedError(
        f"The loss {what}: in epoch {epoch} it is {loss:.3g} (mean loss of the modules {members:.3g}, "
        f"loss of their mean {of_mean:.3g}). Try a smaller learning_rate, normalize=True, "
        "optimizer='adam', or a smaller diversity."
    )


def _restore(network: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState) -> None:
    """Weights, and what the optimiser remembers, unless it was another one."""
    if state.weights:
        network.load_state_dict(to_tensors(state.weights))
    if state.optimizer_name == type(optimizer).__name__:
        memory = {int(place): to_tensors(values) for place, values in state.optimizer.items()}
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": memory, "param_groups": groups})


def to_arrays(tree: Any) -> Any:
    """Tensors become NumPy arrays in memory of their own, keys become strings."""
    if isinstance(tree, Tensor):
        return np.array(tree.detach().cpu().numpy())
    if isinstance(tree, dict):
        return {str(key): to_arrays(value) for key, value in tree.items()}
    return [to_arrays(value) for value in tree] if isinstance(tree, (list, tuple)) else tree


def to_tensors(tree: Any) -> Any:
    """Undo :func:`to_arrays`, but for the type of the keys."""
    if isinstance(tree, np.ndarray):
        return torch.as_tensor(np.array(tree))
    if isinstance(tree, dict):
        return {key: to_tensors(value) for key, value in tree.items()}
    return [to_tensors(value) for value in tree] if isinstance(tree, list) else tree


@contextmanager
def seeded_torch(device: torch.device, seed: int, epoch: int = 0) -> Iterator[None]:
    """Inside, torch's global generators follow from the seed; afterwards they are as they were.

    torch's layers draw from global generators, so only one thread at a time can be inside.
    ``torch.random.fork_rng`` does not serve: it fails for the device "mps".
    """
    drawn = np.random.SeedSequence([seed, _TORCH, epoch]).generate_state(1, np.uint64)
    value = int(drawn[0]) >> 1  # torch takes signed numbers
    accelerator: Any = {"cuda": torch.cuda, "mps": torch.mps}.get(device.type)
    with _ONE_AT_A_TIME, ExitStack() as after:
        after.callback(torch.set_rng_state, torch.get_rng_state())
        torch.default_generator.manual_seed(value)
        if accelerator is not None:
            if device.type == "cuda":
                after.enter_context(torch.cuda.device(device))
            after.callback(accelerator.set_rng_state, accelerator.get_rng_state())
            accelerator.manual_seed(value)
        yield
