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

_UNSIGNED_BYTES = 8
_GZIP = b"\x1f\x8b"

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


def has_idx_files(directory: Path) -> bool:
    """Whether there is any of the files, so that this is a directory of IDX files."""
    return any(_is_there(directory, part) for part in PARTS)


def read_idx_digits(directory: Path) -> Digits:
    """All digits of a directory: those of ``train``, then those of ``t10k``; one part is enough.

    Raises
    ------
    FileNotFoundError
        If a part has images without labels, or labels without images.
    ValueError
        If a file is not what it should be; the message names it.
    """
    parts = [_read_part(directory, part) for part in PARTS if _is_there(directory, part)]
    images = np.concatenate([part.images for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return Digits(str(directory), images, labels)


def read_idx(path: str | os.PathLike[str], n_dimensions: int) -> NDArray[np.uint8]:
    """The array in one IDX file of unsigned bytes; anything that does not fit is an error."""
    content = _content(Path(path))
    magic = bytes([0, 0, _UNSIGNED_BYTES, n_dimensions])
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


def _content(path: Path) -> bytes:
    """The bytes of a file, unpacked if they are packed, whatever its name says."""
    raw = path.read_bytes()
    if not raw.startswith(_GZIP):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as reason:
        raise ValueError(
            f"{path}: expected a whole gzip file, found a broken one ({reason})."
        ) from reason


def _read_part(directory: Path, part: str) -> Digits:
    paths = {content: _find(directory, part, content) for content in _CONTENTS}
    for content, path in paths.items():
        if path is None:
            raise FileNotFoundError(
                f"{directory} has one of the two files of {part} but not the {content}: looked for "
                f"{', '.join(idx_names(part, content))}."
            )
    arrays = {content: read_idx(path, _CONTENTS[content]) for content, path in paths.items() if path}
    return checked_digits(f"{paths['images']} and its labels", arrays["images"], arrays["labels"])


def _is_there(directory: Path, part: str) -> bool:
    return any(_find(directory, part, content) for content in _CONTENTS)


def _find(directory: Path, part: str, content: str) -> Path | None:
    candidates = (directory / name for name in idx_names(part, content))
    return next((path for path in candidates if path.is_file()), None)
