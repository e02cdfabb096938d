"""The section on classes: their densities along features of single modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.display.densities import feature_densities
from modae.ensembles.members import module_features
from modae.report.charts import Section, module_names, rounded, section
from modae.report.subject import Subject, most_frequent
from modae.utils.arrays import Array

MOST_CLASSES = 10

MOST_ROWS = 1500

N_MODULES, N_POINTS = 3, 40


def density_section(subject: Subject) -> Section | None:
    """Densities of the classes along the first feature of three modules, at each diversity."""
    if subject.classes is None or len(subject.classes) < 2:
        return None
    places = subject.first(MOST_ROWS)
    rows, labels = subject.at(places), np.asarray(subject.labels)[places]
    classes = most_frequent(labels, MOST_CLASSES)
    shown = _telling_feature(subject.extractor, rows, labels)
    paths = [_panels(model, rows, labels, classes, shown) for model in subject.models]
    names = [f"{name}, feature {shown + 1}" for name in module_names(len(paths[0]))]
    panels = [
        {
            "title": name,
            "grid": rounded([panels[place][0] for panels in paths]),
            "curves": _heights([panels[place][1] for panels in paths]),
        }
        for place, name in enumerate(names)
    ]
    chart = {
        "kind": "densities",
        "title": "Density of each class",
        "x_label": "value of the feature",
        "classes": [str(label) for label in classes],
        "panels": panels,
        "summary": [
            f"Best separated at diversity {diversity:g}: "
            + "; ".join(
                _apart(name, *panel, classes) for name, panel in zip(names, panels_at, strict=True)
            )
            for diversity, panels_at in zip(subject.diversities, paths, strict=True)
        ],
    }
    words = (
        "Each panel shows the same feature of another module, the one in which modules differ most and "
        "classes lie apart. Where two curves lie apart, the feature tells the two classes apart."
    )
    if len(classes) < len(subject.classes):
        words += f" The {len(classes)} most frequent of {len(subject.classes)} classes are shown."
    return section("densities", "How features separate the classes", words, [chart])


def _heights(curves: list[Array]) -> list[object]:
    """Curves of one panel, relative to the highest point at each diversity: only the shape matters."""
    relative = np.array([each / (each.max() or 1.0) for each in curves])
    heights: list[object] = np.round(relative, 3).tolist()
    return heights


def _panels(
    model: Any, rows: Any, labels: np.ndarray, classes: np.ndarray, shown: int
) -> list[tuple[Array, Array]]:
    features = module_features(model, rows)[:N_MODULES]
    return [
        feature_densities(np.asarray(each)[:, shown], labels, classes, N_POINTS) for each in features
    ]


def _telling_feature(model: Any, rows: Any, labels: np.ndarray) -> int:
    """Which feature to show: one that separates the classes, and is not the same in every module."""
    features = [np.asarray(each, dtype=float) for each in module_features(model, rows)[:N_MODULES]]
    width = min(each.shape[1] for each in features)
    stack = np.stack([_scaled(each[:, :width]) for each in features])
    alike = np.abs(np.einsum("inh,jnh->ijh", stack, stack) / stack.shape[1])
    between = sum(
        np.mean(labels == k) * stack[:, labels == k].mean(axis=1) ** 2 for k in np.unique(labels)
    )
    differ = 1.0 - (alike.sum(axis=(0, 1)) - len(stack)) / max(len(stack) * (len(stack) - 1), 1)
    return int(np.argmax(np.mean(between, axis=0) * differ))


def _scaled(features: Array) -> Array:
    spread = features.std(axis=0)
    scaled: Array = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _apart(name: str, grid: Array, curves: Array, classes: np.ndarray) -> str:
    """The two classes whose densities overlap least."""
    step = np.diff(grid).mean()
    overlap = step * np.minimum(curves[:, None], curves[None]).sum(axis=-1)
    np.fill_diagonal(overlap, np.inf)
    first, second = np.unravel_index(int(np.argmin(overlap)), overlap.shape)
    return f"{name}: {classes[first]} and {classes[second]}"
