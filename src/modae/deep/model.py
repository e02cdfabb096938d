"""A trained model: how rows become tensors, the state after training, and what the network says of rows.

Batches are sliced at once. Sparse rows and memory maps stay what they are: only the batch is dense and
in memory.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from modae.data.rows import Rows
from modae.deep.loss import modular_loss
from modae.deep.networks import NETWORKS
from modae.deep.scaling import Scaling
from modae.utils.arrays import Array, Indices
from modae.utils.parallel import lock_for_forks


class Data(NamedTuple):
    """Rows, what is to be said of them, and how much each counts (1 on average)."""

    rows: Rows
    #: Numbers (n, T), or indices of classes (n,); None where the rows are their own targets.
    targets: np.ndarray | None = None
    weights: Array | None = None

    def places(self) -> Indices:
        """Indices of the rows that count."""
        return np.arange(self.rows.shape[0]) if self.weights is None else np.flatnonzero(self.weights)

    def some(self, places: Indices) -> "Data":
        """Some of the rows."""
        targets, weights = (None if each is None else each[places] for each in self[1:])
        return Data(self.rows[places], targets, weights)


#: Rows are passed through the network in blocks with about this many outputs.
NUMBERS_IN_BLOCK = 1 << 22

DTYPES = {"float32": torch.float32, "float64": torch.float64}

#: Purposes of random numbers, so that no two draws come from the same stream.
ORDER, SPLIT, TORCH = range(3)

_ONE_AT_A_TIME = lock_for_forks(RLock)


@dataclass(frozen=True, eq=False)
class TrainingState:
    """All that later epochs depend on, in plain numbers, dicts and NumPy arrays."""

    seed: int
    #: Whole epochs done.
    epoch: int = 0
    #: Quantity -> a number for each epoch, NaN where it was not measured.
    history: dict[str, Array] = field(default_factory=dict)
    #: What ``state_dict`` of the network gives; empty before the first epoch.
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    #: The epoch, from 1, whose weights are to be used.
    best_epoch: int = 0
    #: Those of the least validation loss; None without early stopping, which uses the last.
    best_weights: dict[str, np.ndarray] | None = None
    optimizer_name: str = ""
    #: What the optimiser remembers of each parameter, by its place.
    optimizer: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Epochs that a second training on all rows takes, once early stopping has found how many.
    refit: int | None = None


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """What a training leaves behind. The network is built on first use and left out of pickles."""

    #: Of the network: a name in ``NETWORKS``.
    kind: str
    #: Of the network, by name.
    arguments: dict[str, Any]
    #: Diversity, loss and average, see :func:`modae.deep.loss.modular_loss`.
    objective: dict[str, Any]
    dtype: str
    device: str
    scaling: Scaling
    #: Of the targets of a regression.
    target_scaling: Scaling | None
    #: Whether y had one axis, so that predictions have too.
    flat: bool
    #: Of the data; None for a stream.
    n_rows: int | None
    state: TrainingState
    #: Both terms of the loss, measured after training; None if it was interrupted.
    final: dict[str, float] | None = None
    #: Rows that validate; None without early stopping, or if they are none of the data.
    held_out: Indices | None = None

    def __post_init__(self) -> None:
        """Files of earlier versions have a flag for a shared body."""
        if "shared_body" in self.arguments:
            others = {name: value for name, value in self.arguments.items() if name != "shared_body"}
            body = "shared" if self.arguments["shared_body"] else "separate"
            object.__setattr__(self, "arguments", {**others, "body": body})

    @cached_property
    def network(self) -> nn.Module:
        """The network with the weights that were kept, ready for predictions.

        To be read before :meth:`seeded` and not inside: in Python 3.11 a cached property has a lock, and
        two threads that take it and the lock of torch's generators in different orders wait for ever.
        """
        return self.new_network(self.kept_weights).eval()

    def new_network(self, weights: dict[str, np.ndarray]) -> nn.Module:
        """A network with these weights; with none, its random start, which depends on the seed alone."""
        with seeded_torch(torch.device("cpu"), self.state.seed):
            network = NETWORKS[self.kind](**self.arguments)
        network.to(device=self.torch_device, dtype=DTYPES[self.dtype])
        if weights:
            network.load_state_dict(to_tensors(weights))
        return network

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
    def is_foreign(self) -> bool:
        """Whether a user's functions are part of the network."""
        return any(callable(value) for value in self.arguments.values())

    @property
    def kept_weights(self) -> dict[str, np.ndarray]:
        """Those of the best epoch with early stopping, else the last."""
        return self.state.best_weights or self.state.weights

    @property
    def unit(self) -> float:
        """A loss of 1 in the network, in units of the data: squares scale, probabilities do not.

        Several targets, each with its own scale, have the mean of their squares.
        """
        scaling = self.target_scaling or self.scaling
        is_squared = self.objective["loss"] != "cross_entropy"
        return float(np.mean(np.square(scaling.scale))) if is_squared else 1.0

    @property
    def n_modules(self) -> int:
        """M."""
        return int(self.arguments["n_modules"])

    @property
    def terms(self) -> dict[str, float]:
        """Loss, its terms "members" and "of_mean", and their difference "diversity".

        As measured after training, or, if that was interrupted, during the epoch that was kept.
        """
        place, history = self.state.best_epoch - 1, self.state.history
        terms = self.final or {name: float(history[name][place]) for name in ("members", "of_mean")}
        return {**terms, "diversity": terms["members"] - terms["of_mean"], "loss": self.loss(**terms)}

    def loss(self, members: Any, of_mean: Any) -> Any:
        """The loss, from its two terms."""
        return members - self.objective["diversity"] * (members - of_mean)

    def batches(self, data: Data, size: int, order: Indices | None = None) -> Iterator[Any]:
        """Rows with targets and weights, scaled and on the device; rows that overflow are refused.

        Parameters
        ----------
        data : Data
        size : int
            Number of rows in a batch.
        order : ndarray of int, optional
            The rows to take; by default all as they come.

        Yields
        ------
        x, target : Tensor
        weight : Tensor or None
        """
        (rows, targets, weights), device = data, self.torch_device
        for start in range(0, rows.shape[0] if order is None else len(order), size):
            part = slice(start, start + size)
            index = part if order is None else order[part]
            block = self.scaling.apply(rows[index], self.dtype)
            farthest = np.abs(block).max(initial=0.0)
            # Its square, summed over columns, is a loss.
            if not farthest <= np.sqrt(np.finfo(block.dtype).max / (1 + block.shape[1])) / 2:
                raise ValueError(
                    f"X has entries too far from the training data for {self.dtype}: {farthest:.0e} "
                    f"times their spread, {np.max(self.scaling.scale):.1e}."
                )
            x = target = torch.as_tensor(np.ascontiguousarray(block), device=device)
            if targets is not None:
                chosen = targets[index]
                if self.target_scaling is not None:
                    chosen = self.target_scaling.apply(chosen, self.dtype)
                target = torch.as_tensor(np.ascontiguousarray(chosen), device=device)
            yield x, target, None if weights is None else torch.as_tensor(weights[index]).to(x)

    def outputs(self, rows: Rows, part: str = "forward") -> Array:
        """What each module says of the rows, (M, n, ...), in their precision; "encoder" gives codes."""
        run = getattr(self.network, part)
        with torch.no_grad(), self.seeded():
            outputs = [run(x) for x, *_ in self.batches(Data(rows), self._rows_in_block())]
        return torch.cat(outputs, dim=1).cpu().numpy().astype(rows.dtype, copy=False)

    def decode(self, codes: Array) -> Array:
        """Mean reconstruction, inside the network's units, from codes (M, n, H)."""
        network: Any = self.network
        with torch.no_grad(), self.seeded(), np.errstate(over="ignore"):
            values = torch.as_tensor(codes.astype(self.dtype), device=self.torch_device)
            blocks = torch.split(values, self._rows_in_block(), dim=1)
            decoded = torch.cat([network.decoder(block).mean(dim=0) for block in blocks]).cpu().numpy()
        if not np.isfinite(decoded).all():
            raise ValueError(f"X has codes too large for {self.dtype}, up to {np.abs(codes).max():.0e}.")
        return decoded

    def losses(self, data: Data, order: Indices | None = None, network: Any = None) -> Array:
        """Mean loss of the modules and loss of their mean for each row, (2, n), in units of the data.

        Of this model's network, unless another is given: one that is being trained.
        """
        blocks, network = [], network or self.network
        options = {**self.objective, "reduction": "none", "return_terms": True}
        with torch.no_grad(), self.seeded():
            for x, target, _ in self.batches(data, self._rows_in_block(), order):
                terms = modular_loss(network(x), target, **options)
                blocks.append(torch.stack([terms.members, terms.of_mean]).cpu().numpy())
        return self.unit * np.concatenate(blocks, axis=1).astype(np.float64)

    def mean_losses(self, data: Data, order: Indices | None = None, network: Any = None) -> list[float]:
        """Weighted means over rows of :meth:`losses`."""
        losses, weights = self.losses(data, order, network), data.weights
        chosen = weights if weights is None or order is None else weights[order]
        return np.average(losses, axis=1, weights=chosen).tolist()

    def seeded(self, epoch: int = 0) -> AbstractContextManager[None]:
        """Inside, what modules draw depends on seed and epoch alone; most draw nothing."""
        # Dropout draws random numbers, and a user's functions may.
        draws = self.is_foreign or self.arguments.get("dropout", 0.0) > 0.0
        return seeded_torch(self.torch_device, self.state.seed, epoch) if draws else nullcontext()

    def _rows_in_block(self) -> int:
        return max(1, NUMBERS_IN_BLOCK // (self.n_modules * max(64, self.arguments["n_features"])))


def device_of(device: Any, dtype: str) -> torch.device:
    """The device that a name stands for; "auto" is the best that there is for this precision."""
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if isinstance(device, str) and device == "auto":
        kinds = [kind for kind in present if present[kind] and (kind, dtype) != ("mps", "float64")]
        return torch.device(kinds[0])
    try:
        chosen = torch.device(device)
        is_present = present[chosen.type]
    except (RuntimeError, TypeError, KeyError) as reason:
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {device!r}.") from reason
    if not is_present:
        raise ValueError(f"device={str(device)!r} is not available here: use 'auto'.")
    if chosen.type == "mps" and dtype == "float64":
        raise ValueError("dtype must be 'float32' on the device 'mps', got 'float64'.")
    return chosen


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
    drawn = np.random.SeedSequence([seed, TORCH, epoch]).generate_state(1, np.uint64)
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
