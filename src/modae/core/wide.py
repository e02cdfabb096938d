r"""Spectra without a D x D matrix: for wide data.

With fewer rows than features the n x n Gram matrix has the same eigenvalues. Where both n and D are
large, a Krylov method finds the leading axes only, from products with the data. It is not exact, so it
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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from modae.core.arrays import Array
from modae.core.moments import Precision, spread_unit
from modae.core.rows import (
    Rows,
    centred_adjoint,
    centred_gram,
    centred_product,
    centred_squares,
    mean_row,
)
from modae.core.spectrum import Spectrum, tidy

OVERSAMPLING = 20
"""Axes that the Krylov method finds beyond those asked for: they lower the hidden variance."""

KRYLOV_TOLERANCE = 1e-10
"""Residual of an axis, relative to its eigenvalue, at which the Krylov method stops."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The rows themselves (n, D), with their weights: smaller than their moments while n < D."""

    rows: Rows
    weights: Array | None = None

    @property
    def dtype(self) -> Precision:
        """Precision of the rows."""
        precision: Precision = self.rows.dtype
        return precision

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return int(self.rows.data.nbytes)

    def copy(self) -> KeptRows:
        """The same rows in memory of their own."""
        return KeptRows(self.rows.copy(), None if self.weights is None else self.weights.copy())

    def in_unit(self) -> tuple[Rows, float]:
        """The rows divided by a power of two, 1 unless their squares would not fit in a float64."""
        unit = spread_unit(self.rows)
        return (self.rows if unit == 1.0 else self.rows / self.dtype.type(unit)), unit

    def roots(self) -> Array:
        """Square roots of the shares of the rows in the weight, as a column."""
        weights = np.ones(self.rows.shape[0]) if self.weights is None else self.weights
        roots: Array = np.sqrt(weights / weights.sum())[:, None]
        return roots


def spectrum_of_gram(kept: KeptRows) -> Spectrum:
    """The exact spectrum, from the n x n Gram matrix.

    The axes :math:`X^T v_k` lose orthogonality where eigenvalues are tiny, so one QR restores it; the
    falling order keeps the error in the tiny ones.
    """
    rows, unit = kept.in_unit()
    mean, roots = mean_row(rows, kept.weights), kept.roots()
    gram = roots * centred_gram(rows, mean) * roots.T
    eigenvalues, vectors = np.linalg.eigh(gram)
    axes = np.linalg.qr(centred_adjoint(rows, mean, roots * vectors[:, ::-1]))[0].T
    total = float(np.trace(gram))
    spectrum = Spectrum(mean * unit, axes, eigenvalues[::-1], total, unit)
    return tidy(spectrum, kept.dtype, float(mean @ mean) if issparse(rows) else 0.0)


def spectrum_by_krylov(kept: KeptRows, n_axes: int) -> Spectrum:
    """The leading ``n_axes`` axes, from products with the rows alone; inexact, and says by how much."""
    covariance, n_features = covariance_operator(kept)
    count = min(n_axes + OVERSAMPLING, min(kept.rows.shape) - 1)
    operator = LinearOperator(
        (n_features, n_features), matvec=covariance, matmat=covariance, dtype=np.float64
    )
    rng = np.random.default_rng(0)
    try:
        start = rng.standard_normal(n_features)
        basis = eigsh(operator, k=count, which="LA", v0=start, tol=KRYLOV_TOLERANCE)[1]
    except ArpackNoConvergence as unfinished:
        missing = count - unfinished.eigenvectors.shape[1]
        more = covariance(rng.standard_normal((n_features, missing)))
        basis = np.hstack([unfinished.eigenvectors, more])
    return spectrum_in_basis(kept, basis)


def spectrum_in_basis(kept: KeptRows, basis: Array) -> Spectrum:
    """The best axes inside the span of any basis (D, K), with a true account of what it misses."""
    covariance, _ = covariance_operator(kept)
    rows, unit = kept.in_unit()
    mean, roots = mean_row(rows, kept.weights), kept.roots()
    basis = np.linalg.qr(basis)[0]
    image = covariance(basis)
    small = basis.T @ image
    eigenvalues, rotation = np.linalg.eigh((small + small.T) / 2.0)
    slack = float(np.linalg.svd(image - basis @ small, compute_uv=False).sum())
    total = float((roots[:, 0] ** 2) @ centred_squares(rows, mean))
    hidden = max(0.0, total - float(eigenvalues.sum()))
    axes = (basis @ rotation[:, ::-1]).T
    return tidy(Spectrum(mean * unit, axes, eigenvalues[::-1], total, unit, hidden, slack), kept.dtype)


def covariance_operator(kept: KeptRows) -> tuple[Callable[[Array], Array], int]:
    """The covariance as a function on matrices (D, k), and D."""
    rows, _ = kept.in_unit()
    mean, shares = mean_row(rows, kept.weights), kept.roots() ** 2

    def covariance(matrix: Array) -> Array:
        product = centred_product(rows, mean, np.reshape(matrix, (len(mean), -1)))
        return centred_adjoint(rows, mean, shares * product)

    return covariance, len(mean)
