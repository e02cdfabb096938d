"""Which kind of source a thing is: paths by their ending, objects by their type."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from modae.sources.arrow_files import csv_source, dataset_source, file_source
from modae.sources.cells import COMPRESSIONS, Reading, reading
from modae.sources.dates import with_dates_as_numbers
from modae.sources.frames import as_table, is_frame
from modae.sources.source import SAMPLE_ROWS, Chunk, ColumnSelection, Source, named

# As computers write tables.
DEFAULT = Reading()

# Of files that can be read; capital letters are as good.
TEXTS = (".csv", ".tsv", ".txt", ".jsonl", ".xlsx")
ENDINGS = (".npy", ".parquet", ".arrow", ".feather", *TEXTS, ".npz")


# Of files in a folder that are about the data, and passed over.
NOTES = ("", ".md", ".rst", ".txt", ".html", ".pdf", ".json", ".yaml", ".yml", ".toml", ".log")


def source_of(thing: Any) -> Source:
    """A source of any kind that :func:`modae.open_batches` knows."""
    if isinstance(thing, (str, PathLike)):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", str(thing)):
            remedy = "pass a pyarrow.dataset.Dataset of it, or load it first"
            raise ValueError(f"source {str(thing)!r} is a URL, and only local paths are read: {remedy}.")
        return path_source(Path(fspath(thing)).expanduser())
    if isinstance(thing, np.ndarray) or sparse.issparse(thing) or is_frame(thing):
        return table_source(thing)
    package, name = type(thing).__module__.partition(".")[0], type(thing).__name__
    if package == "pyarrow" and name.endswith("Dataset"):
        return dataset_source(thing)
    is_iterable = isinstance(thing, Iterable) and not isinstance(thing, (bytes, bytearray, Mapping))
    if callable(thing) or is_iterable:
        return iterable_source(thing)
    raise TypeError(
        "source must be a path, an array, a table, a Dataset of pyarrow, a sequence of batches or a "
        f"function that returns one, got {name}."
    )


def table_source(table: Any, kind: str = "array", origin: str = "the array") -> Source:
    """Rows that are in memory, or in a memory map: one chunk, which is cut and not copied."""
    if is_frame(table):
        kind, origin = "table", "the table"
    table = as_table(table.tocsr() if sparse.issparse(table) else table)

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        yield Chunk(table, origin, 0, 0)

    matrix = None if is_frame(table) else table
    return Source(kind, origin, read, table[:SAMPLE_ROWS], int(table.shape[0]), matrix=matrix)


def iterable_source(thing: Any) -> Source:
    """Batches one after the other: of a list, of a function that makes them anew whenever they are read,
    or of an iterator, which can be read one time only.
    """
    is_list = isinstance(thing, (list, tuple))
    kind = "sequence" if is_list else "function" if callable(thing) else "iterator"
    source: Any = [as_table(batch) for batch in thing] if is_list else thing
    last: Any = None

    def tables() -> Iterator[Any]:
        nonlocal last
        batches = source() if kind == "function" else source
        if batches is last and (kind == "iterator" or iter(batches) is batches):
            maker = "a function that returns " if kind == "function" else ""
            what = "an iterator that was read already, and it cannot be read again"
            remedy = "pass a list, a file, or a function that returns a fresh iterator each time"
            raise ValueError(f"source is {maker}{what}: {remedy}.")
        last = batches
        return map(as_table, batches)

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        before = 0
        for place, table in enumerate(tables()):
            yield Chunk(table, f"batch {place}", 0, before)
            before += table.shape[0]

    found, first = tables(), []
    for table in found:  # up to the first with rows: an empty table need not know its types
        first.append(table)
        if table.shape[0]:
            break
    if not first:
        raise ValueError("source has no batches: there would be no data.")
    if kind == "iterator":
        source, last = chain(first, found), None
    sample = first[-1][:SAMPLE_ROWS]
    if isinstance(sample, np.ndarray):
        sample = sample.copy()  # its owner may use the memory again
    n_rows = sum(int(table.shape[0]) for table in source) if is_list else None
    return Source(kind, f"the {kind}", read, sample, n_rows)


def path_source(path: Path, origin: str | None = None, how: Reading = DEFAULT) -> Source:
    """A file, or a folder of files of one kind; ``origin`` is what messages call it."""
    if path.is_dir():
        return folder_source(path)
    if not path.exists():
        raise FileNotFoundError(f"source {path} does not exist.")
    origin, ending, inner = origin or str(path), path.suffix.lower(), Path(path.stem).suffix.lower()
    if ending in COMPRESSIONS and inner in TEXTS[:-1]:  # of a compressed text, what is inside
        ending = inner
    ending = ending if how.format is None else f".{how.format}"
    if ending not in ENDINGS:
        raise ValueError(f"source {path} must end in {', '.join(ENDINGS)} or be a folder of such files.")
    if how.sheet is not None and ending != ".xlsx":
        raise ValueError(f"{origin}: only .xlsx files have sheets: leave out --sheet {how.sheet}.")
    if ending in (".npy", ".npz"):
        rows, labels = numpy_arrays(path, origin, ending)
        with named(origin):
            return replace(table_source(rows, ending[1:], origin), labels=labels)
    try:
        str(path).encode()
    except UnicodeEncodeError:  # pyarrow takes names in UTF-8 only
        raise ValueError(f"{origin!r}: the name of the file is not UTF-8: rename it.") from None
    if ending in TEXTS:
        source = csv_source(path, origin, how, ending)
    else:
        source = file_source(path, "Parquet" if ending == ".parquet" else "Arrow", origin)
    return with_dates_as_numbers(source, how.date_parts) if how.dates else source


def numpy_arrays(path: Path, origin: str, ending: str) -> tuple[Any, dict[str, np.ndarray]]:
    """The matrix of a file of NumPy, mapped into memory if it is a .npy file.

    A .npz file may have 1-d arrays of labels beside it, or be a sparse matrix of scipy.
    """
    with reading(origin, ending, ValueError, OSError, EOFError, BadZipFile, KeyError):
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found, {}
        with found as archive:
            if {"indices", "indptr", "shape"} <= set(archive.files):
                return sparse.load_npz(path), {}
            arrays = {name: archive[name] for name in archive.files}
    matrices = [array for array in arrays.values() if array.ndim == 2]
    if len(matrices) != 1:
        held = ", ".join(map(repr, arrays)) or "nothing"
        raise ValueError(f"{origin} must hold one matrix (and 1-d labels), got {held}.")
    return matrices[0], {name: array for name, array in arrays.items() if array.ndim == 1}


def folder_source(folder: Path) -> Source:
    """All files of a folder as one source, in the order of the numbers in their names.

    Names that begin with a dot or an underscore and notes (a README, say) are passed over. Whatever else
    there is might be data, and is refused, not left out.
    """
    visible = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    found = [path for path in visible if path.suffix.lower() not in NOTES or path.is_dir()]
    known = [ending for ending in ENDINGS if ending not in NOTES]
    kinds = sorted({path.suffix.lower() for path in found if path.is_file()} & set(known))
    if len(kinds) != 1:
        many = f"files of several kinds ({', '.join(kinds)})" if kinds else "no files that can be read"
        raise ValueError(f"source {folder} needs files of one kind, {', '.join(known)}, got {many}.")
    strange = [path for path in found if path.is_dir() or path.suffix.lower() != kinds[0]]
    if strange:
        what = "sub-folder" if strange[0].is_dir() else "file"
        left_out = f"the {what} {strange[0].name} would be left out"
        remedy = "move it away, or open pyarrow.dataset.dataset(...)"
        raise ValueError(f"source {folder} must have {kinds[0]} files only, and {left_out}: {remedy}.")
    files = tuple(path_source(path) for path in sorted(found, key=natural))
    lengths = [file.n_rows for file in files]

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        before = 0
        for file, length in zip(files, lengths, strict=True):
            stop = length or 0
            if length is None or before + length > start:  # others stay closed
                for chunk in file.read(max(0, start - before), columns, size):
                    stop = chunk.first + chunk.table.shape[0]
                    yield chunk._replace(start=before + chunk.first)
            before += stop

    n_rows = None if None in lengths else sum(filter(None, lengths))
    first = next((file for file in files if file.sample.shape[0]), files[0])
    return Source(f"folder of {first.kind}", str(folder), read, first.sample, n_rows, files)


def natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sort key: part-2 comes before part-10; the name itself decides between part-1 and part-01."""
    parts = re.split(r"([0-9]+)", path.stem)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts], path.name
