"""From rows of any kind to normalised tensors, one batch at a time.

Whole batches are sliced at once. Sparse rows and memory maps stay what they are: only the batch is dense
and in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

from modae.data.rows import Rows, centred_squares, mean_row
from modae.utils.arrays import Array, Indices

Batch = tuple[Tensor, Tensor]


class Scaling(NamedTuple):
    """Rows are centred and divided by *one* number, the root mean square of what is then left.

    One number for all columns keeps the geometry of the data: squared errors are those of the data
    divided by ``scale**2``.
    """

    mean: Array
    scale: float

    @classmethod
    def of(cls, rows: Rows, *, name: str = "X", normalize: bool = True) -> Scaling:
        """The scaling that these rows ask for; none at all without ``normalize``."""
        if not normalize:
            return cls(np.zeros(rows.shape[1]), 1.0)
        mean = mean_row(rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scale = float(np.sqrt(centred_squares(rows, mean).mean() / rows.shape[1]))
        if not np.isfinite(scale):
            raise ValueError(
                f"{name} spreads so far that its squares are no {rows.dtype}: multiply it by a power of "
                "ten that brings it nearer to 1."
            )
        return cls(mean, scale if scale > np.finfo(rows.dtype).tiny else 1.0)

    def applied(self, block: Rows, dtype: Any) -> Array:
        """(block - mean) / scale, dense, in memory of its own."""
        dense = block.toarray() if issparse(block) else np.asarray(block)
        # In the better of both precisions: digits that the mean cancels must still be there.
        wide = np.promote_types(dense.dtype, dtype)
        scaled = np.subtract(dense, self.mean.astype(wide), dtype=wide)
        scaled /= wide.type(self.scale)
        with np.errstate(over="ignore"):
            return scaled.astype(dtype, copy=False)

    def undone(self, values: Array, dtype: Any) -> Array:
        """Undo :meth:`applied`: values * scale + mean, in this precision."""
        original = values.astype(dtype)
        original *= original.dtype.type(self.scale)
        original += self.mean.astype(dtype)
        return original


@dataclass(frozen=True)
class Source:
    """Rows and, if there are any, targets, with what turns them into tensors.

    Without targets the rows are their own, as an autoencoder wants it.
    """

    rows: Rows
    scaling: Scaling
    targets: np.ndarray | None = None
    target_scaling: Scaling | None = None
    """None for labels, which are indices and stay as they are."""

    dtype: Any = np.float32
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - a constant

    def batch(self, index: Indices | slice) -> Batch:
        """The chosen rows and their targets, on the device."""
        x = self._inputs(index)
        if self.targets is None:
            return x, x
        chosen = self.targets[index]
        if self.target_scaling is not None:
            chosen = self.target_scaling.applied(chosen, self.dtype)
        return x, self._tensor(chosen)

    def in_turn(self, height: int) -> Iterator[Tensor]:
        """All rows, block after block."""
        for start in range(0, self.rows.shape[0], height):
            yield self._inputs(slice(start, start + height))

    def _inputs(self, index: Indices | slice) -> Tensor:
        """The chosen rows; those that overflow are refused."""
        block = self.scaling.applied(self.rows[index], self.dtype)
        farthest = np.abs(block).max(initial=0.0)
        # Its square, summed over columns, is a loss.
        if not farthest <= np.sqrt(np.finfo(self.dtype).max / (1 + block.shape[1])) / 2:
            raise ValueError(
                f"X has entries too far from the training data for {np.dtype(self.dtype)}: "
                f"{farthest:.0e} times their spread, {self.scaling.scale:.1e}."
            )
        return self._tensor(block)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), device=self.device)


class Batches:
    """Some rows of a source, cut into batches in an order that is asked for at the start of each epoch.

    Parameters
    ----------
    source : Source
    chosen : ndarray of int
        The rows that take part.
    batch_size : int
    order : callable
        Called at the start of each pass with the number of rows; returns their order. By default they
        come as they are.
    """

    def __init__(
        self,
        source: Source,
        chosen: Indices,
        batch_size: int,
        order: Callable[[int], Indices] = np.arange,
    ) -> None:
        self.source, self.chosen, self.batch_size, self.order = source, chosen, batch_size, order

    def __len__(self) -> int:
        return -(-len(self.chosen) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        order = self.chosen[self.order(len(self.chosen))]
        for start in range(0, len(order), self.batch_size):
            yield self.source.batch(order[start : start + self.batch_size])
