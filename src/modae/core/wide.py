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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from modae.core.arrays import Array
from modae.core.moments import FLOAT64, Precision, spread_unit
from modae.core.rows import (
    Rows,
    centred_adjoint,
    centred_product,
    centred_squares,
    mean_row,
    nearest_entries,
    shifted_sparse,
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

    @property
    def shares(self) -> Array:
        """Shares of the rows in the weight; they sum to 1."""
        n_rows = self.rows.shape[0]
        if self.weights is None:
            return np.full(n_rows, 1.0 / n_rows)
        relative = self.weights / self.weights.max()
        shares: Array = relative / relative.sum()
        return shares


def spectrum_of_gram(kept: KeptRows) -> Spectrum:
    """The exact spectrum, from the n x n Gram matrix.

    The axes :math:`X^T v_k` lose orthogonality where eigenvalues are tiny, so one QR restores it; the
    falling order keeps the error in the tiny ones.
    """
    unit = spread_unit(kept.rows, FLOAT64)
    shift = nearest_entries(kept.rows).astype(np.float64)
    roots = np.sqrt(kept.shares)[:, None]
    if issparse(kept.rows):
        rows = shifted_sparse(kept.rows, shift, unit)
        offset = rest = np.asarray(kept.shares @ rows).ravel()
    else:
        rows = (kept.rows - shift) / unit
        offset = kept.shares @ rows
        rows, rest = rows - offset, np.zeros_like(offset)
    gram = roots * centred_gram(rows, rest) * roots.T
    eigenvalues, vectors = np.linalg.eigh(gram)
    axes = np.linalg.qr(centred_adjoint(rows, rest, roots * vectors[:, ::-1]))[0].T
    total = float(np.trace(gram))
    spectrum = Spectrum(shift + offset * unit, axes, eigenvalues[::-1], total, unit)
    return tidy(spectrum, kept.dtype, cancelled=float(rest @ rest))


def centred_gram(rows: Rows, mean: Array) -> Array:
    """(rows - mean)(rows - mean)^T for float64 rows, (n, n)."""
    inner = np.asarray(rows @ mean)
    products = rows @ rows.T
    dense: Array = products.toarray() if issparse(products) else products
    gram: Array = dense - inner[:, None] - inner + mean @ mean
    return gram


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
        basis: Array = eigsh(operator, k=count, which="LA", v0=start, tol=KRYLOV_TOLERANCE)[1]
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
        unit = spread_unit(kept.rows, FLOAT64)
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
