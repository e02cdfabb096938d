"""The section on images: whether rows are images, and what the modules make of some of them."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from modae.display.reconstruction import image_sides
from modae.report.charts import Chart, Section, module_names, section
from modae.report.png import encoded
from modae.report.subject import Subject
from modae.utils.arrays import Array

MOST_ROWS = 2000

MOST_MODULES = 10
"""More are too many to look at."""

EXAMPLES = 3

ALIKE = 0.2
"""Rows are taken for images if neighbours correlate by so much more than other columns do."""


def resolved_shape(asked: Any, subject: Subject) -> tuple[int, int] | None:
    """Height and width of the image that a row is: as asked, or found; None if it is none."""
    if asked is None:
        return None
    if isinstance(asked, str) and asked == "auto":
        return image_shape_of(subject)
    return image_sides(asked, len(subject.names))


def image_shape_of(subject: Subject) -> tuple[int, int] | None:
    """The sides of a square, if rows are likely to be images: neighbouring pixels are more alike."""
    width = len(subject.names)
    side = isqrt(width)
    rows = subject.dense_at(subject.first(MOST_ROWS))
    if side * side != width or side < 8 or len(rows) < 20:
        return None
    scale = rows.std(axis=0)
    varied = scale > 0.05 * scale.max()  # the border of an image may hardly vary
    if varied.sum() < width / 4:
        return None
    scaled = np.where(varied, (rows - rows.mean(axis=0)) / np.where(varied, scale, 1.0), 0.0)
    images, used = scaled.reshape(-1, side, side), varied.reshape(side, side)
    across = _alike(images[:, :, 1:], images[:, :, :-1], used[:, 1:] & used[:, :-1])
    down = _alike(images[:, 1:], images[:, :-1], used[1:] & used[:-1])
    usual = _usual_likeness(scaled[:, varied])
    return (side, side) if min(across, down) > usual + ALIKE else None


def _alike(first: Array, second: Array, used: np.ndarray) -> float:
    """Median correlation of neighbours, of those that vary."""
    correlations = np.mean(first * second, axis=0)[used]
    return float(np.median(correlations)) if correlations.size else 0.0


def _usual_likeness(columns: Array) -> float:
    """Median size of the correlation of two columns, whatever their places."""
    some = columns[:, :: -(-columns.shape[1] // 200)]
    correlations = np.abs(some.T @ some) / len(some)
    return float(np.median(correlations[np.triu_indices(len(correlations), k=1)]))


def reconstruction_section(subject: Subject, shape: tuple[int, int] | None) -> Section | None:
    """A few images, and what single modules and their mean make of them."""
    if shape is None or not hasattr(subject.extractor, "reconstruct_modules"):
        return None
    words = (
        "The first column is the image itself, the second the mean of all modules, the others what "
        "single modules make of it from their few features. They see parts; their mean joins them."
    )
    chart = _pictures(subject, _examples(subject), shape)
    return section("reconstructions", "Images as the modules see them", words, [chart])


def _pictures(subject: Subject, chosen: list[int], shape: tuple[int, int]) -> Chart:
    originals = _images(subject, subject.dense_at(chosen), shape)
    low, high = float(originals.min()), float(originals.max())
    stacks = [
        np.stack([originals, *_seen(subject, model, chosen, shape)], axis=1) for model in subject.models
    ]
    names = module_names(stacks[0].shape[1] - 2)
    return {
        "kind": "images",
        "title": "Images and their reconstructions",
        "columns": ["original", "mean of all", *names],
        "rows": _captions(subject, chosen),
        "images": [[[encoded(each, low, high) for each in row] for row in stack] for stack in stacks],
        # Bright strokes on a black ground are drawn as ink on paper.
        "invert": bool(np.median(originals) <= low + 0.25 * (high - low)),
        "summary": [
            f"The mean of all modules misses {100 * _missed(stack):.0f}% of the variation of them."
            for stack in stacks
        ],
    }


def _seen(subject: Subject, model: object, chosen: list[int], shape: tuple[int, int]) -> list[Array]:
    """What the mean of all modules, and each of them, at most ten, make of the images."""
    every = np.asarray(model.reconstruct_modules(subject.at(chosen)))  # type: ignore[attr-defined]
    return [_images(subject, each, shape) for each in (every.mean(axis=0), *every[:MOST_MODULES])]


def _missed(stack: Array) -> float:
    """Share of the variation of the originals, first of each row, that the means, second, lack."""
    originals, means = stack[:, 0], stack[:, 1]
    return float(np.mean((means - originals) ** 2) / (np.var(originals) or 1.0))


def _images(subject: Subject, rows: Array, shape: tuple[int, int]) -> Array:
    """Rows as images, in the units in which they were given if the steps can be undone."""
    front, width = subject.parts.front, subject.raw.shape[1]
    if front is not None and hasattr(front, "inverse_transform") and width == rows.shape[1]:
        rows = np.asarray(front.inverse_transform(rows))
    return rows.reshape(-1, *shape)


def _examples(subject: Subject) -> list[int]:
    """A few rows, of different classes where there are classes."""
    if subject.classes is None:
        return list(range(min(EXAMPLES, subject.n_shown)))
    labels = np.asarray(subject.labels)
    firsts = [int(np.flatnonzero(labels == label)[0]) for label in subject.classes]
    spread = np.unique(np.linspace(0, len(firsts) - 1, min(EXAMPLES, len(firsts))).astype(int))
    return [firsts[place] for place in spread]


def _captions(subject: Subject, chosen: list[int]) -> list[str]:
    if subject.classes is None:
        return [f"row {place + 1}" for place in chosen]
    return [str(np.asarray(subject.labels)[place]) for place in chosen]
