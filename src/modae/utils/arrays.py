"""The types of arrays."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A real NumPy array; shapes are in the docstrings, in the letters of the notation table.
Array: TypeAlias = NDArray[np.floating[Any]]

Indices: TypeAlias = NDArray[np.intp]

Precision: TypeAlias = np.dtype[np.floating[Any]]

FLOAT64: Precision = np.dtype(np.float64)
