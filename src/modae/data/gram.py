"""The exact spectrum of wide data: fewer rows than features, and no D x D matrix.

The n x n Gram matrix of the centred rows has the same non-zero eigenvalues as their covariance, and its
eigenvectors are combinations of rows that give the principal axes.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from scipy.sparse import sparray, spmatrix

from modae.data.moments import largest_spread, unit_of
from modae.data.rows import KeptRows, Rows, centred_adjoint, entries_near_mean, shifted_sparse
from modae.data.spectrum import Spectrum, tidy
from modae.utils.arrays import FLOAT64, Array


def spectrum_of_gram(kept: KeptRows, n_axes: int | None = None) -> Spectrum:
    """The exact spectrum, from the n x n Gram matrix; only ``n_axes`` leading axes, if given.

    The axes :math:`X^T v_k` lose orthogonality where eigenvalues are tiny, so one QR restores it; the
    falling order keeps the error in the tiny ones. Rows on a device are brought to the host.
    """
    kept = kept.on_host()
    unit = unit_of(largest_spread(kept.rows))
    shift = entries_near_mean(kept.rows).astype(np.float64)
    roots = np.sqrt(kept.shares)[:, None]
    rows, offset, rest = nearly_centred(kept.rows, shift, unit, kept.shares)
    gram = roots * centred_gram(rows, rest) * roots.T
    eigenvalues, vectors = np.linalg.eigh(gram)
    leading = slice(None, None if n_axes is None else -n_axes - 1, -1)
    axes = np.linalg.qr(centred_adjoint(rows, rest, roots * vectors[:, leading]))[0].T
    total = float(np.trace(gram))
    spectrum = Spectrum(shift + offset * unit, axes, eigenvalues[leading], total, unit)
    return tidy(spectrum, FLOAT64, cancelled=float(rest @ rest))


@singledispatch
def nearly_centred(rows: Rows, shift: Array, unit: float, shares: Array) -> tuple[Rows, Array, Array]:
    """Rows in their unit, centred if dense; the mean of ``(rows - shift) / unit``; the rest of it."""
    moved = (rows - shift) / unit
    offset = shares @ moved
    return moved - offset, offset, np.zeros_like(offset)


@nearly_centred.register(sparray)
@nearly_centred.register(spmatrix)
def _(rows: Rows, shift: Array, unit: float, shares: Array) -> tuple[Rows, Array, Array]:
    moved = shifted_sparse(rows, shift, unit)
    offset: Array = np.asarray(shares @ moved).ravel()
    return moved, offset, offset


def centred_gram(rows: Rows, mean: Array) -> Array:
    """(rows - mean)(rows - mean)^T for float64 rows, (n, n)."""
    inner = np.asarray(rows @ mean)
    gram: Array = gram_of(rows) - inner[:, None] - inner + mean @ mean
    return gram


@singledispatch
def gram_of(rows: Rows) -> Array:
    """The products of all pairs of rows, (n, n)."""
    gram: Array = rows @ rows.T
    return gram


@gram_of.register(sparray)
@gram_of.register(spmatrix)
def _(rows: Rows) -> Array:
    gram: Array = (rows @ rows.T).toarray()
    return gram
