r"""Products with centred rows of any kind, without ever forming the centred matrix.

Dense rows, of NumPy or of another namespace (:mod:`modae.data.devices`), are shifted block by block. For
sparse rows the mean is a rank-one correction: :math:`(X-\mathbf 1\mu^T)B=XB-\mathbf 1(\mu^TB)`, so they
stay sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from modae.data.devices import HOST, on_host, place_and_values, same_place
from modae.utils.arrays import FLOAT64, Array, Precision

Rows: TypeAlias = Any
"""A matrix of rows (n, D): a NumPy array, a scipy sparse matrix or array in CSR or CSC form without
duplicate entries, or a :class:`modae.data.devices.DeviceArray`."""

BLOCK_BYTES = 1 << 26
"""Dense rows are shifted and multiplied in blocks of about this size."""

SINGLE_ROWS = 4096
"""Rows in a block, at most, for a device without float64: so few can be added up in float32."""


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
        rows = self.rows
        if issparse(rows):
            return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
        return int(rows.nbytes)

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
        return KeptRows(on_host(self.rows), self.weights)


def row_blocks(rows: Rows) -> Iterator[slice]:
    """Slices that cut dense rows into blocks."""
    height = block_height(rows)
    for start in range(0, rows.shape[0], height):
        yield slice(start, min(start + height, rows.shape[0]))


def block_height(rows: Rows) -> int:
    """Rows in a block."""
    height = max(1, BLOCK_BYTES // int(rows.dtype.itemsize * rows.shape[1]))
    return height if place_and_values(rows)[0].precise == FLOAT64 else min(height, SINGLE_ROWS)


def shifted_blocks(rows: Rows, shift: Array, unit: float = 1.0) -> Iterator[Any]:
    """Blocks of ``(rows - shift) / unit``; the rows themselves if that is all.

    On the host all blocks use one buffer, so a block is gone when the next one is asked for.
    """
    place, values = place_and_values(rows)
    if unit == 1.0 and not shift.any():
        yield from (values[cut, ...] for cut in row_blocks(rows))
        return
    away = place.send(shift, rows.dtype)
    if place is not HOST:
        for cut in row_blocks(rows):
            block = values[cut, ...] - away
            yield block if unit == 1.0 else block / unit
        return
    buffer = np.empty((min(len(values), block_height(rows)), values.shape[1]), values.dtype)
    for cut in row_blocks(rows):
        block = np.subtract(values[cut], away, out=buffer[: cut.stop - cut.start])
        if unit != 1.0:
            block /= block.dtype.type(unit)
        yield block


def weighted_blocks(
    rows: Rows, shift: Array, unit: float, weights: Array
) -> Iterator[tuple[Any, Array]]:
    """Blocks of ``roots * (rows - shift) / unit`` for the rows of positive weight, with the roots."""
    place, _ = place_and_values(rows)
    present = np.flatnonzero(weights)
    roots = np.sqrt(weights[present])
    height = block_height(rows)
    for start in range(0, len(present), height):
        part = roots[start : start + height]
        chosen = rows[present[start : start + height]]
        (block,) = shifted_blocks(chosen, shift, unit)
        yield block * place.send(part[:, None], rows.dtype), part


def centred_product(rows: Rows, mean: Array, matrix: Array) -> Any:
    """(rows - mean) @ matrix, in the precision of the rows, where the rows are."""
    if issparse(rows):
        matrix = matrix.astype(rows.dtype, copy=False)
        product: Array = np.asarray(rows @ matrix)
        product -= mean.astype(rows.dtype, copy=False) @ matrix
        return product
    place, _ = place_and_values(rows)
    there = place.send(matrix, rows.dtype)
    parts = [block @ there for block in shifted_blocks(rows, mean)]
    return same_place(rows, parts[0] if len(parts) == 1 else place.xp.concat(parts))


def centred_adjoint(rows: Rows, mean: Array, matrix: Array) -> Array:
    """(rows - mean)^T @ matrix in float64, for rows on the host and a matrix with as many rows."""
    if issparse(rows):
        adjoint: Array = np.asarray(rows.T @ matrix) - np.outer(mean, matrix.sum(axis=0))
        return adjoint
    total = np.zeros((rows.shape[1], matrix.shape[1]))
    for cut, block in zip(row_blocks(rows), shifted_blocks(rows, mean), strict=True):
        total += block.T @ matrix[cut]
    return total


def centred_squares(rows: Rows, mean: Array) -> Any:
    """Squared length of each centred row, in float64 or the best precision of a device."""
    if issparse(rows):
        return _sparse_squares(rows.tocsr(), mean.astype(np.float64, copy=False))
    place, _ = place_and_values(rows)
    squares = []
    for block in shifted_blocks(rows, mean):
        precise = place.cast(block, place.precise)
        squares.append(place.xp.vecdot(precise, precise))
    return same_place(rows, squares[0] if len(squares) == 1 else place.xp.concat(squares))


def _sparse_squares(rows: Rows, mean: Array) -> Array:
    """Entries that are there one by one, those that are not by what is left of |mean|^2."""
    there = rows.astype(np.float64)
    there.data = (there.data - mean[there.indices]) ** 2
    absent = rows.astype(np.float64)
    absent.data = mean[absent.indices] ** 2
    missing = float(mean @ mean) - np.asarray(absent.sum(axis=1)).ravel()
    missing[np.diff(rows.indptr) == rows.shape[1]] = 0.0
    squares: Array = np.asarray(there.sum(axis=1)).ravel() + np.maximum(missing, 0.0)
    return squares


def entries_near_mean(rows: Rows) -> Array:
    """One entry of each column to subtract from it: exact, so a constant column becomes exactly 0.

    Of dense rows it is the one nearest to the mean of a sample. Sparse rows have one only in columns
    without a missing entry, and 0 in the others: there |mean|^2 cannot be much larger than the
    variance, and a shift would fill the column.
    """
    if issparse(rows):
        csc = rows.tocsc()
        full = full_columns(rows)
        entries: Array = np.zeros(rows.shape[1], rows.dtype)
        entries[full] = csc.data[csc.indptr[:-1][full]]
        return entries
    sample = sample_of(rows)
    middle = (sample.astype(np.float64) / len(sample)).sum(axis=0)
    nearest = np.abs(sample / 2.0 - middle / 2.0).argmin(axis=0)
    nearest_row: Array = np.take_along_axis(sample, nearest[None], axis=0)[0]
    return nearest_row


def sample_of(rows: Rows) -> Array:
    """Some 256 dense rows from all over, on the host."""
    return np.asarray(on_host(rows[:: max(1, rows.shape[0] // 256)]))


def full_columns(rows: Rows) -> Array:
    """Which columns of sparse rows have no missing entry."""
    full: Array = np.diff(rows.tocsc().indptr) == rows.shape[0]
    return full


def mean_row(rows: Rows, weights: Array | None = None) -> Array:
    """Weighted mean of the rows in float64, exact for constant columns."""
    shift, shares = entries_near_mean(rows), KeptRows(rows, weights).shares
    if issparse(rows):
        offset = np.asarray(shares @ shifted_sparse(rows, shift.astype(np.float64))).ravel()
    else:
        place, _ = place_and_values(rows)
        offset = np.zeros(rows.shape[1])
        for cut, block in zip(row_blocks(rows), shifted_blocks(rows, shift), strict=True):
            part = place.send(shares[cut], place.precise) @ place.cast(block, place.precise)
            offset += place.to_host(place.in_double(part))
    mean: Array = shift.astype(np.float64) + offset
    return mean


def shifted_sparse(rows: Rows, shift: Array, unit: float = 1.0) -> Rows:
    """(rows - shift) / unit in float64, for a shift of columns without a missing entry: still sparse."""
    shifted = rows.tocsr().astype(np.float64)
    shifted.data = (shifted.data - shift[shifted.indices]) / unit
    return shifted
