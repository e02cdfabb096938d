"""Where results go: checked before the work begins, whole or absent when it ends."""

from __future__ import annotations

import csv
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from modae.cli.errors import Mistake
from modae.utils.atomic import LITTER_PREFIX, atomic_write

TABLES = (".csv", ".parquet", ".npy")
MODELS = (".modae",)

Write = Callable[[dict[str, Any]], None]
"""Takes the next rows: arrays (or Arrow columns) by the names of the columns."""


def check_output(typed: str, endings: tuple[str, ...], inputs: tuple[str, ...]) -> None:
    """Refuse before hours of work what would fail after them."""
    if typed == "-" and ".csv" in endings:
        return
    path = Path(typed)
    if path.suffix.lower() not in endings:
        raise Mistake(f"-o {typed}: the name must end in {' or '.join(endings)}.")
    if not path.parent.is_dir():
        raise Mistake(f"-o {typed}: there is no folder {str(path.parent)!r}: make it first.")
    if path.exists() and not path.is_file():
        raise Mistake(f"-o {typed}: it exists and is not a file: choose another name.")
    if any(path.exists() and Path(given).exists() and path.samefile(given) for given in inputs):
        raise Mistake(f"-o {typed}: this is the input: choose another name.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))


@contextmanager
def named_in_errors(typed: str) -> Iterator[None]:
    """A full disk has no name of its own, and a temporary file has one that says nothing."""
    try:
        yield
    except OSError as error:
        if error.filename is None or LITTER_PREFIX in str(error.filename):
            error.filename = typed
        raise


@contextmanager
def open_output(typed: str) -> Iterator[Write]:
    """A function that takes columns batch by batch; the ending of the name says the format."""
    if typed == "-":
        if (
            getattr(sys.stdout, "name", None) == os.devnull
        ):  # what the command puts there if there is none
            raise Mistake("-o -: standard output is closed: give the name of a file.")
        yield _CsvRows(sys.stdout.buffer).write
        sys.stdout.flush()
        return
    formats: dict[str, Any] = {".csv": _CsvRows, ".parquet": _ParquetRows, ".npy": _NpyRows}
    with named_in_errors(typed), atomic_write(typed) as file:
        rows = formats[Path(typed).suffix.lower()](file)
        yield rows.write
        rows.finish()


class _CsvRows:
    """Text: quoted where needed, numbers as short as they can be read back exactly."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.started = file, False

    def write(self, columns: dict[str, Any]) -> None:
        import pyarrow as pa

        if not self.started:
            self.started = True
            line = StringIO()
            csv.writer(line, lineterminator="\n").writerow(columns)
            self.file.write(line.getvalue().encode())
        try:
            self.file.write(_csv_bytes(columns, "none"))
        except pa.ArrowInvalid:  # a comma, a quote or a line break in a word
            self.file.write(_quoted(columns))

    def finish(self) -> None:
        """All is written."""


def _quoted(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    try:
        return _csv_bytes(columns, "needed")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        nested = [name for name, kind in _types(columns) if pa.types.is_nested(kind)]
        if not nested:
            raise
        raise Mistake(
            f"--keep {nested[0]}: a .csv cannot hold its lists or records: use -o NAME.parquet."
        ) from error


def _types(columns: dict[str, Any]) -> list[tuple[str, Any]]:
    import pyarrow as pa

    schema = pa.table(columns).schema
    return list(zip(schema.names, schema.types, strict=True))


def _csv_bytes(columns: dict[str, Any], quoting: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    buffer = pa.BufferOutputStream()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quoting)
    pyarrow.csv.write_csv(pa.table(columns), buffer, options)
    return buffer.getvalue()


class _ParquetRows:
    """Columns with names and types."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.writer = file, cast(Any, None)

    def write(self, columns: dict[str, Any]) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.table(columns)
        if self.writer is None:
            self.writer = pyarrow.parquet.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)

    def finish(self) -> None:
        if self.writer is not None:
            self.writer.close()


class _NpyRows:
    """A matrix. Its number of rows is known at the end: the header has room for it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.n_rows, self.dtype, self.width = file, 0, np.dtype(np.float64), 0

    def write(self, columns: dict[str, Any]) -> None:
        columns = {name: _as_numbers(values) for name, values in columns.items()}
        words = [name for name, values in columns.items() if values.dtype.kind not in "fiub"]
        if words:
            raise Mistake(
                f"-o: .npy holds numbers only, and {words[0]!r} has words: use .csv or .parquet."
            )
        rows = np.stack(list(columns.values()), axis=1)
        if not self.n_rows:
            self.dtype, self.width = rows.dtype, rows.shape[1]
            self._header()
        self.file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        self.n_rows += len(rows)

    def finish(self) -> None:
        self.file.seek(0)
        self._header()

    def _header(self) -> None:
        layout = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.n_rows, self.width)}
        np.lib.format.write_array_header_1_0(self.file, layout)


def _as_numbers(values: Any) -> np.ndarray:
    """An array; text of a CSV that was passed through may be numbers."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array
