r"""Products with centred rows, dense or sparse, without ever forming the centred matrix.

Dense rows are shifted block by block in one buffer. For sparse rows the mean is a rank-one correction:
:math:`(X-\mathbf 1\mu^T)B=XB-\mathbf 1(\mu^TB)`, so they stay sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from modae.core.arrays import Array

Rows: TypeAlias = Any
"""A matrix of rows (n, D): a NumPy array, or a scipy sparse matrix or array in CSR or CSC form."""

BLOCK_BYTES = 1 << 26
"""Dense rows are shifted and multiplied in blocks of about this size."""


def row_blocks(rows: Array) -> Iterator[slice]:
    """Slices that cut dense rows into blocks."""
    height = block_height(rows)
    for start in range(0, rows.shape[0], height):
        yield slice(start, min(start + height, rows.shape[0]))


def block_height(rows: Array) -> int:
    """Rows in a block."""
    return max(1, BLOCK_BYTES // int(rows.itemsize * rows.shape[1]))


def shifted_blocks(rows: Array, shift: Array) -> Iterator[Array]:
    """Blocks of ``rows - shift``: in one reused buffer, or the rows themselves for a zero shift."""
    if not shift.any():
        yield from (rows[cut] for cut in row_blocks(rows))
        return
    buffer = np.empty((min(len(rows), block_height(rows)), rows.shape[1]), rows.dtype)
    for cut in row_blocks(rows):
        block = rows[cut]
        yield np.subtract(block, shift, out=buffer[: len(block)])


def weighted_blocks(rows: Array, shift: Array, weights: Array) -> Iterator[tuple[Array, Array]]:
    """Blocks of ``roots * (rows - shift)`` for the rows of positive weight, with the roots."""
    present = np.flatnonzero(weights)
    roots = np.sqrt(weights[present])
    height = min(len(present), block_height(rows))
    buffer = np.empty((height, rows.shape[1]), rows.dtype)
    for start in range(0, len(present), height):
        chosen = present[start : start + height]
        part = roots[start : start + height]
        block = np.take(rows, chosen, axis=0, out=buffer[: len(chosen)], mode="clip")
        if shift.any():
            block -= shift
        block *= part.astype(rows.dtype)[:, None]
        yield block, part


def centred_product(rows: Rows, mean: Array, matrix: Array) -> Array:
    """(rows - mean) @ matrix, in the precision of the rows."""
    matrix = matrix.astype(rows.dtype, copy=False)
    mean = mean.astype(rows.dtype, copy=False)
    if issparse(rows):
        product: Array = np.asarray(rows @ matrix)
        product -= mean @ matrix
        return product
    product = np.empty((rows.shape[0], matrix.shape[1]), rows.dtype)
    for cut, block in zip(row_blocks(rows), shifted_blocks(rows, mean), strict=True):
        product[cut] = block @ matrix
    return product


def centred_adjoint(rows: Rows, mean: Array, matrix: Array) -> Array:
    """(rows - mean)^T @ matrix in float64, for a matrix with one row for each of the rows."""
    if issparse(rows):
        adjoint: Array = np.asarray(rows.T @ matrix) - np.outer(mean, matrix.sum(axis=0))
        return adjoint
    total = np.zeros((rows.shape[1], matrix.shape[1]))
    for cut, block in zip(row_blocks(rows), shifted_blocks(rows, mean), strict=True):
        total += block.T @ matrix[cut]
    return total


def centred_squares(rows: Rows, mean: Array) -> Array:
    """Squared length of each centred row, in the precision of the rows."""
    mean = mean.astype(rows.dtype, copy=False)
    if issparse(rows):
        own = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        lengths: Array = np.maximum(own - 2.0 * (rows @ mean) + mean @ mean, 0.0)
        return lengths.astype(rows.dtype, copy=False)
    squares = [np.einsum("nd,nd->n", block, block) for block in shifted_blocks(rows, mean)]
    return np.concatenate(squares)


def column_sums(block: Array) -> Array:
    """Column sums in float64. BLAS is twice as fast, but adds in the precision of the block."""
    if block.dtype == np.float64:
        total: Array = np.ones(len(block)) @ block
    else:
        total = block.sum(axis=0, dtype=np.float64)
    return total


def centred_gram(rows: Rows, mean: Array) -> Array:
    """(rows - mean)(rows - mean)^T in float64, (n, n)."""
    if issparse(rows):
        rows = rows.astype(np.float64)
        inner = np.asarray(rows @ mean)
        gram: Array = (rows @ rows.T).toarray() - inner[:, None] - inner + mean @ mean
    else:
        centred = rows - mean
        gram = centred @ centred.T
    return gram


def mean_row(rows: Rows, weights: Array | None = None) -> Array:
    """Weighted mean of the rows in float64, exact to round-off for constant columns too."""
    weights = np.ones(rows.shape[0]) if weights is None else weights
    weight = weights.sum()
    if issparse(rows):
        mean: Array = np.asarray(weights @ rows.astype(np.float64)).ravel() / weight
        return mean
    mean = weights @ np.asarray(rows, np.float64) / weight
    mean += weights @ (rows - mean) / weight
    return mean
