"""From what was typed to a table: the ending says the format, and ``-`` is a CSV on standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any

from modae.cli.errors import Mistake
from modae.cli.tables import ENDINGS, Table, open_array

_KEPT: list[Any] = []
"""Temporary files that live as long as the process."""


def open_table(typed: str, *, header: bool = True, target: str | None = None) -> Table:
    """The table with this path.

    Parameters
    ----------
    typed : str
        A path, or ``-`` for standard input, which is copied to a temporary file: it is read twice.
    header : bool, default=True
        Whether the first line of a CSV has the names.
    target : str or None, default=None
        Checked here only for arrays, where it says which of them are the labels.
    """
    path, label = (_standard_input(), "standard input") if typed == "-" else (Path(typed), typed)
    if not path.exists():
        raise Mistake(f"{label}: there is no such file.")
    if path.is_dir():
        raise Mistake(f"{label} is a folder: give one file of it.")
    ending = ".csv" if typed == "-" else _ending(path)
    if ending in (".npy", ".npz"):
        return open_array(path, label, target)
    return _named(ending, path, label, header)


def _ending(path: Path) -> str:
    compressed = path.suffix.lower() in (".gz", ".bz2", ".zst")
    ending = Path(path.stem).suffix.lower() if compressed else path.suffix.lower()
    if ending not in ENDINGS:
        raise Mistake(
            f"{path}: the ending {path.suffix!r} is not known; use one of {', '.join(ENDINGS)}."
        )
    return ending


def _named(ending: str, path: Path, label: str, header: bool) -> Table:
    from modae.cli.csv_tables import CsvTable
    from modae.cli.named_tables import ArrowTable, ParquetTable

    try:
        str(path).encode()
    except UnicodeEncodeError:  # Arrow takes names in UTF-8 only
        raise Mistake(f"{label}: the name of the file is not UTF-8: rename it.") from None
    if path.stat().st_size == 0:
        raise Mistake(f"{label} is empty: it needs a line of names and lines of numbers.")
    if ending == ".parquet":
        return ParquetTable(path, label)
    if ending in (".arrow", ".feather"):
        return ArrowTable(path, label)
    return CsvTable(path, label, header=header)


def _standard_input() -> Path:
    if sys.stdin.isatty():
        raise Mistake("- reads a CSV from a pipe, as in 'cat table.csv | modae fit - -o model.modae'.")
    file = NamedTemporaryFile(prefix="modae-", suffix=".csv")  # noqa: SIM115  (read later, more than once)
    _KEPT.append(file)
    copyfileobj(sys.stdin.buffer, file)
    file.flush()
    return Path(file.name)
