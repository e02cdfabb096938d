"""Text: what stands for a number and what for nothing, how it is read, and files that are made text."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import BadZipFile

from modae.utils.extras import require
from modae.utils.text import listed

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

# What people write for a minus; they are not taken off, but become one.
MINUS = "\u2212\u2013"


@cache
def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or one sentence that says how to get it."""
    require("pyarrow", extra="arrow", purpose="Parquet, Arrow and CSV files")
    return import_module(module)


@contextmanager
def reading(origin: str, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Errors of the content, those of pyarrow unless others are given, name the file."""
    errors = errors or (arrow().lib.ArrowException, OSError, UnicodeError)
    try:
        yield
    except errors as reason:
        if getattr(reason, "errno", None) is not None:
            raise  # it comes from the system, not from the content
        raise ValueError(f"{origin} cannot be read as {kind}: {reason}") from reason


def text_stream(path: Path) -> Any:
    """The bytes of a file of text, which may be compressed."""
    return arrow().input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower()))


@dataclass(frozen=True)
class Reading:
    """How a table is written, if not as computers do: ``1234.5``, and an empty cell where nothing is.

    ``format`` is the ending that is believed instead of that of the name, ``sheet`` the one of an Excel
    file that is read instead of the first, or ``usual_sheet`` if it is there. Numbers have the mark
    ``decimal`` before decimals, may have ``thousands`` between groups of three digits, and a text of
    ``strip`` before or behind them, such as $; "()" around them is a minus. ``missing`` are cells that
    stand for nothing. With
    ``dates``, columns of dates become numbers; the hour is one of them if it is in ``date_parts``, or if
    these are not known and a day has one. A column of plain numbers is read as it is, whatever the
    marks are, unless every point in it may be one between thousands.
    """

    header: bool = True
    format: str | None = None
    sheet: str | None = None
    usual_sheet: str | None = None
    decimal: str = "."
    thousands: str = ""
    missing: Sequence[str] = ()
    strip: Sequence[str] = ()
    dates: bool = False
    date_parts: Sequence[str] | None = None

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
        compute = arrow("pyarrow.compute")
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


def _records(path: Path) -> dict[int, dict[str, Any]]:
    """The JSON object on each line, by the index of the line; values must be plain ones."""
    found = {}
    for place, line in enumerate(text_stream(path).read().splitlines()):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError as reason:
                raise ValueError(f"line {place + 1} is no JSON: {reason}") from reason
            if not isinstance(record, dict):
                raise ValueError(f"line {place + 1} has no names: write one JSON object on each line.")
            nested = [name for name, value in record.items() if isinstance(value, (list, dict))]
            if nested:
                what = f"lists or records in {nested[0]!r}"
                raise ValueError(f"line {place + 1} has {what}: give each value a name.")
            found[place] = record
    return found


def as_csv(path: Path, kind: str, origin: str, how: Reading) -> tuple[Any, str, list[int], Any]:
    """A table that pandas reads as a temporary CSV file, what to call it, and where its lines are from;
    and the names in the first line of each other sheet.

    So there is one way in which text becomes numbers. The file is there as long as the object.
    """
    pandas = require("pandas", extra="cli", purpose=f"Files of the kind {kind}")
    as_it_is = {"header": None, "dtype": object, "keep_default_na": False}
    others: dict[str, list[str]] = {}
    with reading(origin, kind, ValueError, KeyError, OSError, TypeError, BadZipFile):
        if kind == ".xlsx":
            require("openpyxl", extra="cli", purpose="Excel files")
            with pandas.ExcelFile(path, engine="openpyxl") as book:
                sheets = book.sheet_names
                usual = how.usual_sheet if how.usual_sheet in sheets else sheets[0]
                sheet = usual if how.sheet is None else how.sheet
                if sheet not in sheets:
                    raise ValueError(f"there is no sheet {sheet!r}; the sheets are {listed(sheets)}.")
                frame = pandas.read_excel(book, sheet, na_values=[""], **as_it_is).dropna(how="all")
                for other in [each for each in sheets if each != sheet]:
                    lines = pandas.read_excel(book, other, nrows=1, **as_it_is)
                    others[other] = lines.astype(str).to_numpy().ravel().tolist()
            origin += f" (sheet {sheet!r})" if len(sheets) > 1 else ""
        elif kind == ".jsonl":
            found = _records(path)
            frame = pandas.DataFrame(list(found.values()), index=list(found), dtype=object)
        else:
            frame = pandas.read_csv(path, sep=r"\s+", **as_it_is)
    if frame.empty:
        raise ValueError(f"{origin} cannot be read as {kind}: it is empty.")
    file = NamedTemporaryFile(prefix="modae-", suffix=".csv")  # noqa: SIM115  (read later)
    frame.to_csv(file.name, index=False, header=kind == ".jsonl", encoding="utf-8")
    return file, origin, (frame.index + 1).tolist(), others
