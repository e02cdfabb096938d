"""The section on classes: their densities along features of single modules."""

from __future__ import annotations

import numpy as np

from modae.core.arrays import Array
from modae.display.densities import feature_densities
from modae.ensembles.members import module_features
from modae.report.charts import Section, module_names, rounded, section
from modae.report.subject import Subject

MOST_CLASSES = 10

MOST_ROWS = 1500

N_MODULES, N_POINTS = 3, 50


def density_section(subject: Subject) -> Section | None:
    """Densities of the classes along the first feature of three modules, at each diversity."""
    if subject.classes is None or len(subject.classes) < 2:
        return None
    places = subject.first(MOST_ROWS)
    rows, labels = subject.at(places), np.asarray(subject.labels)[places]
    classes = _most_frequent(labels)
    paths = [_panels(model, rows, labels, classes) for model in subject.models]
    names = module_names(len(paths[0]))
    panels = [
        {
            "title": f"{name}, first feature",
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
            f"Best separated by the first feature, at diversity {diversity:g}: "
            + "; ".join(
                _apart(name, *panel, classes) for name, panel in zip(names, panels_at, strict=True)
            )
            for diversity, panels_at in zip(subject.diversities, paths, strict=True)
        ],
    }
    words = (
        "Each panel shows one feature of one module. Where two curves lie apart, this feature tells the "
        "two classes apart. Diverse modules separate different classes."
    )
    if len(classes) < len(subject.classes):
        words += f" The {len(classes)} most frequent of {len(subject.classes)} classes are shown."
    return section("densities", "How features separate the classes", words, [chart])


def _heights(curves: list[Array]) -> list[object]:
    """Curves of one panel, relative to the highest point at each diversity: only the shape matters."""
    relative = np.array([each / (each.max() or 1.0) for each in curves])
    heights: list[object] = np.round(relative, 3).tolist()
    return heights


def _most_frequent(labels: np.ndarray) -> np.ndarray:
    classes, counts = np.unique(labels, return_counts=True)
    return np.asarray(classes[np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])])


def _panels(
    model: object, rows: object, labels: np.ndarray, classes: np.ndarray
) -> list[tuple[Array, Array]]:
    features = module_features(model, rows)[:N_MODULES]
    return [feature_densities(np.asarray(each)[:, 0], labels, classes, N_POINTS) for each in features]


def _apart(name: str, grid: Array, curves: Array, classes: np.ndarray) -> str:
    """The two classes whose densities overlap least."""
    step = np.diff(grid).mean()
    overlap = step * np.minimum(curves[:, None], curves[None]).sum(axis=-1)
    np.fill_diagonal(overlap, np.inf)
    first, second = np.unravel_index(int(np.argmin(overlap)), overlap.shape)
    return f"{name}: {classes[first]} and {classes[second]}"
