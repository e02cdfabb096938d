"""Grey pictures as PNG, in the few lines that the format takes."""

from __future__ import annotations

import zlib
from base64 import b64encode
from struct import pack

import numpy as np

GREYS = 32
"""Shades of grey: more than one sees in a small picture, and fewer bytes than all 256."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def encoded(image: np.ndarray, low: float, high: float) -> str:
    """An image (height, width) as base64 of a PNG, black at ``low`` and white at ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> encoded(np.eye(2), 0.0, 1.0)[:11]
    'iVBORw0KGgo'
    """
    span = high - low or 1.0
    scaled = np.clip((np.asarray(image, dtype=float) - low) / span, 0.0, 1.0)
    steps = np.round(np.round((GREYS - 1) * scaled) * (255 / (GREYS - 1)))
    return b64encode(_png(steps.astype(np.uint8))).decode()


def _png(pixels: np.ndarray) -> bytes:
    height, width = pixels.shape
    # Eight bits of grey; each line begins with the filter that it was written with: none.
    header = pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), pixels]).tobytes()
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(*part) for part in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
