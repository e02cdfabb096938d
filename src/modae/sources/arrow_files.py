"""Sources that pyarrow reads: Parquet and Arrow files, datasets, and CSV files.

What is a number in a CSV file is guessed from its first block.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from modae.sources.cells import CellError, Reading, arrow, as_csv, is_number_text, reading, text_stream
from modae.sources.frames import as_table, refuse_duplicates
from modae.sources.source import SAMPLE_ROWS, Chunk, ColumnSelection, Source, named
from modae.utils.text import shortened

# Bytes of a file that are parsed at a time; no line may be longer.
BLOCK_BYTES = 8 * 2**20

# What columns may be separated by; of equals, the first.
SEPARATORS = ",;\t|"

# Lines that are looked at to know the separator.
SNIFFED_LINES = 50

# A quote that is open for longer than this is a quote in a name, not one around it.
MOST_HEADER_LINES = 20

# Dates that are read beside 2026-01-31; which of 1/2/2026 is the month cannot be known.
DAYS, TIMES = ("%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%d"), ("", " %H:%M", " %H:%M:%S")
DATES = [day + time for day in DAYS for time in TIMES]


def column_kinds(schema: Any) -> dict[str, str]:
    """What each column of a schema of pyarrow is to us: a "number", "string", "date" or "other"."""
    is_a, found = arrow().types, {}
    kinds = {
        "number": (is_a.is_integer, is_a.is_floating, is_a.is_boolean, is_a.is_decimal, is_a.is_null),
        "date": (is_a.is_temporal,),
        "string": (is_a.is_string, is_a.is_large_string, is_a.is_string_view, is_a.is_dictionary),
    }
    for field in schema:
        suiting = (kind for kind, tests in kinds.items() if any(test(field.type) for test in tests))
        found[field.name] = next(suiting, "other")
    return found


def chunks_of(records: Iterable[Any], origin: str, kind: str, first: int = 0) -> Iterator[Chunk]:
    """Record batches, beginning with a given row, as chunks."""
    with reading(origin, kind):
        for record in records:
            yield Chunk(as_table(record), origin, first, first)
            first += record.num_rows


def file_source(path: Path, kind: str, origin: str) -> Source:
    """A Parquet file, or an Arrow (Feather) file, which is mapped into memory."""
    files = arrow("pyarrow.fs").LocalFileSystem(use_mmap=kind == "Arrow")
    layout = "parquet" if kind == "Parquet" else "ipc"
    with reading(origin, kind):
        dataset = arrow("pyarrow.dataset").dataset(str(path), format=layout, filesystem=files)
    return dataset_source(dataset, kind, origin)


def dataset_source(dataset: Any, kind: str = "dataset", origin: str = "the dataset") -> Source:
    """A dataset of pyarrow; of a Parquet file, row groups before the row that is wanted stay unread."""
    module = arrow("pyarrow.dataset")
    layout = getattr(dataset, "format", None)
    # The defaults would hold dozens of batches, or whole row groups, in memory.
    few: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1}
    if isinstance(layout, module.ParquetFileFormat):
        few["fragment_scan_options"] = module.ParquetFragmentScanOptions(pre_buffer=False)

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        wanted, first = dataset, 0
        if kind == "Parquet":
            (file,) = dataset.get_fragments()
            ends = list(accumulate(group.num_rows for group in file.row_groups))
            skipped = sum(end <= start for end in ends)
            wanted = file.subset(row_group_ids=list(range(skipped, len(ends))))
            first = ends[skipped - 1] if skipped else 0
        records = wanted.to_batches(columns=columns.names, batch_size=size, **few)
        return chunks_of(records, origin, kind, first)

    is_counted = isinstance(layout, (module.ParquetFileFormat, module.IpcFileFormat))
    with reading(origin, kind):  # names that are not UTF-8 fail here
        n_rows = dataset.count_rows() if is_counted else None
        sample = as_table(dataset.head(SAMPLE_ROWS, batch_size=SAMPLE_ROWS, **few))
        return Source(kind, origin, read, sample, n_rows, kinds=column_kinds(dataset.schema))


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


def csv_source(path: Path, origin: str, how: Reading, ending: str = ".csv") -> Source:
    """A CSV file, compressed or not, or a file that can be made one; the separator is told from its
    first lines. Without a header the columns are called column1, column2 and so on.
    """
    made, lines, sheets = None, None, dict[str, list[str]]()
    spaced = ending == ".txt" and separator_of(_beginning(path, origin, False)[1], spaces=True) == " "
    if spaced or ending in (".xlsx", ".jsonl"):
        made, origin, lines, sheets = as_csv(path, ending, origin, how)
        path = Path(made.name)
    if ending == ".jsonl":
        how = replace(how, header=True)
    elif lines is not None and how.header:
        lines = lines[1:]
    file = _CsvFile(path, origin, how, made, lines)
    with reading(origin, "CSV"):  # names that are not UTF-8 fail here
        sample = as_table(file.sample)
    found = Source("CSV", origin, file.read, sample, kinds=file.kinds, line_of=file.line_of)
    return replace(found, missing=how.missing, sheets=sheets)


def _beginning(path: Path, origin: str, header: bool) -> tuple[str, list[str], int, bool]:
    """The first line that is not blank, to the end of its quotes, some lines from it on, how many lines
    there are before the rows, and whether there are rows.
    """
    try:
        with text_stream(path) as stream:
            block = stream.read(BLOCK_BYTES)
    except OSError as error:
        if error.errno is not None:
            raise
        raise _refused(origin, "it is damaged, or not compressed.") from error
    if not block.strip():
        raise _refused(origin, "it is empty, and needs a line of names and lines of numbers.")
    if b"\0" in block:
        raise _refused(origin, "it is not text.")
    lines = block.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.strip())
    ends = range(first + 1, min(first + MOST_HEADER_LINES, len(lines)) + 1)
    closed = (end for end in ends if b"".join(lines[first:end]).count(b'"') % 2 == 0)
    end = next(closed, first + 1)
    has_rows = not header or any(line.strip() for line in lines[end:])
    some = [line.decode("utf-8-sig", "replace") for line in lines[first : first + SNIFFED_LINES]]
    try:
        record = b"".join(lines[first:end]).decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _wrong_encoding(origin) from None
    return record, some, end if header else first, has_rows


def _refused(origin: str, why: str) -> ValueError:
    return ValueError(f"{origin} cannot be read as CSV: {why}")


def _wrong_encoding(origin: str) -> ValueError:
    command = f"iconv -f latin1 -t utf-8 {origin} > utf8.csv"
    return _refused(origin, f"it is not UTF-8 text: convert it, for example with '{command}'.")


class _CsvFile:
    """Where a file is, and what its first block says of it.

    ``made`` is the temporary file, if it is one, and ``lines`` are then those on which rows begin.
    """

    def __init__(self, path: Path, origin: str, how: Reading, made: Any, lines: Any) -> None:
        self.path, self.origin, self.how, self.made, self.lines = path, origin, how, made, lines
        first, beginning, self.skipped, self.has_rows = _beginning(path, origin, how.header)
        self.delimiter = separator_of(beginning)
        fields = next(csv.reader(first.splitlines(keepends=True), delimiter=self.delimiter), [])
        self.names = fields if how.header else [f"column{i + 1}" for i in range(len(fields))]
        with named(origin):
            refuse_duplicates(self.names)
        if self.has_rows:
            reader = self._open()
            self.schema, self.sample = reader.schema, reader.read_next_batch().slice(0, SAMPLE_ROWS)
            if any(arrow().types.is_binary(each.type) for each in self.schema):
                raise _wrong_encoding(origin)  # pyarrow takes text for bytes if it is not UTF-8
        else:
            self.schema = arrow().schema([(name, arrow().float64()) for name in self.names])
            self.sample = self.schema.empty_table()
        self.kinds, self.rewritten = column_kinds(self.schema), dict[str, Reading]()
        if how.rewrites and self.has_rows:
            self._find_rewritten()

    def _find_rewritten(self) -> None:
        """Columns whose first block has numbers when these are written anew."""
        is_a, pyarrow = arrow().types, arrow()
        # With points between thousands, what looks like a number may be another one.
        unsure = is_a.is_floating if self.how.thousands == "." else is_a.is_null
        names = [each.name for each in self.schema if is_a.is_string(each.type) or unsure(each.type)]
        if not names:
            return
        record = next(iter(self._open(names, dict.fromkeys(names, pyarrow.string()))))
        for name in names:
            place, text = self.names.index(name), self._present(record.column(name), is_number=True)
            # Units may stand beside numbers that are plain ones without them, whatever the marks are.
            for how in (self.how, replace(self.how, decimal=".", thousands="")):
                try:
                    values = how.plain(text).cast(pyarrow.float64())
                except pyarrow.ArrowInvalid:
                    continue
                self.kinds[name], self.rewritten[name] = "number", how
                self.schema = self.schema.set(place, pyarrow.field(name, values.type))
                self.sample = self.sample.set_column(place, name, values.slice(0, SAMPLE_ROWS))
                break

    def _open(self, names: Any = None, types: Any = None, threads: bool = True) -> Any:
        """A reader of record batches; without types they are guessed from the first block."""
        reader, size = arrow("pyarrow.csv"), BLOCK_BYTES
        options = {"column_names": self.names, "skip_rows": self.skipped, "use_threads": threads}
        try:
            return reader.open_csv(
                text_stream(self.path),
                reader.ReadOptions(block_size=size, **options),
                reader.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                reader.ConvertOptions(
                    include_columns=names,
                    column_types=types,
                    null_values=self._absent,
                    timestamp_parsers=[reader.ISO8601, *(DATES if self.how.dates else ())],
                ),
            )
        except (arrow().ArrowInvalid, UnicodeDecodeError) as error:
            raise self._explained(names, types, error) from error

    @property
    def _absent(self) -> list[str]:
        """Cells of columns of numbers that stand for nothing."""
        return [*arrow("pyarrow.csv").ConvertOptions().null_values, *self.how.missing]

    def read(self, start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        """Chunks from the first row on: where a later one begins in the text is not known."""
        return chunks_of(self._records(columns) if self.has_rows else (), self.origin, "CSV")

    def _records(self, columns: ColumnSelection) -> Iterator[Any]:
        """Record batches.

        Features become float64: later rows may have a point. Other numbers are read as strings and then
        parsed, so that large whole ones stay what they are.
        """
        pyarrow = arrow()
        names = self.names if columns.names is None else columns.names
        features = set(names if columns.features is None else columns.features)
        types = {name: self.schema.field(name).type for name in names}
        text = []  # neither features nor wanted as they are written
        for name, guess in types.items():
            if name in features and name not in self.rewritten:
                types[name] = guess if pyarrow.types.is_boolean(guess) else pyarrow.float64()
            elif name in columns.strings:
                types[name] = pyarrow.string()
            elif self.kinds[name] == "number" or guess == pyarrow.string():
                types[name] = pyarrow.string()
                text.append(name)
        before = 0
        try:
            for record in self._open(names, types):
                for name in text:
                    values = self._with_gaps(record.column(name), name, before)
                    record = record.set_column(names.index(name), name, values)
                before += record.num_rows
                yield record
        except (pyarrow.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._explained(names, types, error) from error

    def _present(self, text: Any, is_number: bool) -> Any:
        """Strings without those that stand for nothing, and numbers without blanks around them."""
        compute, absent = arrow("pyarrow.compute"), ["", *self.how.missing]
        if is_number:
            text, absent = compute.utf8_trim_whitespace(text), self._absent
        return compute.if_else(compute.is_in(text, arrow().array(absent)), None, text)

    def _with_gaps(self, text: Any, name: str, before: int = 0) -> Any:
        """Strings without the empty ones; as numbers if the first block has numbers there."""
        pyarrow, is_number = arrow(), self.kinds[name] == "number"
        guess, text = self.schema.field(name).type, self._present(text, is_number)
        written = text
        if name in self.rewritten:
            text = self.rewritten[name].plain(text)
        kinds = [pyarrow.int64(), pyarrow.uint64(), pyarrow.float64()]
        if not is_number or pyarrow.types.is_boolean(guess):
            kinds = [guess]
        for kind in kinds:
            try:
                return text.cast(kind)
            except pyarrow.ArrowInvalid as failed:
                error = failed
        for row, value in enumerate(text.to_pylist()):
            if is_number and value is not None and not is_number_text(value):
                raise self._no_number(before + row, name, written[row].as_py()) from error
        raise self._explained([name], {name: kinds[-1]}, error) from error

    def _no_number(self, row: int, name: str, value: str) -> CellError:
        where = f"line {self.line_of(row)} has {shortened(value, 60)!r} in column {name!r}"
        return CellError(str(_refused(self.origin, f"{where}, which is not a number.")), name, value)

    def line_of(self, row: int) -> int:
        """The line on which a row begins: blank lines and line breaks inside of quotes are lines too."""
        if self.lines is not None:
            return int(self.lines[row])
        wanted, before = row + self.how.header, 0
        with text_stream(self.path) as stream:
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

    def _explained(self, names: Any, types: Any, error: Exception) -> ValueError:
        """What is wrong and on which line. Only a reader without threads knows the line: read again."""
        if "Row #" not in str(error) and types is not None and not isinstance(error, UnicodeError):
            try:
                for _ in self._open(names, types, threads=False):
                    pass
            except ValueError as again:  # that is what errors of pyarrow are, and ours
                error = again if again.__cause__ is None else again.__cause__  # type: ignore[assignment]
        text = " ".join(str(error).split())
        # Arrow shows the replacement character for bytes that are no letter.
        if isinstance(error, UnicodeError) or "UTF8" in text or "\ufffd" in text:
            return _wrong_encoding(self.origin)
        row = re.search(r"Row #(\d+)", text)
        place = int(row[1]) - 1 - self.skipped if row else 0
        bad = re.search(r"column #(\d+).*invalid value '(.*)'", text)
        if bad and row:
            return self._no_number(place, self.names[int(bad[1])], bad[2])
        fields, why = re.search(r"Expected (\d+) columns, got (\d+)", text), f"{text:.200}"
        if "straddl" in text:
            why = "a line has more than 8 MB: is a quote not closed?"
        elif fields:
            line = f"line {self.line_of(place)}" if row else "a line"
            why = f"{line} has {fields[2]} fields, the others have {fields[1]}."
        return _refused(self.origin, why)
