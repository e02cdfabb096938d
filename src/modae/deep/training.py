"""The training loop: from the state after some epochs to the state after each of the next.

All random numbers of epoch k (the order of the rows, dropout) are functions of ``(seed, k)``. So there
are no states of generators to keep, and a training that stopped after epoch k goes on exactly as if it
had not.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from inspect import isclass, signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from modae.deep.loss import LossTerms, check_name
from modae.deep.model import ORDER, SPLIT, Data, TrainedModel, TrainingState, to_arrays, to_tensors
from modae.deep.shortcut import network_terms
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_non_negative, check_positive

#: Of fewer rows none is held out: what a handful says of the best epoch is chance.
FEWEST_ROWS = 40

#: A loss this many times that of the first epoch, and still growing, will not come back.
GROWTH_LIMIT = 1e3

#: Bytes, just below the largest that glibc's threshold follows, 32 MiB.
LARGE_BLOCK = 31 << 20

OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "adamw": AdamW, "sgd": SGD}

#: Factors of the learning rate in an epoch, counted from 0; functions of the epoch and nothing else.
SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": lambda epoch, max_epochs: 1.0,
    "cosine": lambda epoch, max_epochs: 0.5 + 0.5 * math.cos(math.pi * min(1.0, epoch / max_epochs)),
    "exponential": lambda epoch, max_epochs: 0.01 ** min(1.0, epoch / max_epochs),
}


class DivergedError(RuntimeError):
    """Training was stopped because the loss ran away."""


def train(
    model: TrainedModel,
    data: Data,
    options: Any,
    until: int,
    *,
    valid: Data | None = None,
    stream: bool = False,
) -> Iterator[TrainedModel]:
    """Train epoch by epoch: gives the model after each, and at last with the losses of all rows.

    Parameters
    ----------
    model : TrainedModel
        Where to go on; it stays as it is. With rows that are held out, the weights of the epoch which
        does best on them are kept, and training stops when patience runs out. With ``options.refit``, a
        second training on all rows then takes as many epochs as the best had.
    data : Data
    options : estimator
        Its parameters say how to train.
    until : int
        Number of epochs after which training ends.
    valid : Data, optional
        Other rows that validate.
    stream : bool, default=False
        Whether the rows are one part of a stream: the next may be quite different. So there is no early
        stopping, and the learning rate is constant.

    Yields
    ------
    model : TrainedModel
    """
    state, chosen, judges = model.state, data.places(), valid
    if state.refit is not None:
        until, judges = state.refit, None
    elif model.held_out is not None:
        chosen, judges = np.setdiff1d(chosen, model.held_out), data.some(model.held_out)
    batch_size = len(chosen) if options.batch_size == "all" else int(options.batch_size)
    limit = options.max_gradient_norm
    # Freed at once: after that, glibc keeps what later steps free, instead of fetching pages for each.
    torch.empty(LARGE_BLOCK, dtype=torch.uint8)
    network = model.new_network(state.weights)
    optimizer = make_optimizer(options, network, state)
    forward = torch.compile(network) if options.compile else network
    while state.epoch < until:
        if judges is not None and state.epoch - state.best_epoch >= options.patience:
            break
        epoch = state.epoch + 1
        rate = float(options.learning_rate) if stream else learning_rate(options, state.epoch)
        for group in optimizer.param_groups:
            group["lr"] = rate
        order = np.random.default_rng([state.seed, ORDER, state.epoch]).permutation(chosen)
        with model.seeded(state.epoch):
            network.train()
            batches = model.batches(data, batch_size, order)
            loss, members, of_mean = train_epoch(model, forward, optimizer, batches, limit)
            record = {"loss": loss, "members": members, "of_mean": of_mean}
            record |= {"diversity": members - of_mean, "learning_rate": rate}
            network.eval()
            if judges is not None:
                found = model.mean_losses(judges, network=network)
                # Together is how modules of a supervised ensemble will be used.
                record["valid_loss"] = found[1] if options._judged_together else model.loss(*found)
                check_finite(epoch, [record["valid_loss"], *found])
        history = _appended(state, record)
        losses = history["loss"]
        # Epochs and not batches, of which a single one may be unlike the others.
        if not stream and losses[-1] > max(GROWTH_LIMIT * losses[0], losses[-2:][0]):
            grew = f"grew from {losses[0]:.3g} in the first epoch"
            raise diverged(epoch, (loss, members, of_mean), grew)
        least = state.history["valid_loss"][state.best_epoch - 1] if state.best_weights else math.inf
        weights = to_arrays(network.state_dict())
        is_best = judges is None or record["valid_loss"] < least
        state = replace(
            state,
            epoch=epoch,
            history=history,
            weights=weights,
            best_epoch=epoch if is_best else state.best_epoch,
            best_weights=state.best_weights if judges is None or not is_best else weights,
            optimizer_name=type(optimizer).__name__,
            optimizer=to_arrays(optimizer.state_dict()["state"]),
        )
        model = replace(model, state=state)
        yield model

    if options.early_stopping and options.refit and model.held_out is not None and state.refit is None:
        model = replace(model, state=TrainingState(state.seed, refit=state.best_epoch))
        yield from train(model, data, options, state.best_epoch)
        return
    members, of_mean = model.mean_losses(data, chosen)
    check_finite(state.epoch, [model.loss(members, of_mean), members, of_mean])  # after the last step
    yield replace(model, final={"members": members, "of_mean": of_mean})


def _appended(state: TrainingState, record: dict[str, float]) -> dict[str, Array]:
    """The history with one more epoch; a quantity that is missing in some epochs is NaN there."""
    unknown = np.full(state.epoch, np.nan)
    return {
        name: np.append(state.history.get(name, unknown), record.get(name, np.nan))
        for name in {**state.history, **record}
    }


def train_epoch(
    model: TrainedModel, network: Any, optimizer: Optimizer, batches: Iterable[Any], limit: float | None
) -> Array:
    """A step for each batch; the loss and its two terms, means over the rows."""
    sums, n_rows, epoch = np.zeros(3), 0, model.state.epoch + 1
    for batch in batches:
        terms = train_step(network, optimizer, model.objective, batch, limit)
        values = model.unit * np.array([term.item() for term in terms])
        check_finite(epoch, values)
        sums, n_rows = sums + len(batch[0]) * values, n_rows + len(batch[0])
    return sums / n_rows


def train_step(
    network: Any, optimizer: Optimizer, objective: dict[str, Any], batch: Any, limit: float | None
) -> LossTerms:
    """One step of the optimiser, which may ask for the loss more than once; the terms it saw last."""
    (x, target, weight), seen = batch, list[LossTerms]()

    def loss() -> Tensor:
        optimizer.zero_grad()
        if weight is None:
            terms = network_terms(network, x, target, **objective)
        else:
            of_rows = network_terms(network, x, target, reduction="none", **objective)
            terms = LossTerms(*((weight * term).mean() for term in of_rows))
        terms.loss.backward()  # type: ignore[no-untyped-call]
        if limit is not None:
            nn.utils.clip_grad_norm_(network.parameters(), limit)
        seen[:] = [terms]
        return terms.loss

    optimizer.step(loss)  # type: ignore[arg-type]
    return seen[0]


def rows_held_out(data: Data, seed: int, fraction: float) -> Indices | None:
    """A part of the rows that has its share of each class, and leaves one of each; None if too few.

    Rows in order of their class, and by chance inside each, are taken at equal distances. Where there
    are no classes, all rows are alike.

    Parameters
    ----------
    data : Data
        Rows without weight are not chosen.
    seed : int
    fraction : float
        The part to choose.
    """
    places, classes = data.places(), data.targets
    if len(places) < FEWEST_ROWS:
        return None
    if classes is None or classes.dtype.kind == "f":
        classes = np.zeros(data.rows.shape[0], dtype=int)
    rng = np.random.default_rng([seed, SPLIT])
    order = rng.permutation(places)
    order = order[np.argsort(classes[order], kind="stable")]
    free = order[1:][classes[order][1:] == classes[order][:-1]]  # without the first of each class
    n_chosen = min(len(free), max(1, round(fraction * len(places))))
    steps = (np.arange(n_chosen) + rng.random()) * (len(free) / max(1, n_chosen))
    return np.sort(free[steps.astype(int)]) if n_chosen else None


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


def make_optimizer(options: Any, network: nn.Module, state: TrainingState) -> Optimizer:
    """An optimiser with what it remembers; it is told only what differs from its defaults."""
    for name in ("learning_rate", "weight_decay"):
        check_non_negative(name, getattr(options, name))
    if options.max_gradient_norm is not None:
        check_positive("max_gradient_norm", options.max_gradient_norm)
    chosen, settings = options.optimizer, dict[str, Any](lr=float(options.learning_rate))
    if not (isclass(chosen) and issubclass(chosen, Optimizer)):
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
    optimizer: Optimizer = chosen(network.parameters(), **settings)
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
