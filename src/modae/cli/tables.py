"""Tables in files: which columns they have, and their rows in batches of bounded memory.

Two kinds: tables whose columns have names (CSV, Parquet, Arrow; see ``named_tables``) and arrays whose
columns have none (``.npy``, ``.npz``). Each can be read as often as needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import issparse, load_npz

from modae.cli.errors import Mistake, listed

BATCH_BYTES = 16 * 2**20
"""About as much as one batch of numbers takes."""

ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npy", ".npz")

NUMBER, WORD, OTHER = "number", "word", "other"


@dataclass(frozen=True)
class Wanted:
    """What to read: features in this order (None: all), which of them are words, what lies beside.

    ``target_words`` says whether the target is read as words; None leaves that to the table.
    """

    features: tuple[str, ...] | None = None
    words: frozenset[str] = frozenset()
    target: str | None = None
    keep: tuple[str, ...] = ()
    target_words: bool | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: features, the index of the first, the target, and columns to pass through."""

    rows: Any
    start: int
    target: np.ndarray | None = None
    kept: Any = None


class Table(ABC):
    """A table that can be read in batches.

    ``label`` is what messages call it, ``names`` are those of its columns or None, ``kinds`` says which
    of them are numbers, words or neither, ``notes`` are remarks for the user.
    """

    label: str
    names: tuple[str, ...] | None
    kinds: dict[str, str]
    notes: list[str]

    @abstractmethod
    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Read it from the first row to the last."""

    @abstractmethod
    def width(self, wanted: Wanted) -> int:
        """Number of features."""

    def place(self, row: int) -> str:
        """Where a row is, for messages; rows are counted from 1."""
        return f"row {row + 1}"


@dataclass(eq=False)
class ArrayTable(Table):
    """Columns without names: a matrix, dense or sparse, and labels beside it."""

    label: str
    rows: Any
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Slices of the rows."""
        if wanted.keep:
            raise Mistake(f"--keep: the columns of {self.label} have no names: leave it out.")
        n_rows, n_columns = self.rows.shape
        step = max(1, BATCH_BYTES // (8 * max(n_columns, 1)))
        target, column = self._target(wanted.target)
        for start in range(0, n_rows, step):
            rows = _floats(self.rows[start : start + step])
            labels = None if target is None else target[start : start + step]
            if column is not None:
                labels, rows = np.asarray(rows[:, column]), np.delete(rows, column, axis=1)
            yield Batch(rows, start, labels)

    def width(self, wanted: Wanted) -> int:
        """The columns without the target."""
        return self.rows.shape[1] - (self._target(wanted.target)[1] is not None)

    def _target(self, name: str | None) -> tuple[np.ndarray | None, int | None]:
        """Labels of their own, or the index of a column."""
        if name is None:
            return None, None
        if name in self.labels:
            return self.labels[name], None
        n_columns = self.rows.shape[1]
        if issparse(self.rows):
            raise Mistake(
                f"--target {name}: {self.label} is sparse, and a sparse table takes no target: fit it "
                "without, or save the labels beside a dense matrix."
            )
        if not name.lstrip("-").isdigit():
            known = f"one of {listed(self.labels)}" if self.labels else "the index of a column"
            raise Mistake(f"--target {name}: for {self.label} it must be {known}.")
        if not -n_columns <= int(name) < n_columns:
            raise Mistake(f"--target {name}: {self.label} has columns 0 to {n_columns - 1} (or -1).")
        return None, int(name) % n_columns


def open_array(path: Path, label: str, target: str | None) -> ArrayTable:
    """A ``.npy`` file, mapped and not read; or a ``.npz`` file of arrays or of one sparse matrix."""
    try:
        if path.suffix == ".npy":
            return ArrayTable(label, _matrix(np.load(path, mmap_mode="r"), label))
        return _open_npz(path, label, target)
    except (ValueError, EOFError, BadZipFile, KeyError) as error:
        raise Mistake(f"{label} cannot be read: it is damaged, or holds Python objects.") from error


def _open_npz(path: Path, label: str, target: str | None) -> ArrayTable:
    with np.load(path) as archive:
        if {"indices", "indptr", "shape"} <= set(archive.files):
            return ArrayTable(label, load_npz(path).tocsr())
        arrays = {name: archive[name] for name in archive.files}
    labels = {name: array for name, array in arrays.items() if array.ndim == 1}
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if len(matrices) != 1:
        raise Mistake(
            f"{label} must hold one matrix (and 1-d labels), got {listed(arrays) or 'nothing'}."
        )
    rows = _matrix(arrays[matrices[0]], label)
    if target in labels and len(labels[target]) != len(rows):
        raise Mistake(
            f"--target {target}: {len(labels[target])} labels for the {len(rows)} rows of {label}."
        )
    return ArrayTable(label, rows, labels)


def _matrix(array: np.ndarray, label: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise Mistake(
            f"{label} must hold numbers in rows and columns, got {array.ndim} axes of {array.dtype}."
        )
    return array


def _floats(rows: Any) -> Any:
    """Whole numbers become float64, batch by batch: bytes would grow eightfold."""
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
