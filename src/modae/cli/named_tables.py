"""CSV, Parquet and Arrow: columns are found by their names, and read as numbers or as words."""

from __future__ import annotations

import csv
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from modae.cli.errors import Mistake, did_you_mean, listed, one_line
from modae.cli.tables import BATCH_BYTES, NUMBER, OTHER, WORD, Batch, Table, Wanted

CSV_BLOCK = 8 * 2**20
"""Bytes of a CSV that are parsed at a time; no line may be longer."""


@dataclass(eq=False)
class NamedTable(Table):
    """What the formats share: selection by name, and the way from Arrow to pandas."""

    path: Path
    label: str
    names: tuple[str, ...] | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    floats: Any = field(default_factory=pa.float64)

    def __post_init__(self) -> None:
        schema = self._schema()
        self.names = tuple(schema.names)
        _check_names(self.names, self.label)
        self.kinds = {name: _kind(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
        numbers = [kind for kind in schema.types if _kind(kind) == NUMBER]
        if numbers and all(pa.types.is_float32(kind) for kind in numbers):
            self.floats = pa.float32()

    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Record batches, cut down to the columns that are wanted."""
        features, start = self.features(wanted), 0
        read = list(dict.fromkeys([*features, *self._beside(wanted)]))
        types = {name: pa.string() if name in wanted.words else self.floats for name in features}
        if wanted.target is not None:
            words = self.kinds[wanted.target] != NUMBER
            types[wanted.target] = pa.string() if words else self._number_type(wanted.target)
        for batch in self._read(read, {name: kind for name, kind in types.items() if kind is not None}):
            if batch.num_rows:
                yield self._batch(batch, start, features, wanted, types)
                start += batch.num_rows

    def width(self, wanted: Wanted) -> int:
        """Number of features."""
        return len(self.features(wanted))

    def features(self, wanted: Wanted) -> list[str]:
        """Their names: those that are wanted, or all but the target."""
        if wanted.features is not None:
            return list(wanted.features)
        return [name for name in self.names or () if name != wanted.target]

    def require(self, option: str, names: Sequence[str]) -> None:
        """Refuse names that are not there."""
        for name in names:
            if name not in self.kinds:
                raise Mistake(
                    f"{option} {name}: {self.label} has no such column; "
                    f"{did_you_mean(name, self.names or ())}"
                )

    def _beside(self, wanted: Wanted) -> list[str]:
        target = [] if wanted.target is None else [wanted.target]
        self.require("--target", target)
        self.require("--keep", wanted.keep)
        return [*target, *wanted.keep]

    def _batch(
        self, batch: Any, start: int, features: list[str], wanted: Wanted, types: dict[str, Any]
    ) -> Batch:
        columns = {name: _as(batch.column(name), types.get(name)) for name in batch.schema.names}
        rows = pa.table({name: columns[name] for name in features}).to_pandas()
        for name in wanted.words:
            rows[name] = rows[name].astype(object).where(rows[name].notna() & (rows[name] != ""), None)
        target = None
        if wanted.target is not None:
            target = columns[wanted.target].to_pandas().to_numpy()
        kept = pa.table({name: columns[name] for name in wanted.keep}) if wanted.keep else None
        return Batch(rows, start, target, kept)

    def _number_type(self, name: str) -> Any:
        """The type of a target of numbers: its own, so that large whole numbers stay what they are."""
        return None

    @abstractmethod
    def _schema(self) -> Any:
        """Names and types."""

    @abstractmethod
    def _read(self, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
        """Record batches with these columns; types are a wish, for formats without types."""


class ParquetTable(NamedTable):
    """A Parquet file: columns that are not wanted are never read."""

    def _schema(self) -> Any:
        try:
            return pyarrow.parquet.read_schema(self.path)
        except pa.ArrowInvalid as error:
            raise Mistake(f"{self.label} is not a Parquet file ({one_line(error):.80}).") from error

    def _read(self, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
        step = max(1, BATCH_BYTES // (8 * max(len(columns), 1)))
        with pyarrow.parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=step, columns=columns):
                yield batch.select(columns)


class ArrowTable(NamedTable):
    """An Arrow (Feather) file, mapped into memory."""

    def _schema(self) -> Any:
        try:
            with pa.memory_map(str(self.path)) as source:
                return pyarrow.ipc.open_file(source).schema
        except pa.ArrowInvalid as error:
            raise Mistake(f"{self.label} is not an Arrow file ({one_line(error):.80}).") from error

    def _read(self, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
        with pa.memory_map(str(self.path)) as source:
            reader = pyarrow.ipc.open_file(source)
            for place in range(reader.num_record_batches):
                yield reader.get_batch(place).select(columns)


@dataclass(eq=False)
class CsvTable(NamedTable):
    """Text with a separator. What is a number is guessed from the first block, and then insisted on."""

    header: bool = True
    delimiter: str = ","
    truths: set[str] = field(default_factory=set)

    def _number_type(self, name: str) -> Any:
        """Whole numbers in the first block may be followed by others."""
        return pa.float64()

    def place(self, row: int) -> str:
        """The line too: that is what an editor shows."""
        return f"row {row + 1} (line {row + 1 + self.header})"

    def _schema(self) -> Any:
        first = self._first_line()
        self.delimiter = "\t" if self.path.suffix == ".tsv" else max(",;\t", key=first.count)
        fields = next(csv.reader([first], delimiter=self.delimiter), [])
        names = fields if self.header else [f"column{i + 1}" for i in range(len(fields))]
        if self.header and all(_is_number(name) for name in names):
            raise Mistake(f"{self.label}: the first line holds numbers, not names: use --no-header.")
        _check_names(names, self.label)
        self.names = tuple(names)
        guessed = self._open(None, None).schema
        self.truths = {name for name in names if pa.types.is_boolean(guessed.field(name).type)}
        return pa.schema([(name, guessed.field(name).type) for name in names])

    def _read(self, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
        # "true" is no number in a CSV: it is read as what it is, and becomes 1 afterwards.
        types |= {
            name: pa.bool_() for name in self.truths & set(columns) if types.get(name) == self.floats
        }
        try:
            yield from self._open(columns, types)
        except pa.ArrowInvalid as error:
            raise self._explained(columns, types, error) from error

    def _open(
        self, columns: list[str] | None, types: dict[str, Any] | None, threads: bool = True
    ) -> Any:
        stream = pa.input_stream(str(self.path))
        names = {"column_names": list(self.names or ()), "skip_rows": int(self.header)}
        try:
            return pyarrow.csv.open_csv(
                stream,
                pyarrow.csv.ReadOptions(block_size=CSV_BLOCK, use_threads=threads, **names),
                pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(include_columns=columns, column_types=types),
            )
        except pa.ArrowInvalid as error:
            raise self._explained(columns, types, error) from error

    def _first_line(self) -> str:
        with pa.input_stream(str(self.path)) as stream:
            block = stream.read(CSV_BLOCK)
        if not block.strip():
            raise Mistake(f"{self.label} is empty: it needs a line of names and lines of numbers.")
        line, *rest = block.splitlines() or [b""]
        if b"\0" in block:
            raise Mistake(f"{self.label} is not text: a table is one of .csv, .parquet, .arrow, .npy.")
        if self.header and not any(each.strip() for each in rest):
            raise Mistake(f"{self.label} has a line of names, and no rows below it.")
        try:
            return line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise self._wrong_encoding() from None

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
            except (pa.ArrowInvalid, Mistake) as again:
                text = one_line(again.__cause__ or again)
        return self._in_our_words(text)

    def _in_our_words(self, text: str) -> Mistake:
        row = re.search(r"Row #(\d+)", text)
        line = f"line {row[1]} of {self.label}" if row else self.label
        if "straddl" in text:
            return Mistake(f"{self.label} has a line of more than 8 MB: is a quote not closed?")
        if "UTF8" in text:
            return self._wrong_encoding()
        fields = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if fields:
            return Mistake(f"{line} has {fields[2]} fields, the others have {fields[1]}: correct it.")
        column, value = re.search(r"column #(\d+)", text), re.search(r"invalid value '(.*)'", text)
        if column and value:
            name = (self.names or ())[int(column[1])]
            return Mistake(f"{line}: {value[1]!r:.60} in column {name!r} is not a number: correct it.")
        return Mistake(f"{self.label} cannot be read: {text:.200}")


def _check_names(names: Sequence[str], label: str) -> None:
    twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
    if twice:
        raise Mistake(f"{label} has more than one column {listed(twice)}: rename one of them.")


def _kind(kind: Any) -> str:
    types = pa.types
    if any(
        is_a(kind) for is_a in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    ):
        return NUMBER
    if types.is_null(kind):
        return NUMBER
    if types.is_dictionary(kind):
        return WORD
    words = (types.is_string, types.is_large_string, types.is_string_view, types.is_temporal)
    return WORD if any(is_a(kind) for is_a in words) else OTHER


def _as(column: Any, kind: Any) -> Any:
    return column if kind is None or column.type == kind else column.cast(kind, safe=False)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
