r"""Step 1: data become moments.

Linear training sees the data only through the number of rows (or their total weight) :math:`n`, the
mean :math:`\mu` and the scatter :math:`\sum_r (x_r-\mu)(x_r-\mu)^T`. Every way of reading data ends
here, and two sets of moments merge exactly, so "same moments, same model" is the whole contract of
in-memory, streamed and distributed fitting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from modae.core.arrays import Array

BLOCK_BYTES = 1 << 26
"""Rows are shifted and multiplied in blocks of about this size, so no shifted copy of X is made."""


@dataclass(frozen=True)
class Moments:
    """Weight, mean and scatter of a set of rows.

    Parameters
    ----------
    weight : float
        Number of rows.
    mean : ndarray of shape (D,)
    scatter : ndarray of shape (D, D)
        Sum over the rows of (x - mean)(x - mean)^T.
    dtype : numpy dtype
        Precision in which the products were made: float32 or float64.
    """

    weight: float
    mean: Array
    scatter: Array
    dtype: np.dtype[np.floating[Any]] = field(default=np.dtype(np.float64))

    @property
    def covariance(self) -> Array:
        """Scatter with divisor n, so that a loss is a mean over rows."""
        return self.scatter / self.weight

    def merge(self, other: Moments) -> Moments:
        r"""Moments of the union of two disjoint sets of rows, exactly.

        :math:`S = S_a + S_b + \frac{n_a n_b}{n_a+n_b}\,\delta\delta^T`, with
        :math:`\delta = \mu_b-\mu_a`.
        """
        weight = self.weight + other.weight
        delta = other.mean - self.mean
        between = np.outer(delta, delta * (self.weight * other.weight / weight))
        return Moments(
            weight=weight,
            mean=self.mean + delta * (other.weight / weight),
            scatter=self.scatter + other.scatter + between,
            dtype=min(self.dtype, other.dtype, key=lambda dtype: dtype.itemsize),
        )


@dataclass(frozen=True)
class KeptRows:
    """The rows themselves (n, D): smaller than their moments while n < D, and just as good."""

    rows: Array

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """Precision of the rows."""
        return self.rows.dtype


Summary: TypeAlias = Moments | KeptRows
"""What is kept of the data: all that a spectrum needs."""


def summarise(rows: Array) -> Summary:
    """The smaller of the two summaries of a matrix of rows (n, D)."""
    n_rows, n_features = rows.shape
    return KeptRows(rows) if n_rows < n_features else moments_of_rows(rows)


def moments_of_rows(rows: Array) -> Moments:
    r"""Moments of a matrix of rows, one block at a time.

    Each block is shifted by a provisional mean :math:`\nu`, multiplied in its own precision and
    summed in float64; one rank-one correction, :math:`-n(\mu-\nu)(\mu-\nu)^T`, ends it. Without the
    shift, columns far from zero would lose their variance to cancellation.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.moments import moments_of_rows
    >>> moments = moments_of_rows(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 7.0]]))
    >>> moments.mean.tolist()
    [2.0, 3.0]
    >>> moments.scatter.tolist()
    [[8.0, 12.0], [12.0, 24.0]]
    """
    n_rows, n_features = rows.shape
    shift = provisional_mean(rows)
    total = np.zeros(n_features)
    scatter = np.zeros((n_features, n_features))
    for block in shifted_blocks(rows, shift):
        total += column_sums(block)
        scatter += block.T @ block
    offset = total / n_rows
    scatter -= np.outer(total, offset)
    return Moments(n_rows, shift + offset, scatter, rows.dtype)


def column_sums(block: Array) -> Array:
    """Column sums in float64. BLAS is twice as fast, but adds in the precision of the block."""
    if block.dtype == np.float64:
        total: Array = np.ones(len(block)) @ block
    else:
        total = block.sum(axis=0, dtype=np.float64)
    return total


def provisional_mean(rows: Array, sample: int = 256) -> Array:
    """Mean of about ``sample`` rows spread evenly over the matrix, in its own precision.

    Cancellation grows with |mean|^2 / variance. Where that is below 10, a shift would save one digit
    at most, and the answer is 0: it saves a pass over the data.
    """
    spread = rows[:: max(1, len(rows) // sample)].astype(np.float64, copy=False)
    mean: Array = spread.mean(axis=0)
    energy = float(np.vdot(mean, mean))
    variance = float(np.vdot(spread, spread)) / len(spread) - energy
    if energy <= 10.0 * variance:
        mean[:] = 0.0
    provisional: Array = mean.astype(rows.dtype)
    return provisional


def shifted_blocks(rows: Array, shift: Array) -> Iterator[Array]:
    """Blocks of ``rows - shift``: in one reused buffer, or the rows themselves for a zero shift."""
    height = max(1, min(len(rows), BLOCK_BYTES // (rows.itemsize * rows.shape[1])))
    blocks = (rows[start : start + height] for start in range(0, len(rows), height))
    if not shift.any():
        yield from blocks
        return
    buffer = np.empty((height, rows.shape[1]), dtype=rows.dtype)
    for block in blocks:
        yield np.subtract(block, shift, out=buffer[: len(block)])
