"""The training loop: from the state after some epochs to the state after each of the next.

All random numbers of epoch k (the order of the rows, dropout) are functions of ``(seed, k)``. So there
are no states of generators to keep, and a training that stopped after epoch k goes on exactly as if it
had not.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from inspect import isclass, signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from modae.data.rows import Rows
from modae.deep.loss import LossTerms, check_name
from modae.deep.model import ORDER, SPLIT, Targets, TrainedModel, TrainingState, to_arrays, to_tensors
from modae.deep.shortcut import network_terms
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_non_negative

#: A loss this many times that of the first epoch, and still growing, will not come back.
GROWTH_LIMIT = 1e3

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}

#: Factors of the learning rate in an epoch, counted from 0; functions of the epoch and nothing else.
SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": lambda epoch, max_epochs: 1.0,
    "cosine": lambda epoch, max_epochs: 0.5 + 0.5 * math.cos(math.pi * min(1.0, epoch / max_epochs)),
    "exponential": lambda epoch, max_epochs: 0.01 ** min(1.0, epoch / max_epochs),
}


class DivergedError(RuntimeError):
    """Training was stopped because the loss ran away."""


def train(
    model: TrainedModel, rows: Rows, targets: Targets, options: Any, until: int, *, stream: bool = False
) -> Iterator[TrainedModel]:
    """Train epoch by epoch: gives the model after each, and at last with the losses of all rows.

    Parameters
    ----------
    model : TrainedModel
        Where to go on; it stays as it is.
    rows : array or sparse matrix of shape (n, D)
    targets : ndarray or None
        See :data:`modae.deep.model.Targets`.
    options : estimator
        Its parameters say how to train. With early stopping, rows are held out, the weights of the best
        epoch are kept, and training stops when patience runs out.
    until : int
        Number of epochs after which training ends.
    stream : bool, default=False
        Whether the rows are one part of a stream: the next may be quite different. So there is no early
        stopping, and the learning rate is constant.

    Yields
    ------
    model : TrainedModel
    """
    state, validate = model.state, options.early_stopping and not stream
    every = np.arange(rows.shape[0])
    chosen, held_out = _split_rows(every, state.seed, options) if validate else (every, None)
    batch_size = len(chosen) if options.batch_size == "all" else int(options.batch_size)
    network = model.new_network(state.weights)
    optimizer = make_optimizer(options, network, state)
    forward = torch.compile(network) if options.compile else network
    while state.epoch < until:
        if validate and state.epoch - state.best_epoch >= options.patience:
            break
        epoch = state.epoch + 1
        rate = float(options.learning_rate) if stream else learning_rate(options, state.epoch)
        for group in optimizer.param_groups:
            group["lr"] = rate
        order = np.random.default_rng([state.seed, ORDER, state.epoch]).permutation(chosen)
        with model.seeded(state.epoch):
            network.train()
            sums = np.zeros(3)
            for x, target in model.batches(rows, batch_size, targets, order):
                terms = train_step(forward, optimizer, model.objective, x, target)
                values = model.unit * np.array([term.item() for term in terms])
                check_finite(epoch, values)
                sums += len(x) * values
            loss, members, of_mean = sums / len(order)
            record = {"loss": loss, "members": members, "of_mean": of_mean}
            record |= {"diversity": members - of_mean, "learning_rate": rate}
            network.eval()
            if validate:
                found = model.losses(rows, targets, held_out, network).mean(axis=1)
                record["valid_loss"] = model.loss(*found)
                check_finite(epoch, [record["valid_loss"], *found])
        unknown = np.full(state.epoch, np.nan)  # a quantity that is missing in some epochs is NaN there
        history = {
            name: np.append(state.history.get(name, unknown), record.get(name, np.nan))
            for name in {**state.history, **record}
        }
        losses = history["loss"]
        # Epochs and not batches, of which a single one may be unlike the others.
        if not stream and losses[-1] > max(GROWTH_LIMIT * losses[0], losses[-2:][0]):
            grew = f"grew from {losses[0]:.3g} in the first epoch"
            raise diverged(epoch, (loss, members, of_mean), grew)
        least = state.history["valid_loss"][state.best_epoch - 1] if state.best_weights else math.inf
        weights, is_best = to_arrays(network.state_dict()), not validate or record["valid_loss"] < least
        state = replace(
            state,
            epoch=epoch,
            history=history,
            weights=weights,
            best_epoch=epoch if is_best else state.best_epoch,
            best_weights=weights if validate and is_best else state.best_weights,
            optimizer_name=type(optimizer).__name__,
            optimizer=to_arrays(optimizer.state_dict()["state"]),
        )
        model = replace(model, state=state)
        yield model

    members, of_mean = (float(term) for term in model.losses(rows, targets, chosen).mean(axis=1))
    check_finite(state.epoch, [model.loss(members, of_mean), members, of_mean])  # after the last step
    yield replace(model, final={"members": members, "of_mean": of_mean})


def train_step(
    network: Any, optimizer: torch.optim.Optimizer, objective: dict[str, Any], x: Tensor, target: Tensor
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


def _split_rows(every: Indices, seed: int, options: Any) -> tuple[Indices, Indices]:
    """Indices of the rows to train on and of those held out; each has some."""
    n_rows, order = len(every), np.random.default_rng([seed, SPLIT]).permutation(every)
    if n_rows < 2:
        raise ValueError("early_stopping=True holds rows out and needs at least 2, got n_samples = 1.")
    n_held_out = max(1, min(round(options.validation_fraction * n_rows), n_rows - 1))
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def check_finite(epoch: int, terms: Sequence[float] | Array) -> None:
    """Loss, members and of_mean are numbers."""
    if not np.isfinite(terms).all():
        raise diverged(epoch, terms, "is not finite")


def diverged(epoch: int, terms: Sequence[float] | Array, what: str) -> DivergedError:
    """The error, with the two terms and what to try."""
    loss, members, of_mean = terms
    return DivergedError(
        f"The loss {what}: in epoch {epoch} it is {loss:.3g} (mean loss of the modules {members:.3g}, "
        f"loss of their mean {of_mean:.3g}). Try a smaller learning_rate, normalize=True, "
        "optimizer='adam', or a smaller diversity."
    )


def make_optimizer(options: Any, network: nn.Module, state: TrainingState) -> torch.optim.Optimizer:
    """An optimiser with what it remembers; it is told only what differs from its defaults."""
    for name in ("learning_rate", "weight_decay"):
        check_non_negative(name, getattr(options, name))
    chosen, settings = options.optimizer, dict[str, Any](lr=float(options.learning_rate))
    if not (isclass(chosen) and issubclass(chosen, torch.optim.Optimizer)):
        check_name("optimizer", chosen, OPTIMIZERS, "a torch.optim.Optimizer class")
        chosen = OPTIMIZERS[chosen]
        if next(network.parameters()).device.type in ("cpu", "cuda"):
            settings["fused"] = True  # one pass over the weights instead of about ten
    if options.weight_decay:
        if "weight_decay" not in signature(chosen).parameters:
            raise ValueError(
                f"weight_decay must be 0 for optimizer={options.optimizer!r}, which has none, got "
                f"{options.weight_decay!r}."
            )
        settings["weight_decay"] = float(options.weight_decay)
    optimizer: torch.optim.Optimizer = chosen(network.parameters(), **settings)
    if state.optimizer_name == type(optimizer).__name__:  # another one starts without memory
        memory = {int(place): to_tensors(values) for place, values in state.optimizer.items()}
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": memory, "param_groups": groups})
    return optimizer


def learning_rate(options: Any, epoch: int) -> float:
    """Learning rate in an epoch, counted from 0."""
    schedule = SCHEDULES[options.schedule] if isinstance(options.schedule, str) else options.schedule
    factor = schedule(epoch, int(options.max_epochs))
    check_non_negative(f"schedule({epoch}, {options.max_epochs})", factor)
    return float(options.learning_rate) * float(factor)
