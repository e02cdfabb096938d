"""The few things that batches need of a table, whoever made it.

A table is a matrix (NumPy or scipy.sparse), a DataFrame of pandas or polars, or a Table or RecordBatch
of pyarrow. None of these libraries is imported here: a table brings its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from modae.data.rows import Rows
from modae.utils.arrays import Array

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Whose tables have names of columns."""

COPY_ROWS = 1024
"""Columns are copied into a matrix by this many rows, which stay in the cache meanwhile."""


def library_of(table: Any) -> str | None:
    """The library of a table whose columns have names; None for a matrix."""
    package = type(table).__module__.partition(".")[0]
    return package if package in LIBRARIES and len(getattr(table, "shape", ())) == 2 else None


def names_of(table: Any) -> tuple[str, ...] | None:
    """Names of the columns; None if there are none, or if they are numbers."""
    library = library_of(table)
    if library is None:
        return None
    names = tuple(table.schema.names if library == "pyarrow" else table.columns)
    if not all(isinstance(name, str) for name in names):
        return None
    twice = (
        sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    )
    if twice:
        raise ValueError(f"column {twice[0]!r} is there more than once: rename one of them.")
    return names


def labels_of(table: Any) -> tuple[Any, ...] | None:
    """Labels of columns that are no names, such as numbers; None if they only count the columns."""
    if library_of(table) != "pandas" or names_of(table) is not None:
        return None
    labels = tuple(table.columns)
    return None if labels == tuple(range(len(labels))) else labels


def shape_of(table: Any) -> tuple[int, int]:
    """Rows and columns."""
    shape: tuple[int, ...] = getattr(table, "shape", ())
    if len(shape) != 2:
        raise ValueError(
            f"a batch must be a matrix or a table, got {type(table).__name__} of shape {tuple(shape)}: "
            "a source is a sequence of batches, each with rows and columns."
        )
    return int(shape[0]), int(shape[1])


def sliced(table: Any, start: int, stop: int) -> Any:
    """Some rows of a table, as such a table."""
    library = library_of(table)
    if library == "pandas":
        return table.iloc[start:stop]
    if library is not None:
        return table.slice(start, stop - start)
    return table[start:stop]


def column_of(table: Any, name: str) -> Any:
    """The values of one column; those of pyarrow stay in its own arrays, which know more types."""
    library = library_of(table)
    if library == "pyarrow":
        values = table.column(name)
        return values.combine_chunks() if hasattr(values, "combine_chunks") else values
    return table[name].to_numpy()


def as_numpy(values: Any) -> np.ndarray:
    """Values of a column as a NumPy array."""
    if isinstance(values, np.ndarray):
        return values
    return np.asarray(values.to_numpy(zero_copy_only=False))


def copied(values: Any) -> Any:
    """Values in memory of their own. Arrays of pyarrow may be a view of memory that is used again."""
    if values is None or hasattr(values, "copy"):
        return None if values is None else values.copy()
    return sys.modules["pyarrow"].concat_arrays([values])


def first_missing(values: Any) -> int | None:
    """Index of the first value that is missing, if one is."""
    if not isinstance(values, np.ndarray):
        gaps = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    elif values.dtype.kind == "O":
        gaps = np.array([_is_missing(value) for value in values], dtype=bool)
    else:
        gaps = values != values  # NaN and NaT
    return int(np.flatnonzero(gaps)[0]) if gaps.any() else None


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in ("NoneType", "NAType", "NaTType") or bool(value != value)


def joined(parts: Sequence[Any]) -> Any:
    """Several matrices, or several columns, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return _joined_arrow(parts)


def _joined_arrow(parts: Sequence[Any]) -> Any:
    """Files may differ in the width of their numbers: the wider type holds both."""
    pyarrow = sys.modules["pyarrow"]
    arrays = [pyarrow.array(part) for part in parts]
    if len({str(array.type) for array in arrays}) == 1:
        return pyarrow.concat_arrays(arrays)
    tables = [pyarrow.table([array], names=["values"]) for array in arrays]
    try:
        whole = pyarrow.concat_tables(tables, promote_options="permissive")
    except pyarrow.lib.ArrowException:
        kinds = " and ".join(dict.fromkeys(str(array.type) for array in arrays))
        raise ValueError(f"has values of types {kinds}: convert them to one type.") from None
    return whole.column(0).combine_chunks()


def matrix_of(table: Any, names: Sequence[str] | None) -> Rows:
    """The named columns as a matrix of float32 or float64 in that order; a matrix as it is."""
    if names is not None:
        return _matrix_of_columns(table, names)
    if library_of(table) is not None:
        table = table.to_numpy()
    return _as_floats(table)


def _as_floats(matrix: Any) -> Rows:
    """A matrix as scikit-learn would read it: float32 stays, all other numbers become float64."""
    if np.ma.is_masked(matrix):
        raise ValueError("masked entries would be read as numbers: fill or impute them.")
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    dtype = _float_type(matrix.dtype, "the matrix")
    if not sparse.issparse(matrix):
        return np.ascontiguousarray(matrix, dtype=dtype)
    rows = matrix.tocsr().astype(dtype, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _matrix_of_columns(table: Any, names: Sequence[str]) -> Array:
    columns = [_feature(table, name) for name in names]
    types = {
        _float_type(each.dtype, f"column {name!r}") for name, each in zip(names, columns, strict=True)
    }
    dtype = np.float32 if types == {np.dtype(np.float32)} else np.float64
    matrix: Array = np.empty((table.shape[0], len(columns)), dtype)
    for start in range(0, len(matrix), COPY_ROWS):
        block = matrix[start : start + COPY_ROWS]
        for place, column in enumerate(columns):
            block[:, place] = column[start : start + COPY_ROWS]
    return matrix


def _feature(table: Any, name: str) -> np.ndarray:
    values = column_of(table, name)
    first = values[0] if isinstance(values, np.ndarray) and len(values) else None
    if "decimal" in f"{getattr(values, 'type', '')} {type(first).__name__}".lower():
        raise ValueError(
            f"column {name!r} has decimal numbers, and features must be floats: cast it to "
            "float64 first."
        )
    return as_numpy(values)


def _float_type(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    if dtype.kind not in "biuf":
        raise ValueError(
            f"{what} has type {dtype}, and features must be numbers, all of them there. Name the "
            "features with columns=[...], or encode words and fill gaps first."
        )
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def labelled(rows: Rows, names: Sequence[str] | None, library: str | None) -> Any:
    """Rows as a table of a library, with the names of the columns; a matrix if they have none."""
    if names is None or library is None:
        return rows
    module = sys.modules[library]
    if library == "pandas":
        return module.DataFrame(rows, columns=list(names))
    if library == "polars":
        return module.DataFrame(rows, schema=list(names))
    columns = np.ascontiguousarray(rows.T)  # which pyarrow then takes without a copy
    return module.table([module.array(column) for column in columns], names=list(names))
