"""Files that grow batch by batch, and are there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from modae.sources.arrow_files import arrow
from modae.utils.atomic import atomic_write

Write = Callable[[Mapping[str, Any], np.ndarray], None]
"""(kept columns, answers for a batch): appends them."""

HEADER_BYTES = 192
"""Room for the header of a .npy file, whatever the number of rows will be."""


@contextmanager
def npy_writer(path: Path, names: Sequence[str], kept: Sequence[str]) -> Iterator[Write]:
    """A .npy file: the number of rows goes into its header when all are written."""
    if kept:
        raise ValueError(f"keep={list(kept)} needs a file with columns: write to a .parquet file.")
    with atomic_write(path) as file:
        shapes: list[tuple[int, ...]] = []
        dtypes: list[np.dtype[Any]] = []

        def write(beside: Mapping[str, Any], answers: np.ndarray) -> None:
            if not shapes:
                _check_storable(answers, path)
                file.write(bytes(HEADER_BYTES))
                dtypes.append(answers.dtype)
            _check_same_type(answers, dtypes[0], path)
            shapes.append(answers.shape)
            file.write(np.ascontiguousarray(answers, dtype=dtypes[0]).data)

        yield write
        _write_header(file, dtypes[0], (sum(shape[0] for shape in shapes), *shapes[0][1:]))


def _check_storable(answers: np.ndarray, path: Path) -> None:
    if answers.dtype.hasobject:
        raise ValueError(
            f"{path} cannot hold answers of type {answers.dtype}, only numbers and words: write to a "
            ".parquet file."
        )


def _check_same_type(answers: np.ndarray, first: np.dtype[Any], path: Path) -> None:
    """A file has one type, that of the first answers, and no digits or letters may be cut off."""
    if not np.can_cast(answers.dtype, first, "safe"):
        raise ValueError(
            f"{path}: answers are of type {answers.dtype} after some of type {first}, which cannot hold "
            "them: give all rows in one precision."
        )


def _write_header(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Version 1.0 of the format: magic, length, a dict in words that ends in a newline."""
    words = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    start = np.lib.format.magic(1, 0) + (HEADER_BYTES - 10).to_bytes(2, "little")
    file.seek(0)
    file.write(start + repr(words).encode("latin1").ljust(HEADER_BYTES - 11) + b"\n")


@contextmanager
def parquet_writer(path: Path, names: Sequence[str], kept: Sequence[str]) -> Iterator[Write]:
    """A Parquet file with one column for each name, after those that are kept; a row group a batch."""
    pyarrow, parquet = arrow(), arrow("pyarrow.parquet")
    writers: list[Any] = []
    dtypes: list[np.dtype[Any]] = []
    with atomic_write(path) as file:

        def write(beside: Mapping[str, Any], answers: np.ndarray) -> None:
            if not writers:
                dtypes.append(answers.dtype)
            if answers.dtype.kind != "O":
                _check_same_type(answers, dtypes[0], path)
            columns = answers.reshape(len(answers), -1).T
            values = [beside[name] for name in kept] + list(columns)
            table = pyarrow.table([pyarrow.array(each) for each in values], names=[*kept, *names])
            if not writers:
                writers.append(parquet.ParquetWriter(file, table.schema))
            writers[0].write_table(_cast(table, writers[0].schema))

        try:
            yield write
        finally:
            for writer in writers:
                writer.close()


def _cast(table: Any, schema: Any) -> Any:
    """A file has one type for each column: that of the first rows."""
    try:
        return table.cast(schema)
    except (arrow().lib.ArrowException, ValueError, TypeError):
        for column, (there, first) in enumerate(zip(table.schema, schema, strict=True)):
            _check_cast(table.column(column), there, first)
        raise


def _check_cast(values: Any, there: Any, first: Any) -> None:
    try:
        values.cast(first.type)
    except (arrow().lib.ArrowException, ValueError, TypeError) as reason:
        raise ValueError(
            f"keep: column {first.name!r} has values of type {there.type} that {first.type}, the type "
            "of its first rows, cannot hold: give it one type in all rows."
        ) from reason


WRITERS = {".npy": npy_writer, ".parquet": parquet_writer}
"""How the name of a file ends -> who writes it."""
