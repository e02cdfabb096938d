r"""The leading part of the spectrum of data too wide and too long for an exact one.

A Krylov method finds the leading axes from products with the rows alone. It is not exact, so it
says by how much: let Q be the axes found, :math:`\Theta` their eigenvalues, :math:`R=\Sigma Q-Q\Theta`,
and :math:`\tau=\mathrm{tr}\,\Sigma-\mathrm{tr}\,\Theta`. In the basis of Q and its complement

.. math:: \Sigma=\begin{pmatrix}\Theta&\cdot\\\cdot&\Sigma_{22}\end{pmatrix}+(RQ^T+QR^T),\qquad
          \Sigma_{22}\succeq0,\quad \mathrm{tr}\,\Sigma_{22}=\tau .

For any :math:`0\preceq F\preceq I` the second part adds at most the nuclear norm of R to
:math:`\mathrm{tr}(\Sigma F)` (the *slack*); the best captured variance is convex in the spectrum, so
among all spectra of :math:`\Sigma_{22}` the worst case is one eigenvalue :math:`\tau` (the *hidden*
variance). Eigenvalues raised in this way give a true lower bound, however badly the iteration converged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from modae.core.arrays import Array
from modae.core.moments import largest_spread, unit_of
from modae.core.rows import (
    KeptRows,
    Rows,
    centred_adjoint,
    centred_product,
    centred_squares,
    mean_row,
)
from modae.core.spectrum import Spectrum, tidy

OVERSAMPLING = 20
"""Axes that the Krylov method finds beyond those asked for: they lower the hidden variance."""

TOLERANCE = 1e-8
"""Residual of an axis, relative to its eigenvalue, at which the iteration stops; eigenvalues are then
right to its square, and what is missing counts as slack."""

MAX_RESTARTS = 200
"""Any basis gives a true bound, so there is no need to go on for ever on a flat spectrum."""


def spectrum_by_krylov(kept: KeptRows, n_axes: int) -> Spectrum:
    """The leading ``n_axes`` axes, from products with the rows alone; inexact, and says by how much."""
    data = CentredData.of(kept)
    count = min(n_axes + OVERSAMPLING, min(kept.rows.shape) - 1)
    return spectrum_in_basis(data, _krylov_basis(data, count))


def _krylov_basis(data: CentredData, count: int) -> Array:
    """A basis (D, count) for the leading axes."""
    n_features = len(data.mean)
    if data.total_variance == 0.0:
        return np.eye(n_features, count)
    shape = (n_features, n_features)
    operator = LinearOperator(
        shape, matvec=data.covariance_times, matmat=data.covariance_times, dtype=np.float64
    )
    rng = np.random.default_rng(0)
    start = rng.standard_normal(n_features)
    try:
        basis: Array = eigsh(
            operator, k=count, which="LA", v0=start, tol=TOLERANCE, maxiter=MAX_RESTARTS
        )[1]
    except ArpackNoConvergence as unfinished:
        missing = count - unfinished.eigenvectors.shape[1]
        more = data.covariance_times(rng.standard_normal((n_features, missing)))
        basis = np.hstack([unfinished.eigenvectors, more])
    return basis


def spectrum_in_basis(data: CentredData, basis: Array) -> Spectrum:
    """The best axes inside the span of any basis (D, K), with a true account of what it misses."""
    basis = np.linalg.qr(basis)[0]
    image = data.covariance_times(basis)
    small = basis.T @ image
    eigenvalues, rotation = np.linalg.eigh((small + small.T) / 2.0)
    slack = float(np.linalg.svd(image - basis @ small, compute_uv=False).sum())
    hidden = max(0.0, data.total_variance - float(eigenvalues.sum()))
    spectrum = Spectrum(
        data.mean * data.unit,
        (basis @ rotation[:, ::-1]).T,
        eigenvalues[::-1],
        data.total_variance,
        data.unit,
        hidden,
        slack,
    )
    return tidy(spectrum, data.rows.dtype)


@dataclass(frozen=True, eq=False)
class CentredData:
    """Rows in their unit, with mean and shares: the covariance as an operator."""

    rows: Rows
    mean: Array
    shares: Array
    unit: float

    @classmethod
    def of(cls, kept: KeptRows) -> CentredData:
        """The rows as they are, unless their squares would not fit in a float64."""
        unit = unit_of(largest_spread(kept.rows))
        rows = kept.rows if unit == 1.0 else kept.rows / unit
        return cls(rows, mean_row(rows, kept.weights), kept.shares, unit)

    @cached_property
    def total_variance(self) -> float:
        """Trace of the covariance; 0 if all rows are equal to round-off."""
        total = float(self.shares @ centred_squares(self.rows, self.mean))
        noise = 4.0 * float(np.finfo(self.rows.dtype).eps) * float(np.linalg.norm(self.mean))
        return total if total > noise**2 else 0.0

    def covariance_times(self, matrix: Array) -> Array:
        """The covariance times a matrix (D, k) or a vector."""
        product = centred_product(self.rows, self.mean, np.reshape(matrix, (len(self.mean), -1)))
        return centred_adjoint(self.rows, self.mean, self.shares[:, None] * product)
