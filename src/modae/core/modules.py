r"""What fitted linear modules make of rows: codes, reconstructions, losses.

Each is an open function of the rows or codes, as in :mod:`modae.core.rows`: the implementations here are
for NumPy, those for arrays on a device are in :mod:`modae.core.devices`. Encoders are (M, H, D),
decoders (M, D, H) with orthonormal columns; the mean (D,) is subtracted before coding and added after.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from modae.core.arrays import Array, apart, side_by_side, swap
from modae.core.objective import row_terms
from modae.core.rows import Rows, centred_product, centred_squares


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
    """Loss of each row, (n,), in float64."""
    squares = centred_squares(rows, mean)
    matches = centred_product(rows, mean, side_by_side(decoders))
    terms = row_terms(squares, encode(rows, mean, encoders), matches, decoders)
    return np.asarray(terms.ambiguity_loss(diversity))
