"""Files that grow batch by batch, and are there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from modae.files import atomic_write
from modae.inputs.arrow_files import arrow

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
    with atomic_write(path) as file:

        def write(beside: Mapping[str, Any], answers: np.ndarray) -> None:
            columns = answers.reshape(len(answers), -1).T
            values = [beside[name] for name in kept] + list(columns)
            table = pyarrow.table([pyarrow.array(each) for each in values], names=[*kept, *names])
            if not writers:
                writers.append(parquet.ParquetWriter(file, table.schema))
            writers[0].write_table(table.cast(writers[0].schema))

        try:
            yield write
        finally:
            for writer in writers:
                writer.close()


WRITERS = {".npy": npy_writer, ".parquet": parquet_writer}
"""How the name of a file ends -> who writes it."""
