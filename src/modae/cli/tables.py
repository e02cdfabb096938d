"""Tables that are typed: opened and written by the library, named in messages as they were typed."""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from modae.cli.errors import UserError, data_refused, refuse_if
from modae.sources.batches import Batches, open_batches
from modae.sources.frames import as_numpy
from modae.sources.opening import ENDINGS, ending_of, npy_rows, npz_arrays, path_source
from modae.sources.source import Batch, ColumnSelection
from modae.sources.writers import Write, csv_writer, open_writer
from modae.utils.atomic import LITTER_PREFIX
from modae.utils.text import listed

#: About as much as one batch of numbers takes.
BATCH_BYTES = 8 * 2**20

#: Temporary files that live as long as the process.
_KEPT: list[Any] = []


@dataclass(eq=False)
class TypedTable:
    """A table that was typed: a source with names of columns, or a matrix and labels beside it.

    ``kinds`` says which columns are a "number", "string", "date" or "other"; ``notes`` are remarks for
    the user.
    """

    label: str
    source: Any
    kinds: dict[str, str] = field(default_factory=dict)
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def place(self, row: int) -> str:
        """Where a row is, counted from 1; in text the line too, for that is what an editor shows."""
        line_of = getattr(self.source, "line_of", None)
        return f"row {row + 1}" + (f" (line {line_of(row)})" if line_of else "")

    def require(self, option: str, names: Sequence[str]) -> None:
        """Refuse names that are not there."""
        if names and not self.kinds:
            raise UserError(f"{option}: the columns of {self.label} have no names: leave it out.")
        for name in names:
            if name not in self.kinds:
                near = get_close_matches(name, self.kinds, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {listed(self.kinds)}."
                raise UserError(f"{option} {name}: {self.label} has no such column; {hint}")

    def refuse_strings(self, names: Sequence[str], remedy: str = "") -> None:
        """Refuse columns that are no numbers, and show a value: it may be a slip of the pen."""
        kinds = {"string": "strings", "date": "dates or times", "other": "neither numbers nor strings"}
        wrong = [name for name in names if self.kinds[name] != "number"]
        if not wrong:
            return
        name, kind, where = wrong[0], self.kinds[wrong[0]], ""
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        encode = "" if kind == "other" else "correct it, make it numbers with --encode, or "
        remedy = remedy or f"{encode}leave it out with --drop {name!r}"
        if kind != "other":
            shown = next(self.read(ColumnSelection((name,), strings=frozenset([name])))).rows[name]
            slips = [row for row, value in enumerate(shown) if value and not is_number(value)]
            if slips:
                value = shown[slips[0]]
                where = f", such as {value!r:.40} in {self.place(slips[0])}"
                where += " (decimals need a point)" if is_number(value.replace(",", ".", 1)) else ""
        raise UserError(f"{self.label}: column {name!r}{more} has {kinds[kind]}{where}: {remedy}.")

    def width(self, target: str | None) -> int:
        """Number of columns beside a target that is one of them."""
        is_column = target is not None and target not in self.labels
        return int(self.source.width if self.kinds else self.source.shape[1]) - is_column

    def read(self, columns: ColumnSelection) -> Iterator[Batch]:
        """Batches whose rows are a matrix, or a pandas frame if columns have names.

        Features in ``columns.strings`` are strings in that frame, and None where there is none. The
        target is a NumPy array; integers beside missing values stay integers.
        """
        with data_refused(self.label):
            yield from self._frames(columns) if self.kinds else self._slices(columns.target)

    def _frames(self, columns: ColumnSelection) -> Iterator[Batch]:
        import pandas as pd

        features = columns.features or ()
        categories = [name for name in features if name in columns.strings]
        numbers = [name for name in features if name not in columns.strings]
        kept = tuple(dict.fromkeys((*categories, *columns.kept)))
        selection = replace(columns, features=tuple(numbers), kept=kept, exact=False)
        for batch in Batches(self.source, selection, batch_rows(len(features))):
            rows = pd.DataFrame(batch.rows, columns=numbers)
            for name in categories:
                values = [value or None for value in batch.kept[name].to_pylist()]
                rows[name] = pd.Series(values, dtype=object)
            rows = rows[list(features)] if categories else rows
            target = batch.target
            if target is not None and str(target.type).startswith("decimal"):
                target = target.cast("float64")
            target = None if target is None else as_numpy(target)
            kept_columns = {name: batch.kept[name] for name in columns.kept}
            yield replace(batch, rows=rows, target=target, kept=kept_columns)

    def _slices(self, target: str | None) -> Iterator[Batch]:
        rows, size = self.source, batch_rows(self.source.shape[1])
        labels, column = self.find_target(target)
        if column is not None:
            starts = range(0, rows.shape[0], size)
            rows = (np.delete(self.source[start : start + size], column, axis=1) for start in starts)
        for batch in open_batches(rows, batch_size=size):
            yield replace(batch, target=None if labels is None else labels[batch.start : batch.stop])

    def find_target(self, name: str | None) -> tuple[np.ndarray | None, int | None]:
        """Labels beside a matrix, or those in one of its columns and the index of it.

        Columns with names are found when they are read; here one that is not there is refused.
        """
        if name is None or self.kinds:
            self.require("--target", [] if name is None else [name])
            return None, None
        (n_rows, n_columns), typed = self.source.shape, f"--target {name}"
        if name in self.labels:
            count = len(self.labels[name])
            refuse_if(count != n_rows, f"{typed}: {count} labels for the {n_rows} rows of {self.label}.")
            return self.labels[name], None
        refuse_if(
            not isinstance(self.source, np.ndarray),
            f"{typed}: {self.label} is sparse, and a sparse table takes no target: fit it without, or "
            "save the labels beside a dense matrix.",
        )
        known = f"one of {listed(self.labels)}" if self.labels else "the index of a column"
        is_index = name.lstrip("-").isdigit()
        refuse_if(not is_index, f"{typed}: for {self.label} it must be {known}.")
        is_there = -n_columns <= int(name) < n_columns
        refuse_if(not is_there, f"{typed}: {self.label} has columns 0 to {n_columns - 1} (or -1).")
        column = int(name) % n_columns
        return np.asarray(self.source[:, column]), column


def batch_rows(n_columns: int) -> int:
    """How many rows make a batch."""
    return max(1, BATCH_BYTES // (8 * max(1, n_columns)))


def check_is_file(path: str | Path) -> None:
    """Refuse what cannot be read."""
    refuse_if(not Path(path).exists(), f"{path}: there is no such file.")
    refuse_if(Path(path).is_dir(), f"{path} is a folder: give one file.")


def open_table(typed: str, *, header: bool = True) -> TypedTable:
    """The table with this path; ``-`` is a CSV on standard input, copied to a file to be read twice."""
    path, label = (_standard_input(), "standard input") if typed == "-" else (Path(typed), typed)
    check_is_file(path)
    ending, known = ending_of(path), (*ENDINGS, ".npz")
    refuse_if(ending not in known, f"{path}: it must end in one of {', '.join(known)}.")
    with data_refused(label):
        if ending in (".npy", ".npz"):
            rows, labels = npz_arrays(path) if ending == ".npz" else (npy_rows(path), {})
            if rows.ndim != 2 or rows.dtype.kind not in "fiub":
                what = f"{rows.ndim} axes of {rows.dtype}"
                raise UserError(f"{label} must hold numbers in rows and columns, got {what}.")
            return TypedTable(label, rows, labels=labels)
        from modae.sources.arrow_files import column_kind

        source = path_source(path, label, header=header)
    table = TypedTable(label, source, {each.name: column_kind(each.type) for each in source.schema})
    if source.kind == "CSV" and header:
        _check_header(table)
    return table


def _check_header(table: TypedTable) -> None:
    """A first line with numbers is a row, if they are not whole; whole ones may be years."""
    numbers = [name for name in table.kinds if is_number(name)]
    first_line = f"{table.label}: the first line holds"
    only_numbers = len(numbers) == len(table.kinds)
    refuse_if(only_numbers, f"{first_line} numbers, not names: use --no-header.")
    for name in numbers:
        whole = name.strip().lstrip("+-").isdigit()
        refuse_if(not whole, f"{first_line} {name!r}, a number: use --no-header, or rename that column.")
    if numbers:
        names = f"The first line was taken for names, {listed(numbers, 2)} too"
        table.notes.append(f"{names}: if it is a row, use --no-header.")


def is_number(text: str) -> bool:
    """Whether it is a finite number: inf and nan may be names."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _standard_input() -> Path:
    refuse_if(sys.stdin.isatty(), "- reads a CSV from a pipe, as in 'cat table.csv | modae fit - ...'.")
    file = NamedTemporaryFile(prefix="modae-", suffix=".csv")  # noqa: SIM115  (read later, more than once)
    _KEPT.append(file)
    copyfileobj(sys.stdin.buffer, file)
    file.flush()
    return Path(file.name)


def check_output(
    typed: str, endings: tuple[str, ...], inputs: tuple[str, ...] = (), option: str = "-o"
) -> None:
    """Refuse before hours of work what would fail after them."""
    if typed == "-" and ".csv" in endings:
        return
    path, option = Path(typed), f"{option} {typed}"
    if path.suffix.lower() not in endings:
        raise UserError(f"{option}: the name must end in {' or '.join(endings)}.")
    if not path.parent.is_dir():
        raise UserError(f"{option}: there is no folder {str(path.parent)!r}: make it first.")
    if path.exists() and not path.is_file():
        raise UserError(f"{option}: it exists and is not a file: choose another name.")
    if any(path.exists() and Path(given).exists() and path.samefile(given) for given in inputs):
        raise UserError(f"{option}: this is the input: choose another name.")
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
    if typed != "-":
        with named_in_errors(typed), open_writer(Path(typed)) as write:
            yield write
        return
    if getattr(sys.stdout, "name", None) == os.devnull:  # what the command puts there if there is none
        raise UserError("-o -: standard output is closed: give the name of a file.")
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
