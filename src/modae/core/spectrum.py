r"""Step 2: moments become a spectrum.

The optimum depends on the data only through their mean, their principal axes :math:`u_k` and the
eigenvalues :math:`w_1\ge w_2\ge\dots` of the covariance; and nothing outside the leading
:math:`\min(MH,\text{rank})` axes matters. One eigendecomposition therefore serves every diversity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from modae.core.arrays import Array
from modae.core.moments import KeptRows, Moments, Summary


@dataclass(frozen=True)
class Spectrum:
    """Mean, principal axes and eigenvalues of a data set.

    Parameters
    ----------
    mean : ndarray of shape (D,)
    axes : ndarray of shape (K, D)
        Orthonormal rows, by falling eigenvalue.
    eigenvalues : ndarray of shape (K,)
        Of the covariance with divisor n; exactly 0 beyond the numerical rank.
    total_variance : float
        Trace of the covariance: the axes that are not kept count here too.
    """

    mean: Array
    axes: Array
    eigenvalues: Array
    total_variance: float

    @property
    def rank(self) -> int:
        """Number of kept axes along which the data vary."""
        return int(np.count_nonzero(self.eigenvalues))

    def leading(self, n_modules: int, n_components: int) -> Spectrum:
        """The axes that matter, with fixed signs: min(M*H, rank), but H at least, to fill a module."""
        count = max(n_components, min(n_modules * n_components, self.rank))
        eigenvalues = np.zeros(count)
        eigenvalues[: len(self.eigenvalues)] = self.eigenvalues[:count]
        axes = _signed(_extended(self.axes[:count], count))
        return Spectrum(self.mean, axes, eigenvalues, self.total_variance)

    def components_for(self, fraction: float) -> int:
        """Least number of leading axes that keeps more than ``fraction`` of the variance."""
        kept = np.cumsum(self.eigenvalues)
        needed = int(np.searchsorted(kept, fraction * self.total_variance, side="right")) + 1
        return min(needed, max(self.rank, 1))


def spectrum_of(summary: Summary) -> Spectrum:
    """Principal axes and eigenvalues of what was kept of the data."""
    if isinstance(summary, KeptRows):
        return spectrum_of_rows(summary.rows)
    return spectrum_of_moments(summary)


def spectrum_of_moments(moments: Moments) -> Spectrum:
    """Eigendecomposition of the D x D covariance."""
    eigenvalues, vectors = np.linalg.eigh(moments.covariance)
    falling = _without_noise(eigenvalues[::-1], len(moments.mean), moments.dtype)
    total = float(np.trace(moments.scatter)) / moments.weight
    return Spectrum(moments.mean, vectors[:, ::-1].T, falling, total)


def spectrum_of_rows(rows: Array) -> Spectrum:
    """The same spectrum from the n x n Gram matrix: for fewer rows than features.

    The axes :math:`X^T v_k` lose orthogonality where eigenvalues are tiny, so one QR restores it; the
    falling order keeps the error in the tiny ones.
    """
    n_rows = len(rows)
    mean = rows.mean(axis=0, dtype=np.float64)
    centred = rows - mean
    eigenvalues, vectors = np.linalg.eigh(centred @ centred.T / n_rows)
    axes = np.linalg.qr(centred.T @ vectors[:, ::-1])[0].T
    total = float(np.vdot(centred, centred)) / n_rows
    falling = _without_noise(eigenvalues[::-1], len(mean), rows.dtype)
    return Spectrum(mean, axes, falling, total)


def _extended(axes: Array, count: int) -> Array:
    """More orthonormal rows, orthogonal to the given ones, where a module needs more than there are."""
    missing = count - len(axes)
    if missing == 0:
        return axes
    candidates = np.vstack([axes, np.eye(count, axes.shape[1])])
    return np.vstack([axes, np.linalg.qr(candidates.T)[0].T[len(axes) : count]])


def _signed(axes: Array) -> Array:
    """Each row with its largest entry positive."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return axes * np.where(largest < 0.0, -1.0, 1.0)


def _without_noise(eigenvalues: Array, n_features: int, dtype: np.dtype[np.floating[Any]]) -> Array:
    """Eigenvalues with those that are round-off set to 0: what is left counts as the rank."""
    floor = 4.0 * float(np.finfo(dtype).eps) * np.sqrt(n_features) * max(eigenvalues[0], 0.0)
    return np.where(eigenvalues > floor, eigenvalues, 0.0)
