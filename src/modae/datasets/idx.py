"""MNIST as its original IDX files, gzip or not.

An IDX file of bytes begins with 0, 0, 8 and its number of dimensions, then has each dimension as four
bytes, the high one first, and then the bytes themselves.
"""

from __future__ import annotations

import gzip
import os
import zlib
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from modae.datasets.sources import Digits, checked_digits

PARTS = ("train", "t10k")
_CONTENTS = {"images": 3, "labels": 1}
"""What a file holds -> how many dimensions it has."""


def idx_names(part: str, content: str) -> list[str]:
    """The names under which a file is looked for.

    Examples
    --------
    >>> from modae.datasets.idx import idx_names
    >>> idx_names("train", "labels")  # doctest: +NORMALIZE_WHITESPACE
    ['train-labels-idx1-ubyte', 'train-labels-idx1-ubyte.gz',
     'train-labels.idx1-ubyte', 'train-labels.idx1-ubyte.gz']
    """
    return [
        f"{part}-{content}{separator}idx{_CONTENTS[content]}-ubyte{ending}"
        for separator, ending in product("-.", ("", ".gz"))
    ]


def _find(directory: Path, part: str, content: str) -> Path | None:
    candidates = (directory / name for name in idx_names(part, content))
    return next((path for path in candidates if path.is_file()), None)


def has_idx_files(directory: Path) -> bool:
    """Whether there is any of the files, so that this is a directory of IDX files."""
    return any(_find(directory, part, content) for part, content in product(PARTS, _CONTENTS))


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
    for part in PARTS:
        images, labels = (_find(directory, part, content) for content in _CONTENTS)
        if images is not None and labels is not None:
            pixels, classes = read_idx(images, 3), read_idx(labels, 1)
            parts.append(checked_digits(f"{images} and its labels", pixels, classes))
        elif images is not None or labels is not None:
            missing = "labels" if labels is None else "images"
            raise FileNotFoundError(
                f"{directory} has one of the two files of {part} but not the {missing}: looked for "
                f"{', '.join(idx_names(part, missing))}."
            )
    stacked = (np.concatenate([getattr(part, content) for part in parts]) for content in _CONTENTS)
    return Digits(str(directory), *stacked)


def read_idx(path: str | os.PathLike[str], n_dimensions: int) -> NDArray[np.uint8]:
    """The array in one IDX file of unsigned bytes, unpacked if need be, whatever its name says."""
    content = Path(path).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as reason:
            raise ValueError(
                f"{path}: expected a whole gzip file, found a broken one ({reason})."
            ) from reason
    magic = bytes([0, 0, 8, n_dimensions])
    if content[:4] != magic:
        raise ValueError(
            f"{path}: expected an IDX file that begins with the bytes {magic.hex(' ')}, found "
            f"{content[:4].hex(' ') or 'an empty file'}."
        )
    start = 4 + 4 * n_dimensions
    if len(content) < start:
        raise ValueError(
            f"{path}: expected a header of {start} bytes, found {len(content)} bytes in all."
        )
    shape = np.frombuffer(content[4:start], dtype=">u4").tolist()
    expected = start + prod(shape)
    if len(content) != expected:
        raise ValueError(
            f"{path}: expected {expected} bytes for the shape {tuple(shape)} in its header, found "
            f"{len(content)}."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
