r"""Step 6, only where the ideal allocation is out of reach: minimise the loss over all frames.

With the encoders eliminated the loss is a smooth function of the mean projector alone,
:math:`E=\mathrm{tr}\,\Sigma-\mathrm{tr}(\Sigma f(\bar P))`. Any full-rank :math:`W_i=Q_iR_i` names the
subspace of :math:`Q_i`, so L-BFGS runs without constraints, with the gradient

.. math:: -\tfrac2M\,(I-Q_iQ_i^T)\,\Gamma\,Q_iR_i^{-T},\qquad
          \Gamma=(1-\lambda)K^{-1}\Sigma K^{-1},\quad K=(1-\lambda)I+\lambda\bar P .
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from modae.core.arrays import Array, swap
from modae.core.subspaces import mean_projector


def polish(
    frames: Array, eigenvalues: Array, diversity: float, max_iter: int = 2000
) -> tuple[Array, int]:
    """Frames with a smaller loss, for a diversity in (0, 1), and the iterations that took.

    Parameters
    ----------
    frames : ndarray of shape (M, K, H)
    eigenvalues : ndarray of shape (K,)
    """
    weights = eigenvalues / eigenvalues.sum()
    result = minimize(
        lambda flat: reduced_loss(flat.reshape(frames.shape), weights, diversity),
        frames.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxcor": 20,
            "gtol": 1e-10,
            "ftol": 1e-16,
            "maxiter": max_iter,
            "maxfun": 2 * max_iter,
        },
    )
    return np.linalg.qr(result.x.reshape(frames.shape))[0], int(result.nit)


def on_all_axes(frames: Array, n_axes: int) -> Array:
    """The same frames with zeros for the axes they do not use."""
    n_modules, used, width = frames.shape
    padding = np.zeros((n_modules, n_axes - used, width))
    return np.concatenate([frames, padding], axis=1)


def perturbed(frames: Array, rng: np.random.Generator, size: float = 1e-2) -> Array:
    """Frames a little aside: exact zeros are invariant under descent, and noise frees them."""
    return np.linalg.qr(frames + size * rng.standard_normal(frames.shape))[0]


def reduced_loss(stack: Array, weights: Array, diversity: float) -> tuple[float, Array]:
    """Loss of the subspaces spanned by the columns of each matrix, with gradient (flat)."""
    frames, triangles = np.linalg.qr(stack)
    identity = np.eye(len(weights))
    inverse = np.linalg.inv((1.0 - diversity) * identity + diversity * mean_projector(frames))
    # 1 - f(P) = (1 - lam) (K^-1 - I) / lam, which is small where the loss is small.
    unexplained = (1.0 - diversity) / diversity * (np.diag(inverse) - 1.0)
    gamma = (1.0 - diversity) * (inverse * weights) @ inverse
    pull = gamma @ frames
    pull -= frames @ (swap(frames) @ pull)
    gradient = -2.0 / len(frames) * swap(np.linalg.solve(triangles, swap(pull)))
    return float(weights @ unexplained), gradient.ravel()
