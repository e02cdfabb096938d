r"""The objective, in the paper's form and in the ambiguity form, and its gradient.

.. math::
   L(x) &= \frac1M\sum_i\|C_ix-x\|^2-\lambda\,\frac1M\sum_i\|C_ix-\bar Cx\|^2
           \qquad\text{(Eq. 1: reconstruction error, diversity)}\\
        &= (1-\lambda)\,\frac1M\sum_i\|C_ix-x\|^2+\lambda\,\|\bar Cx-x\|^2
           \qquad\text{(Proposition 1)}

with :math:`C_i=A_iB_i` and :math:`\bar C` their mean. Every diversity :math:`\lambda\ge0` is accepted
here, because the theorems speak of values above 1; only estimators refuse them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modae.core.arrays import Array, side_by_side, swap


class Terms(NamedTuple):
    """The two terms of the loss, floats or one value per row."""

    reconstruction: Array | float
    diversity: Array | float

    def loss(self, diversity: float) -> Array | float:
        """Eq. 1: reconstruction - lam * diversity."""
        return self.reconstruction - diversity * self.diversity

    def ambiguity_loss(self, diversity: float) -> Array | float:
        """Proposition 1: (1 - lam) * reconstruction + lam * error of the mean output."""
        error_of_mean = self.reconstruction - self.diversity
        return (1.0 - diversity) * self.reconstruction + diversity * error_of_mean


def output_terms(outputs: Array, targets: Array) -> Terms:
    """Both terms for each row, for any modules: outputs (M, n, D) against targets (n, D).

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.objective import output_terms
    >>> terms = output_terms(np.array([[[1.0]], [[3.0]]]), np.array([[1.0]]))
    >>> terms.reconstruction.tolist(), terms.diversity.tolist(), terms.loss(0.5).tolist()
    ([2.0], [1.0], [1.5])
    """
    errors = outputs - targets
    spread = outputs - outputs.mean(axis=0)
    return Terms(
        np.einsum("mnd,mnd->n", errors, errors) / len(outputs),
        np.einsum("mnd,mnd->n", spread, spread) / len(outputs),
    )


def row_terms(squares: Array, codes: Array, matches: Array, decoders: Array) -> Terms:
    r"""Both terms for each row in float64, without the reconstructions: orthonormal decoders only.

    :math:`\|A_iz_i-x\|^2=\|x\|^2+\langle z_i,\,z_i-2A_i^Tx\rangle`, and with
    :math:`A=[A_1\dots A_M]` the error of the mean is
    :math:`\|x\|^2-\frac2M\langle z,A^Tx\rangle+\frac1{M^2}\langle z,A^TAz\rangle`.

    Parameters
    ----------
    squares : ndarray of shape (n,)
        Squared length of each centred row.
    codes, matches : ndarrays of shape (n, M*H)
        What the encoders, and what the transposed decoders, make of the centred rows.
    decoders : ndarray of shape (M, D, H)
    """
    flat, n_modules = side_by_side(decoders).astype(np.float64), len(decoders)
    codes, matches = codes.astype(np.float64), matches.astype(np.float64)
    own = np.einsum("nk,nk->n", codes, codes) / n_modules
    overlap = np.einsum("nk,nk->n", codes, matches) / n_modules
    together = np.einsum("nk,nk->n", codes @ (flat.T @ flat), codes) / n_modules**2
    reconstruction = np.maximum(squares + own - 2.0 * overlap, 0.0)
    return Terms(reconstruction, reconstruction - np.maximum(squares + together - 2.0 * overlap, 0.0))


def linear_terms(decoders: Array, encoders: Array, covariance: Array) -> Terms:
    """Both terms averaged over data with this covariance, for linear modules.

    Parameters
    ----------
    decoders : ndarray of shape (M, D, H)
    encoders : ndarray of shape (M, H, D)
    covariance : ndarray of shape (D, D), or (D,) for a diagonal one
    """
    n_modules, _, width = decoders.shape
    flat_decoders = side_by_side(decoders)
    flat_encoders = encoders.reshape(-1, encoders.shape[2])
    if covariance.ndim == 1:
        total, seen = covariance.sum(), flat_encoders * covariance
    else:
        total, seen = np.trace(covariance), flat_encoders @ covariance
    overlap = np.vdot(seen, flat_decoders.T)
    # tr(C_i Sigma C_j^T) is the sum of block (i, j) of this product.
    energy = (flat_decoders.T @ flat_decoders) * (seen @ flat_encoders.T)
    own = np.einsum("mamb->", energy.reshape(n_modules, width, n_modules, width))
    reconstruction = total + (own - 2.0 * overlap) / n_modules
    return Terms(float(reconstruction), float(own / n_modules - energy.sum() / n_modules**2))


def linear_gradient(
    decoders: Array, encoders: Array, covariance: Array, diversity: float
) -> tuple[Array, Array]:
    r"""Gradient of the mean loss with respect to decoders and encoders.

    :math:`\partial E/\partial C_i=\frac2M\big((C_i-I)-\lambda(C_i-\bar C)\big)\Sigma`, then the chain
    rule: times :math:`B_i^T` on the right, :math:`A_i^T` on the left.
    """
    n_modules = len(decoders)
    sigma = np.diag(covariance) if covariance.ndim == 1 else covariance
    products = decoders @ encoders
    pull = (1.0 - diversity) * products + diversity * products.mean(axis=0)
    slope = (2.0 / n_modules) * (pull - np.eye(len(sigma))) @ sigma
    return slope @ swap(encoders), swap(decoders) @ slope
