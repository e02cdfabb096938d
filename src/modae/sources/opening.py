"""Which kind of source a thing is: paths by their ending, objects by their type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from modae.sources.arrow_files import dataset_source, ipc_source, parquet_source
from modae.sources.csv_files import COMPRESSIONS, csv_source
from modae.sources.frames import is_frame
from modae.sources.source import (
    Chunk,
    ColumnSelection,
    Source,
    callable_source,
    once_source,
    sequence_source,
    table_source,
)

ENDINGS = (".npy", ".parquet", ".arrow", ".feather", ".csv", ".tsv")
"""Of files that can be read; capital letters are as good."""

NOTES = ("", ".md", ".rst", ".txt", ".html", ".pdf", ".json", ".yaml", ".yml", ".toml", ".log")
"""Of files in a folder that are about the data, and passed over."""


def source_of(thing: Any) -> Source:
    """A source of any kind that :func:`modae.open_batches` knows."""
    if isinstance(thing, Source):
        return thing
    if isinstance(thing, (str, PathLike)):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", str(thing)):
            raise ValueError(
                f"source {str(thing)!r} is a URL, and only local paths are read: pass a "
                "pyarrow.dataset.Dataset of it, or load it first."
            )
        return path_source(Path(fspath(thing)).expanduser())
    if isinstance(thing, np.ndarray) or sparse.issparse(thing) or is_frame(thing):
        return table_source(thing)
    if type(thing).__module__.partition(".")[0] == "pyarrow":
        return dataset_source(thing)
    if isinstance(thing, (list, tuple)):
        return sequence_source(thing)
    if callable(thing):
        return callable_source(thing)
    if isinstance(thing, Iterable) and not isinstance(thing, (bytes, bytearray, Mapping)):
        return once_source(thing)
    raise TypeError(
        "source must be a path, an array, a table, a sequence of batches or a function that returns "
        f"one, got {type(thing).__name__}."
    )


def ending_of(path: Path) -> str:
    """How the name ends, in small letters; that of what was compressed, if it was."""
    ending = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if ending in COMPRESSIONS and inner in (".csv", ".tsv") else ending


def path_source(path: Path, origin: str | None = None, *, header: bool = True) -> Source:
    """A file, or a folder of files of one kind; ``origin`` is what messages call it."""
    if path.is_dir():
        return folder_source(path)
    if not path.exists():
        raise FileNotFoundError(f"source {path} does not exist.")
    origin, ending = origin or str(path), ending_of(path)
    if ending not in ENDINGS:
        raise ValueError(
            f"source {path} must end in {', '.join(ENDINGS)}, or be a folder of such files."
        )
    if ending == ".npy":
        try:
            return table_source(npy_rows(path), "npy", origin)
        except ValueError as reason:
            raise ValueError(str(reason) if origin in str(reason) else f"{origin}: {reason}") from None
    try:
        str(path).encode()
    except UnicodeEncodeError:  # pyarrow takes names in UTF-8 only
        raise ValueError(f"{origin!r}: the name of the file is not UTF-8: rename it.") from None
    if ending in (".csv", ".tsv"):
        return csv_source(path, origin, header=header)
    return parquet_source(path, origin) if ending == ".parquet" else ipc_source(path, origin)


def npy_rows(path: Path) -> np.ndarray:
    """A file of NumPy, mapped into memory: nothing is read until it is used."""
    try:
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as reason:
        raise ValueError(f"{path} cannot be read as .npy: {reason}") from reason


def npz_arrays(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The one matrix of a .npz file, and the 1-d arrays beside it; or a sparse matrix of scipy."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if {"indices", "indptr", "shape"} <= set(archive.files):
                return sparse.load_npz(path).tocsr(), {}
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, BadZipFile, KeyError) as reason:
        raise ValueError(f"{path} cannot be read as .npz: {reason}") from reason
    matrices = [array for array in arrays.values() if array.ndim == 2]
    if len(matrices) != 1:
        held = ", ".join(map(repr, arrays)) or "nothing"
        raise ValueError(f"{path} must hold one matrix (and 1-d labels), got {held}.")
    return matrices[0], {name: array for name, array in arrays.items() if array.ndim == 1}


def folder_source(folder: Path) -> Source:
    """All files of a folder as one source, in the order of the numbers in their names.

    Names that begin with a dot or an underscore and notes (a README, say) are passed over. Whatever else
    there is might be data, and is refused, not left out.
    """
    visible = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    found = [path for path in visible if path.suffix.lower() not in NOTES or path.is_dir()]
    kinds = sorted({path.suffix.lower() for path in found if path.is_file()} & set(ENDINGS))
    if len(kinds) != 1:
        many = f"files of several kinds ({', '.join(kinds)})" if kinds else "no files that can be read"
        raise ValueError(
            f"source {folder} must have files of one kind, {', '.join(ENDINGS)}; it has {many}."
        )
    strange = [path for path in found if path.is_dir() or path.suffix.lower() != kinds[0]]
    if strange:
        what = "sub-folder" if strange[0].is_dir() else "file"
        raise ValueError(
            f"source {folder} must have {kinds[0]} files only, and the {what} {strange[0].name} would "
            "be left out: move it away, or open pyarrow.dataset.dataset(...)."
        )
    return chained(folder, [path_source(path) for path in sorted(found, key=natural)])


def natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sort key: part-2 comes before part-10; the name itself decides between part-1 and part-01."""
    parts = re.split(r"([0-9]+)", path.stem)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts], path.name


def chained(folder: Path, files: Sequence[Source]) -> Source:
    """Files one after the other; those before the row that is wanted stay closed if that is known."""

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        before = 0
        for file in files:
            if file.n_rows is not None and before + file.n_rows <= start:
                before += file.n_rows
                continue
            length = 0
            for chunk in file.read(max(0, start - before), columns, size):
                length = chunk.first + chunk.table.shape[0]
                yield chunk._replace(start=before + chunk.first)
            before += length

    lengths = [file.n_rows for file in files]
    known = None if None in lengths else sum(length for length in lengths if length is not None)
    first = next((file for file in files if file.sample.shape[0]), files[0])
    return Source(f"folder of {first.kind}", str(folder), read, first.sample, known, tuple(files))
