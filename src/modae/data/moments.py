r"""Step 1: data become moments.

Linear training sees the data only through the number of rows (or their total weight) :math:`n`, their
mean :math:`\mu` and their covariance :math:`\frac1n\sum_r\omega_r(x_r-\mu)(x_r-\mu)^T`. Every way of
reading data ends here, and two sets of moments merge exactly, so "same moments, same model" is the
whole contract of in-memory, weighted, streamed and distributed fitting.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from modae.data.rows import (
    HOST,
    Place,
    Rows,
    entries_near_mean,
    full_columns,
    place_and_values,
    sample_of,
    shares_of,
    shifted_sparse,
    weighted_blocks,
)
from modae.utils.arrays import FLOAT64, Array, Precision

#: Variances outside this range, by bytes of a number, are computed again in a unit of their own.
COMFORTABLE = {8: (1e-200, 1e200), 4: (1e-25, 1e25)}

#: So many float32 rows are added in float32: the error stays that of one of their products.
SUM_ROWS = 64

#: Rows of two covariances that are added at a time.
MERGE_ROWS = 32

#: About the root of the largest float64: beyond, a variance cannot be written down.
LARGEST_SPREAD = 1e154


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and covariance of a set of rows.

    Parameters
    ----------
    weight : float
        Number of rows, or the sum of their weights.
    shift, offset : ndarrays of shape (D,)
        The mean in two parts: an exact value near it, and the rest. Together they have more digits
        than one float64, which matters where the mean is much larger than the spread.
    covariance : ndarray of shape (D, D)
        With divisor n, so that a loss is a mean over rows; in units of ``unit ** 2``.
    dtype : numpy dtype
        Precision in which the products were made: float32 or float64.
    unit : float
        A power of two; 1 unless the data are so large or small that their squares would not fit.
    cancelled : float
        Squared length of what was subtracted after the product, in the same unit: round-off in the
        covariance is relative to it too.
    """

    weight: float
    shift: Array
    offset: Array
    covariance: Array
    dtype: Precision = FLOAT64
    unit: float = 1.0
    cancelled: float = 0.0

    @property
    def mean(self) -> Array:
        """Mean of the rows, (D,)."""
        return self.shift + self.offset

    def merge(self, other: "Moments") -> "Moments":
        r"""Moments of the union of two disjoint sets of rows, exactly.

        With shares :math:`a+b=1` of the weight and :math:`\delta=\mu_b-\mu_a`:
        :math:`\Sigma = a\Sigma_a + b\Sigma_b + ab\,\delta\delta^T`.
        """
        a, b = 1.0 / (1.0 + other.weight / self.weight), 1.0 / (1.0 + self.weight / other.weight)
        with np.errstate(over="ignore", invalid="ignore"):
            delta = (other.shift - self.shift) + (other.offset - self.offset)
        largest = float(np.abs(delta).max())
        if not largest <= LARGEST_SPREAD:
            raise out_of_range(largest)
        # Parts without variance do not decide the common unit: the others may have a tiny one.
        varying = [(share, part) for share, part in ((a, self), (b, other)) if part.covariance.any()]
        units = [part.unit for _, part in varying] + [unit_of(largest)] * (largest > 0.0)
        unit = max(units, default=1.0)
        step = delta / unit
        cancelled = [part.cancelled * (part.unit / unit) ** 2 for _, part in varying]
        factors = [(share * (part.unit / unit) ** 2, part.covariance) for share, part in varying]
        covariance = np.empty((len(step), len(step)))
        for start in range(0, len(step), MERGE_ROWS):  # temporaries of a few rows stay in the cache
            cut = slice(start, start + MERGE_ROWS)
            np.multiply.outer(step[cut], (a * b) * step, out=covariance[cut])
            for factor, part in factors:
                covariance[cut] += factor * part[cut]
        return replace(
            self,
            weight=self.weight + other.weight,
            offset=self.offset + b * delta,
            covariance=covariance,
            dtype=min(self.dtype, other.dtype, key=lambda dtype: dtype.itemsize),
            unit=unit,
            cancelled=max(cancelled, default=0.0),
        )


def moments_of_rows(rows: Rows, weights: Array | None = None) -> Moments:
    r"""Moments of a matrix of rows of any kind; a weight of 0 is a row that is not there.

    Dense rows are taken block by block: each is shifted by values :math:`\nu` near the mean, multiplied
    in its own precision and summed in float64; one rank-one correction, :math:`-(\mu-\nu)(\mu-\nu)^T`,
    ends it. Without the shift, columns far from zero would lose their variance to cancellation.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.data.moments import moments_of_rows
    >>> moments = moments_of_rows(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 7.0]]))
    >>> moments.mean.tolist()
    [2.0, 3.0]
    >>> (3 * moments.covariance).tolist()
    [[8.0, 12.0], [12.0, 24.0]]
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        moments = _moments(rows, weights, first_shift(rows), 1.0)
        low, high = COMFORTABLE[moments.dtype.itemsize]
        if not low < np.trace(moments.covariance) < high:
            spread = largest_spread(rows)
            if not spread <= LARGEST_SPREAD:  # NaN too: sums say that it is there, at no cost
                raise out_of_range(spread)
            moments = _moments(rows, weights, first_shift(rows), unit_of(spread, rows.dtype))
        # Weights can move the mean far from where the rows are: then much has been cancelled.
        if not moments.cancelled <= 1e3 * abs(float(np.trace(moments.covariance))):
            mean = moments.mean.astype(rows.dtype)
            shift = np.where(full_columns(rows), mean, 0.0) if issparse(rows) else mean
            moments = _moments(rows, weights, shift, moments.unit)
    return moments


def out_of_range(spread: float) -> ValueError:
    """The error for data whose variance is no float64."""
    return ValueError(
        f"X spreads over about {spread:.0e}, and the square of that is no float64: multiply X by a "
        "power of ten that brings it nearer to 1."
    )


def _moments(rows: Rows, weights: Array | None, shift: Array, unit: float) -> Moments:
    """Moments in the given unit, from rows moved by the given shift."""
    weight = float(rows.shape[0] if weights is None else weights.sum())
    if weights is not None:
        weights = weights / weights.max()  # only ratios matter, and roots of these fit in a float32
    # Mean (D,) and mean product (D, D) of ``(rows - shift) / unit``, in float64.
    if issparse(rows):
        moved = shifted_sparse(rows, shift, unit)
        weighted = moved.multiply(shares_of(weights, rows.shape[0])[:, None]).tocsr()
        offset: Array = np.asarray(weighted.sum(axis=0)).ravel()
        products: Array = (moved.T @ weighted).toarray()
    else:
        place, _ = place_and_values(rows)
        # A block is multiplied in the precision of the rows, and blocks are added in float64.
        parts = (
            (place.in_double(column_sums(block, roots, place)), place.in_double(block.T @ block))
            for block, roots in weighted_blocks(rows, shift, unit, weights)
        )
        total, sums = next(parts)
        for block_total, block_sums in parts:
            total += block_total
            sums += block_sums
        size = float(rows.shape[0] if weights is None else weights.sum())
        offset, products = place.fetch(total) / size, place.fetch(sums)
        products /= size
    products -= np.outer(offset, offset)
    start, cancelled = shift.astype(np.float64), float(offset @ offset)
    return Moments(weight, start, offset * unit, products, rows.dtype, unit, cancelled)


def column_sums(block: Any, factors: Array, place: Place) -> Any:
    """``factors @ block`` in the best precision. BLAS adds few rows at a time in their own, and fast."""
    if place is not HOST:
        return place.send(factors, place.precise) @ place.cast(block, place.precise)
    height = len(block) if block.dtype == np.float64 else SUM_ROWS
    factors, total = factors.astype(block.dtype), np.zeros(block.shape[1])
    for start in range(0, len(block), height):
        total += factors[start : start + height] @ block[start : start + height]
    return total


def first_shift(rows: Rows) -> Array:
    """Entries near the mean of each column, or 0 for dense rows where a shift would not pay.

    Cancellation grows with |mean|^2 / variance. Where that is below 10, and below 100 in each column by
    itself, a shift would save one or two digits at most, and no shift saves a pass over the data.
    """
    if not issparse(rows):
        sample = sample_of(rows).astype(np.float64)
        mean = (sample / len(sample)).sum(axis=0)
        variances, squares = np.square(sample - mean).mean(axis=0), np.square(mean)
        alone = (variances > 0.0) & (squares > 100.0 * variances)
        if squares.sum() <= 10.0 * variances.sum() and not alone.any():
            return np.zeros(rows.shape[1], rows.dtype)
    return entries_near_mean(rows)


def largest_spread(rows: Rows) -> float:
    """Half the largest distance of two entries of a column."""
    if issparse(rows):
        low, high = rows.min(axis=0).toarray(), rows.max(axis=0).toarray()
    else:
        place, values = place_and_values(rows)
        low, high = (place.fetch(find(values, axis=0)) for find in (place.xp.min, place.xp.max))
    halves = np.asarray(high, np.float64) / 2.0 - np.asarray(low, np.float64) / 2.0
    return float(halves.max(initial=0.0))


def unit_of(spread: float, dtype: Precision = FLOAT64) -> float:
    """A power of two near the spread, or 1 where ordinary arithmetic does."""
    low, high = np.sqrt(COMFORTABLE[dtype.itemsize])
    if spread == 0.0 or low < spread < high or not np.isfinite(spread):
        return 1.0
    # The square of the unit must be a float64, and the unit itself a number of this precision.
    least, most = (-537, 511) if dtype.itemsize == 8 else (-126, 127)
    return float(2.0 ** np.clip(np.frexp(spread)[1], least, most))
