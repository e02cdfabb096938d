r"""Step 1: data become moments.

Linear training sees the data only through the number of rows (or their total weight) :math:`n`, the
mean :math:`\mu` and the scatter :math:`\sum_r \omega_r(x_r-\mu)(x_r-\mu)^T`. Every way of reading data
ends here, and two sets of moments merge exactly, so "same moments, same model" is the whole contract of
in-memory, weighted, streamed and distributed fitting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from modae.core.arrays import Array
from modae.core.rows import Rows, column_sums, shifted_blocks, weighted_blocks

Precision: TypeAlias = np.dtype[np.floating[Any]]

FLOAT64: Precision = np.dtype(np.float64)

COMFORTABLE = (1e-200, 1e200)
"""Variances outside this range are computed again in a unit of their own."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and scatter of a set of rows.

    Parameters
    ----------
    weight : float
        Number of rows, or the sum of their weights.
    mean : ndarray of shape (D,)
    scatter : ndarray of shape (D, D)
        Sum over the rows of weight * (x - mean)(x - mean)^T, in units of ``unit ** 2``.
    dtype : numpy dtype
        Precision in which the products were made: float32 or float64.
    unit : float
        A power of two; 1 unless the data are so large or small that their squares would not fit.
    cancelled : float
        Squared length of the mean, in the same unit, where it was subtracted after the product (sparse
        rows): round-off is relative to it.
    """

    weight: float
    mean: Array
    scatter: Array
    dtype: Precision = FLOAT64
    unit: float = 1.0
    cancelled: float = 0.0

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
        unit = max(self.unit, other.unit, _unit_of(delta))
        step = delta / unit
        between = np.outer(step, step * (self.weight * other.weight / weight))
        return Moments(
            weight=weight,
            mean=self.mean + delta * (other.weight / weight),
            scatter=self._scatter_in(unit) + other._scatter_in(unit) + between,
            dtype=min(self.dtype, other.dtype, key=lambda dtype: dtype.itemsize),
            unit=unit,
            cancelled=max(part.cancelled * (part.unit / unit) ** 2 for part in (self, other)),
        )

    def _scatter_in(self, unit: float) -> Array:
        return self.scatter if unit == self.unit else self.scatter * (self.unit / unit) ** 2


def moments_of_rows(rows: Rows, weights: Array | None = None) -> Moments:
    r"""Moments of a matrix of rows, dense or sparse; a weight of 0 is a row that is not there.

    Dense rows are taken block by block: each is shifted by a provisional mean :math:`\nu`, multiplied
    in its own precision and summed in float64; one rank-one correction,
    :math:`-n(\mu-\nu)(\mu-\nu)^T`, ends it. Without the shift, columns far from zero would lose their
    variance to cancellation.

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
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        moments = _moments(rows, weights, 1.0)
        if not _is_comfortable(moments):
            moments = _moments(rows, weights, spread_unit(rows))
    return moments


def _moments(rows: Rows, weights: Array | None, unit: float) -> Moments:
    """Moments in the given unit."""
    if unit != 1.0:
        rows = rows / rows.dtype.type(unit)
    compute = _moments_of_sparse if issparse(rows) else _moments_of_dense
    weight, mean, scatter = compute(rows, weights)
    cancelled = float(mean @ mean) if issparse(rows) else 0.0
    return Moments(weight, mean * unit, scatter, rows.dtype, unit, cancelled)


def _moments_of_dense(rows: Array, weights: Array | None) -> tuple[float, Array, Array]:
    n_features = rows.shape[1]
    shift = provisional_mean(rows)
    total, scatter = np.zeros(n_features), np.zeros((n_features, n_features))
    if weights is None:
        weight = float(len(rows))
        for block in shifted_blocks(rows, shift):
            total += column_sums(block)
            scatter += block.T @ block
    else:
        weight = float(weights.sum())
        for block, roots in weighted_blocks(rows, shift, weights):
            total += roots @ block
            scatter += block.T @ block
    offset = total / weight
    scatter -= np.outer(total, offset)
    return weight, shift + offset, scatter


def _moments_of_sparse(rows: Rows, weights: Array | None) -> tuple[float, Array, Array]:
    """Sparse rows stay sparse: the mean is subtracted from the product, as a rank-one matrix."""
    rows = rows.astype(np.float64)
    weighted = rows if weights is None else rows.multiply(weights[:, None]).tocsr()
    weight = float(rows.shape[0] if weights is None else weights.sum())
    mean = np.asarray(weighted.sum(axis=0)).ravel() / weight
    scatter = (rows.T @ weighted).toarray() - np.outer(weight * mean, mean)
    return weight, mean, scatter


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
        mean = np.zeros_like(mean)
    provisional: Array = mean.astype(rows.dtype)
    return provisional


def spread_unit(rows: Rows) -> float:
    """A power of two near the largest distance of an entry from the middle of its column."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    if issparse(rows):
        low, high = low.toarray(), high.toarray()
    return _unit_of(np.asarray(high / 2, np.float64) - np.asarray(low / 2, np.float64))


def _unit_of(spread: Array) -> float:
    """A power of two near the largest entry, or 1 where ordinary arithmetic does."""
    largest = float(np.abs(spread).max(initial=0.0))
    low, high = np.sqrt(COMFORTABLE)
    if largest == 0.0 or low < largest < high:
        return 1.0
    # The square of the unit must be a float64 too.
    return float(2.0 ** np.clip(np.frexp(largest)[1], -537, 511))


def _is_comfortable(moments: Moments) -> bool:
    low, high = COMFORTABLE
    return low < float(np.trace(moments.scatter)) / moments.weight < high
