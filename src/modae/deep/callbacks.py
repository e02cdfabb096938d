"""What happens around the epochs of a training, as small skorch callbacks.

They share one :class:`Log`. Every decision (stop? best? diverged?) is a function of what is in it, so a
log that was stored and read again continues where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from skorch.callbacks import Callback

from modae.deep.randomness import seed_torch

GROWTH_LIMIT = 1e3
"""A loss this many times that of the first epoch, and still growing, will not come back."""


class DivergedError(RuntimeError):
    """Training was stopped because the loss ran away."""


class TrainingStopped(Exception):  # noqa: N818 - it says that training is done, not that it failed
    """Raised inside skorch's loop to leave it."""


@dataclass
class Log:
    """What training has done so far, apart from the numbers in the network and the optimiser."""

    seed: int
    epoch: int = 0
    """Whole epochs done."""

    history: dict[str, list[float]] = field(default_factory=dict)
    best_weights: dict[str, torch.Tensor] | None = None

    def record(self, **values: float) -> None:
        """Close an epoch. A quantity that was not there in earlier epochs is NaN for them."""
        for name, value in values.items():
            column = self.history.setdefault(name, [math.nan] * self.epoch)
            column.append(value)
        self.epoch += 1
        for column in self.history.values():
            column.extend([math.nan] * (self.epoch - len(column)))

    @property
    def best_epoch(self) -> int:
        """The epoch (from 1) with the least validation loss; the last, if none was measured."""
        losses = self.history.get("valid_loss", [])
        measured = [epoch for epoch, loss in enumerate(losses, start=1) if not math.isnan(loss)]
        return min(measured, key=lambda epoch: losses[epoch - 1], default=self.epoch)


class EpochStart(Callback):
    """Random numbers, if the network draws any, and learning rate of the epoch."""

    def __init__(self, log: Log, device: torch.device | None, rate: Callable[[int], float]) -> None:
        self.log, self.device, self.rate = log, device, rate

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Seed the device, if there is one to seed, and set the rate of every parameter group."""
        if self.device is not None:
            seed_torch(self.device, self.log.seed, self.log.epoch)
        for group in net.optimizer_.param_groups:
            group["lr"] = self.rate(self.log.epoch)


class Record(Callback):
    """Means of the loss and its terms over the rows of the epoch, in units of the data."""

    def __init__(self, log: Log, unit: float) -> None:
        self.log, self.unit = log, unit

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Start from nothing."""
        self.sums: dict[bool, list[float]] = {}

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **kwargs: Any) -> None:
        """Add up, and stop at once if a number is none."""
        n_rows, terms = len(batch[0]), [term.item() for term in net.terms_]
        if not all(math.isfinite(term) for term in terms):
            raise diverged(self.log.epoch + 1, [term * self.unit for term in terms], "is not finite")
        sums = self.sums.setdefault(training, [0.0] * 4)
        for place, value in enumerate((*terms, 1.0)):
            sums[place] += n_rows * value

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Publish the means."""
        loss, members, of_mean = self._means(training=True)
        values = {"loss": loss, "members": members, "of_mean": of_mean, "diversity": members - of_mean}
        values["learning_rate"] = net.optimizer_.param_groups[0]["lr"]
        if False in self.sums:
            values["valid_loss"] = self._means(training=False)[0]
        self.log.record(**values)

    def _means(self, *, training: bool) -> list[float]:
        *sums, n_rows = self.sums[training]
        return [self.unit * value / n_rows for value in sums]


class Guard(Callback):
    """Stops a training whose loss has grown beyond all bounds and keeps growing."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Compare with the first epoch (a single batch may be unlike the others) and the one before."""
        history = self.log.history
        first, before, now = (history["loss"][place] for place in (0, max(-2, -self.log.epoch), -1))
        if now > max(GROWTH_LIMIT * first, before):
            terms = [history[name][-1] for name in ("loss", "members", "of_mean")]
            raise diverged(self.log.epoch, terms, f"grew from {first:.3g} in the first epoch")


class KeepBest(Callback):
    """Copies the weights whenever the validation loss is the least so far."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Copy, if this epoch is the best."""
        if self.log.best_epoch == self.log.epoch:
            weights = net.module.state_dict()
            self.log.best_weights = {name: value.clone() for name, value in weights.items()}


class AfterEpoch(Callback):
    """Calls a function with the net after each whole epoch."""

    def __init__(self, function: Callable[[Any], None]) -> None:
        self.function = function

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Call it."""
        self.function(net)


class StopEarly(Callback):
    """Leaves the loop when the validation loss has not improved for ``patience`` epochs."""

    def __init__(self, log: Log, patience: int) -> None:
        self.log, self.patience = log, patience

    @property
    def is_due(self) -> bool:
        """Whether there is nothing more to hope for."""
        return self.log.epoch - self.log.best_epoch >= self.patience

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Leave, if it is time."""
        if self.is_due:
            raise TrainingStopped


def diverged(epoch: int, terms: list[float], what: str) -> DivergedError:
    """The error, with the two terms and what to try."""
    loss, members, of_mean = terms
    return DivergedError(
        f"The loss {what}: in epoch {epoch} it is {loss:.3g} (mean loss of the modules {members:.3g}, "
        f"loss of their mean {of_mean:.3g}). Try a smaller learning_rate, normalize=True, "
        "optimizer='adam', or a smaller diversity."
    )
