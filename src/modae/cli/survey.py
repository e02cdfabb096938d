"""One pass over a table before anything is fitted: scales, categories, targets, and a sample of rows.

Where the table is small the sample is all of it, and no second pass is needed; where it is large the
sample is one random row of every 2, 4, 8, ..., so that memory is bounded whatever their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.preprocessing import StandardScaler

from modae.cli.errors import Mistake, listed
from modae.cli.tables import Batch, Table, Wanted

IN_MEMORY = 128 * 2**20
"""Bytes of rows up to which a table is kept in memory; larger ones are read twice."""

MOST_CATEGORIES = 1000
"""More different words than this in one column are taken for an id."""

WORD_BYTES = 64
"""About as much as a word takes in a frame."""

REMEDY = "fill it, or use --impute"
"""What to do about a missing value, where a model is fitted."""

TOO_DIFFERENT = 10.0
"""Ratio of two standard deviations from which on columns are standardised."""


class Sample:
    """One random row of each 2, 4, 8, ...: all up to a limit, a quarter of that for larger tables."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.stride = IN_MEMORY if limit is None else limit, 1
        self._parts: list[tuple[np.ndarray, Any]] = []
        self._size = 0

    def add(self, rows: Any, start: int) -> None:
        """Take the next rows; when there are too many, keep one of two neighbours."""
        self._keep(np.arange(start, start + rows.shape[0]), rows)
        while self._size > self.limit and len(self.places) > 1:
            self.limit = self.limit // 4 if self.stride == 1 else self.limit
            self.stride *= 2
            parts, self._parts, self._size = self._parts, [], 0
            for places, part in parts:
                self._keep(places, part)

    def _keep(self, places: np.ndarray, rows: Any) -> None:
        """Of these rows, those that are drawn at the stride of now."""
        drawn = _drawn(places, self.stride)
        part = rows if drawn.all() else rows[drawn]  # a copy: what was left out is freed
        self._size += _bytes(part)
        if part.shape[0]:
            self._parts.append((places[drawn], part))

    @property
    def places(self) -> np.ndarray:
        """Which rows of the table were kept."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *[places for places, _ in self._parts]])

    @property
    def rows(self) -> Any:
        """All that was kept."""
        if len(self._parts) != 1:
            self._parts = [(self.places, _joined([part for _, part in self._parts]))]
        return self._parts[0][1]

    @property
    def is_whole(self) -> bool:
        """Whether every row is there."""
        return self.stride == 1


def _drawn(places: np.ndarray, stride: int) -> np.ndarray:
    """Which rows are in the sample: of two halves of each block, and of their halves, a random one.

    Rows at equal distances would be wrong: in a table that alternates they all have the same class.
    The draw depends on the place of a row alone, so that batches of any size give the same sample.
    """
    drawn = np.ones(len(places), dtype=bool)
    for level in range(1, stride.bit_length()):
        drawn &= _bits(places >> level, level) == (places >> (level - 1)) & 1
    return drawn


def _bits(blocks: np.ndarray, level: int) -> np.ndarray:
    """One random bit for each block: its number, stirred by multiplications and shifts (splitmix64)."""
    mixed = (blocks.astype(np.uint64) + np.uint64(level << 56)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) & np.uint64(1)).astype(np.intp)


@dataclass(eq=False)
class Survey:
    """What is known of a table after one pass.

    ``scaler`` has the means and deviations of the columns of numbers (missing values left out),
    ``categories`` how often each word occurs in each column of words.
    """

    table: Table
    wanted: Wanted
    scaler: StandardScaler
    impute: bool = False
    remedy: str = REMEDY
    n_rows: int = 0
    n_missing: int = 0
    categories: dict[str, Counter[str]] = field(default_factory=dict)
    sample: Sample = field(default_factory=Sample)
    _targets: list[np.ndarray] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        """Look at the next rows."""
        words = [name for name in _names(batch.rows) if name in self.wanted.words]
        numbers = batch.rows.drop(columns=words) if words else batch.rows
        self._count_words(batch, words)
        if numbers.shape[1]:
            self._check(numbers, batch.start)
            with np.errstate(invalid="ignore", over="ignore"):  # looked at when all rows were read
                self.scaler.partial_fit(numbers)
        if batch.target is not None:
            self._targets.append(batch.target)
        self.sample.add(batch.rows, batch.start)
        self.n_rows += batch.rows.shape[0]

    @property
    def targets(self) -> np.ndarray:
        """The targets of all rows."""
        return np.concatenate(self._targets)

    def _count_words(self, batch: Batch, words: list[str]) -> None:
        for name in words:
            values = batch.rows[name]
            if values.isna().any():
                self._missing(name, batch.start + int(values.isna().to_numpy().argmax()))
                self.n_missing += int(values.isna().sum())
            counter = self.categories.setdefault(name, Counter())
            counter.update(values.dropna())
            if len(counter) > MOST_CATEGORIES:
                raise Mistake(
                    f"{self.table.label}: column {name!r} has more than {MOST_CATEGORIES:,} different "
                    f"words: if it is an id, leave it out with --drop {name!r}."
                )

    def _check(self, numbers: Any, start: int) -> None:
        """No infinite values; missing ones only if they will be filled."""
        values = numbers.data if issparse(numbers) else np.asarray(numbers)
        if np.isfinite(values.sum(dtype=np.float64)):
            return  # NaN and infinity would be in the sum
        if issparse(numbers):
            raise Mistake(f"{self.table.label} has entries that are not finite: correct them.")
        for infinite, test in ((True, np.isinf), (False, np.isnan)):
            places = np.argwhere(test(values))
            if len(places):
                row, column = places[0]
                name = (_names(numbers) or [*map(str, range(values.shape[1]))])[column]
                self._infinite(name, start + row) if infinite else self._missing(name, start + row)
                self.n_missing += len(places)

    def _infinite(self, name: str, row: int) -> None:
        place = self.table.place(int(row))
        raise Mistake(f"{self.table.label}: column {name!r} is infinite in {place}: correct it.")

    def _missing(self, name: str, row: int) -> None:
        if not self.impute:
            raise Mistake(
                f"{self.table.label}: column {name!r} has no value in {self.table.place(int(row))}: "
                f"{self.remedy}."
            )


def survey(
    table: Table,
    wanted: Wanted,
    impute: bool,
    advance: Callable[[int], None] = lambda rows: None,
    remedy: str = REMEDY,
) -> Survey:
    """Read the table once."""
    sparse = issparse(getattr(table, "rows", None))
    found = Survey(table, wanted, StandardScaler(with_mean=not sparse), impute, remedy)
    for batch in table.batches(wanted):
        found.add(batch)
        advance(batch.rows.shape[0])
    if found.n_rows == 0:
        raise Mistake(f"{table.label} has no rows.")
    _check_columns(found)
    return found


def _check_columns(found: Survey) -> None:
    """Every column has values, and a variance."""
    variances = getattr(found.scaler, "var_", np.zeros(0))
    seen = np.broadcast_to(getattr(found.scaler, "n_samples_seen_", 0), variances.shape)
    names = getattr(found.scaler, "feature_names_in_", np.arange(len(variances)))
    huge = np.flatnonzero(~np.isfinite(variances) & (seen > 0))
    if len(huge):
        raise Mistake(
            f"{found.table.label}: column {str(names[huge[0]])!r} has numbers whose squares are too "
            "large for a computer (beyond 1e150): correct or rescale them."
        )
    empty = np.flatnonzero(np.isnan(variances))
    if len(empty):
        raise Mistake(
            f"{found.table.label}: no row has a value in {listed(names[empty])}: "
            f"leave it out with --drop {names[empty[0]]}."
        )


@dataclass(frozen=True)
class Scales:
    """How much the deviations of the columns differ; constant columns do not count."""

    ratio: float
    largest: str
    smallest: str

    @property
    def differ(self) -> bool:
        """Whether the largest would drown the others."""
        return self.ratio > TOO_DIFFERENT

    @classmethod
    def of(cls, scaler: StandardScaler) -> Scales:
        """From a scaler that has seen all rows."""
        deviations = np.sqrt(getattr(scaler, "var_", np.zeros(0)))
        means = getattr(scaler, "mean_", None)  # there is none before the first number, or if sparse
        least = 0.0 if means is None else 1e-9 * np.abs(means)
        varying = np.flatnonzero(deviations > least)
        if not len(varying):
            return cls(1.0, "", "")
        order = varying[np.argsort(deviations[varying])]
        names = getattr(scaler, "feature_names_in_", [f"column {i}" for i in range(len(deviations))])
        low, high = deviations[order[0]], deviations[order[-1]]
        return cls(float(high / low), f"{names[order[-1]]} {high:.2g}", f"{names[order[0]]} {low:.2g}")


def _names(rows: Any) -> list[str]:
    return list(getattr(rows, "columns", ()))


def _bytes(rows: Any) -> int:
    if issparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if isinstance(rows, np.ndarray):
        return rows.nbytes
    return rows.shape[0] * sum(WORD_BYTES if kind.kind == "O" else kind.itemsize for kind in rows.dtypes)


def _joined(parts: list[Any]) -> Any:
    if issparse(parts[0]):
        return vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
