"""Sources that pyarrow reads: Parquet and Arrow files, and datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

from modae.sources.frames import as_table
from modae.sources.source import SAMPLE_ROWS, Chunk, ColumnSelection, Source
from modae.utils.extras import require


def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or one sentence that says how to get it."""
    require("pyarrow", extra="arrow", purpose="Parquet, Arrow and CSV files")
    return import_module(module)


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
    is_a = arrow().types
    kinds = {
        "number": (is_a.is_integer, is_a.is_floating, is_a.is_boolean, is_a.is_decimal, is_a.is_null),
        "date": (is_a.is_temporal,),
        "string": (is_a.is_string, is_a.is_large_string, is_a.is_string_view, is_a.is_dictionary),
    }
    return next((name for name, tests in kinds.items() if any(test(kind) for test in tests)), "other")


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
        return Source(kind, origin, read, sample, n_rows, schema=dataset.schema)
