"""What the target column means: classes or numbers, and which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from modae.cli.errors import Mistake, listed
from modae.cli.tables import Table

MOST_CLASSES = 50
"""Whole numbers with more different values than this are a quantity, unless --task says otherwise."""


@dataclass(frozen=True, eq=False)
class Target:
    """The target of each row, and whether it is a class or a quantity."""

    name: str
    values: np.ndarray
    classify: bool

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each class has."""
        labels, counts = np.unique(self.values, return_counts=True)
        return dict(zip(map(str, labels), map(int, counts), strict=True))

    def __str__(self) -> str:
        if not self.classify:
            return f"{self.name}, a number from {self.values.min():g} to {self.values.max():g}"
        shown = [f"{label}: {count}" for label, count in list(self.counts.items())[:4]]
        more = ", ..." if len(self.counts) > 4 else ""
        return f"{self.name}, {len(self.counts)} classes ({', '.join(shown)}{more})"


def as_labels(values: np.ndarray) -> np.ndarray:
    """Numbers where all values are numbers (whole ones where all are whole), words otherwise."""
    if values.dtype.kind in "bui":
        return values if values.max(initial=0) > np.iinfo(np.int64).max else values.astype(np.int64)
    if values.dtype.kind == "f":
        whole = np.isfinite(values).all() and (values == np.round(values)).all()
        return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values
    return np.array([str(value) for value in values])


def right_labels(true: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Where a prediction is right: numbers are compared as numbers, and words as words."""
    if told.dtype.kind in "fiub":
        return np.array([_number(value) for value in true.tolist()], dtype=object) == told
    return np.array([str(value) for value in true]) == told.astype(str)


def _number(value: object) -> object:
    """A number, if it can be read as one; whole ones stay whole, however large."""
    for kind in (int, float):
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            continue
    return value


def missing_targets(values: np.ndarray) -> np.ndarray:
    """Where there is none."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([value is None or value != value or value == "" for value in values])
    return np.zeros(len(values), dtype=bool)


def make_target(table: Table, name: str, values: np.ndarray, task: str) -> Target:
    """The target, checked: none missing, at least two classes."""
    missing = missing_targets(values)
    if missing.any():
        place = table.place(int(missing.argmax()))
        raise Mistake(f"{table.label}: the target {name!r} has no value in {place}: fill it.")
    labels = as_labels(values)
    words, whole = labels.dtype.kind == "U", labels.dtype.kind in "iu"
    if task == "regress" and words:
        raise Mistake(f"--task regress: the target {name!r} has words, such as {str(labels[0])!r}.")
    classes = np.unique(labels)
    classify = task == "classify" or (
        task == "auto" and (words or (whole and len(classes) <= MOST_CLASSES))
    )
    if not classify:
        return Target(name, _finite(table, name, labels.astype(np.float64)), False)
    if len(classes) == 1:
        raise Mistake(
            f"{table.label}: the target {name!r} is {str(classes[0])!r} in every row: two classes "
            "are needed."
        )
    return Target(name, labels, True)


def _finite(table: Table, name: str, values: np.ndarray) -> np.ndarray:
    infinite = ~np.isfinite(values)
    if infinite.any():
        place = table.place(int(infinite.argmax()))
        raise Mistake(f"{table.label}: the target {name!r} is infinite in {place}: correct it.")
    return values


def rare_classes(target: Target, least: int) -> str:
    """The classes with fewer rows than that, or nothing."""
    counts = Counter(target.counts)
    return listed([label for label, count in counts.items() if count < least])
