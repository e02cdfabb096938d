"""What batches need of a table in memory, whoever made it.

A table here is a matrix (NumPy or scipy.sparse) or a frame: a DataFrame of pandas or polars, or a Table
or RecordBatch of pyarrow, seen through narwhals. No other library is imported: a frame brings its own.
"""

import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from modae.data.rows import Rows, refuse_masked


def is_frame(thing: Any) -> bool:
    """Whether it is a table of pandas, polars or pyarrow in memory; a lazy one is refused."""
    if isinstance(thing, nw.DataFrame):
        return True
    if nw.dependencies.is_polars_lazyframe(thing):
        raise TypeError("a polars LazyFrame has no rows yet: pass what its method .collect() returns.")
    return bool(nw.dependencies.is_into_dataframe(thing) or type(thing).__name__ == "RecordBatch")


def as_table(batch: Any) -> Any:
    """A matrix as it is, and anything with columns as a frame of narwhals."""
    if is_frame(batch):
        if type(batch).__name__ == "RecordBatch":
            batch = sys.modules["pyarrow"].Table.from_batches([batch])
        is_arrow = hasattr(type(batch), "column_names")
        refuse_duplicates(list(batch.column_names if is_arrow else batch.columns))
        return nw.from_native(batch, eager_only=True)
    got = f"got {type(batch).__name__}"
    if isinstance(batch, (str, bytes, PathLike, Mapping)):
        remedy = "files go into one folder, or into a function that opens one after the other"
        raise TypeError(f"a batch must be an array, a sparse matrix or a table, {got}: {remedy}.")
    matrix = batch if sparse.issparse(batch) or isinstance(batch, np.ndarray) else np.asarray(batch)
    if matrix.ndim != 2:
        rule = "a source is a sequence of batches, each with rows and columns"
        raise ValueError(f"a batch must be a matrix or a table, {got} of shape {matrix.shape}: {rule}.")
    return matrix


def refuse_duplicates(names: Sequence[Any]) -> None:
    """Columns are found by name: no two may have the same."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"column {twice!r} is there more than once: rename one of them.")


def names_of(table: Any) -> tuple[str, ...] | None:
    """Names of the columns; None if there are none, or if they are numbers."""
    if not isinstance(table, nw.DataFrame):
        return None
    return tuple(table.columns) if all(isinstance(name, str) for name in table.columns) else None


def labels_of(table: Any) -> list[Any] | None:
    """Labels of columns that are no names, such as numbers; None if they only count the columns."""
    if not isinstance(table, nw.DataFrame) or names_of(table) is not None:
        return None
    labels: list[Any] = list(table.columns)
    return None if labels == list(range(len(labels))) else labels


def column_of(frame: Any, name: str, *, kept: bool = False, as_strings: bool = False) -> Any:
    """The values of one column as a NumPy array; those of pyarrow stay there, so that integers stay
    exact beside missing values. One that is ``kept`` goes there: gaps and time zones stay as they are.
    """
    if not (kept or as_strings or frame.implementation.is_pyarrow()):
        return frame[name].to_native().to_numpy()
    try:
        values = frame[name].to_arrow()
        return values.cast("string") if as_strings else values
    except (ValueError, TypeError, NotImplementedError) as reason:  # that is what errors of pyarrow are
        what = "read as strings" if as_strings else "kept"
        raise ValueError(f"column {name!r} cannot be {what}, convert it: {reason}") from reason


def as_numpy(values: Any) -> np.ndarray:
    """Values of a column as a NumPy array: decimals as floats, integers beside gaps as objects."""
    if isinstance(values, np.ndarray):
        return values
    is_a = sys.modules["pyarrow"].types
    if values.null_count and is_a.is_integer(values.type):
        return np.array(values.to_pylist(), dtype=object)
    values = values.cast("float64") if is_a.is_decimal(values.type) else values
    return np.asarray(values.to_numpy(zero_copy_only=False))


def copied(values: Any) -> Any:
    """Values in memory of their own. Arrays of pyarrow may be a view of memory that is used again."""
    if values is None or hasattr(values, "copy"):
        return None if values is None else values.copy()
    return sys.modules["pyarrow"].concat_arrays([values])


def missing_in(values: Any) -> np.ndarray:
    """Which values of a column are missing: None, NaN, NaT or NA."""
    if not isinstance(values, np.ndarray):
        return np.asarray(values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
    if values.dtype.kind != "O":
        return np.asarray(values != values)  # NaN and NaT
    absent = ("NoneType", "NAType", "NaTType")
    return np.array([type(v).__name__ in absent or bool(v != v) for v in values], dtype=bool)


def joined(parts: Sequence[Any], what: str = "the matrix") -> Any:
    """Several matrices, frames or columns, one after the other; nothing if there are none."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    if hasattr(parts[0], "columns"):
        return nw.maybe_reset_index(nw.concat([nw.from_native(part) for part in parts])).to_native()
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    pyarrow = sys.modules["pyarrow"]
    tables = [pyarrow.table([pyarrow.array(part)], names=["values"]) for part in parts]
    try:  # files may differ in the width of their numbers: the wider type holds both
        whole = pyarrow.concat_tables(tables, promote_options="permissive")
    except pyarrow.lib.ArrowException:
        kinds = " and ".join(dict.fromkeys(str(table.schema.types[0]) for table in tables))
        raise ValueError(f"{what} has values of types {kinds}: convert them to one type.") from None
    return whole.column(0).combine_chunks()


def matrix_of(table: Any, names: Sequence[str] | None) -> Rows:
    """The named columns as a matrix of float32 or float64 in that order; a matrix as it is."""
    if names is None:
        return _as_floats(table.to_numpy() if isinstance(table, nw.DataFrame) else table)
    nothing = np.empty((table.shape[0], 0), np.float32)  # float32 stays float32, if all columns are
    return np.column_stack([nothing, *(_feature(table[name]) for name in names)])


def _feature(column: Any) -> np.ndarray:
    """A column of numbers, with NaN where a value is missing."""
    if column.dtype.is_float():
        return np.asarray(column.to_numpy())
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.cast(nw.Float64()).to_numpy())
    if not column.dtype.is_temporal():
        values = np.asarray(column.to_numpy())
        if values.dtype.kind in "biuf":
            return values
    raise _wrong_type(f"column {column.name!r}", column.dtype, column.dtype.is_temporal())


def _as_floats(matrix: Any) -> Rows:
    """A matrix as scikit-learn would read it: float32 stays, all other numbers become float64."""
    refuse_masked("the matrix", matrix)
    if matrix.dtype.kind not in "biuf":
        raise _wrong_type("the matrix", matrix.dtype, matrix.dtype.kind in "mM")
    dtype = np.dtype(np.float32 if matrix.dtype == np.float32 else np.float64)
    if not sparse.issparse(matrix):
        return np.ascontiguousarray(matrix, dtype=dtype)
    rows = matrix.tocsr().astype(dtype, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _wrong_type(what: str, dtype: Any, is_date: bool) -> ValueError:
    has = f"dates or times (type {dtype})" if is_date else f"type {dtype}"
    remedy = ": leave it out, or turn it into numbers first, such as the days since a date"
    if not is_date:
        remedy = ". Name the features with columns=[...], or encode categories as numbers and fill "
        remedy += "missing values first"
    return ValueError(f"{what} has {has}, and features must be numbers{remedy}.")


def labelled(rows: Rows, names: Sequence[str] | None, like: Any) -> Any:
    """Rows as a frame of the same library as another, with names; a matrix if they have none."""
    if names is None or not isinstance(like, nw.DataFrame):
        return rows
    return nw.from_numpy(rows, schema=list(names), backend=like.implementation).to_native()
