"""The original files of the benchmarks: text, one image a row, 784 values in [0, 1] and then the label.

Text is slow to read, so each file is read once, a thousand rows at a time, and kept as a binary copy: an
``.npz`` archive of those blocks of rows. The copy remembers size and time of its text, and is made again
when they differ. It is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

import numpy as np

from modae.datasets.digits import SIDE
from modae.datasets.sources import checked_labels
from modae.utils.arrays import Array, Indices
from modae.utils.atomic import atomic_write

N_PIXELS = SIDE * SIDE
_ROWS_AT_ONCE = 1000
_LONGEST_LINE = 100 * N_PIXELS
"""Characters. A file without line ends is refused before it fills the memory."""

_STAMP = "size_and_time_of_text"


@dataclass(frozen=True)
class Originals:
    """The two original files of a benchmark.

    Parameters
    ----------
    train, test : str
        Their names. They are looked for in a directory and in its folder ``50k``, where the original
        archives have some of them.
    n_classes : int
        Labels are 0 to ``n_classes - 1``.
    """

    train: str
    test: str
    n_classes: int

    def are_in(self, directory: Path) -> bool:
        """Whether the training file is there."""
        return _find(directory, self.train) is not None

    def read(
        self, directory: Path, n_samples: int | None, data_home: Path | None
    ) -> tuple[Array, Indices]:
        """The first rows of the training file and then of the test file; None is the training file.

        Returns
        -------
        images : ndarray of shape (n_samples, 28, 28), float32
        labels : ndarray of shape (n_samples,)
        """
        names = [self.train] if n_samples is None else [self.train, self.test]
        blocks = chain.from_iterable(self._blocks(directory, name, data_home) for name in names)
        rows = np.concatenate(list(_first_rows(blocks, n_samples)))
        if n_samples is not None and len(rows) < n_samples:
            raise ValueError(
                f"n_samples must be at most {len(rows)}, the number of rows in {self.train} and "
                f"{self.test} of {directory}, got {n_samples}."
            )
        return rows[:, :-1].reshape(-1, SIDE, SIDE), rows[:, -1].astype(np.intp)

    def _blocks(self, directory: Path, name: str, data_home: Path | None) -> Iterator[Array]:
        text = _find(directory, name)
        if text is None:
            raise FileNotFoundError(
                f"{directory / name} is needed for so many samples, and is not there."
            )
        copy = binary_copy(text, self.n_classes, data_home)
        with copy.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            yield from (archive[key] for key in archive.files if key != _STAMP)


def binary_copy(text: Path, n_classes: int, data_home: Path | None = None) -> Path:
    """The binary copy of a text file, made if there is none or an outdated one.

    Parameters
    ----------
    text : Path
        An ``.amat`` file.
    n_classes : int
        Labels must be 0 to ``n_classes - 1``.
    data_home : Path, optional
        Directory for the copy, made if needed. The default is beside the text.
    """
    home = text.parent if data_home is None else data_home
    copy = home / f"{text.name}.npz"
    status = text.stat()
    stamp = [status.st_size, status.st_mtime_ns]
    if _stamp_of(copy) == stamp:
        return copy
    with text.open(encoding="ascii", errors="replace") as lines:
        try:
            home.mkdir(parents=True, exist_ok=True)
            with atomic_write(copy) as file:
                _save(file, stamp, amat_blocks(text, lines, n_classes))
        except OSError as reason:
            raise OSError(
                f"{copy} could not be written ({reason}): pass a directory that has room as data_home."
            ) from reason
    return copy


def amat_blocks(path: Path, lines: IO[str], n_classes: int) -> Iterator[Array]:
    """Blocks of at most a thousand rows (n, 785), checked; blank lines do not count."""
    rows = (line for line in iter(lambda: lines.readline(_LONGEST_LINE), "") if line.strip())
    n_before = 0
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        yield _checked(path, n_before, _parsed(path, n_before, block), n_classes)
        n_before += len(block)
    if n_before == 0:
        raise ValueError(f"{path}: expected rows of {N_PIXELS} values and a label, found an empty file.")


def _parsed(path: Path, n_before: int, block: list[str]) -> Array:
    """Text as numbers, 785 in each row."""
    for index, line in enumerate(block):
        if len(fields := line.split()) != N_PIXELS + 1:
            raise ValueError(
                f"{path}, row {n_before + index + 1}: expected {N_PIXELS} values and a label, found "
                f"{len(fields)} columns."
            )
    try:
        return _numbers(block)
    except ValueError as reason:
        row = n_before + 1 + next(index for index, line in enumerate(block) if not _is_numeric(line))
        what = str(reason).partition(" at row")[0]  # numpy counts from the start of the block
        raise ValueError(
            f"{path}, row {row}: expected numbers, found something else: {what}."
        ) from reason


def _numbers(lines: list[str]) -> Array:
    return np.loadtxt(lines, dtype=np.float32, comments=None, ndmin=2)


def _is_numeric(line: str) -> bool:
    try:
        _numbers([line])
    except ValueError:
        return False
    return True


def _checked(path: Path, n_before: int, rows: Array, n_classes: int) -> Array:
    """The rows, if pixels and labels are in their ranges."""
    bad, column = np.nonzero(~((rows[:, :-1] >= 0.0) & (rows[:, :-1] <= 1.0)))
    if len(bad):
        raise ValueError(
            f"{path}, row {n_before + bad[0] + 1}: expected values in [0, 1], found "
            f"{rows[bad[0], column[0]]} in column {column[0] + 1}."
        )
    place = f"{path}, rows {n_before + 1} to {n_before + len(rows)}"
    checked_labels(place, rows[:, -1], len(rows), n_classes)
    return rows


def _save(file: IO[bytes], stamp: list[int], blocks: Iterable[Array]) -> None:
    """Write an archive as ``numpy.savez`` does, a block at a time."""
    named = ((f"rows_{index:06d}", block) for index, block in enumerate(blocks))
    with ZipFile(file, "w") as archive:
        for name, array in chain([(_STAMP, np.array(stamp))], named):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _stamp_of(copy: Path) -> list[int] | None:
    """Size and time of the text that was copied; None if there is no copy that can be read."""
    try:
        with copy.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return list(archive[_STAMP])
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return None


def _first_rows(blocks: Iterable[Array], n_rows: int | None) -> Iterator[Array]:
    """Blocks until there are enough rows; no block more is asked for."""
    missing = n_rows
    for block in blocks:
        yield block[:missing]
        if missing is not None and (missing := missing - len(block)) <= 0:
            return


def _find(directory: Path, name: str) -> Path | None:
    candidates = (directory / name, directory / "50k" / name)
    return next((path for path in candidates if path.is_file()), None)
