r"""Distance correlation: how far the distances in one feature space tell the distances in another.

Let :math:`a_{rs}=\|x_r-x_s\|` be the distances of one sample of n rows and :math:`b_{rs}` those of
another sample of the same rows. Centred, so that the rows and columns of each matrix sum to zero, they
are vectors with inner products, and the squared distance correlation of Szekely, Rizzo and Bakirov
(2007) is a cosine:

.. math::
   \tilde a_{rs}=a_{rs}-\bar a_r-\bar a_s+\bar a,\qquad
   R^2=\frac{\langle\tilde a,\tilde b\rangle}{\|\tilde a\|\,\|\tilde b\|}\in[0,1].

It does not change when a sample is moved, rotated or scaled. It is biased: high in wide spaces even for
independent rows. U-centring (Szekely and Rizzo, 2014) corrects that: sums of rows are divided by n - 2,
the total by (n - 1)(n - 2), and the diagonal is 0. That cosine can be negative, so it has no root.

Each distance matrix is centred once, and one Gram product serves all pairs of samples. Centring needs
the means of all rows first, so the distances are computed twice, block by block: memory does not grow
as n^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from modae.utils.arrays import Array

BLOCK_BYTES = 1 << 22
"""Centred distances of all samples are held in blocks of about this size."""

CANCELLED = 1e-4
"""A squared distance below this share of |x|^2 + |y|^2 has lost too many digits in a Gram product."""

ROUND_OFF = 16.0 * np.finfo(np.float64).eps
"""Centred distances that are all below this share of the distances are zero up to round-off."""


def distance_correlations(samples: Sequence[Array], *, unbiased: bool = False) -> Array:
    """Distance correlations (k, k) of k samples of the same n rows: R, or the unbiased R^2.

    A sample whose centred distances are round-off, as those of a constant, has correlation 0 with all
    samples, itself included.

    Parameters
    ----------
    samples : sequence of ndarrays of shape (n, any width)
        At least 2 rows; 4 if unbiased.
    unbiased : bool
        Which centring.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.metrics.correlations import distance_correlations
    >>> line = np.arange(5.0)[:, None]
    >>> distance_correlations([line, 3.0 - 2.0 * line, line**2]).round(3)
    array([[1.   , 1.   , 0.972],
           [1.   , 1.   , 0.972],
           [0.972, 0.972, 1.   ]])
    """
    centred = [_centred(sample, unbiased) for sample in samples]
    gram = np.zeros((len(samples), len(samples)))
    for block in _blocks(centred):
        flat = block.reshape(len(samples), -1)
        gram += flat @ flat.T
    return _correlations(gram, _noise(centred), unbiased)


def jackknifed_correlations(samples: Sequence[Array]) -> tuple[Array, Array]:
    r"""Biased distance correlations (k, k), and those without each row in turn (n, k, k).

    Nothing is centred again. Let :math:`p_r=\sum_s\tilde a_{rs}\tilde b_{rs}` and
    :math:`q_r=\tilde a_{rr}\tilde b_{rr}`. Because the rows of both matrices sum to zero, the inner
    product of the matrices that are centred without row r is

    .. math::
       \langle\tilde a,\tilde b\rangle-2g\,p_r+g^2q_r,\qquad g=\frac n{n-1}.

    Parameters
    ----------
    samples : sequence of ndarrays of shape (n, any width)
        At least 3 rows.
    """
    n_rows = len(samples[0])
    growth = n_rows / (n_rows - 1.0)
    centred = [_centred(sample, unbiased=False) for sample in samples]
    products = np.concatenate([_row_products(block) for block in _blocks(centred)])
    diagonals = np.stack([each.mean - 2.0 * each.means for each in centred], axis=1)
    gram = products.sum(axis=0)
    without = gram - 2.0 * growth * products
    without += growth**2 * diagonals[:, :, None] * diagonals[:, None, :]
    # A difference cannot be more exact than what it is taken from.
    lost = np.maximum(_noise(centred), ROUND_OFF * n_rows * np.diagonal(gram))
    return _correlations(gram, _noise(centred), False), _correlations(without, lost, False)


class _Points(NamedTuple):
    """Rows of one sample, and what it takes to compute any of their distances."""

    rows: Array
    shifted: Array
    norms: Array

    def distances(self, cut: slice) -> Array:
        """Distances of the rows in the cut to all rows.

        A Gram product is fast in wide spaces, but loses the digits of short distances. Rows that have
        any, other than to themselves, are computed again from differences.
        """
        sizes = self.norms[cut, None] + self.norms
        squares: Array = (-2.0 * self.shifted[cut]) @ self.shifted.T
        squares += sizes
        sizes *= CANCELLED
        short = np.count_nonzero(squares <= sizes, axis=1) > 1
        np.fill_diagonal(squares[:, cut], 0.0)
        squares[short] = 0.0
        distances = np.sqrt(squares, out=squares)
        distances[short] = cdist(self.rows[cut][short], self.rows)
        return distances


class _Centred(NamedTuple):
    """What it takes to compute any rows of one centred distance matrix."""

    points: _Points
    means: Array
    mean: float
    unbiased: bool

    def block(self, cut: slice) -> Array:
        """The rows in the cut."""
        block = self.points.distances(cut)
        block -= self.means
        block -= self.means[cut, None] - self.mean
        if self.unbiased:
            np.fill_diagonal(block[:, cut], 0.0)
        return block


def _centred(sample: Array, unbiased: bool) -> _Centred:
    points, n_rows = _points(sample), len(sample)
    sums = np.concatenate([points.distances(cut).sum(axis=1) for cut in _cuts(n_rows, 1)])
    count = n_rows - 2 if unbiased else n_rows
    pairs = (n_rows - 1) * count if unbiased else n_rows * count
    return _Centred(points, sums / count, float(sums.sum()) / pairs, unbiased)


def _points(sample: Array) -> _Points:
    """Rows in float64 divided by a power of two, which is exact: no square overflows or vanishes."""
    rows = np.ascontiguousarray(sample, dtype=np.float64)
    _, exponent = np.frexp(np.abs(rows).max())
    rows = np.ldexp(rows, -exponent)
    shifted = rows - rows.mean(axis=0)
    return _Points(rows, shifted, np.einsum("nd,nd->n", shifted, shifted))


def _blocks(centred: Sequence[_Centred]) -> Iterator[Array]:
    """Centred distances of all samples (k, rows of the block, n), block after block."""
    for cut in _cuts(len(centred[0].means), len(centred)):
        yield np.stack([each.block(cut) for each in centred])


def _cuts(n_rows: int, n_samples: int) -> Iterator[slice]:
    height = max(1, BLOCK_BYTES // (8 * n_rows * n_samples))
    return (slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height))


def _row_products(block: Array) -> Array:
    """Gram matrix of the samples for each row (rows of the block, k, k)."""
    return block.transpose(1, 0, 2) @ block.transpose(1, 2, 0)


def _noise(centred: Sequence[_Centred]) -> Array:
    """Squared norms that round-off alone can have. No distance is longer than two of the means."""
    n_rows = len(centred[0].means)
    return np.array([(ROUND_OFF * n_rows * each.means.max()) ** 2 for each in centred])


def _correlations(gram: Array, noise: Array, unbiased: bool) -> Array:
    """Cosines from inner products (..., k, k); their roots if biased."""
    squares = np.diagonal(gram, axis1=-2, axis2=-1)
    varies = squares > noise
    weights = np.where(varies, 1.0 / np.sqrt(np.where(varies, squares, 1.0)), 0.0)
    cosines = gram * (weights[..., :, None] * weights[..., None, :])
    own = np.eye(gram.shape[-1], dtype=bool)
    cosines = np.where(own, varies[..., None], np.clip(cosines, -1.0, 1.0))
    return cosines if unbiased else np.sqrt(np.maximum(cosines, 0.0))
