"""Sources that pyarrow reads: Parquet and Arrow files, datasets and readers of record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

from modae.sources.frames import as_table
from modae.sources.source import SAMPLE_ROWS, Chunk, ColumnSelection, Source, once_source


def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or one sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise ImportError(
            'Parquet, Arrow and CSV files need pyarrow: pip install "modae[arrow]"'
        ) from missing


@contextmanager
def reading(origin: str, kind: str) -> Iterator[None]:
    """Errors of pyarrow name the file."""
    errors = arrow().lib
    try:
        yield
    except (errors.ArrowException, OSError, UnicodeError) as reason:
        if getattr(reason, "errno", None) is not None:
            raise  # it comes from the system, not from the content
        raise ValueError(f"{origin} cannot be read as {kind}: {reason}") from reason


def column_kind(kind: Any) -> str:
    """What a type of pyarrow is to us: "number", "string", "date" or "other"."""
    types = arrow().types
    if any(is_a(kind) for is_a in (types.is_integer, types.is_floating, types.is_boolean)):
        return "number"
    if types.is_decimal(kind) or types.is_null(kind):
        return "number"
    if types.is_temporal(kind):
        return "date"
    strings = (types.is_string, types.is_large_string, types.is_string_view, types.is_dictionary)
    return "string" if any(is_a(kind) for is_a in strings) else "other"


Records = Callable[[int, ColumnSelection, int], Iterator[tuple[int, Any]]]
"""(first row wanted, columns, rows at a time) -> record batches with the index of their first row."""


def arrow_source(
    kind: str,
    origin: str,
    schema: Any,
    sample: Any,
    n_rows: int | None,
    read: Records,
    line_of: Any = None,
) -> Source:
    """A source of record batches."""

    def chunks(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        with reading(origin, kind):
            for first, record in read(start, columns, size):
                yield Chunk(as_table(record), origin, first, first)

    with reading(origin, kind):  # names that are not UTF-8 fail here
        return Source(kind, origin, chunks, as_table(sample), n_rows, schema=schema, line_of=line_of)


def numbered(records: Iterable[Any], first: int = 0) -> Iterator[tuple[int, Any]]:
    """Record batches with the index of their first row."""
    for record in records:
        yield first, record
        first += record.num_rows


def parquet_source(path: Path, origin: str) -> Source:
    """A Parquet file; row groups before the row that is wanted are not read."""
    parquet = arrow("pyarrow.parquet")
    with reading(origin, "Parquet"), parquet.ParquetFile(path) as file:
        counts = [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)]
        schema = file.schema_arrow
        sample = next(file.iter_batches(SAMPLE_ROWS), schema.empty_table())
    ends = list(accumulate(counts))

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[tuple[int, Any]]:
        skipped = sum(end <= start for end in ends)
        groups = range(skipped, len(ends))
        with parquet.ParquetFile(path, pre_buffer=False) as opened:
            records = opened.iter_batches(size, row_groups=groups, columns=columns.names)
            yield from numbered(records, ends[skipped - 1] if skipped else 0)

    return arrow_source("Parquet", origin, schema, sample, sum(counts), read)


def ipc_source(path: Path, origin: str) -> Source:
    """An Arrow or Feather file, mapped into memory."""
    ipc, pyarrow = arrow("pyarrow.ipc"), arrow()

    def records(names: list[str] | None) -> Iterator[Any]:
        with pyarrow.memory_map(str(path)) as mapped, ipc.open_file(mapped) as file:
            for place in range(file.num_record_batches):
                record = file.get_batch(place)
                yield record if names is None else record.select(names)

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[tuple[int, Any]]:
        return numbered(records(columns.names))

    with reading(origin, "Arrow"):
        with pyarrow.memory_map(str(path)) as mapped, ipc.open_file(mapped) as file:
            schema = file.schema
        n_rows = arrow("pyarrow.dataset").dataset(path, format="ipc").count_rows()
        sample = next(records(None), schema.empty_table()).slice(0, SAMPLE_ROWS)
    return arrow_source("Arrow", origin, schema, sample, n_rows, read)


def dataset_source(thing: Any) -> Source:
    """A dataset, or a reader of record batches, which can be read one time only."""
    dataset = arrow("pyarrow.dataset")
    if isinstance(thing, arrow().RecordBatchReader):
        return once_source(thing)
    if not isinstance(thing, dataset.Dataset):
        raise TypeError(
            f"source must be a Table, RecordBatch, RecordBatchReader or Dataset of pyarrow, got "
            f"{type(thing).__name__}."
        )

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[tuple[int, Any]]:
        # Few batches at a time: the default would hold dozens of them in memory.
        few = {"batch_size": size, "batch_readahead": 1, "fragment_readahead": 1}
        return numbered(thing.to_batches(columns=columns.names, **few))

    known = (dataset.ParquetFileFormat, dataset.IpcFileFormat)
    n_rows = thing.count_rows() if isinstance(getattr(thing, "format", None), known) else None
    sample = thing.head(SAMPLE_ROWS)
    return arrow_source("dataset", "the dataset", thing.schema, sample, n_rows, read)
