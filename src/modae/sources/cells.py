"""Cells of text: what stands for a number and what for nothing, and files that are made text first."""

import csv
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import BadZipFile

from modae.utils.extras import require

# What columns may be separated by; of equals, the first.
SEPARATORS = ",;\t|"

# What people write for a minus; they are not taken off, but become one.
MINUS = "\u2212\u2013"

# Lines that are looked at to know the separator.
SNIFFED_LINES = 50


@dataclass(frozen=True)
class Reading:
    """How a table is written, if not as computers do: ``1234.5``, and an empty cell where nothing is.

    ``format`` is the ending that is believed instead of that of the name. Numbers have the mark
    ``decimal`` before decimals, may have ``thousands`` between groups of three digits, and a text of
    ``strip`` before or behind them, such as $; "()" around them is a minus. ``missing`` are cells that
    stand for nothing. With
    ``dates``, columns of dates become numbers. A column of plain numbers is read as it is, whatever the
    marks are, unless every point in it may be one between thousands.
    """

    header: bool = True
    format: str | None = None
    decimal: str = "."
    thousands: str = ""
    missing: Sequence[str] = ()
    strip: Sequence[str] = ()
    dates: bool = False

    @property
    def rewrites(self) -> bool:
        """Whether numbers are to be written anew before they are parsed."""
        return bool(self.decimal != "." or self.thousands or self.strip)

    def plain(self, text: Any) -> Any:
        """Strings of pyarrow with numbers as computers write them; what is none does not become one.

        >>> import pyarrow
        >>> reading = Reading(decimal=",", thousands=".", strip=("€",))
        >>> reading.plain(pyarrow.array(["1.234,5 €", "1,5"])).to_pylist()
        ['1234.5', '1.5']
        """
        compute = require("pyarrow.compute", extra="arrow", purpose="Text")
        for blank in "\u00a0\u202f":  # between thousands, so that a line is not broken there
            text = compute.replace_substring(text, blank, " ")
        text = compute.utf8_trim_whitespace(text)
        if "()" in self.strip:
            text = compute.replace_substring_regex(text, r"^\((.*)\)$", r"-\1")
        for minus in filter(self.strip.__contains__, MINUS):
            text = compute.replace_substring(text, minus, "-")
        for unit in map(re.escape, self.strip):
            text = compute.replace_substring_regex(text, rf"^([+-]?)\s*{unit}\s*", r"\1")
            text = compute.replace_substring_regex(text, rf"\s*{unit}$", "")
        if self.thousands:
            mark, point = re.escape(self.thousands), re.escape(self.decimal)
            grouped = rf"^[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({point}[0-9]*)?$"
            joined = compute.replace_substring(text, self.thousands, "")
            text = compute.if_else(compute.match_substring_regex(text, grouped), joined, text)
        if self.decimal != ".":  # a point is then no part of a number
            text = compute.replace_substring(text, ".", "..")
            text = compute.replace_substring(text, self.decimal, ".")
        return text


class CellError(ValueError):
    """A cell of a column of numbers that is none."""

    def __init__(self, message: str, column: str, value: str) -> None:
        super().__init__(message)
        self.column, self.value = column, value


def is_number_text(text: str) -> bool:
    """Whether it is a finite number, as computers write it: inf and nan may be names.

    >>> [is_number_text(text) for text in ("-1.5e3", "1,5", "nan", "1_000")]
    [True, False, False, False]
    """
    try:
        return abs(float(text)) < float("inf") and "_" not in text
    except ValueError:
        return False


def separator_of(lines: Sequence[str], *, spaces: bool = False) -> str:
    r"""What separates columns: the mark that gives most lines as many fields as the first.

    With ``spaces``, any number of blanks may do that, if no other mark does.

    >>> separator_of(["price;size,cm\n", "1,5;2,5\n"])
    ';'
    """

    def suits(mark: str) -> tuple[int, int]:
        try:
            sizes = [len(fields) for fields in csv.reader(lines, delimiter=mark) if fields]
        except csv.Error:  # a field that is too long for the reader
            sizes = [lines[0].count(mark) + 1]
        if mark == " ":
            sizes = [len(line.split()) for line in lines if line.strip()]
        return (sum(size == sizes[0] for size in sizes) if sizes[0] > 1 else 0), sizes[0]

    best = max(SEPARATORS, key=suits)
    return " " if spaces and not suits(best)[0] and suits(" ")[0] else best


def _records(path: Path) -> dict[int, dict[str, Any]]:
    """The JSON object on each line, by the index of the line; values must be plain ones."""
    found = {}
    pyarrow = require("pyarrow", extra="arrow", purpose="Compressed text")
    for place, line in enumerate(pyarrow.input_stream(str(path)).read().splitlines()):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError as reason:
                raise ValueError(f"line {place + 1} is no JSON: {reason}") from reason
            if not isinstance(record, dict):
                raise ValueError(f"line {place + 1} has no names: write one JSON object on each line.")
            nested = [name for name, value in record.items() if isinstance(value, (list, dict))]
            if nested:
                raise ValueError(
                    f"line {place + 1} has lists or records in {nested[0]!r}: give each value a name."
                )
            found[place] = record
    return found


def as_csv(path: Path, kind: str, origin: str) -> tuple[Any, str, Callable[[int], int]]:
    """A table that pandas reads as a temporary CSV file, what to call it, and the line of a row of that.

    So there is one way in which text becomes numbers. The file is there as long as the object.
    """
    pandas = require("pandas", extra="cli", purpose=f"Files of the kind {kind}")
    as_it_is = {"header": None, "dtype": object, "keep_default_na": False}
    try:
        if kind == ".xlsx":
            require("openpyxl", extra="cli", purpose="Excel files")
            with pandas.ExcelFile(path, engine="openpyxl") as book:
                sheets = book.sheet_names
                frame = pandas.read_excel(book, sheets[0], na_values=[""], **as_it_is).dropna(how="all")
            origin += f" (sheet {sheets[0]!r})" if len(sheets) > 1 else ""
        elif kind == ".jsonl":
            found = _records(path)
            frame = pandas.DataFrame(list(found.values()), index=list(found), dtype=object)
        else:
            frame = pandas.read_csv(path, sep=r"\s+", **as_it_is)
    except (ValueError, KeyError, OSError, TypeError, BadZipFile) as reason:
        if getattr(reason, "errno", None) is not None:
            raise
        raise ValueError(f"{origin} cannot be read as {kind}: {reason}") from reason
    if frame.empty:
        raise ValueError(f"{origin} cannot be read as {kind}: it is empty.")
    file = NamedTemporaryFile(prefix="modae-", suffix=".csv")  # noqa: SIM115  (read later)
    frame.to_csv(file.name, index=False, header=kind == ".jsonl", encoding="utf-8")
    lines = frame.index
    return file, origin, lambda row: int(lines[row]) + 1
