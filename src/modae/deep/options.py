"""The parameters of training that all deep estimators share: what they may be and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import isclass, signature
from os import PathLike
from typing import Any

import torch
from sklearn.utils import check_random_state

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

Schedule = Callable[[int, int], float]


def constant(epoch: int, max_epochs: int) -> float:
    """1 all the time."""
    return 1.0


def cosine(epoch: int, max_epochs: int) -> float:
    """Half a wave, from 1 before the first epoch to 0 after the last."""
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, epoch / max_epochs)))


def exponential(epoch: int, max_epochs: int) -> float:
    """The same factor in each epoch, from 1 to a hundredth after the last."""
    return 0.01 ** min(1.0, epoch / max_epochs)


SCHEDULES: dict[str, Schedule] = {"constant": constant, "cosine": cosine, "exponential": exponential}
"""Factors of the learning rate in an epoch, counted from 0; functions of the epoch and nothing else."""

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def check_training(options: Any) -> None:
    """Check every shared parameter of an estimator."""
    check_count("n_modules", options.n_modules)
    check_diversity(options.diversity)
    _check_name_or(
        "optimizer", options.optimizer, OPTIMIZERS, "a torch.optim.Optimizer class", _is_optimizer
    )
    check_non_negative("learning_rate", options.learning_rate)
    _check_name_or("schedule", options.schedule, SCHEDULES, "a callable(epoch, max_epochs)", callable)
    check_non_negative("weight_decay", options.weight_decay)
    if (
        options.weight_decay
        and "weight_decay" not in signature(optimizer_class(options.optimizer)).parameters
    ):
        raise ValueError(
            f"weight_decay must be 0 for optimizer={options.optimizer!r}, which has none, got "
            f"{options.weight_decay!r}."
        )
    if options.batch_size != "all":
        _check_batch_size(options.batch_size)
    check_count("max_epochs", options.max_epochs)
    check_fraction("validation_fraction", options.validation_fraction)
    check_count("patience", options.patience)
    for name in ("equal_start", "early_stopping", "normalize", "compile", "verbose"):
        check_flag(name, getattr(options, name))
    check_choice("dtype", options.dtype, DTYPES)
    device_of(options.device, options.dtype)
    if not (options.checkpoint is None or isinstance(options.checkpoint, (str, PathLike))):
        raise ValueError(f"checkpoint must be None or a path, got {options.checkpoint!r}.")


def check_factory(name: str, value: Any) -> None:
    """None, or a class or function that makes a module: an instance could not start M of them."""
    if value is None or (callable(value) and not isinstance(value, torch.nn.Module)):
        return
    raise ValueError(
        f"{name} must be None, or a class or function that returns a torch.nn.Module, got {value!r}."
    )


def device_of(device: Any, dtype: str) -> torch.device:
    """The device that a name stands for; "auto" is the best that there is for this precision."""
    if isinstance(device, str) and device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        apple = dtype == "float32" and torch.backends.mps.is_available()
        return torch.device("mps" if apple else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as reason:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {device!r}.") from reason
    _check_present(chosen, dtype)
    return chosen


def optimizer_class(optimizer: Any) -> type[torch.optim.Optimizer]:
    """The class that a name stands for."""
    return OPTIMIZERS[optimizer] if isinstance(optimizer, str) else optimizer


def learning_rate(options: Any, epoch: int, *, stream: bool = False) -> float:
    """Learning rate in an epoch, counted from 0; constant in a stream, which has no end to plan for."""
    if stream:
        return float(options.learning_rate)
    schedule = SCHEDULES[options.schedule] if isinstance(options.schedule, str) else options.schedule
    factor = schedule(epoch, int(options.max_epochs))
    check_non_negative(f"schedule({epoch}, {options.max_epochs})", factor)
    return float(options.learning_rate) * float(factor)


def rows_in_batch(batch_size: Any, n_rows: int) -> int:
    """Rows in each batch, for "all" and for more than there are."""
    return n_rows if batch_size == "all" else min(int(batch_size), n_rows)


def layer_sizes(sizes: Any) -> Any:
    """A list as the tuple it stands for; the network refuses what is neither."""
    return tuple(sizes) if isinstance(sizes, list) else sizes


def seed_of(random_state: Any) -> int:
    """One number from which all random numbers of a training follow."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_batch_size(value: Any) -> None:
    if isinstance(value, str):
        raise ValueError(f"batch_size must be an integer of at least 1, or 'all', got {value!r}.")
    check_count("batch_size", value)


def _check_name_or(
    name: str, value: Any, names: dict[str, Any], other: str, accepts: Callable[[Any], bool]
) -> None:
    known = value in names if isinstance(value, str) else accepts(value)
    if not known:
        listed = ", ".join(repr(choice) for choice in names)
        raise ValueError(f"{name} must be one of {listed}, or {other}, got {value!r}.")


def _is_optimizer(value: Any) -> bool:
    return isclass(value) and issubclass(value, torch.optim.Optimizer)


def _check_present(device: torch.device, dtype: str) -> None:
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device.type not in present:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {str(device)!r}.")
    if not present[device.type]:
        raise ValueError(
            f"device={str(device)!r} is not available here: use 'auto', which takes what there is."
        )
    if device.type == "mps" and dtype == "float64":
        raise ValueError("dtype must be 'float32' on the device 'mps', got 'float64'.")
