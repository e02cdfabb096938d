"""The original files of the benchmarks: text, one image a row, 784 values in [0, 1] and then the label.

Text is slow to read. With a ``data_home`` each file is read once and kept there as a binary copy, which
remembers size and time of its text and is made again when they differ. Without one nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from modae.datasets.digits import SIDE
from modae.datasets.sources import checked_labels
from modae.utils.arrays import Array, Indices
from modae.utils.atomic import atomic_write

N_PIXELS = SIDE * SIDE


def find_amat(directory: Path, name: str) -> Path | None:
    """A file in a directory or in its folder ``50k``, where the original archives have some of them."""
    candidates = (directory / name, directory / "50k" / name)
    return next((path for path in candidates if path.is_file()), None)


def read_amat(
    directory: Path, names: Sequence[str], n_samples: int | None, n_classes: int, data_home: Path | None
) -> tuple[Array, Indices]:
    """The first rows of the training file and then of the test file; None is the whole training file.

    Parameters
    ----------
    directory : Path
    names : sequence of str
        Of the training file and of the test file.
    n_samples : int or None
    n_classes : int
    data_home : Path or None
        Where binary copies are kept; None makes none.

    Returns
    -------
    images : ndarray of shape (n_samples, 28, 28), float32
    labels : ndarray of shape (n_samples,), from 0 to ``n_classes - 1``
    """
    rows, missing = np.empty((0, N_PIXELS + 1), dtype=np.float32), n_samples
    for name in names[:1] if n_samples is None else names:
        if missing == 0:
            break
        path = find_amat(directory, name)
        if path is None:
            raise FileNotFoundError(
                f"{directory / name} is needed for so many samples, and is not there."
            )
        rows = np.concatenate([rows, read_rows(path, n_classes, missing, data_home)])
        missing = None if n_samples is None else n_samples - len(rows)
    if missing:
        raise ValueError(
            f"n_samples must be at most {len(rows)}, the number of rows in {' and '.join(names)} "
            f"of {directory}, got {n_samples}."
        )
    return rows[:, :-1].reshape(-1, SIDE, SIDE), rows[:, -1].astype(np.intp)


def read_rows(text: Path, n_classes: int, n_rows: int | None, data_home: Path | None) -> Array:
    """The first rows (n, 785) of a text file, or all: from its binary copy in ``data_home``, if any."""
    if data_home is None:
        return _parsed(text, n_classes, n_rows)
    copy, status = data_home / f"{text.name}.npz", text.stat()
    stamp = [status.st_size, status.st_mtime_ns]
    try:
        with copy.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if archive["size_and_time_of_text"].tolist() == stamp:
                return archive["rows"][:n_rows]
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        pass  # there is no copy, or none that can be read
    rows = _parsed(text, n_classes, None)
    try:
        data_home.mkdir(parents=True, exist_ok=True)
        with atomic_write(copy) as archive_file:
            np.savez(archive_file, size_and_time_of_text=stamp, rows=rows)
    except OSError as reason:
        raise OSError(
            f"{copy} could not be written ({reason}): pass a directory that has room as data_home."
        ) from reason
    return rows[:n_rows]


def _parsed(text: Path, n_classes: int, n_rows: int | None) -> Array:
    """The first rows of the text: 784 numbers in [0, 1] and a label each; blank lines do not count."""
    longest = (
        100 * N_PIXELS
    )  # characters: a file without line ends is refused before it fills the memory
    rows = []
    with text.open(encoding="ascii", errors="replace") as file:
        lines = (line for line in iter(lambda: file.readline(longest), "") if line.strip())
        for number, line in enumerate(islice(lines, n_rows), start=1):
            place, fields = f"{text}, row {number}: expected", line.split()
            if len(fields) != N_PIXELS + 1:
                raise ValueError(f"{place} {N_PIXELS} values and a label, found {len(fields)} columns.")
            try:
                row = np.array(fields, dtype=np.float32)
            except ValueError as reason:
                raise ValueError(f"{place} numbers, found something else: {reason}.") from reason
            outside = np.flatnonzero(~((row[:-1] >= 0.0) & (row[:-1] <= 1.0)))
            if len(outside):
                value, column = row[outside[0]], outside[0] + 1
                raise ValueError(f"{place} values in [0, 1], found {value} in column {column}.")
            rows.append(row)
    if not rows:
        raise ValueError(f"{text}: expected rows of {N_PIXELS} values and a label, found an empty file.")
    stacked = np.array(rows)
    checked_labels(str(text), stacked[:, -1], n_classes)
    return stacked
