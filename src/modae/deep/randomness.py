"""Random numbers of training: functions of one seed and the epoch, in nobody's global generator.

What epoch k draws (the order of the rows, dropout) depends on ``(seed, k)`` alone. So there are no
states of generators to keep, and a training that stopped after epoch k goes on exactly as if it had not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock
from typing import Any

import numpy as np
import torch

from modae.utils.arrays import Indices

_ORDER, _SPLIT, _TORCH = range(3)
"""Purposes, so that no two draws come from the same stream."""

_ONE_AT_A_TIME = RLock()


def epoch_order(seed: int, epoch: int, n_rows: int) -> Indices:
    """The order in which epoch ``epoch`` visits the rows."""
    return np.random.default_rng([seed, _ORDER, epoch]).permutation(n_rows)


def split_rows(seed: int, n_rows: int, fraction: float) -> tuple[Indices, Indices]:
    """Indices of the training part and of the validation part: of two rows or more, each has some."""
    order = np.random.default_rng([seed, _SPLIT]).permutation(n_rows)
    n_held_out = max(1, min(round(fraction * n_rows), n_rows - 1))
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def seed_torch(device: torch.device, seed: int, epoch: int) -> None:
    """Seed the generators of the CPU and of the device; use it inside :func:`private_generators`."""
    drawn = np.random.SeedSequence([seed, _TORCH, epoch]).generate_state(1, np.uint64)
    value = int(drawn[0]) >> 1  # torch takes signed numbers
    torch.default_generator.manual_seed(value)
    if (accelerator := _accelerator(device)) is not None:
        accelerator.manual_seed(value)


@contextmanager
def private_generators(device: torch.device) -> Iterator[None]:
    """Whatever is drawn inside, torch's global generators are afterwards as they were.

    torch's layers draw from global generators, so only one thread at a time can be inside.
    """
    accelerator = _accelerator(device)
    with _ONE_AT_A_TIME, ExitStack() as after:
        after.callback(torch.set_rng_state, torch.get_rng_state())
        if accelerator is not None:
            if device.type == "cuda":
                after.enter_context(torch.cuda.device(device))
            after.callback(accelerator.set_rng_state, accelerator.get_rng_state())
        yield


def _accelerator(device: torch.device) -> Any:
    return {"cuda": torch.cuda, "mps": torch.mps}.get(device.type)
