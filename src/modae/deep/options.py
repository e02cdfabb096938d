"""The parameters of training that all deep estimators share: what they may be and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import isclass, signature
from os import PathLike
from typing import Any

import torch
from torch import nn

from modae.utils.parameters import (
    check_choice,
    check_count,
    check_diversity,
    check_flag,
    check_fraction,
    check_non_negative,
)

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}

SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": lambda epoch, max_epochs: 1.0,
    "cosine": lambda epoch, max_epochs: 0.5 + 0.5 * math.cos(math.pi * min(1.0, epoch / max_epochs)),
    "exponential": lambda epoch, max_epochs: 0.01 ** min(1.0, epoch / max_epochs),
}
"""Factors of the learning rate in an epoch, counted from 0; functions of the epoch and nothing else."""

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def check_training_parameters(options: Any) -> None:
    """Check every parameter that all deep estimators share."""
    for name in ("n_modules", "max_epochs", "patience"):
        check_count(name, getattr(options, name))
    for name in ("equal_start", "early_stopping", "normalize", "compile", "verbose"):
        check_flag(name, getattr(options, name))
    for name in ("learning_rate", "weight_decay"):
        check_non_negative(name, getattr(options, name))
    check_diversity(options.diversity)
    check_fraction("validation_fraction", options.validation_fraction)
    check_choice("dtype", options.dtype, DTYPES)
    device_of(options.device, options.dtype)
    optimizer, schedule = options.optimizer, options.schedule
    if not (isclass(optimizer) and issubclass(optimizer, torch.optim.Optimizer)):
        _check_name("optimizer", optimizer, OPTIMIZERS, "a torch.optim.Optimizer class")
    if not callable(schedule):
        _check_name("schedule", schedule, SCHEDULES, "a callable(epoch, max_epochs)")
    known = signature(optimizer_class(optimizer)).parameters
    if options.weight_decay and "weight_decay" not in known:
        raise ValueError(
            f"weight_decay must be 0 for optimizer={optimizer!r}, which has none, got "
            f"{options.weight_decay!r}."
        )
    if isinstance(options.batch_size, str) and options.batch_size != "all":
        raise ValueError(
            f"batch_size must be an integer of at least 1, or 'all', got {options.batch_size!r}."
        )
    if options.batch_size != "all":
        check_count("batch_size", options.batch_size)
    if not (options.checkpoint is None or isinstance(options.checkpoint, (str, PathLike))):
        raise ValueError(f"checkpoint must be None or a path, got {options.checkpoint!r}.")


def device_of(device: Any, dtype: str) -> torch.device:
    """The device that a name stands for; "auto" is the best that there is for this precision."""
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if isinstance(device, str) and device == "auto":
        if present["cuda"]:
            return torch.device("cuda")
        return torch.device("mps" if present["mps"] and dtype == "float32" else "cpu")
    try:
        chosen = torch.device(device)
        is_present = present[chosen.type]
    except (RuntimeError, TypeError, KeyError) as reason:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {device!r}.") from reason
    if not is_present:
        raise ValueError(
            f"device={str(device)!r} is not available here: use 'auto', which takes what there is."
        )
    if chosen.type == "mps" and dtype == "float64":
        raise ValueError("dtype must be 'float32' on the device 'mps', got 'float64'.")
    return chosen


def optimizer_class(optimizer: Any) -> type[torch.optim.Optimizer]:
    """The class that a name stands for."""
    chosen: type[torch.optim.Optimizer] = OPTIMIZERS.get(optimizer, optimizer)
    return chosen


def make_optimizer(options: Any, network: nn.Module) -> torch.optim.Optimizer:
    """An optimiser without memory; it is told only what differs from its defaults."""
    settings: dict[str, Any] = {"lr": float(options.learning_rate)}
    if options.weight_decay:
        settings["weight_decay"] = float(options.weight_decay)
    on_known_device = next(network.parameters()).device.type in ("cpu", "cuda")
    if isinstance(options.optimizer, str) and on_known_device:
        settings["fused"] = True  # one pass over the weights instead of about ten
    return optimizer_class(options.optimizer)(network.parameters(), **settings)


def learning_rate(options: Any, epoch: int, *, stream: bool = False) -> float:
    """Learning rate in an epoch, counted from 0; constant in a stream, which has no end to plan for."""
    if stream:
        return float(options.learning_rate)
    schedule = SCHEDULES[options.schedule] if isinstance(options.schedule, str) else options.schedule
    factor = schedule(epoch, int(options.max_epochs))
    check_non_negative(f"schedule({epoch}, {options.max_epochs})", factor)
    return float(options.learning_rate) * float(factor)


def _check_name(name: str, value: Any, names: dict[str, Any], other: str) -> None:
    if not isinstance(value, str) or value not in names:
        listed = ", ".join(repr(choice) for choice in names)
        raise ValueError(f"{name} must be one of {listed}, or {other}, got {value!r}.")
