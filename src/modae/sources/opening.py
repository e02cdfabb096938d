"""Which kind of source a thing is: paths by their ending, objects by their type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from modae.sources.arrow_files import FILES, arrow_source
from modae.sources.sources import (
    Piece,
    Source,
    Wanted,
    callable_source,
    once_source,
    sequence_source,
    table_source,
)
from modae.sources.tables import library_of, shape_of

ENDINGS = (".npy", *FILES)
"""Of files that can be read."""


NOTES = ("", ".md", ".rst", ".txt", ".html", ".pdf", ".json", ".yaml", ".yml", ".toml", ".log")
"""Of files in a folder that are about the data, and passed over."""


def source_of(thing: Any) -> Source:
    """A source of any kind that :func:`modae.open_batches` knows."""
    if isinstance(thing, (str, PathLike)):
        _check_local(str(thing))
        return path_source(Path(fspath(thing)).expanduser())
    if isinstance(thing, np.ndarray) or sparse.issparse(thing) or library_of(thing) is not None:
        return table_source(thing)
    if type(thing).__module__.partition(".")[0] == "pyarrow":
        return arrow_source(thing)
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


def _check_local(words: str) -> None:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", words):
        raise ValueError(
            f"source {words!r} is a URL, and only local paths are read: pass a pyarrow.dataset.Dataset "
            "of it, or load it first."
        )


def path_source(path: Path) -> Source:
    """A file, or a folder of files of one kind."""
    if path.is_dir():
        return folder_source(path)
    if not path.exists():
        raise FileNotFoundError(f"source {path} does not exist.")
    ending = path.suffix.lower()
    if ending == ".npy":
        return npy_source(path)
    if ending in FILES:
        return FILES[ending](path)
    raise ValueError(
        f"source {path} must end in .npy, {', '.join(FILES)}, or be a folder of such files."
    )


def npy_source(path: Path) -> Source:
    """A file of NumPy, mapped into memory: nothing is read until it is used."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as reason:
        raise ValueError(f"{path} cannot be read as .npy: {reason}") from reason
    try:
        return table_source(array, "npy", str(path))
    except ValueError as reason:
        raise ValueError(f"{path}: {reason}") from None


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
    words = re.split(r"([0-9]+)", path.stem)
    return [(int(word), "") if word.isdecimal() else (0, word) for word in words], path.name


def chained(folder: Path, files: Sequence[Source]) -> Source:
    """Files one after the other; those before the row that is wanted stay closed if that is known."""

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        before = 0
        for file in files:
            if file.n_rows is not None and before + file.n_rows <= start:
                before += file.n_rows
                continue
            length = 0
            for piece in file.read(max(0, start - before), wanted, size):
                length = piece.first + shape_of(piece.table)[0]
                yield piece._replace(start=before + piece.first)
            before += length

    lengths = [file.n_rows for file in files]
    known = None if None in lengths else sum(length for length in lengths if length is not None)
    first = next((file for file in files if shape_of(file.sample)[0]), files[0])
    return Source(
        f"folder of {first.kind}", str(folder), read, first.sample, known, first.names, tuple(files)
    )
