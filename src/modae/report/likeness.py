"""The section on how alike the modules are: distance correlations of their features."""

from __future__ import annotations

import numpy as np

from modae.ensembles.members import module_features
from modae.metrics import distance_correlation_matrix
from modae.report.charts import Section, curves, line, matrix, module_names, section
from modae.report.subject import Subject
from modae.utils.arrays import Array
from modae.utils.parallel import in_threads

MOST_ROWS = 400
"""Time grows as the square; so many rows give two digits."""


def likeness_section(subject: Subject, n_jobs: int | None) -> Section | None:
    """Mean distance correlations against diversity, and those of all pairs at one diversity."""
    places = subject.first(MOST_ROWS)
    rows, dense = subject.at(places), subject.dense_at(places)
    if len(dense) < 3:
        return None

    def correlations(model: object) -> Array:
        return distance_correlation_matrix([dense, *module_features(model, rows)])

    every = np.array(in_threads(correlations, [(model,) for model in subject.models], n_jobs))
    n_modules = every.shape[1] - 1
    first, second = np.triu_indices(n_modules, k=1)
    faithful, pairs = every[:, 0, 1:], every[:, 1:, 1:]
    between = pairs[:, first, second]
    names = module_names(n_modules)
    charts = [matrix(
        "Pairs of modules",
        pairs,
        names,
        names,
        x_label="",
        y_label="",
        square=True,
        show_values=n_modules <= 12,
        summary=[_pairs(each) for each in between],
    )]  # fmt: skip
    if n_modules > 1 and len(subject.models) > 1:
        charts.insert(0, _means(subject, faithful.mean(axis=1), between.mean(axis=1)))
    words = (
        "Distance correlation is 1 for features that say the same and near 0 for features that have "
        "nothing to do with each other (for few rows it stays above 0). Modules that are less alike "
        f"make different mistakes. Measured on {len(dense)} rows."
    )
    return section("likeness", "How alike the modules are", words, charts)


def _means(subject: Subject, faithful: Array, between: Array) -> dict[str, object]:
    return curves(
        "On average",
        [line("two modules", between), line("one module and the data", faithful)],
        y_label="distance correlation",
        y_range=[0.0, 1.02],
        mark=subject.start,
        summary=[
            f"At diversity {diversity:g}: {two:.2f} between two modules, {one:.2f} between a module and "
            "the data."
            for diversity, one, two in zip(subject.diversities, faithful, between, strict=True)
        ],
    )


def _pairs(values: Array) -> str:
    if not len(values):
        return "There is one module only."
    return f"Distance correlations of two modules lie between {values.min():.2f} and {values.max():.2f}."
