"""From rows of any kind to normalised tensors, one batch at a time.

Whole batches are sliced at once. Sparse rows and memory maps stay what they are: only the batch is dense
and in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

from modae.data.rows import Rows, centred_squares, mean_row
from modae.utils.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class Scaling:
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
                f"{name} spreads so far that its squares overflow {rows.dtype}: multiply it by a power "
                "of ten that brings it nearer to 1."
            )
        return cls(mean, scale if scale > np.finfo(rows.dtype).tiny else 1.0)

    def apply(self, block: Rows, dtype: Any) -> Array:
        """(block - mean) / scale, dense, in memory of its own."""
        dense = block.toarray() if issparse(block) else np.asarray(block)
        # In the better of both precisions: digits that the mean cancels must still be there.
        wide = np.promote_types(dense.dtype, dtype)
        scaled = np.subtract(dense, self.mean.astype(wide), dtype=wide)
        scaled /= wide.type(self.scale)
        with np.errstate(over="ignore"):
            return scaled.astype(dtype, copy=False)

    def undo(self, values: Array, dtype: Any) -> Array:
        """Undo :meth:`apply`: values * scale + mean, in this precision."""
        original = values.astype(dtype)
        original *= original.dtype.type(self.scale)
        original += self.mean.astype(dtype)
        return original


@dataclass(frozen=True, eq=False)
class TensorBatches:
    """Rows and, if there are any, targets, with what turns them into tensors.

    Without targets the rows are their own, as an autoencoder wants it.
    """

    rows: Rows
    scaling: Scaling
    targets: np.ndarray | None = None
    """Numbers (n, T), or indices of classes (n,)."""

    target_scaling: Scaling | None = None
    """None for classes, which stay as they are."""

    dtype: str = "float32"
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - a constant

    @property
    def n_rows(self) -> int:
        """Of all rows."""
        return int(self.rows.shape[0])

    def batches(self, size: int, order: Indices | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows with their targets, on the device: those that ``order`` names, or all as they come."""
        n_rows = self.n_rows if order is None else len(order)
        for start in range(0, n_rows, size):
            part = slice(start, start + size)
            yield self._batch(part if order is None else order[part])

    def _batch(self, index: Indices | slice) -> tuple[Tensor, Tensor]:
        """The chosen rows and their targets; rows that overflow are refused."""
        block = self.scaling.apply(self.rows[index], self.dtype)
        farthest = np.abs(block).max(initial=0.0)
        # Its square, summed over columns, is a loss.
        if not farthest <= np.sqrt(np.finfo(block.dtype).max / (1 + block.shape[1])) / 2:
            raise ValueError(
                f"X has entries too far from the training data for {self.dtype}: {farthest:.0e} times "
                f"their spread, {self.scaling.scale:.1e}."
            )
        x = torch.as_tensor(np.ascontiguousarray(block), device=self.device)
        if self.targets is None:
            return x, x
        chosen = self.targets[index]
        if self.target_scaling is not None:
            chosen = self.target_scaling.apply(chosen, self.dtype)
        return x, torch.as_tensor(np.ascontiguousarray(chosen), device=self.device)
