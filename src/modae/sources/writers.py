"""Tables that grow batch by batch: .npy, .parquet and .csv files, there whole or not at all."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from modae.sources.cells import arrow
from modae.utils.atomic import atomic_write

# Appends the rows of a batch: columns by their names, NumPy arrays or those of pyarrow. A .npy file
# takes an array as it is too.
Write = Callable[[Any], None]


@contextmanager
def open_writer(path: Path) -> Iterator[Write]:
    """A function that appends rows; the file appears when the block ends without an error."""
    with atomic_write(path) as file, WRITERS[path.suffix.lower()](file, str(path)) as write:
        yield write


@contextmanager
def npy_writer(file: IO[bytes], name: str) -> Iterator[Write]:
    """One array: the number of rows goes into its header, which has room for it, at the end."""
    header: dict[str, Any] = {}
    n_rows = 0

    def write(columns: Any) -> None:
        nonlocal n_rows
        rows = columns if isinstance(columns, np.ndarray) else _side_by_side(columns, name)
        if not header:
            if rows.dtype.hasobject:
                what = f"{name} cannot hold answers of type {rows.dtype}, only numbers and strings"
                raise ValueError(f"{what}: write to a .parquet file.")
            header.update(np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(rows[:0])))
            np.lib.format.write_array_header_1_0(file, header)
        dtype = np.dtype(header["descr"])
        _check_same_type(rows.dtype, dtype, name)
        file.write(np.ascontiguousarray(rows, dtype=dtype).data)
        n_rows += len(rows)

    yield write
    if header:
        file.seek(0)
        header["shape"] = (n_rows, *header["shape"][1:])
        np.lib.format.write_array_header_1_0(file, header)


def _side_by_side(columns: Mapping[str, Any], path: str) -> np.ndarray:
    """Columns of numbers as a matrix; text of a CSV that was passed through may be numbers."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    for name, array in arrays.items():
        with suppress(TypeError, ValueError):
            arrays[name] = array.astype(np.float64) if array.dtype.kind == "O" else array
        if arrays[name].dtype.kind not in "fiub":
            raise ValueError(f"{path} holds numbers only, {name!r} has strings: write .csv or .parquet.")
    return np.stack(list(arrays.values()), axis=1)


def _check_same_type(dtype: np.dtype[Any], first: np.dtype[Any], path: str) -> None:
    """A file has one type, that of the first answers, and no digits or letters may be cut off."""
    if not np.can_cast(dtype, first, "safe"):
        what = f"answers are of type {dtype} after some of type {first}, which cannot hold them"
        raise ValueError(f"{path}: {what}: give all rows in one precision.")


#: Bytes of rows that are written together to a Parquet file: what it keeps of each such group until the
#: end, about 2 kB a column, is then little beside it.
GROUP_BYTES = 1 << 26


@contextmanager
def parquet_writer(file: IO[bytes], name: str) -> Iterator[Write]:
    """Groups of rows; the types of the columns are those of the first batch.

    Only columns that may repeat their values get a dictionary: for floats it doubles the time and makes
    files larger.
    """
    pyarrow, parquet = arrow(), arrow("pyarrow.parquet")
    writer: Any = None
    dtypes: dict[str, np.dtype[Any]] = {}
    group: list[Any] = []

    def write(columns: Any) -> None:
        nonlocal writer
        for column, values in columns.items():
            if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
                _check_same_type(values.dtype, dtypes.setdefault(column, values.dtype), name)
        table = pyarrow.table({column: pyarrow.array(values) for column, values in columns.items()})
        if writer is None:
            repeat = [each.name for each in table.schema if not pyarrow.types.is_floating(each.type)]
            writer = parquet.ParquetWriter(file, table.schema, use_dictionary=repeat)
        cast = []
        for first in writer.schema:
            try:
                cast.append(table.column(first.name).cast(first.type))
            except (pyarrow.lib.ArrowException, ValueError, TypeError) as reason:
                here = f"column {first.name!r} has values of type {table.column(first.name).type}"
                why = f"that {first.type}, the type of its first rows, cannot hold"
                raise ValueError(f"keep: {here} {why}: give it one type in all rows.") from reason
        group.append(pyarrow.table(cast, schema=writer.schema))
        if sum(each.nbytes for each in group) >= GROUP_BYTES:
            write_group()

    def write_group() -> None:
        if group:
            writer.write_table(pyarrow.concat_tables(group))
            group.clear()

    try:
        yield write
        write_group()
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def csv_writer(file: Any, name: str) -> Iterator[Write]:
    """Text: quoted where needed, numbers as short as they can be read back exactly."""
    pyarrow, writer = arrow(), arrow("pyarrow.csv")
    started = False

    def append(table: Any, quoting: str = "none") -> None:
        buffer, plain = pyarrow.BufferOutputStream(), {"include_header": False, "quoting_style": quoting}
        try:
            writer.write_csv(table, buffer, writer.WriteOptions(**plain))
        except pyarrow.ArrowInvalid:  # a comma, a quote or a line break in a string
            if quoting == "needed":
                raise
            append(table, "needed")
        else:
            file.write(buffer.getvalue())

    def write(columns: Any) -> None:
        nonlocal started
        columns = {  # True and False as Python and pandas write them
            name: values.astype(str) if getattr(values, "dtype", None) == np.bool_ else values
            for name, values in columns.items()
        }
        table = pyarrow.table(columns)
        nested = [field.name for field in table.schema if pyarrow.types.is_nested(field.type)]
        if nested:
            what = f"column {nested[0]!r} has lists or records, which a .csv file cannot hold"
            raise ValueError(f"{what}: write to a .parquet file.")
        if not started:
            started = True
            append(pyarrow.table([[name] for name in columns], names=list(columns)))
        append(table)

    yield write


# How the name of a file ends -> who writes it.
WRITERS = {".npy": npy_writer, ".parquet": parquet_writer, ".csv": csv_writer}
