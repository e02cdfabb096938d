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

from modae.utils.arrays import Array


class Terms(NamedTuple):
    """The terms of the loss, floats or one value per row: reconstruction - diversity = error of mean."""

    reconstruction: Array | float
    diversity: Array | float
    error_of_mean: Array | float

    def loss(self, diversity: float) -> Array | float:
        """Eq. 1: reconstruction - lam * diversity."""
        return self.reconstruction - diversity * self.diversity

    def ambiguity_loss(self, diversity: float) -> Array | float:
        """Proposition 1, which does not cancel: (1 - lam) * reconstruction + lam * error of mean."""
        return (1.0 - diversity) * self.reconstruction + diversity * self.error_of_mean


def output_terms(outputs: Array, targets: Array) -> Terms:
    """The terms for each row, for any modules: outputs (M, n, D) against targets (n, D).

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.objective import output_terms
    >>> terms = output_terms(np.array([[[1.0]], [[3.0]]]), np.array([[1.0]]))
    >>> terms.reconstruction.tolist(), terms.diversity.tolist(), terms.loss(0.5).tolist()
    ([2.0], [1.0], [1.5])
    """
    mean = outputs.mean(axis=0)
    errors, spread, misses = outputs - targets, outputs - mean, mean - targets
    return Terms(
        np.einsum("mnd,mnd->n", errors, errors) / len(outputs),
        np.einsum("mnd,mnd->n", spread, spread) / len(outputs),
        np.einsum("nd,nd->n", misses, misses),
    )


def linear_terms(decoders: Array, encoders: Array, covariance: Array) -> Terms:
    """The terms averaged over data with this covariance, for linear modules.

    Parameters
    ----------
    decoders : ndarray of shape (M, D, H)
    encoders : ndarray of shape (M, H, D)
    covariance : ndarray of shape (D, D), or (D,) for a diagonal one
    """
    n_modules, n_features, _ = decoders.shape
    seen = encoders * covariance if covariance.ndim == 1 else encoders @ covariance
    total = covariance.sum() if covariance.ndim == 1 else np.trace(covariance)
    # tr(C_i Sigma C_i^T) = <A_i^T A_i, B_i Sigma B_i^T>, tr(C_i Sigma) = <B_i Sigma, A_i^T>
    own = np.vdot(decoders.mT @ decoders, seen @ encoders.mT)
    overlap = np.vdot(seen, decoders.mT)
    reconstruction = float(total + (own - 2.0 * overlap) / n_modules)
    mean_product = np.hstack(list(decoders)) @ encoders.reshape(-1, n_features) / n_modules
    missed = np.eye(n_features) - mean_product
    weighted = missed * covariance if covariance.ndim == 1 else missed @ covariance
    error_of_mean = float(np.vdot(weighted, missed))
    return Terms(reconstruction, reconstruction - error_of_mean, error_of_mean)


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
    return slope @ encoders.mT, decoders.mT @ slope
