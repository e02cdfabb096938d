r"""Step 6, only where the ideal allocation is out of reach: minimise the loss over all frames.

With the encoders eliminated the loss is a smooth function of the mean projector alone,
:math:`E=\mathrm{tr}\,\Sigma-\mathrm{tr}(\Sigma f(\bar P))`. Any full-rank :math:`W_i=Q_iR_i` names the
subspace of :math:`Q_i`, so L-BFGS runs without constraints, with the gradient

.. math:: -\tfrac2M\,(I-Q_iQ_i^T)\,\Gamma\,Q_iR_i^{-T},\qquad
          \Gamma=(1-\lambda)S^{-1}\Sigma S^{-1},\quad S=(1-\lambda)I+\lambda\bar P .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from modae.core.frames import mean_projector
from modae.utils.arrays import Array


@dataclass(frozen=True)
class Polished:
    """Frames (M, K, H) after descent, how many iterations it took, and whether it came to its end."""

    frames: Array
    n_iter: int
    converged: bool


def polish(frames: Array, eigenvalues: Array, diversity: float, max_iter: int = 2000) -> Polished:
    """Frames with a smaller loss, for a diversity in (0, 1).

    Parameters
    ----------
    frames : ndarray of shape (M, K, H)
    eigenvalues : ndarray of shape (K,)
    """
    variances = eigenvalues / eigenvalues.sum()
    result = minimize(
        lambda flat: reduced_loss(flat.reshape(frames.shape), variances, diversity),
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
    polished = np.linalg.qr(result.x.reshape(frames.shape))[0]
    # Status 1 is a limit reached. Status 2, a line search that finds nothing better, is an end too.
    return Polished(polished, int(result.nit), converged=result.status != 1)


def on_all_axes(frames: Array, n_axes: int) -> Array:
    """The same frames with zeros for the axes they do not use."""
    n_modules, used, width = frames.shape
    padding = np.zeros((n_modules, n_axes - used, width))
    return np.concatenate([frames, padding], axis=1)


def perturbed(frames: Array, rng: np.random.Generator, size: float) -> Array:
    """Frames a random step of this size aside."""
    return np.linalg.qr(frames + size * rng.standard_normal(frames.shape))[0]


def reduced_loss(stack: Array, variances: Array, diversity: float) -> tuple[float, Array]:
    """Loss of the subspaces spanned by the columns of each matrix, with gradient (flat)."""
    frames, triangles = np.linalg.qr(stack)
    identity = np.eye(len(variances))
    inverse = np.linalg.inv((1.0 - diversity) * identity + diversity * mean_projector(frames))
    # 1 - f(P) = (1 - lam) (S^-1 - I) / lam, which is small where the loss is small.
    unexplained = (1.0 - diversity) / diversity * (np.diag(inverse) - 1.0)
    gamma = (1.0 - diversity) * (inverse * variances) @ inverse
    pull = gamma @ frames
    pull -= frames @ (frames.mT @ pull)
    gradient = -2.0 / len(frames) * np.linalg.solve(triangles, pull.mT).mT
    return float(variances @ unexplained), gradient.ravel()
