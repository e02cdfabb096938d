"""The section on what each module looks at: columns by name, or an image of the pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.ensembles.members import module_features
from modae.report.charts import Section, matrix, module_names, section
from modae.report.png import encoded
from modae.report.subject import Subject
from modae.utils.arrays import Array

MOST_ROWS = 2000

MOST_COLUMNS = 24

MOST_MODULES = 10
"""More are too many to look at."""


def looks(subject: Subject) -> Array:
    """Share of the variance of each column that each module's features explain, (n, M, D).

    It is the squared multiple correlation of the column with the features: 1 if a linear reading of the
    features gives the column, 0 if they say nothing about it. Scales do not matter.
    """
    rows = subject.dense_at(subject.first(MOST_ROWS))
    centred = rows - rows.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    return np.array(
        [
            [_explained(np.asarray(each), centred, variance) for each in _features(model, subject)]
            for model in subject.models
        ]
    )


def _features(model: Any, subject: Subject) -> Any:
    return module_features(model, subject.at(subject.first(MOST_ROWS)))


def _explained(features: Array, centred: Array, variance: Array) -> Array:
    basis, sizes, _ = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes.max(initial=1e-300)]
    kept = np.sum((basis.T @ centred) ** 2, axis=0) / len(centred)
    shares: Array = np.clip(kept / np.where(variance > 0, variance, 1.0), 0.0, 1.0)
    return shares


def look_section(subject: Subject, shape: tuple[int, int] | None) -> Section:
    """What each module looks at: columns by name, or an image of the pixels."""
    every = looks(subject)
    shares = every[:, :MOST_MODULES]
    text = "How much of the variation of each {} can be read from the features of a module: {}"
    if every.shape[1] > MOST_MODULES:
        text += f" The first {MOST_MODULES} of {every.shape[1]} modules are shown."
    summary = [_strongest(each, subject.names) for each in shares]
    if shape is not None:
        words = text.format("pixel", "white is all of it, black is nothing.")
        return section(
            "looks", "What each module looks at", words, [_look_images(shares, shape, summary)]
        )
    chosen = _columns(shares, subject.start)
    words = text.format("column", "100% is all of it, 0% is nothing.")
    if len(chosen) < len(subject.names):
        words += (
            f" The {len(chosen)} columns that differ most between modules or diversities are shown, of "
            f"{len(subject.names):,}."
        )
    chart = matrix(
        "Share of each column",
        shares[:, :, chosen].transpose(0, 2, 1),
        [subject.names[place] for place in chosen],
        module_names(shares.shape[1]),
        x_label="",
        y_label="",
        unit="%",
        summary=summary,
    )
    return section("looks", "What each module looks at", words, [chart])


def _columns(shares: Array, start: int) -> np.ndarray:
    """Columns to show, best explained first: all, or those in which modules or diversities differ."""
    varied = shares.std(axis=(0, 1)) + shares[start].std(axis=0)
    chosen = np.argsort(-varied, kind="stable")[:MOST_COLUMNS]
    return np.asarray(chosen[np.argsort(-shares[start][:, chosen].mean(axis=0), kind="stable")])


def _strongest(shares: Array, names: list[str]) -> str:
    """The three columns of each module that it knows best."""
    texts = []
    for module, each in enumerate(shares, start=1):
        best = np.argsort(-each, kind="stable")[:3]
        listed = ", ".join(f"{names[place]} ({100 * each[place]:.0f}%)" for place in best)
        texts.append(f"module {module}: {listed}")
    return f"Strongest columns. {'; '.join(texts)}."


def _look_images(shares: Array, shape: tuple[int, int], summary: list[str]) -> dict[str, Any]:
    pictures = [[[encoded(module.reshape(shape), 0.0, 1.0) for module in at]] for at in shares]
    return {
        "kind": "images",
        "title": "Share of each pixel",
        "columns": module_names(shares.shape[1]),
        "rows": ["share"],
        "images": pictures,
        "invert": False,
        "summary": summary,
    }
