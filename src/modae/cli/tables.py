"""Tables that are typed: opened and written by the library, named in messages as they were typed."""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from modae.cli.console import UserError, refuse_if
from modae.sources.cells import Reading, is_number_text
from modae.sources.frames import matrix_of
from modae.sources.opening import DEFAULT, ENDINGS, path_source
from modae.sources.source import Source
from modae.sources.writers import Write, csv_writer, open_writer
from modae.utils.text import listed, nearest

#: About as much as one batch of numbers takes.
BATCH_BYTES = 8 * 2**20

#: The fewest numbers that may be a scale, if they are far from those below; that rise evenly; or rise.
FEWEST_STEPS, MORE_STEPS, MOST_STEPS = 3, 4, 6

#: All steps are the same.
EVEN = 2

#: What a target of a matrix may be.
NO_LABELS = "the index of a column, or of numpy.savez(file, X=rows, y=labels) a name, such as y"

#: Temporary files that live as long as the process.
_KEPT: list[Any] = []


def batch_rows(n_columns: int) -> int:
    """How many rows make a batch."""
    return max(1, BATCH_BYTES // (8 * max(1, n_columns)))


def check_is_file(path: str | Path) -> None:
    """Refuse what cannot be read."""
    refuse_if(not Path(path).exists(), f"{path}: there is no such file.")
    refuse_if(Path(path).is_dir(), f"{path} is a folder: give one file.")


def reading_of(options: Any, remembered: Mapping[str, Any] | None = None) -> Reading:
    """How the table is written, as options say; what they do not say is as in the fit of the model.

    Marks that can be several, those of nothing and those to take off, are added to those of the fit.
    Of an Excel file, the sheet of the fit is read if it is there.
    """
    known = dict(remembered or {})
    known["usual_sheet"] = known.pop("sheet", None)
    given = {name: value for name, value in options.reading.items() if value}
    several = given.keys() & known.keys() & {"strip", "missing"}
    both = {name: [*dict.fromkeys([*known[name], *given[name]])] for name in several}
    how = Reading(header=not options.no_header, **{**known, **given, **both})
    same = f"--decimal {how.decimal} and --thousands {how.thousands}: they must differ."
    refuse_if(how.decimal == how.thousands, same)
    for name in ("decimal", "thousands"):
        mark = getattr(how, name)
        wrong = len(mark) > 1 or mark.isalnum()
        refuse_if(wrong, f"--{name} {mark}: it must be one mark, such as a comma.")
    formats = [ending[1:] for ending in ENDINGS]
    wrong = how.format is not None and how.format not in formats
    refuse_if(wrong, f"--format {how.format}: it must be one of {', '.join(formats)}.")
    return how


def as_typed(options: Mapping[str, Any]) -> list[list[str]]:
    """Options as words, each with its value."""
    words = []
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += [[f"--{name}"] if each is True else [f"--{name}", str(each)]]
    return words


def open_table(
    typed: str, how: Reading = DEFAULT, known: Iterable[str] = (), fitted: bool = False, **options: Any
) -> Source:
    """The table with this path, which must have the columns that options name, such as ``keep=["id"]``.

    If the first line of a CSV has one of these, or of those ``known``, it is one of names, numbers too;
    so it is for a model that is ``fitted`` to names, and if no row is like it.
    ``-`` is a CSV on standard input, copied to a file to be read twice.
    """
    path, label = (_standard_input(), "standard input") if typed == "-" else (Path(typed), typed)
    check_is_file(path)
    table = path_source(path, label, how)
    named = not table.kinds.keys().isdisjoint([*known, *chain.from_iterable(options.values())])
    if how.header and not (fitted or named or is_scale(table)):
        numbers, first_line = number_names(table), f"{label}: the first line holds"
        all_numbers = numbers and len(numbers) == len(table.kinds)
        refuse_if(all_numbers, f"{first_line} numbers, not names: use --no-header, or rename them.")
        for name in numbers:  # whole ones may be years
            row = not name.strip().lstrip("+-").isdigit()
            refuse_if(row, f"{first_line} {name!r}, a number: use --no-header, or rename that column.")
    for option, names in options.items():
        no_names = names and not table.kinds
        refuse_if(no_names, f"--{option}: the columns of {label} have no names: leave it out.")
        for name in names:
            require_column(table, option, name)
    return table


def require_column(table: Source, option: str, name: str) -> None:
    """Refuse a name that is not there."""
    # What dates became has other names, and the dates can be left out by their own.
    if name not in (table.kinds if option != "drop" or table.names is None else table.names):
        near = nearest(name, table.kinds)
        hint = f"did you mean {near!r}?" if near else f"there are {listed(table.kinds)}."
        elsewhere, add = sheet_with(table, [name])
        hint = elsewhere if add else hint + elsewhere
        raise UserError(f"--{option} {name}: {table.origin} has no such column; {hint}", add)


def sheet_with(table: Source, names: Sequence[str]) -> tuple[str, list[list[str]]]:
    """The other sheet of an Excel file that has these columns, as a sentence and as options; or all."""
    for sheet, known in table.sheets.items():
        if set(names) <= set(known):
            return f"the sheet {sheet!r} has what is needed.", [["--sheet", sheet]]
    others = f" --sheet NAME reads one of its other sheets: {listed(table.sheets)}."
    return others if table.sheets else "", []


def number_names(table: Source) -> list[str]:
    """Names in the first line of a CSV that might be the numbers of a row."""
    return [name for name in table.kinds if is_number_text(name)] if table.kind == "CSV" else []


def is_scale(table: Source) -> bool:
    """Whether the numbers in the first line are a scale, such as wavelengths or times, and no row.

    They rise or fall, evenly or not, and no row does so too; or all are far from the numbers below.
    """
    names = [name for name in number_names(table) if table.kinds[name] == "number"]
    line, rows = np.array(names, dtype=float), matrix_of(table.sample, names).astype(np.float64)
    rows, order = rows[np.isfinite(rows).all(axis=1)], _steps(line)
    if not order or not len(rows):
        return order > 0
    few = len(names) < (MORE_STEPS if order == EVEN else MOST_STEPS)
    low, high = rows.min(axis=0), rows.max(axis=0)
    far = (line < 2 * low - high) | (line > 2 * high - low)
    return bool(far.all()) or (not few and order > max(map(_steps, rows)))


def _steps(line: np.ndarray) -> int:
    """``EVEN`` if all steps from number to number are the same, 1 if all have the same sign, else 0."""
    steps = np.diff(line)
    same_sign = len(line) >= FEWEST_STEPS and bool((steps > 0).all() or (steps < 0).all())
    return EVEN if same_sign and np.allclose(steps, steps.mean(), rtol=0.01) else int(same_sign)


def _standard_input() -> Path:
    refuse_if(sys.stdin.isatty(), "- reads a CSV from a pipe, as in 'cat table.csv | modae fit - ...'.")
    file = NamedTemporaryFile(prefix="modae-", suffix=".csv")  # noqa: SIM115  (read later, more than once)
    _KEPT.append(file)
    copyfileobj(sys.stdin.buffer, file)
    file.flush()
    return Path(file.name)


def place_of(table: Source, row: int) -> str:
    """Where a row is, counted from 1; in text the line too, for that is what an editor shows."""
    return f"row {row + 1}" + (f" (line {table.line_of(row)})" if table.line_of else "")


def find_target(table: Source, name: str | None) -> tuple[np.ndarray | None, int | None]:
    """Labels beside a matrix, or those in one of its columns and the index of it.

    Columns with names are found when they are read; here one that is not there is refused.
    """
    if name is None:
        return None, None
    if table.kinds:
        require_column(table, "target", name)
        return None, None
    (n_rows, n_columns), typed = table.matrix.shape, f"--target {name}"
    if name in table.labels:
        labels = table.labels[name]
        wrong = f"{len(labels)} labels for the {n_rows} rows of {table.origin}"
        refuse_if(len(labels) != n_rows, f"{typed}: {wrong}.")
        return labels, None
    thin = f"{table.origin} is sparse, and a sparse table takes no target: fit it without"
    refuse_if(not isinstance(table.matrix, np.ndarray), f"{typed}: {thin}, or save a dense matrix.")
    known = f"one of {listed(table.labels)}" if table.labels else NO_LABELS
    refuse_if(not name.lstrip("-").isdigit(), f"{typed}: for {table.origin} it must be {known}.")
    is_there = -n_columns <= int(name) < n_columns
    refuse_if(not is_there, f"{typed}: {table.origin} has columns 0 to {n_columns - 1} (or -1).")
    return np.asarray(table.matrix[:, int(name)]), int(name)


def check_output(
    typed: str, endings: tuple[str, ...], inputs: tuple[str, ...] = (), option: str = "-o"
) -> None:
    """Refuse before hours of work what would fail after them."""
    if typed == "-" and ".csv" in endings:
        return
    path, option = Path(typed), f"{option} {typed}"
    ending, folder, is_there = path.suffix.lower(), path.parent, path.exists()
    refuse_if(ending not in endings, f"{option}: the name must end in {' or '.join(endings)}.")
    refuse_if(not folder.is_dir(), f"{option}: there is no folder {str(folder)!r}: make it first.")
    is_other = is_there and not path.is_file()
    refuse_if(is_other, f"{option}: it exists and is not a file: choose another name.")
    same = any(is_there and Path(given).exists() and path.samefile(given) for given in inputs)
    refuse_if(same, f"{option}: this is the input: choose another name.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


@contextmanager
def open_output(typed: str) -> Iterator[Write]:
    """A function that takes columns batch by batch; the ending of the name says the format."""
    if typed != "-":
        with open_writer(Path(typed)) as write:
            yield write
        return
    # What the command puts there if there is none.
    closed = getattr(sys.stdout, "name", None) == os.devnull
    refuse_if(closed, "-o -: standard output is closed: give the name of a file.")
    sys.stdout.flush()
    with csv_writer(_WholeWrites(sys.stdout.buffer), "standard output") as write:
        yield write


class _WholeWrites:
    """Standard output without its buffer: a pipe may take a part of the bytes, or none for a while."""

    def __init__(self, buffer: Any) -> None:
        self.file = getattr(buffer, "raw", buffer)

    def write(self, content: Any) -> None:
        """Write all bytes, or fail."""
        rest = memoryview(content).cast("B")
        while len(rest):
            written = self.file.write(rest)
            if written is None:  # the pipe is full, and would not wait
                select.select([], [self.file], [])
            rest = rest[written or 0 :]
