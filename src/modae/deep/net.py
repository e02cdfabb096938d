"""The skorch net of the modular loss, and its state as plain arrays and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from skorch import NeuralNet
from torch import Tensor, nn

from modae.deep.batches import Batch, Batches
from modae.deep.callbacks import Log
from modae.deep.loss import LossTerms, modular_loss
from modae.deep.options import learning_rate, optimizer_class
from modae.deep.shortcut import network_terms


class Objective(NamedTuple):
    """The loss that is minimised."""

    diversity: float
    loss: str = "squared_error"
    average: str = "probability"

    def terms(self, outputs: Tensor, target: Tensor, reduction: str = "mean") -> LossTerms:
        """The loss of the outputs (M, n, ...) and its two parts."""
        terms = modular_loss(
            outputs,
            target,
            self.diversity,
            loss=self.loss,
            average=self.average,
            reduction=reduction,
            return_terms=True,
        )
        assert isinstance(terms, LossTerms)
        return terms


class Criterion(nn.Module):
    """An objective as a torch module, which is what skorch asks for."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, outputs: Tensor, target: Tensor) -> LossTerms:
        """All terms, for the record."""
        return self.objective.terms(outputs, target)


class ModularNet(NeuralNet):
    """A skorch net that gets its batches ready made and keeps the terms of its last loss in ``terms_``.

    ``fit_loop`` takes a pair of :class:`Batches`, for training and (or None) for validation.
    """

    def get_default_callbacks(self) -> list[Any]:
        """None: what is not asked for is not recorded or printed."""
        return []

    def get_split_datasets(
        self, X: Any, y: Any = None, **fit_params: Any
    ) -> tuple[Batches, Batches | None]:
        """They are split already."""
        train, valid = X
        return train, valid

    def get_iterator(self, dataset: Batches, training: bool = False) -> Batches:
        """Batches are their own iterator."""
        return dataset

    def train_step_single(self, batch: Batch, **fit_params: Any) -> dict[str, Any]:
        """Gradients of the loss by the shortest way, which may do without the predictions."""
        self._set_training(True)
        self.terms_ = network_terms(self.module_, *batch, **self.criterion_.objective._asdict())
        torch.autograd.backward(self.terms_.loss)
        return {"loss": self.terms_.loss, "y_pred": None}

    def get_loss(self, y_pred: Tensor, y_true: Tensor, X: Any = None, training: bool = False) -> Tensor:
        """The modular loss; its terms stay in ``terms_``."""
        self.terms_ = self.criterion_(y_pred, y_true)
        return self.terms_.loss

    def torch_compile(self, module: nn.Module, name: str) -> nn.Module:
        """The loss is left alone: its gradient is written by hand."""
        return module if name == "criterion" else super().torch_compile(module, name)


def make_net(
    network: nn.Module, objective: Objective, options: Any, callbacks: Sequence[Any]
) -> ModularNet:
    """A net that is ready to train the network, in place, as the options of an estimator say."""
    device = next(network.parameters()).device
    settings = _optimizer_settings(options, device)
    net = ModularNet(
        network,
        Criterion(objective),
        optimizer=optimizer_class(options.optimizer),
        lr=learning_rate(options, 0),
        callbacks=list(callbacks),
        train_split=None,
        verbose=0,
        device=str(device),
        compile=options.compile,
        **settings,
    )
    return net.initialize()


def _optimizer_settings(options: Any, device: torch.device) -> dict[str, Any]:
    """Only what differs from the defaults, as not every optimiser knows every word."""
    settings: dict[str, Any] = {}
    if options.weight_decay:
        settings["optimizer__weight_decay"] = float(options.weight_decay)
    if isinstance(options.optimizer, str) and device.type in ("cpu", "cuda"):
        settings["optimizer__fused"] = True  # one pass over the weights instead of about ten
    return settings


def state_of(net: ModularNet, log: Log) -> dict[str, Any]:
    """A copy of all that later epochs depend on, in plain numbers, lists, dicts and NumPy arrays."""
    return {
        "seed": log.seed,
        "epoch": log.epoch,
        "history": {name: np.array(values) for name, values in log.history.items()},
        "best_epoch": log.epoch if log.best_weights is None else log.best_epoch,
        "weights": plain(net.module.state_dict()),
        "best_weights": plain(log.best_weights),
        "optimizer": plain(net.optimizer_.state_dict()["state"]),
    }


def log_of(state: dict[str, Any]) -> Log:
    """The log that :func:`state_of` stored."""
    history = {name: [float(value) for value in values] for name, values in state["history"].items()}
    best = state["best_weights"]
    best = None if best is None else as_tensors(best)
    return Log(state["seed"], state["epoch"], history, best)


def restore(net: ModularNet, state: dict[str, Any]) -> None:
    """Give a fresh net the weights and the memory of the optimiser that :func:`state_of` stored."""
    net.module.load_state_dict(as_tensors(state["weights"]))
    memory = {int(place): as_tensors(values) for place, values in state["optimizer"].items()}
    groups = net.optimizer_.state_dict()["param_groups"]
    net.optimizer_.load_state_dict({"state": memory, "param_groups": groups})


def plain(tree: Any) -> Any:
    """Tensors become NumPy arrays in memory of their own, keys become strings."""
    if isinstance(tree, Tensor):
        return np.array(tree.detach().cpu().numpy())
    if isinstance(tree, dict):
        return {str(key): plain(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [plain(value) for value in tree]
    return tree


def as_tensors(tree: Any) -> Any:
    """Undo :func:`plain`, but for the type of the keys."""
    if isinstance(tree, np.ndarray):
        return torch.as_tensor(np.array(tree))
    if isinstance(tree, dict):
        return {key: as_tensors(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [as_tensors(value) for value in tree]
    return tree
