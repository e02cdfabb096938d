"""One pass over a table before anything is fitted: scales, categories, targets, and a sample of rows.

Where the table is small the sample is all of it, and no second pass is needed; where it is large the
sample is random rows, of a number that bounded memory holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.preprocessing import StandardScaler

from modae.cli.errors import UserError
from modae.cli.tables import TypedTable
from modae.ensembles.votes import stratified
from modae.sources.frames import missing_in
from modae.sources.source import Batch, ColumnSelection
from modae.utils.text import listed

IN_MEMORY = 128 * 2**20
"""Bytes of rows up to which a table is kept in memory; larger ones are read twice."""

MOST_CATEGORIES = 1000
"""More different strings than this in one column are taken for an id."""

MOST_CLASSES = 50
"""Whole numbers with more different values than this are a quantity, unless --task says otherwise."""


class Sample:
    """All rows up to a limit of bytes; of larger tables random ones that take a quarter of it at most.

    Every row draws a number between 0 and 1, and those below ``share`` are kept; where they are too
    many, ``share`` is halved. So each row has the same chance, whatever the batches are.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.share = IN_MEMORY if limit is None else limit, 1.0
        self._parts: list[tuple[np.ndarray, np.ndarray, Any]] = []
        self._bytes = 0
        self._rng = np.random.default_rng(0)

    def add(self, rows: Any, start: int) -> None:
        """Take the next rows; ``start`` is the index of the first one."""
        places = np.arange(start, start + rows.shape[0])
        self._keep(places, self._rng.random(len(places)), rows)
        while self._bytes > self.limit and sum(len(places) for places, *_ in self._parts) > 1:
            self.limit = self.limit // 4 if self.share == 1.0 else self.limit
            self.share /= 2
            parts, self._parts, self._bytes = self._parts, [], 0
            for part in parts:
                self._keep(*part)

    def _keep(self, places: np.ndarray, draws: np.ndarray, rows: Any) -> None:
        kept = draws < self.share
        if not kept.all():  # a copy, so that the memory of the others is freed
            places, draws, rows = places[kept], draws[kept], rows[kept]
        if len(places):
            self._parts.append((places, draws, rows))
            self._bytes += _bytes(rows)

    @property
    def places(self) -> np.ndarray:
        """Which rows of the table were kept."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *(places for places, *_ in self._parts)])

    @property
    def rows(self) -> Any:
        """All that was kept."""
        if len(self._parts) != 1:
            parts = [rows for *_, rows in self._parts]
            draws = np.concatenate([draws for _, draws, _ in self._parts])
            self._parts = [(self.places, draws, _joined(parts))]
        return self._parts[0][2]


def _bytes(rows: Any) -> int:
    if issparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if isinstance(rows, np.ndarray):
        return rows.nbytes
    return int(rows.memory_usage(index=False, deep=True).sum())


def _joined(parts: list[Any]) -> Any:
    if issparse(parts[0]):
        return vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


@dataclass(eq=False)
class TrainingData:
    """What is known of a table after one pass, and its rows: in memory, or batch by batch.

    ``scaler`` has the means and deviations of the columns of numbers (missing values left out),
    ``categories`` the strings of each column of strings, ``y`` the targets of all rows, ``steps`` what
    happens to rows before they reach the modules.
    """

    table: TypedTable
    columns: ColumnSelection
    scaler: StandardScaler
    n_rows: int = 0
    n_missing: int = 0
    categories: dict[str, set[str]] = field(default_factory=dict)
    sample: Sample = field(default_factory=Sample)
    y: Any = None
    classify: bool = False
    steps: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether the sample has every row."""
        return self.sample.share == 1.0

    @property
    def width(self) -> int:
        """Columns after the steps."""
        return int(self.prepared(self.sample.rows[:1]).shape[1])

    def prepared(self, rows: Any) -> Any:
        """Rows after the steps."""
        for _, step in self.steps:
            rows = step.transform(rows)
        return rows

    def some_rows(self, most: int, seed: int) -> tuple[Any, np.ndarray]:
        """At most so many rows in memory, after the steps, with their targets."""
        rows, places = self.sample.rows, self.sample.places
        if rows.shape[0] > most:
            labels = self.y[places] if self.classify else np.zeros(len(places))
            some = stratified(labels, most, seed)
            places, rows = places[some], rows.iloc[some] if hasattr(rows, "iloc") else rows[some]
        return self.prepared(rows), self.y[places]

    def batches(self, advance: Callable[[int], None]) -> Iterator[Any]:
        """All rows after the steps, read again."""
        for batch in self.table.read(self.columns):
            yield self.prepared(batch.rows)
            advance(batch.rows.shape[0])


def survey(
    table: TypedTable,
    columns: ColumnSelection,
    fills: bool,
    advance: Callable[[int], None] = lambda rows: None,
    remedy: str = "fill it, or use --impute",
) -> TrainingData:
    """Read the table once; missing values are refused, with the remedy, unless they will be filled."""
    is_sparse = issparse(table.source)
    found = TrainingData(table, columns, StandardScaler(with_mean=not is_sparse))
    targets = []
    for batch in table.read(columns):
        found.n_missing += count_missing(table, batch, fills, remedy)
        categories = [name for name in columns.features or () if name in columns.strings]
        for name in categories:
            known = found.categories.setdefault(name, set())
            known.update(batch.rows[name].dropna())
            if len(known) > MOST_CATEGORIES:
                raise UserError(
                    f"{table.label}: column {name!r} has more than {MOST_CATEGORIES:,} different "
                    f"strings: if it is an id, leave it out with --drop {name!r}."
                )
        numbers = batch.rows.drop(columns=categories) if categories else batch.rows
        if numbers.shape[1]:
            with np.errstate(invalid="ignore", over="ignore"):  # looked at when all rows were read
                found.scaler.partial_fit(numbers)
        if batch.target is not None:
            targets.append(batch.target)
        found.sample.add(batch.rows, found.n_rows)
        found.n_rows += batch.rows.shape[0]
        advance(batch.rows.shape[0])
    if found.n_rows == 0:
        raise UserError(f"{table.label} has no rows.")
    found.y = np.concatenate(targets) if targets else None
    _check_variances(found)
    return found


def count_missing(table: TypedTable, batch: Batch, fills: bool, remedy: str = "correct it") -> int:
    """How many values are missing; they are refused unless ``fills``, and infinite ones always."""
    if issparse(batch.rows):
        if not np.isfinite(batch.rows.data).all():
            raise UserError(f"{table.label} has entries that are not finite: correct them.")
        return 0
    import pandas as pd

    rows = pd.DataFrame(batch.rows, copy=False)
    numbers, missing = rows.select_dtypes("number"), rows.isna().to_numpy()
    problems = [("is infinite", np.isinf(numbers.to_numpy()), numbers.columns, "correct it")]
    if not fills:
        problems.append(("has no value", missing, rows.columns, remedy))
    for what, found, names, why in problems:
        if found.any():
            row, column = np.argwhere(found)[0]
            place = table.place(batch.start + int(row))
            raise UserError(f"{table.label}: column {str(names[column])!r} {what} in {place}: {why}.")
    return int(missing.sum())


def _check_variances(found: TrainingData) -> None:
    """Every column has values, and a variance."""
    variances = getattr(found.scaler, "var_", np.zeros(0))
    seen = np.broadcast_to(getattr(found.scaler, "n_samples_seen_", 0), variances.shape)
    names = getattr(found.scaler, "feature_names_in_", np.arange(len(variances)))
    huge = np.flatnonzero(~np.isfinite(variances) & (seen > 0))
    if len(huge):
        raise UserError(
            f"{found.table.label}: column {str(names[huge[0]])!r} has numbers whose squares are too "
            "large for a computer (beyond 1e150): correct or rescale them."
        )
    empty = np.flatnonzero(np.isnan(variances))
    if len(empty):
        raise UserError(
            f"{found.table.label}: no row has a value in {listed(names[empty])}: "
            f"leave it out with --drop {names[empty[0]]}."
        )


def set_target(found: TrainingData, name: str, task: str) -> None:
    """What the target means, classes or numbers, checked: none missing, at least two classes."""
    table = found.table
    missing = missing_targets(found.y)
    if missing.any():
        place = table.place(int(missing.argmax()))
        raise UserError(f"{table.label}: the target {name!r} has no value in {place}: fill it.")
    labels = as_labels(found.y)
    strings, whole = labels.dtype.kind == "U", labels.dtype.kind in "iu"
    if task == "regress" and strings:
        example = str(labels[0])
        raise UserError(f"--task regress: the target {name!r} has strings, such as {example!r}.")
    classes = np.unique(labels)
    few = strings or (whole and len(classes) <= MOST_CLASSES)
    found.classify = task == "classify" or (task == "auto" and few)
    found.y = labels if found.classify else labels.astype(np.float64)
    if not found.classify and not np.isfinite(found.y).all():
        place = table.place(int((~np.isfinite(found.y)).argmax()))
        raise UserError(f"{table.label}: the target {name!r} is infinite in {place}: correct it.")
    if found.classify and len(classes) == 1:
        raise UserError(
            f"{table.label}: the target {name!r} is {str(classes[0])!r} in every row: two classes "
            "are needed."
        )


def missing_targets(values: np.ndarray) -> np.ndarray:
    """Where there is none; in text that is an empty string."""
    missing = missing_in(values)
    return missing | (values == "") if values.dtype.kind == "O" else missing


def as_labels(values: np.ndarray) -> np.ndarray:
    """Numbers where all values are numbers (whole ones where all are whole), strings otherwise."""
    if values.dtype.kind == "O" and not any(isinstance(value, str) for value in values):
        values = np.array(values.tolist())
    if values.dtype.kind in "bui":
        return values if values.max(initial=0) > np.iinfo(np.int64).max else values.astype(np.int64)
    if values.dtype.kind == "f":
        whole = np.isfinite(values).all() and (values == np.round(values)).all()
        return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values
    return np.array([str(value) for value in values])
