"""How numbers come to a network: centred, divided by one number or by one for each column."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from modae.data.rows import Rows, centred_squares, mean_row, shares_of
from modae.utils.arrays import Array, Indices

#: Columns are summed up in blocks of about this many numbers.
NUMBERS_IN_BLOCK = 1 << 22

#: Deviations that the entries of a row may have, at most: one that is rarely not 0, as a pixel at the
#: edge of an image, has many, and would outweigh all others.
FARTHEST = 2.0

#: Deviations below this part of the mean are round-off of a constant.
ROUND_OFF = 1e-14


@dataclass(frozen=True, eq=False)
class Scaling:
    """Rows are centred and divided by *one* number, or by one for each column.

    One number for all columns, the root mean square of what is left of the mean, keeps the geometry of
    the data: squared errors are those of the data divided by ``scale**2``. One number for each column,
    its standard deviation, makes columns of any units alike; a column that was constant has the scale 0,
    and is read as 0 whatever comes later.
    """

    mean: Array
    #: Of shape (D,) if columns have their own.
    scale: Any
    #: Columns whose missing entries are told to the network; None where no entry may be missing.
    missing: Indices | None = None
    #: Where entries end, in deviations: large ones are bent towards it, z / sqrt(1 + (z / limit)^2).
    limit: float | None = None

    @classmethod
    def of(cls, rows: Rows, name: str = "X", normalize: bool = True) -> Self:
        """One scale for these rows; none at all without ``normalize``."""
        if not normalize:
            return cls(np.zeros(rows.shape[1]), 1.0)
        mean = mean_row(rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scale = float(np.sqrt(centred_squares(rows, mean).mean() / rows.shape[1]))
        _check_spread(name, rows, scale)
        return cls(mean, scale if scale > np.finfo(rows.dtype).tiny else 1.0)

    @classmethod
    def of_columns(
        cls, rows: Rows, name: str = "X", normalize: bool = True, weights: Array | None = None
    ) -> Self:
        """One scale for each column, from the entries that are there."""
        mean, scale, missing = column_moments(rows, weights)
        if not normalize:
            mean, scale = np.zeros_like(mean), np.ones_like(scale)
        _check_spread(name, rows, scale)
        return cls(mean, scale, missing, FARTHEST if normalize else None)

    @property
    def width(self) -> int:
        """Columns that the network reads."""
        return len(self.mean) + (0 if self.missing is None else len(self.missing))

    @property
    def factor(self) -> Any:
        """What centred columns are multiplied by: 0 for those that were constant."""
        return np.divide(1.0, self.scale, out=np.zeros(len(self.mean)), where=self.scale > 0.0)

    def apply(self, block: Rows, dtype: Any) -> Array:
        """(block - mean) / scale, dense, in memory of its own; missing entries become the mean, 0."""
        dense = block.toarray() if issparse(block) else np.asarray(block)
        # In the better of both precisions: digits that the mean cancels must still be there.
        wide = np.promote_types(dense.dtype, dtype)
        scaled = np.subtract(dense, self.mean.astype(wide), dtype=wide)
        scaled *= self.factor.astype(wide)
        if self.limit is not None:
            scaled /= np.hypot(1.0, scaled / self.limit)  # whose squares do not overflow
        if self.missing is not None:
            absent = np.isnan(dense)
            scaled[absent] = 0.0
            if len(self.missing):
                scaled = np.hstack([scaled, absent[:, self.missing].astype(wide)])
        with np.errstate(over="ignore"):
            return scaled.astype(dtype, copy=False)

    def undo(self, values: Array, dtype: Any) -> Array:
        """Undo :meth:`apply`: values * scale + mean, in this precision."""
        original = values.astype(dtype)
        original *= np.asarray(self.scale).astype(original.dtype)
        original += self.mean.astype(dtype)
        return original


def column_moments(rows: Rows, weights: Array | None = None) -> tuple[Array, Array, Indices]:
    """Weighted mean and standard deviation of each column, and the columns with missing entries.

    A deviation is 0 for a column that is constant, or empty.
    """
    shares, n_features = shares_of(weights, rows.shape[0])[:, None], rows.shape[1]
    absent = np.zeros(n_features, dtype=bool)

    def mean_of(change: Callable[[Array], Array]) -> Array:
        """Of the entries that are there, each changed first; 0 where there is none."""
        sums, present = np.zeros((2, n_features))
        for cut in gen_batches(rows.shape[0], max(1, NUMBERS_IN_BLOCK // n_features)):
            block = rows[cut].toarray() if issparse(rows) else rows[cut]
            block = np.asarray(block, dtype=np.float64)
            there = ~np.isnan(block)
            sums += (shares[cut] * np.where(there, change(block), 0.0)).sum(axis=0)
            present += (shares[cut] * there).sum(axis=0)
            absent[~there.all(axis=0)] = True
        return np.divide(sums, present, out=sums, where=present > 0.0)

    with np.errstate(over="ignore", invalid="ignore"):
        mean = mean_of(lambda entries: entries)
        deviation = np.sqrt(mean_of(lambda entries: (entries - mean) ** 2))
    deviation[deviation <= ROUND_OFF * np.abs(mean)] = 0.0
    return mean, deviation, np.flatnonzero(absent)


def _check_spread(name: str, rows: Rows, scale: Any) -> None:
    if not np.isfinite(scale).all():
        raise ValueError(
            f"{name} spreads so far that its squares overflow {rows.dtype}: multiply it by a power "
            "of ten that brings it nearer to 1."
        )
