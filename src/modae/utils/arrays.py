"""The types of arrays, and their way into JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A real NumPy array; shapes are in the docstrings, in the letters of the notation table.
Array: TypeAlias = NDArray[np.floating[Any]]

Indices: TypeAlias = NDArray[np.intp]

Precision: TypeAlias = np.dtype[np.floating[Any]]

FLOAT64: Precision = np.dtype(np.float64)


def as_json(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Dicts, lists, tuples and arrays as JSON has them; ``leaf`` says what becomes of all else.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.utils.arrays import as_json
    >>> as_json({"a": (1, np.float64(0.5)), "b": np.eye(2, dtype=int)}, str)
    {'a': ['1', '0.5'], 'b': [['1', '0'], ['0', '1']]}
    """
    if isinstance(value, dict):
        return {str(name): as_json(each, leaf) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [as_json(each, leaf) for each in value]
    return leaf(value.item() if isinstance(value, np.generic) else value)
