"""Parquet and Arrow, and what CSV shares with them: columns by name, read as numbers or as words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from modae.cli.errors import Mistake, did_you_mean, listed, one_line
from modae.cli.tables import BATCH_BYTES, NUMBER, OTHER, WORD, Batch, Table, Wanted


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
        check_names(self.names, self.label)
        self.kinds = {name: _kind(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
        numbers = [kind for kind in schema.types if _kind(kind) == NUMBER]
        if numbers and all(pa.types.is_float32(kind) for kind in numbers):
            self.floats = pa.float32()

    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Record batches, cut down to the columns that are wanted."""
        features, start = self.features(wanted), 0
        read = list(dict.fromkeys([*features, *self._beside(wanted)]))
        types = {name: pa.string() if name in wanted.words else self.floats for name in features}
        for batch in self._read(read, dict(types)):
            if batch.num_rows:
                yield self._batch(batch, start, wanted, types)
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

    def _batch(self, batch: Any, start: int, wanted: Wanted, types: dict[str, Any]) -> Batch:
        features = {name: self._cast(batch, name, kind) for name, kind in types.items()}
        rows = pa.table(features).to_pandas()
        for name in wanted.words:
            rows[name] = rows[name].astype(object).where(rows[name].notna() & (rows[name] != ""), None)
        target = None if wanted.target is None else self._target(batch, wanted)
        beside = {name: features.get(name, batch.column(name)) for name in wanted.keep}
        return Batch(rows, start, target, pa.table(beside) if beside else None)

    def _target(self, batch: Any, wanted: Wanted) -> np.ndarray:
        """The target as words or as numbers: as the model has it, or as the table if there is none."""
        name = str(wanted.target)
        words = wanted.target_words
        if words is None:
            words = self.kinds[name] != NUMBER
        column = self._cast(batch, name, pa.string()) if words else self._numbers(batch, name)
        return column.to_pandas().to_numpy()

    def _numbers(self, batch: Any, name: str) -> Any:
        """A target of numbers: whole ones keep their type, so that large ones stay what they are."""
        kind = batch.schema.field(name).type
        if pa.types.is_boolean(kind):
            return self._cast(batch, name, pa.int64())
        return batch.column(name) if pa.types.is_integer(kind) else self._cast(batch, name, pa.float64())

    def _cast(self, batch: Any, name: str, kind: Any) -> Any:
        """A column as another type; a slip is the user's to put right."""
        column = batch.column(name)
        if column.type == kind:
            return column
        try:
            return column.cast(kind, safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            wanted = "words" if pa.types.is_string(kind) else "numbers"
            raise Mistake(
                f"{self.label}: column {name!r} has the type {column.type}, and cannot be read as "
                f"{wanted} ({one_line(error):.80}): convert it."
            ) from error

    def neither(self, name: str) -> Mistake:
        """What to say of a column that is neither numbers nor words."""
        return Mistake(f"{self.label}: column {name!r} is neither numbers nor words: --drop it.")

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


def check_names(names: Sequence[str], label: str) -> None:
    """Refuse two columns of one name."""
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
