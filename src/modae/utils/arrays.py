"""The array types of the core, and the three ways to lay a stack of matrices out."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]
"""A real NumPy array; shapes are in the docstrings, in the letters of the notation table."""

Indices: TypeAlias = NDArray[np.intp]

Precision: TypeAlias = np.dtype[np.floating[Any]]

FLOAT64: Precision = np.dtype(np.float64)


def swap(matrices: Array) -> Array:
    """Transpose every matrix of a stack."""
    return matrices.swapaxes(-1, -2)


def side_by_side(matrices: Array) -> Array:
    """Lay a stack (M, K, H) out as one matrix (K, M*H): module after module."""
    modules, rows, columns = matrices.shape
    return matrices.transpose(1, 0, 2).reshape(rows, modules * columns)


def apart(matrix: Array, n_modules: int) -> Array:
    """Undo :func:`side_by_side`: (K, M*H) back to a contiguous stack (M, K, H)."""
    stack = matrix.reshape(len(matrix), n_modules, -1).transpose(1, 0, 2)
    return np.ascontiguousarray(stack)
