r"""Step 2: moments become a spectrum.

The optimum depends on the data only through their mean, their principal axes :math:`u_k` and the
eigenvalues :math:`w_1\ge w_2\ge\dots` of the covariance; and nothing outside the leading
:math:`\min(MH,\text{rank})` axes matters. One eigendecomposition therefore serves every diversity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from modae.data.moments import Moments, largest_spread, out_of_range, unit_of
from modae.data.rows import Rows, entries_near_mean, row_blocks, shares_of, shifted_sparse
from modae.utils.arrays import FLOAT64, Array, Precision


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The rows themselves (n, D), with their weights: smaller than their moments while n < D."""

    rows: Rows
    weights: Array | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        rows = self.rows
        if issparse(rows):
            return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
        return int(rows.nbytes)

    @property
    def shares(self) -> Array:
        """Shares of the rows in the weight; they sum to 1."""
        return shares_of(self.weights, self.rows.shape[0])

    def copy(self) -> KeptRows:
        """The same rows in memory of their own, on the host."""
        return KeptRows(self.rows.copy(), None if self.weights is None else self.weights.copy())


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Mean, principal axes and eigenvalues of a data set.

    Parameters
    ----------
    mean : ndarray of shape (D,)
    axes : ndarray of shape (K, D)
        Orthonormal rows, by falling eigenvalue.
    eigenvalues : ndarray of shape (K,)
        Of the covariance with divisor n, in units of ``unit ** 2``; exactly 0 beyond the numerical rank.
    total_variance : float
        Trace of the covariance in the same unit: the axes that are not kept count here too.
    unit : float
        A power of two, 1 for data of ordinary size.
    hidden : float
        Variance outside the axes that an inexact method found: in the worst case all of it lies on one
        axis. 0 for an exact spectrum; see :mod:`modae.data.krylov`.
    slack : float
        How much more variance than the eigenvalues say any modules may capture: what was set to 0 as
        round-off, and the residual of an inexact method.
    """

    mean: Array
    axes: Array
    eigenvalues: Array
    total_variance: float
    unit: float = 1.0
    hidden: float = 0.0
    slack: float = 0.0

    @cached_property
    def rank(self) -> int:
        """Number of kept axes along which the data vary."""
        return int(np.count_nonzero(self.eigenvalues))

    def leading(self, n_modules: int, n_components: int) -> Spectrum:
        """The axes that matter: min(M*H, rank), but H at least, to fill a module."""
        count = max(n_components, min(n_modules * n_components, self.rank))
        axes, eigenvalues = self.axes[:count], self.eigenvalues[:count]
        eigenvalues = np.pad(eigenvalues, (0, count - len(eigenvalues)))
        if len(axes) < count:  # a module needs more than there are: any that are orthogonal to them
            candidates = np.vstack([axes, np.eye(count, axes.shape[1])])
            others = np.linalg.qr(candidates.T)[0].T[len(axes) : count]
            axes = signed(np.vstack([axes, others]))
        return replace(self, axes=axes, eigenvalues=eigenvalues)

    def components_for(self, fraction: float) -> int:
        """Least number of leading axes that keeps more than ``fraction`` of the variance."""
        kept = np.cumsum(self.eigenvalues)
        needed = int(np.searchsorted(kept, fraction * self.total_variance, side="right")) + 1
        return min(needed, max(self.rank, 1))


def spectrum_of_moments(moments: Moments, n_axes: int | None = None) -> Spectrum:
    """Eigendecomposition of the D x D covariance; only ``n_axes`` leading axes, if given.

    Columns that never vary are left out of it: no axis points there.
    """
    varying = np.flatnonzero(np.diag(moments.covariance))
    some = 0 < len(varying) < len(moments.mean)
    covariance = moments.covariance[np.ix_(varying, varying)] if some else moments.covariance
    eigenvalues, vectors = np.linalg.eigh(covariance)
    leading = vectors[:, ::-1].T[:n_axes]
    axes = np.zeros((len(leading), len(moments.mean)))
    axes[:, varying if some else slice(None)] = leading
    total = float(np.trace(covariance))
    spectrum = Spectrum(moments.mean, axes, eigenvalues[::-1][:n_axes], total, moments.unit)
    return tidy(spectrum, moments.dtype, moments.cancelled)


def spectrum_of_gram(kept: KeptRows, n_axes: int | None = None) -> Spectrum:
    """The exact spectrum of fewer rows than features, from their n x n Gram matrix: no D x D matrix.

    The Gram matrix of the centred rows has the same non-zero eigenvalues as their covariance, and its
    eigenvectors :math:`v_k` are combinations of rows that give the principal axes :math:`X^Tv_k`. These
    lose orthogonality where eigenvalues are tiny, so one QR restores it; the falling order keeps the
    error in the tiny ones.
    """
    shares = kept.shares
    unit = unit_of(largest_spread(kept.rows))
    shift = entries_near_mean(kept.rows).astype(np.float64)
    if issparse(kept.rows):  # stays sparse: the mean is taken off the products
        rows = shifted_sparse(kept.rows, shift, unit)
        offset: Array = np.asarray(shares @ rows).ravel()
        rest, products = offset, (rows @ rows.T).toarray()
    else:
        rows = (kept.rows - shift) / unit
        offset = shares @ rows
        rows -= offset
        rest, products = np.zeros_like(offset), rows @ rows.T
    inner = np.asarray(rows @ rest)
    roots = np.sqrt(shares)[:, None]
    gram = roots * (products - inner[:, None] - inner + rest @ rest) * roots.T
    eigenvalues, vectors = np.linalg.eigh(gram)
    leading = slice(None, None if n_axes is None else -n_axes - 1, -1)
    combined = roots * vectors[:, leading]
    if issparse(rows):
        adjoint = np.asarray(rows.T @ combined) - np.outer(rest, combined.sum(axis=0))
    else:
        adjoint = sum(rows[cut].T @ combined[cut] for cut in row_blocks(rows))
    axes = np.linalg.qr(adjoint)[0].T
    total = float(np.trace(gram))
    spectrum = Spectrum(shift + offset * unit, axes, eigenvalues[leading], total, unit)
    return tidy(spectrum, FLOAT64, cancelled=float(rest @ rest))


def tidy(spectrum: Spectrum, dtype: Precision, cancelled: float = 0.0) -> Spectrum:
    """A spectrum with fixed signs, and what is round-off set to 0: what is left counts as the rank.

    Round-off is about one unit in the last place of ``dtype`` for each of sqrt(D) independent errors,
    relative to the largest eigenvalue and to what was ``cancelled`` to find it. What is dropped goes
    into the slack, so that a lower bound made from the rest stays true. A variance that does not fit in
    a float64 in the unit of the user is an error.
    """
    total, limits = spectrum.total_variance, np.finfo(np.float64)
    if total > 0.0 and not limits.tiny <= total * spectrum.unit**2 <= limits.max:
        raise out_of_range(spectrum.unit * float(np.sqrt(total)))
    largest = max(spectrum.eigenvalues[0], 0.0) + cancelled
    floor = float(np.finfo(dtype).eps) * np.sqrt(len(spectrum.mean)) * largest
    kept = np.where(spectrum.eigenvalues > floor, spectrum.eigenvalues, 0.0)
    dropped = float(np.maximum(spectrum.eigenvalues - kept, 0.0).sum())
    axes = signed(spectrum.axes)
    return replace(spectrum, axes=axes, eigenvalues=kept, slack=spectrum.slack + dropped)


def signed(axes: Array) -> Array:
    """Each row with its largest entry positive."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return axes * np.where(largest < 0.0, -1.0, 1.0)
