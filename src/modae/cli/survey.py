"""One pass over a table before anything is fitted: scales, categories, targets, and a sample of rows.

Where the table is small the sample is all of it, and no second pass is needed; where it is large the
sample is every 2nd, 4th, 8th, ... row, so that memory is bounded whatever the number of rows.
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

TOO_DIFFERENT = 10.0
"""Ratio of two standard deviations from which on columns are standardised."""


class Sample:
    """Rows at equal distances: all of them up to a limit, and a quarter of that for larger tables."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.stride = IN_MEMORY if limit is None else limit, 1
        self._parts: list[tuple[int, Any]] = []
        self._size = 0

    def add(self, rows: Any, start: int) -> None:
        """Take the next rows; when there are too many, keep every second one."""
        self._keep(start, rows)
        while self._size > self.limit and self._n_rows > 1:
            self.limit = self.limit // 4 if self.stride == 1 else self.limit
            self.stride *= 2
            parts, self._parts, self._size = self._parts, [], 0
            for first, part in parts:
                self._keep(first, part, self.stride // 2)

    def _keep(self, first: int, rows: Any, apart: int = 1) -> None:
        """Of rows that lie so far apart, those that are on the grid now."""
        skipped = -(first // apart) % (self.stride // apart)
        part = rows[skipped :: self.stride // apart]
        self._size += _bytes(part)
        if part.shape[0]:
            # A copy, or the rows that were left out would stay in memory.
            self._parts.append((first + skipped * apart, part if self.stride == apart else part.copy()))

    @property
    def _n_rows(self) -> int:
        return sum(part.shape[0] for _, part in self._parts)

    @property
    def rows(self) -> Any:
        """All that was kept."""
        if len(self._parts) != 1:
            self._parts = [(0, _joined([part for _, part in self._parts]))]
        return self._parts[0][1]

    @property
    def is_whole(self) -> bool:
        """Whether every row is there."""
        return self.stride == 1


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
            with np.errstate(invalid="ignore"):  # a column without any value yet
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
                "fill it, or use --impute."
            )


def survey(
    table: Table, wanted: Wanted, impute: bool, advance: Callable[[int], None] = lambda rows: None
) -> Survey:
    """Read the table once."""
    sparse = issparse(getattr(table, "rows", None))
    found = Survey(table, wanted, StandardScaler(with_mean=not sparse), impute)
    for batch in table.batches(wanted):
        found.add(batch)
        advance(batch.rows.shape[0])
    if found.n_rows == 0:
        raise Mistake(f"{table.label} has no rows.")
    _check_empty_columns(found)
    return found


def _check_empty_columns(found: Survey) -> None:
    variances = getattr(found.scaler, "var_", np.zeros(0))
    empty = np.flatnonzero(np.isnan(variances))
    if len(empty):
        names = getattr(found.scaler, "feature_names_in_", np.arange(len(variances)))
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
