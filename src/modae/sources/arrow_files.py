"""Sources that pyarrow reads: Parquet, Arrow and CSV files, datasets, tables and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

from modae.sources.sources import SAMPLE_ROWS, Piece, Source, Wanted, once_source
from modae.sources.tables import column_of, library_of


def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or one sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise ImportError(
            'Parquet, Arrow and CSV files need pyarrow: pip install "modae[arrow]"'
        ) from missing


def kept_column(table: Any, name: str) -> Any:
    """A column that is passed through, in an array of pyarrow: gaps and time zones stay as they are."""
    library = library_of(table)
    if library == "pyarrow":
        return column_of(table, name)
    pyarrow = arrow()
    if library == "polars":
        return table[name].to_arrow()
    try:
        values = pyarrow.Array.from_pandas(table[name])
    except pyarrow.lib.ArrowException as reason:
        raise ValueError(f"column {name!r} cannot be kept: {reason}") from reason
    return values.combine_chunks() if hasattr(values, "combine_chunks") else values


@contextmanager
def reading(origin: str, kind: str) -> Iterator[None]:
    """Errors of pyarrow name the file."""
    errors = arrow().lib
    try:
        yield
    except (errors.ArrowException, OSError, UnicodeDecodeError) as reason:
        if isinstance(reason, FileNotFoundError):
            raise
        raise ValueError(f"{origin} cannot be read as {kind}: {reason}") from reason


def _source(kind: str, path: Path, schema: Any, sample: Any, n_rows: int | None, read: Any) -> Source:
    """A file whose record batches come from ``read(start, wanted, size)``, each with its first row."""
    origin = str(path)

    def pieces(start: int, wanted: Wanted | None, size: int) -> Iterator[Piece]:
        with reading(origin, kind):
            for first, record in read(start, wanted, size):
                yield Piece(record, origin, first, first)

    with reading(origin, kind):  # names that are not UTF-8 fail here
        names = tuple(schema.names)
    return Source(kind, origin, pieces, sample, n_rows, names)


def _placed(records: Iterable[Any], first: int = 0) -> Iterator[tuple[int, Any]]:
    """Record batches with the index of their first row."""
    for record in records:
        yield first, record
        first += record.num_rows


def names_in(wanted: Wanted | None) -> list[str] | None:
    """What pyarrow calls columns; None is all of them."""
    return None if wanted is None else wanted.names


def parquet_source(path: Path) -> Source:
    """A Parquet file; row groups before the row that is wanted are not read."""
    parquet = arrow("pyarrow.parquet")
    with reading(str(path), "Parquet"), parquet.ParquetFile(path) as file:
        counts = [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)]
        schema = file.schema_arrow
        sample = next(file.iter_batches(SAMPLE_ROWS), schema.empty_table())
    ends = list(accumulate(counts))

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[tuple[int, Any]]:
        skipped = sum(end <= start for end in ends)
        groups = range(skipped, len(ends))
        with parquet.ParquetFile(path) as opened:
            records = opened.iter_batches(size, row_groups=groups, columns=names_in(wanted))
            yield from _placed(records, ends[skipped - 1] if skipped else 0)

    return _source("Parquet", path, schema, sample, sum(counts), read)


def ipc_source(path: Path) -> Source:
    """An Arrow or Feather file, mapped into memory."""
    ipc, pyarrow = arrow("pyarrow.ipc"), arrow()

    def records(columns: Sequence[str] | None) -> Iterator[Any]:
        with pyarrow.memory_map(str(path)) as mapped, ipc.open_file(mapped) as file:
            for place in range(file.num_record_batches):
                record = file.get_batch(place)
                yield record if columns is None else record.select(columns)

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[tuple[int, Any]]:
        return _placed(records(names_in(wanted)))

    with reading(str(path), "Arrow"):
        with pyarrow.memory_map(str(path)) as mapped, ipc.open_file(mapped) as file:
            schema = file.schema
        n_rows = arrow("pyarrow.dataset").dataset(path, format="ipc").count_rows()
        sample = next(records(None), schema.empty_table()).slice(0, SAMPLE_ROWS)
    return _source("Arrow", path, schema, sample, n_rows, read)


def csv_source(path: Path) -> Source:
    """A CSV file with a line of names. Whole numbers become float64: later rows may have a point."""
    csv, pyarrow = arrow("pyarrow.csv"), arrow()
    with reading(str(path), "CSV"), csv.open_csv(path) as file:
        schema = file.schema
        sample = next(iter(file), schema.empty_table()).slice(0, SAMPLE_ROWS)
        whole = [field.name for field in schema if pyarrow.types.is_integer(field.type)]

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[tuple[int, Any]]:
        features = set(whole) & set(wanted.features if wanted else whole)
        types = {name: pyarrow.float64() for name in features}
        convert = csv.ConvertOptions(column_types=types, include_columns=names_in(wanted))
        with csv.open_csv(path, convert_options=convert) as opened:
            yield from _placed(map(_with_gaps, opened))

    return _source("CSV", path, schema, sample, None, read)


def _with_gaps(record: Any) -> Any:
    """A record batch of a CSV file where an empty text is a missing value, as it is for numbers."""
    pyarrow, compute = arrow(), arrow("pyarrow.compute")
    for place, column in enumerate(record.schema):
        if pyarrow.types.is_string(column.type):
            words = record.column(place)
            gaps = compute.equal(words, "")
            filled = compute.if_else(gaps, pyarrow.scalar(None, column.type), words)
            record = record.set_column(place, column, filled)
    return record


FILES: dict[str, Callable[[Path], Source]] = {
    ".parquet": parquet_source,
    ".arrow": ipc_source,
    ".feather": ipc_source,
    ".csv": csv_source,
}
"""How the name of a file ends -> the function that opens it."""


def arrow_source(thing: Any) -> Source:
    """A dataset, or a reader of record batches, which can be read one time only."""
    dataset = arrow("pyarrow.dataset")
    if isinstance(thing, arrow().RecordBatchReader):
        return once_source(thing)
    if not isinstance(thing, dataset.Dataset):
        raise TypeError(
            f"source must be a Table, RecordBatch, RecordBatchReader or Dataset of pyarrow, got "
            f"{type(thing).__name__}."
        )
    counted = isinstance(
        getattr(thing, "format", None), (dataset.ParquetFileFormat, dataset.IpcFileFormat)
    )

    def read(start: int, wanted: Wanted | None, size: int) -> Iterator[tuple[int, Any]]:
        # Few batches at a time: the default would hold dozens of them in memory.
        return _placed(
            thing.to_batches(
                columns=names_in(wanted), batch_size=size, batch_readahead=1, fragment_readahead=1
            )
        )

    n_rows = thing.count_rows() if counted else None
    sample = thing.head(SAMPLE_ROWS)
    return _source("dataset", Path("the dataset"), thing.schema, sample, n_rows, read)
