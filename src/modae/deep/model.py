"""A trained model: the state after training, its network, and what that says of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from modae.data.rows import Rows
from modae.deep.batches import Scaling, TensorBatches
from modae.deep.loss import loss_terms
from modae.deep.networks import NETWORKS
from modae.deep.options import DTYPES, device_of
from modae.utils.arrays import Array, Indices

NUMBERS_IN_BLOCK = 1 << 22
"""Rows are passed through the network in blocks with about this many outputs."""


_TORCH = 2
"""The purpose of these draws: no others come from the same stream, see :mod:`modae.deep.training`."""

_ONE_AT_A_TIME = RLock()


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


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """What a training leaves behind. The network is built on first use and left out of pickles."""

    kind: str
    """Of the network: a name in ``NETWORKS``."""

    arguments: dict[str, Any]
    """Of the network, by name."""

    objective: dict[str, Any]
    """Diversity, loss and average, see :func:`modae.deep.loss.modular_loss`."""

    dtype: str
    device: str
    scaling: Scaling
    target_scaling: Scaling | None
    """Of the targets of a regression."""

    flat: bool
    """Whether y had one axis, so that predictions have too."""

    n_rows: int | None
    """Of the data; None for a stream."""

    state: TrainingState
    final: dict[str, float] | None = None
    """Both terms of the loss, measured after training; None if it was interrupted."""

    @cached_property
    def network(self) -> nn.Module:
        """The network with the weights that were kept, ready for predictions."""
        network = self.new_network()
        network.load_state_dict(to_tensors(self.kept_weights))
        return network.eval()

    def new_network(self) -> nn.Module:
        """A network with its random start, which depends on the seed alone."""
        with seeded_torch(torch.device("cpu"), self.state.seed):
            network = NETWORKS[self.kind](**self.arguments)
        return network.to(device=self.torch_device, dtype=DTYPES[self.dtype])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "network"}

    @property
    def torch_device(self) -> torch.device:
        """The device of the fit, or the best there is if it is not there (a model from elsewhere)."""
        try:
            return device_of(self.device, self.dtype)
        except ValueError:
            return device_of("auto", self.dtype)

    @property
    def draws(self) -> bool:
        """Whether the network may draw random numbers: ours do not, those of a user's functions may."""
        return any(callable(value) for value in self.arguments.values())

    @property
    def kept_weights(self) -> dict[str, np.ndarray]:
        """Those of the best epoch with early stopping, else the last."""
        best = self.state.best_weights
        return self.state.weights if best is None else best

    @property
    def unit(self) -> float:
        """A loss of 1 in the network, in units of the data: squares scale, probabilities do not."""
        scaling = self.target_scaling or self.scaling
        return 1.0 if self.objective["loss"] == "cross_entropy" else scaling.scale**2

    @property
    def n_modules(self) -> int:
        """M."""
        return int(self.arguments["n_modules"])

    @property
    def n_components(self) -> int:
        """H, of an autoencoder."""
        return int(self.arguments["n_components"])

    @property
    def terms(self) -> dict[str, float]:
        """Loss, its terms "members" and "of_mean", and their difference "diversity".

        As measured after training, or, if that was interrupted, during the epoch that was kept.
        """
        place, history = self.state.best_epoch - 1, self.state.history
        terms = self.final or {name: float(history[name][place]) for name in ("members", "of_mean")}
        gain = terms["members"] - terms["of_mean"]
        loss = terms["members"] - self.objective["diversity"] * gain
        return {**terms, "diversity": gain, "loss": loss}

    def data(self, rows: Rows, targets: np.ndarray | None = None) -> TensorBatches:
        """Rows (and targets) as this model takes them."""
        return TensorBatches(
            rows, self.scaling, targets, self.target_scaling, self.dtype, self.torch_device
        )

    def outputs(self, rows: Rows, method: str = "forward") -> Array:
        """What each module says of the rows, (M, n, ...), in their precision; "encode" gives codes."""
        with self._inference_mode():
            batches = self.data(rows).batches(self._rows_in_block())
            outputs = torch.cat([getattr(self.network, method)(x) for x, _ in batches], dim=1)
        return outputs.cpu().numpy().astype(rows.dtype, copy=False)

    def decode(self, codes: Array) -> Array:
        """Mean reconstruction, inside the network's units, from codes (M, n, H)."""
        network: Any = self.network
        with self._inference_mode(), np.errstate(over="ignore"):
            values = torch.as_tensor(codes.astype(self.dtype), device=self.torch_device)
            blocks = torch.split(values, self._rows_in_block(), dim=1)
            decoded = torch.cat([network.decode(block).mean(dim=0) for block in blocks]).cpu().numpy()
        if not np.isfinite(decoded).all():
            raise ValueError(f"X has codes too large for {self.dtype}, up to {np.abs(codes).max():.0e}.")
        return decoded

    def losses(self, data: TensorBatches, chosen: Indices | None = None) -> Array:
        """Mean loss of the modules and loss of their mean for each row, (2, n), in units of the data."""
        blocks = []
        with self._inference_mode():
            for x, target in data.batches(self._rows_in_block(), chosen):
                terms = loss_terms(self.network(x), target, **self.objective, reduction="none")
                blocks.append(torch.stack([terms.members, terms.of_mean]).cpu().numpy())
        return self.unit * np.concatenate(blocks, axis=1).astype(np.float64)

    @contextmanager
    def _inference_mode(self) -> Iterator[None]:
        """No gradients, and random numbers, if the network draws any, that are the same in each call."""
        seeded = seeded_torch(self.torch_device, self.state.seed) if self.draws else nullcontext()
        with torch.no_grad(), seeded:
            yield

    def _rows_in_block(self) -> int:
        widest = max(64, self.arguments["n_features"])
        return max(1, NUMBERS_IN_BLOCK // (self.n_modules * widest))


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
