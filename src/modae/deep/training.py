"""The training loop: from the state after some epochs to the state after each of the next.

All random numbers of epoch k (the order of the rows, dropout) are functions of ``(seed, k)``. So there
are no states of generators to keep, and a training that stopped after epoch k goes on exactly as if it
had not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from modae.deep.batches import TensorBatches
from modae.deep.loss import LossTerms, loss_terms
from modae.deep.model import TrainedModel, TrainingState, seeded_torch, to_arrays, to_tensors
from modae.deep.options import learning_rate, make_optimizer
from modae.deep.shortcut import network_terms
from modae.utils.arrays import Array, Indices

GROWTH_LIMIT = 1e3
"""A loss this many times that of the first epoch, and still growing, will not come back."""

_ORDER, _SPLIT = range(2)
"""Purposes, so that no two draws come from the same stream; those of torch have the number 2."""


class DivergedError(RuntimeError):
    """Training was stopped because the loss ran away."""


def train(
    model: TrainedModel,
    data: TensorBatches,
    options: Any,
    *,
    until: int,
    validate: bool = False,
    stream: bool = False,
) -> Iterator[TrainedModel]:
    """Train epoch by epoch: gives the model after each, and at last with the losses of all rows.

    Parameters
    ----------
    model : TrainedModel
        Where to go on; it stays as it is.
    data : TensorBatches
    options : estimator
        Its parameters say how to train.
    until : int
        Number of epochs after which training ends.
    validate : bool, default=False
        Hold rows out, keep the weights of the best epoch, and stop when patience runs out.
    stream : bool, default=False
        Whether the rows are one part of a stream: the next may be quite different.

    Yields
    ------
    model : TrainedModel
    """
    state, objective = model.state, model.objective
    chosen, held_out = _split_rows(data.n_rows, state.seed, options) if validate else (None, None)
    n_chosen = data.n_rows if chosen is None else len(chosen)
    batch_size = n_chosen if options.batch_size == "all" else int(options.batch_size)
    network = model.new_network()
    optimizer = make_optimizer(options, network)
    _restore(network, optimizer, state)
    forward = torch.compile(network) if options.compile else network
    while state.epoch < until and not (validate and _patience_is_over(state, options.patience)):
        epoch = state.epoch + 1
        rate = learning_rate(options, state.epoch, stream=stream)
        for group in optimizer.param_groups:
            group["lr"] = rate
        order = np.random.default_rng([state.seed, _ORDER, state.epoch]).permutation(n_chosen)
        order = order if chosen is None else chosen[order]
        with seeded_torch(data.device, state.seed, state.epoch) if model.draws else nullcontext():
            network.train()
            steps = (
                (len(x), train_step(forward, optimizer, x, target, objective))
                for x, target in data.batches(batch_size, order)
            )
            loss, members, of_mean = _means_over_rows(steps, model.unit, epoch)
            record = {"loss": loss, "members": members, "of_mean": of_mean}
            record |= {"diversity": members - of_mean, "learning_rate": rate}
            network.eval()
            if validate:
                with torch.no_grad():
                    measured = (
                        (len(x), loss_terms(forward(x), target, **objective))
                        for x, target in data.batches(batch_size, held_out)
                    )
                    record["valid_loss"], *_ = _means_over_rows(measured, model.unit, epoch)
        history = _with_epoch(state, record)
        if not stream:
            _check_growth(history)
        weights, best_epoch = to_arrays(network.state_dict()), _best_epoch(history, epoch)
        best_weights = weights if validate and best_epoch == epoch else state.best_weights
        state = TrainingState(
            seed=state.seed,
            epoch=epoch,
            history=history,
            weights=weights,
            best_epoch=epoch if best_weights is None else best_epoch,
            best_weights=best_weights,
            optimizer_name=type(optimizer).__name__,
            optimizer=to_arrays(optimizer.state_dict()["state"]),
        )
        model = replace(model, state=state)
        yield model
    members, of_mean = (float(term) for term in model.losses(data, chosen).mean(axis=1))
    model = replace(model, final={"members": members, "of_mean": of_mean})
    if not np.isfinite([members, of_mean]).all():  # the last step may have been bad
        raise diverged(state.epoch, [model.terms["loss"], members, of_mean], "is not finite")
    yield model


def train_step(
    network: Any, optimizer: torch.optim.Optimizer, x: Tensor, target: Tensor, objective: dict[str, Any]
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


def _split_rows(n_rows: int, seed: int, options: Any) -> tuple[Indices, Indices]:
    """Indices of the rows to train on and of those held out; each has some."""
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
