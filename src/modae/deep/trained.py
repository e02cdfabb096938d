"""A trained model: plain state plus the recipe of its network, and what the network says of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from modae.data.rows import Rows
from modae.deep.batches import Batches, Scaling, Source
from modae.deep.callbacks import diverged
from modae.deep.net import Objective, as_tensors
from modae.deep.options import DTYPES, device_of
from modae.deep.randomness import private_generators, seed_torch
from modae.utils.arrays import Array, Indices

Recipe: TypeAlias = "partial[Any]"
"""A network class with its arguments by name: made, compared and pickled without the weights."""

NUMBERS_IN_BLOCK = 1 << 22
"""Rows are passed through the network in blocks with about this many outputs."""


@dataclass(eq=False)
class TrainedModel:
    """What a training leaves behind. The network is built on first use and left out of pickles."""

    recipe: Recipe
    objective: Objective
    dtype: str
    device: str
    state: dict[str, Any]

    @property
    def network(self) -> nn.Module:
        """The network with the weights that were kept, ready for predictions."""
        if "_network" not in vars(self):
            network = new_network(self.recipe, self.dtype, self._device, self.state["seed"])
            network.load_state_dict(as_tensors(self.kept_weights))
            self._network = network.eval()
        return self._network

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_network"}

    @property
    def kept_weights(self) -> dict[str, Array]:
        """Those of the best epoch with early stopping, else the last."""
        best = self.state["best_weights"]
        return self.state["weights"] if best is None else best

    @property
    def scaling(self) -> Scaling:
        """Of the rows."""
        return Scaling(**self.state["scaling"])

    @property
    def target_scaling(self) -> Scaling | None:
        """Of the targets of a regression."""
        kept = self.state["target_scaling"]
        return None if kept is None else Scaling(**kept)

    @property
    def mean(self) -> Array:
        """What is subtracted from rows. A copy: it may be changed."""
        return self.scaling.mean.copy()

    @property
    def scale(self) -> float:
        """What rows are divided by."""
        return self.scaling.scale

    @property
    def unit(self) -> float:
        """A loss of 1 inside the network, in units of the data."""
        return loss_unit(self.objective, self.target_scaling or self.scaling)

    @property
    def history(self) -> dict[str, Array]:
        """Copies: they may be changed."""
        return {name: values.copy() for name, values in self.state["history"].items()}

    @property
    def n_epochs(self) -> int:
        """Whole epochs done."""
        return self.state["epoch"]

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights were kept."""
        return self.state["best_epoch"]

    @property
    def n_modules(self) -> int:
        """M."""
        return self.recipe.keywords["n_modules"]

    @property
    def n_components(self) -> int:
        """H, of an autoencoder."""
        return self.recipe.keywords["n_components"]

    @property
    def members(self) -> float:
        """Mean loss of the modules."""
        return self._term("members")

    @property
    def of_mean(self) -> float:
        """Loss of their mean."""
        return self._term("of_mean")

    @property
    def diversity_term(self) -> float:
        """How much the mean gains on the average module."""
        return self.members - self.of_mean

    @property
    def loss(self) -> float:
        """Both terms, weighed."""
        return self.members - self.objective.diversity * self.diversity_term

    def _term(self, name: str) -> float:
        """As measured after training, or, if that was interrupted, during the epoch that was kept."""
        final = self.state["final"]
        return (
            final[name] if final is not None else float(self.state["history"][name][self.best_epoch - 1])
        )

    def source(self, rows: Rows, targets: np.ndarray | None = None) -> Source:
        """Rows (and targets) as this model takes them."""
        return Source(
            rows, self.scaling, targets, self.target_scaling, np.dtype(self.dtype), self._device
        )

    @property
    def _device(self) -> torch.device:
        """The device of the fit, or the best there is if it is not there (a model from elsewhere)."""
        try:
            return device_of(self.device, self.dtype)
        except ValueError:
            return device_of("auto", self.dtype)

    def outputs(self, rows: Rows) -> Array:
        """What each module says of the rows, (M, n, ...), in the precision of the rows."""
        return self._joined(rows, lambda network, x: network(x))

    def codes(self, rows: Rows) -> Array:
        """The codes of an autoencoder, (M, n, H)."""
        return self._joined(rows, lambda network, x: network.encode(x))

    def decoded(self, codes: Array) -> Array:
        """Mean reconstruction, inside the network's units, from codes (M, n, H)."""
        with self.at_rest():
            with np.errstate(over="ignore"):
                values = torch.as_tensor(codes.astype(self.dtype), device=self._device)
            network: Any = self.network
            blocks = [
                network.decode(part).mean(dim=0) for part in torch.split(values, self._height(), 1)
            ]
            decoded = torch.cat(blocks).cpu().numpy()
        if not np.isfinite(decoded).all():
            raise ValueError(f"X has codes too large for {self.dtype}, up to {np.abs(codes).max():.0e}.")
        return decoded

    def losses(self, source: Source, chosen: Indices | None = None) -> Array:
        """Mean loss of the modules and loss of their mean for each row, (2, n), in units of the data."""
        chosen = np.arange(source.rows.shape[0]) if chosen is None else chosen
        blocks = []
        with self.at_rest():
            for x, target in Batches(source, chosen, self._height()):
                terms = self.objective.terms(self.network(x), target, reduction="none")
                blocks.append(torch.stack([terms.members, terms.of_mean]).cpu().numpy())
        return self.unit * np.concatenate(blocks, axis=1).astype(np.float64)

    def measure(self, source: Source, chosen: Indices) -> None:
        """Keep both terms for these rows as those of the model. Its last step may have been bad."""
        members, of_mean = (float(term) for term in self.losses(source, chosen).mean(axis=1))
        self.state["final"] = {"members": members, "of_mean": of_mean}
        if not np.isfinite([members, of_mean]).all():
            raise diverged(self.n_epochs, [self.loss, members, of_mean], "is not finite")

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """No gradients, and random numbers, if the network draws any, that are the same in each call."""
        with (
            torch.no_grad(),
            private_generators(self._device) if may_draw(self.recipe) else nullcontext(),
        ):
            if may_draw(self.recipe):
                seed_torch(self._device, self.state["seed"], 0)
            yield

    def _joined(self, rows: Rows, function: Callable[[Any, Tensor], Tensor]) -> Array:
        with self.at_rest():
            blocks = [function(self.network, x) for x in self.source(rows).in_turn(self._height())]
            return torch.cat(blocks, dim=1).cpu().numpy().astype(rows.dtype, copy=False)

    def _height(self) -> int:
        sizes = self.recipe.keywords
        return max(1, NUMBERS_IN_BLOCK // (sizes["n_modules"] * max(64, sizes["n_features"])))


def may_draw(recipe: Recipe) -> bool:
    """Whether the network may draw random numbers: ours do not, those of a user's functions may."""
    return any(callable(value) for value in recipe.keywords.values())


def new_network(recipe: Recipe, dtype: str, device: torch.device, seed: int) -> nn.Module:
    """A network with its random start, which depends on the seed alone."""
    with private_generators(torch.device("cpu")):
        seed_torch(torch.device("cpu"), seed, 0)
        network = recipe()
    return network.to(device=device, dtype=DTYPES[dtype])


def loss_unit(objective: Objective, scaling: Scaling) -> float:
    """A loss of 1 inside the network, in units of the data: squares scale, probabilities do not."""
    return 1.0 if objective.loss == "cross_entropy" else scaling.scale**2
