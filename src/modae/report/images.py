"""The section on images: whether rows are images, what the modules make of some of them, and PNG."""

from __future__ import annotations

import zlib
from base64 import b64encode
from math import isqrt
from struct import pack
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from modae.display.reconstruction import image_sides
from modae.report.charts import Section, chart, module_names, section
from modae.report.subject import Subject
from modae.utils.arrays import Array
from modae.utils.text import format_number

MOST_ROWS = 2000

#: More are too many to look at.
MOST_MODULES = 10

EXAMPLES = 3

#: Shades of grey: more than one sees in a small picture, and fewer bytes than all 256.
GREYS = 32

#: Rows are taken for images if neighbours correlate by so much more than other columns do.
ALIKE = 0.2


def resolved_shape(asked: Any, subject: Subject) -> tuple[int, int] | None:
    """Height and width of the image that a row is: as asked, or found; None if it is none."""
    if asked is None:
        return None
    if isinstance(asked, str) and asked == "auto":
        return image_shape_of(subject)
    return image_sides(asked, len(subject.names))


def image_shape_of(subject: Subject) -> tuple[int, int] | None:
    """The sides of a square, if rows are likely to be images: neighbouring pixels are more alike."""
    rows = subject.dense_at(subject.first(MOST_ROWS))
    width, side = rows.shape[1], isqrt(rows.shape[1])
    if side * side != width or side < 8 or len(rows) < 20:
        return None
    scale = rows.std(axis=0)
    varied = scale > 0.05 * scale.max()  # the border of an image may hardly vary
    if varied.sum() < width / 4:
        return None
    scaled = np.where(varied, (rows - rows.mean(axis=0)) / np.where(varied, scale, 1.0), 0.0)
    images, used = scaled.reshape(-1, side, side), varied.reshape(side, side)
    across = np.mean(images[:, :, 1:] * images[:, :, :-1], axis=0)[used[:, 1:] & used[:, :-1]]
    down = np.mean(images[:, 1:] * images[:, :-1], axis=0)[used[1:] & used[:-1]]
    # The usual size of a correlation, whatever the places of the two columns.
    some = scaled[:, varied][:, :: -(-int(varied.sum()) // 200)]
    others = np.abs(some.T @ some)[np.triu_indices(some.shape[1], k=1)] / len(some)
    neighbours = min(float(np.median(each)) if each.size else 0.0 for each in (across, down))
    return (side, side) if neighbours > np.median(others) + ALIKE else None


def reconstruction_section(subject: Subject, shape: tuple[int, int] | None) -> Section | None:
    """A few images, and what single modules and their mean make of them."""
    if shape is None or not hasattr(subject.parts.extractor, "reconstruct_modules"):
        return None
    chosen, captions = _examples(subject)
    originals = _images(subject, subject.dense_at(chosen), shape)
    low, high = float(originals.min()), float(originals.max())
    pictures, missed = [], []
    for model in subject.models:
        every = np.asarray(model.reconstruct_modules(subject.at(chosen)))
        mean = _images(subject, every.mean(axis=0), shape)
        columns = [originals, mean, *(_images(subject, each, shape) for each in every[:MOST_MODULES])]
        pictures.append(
            [[encoded(each, low, high) for each in row] for row in np.stack(columns, axis=1)]
        )
        missed.append(float(np.mean((mean - originals) ** 2) / (np.var(originals) or 1.0)))
    summary = [
        f"The mean of all modules misses {format_number(each, '%', digits=2)} of their variation."
        for each in missed
    ]
    names = ["original", "mean of all", *module_names(min(subject.n_modules, MOST_MODULES))]
    content = {"columns": names, "rows": captions, "images": pictures, "summary": summary}
    # Bright strokes on a black ground are drawn as ink on paper.
    invert = bool(np.median(originals) <= low + 0.25 * (high - low))
    table = chart("images", "Images and their reconstructions", invert=invert, **content)
    text = (
        "The first column is the image itself, the second the mean of all modules, the others what "
        "single modules make of it from their few features. They see parts; their mean joins them."
    )
    return section("reconstructions", "Images as the modules see them", text, [table])


def _images(subject: Subject, rows: Array, shape: tuple[int, int]) -> Array:
    """Rows as images, in the units in which they were given if the steps can be undone."""
    if subject.parts.steps and subject.raw.shape[1] == rows.shape[1]:
        front = make_pipeline(*subject.parts.steps)
        rows = np.asarray(front.inverse_transform(rows)) if hasattr(front, "inverse_transform") else rows
    return rows.reshape(-1, *shape)


def _examples(subject: Subject) -> tuple[list[int], list[str]]:
    """A few rows, of different classes where there are classes, and what to call them."""
    if subject.classes is None:
        places = range(min(EXAMPLES, subject.n_shown))
        return list(places), [f"row {place + 1}" for place in places]
    spread = np.linspace(0, len(subject.classes) - 1, min(EXAMPLES, len(subject.classes))).astype(int)
    classes = subject.classes[np.unique(spread)]
    return [int(np.argmax(subject.labels == name)) for name in classes], [str(name) for name in classes]


def encoded(image: np.ndarray, low: float, high: float) -> str:
    """An image (height, width) as base64 of a PNG, black at ``low`` and white at ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> encoded(np.eye(2), 0.0, 1.0)[:11]
    'iVBORw0KGgo'
    """
    scaled = np.clip((np.asarray(image, dtype=float) - low) / (high - low or 1.0), 0.0, 1.0)
    grey = np.round(np.round((GREYS - 1) * scaled) * (255 / (GREYS - 1))).astype(np.uint8)
    height, width = grey.shape
    # Eight bits of grey; each line begins with the filter that it was written with: none.
    header = pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), grey]).tobytes()
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
        png += pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
    return b64encode(png).decode()
