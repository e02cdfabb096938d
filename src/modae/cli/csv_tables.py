"""CSV: text with a separator. What is a number is guessed from the first block, and then insisted on."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from modae.cli.errors import Mistake, listed, one_line
from modae.cli.named_tables import NamedTable, check_names

CSV_BLOCK = 8 * 2**20
"""Bytes of a CSV that are parsed at a time; no line may be longer."""

MOST_HEADER_LINES = 20
"""A quote that is open for longer than this is a quote in a name, not one around it."""

NO_VALUE = pa.array(pyarrow.csv.ConvertOptions().null_values)
"""What Arrow takes for a missing number, such as the empty field and NA."""


@dataclass(eq=False)
class CsvTable(NamedTable):
    """Text with a separator."""

    header: bool = True
    delimiter: str = ","
    truths: set[str] = field(default_factory=set)
    skipped: int = 0

    def place(self, row: int) -> str:
        """The line too: that is what an editor shows."""
        return f"row {row + 1} (line {self._line(row)})"

    def neither(self, name: str) -> Mistake:
        """Arrow takes a word for bytes if it is not UTF-8."""
        return self._wrong_encoding()

    def _line(self, row: int) -> int:
        """Where a row begins: blank lines and line breaks inside of quotes are lines too."""
        wanted, before = row + self.header, 0
        with pa.input_stream(str(self.path)) as stream:
            text = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="")
            records = csv.reader(text, delimiter=self.delimiter)
            try:
                for record in records:
                    wanted -= bool(record)
                    if wanted < 0:
                        return before + 1
                    before = records.line_num
            except csv.Error:  # a field that is too long for the reader
                pass
        return row + 1 + self.skipped

    def _schema(self) -> Any:
        first = self._first_record()
        bare = re.sub(r'"[^"]*"', "", first)  # a separator inside of quotes separates nothing
        self.delimiter = "\t" if self.path.suffix == ".tsv" else max(",;\t", key=bare.count)
        fields = next(csv.reader(first.splitlines(keepends=True), delimiter=self.delimiter), [])
        names = fields if self.header else [f"column{i + 1}" for i in range(len(fields))]
        if self.header:
            self._check_header(names)
        check_names(names, self.label)
        self.names = tuple(names)
        guessed = self._open(None, None).schema
        self.truths = {name for name in names if pa.types.is_boolean(guessed.field(name).type)}
        return pa.schema([(name, guessed.field(name).type) for name in names])

    def _check_header(self, names: list[str]) -> None:
        """A first line with numbers is a row, if they are not whole; whole ones may be years."""
        numbers = [name for name in names if _is_number(name)]
        if len(numbers) == len(names):
            raise Mistake(f"{self.label}: the first line holds numbers, not names: use --no-header.")
        broken = [name for name in numbers if not name.strip().lstrip("+-").isdigit()]
        if broken:
            raise Mistake(
                f"{self.label}: the first line holds {broken[0]!r}, a number and not a name: use "
                "--no-header, or rename that column."
            )
        if numbers:
            self.notes.append(
                f"The first line was taken for names, {listed(numbers, 2)} too: if it is a row, use "
                "--no-header."
            )

    def _read(self, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
        # "true" is no number in a CSV: it is read as what it is, and becomes 1 afterwards.
        types |= {
            name: pa.bool_() for name in self.truths & set(columns) if types.get(name) == self.floats
        }
        # What is no feature stays as it was written: 00007 is an id, and no number of 53 bits.
        types = {name: types.get(name, pa.string()) for name in columns}
        try:
            yield from self._open(columns, types)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._explained(columns, types, error) from error
        except OSError as error:
            raise self._damaged(error) from error

    def _numbers(self, batch: Any, name: str) -> Any:
        """Whole numbers where all of a batch are, for large ones stay what they are; else float64."""
        text = pyarrow.compute.utf8_trim_whitespace(batch.column(name))
        text = pyarrow.compute.if_else(pyarrow.compute.is_in(text, NO_VALUE), None, text)
        if name in self.truths:
            return self._parsed(text, name, [pa.bool_()]).cast(pa.int64())
        return self._parsed(text, name, [pa.int64(), pa.uint64(), pa.float64()])

    def _parsed(self, text: Any, name: str, kinds: list[Any]) -> Any:
        for kind in kinds:
            try:
                return text.cast(kind)
            except pa.ArrowInvalid as failed:
                error = failed
        raise self._explained([name], {name: kinds[-1]}, error) from error

    def _open(
        self, columns: list[str] | None, types: dict[str, Any] | None, threads: bool = True
    ) -> Any:
        stream = pa.input_stream(str(self.path))
        names = {"column_names": list(self.names or ()), "skip_rows": self.skipped}
        try:
            return pyarrow.csv.open_csv(
                stream,
                pyarrow.csv.ReadOptions(block_size=CSV_BLOCK, use_threads=threads, **names),
                pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(include_columns=columns, column_types=types),
            )
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._explained(columns, types, error) from error

    def _first_record(self) -> str:
        """The first line that is not blank, to the end of its quotes; rows begin below it."""
        block = self._first_block()
        lines = block.splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if line.strip())
        ends = range(first + 1, min(first + MOST_HEADER_LINES, len(lines)) + 1)
        closed = (end for end in ends if b"".join(lines[first:end]).count(b'"') % 2 == 0)
        end = next(closed, first + 1)
        if self.header and not any(each.strip() for each in lines[end:]):
            raise Mistake(f"{self.label} has a line of names, and no rows below it.")
        self.skipped = end if self.header else first
        try:
            return b"".join(lines[first:end]).decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise self._wrong_encoding() from None

    def _first_block(self) -> bytes:
        try:
            with pa.input_stream(str(self.path)) as stream:
                block: bytes = stream.read(CSV_BLOCK)
        except OSError as error:
            raise self._damaged(error) from error
        if not block.strip():
            raise Mistake(f"{self.label} is empty: it needs a line of names and lines of numbers.")
        if b"\0" in block:
            raise Mistake(f"{self.label} is not text: a table is one of .csv, .parquet, .arrow, .npy.")
        return block

    def _damaged(self, error: OSError) -> Exception:
        """An error with a number comes from the system, and one without from the compression."""
        if error.errno is not None:
            return error
        return Mistake(f"{self.label} cannot be unpacked: it is damaged, or not compressed.")

    def _wrong_encoding(self) -> Mistake:
        return Mistake(
            f"{self.label} is not UTF-8 text: convert it, for example with "
            f"'iconv -f latin1 -t utf-8 {self.label} > utf8.csv'."
        )

    def _explained(self, columns: Any, types: Any, error: Exception) -> Mistake:
        """Arrow's words with line and name. Only a reader without threads knows the line: read again."""
        text = one_line(error)
        if "Row #" not in text and types is not None:
            try:
                for _ in self._open(columns, types, threads=False):
                    pass
            except (pa.ArrowInvalid, UnicodeDecodeError, Mistake) as again:
                error = again if again.__cause__ is None else again.__cause__  # type: ignore[assignment]
        if isinstance(error, UnicodeDecodeError):
            return self._wrong_encoding()
        return self._in_our_words(one_line(error))

    def _in_our_words(self, text: str) -> Mistake:
        row = re.search(r"Row #(\d+)", text)
        line = (
            f"line {self._line(int(row[1]) - 1 - self.skipped)} of {self.label}" if row else self.label
        )
        if "straddl" in text:
            return Mistake(f"{self.label} has a line of more than 8 MB: is a quote not closed?")
        if "UTF8" in text or "\ufffd" in text:  # that is what Arrow shows for bytes that are no letter
            return self._wrong_encoding()
        fields = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if fields:
            return Mistake(f"{line} has {fields[2]} fields, the others have {fields[1]}: correct it.")
        column, value = re.search(r"column #(\d+)", text), re.search(r"invalid value '(.*)'", text)
        if column and value:
            name = (self.names or ())[int(column[1])]
            return Mistake(f"{line}: {value[1]!r:.60} in column {name!r} is not a number: correct it.")
        return Mistake(f"{self.label} cannot be read: {text:.200}")


def _is_number(text: str) -> bool:
    """Whether it is a finite number: inf and nan may be names."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
