"""One training: from a fresh start or a stored state, epoch by epoch, to a new state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

from modae.deep.batches import Batches, Source
from modae.deep.callbacks import (
    AfterEpoch,
    EpochStart,
    Guard,
    KeepBest,
    Log,
    Record,
    StopEarly,
    TrainingStopped,
)
from modae.deep.net import ModularNet, Objective, log_of, make_net, restore, state_of
from modae.deep.options import learning_rate, rows_in_batch, seed_of
from modae.deep.randomness import epoch_order, private_generators, split_rows
from modae.deep.trained import Recipe, loss_unit, may_draw, new_network
from modae.utils.arrays import Indices
from modae.utils.progress import progress_bar

State = dict[str, Any]


class Training:
    """Runs epochs and keeps the state after the last whole one in ``latest``.

    Parameters
    ----------
    recipe : Recipe
    objective : Objective
    source : Source
    options : estimator
        Its parameters say how to train.
    start : dict, optional
        What :func:`modae.deep.net.state_of` stored; by default, a fresh start.
    stream : bool, default=False
        Whether the rows are one part of a stream.
    """

    def __init__(
        self,
        recipe: Recipe,
        objective: Objective,
        source: Source,
        options: Any,
        start: State | None = None,
        *,
        stream: bool = False,
    ) -> None:
        self.recipe, self.objective, self.source, self.options = recipe, objective, source, options
        self.start, self.latest, self.stream = start, start, stream
        self.log = Log(seed_of(options.random_state)) if start is None else log_of(start)

    def run(self, until: int, *, validate: bool, after_epoch: Callable[[State], None]) -> None:
        """Train until so many epochs are done in all, or, with ``validate``, until patience runs out."""
        device = self.source.device
        train, valid = self._parts(validate)
        stop = StopEarly(self.log, self.options.patience)
        left = 0 if validate and stop.is_due else until - self.log.epoch
        with (
            private_generators(device) if may_draw(self.recipe) else nullcontext(),
            progress_bar("training", max(0, left), shown=self.options.verbose) as advance,
        ):

            def keep(net: ModularNet) -> None:
                self.latest = state_of(net, self.log)
                after_epoch(self.latest)
                advance()

            net = self._net([*self._callbacks(validate), AfterEpoch(keep), *[stop] * validate])
            with suppress(TrainingStopped):
                net.fit_loop((train, valid), epochs=max(0, left))

    def _net(self, callbacks: list[Any]) -> ModularNet:
        network = new_network(self.recipe, self.options.dtype, self.source.device, self.log.seed)
        net = make_net(network, self.objective, self.options, callbacks)
        if self.start is not None:
            restore(net, self.start)
        return net

    def _callbacks(self, validate: bool) -> list[Any]:
        """What comes before the state is kept, in this order."""
        log = self.log
        unit = loss_unit(self.objective, self.source.target_scaling or self.source.scaling)
        seeded = self.source.device if may_draw(self.recipe) else None
        rate = partial(learning_rate, self.options, stream=self.stream)
        callbacks = [EpochStart(log, seeded, rate), Record(log, unit)]
        if not self.stream:  # the next rows of a stream may be quite different
            callbacks.append(Guard(log))
        return [*callbacks, KeepBest(log)] if validate else callbacks

    def trained_rows(self, *, validate: bool) -> Indices:
        """The rows that are not held out."""
        return self._split()[0] if validate else np.arange(self.source.rows.shape[0])

    def _split(self) -> tuple[Indices, Indices]:
        return split_rows(self.log.seed, self.source.rows.shape[0], self.options.validation_fraction)

    def _parts(self, validate: bool) -> tuple[Batches, Batches | None]:
        """Shuffled batches for training, and batches for validation if asked for."""
        if validate and self.source.rows.shape[0] < 2:
            raise ValueError(
                "early_stopping=True holds rows out and needs at least 2, got n_samples = 1."
            )
        chosen, valid = self.trained_rows(validate=validate), None
        batch_size = rows_in_batch(self.options.batch_size, len(chosen))
        if validate:
            valid = Batches(self.source, self._split()[1], batch_size)

        def order(n_rows: int) -> Indices:
            return epoch_order(self.log.seed, self.log.epoch, n_rows)

        return Batches(self.source, chosen, batch_size, order), valid
