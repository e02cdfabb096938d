r"""What fitted linear modules make of rows: codes, reconstructions, losses.

Encoders are (M, H, D), decoders (M, D, H) with orthonormal columns; the mean (D,) is subtracted before
coding and added after. Answers are where the rows are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.data.devices import HOST, place_and_values, same_place
from modae.data.rows import Rows, centred_product, centred_squares
from modae.utils.arrays import Array


def encode(rows: Rows, mean: Array, encoders: Array) -> Any:
    """Codes of all modules side by side, (n, M*H), in the precision of the rows."""
    return centred_product(rows, mean, encoders.reshape(-1, encoders.shape[2]).T)


def by_module(codes: Rows, n_modules: int) -> Any:
    """Codes (n, M*H) as one matrix for each module, (M, n, H)."""
    place, values = place_and_values(codes)
    stack = place.xp.reshape(values, (codes.shape[0], n_modules, -1))
    stack = place.xp.permute_dims(stack, (1, 0, 2))
    return np.ascontiguousarray(stack) if place is HOST else same_place(codes, stack)


def mean_reconstruction(codes: Rows, mean: Array, decoders: Array) -> Any:
    """Mean of what the modules make of their codes, (n, D)."""
    place, values = place_and_values(codes)
    flat = np.hstack(list(decoders)).astype(codes.dtype, copy=False) / len(decoders)
    there = values @ place.send(flat.T, codes.dtype) + place.send(mean, codes.dtype)
    return same_place(codes, there)


def reconstructions(codes: Rows, mean: Array, decoders: Array) -> Any:
    """What each module makes of its codes, (M, n, D)."""
    place, values = place_and_values(by_module(codes, len(decoders)))
    decoded = values @ place.send(decoders.mT, codes.dtype) + place.send(mean, codes.dtype)
    return same_place(codes, decoded)


def row_losses(rows: Rows, mean: Array, encoders: Array, decoders: Array, diversity: float) -> Any:
    r"""Loss of each row, (n,), in float64 and without the reconstructions: orthonormal decoders only.

    :math:`\|A_iz_i-x\|^2=\|x\|^2+\langle z_i,\,z_i-2A_i^Tx\rangle`, and with
    :math:`A=[A_1\dots A_M]` the error of the mean is
    :math:`\|x\|^2-\frac2M\langle z,A^Tx\rangle+\frac1{M^2}\langle z,A^TAz\rangle`.
    """
    n_modules, flat = len(decoders), np.hstack(list(decoders))
    place, codes = place_and_values(encode(rows, mean, encoders))
    matches = place_and_values(centred_product(rows, mean, flat))[1]
    squares = place_and_values(centred_squares(rows, mean))[1]
    codes, matches = (place.cast(each, place.precise) for each in (codes, matches))
    flat = flat.astype(np.float64)
    overlap = place.xp.vecdot(codes, matches) * (2.0 / n_modules)
    own = place.xp.vecdot(codes, codes) / n_modules
    together = place.xp.vecdot(codes @ place.send(flat.T @ flat, place.precise), codes) / n_modules**2
    reconstruction = place.xp.clip(squares + own - overlap, min=0.0)
    error_of_mean = place.xp.clip(squares + together - overlap, min=0.0)
    return same_place(rows, (1.0 - diversity) * reconstruction + diversity * error_of_mean)
