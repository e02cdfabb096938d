r"""Products with centred rows of any kind, without ever forming the centred matrix.

Dense rows are shifted block by block in one buffer. For sparse rows the mean is a rank-one correction:
:math:`(X-\mathbf 1\mu^T)B=XB-\mathbf 1(\mu^TB)`, so they stay sparse.

What is asked of rows is an open function (``singledispatch``) with an implementation for each kind: the
first one is for dense NumPy rows, and the one below it for sparse rows. A third kind, rows on a device,
is in :mod:`modae.data.devices`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import sparray, spmatrix

from modae.utils.arrays import Array, Precision

Rows: TypeAlias = Any
"""A matrix of rows (n, D): a NumPy array, a scipy sparse matrix or array in CSR or CSC form without
duplicate entries, or a :class:`modae.data.devices.DeviceArray`."""

BLOCK_BYTES = 1 << 26
"""Dense rows are shifted and multiplied in blocks of about this size."""

SUM_ROWS = 64
"""So many float32 rows are added in float32: the error stays that of one of their products."""


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
        return bytes_of(self.rows)

    @property
    def shares(self) -> Array:
        """Shares of the rows in the weight; they sum to 1."""
        n_rows = self.rows.shape[0]
        if self.weights is None:
            return np.full(n_rows, 1.0 / n_rows)
        relative = self.weights / self.weights.max()
        shares: Array = relative / relative.sum()
        return shares

    def copy(self) -> KeptRows:
        """The same rows in memory of their own, on the host."""
        return KeptRows(self.rows.copy(), None if self.weights is None else self.weights.copy())

    def on_host(self) -> KeptRows:
        """The same rows as NumPy or scipy knows them."""
        return replace(self, rows=on_host(self.rows))


@singledispatch
def bytes_of(rows: Rows) -> int:
    """Bytes that the rows take."""
    return int(rows.nbytes)


@bytes_of.register(sparray)
@bytes_of.register(spmatrix)
def _(rows: Rows) -> int:
    return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)


@singledispatch
def on_host(rows: Rows) -> Rows:
    """The rows as NumPy or scipy knows them: most are already."""
    return rows


def row_blocks(rows: Rows) -> Iterator[slice]:
    """Slices that cut dense rows into blocks."""
    height = block_height(rows)
    for start in range(0, rows.shape[0], height):
        yield slice(start, min(start + height, rows.shape[0]))


def block_height(rows: Rows) -> int:
    """Rows in a block."""
    return max(1, BLOCK_BYTES // int(rows.itemsize * rows.shape[1]))


def shifted_blocks(rows: Array, shift: Array, unit: float = 1.0) -> Iterator[Array]:
    """Blocks of ``(rows - shift) / unit`` in one reused buffer; the rows themselves if that is all."""
    if unit == 1.0 and not shift.any():
        yield from (rows[cut] for cut in row_blocks(rows))
        return
    buffer = np.empty((min(len(rows), block_height(rows)), rows.shape[1]), rows.dtype)
    for cut in row_blocks(rows):
        block = rows[cut]
        block = np.subtract(block, shift, out=buffer[: len(block)])
        yield _divided(block, unit)


def weighted_blocks(
    rows: Array, shift: Array, unit: float, weights: Array
) -> Iterator[tuple[Array, Array]]:
    """Blocks of ``roots * (rows - shift) / unit`` for the rows of positive weight, with the roots."""
    present = np.flatnonzero(weights)
    roots = np.sqrt(weights[present])
    height = block_height(rows)
    for start in range(0, len(present), height):
        part = roots[start : start + height]
        block = rows[present[start : start + height]]
        if shift.any():
            block -= shift
        block = _divided(block, unit)
        block *= part.astype(rows.dtype)[:, None]
        yield block, part


def _divided(block: Array, unit: float) -> Array:
    if unit != 1.0:
        block /= block.dtype.type(unit)
    return block


@singledispatch
def centred_product(rows: Rows, mean: Array, matrix: Array) -> Array:
    """(rows - mean) @ matrix, in the precision of the rows."""
    matrix = matrix.astype(rows.dtype, copy=False)
    mean = mean.astype(rows.dtype, copy=False)
    product = np.empty((rows.shape[0], matrix.shape[1]), rows.dtype)
    for cut, block in zip(row_blocks(rows), shifted_blocks(rows, mean), strict=True):
        product[cut] = block @ matrix
    return product


@centred_product.register(sparray)
@centred_product.register(spmatrix)
def _(rows: Rows, mean: Array, matrix: Array) -> Array:
    matrix = matrix.astype(rows.dtype, copy=False)
    product: Array = np.asarray(rows @ matrix)
    product -= mean.astype(rows.dtype, copy=False) @ matrix
    return product


@singledispatch
def centred_adjoint(rows: Rows, mean: Array, matrix: Array) -> Array:
    """(rows - mean)^T @ matrix in float64, for a matrix with one row for each of the rows."""
    total = np.zeros((rows.shape[1], matrix.shape[1]))
    for cut, block in zip(row_blocks(rows), shifted_blocks(rows, mean), strict=True):
        total += block.T @ matrix[cut]
    return total


@centred_adjoint.register(sparray)
@centred_adjoint.register(spmatrix)
def _(rows: Rows, mean: Array, matrix: Array) -> Array:
    adjoint: Array = np.asarray(rows.T @ matrix) - np.outer(mean, matrix.sum(axis=0))
    return adjoint


@singledispatch
def centred_squares(rows: Rows, mean: Array) -> Array:
    """Squared length of each centred row, in float64."""
    squares = [
        np.einsum("nd,nd->n", block, block, dtype=np.float64)
        for block in shifted_blocks(rows, mean.astype(rows.dtype, copy=False))
    ]
    return np.concatenate(squares)


@centred_squares.register(sparray)
@centred_squares.register(spmatrix)
def _(rows: Rows, mean: Array) -> Array:
    """Entries that are there one by one, those that are not by what is left of |mean|^2."""
    rows, mean = rows.tocsr(), mean.astype(np.float64, copy=False)
    there = rows.astype(np.float64)
    there.data = (there.data - mean[there.indices]) ** 2
    absent = rows.astype(np.float64)
    absent.data = mean[absent.indices] ** 2
    missing = float(mean @ mean) - np.asarray(absent.sum(axis=1)).ravel()
    missing[np.diff(rows.indptr) == rows.shape[1]] = 0.0
    squares: Array = np.asarray(there.sum(axis=1)).ravel() + np.maximum(missing, 0.0)
    return squares


def column_sums(block: Array) -> Array:
    """Column sums in float64. BLAS adds few rows at a time in their own precision, and quickly."""
    height = len(block) if block.dtype == np.float64 else SUM_ROWS
    ones = np.ones(height, block.dtype)
    total: Array = np.zeros(block.shape[1])
    for start in range(0, len(block), height):
        part = block[start : start + height]
        total += ones[: len(part)] @ part
    return total


@singledispatch
def entries_near_mean(rows: Rows) -> Array:
    """One entry of each column to subtract from it: exact, so a constant column becomes exactly 0.

    Of dense rows it is the one nearest to the mean of a sample. Sparse rows have one only in columns
    without a missing entry, and 0 in the others: there |mean|^2 cannot be much larger than the
    variance, and a shift would fill the column.
    """
    sample = np.asarray(sample_of(rows))
    middle = (sample.astype(np.float64) / len(sample)).sum(axis=0)
    nearest = np.abs(sample / 2.0 - middle / 2.0).argmin(axis=0)
    nearest_row: Array = np.take_along_axis(sample, nearest[None], axis=0)[0]
    return nearest_row


@entries_near_mean.register(sparray)
@entries_near_mean.register(spmatrix)
def _(rows: Rows) -> Array:
    csc = rows.tocsc()
    full = full_columns(rows)
    entries: Array = np.zeros(rows.shape[1], rows.dtype)
    entries[full] = csc.data[csc.indptr[:-1][full]]
    return entries


def sample_of(rows: Rows) -> Rows:
    """Some 256 dense rows from all over; the same from a sample."""
    return rows[:: max(1, rows.shape[0] // 256)]


def full_columns(rows: Rows) -> Array:
    """Which columns of sparse rows have no missing entry."""
    full: Array = np.diff(rows.tocsc().indptr) == rows.shape[0]
    return full


def mean_row(rows: Rows, weights: Array | None = None) -> Array:
    """Weighted mean of the rows in float64, exact for constant columns."""
    shift = entries_near_mean(rows)
    mean: Array = shift.astype(np.float64) + mean_of_shifted(rows, shift, KeptRows(rows, weights).shares)
    return mean


@singledispatch
def mean_of_shifted(rows: Rows, shift: Array, shares: Array) -> Array:
    """The product ``shares @ (rows - shift)`` in float64, for a shift in the precision of the rows."""
    offset = np.zeros(rows.shape[1])
    for cut, block in zip(row_blocks(rows), shifted_blocks(rows, shift), strict=True):
        offset += shares[cut] @ block
    return offset


@mean_of_shifted.register(sparray)
@mean_of_shifted.register(spmatrix)
def _(rows: Rows, shift: Array, shares: Array) -> Array:
    mean: Array = np.asarray(shares @ shifted_sparse(rows, shift.astype(np.float64))).ravel()
    return mean


def shifted_sparse(rows: Rows, shift: Array, unit: float = 1.0) -> Rows:
    """(rows - shift) / unit in float64, for a shift of columns without a missing entry: still sparse."""
    shifted = rows.tocsr().astype(np.float64)
    shifted.data = (shifted.data - shift[shifted.indices]) / unit
    return shifted
