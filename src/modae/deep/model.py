"""A trained model: the state after training, its network, and what that says of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from modae.data.rows import Rows
from modae.deep.batches import Scaling, TensorBatches
from modae.deep.loss import loss_terms
from modae.deep.networks import NETWORKS
from modae.deep.options import DTYPES, device_of
from modae.deep.training import TrainingState, seeded_torch, to_tensors
from modae.utils.arrays import Array, Indices

NUMBERS_IN_BLOCK = 1 << 22
"""Rows are passed through the network in blocks with about this many outputs."""


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

    def outputs(self, rows: Rows) -> Array:
        """What each module says of the rows, (M, n, ...), in the precision of the rows."""
        return self._apply(rows, lambda network, x: network(x))

    def codes(self, rows: Rows) -> Array:
        """The codes of an autoencoder, (M, n, H)."""
        return self._apply(rows, lambda network, x: network.encode(x))

    def _apply(self, rows: Rows, function: Callable[[Any, Tensor], Tensor]) -> Array:
        with self._inference_mode():
            batches = self.data(rows).batches(self._rows_in_block())
            outputs = torch.cat([function(self.network, x) for x, _ in batches], dim=1)
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
