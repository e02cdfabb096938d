r"""Step 5: subspaces become encoders and decoders.

For orthonormal decoders :math:`A_i` with mean projector :math:`\bar P` the best encoders are

.. math:: B_i = A_i^T\big((1-\lambda)I+\lambda\bar P\big)^{-1}

(stationarity gives :math:`(1-\lambda)C_i+\lambda P_i\bar C=P_i`; average over i, solve for
:math:`\bar C`, put it back). Every module is *the same shared linear map*, followed by its own
projection.
"""

from __future__ import annotations

import numpy as np

from modae.core.frames import mean_projector
from modae.utils.arrays import Array, Indices

SINGULAR = 1e-12
"""At diversity 1 the shared map is a pseudo-inverse: directions below this share are dropped."""


def best_encoders(frames: Array, diversity: float) -> Array:
    """Encoders (M, H, K) that minimise the loss for orthonormal decoders (M, K, H)."""
    shares, directions = np.linalg.eigh(mean_projector(frames))
    denominators = 1.0 - diversity + diversity * shares
    kept = denominators > SINGULAR
    inverse = np.where(kept, 1.0 / np.where(kept, denominators, 1.0), 0.0)
    shared_map = (directions * inverse) @ directions.T
    encoders: Array = frames.mT @ shared_map
    return encoders


def canonical(decoders: Array, encoders: Array, eigenvalues: Array) -> tuple[Array, Array]:
    r"""The same products :math:`A_iB_i` in a form that does not depend on the way there.

    Decoders become orthonormal. Inside a module the axes are those that diagonalise the captured
    variance :math:`A_i^T\Sigma A_i` (at an optimum they make the codes uncorrelated too), ordered by
    code variance; whitened components tie there, and keep the order of captured variance. The largest
    entry of each decoder column is positive. Modules are ordered by captured variance.
    """
    decoders, triangles = np.linalg.qr(decoders)
    encoders = triangles @ encoders
    captured, rotation = np.linalg.eigh(decoders.mT @ (eigenvalues[:, None] * decoders))
    rotation = rotation[:, :, ::-1]
    decoders, encoders = decoders @ rotation, rotation.mT @ encoders
    order = _by_code_variance(encoders, eigenvalues)
    decoders = np.take_along_axis(decoders, order[:, None, :], axis=2)
    encoders = np.take_along_axis(encoders, order[:, :, None], axis=1)
    signs = _signs(decoders)
    modules = np.argsort(-captured.sum(axis=1), kind="stable")
    return (decoders * signs[:, None, :])[modules], (encoders * signs[:, :, None])[modules]


def _by_code_variance(encoders: Array, eigenvalues: Array) -> Indices:
    """Component order of each module; variances equal to six digits count as equal."""
    variances = (encoders**2) @ eigenvalues
    top = variances.max(axis=1, keepdims=True)
    relative = np.round(variances / np.where(top > 0.0, top, 1.0), 6)
    return np.argsort(-relative, axis=1, kind="stable")


def _signs(decoders: Array) -> Array:
    largest = np.abs(decoders).argmax(axis=1)[:, None, :]
    return np.where(np.take_along_axis(decoders, largest, axis=1)[:, 0, :] < 0.0, -1.0, 1.0)
