r"""What fitted linear modules make of rows: codes, reconstructions, losses.

Each is an open function of the rows or codes, as in :mod:`modae.data.rows`: the implementations here are
for NumPy, those for arrays on a device are in :mod:`modae.data.devices`. Encoders are (M, H, D),
decoders (M, D, H) with orthonormal columns; the mean (D,) is subtracted before coding and added after.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from modae.data.rows import Rows, centred_product, centred_squares
from modae.utils.arrays import Array, apart, side_by_side, swap


def encode(rows: Rows, mean: Array, encoders: Array) -> Array:
    """Codes of all modules side by side, (n, M*H), in the precision of the rows."""
    return centred_product(rows, mean, encoders.reshape(-1, encoders.shape[2]).T)


@singledispatch
def by_module(codes: Rows, n_modules: int) -> Array:
    """Codes (n, M*H) as one matrix for each module, (M, n, H)."""
    return apart(codes, n_modules)


@singledispatch
def mean_reconstruction(codes: Rows, mean: Array, decoders: Array) -> Array:
    """Mean of what the modules make of their codes, (n, D)."""
    flat = side_by_side(decoders).astype(codes.dtype, copy=False)
    reconstruction: Array = codes @ (flat / len(decoders)).T
    reconstruction += mean.astype(codes.dtype, copy=False)
    return reconstruction


@singledispatch
def reconstructions(codes: Rows, mean: Array, decoders: Array) -> Array:
    """What each module makes of its codes, (M, n, D)."""
    decoded: Array = apart(codes, len(decoders)) @ swap(decoders.astype(codes.dtype, copy=False))
    decoded += mean.astype(codes.dtype, copy=False)
    return decoded


@singledispatch
def row_losses(rows: Rows, mean: Array, encoders: Array, decoders: Array, diversity: float) -> Array:
    r"""Loss of each row, (n,), in float64 and without the reconstructions: orthonormal decoders only.

    :math:`\|A_iz_i-x\|^2=\|x\|^2+\langle z_i,\,z_i-2A_i^Tx\rangle`, and with
    :math:`A=[A_1\dots A_M]` the error of the mean is
    :math:`\|x\|^2-\frac2M\langle z,A^Tx\rangle+\frac1{M^2}\langle z,A^TAz\rangle`.
    """
    n_modules, flat = len(decoders), side_by_side(decoders).astype(np.float64)
    squares = centred_squares(rows, mean)
    codes = encode(rows, mean, encoders).astype(np.float64, copy=False)
    matches = centred_product(rows, mean, side_by_side(decoders)).astype(np.float64, copy=False)
    overlap = np.einsum("nk,nk->n", codes, matches) * (2.0 / n_modules)
    own = np.einsum("nk,nk->n", codes, codes) / n_modules
    together = np.einsum("nk,nk->n", codes @ (flat.T @ flat), codes) / n_modules**2
    reconstruction = np.maximum(squares + own - overlap, 0.0)
    error_of_mean = np.maximum(squares + together - overlap, 0.0)
    losses: Array = (1.0 - diversity) * reconstruction + diversity * error_of_mean
    return losses
