"""Layouts of the ensembles.

Sizes: D features, M modules, H components, C classes, T targets, N rows that a nearest neighbour keeps,
K rows held out.
"""

from typing import Any

import numpy as np

from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.conformal import HeldOut
from modae.ensembles.cv import ModularClassifierCV, ModularRegressorCV
from modae.ensembles.families import AllColumns
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor, NearestRows
from modae.ensembles.outliers import ModularOutlierDetector
from modae.ensembles.regressor import Calibration, ModularRegressor
from modae.files import rules
from modae.files.archive import require
from modae.files.rules import Layout, Rule, Sizes, choice, count, maybe, number, numbers, part, record

FARTHEST = 1e150  # squares of distances between rows beyond it overflow float64


def targets(value: Any, sizes: Sizes) -> None:
    """One number, or several, for each of N rows."""
    numbers(*(("N", None) if np.ndim(value) == 2 else ("N",)))(value, sizes)


def target_shape(value: Any, sizes: Sizes) -> None:
    """() for one target, (T,) for several."""
    require(isinstance(value, tuple) and len(value) <= 1, f"{value!r:.40} is no shape of a target")
    count("T")(value[0] if value else 1, sizes)


def results(value: Any, sizes: Sizes) -> None:
    """A table of outcomes: one entry for each candidate under every name."""
    table = isinstance(value, dict) and all(isinstance(name, str) for name in value)
    require(table and "params" in value, "must be a table")
    for column in value.values():
        require(isinstance(column, (list, np.ndarray)), "must have columns")
        count("candidates")(len(column), sizes)


NEIGHBOR: dict[str, Rule] = {
    "nearest_": record(NearestRows),
    "weights_": maybe(numbers("N", within=number(0.0))),
}

ENSEMBLE: dict[str, Rule] = {
    "n_modules_": count("M"),
    "extractor_": part("transform_modules", columns="D", M="M", H="H"),
    "estimators_": rules.each(part("predict", columns="H"), list, "M"),
    "_member_names": rules.each(rules.text, list, "M"),
}

SEARCH: dict[str, Rule] = {
    "best_estimator_": part("predict", columns="D"),
    "best_params_": rules.anything,
    "cv_results_": results,
    "best_index_": count(minimum=0, below="candidates"),
    "best_score_": number(),
    "n_splits_": count(),
}

LAYOUTS = (
    Layout(
        NearestRows,
        {
            "rows": numbers("N", "D", within=number(-FARTHEST, FARTHEST)),
            "backend": choice("tree", "brute"),
        },
        holds_rows=True,
    ),
    Layout(
        NearestNeighborClassifier,
        {
            "classes_": rules.labels,
            **NEIGHBOR,
            "targets_": numbers("N", kinds="i", within=count(minimum=0, below="C")),
        },
    ),
    Layout(NearestNeighborRegressor, {**NEIGHBOR, "targets_": targets}),
    Layout(AllColumns, {"n_features_in_": count("H")}),
    Layout(
        ModularClassifier,
        {
            "classes_": rules.labels,
            "class_prior_": numbers("C", within=number(0.0, 1.0 + 1e-9)),
            "voting_": choice("hard", "soft", "decision"),
            "temperature_": number(above=0.0),
            "held_out_": record(HeldOut),
            **ENSEMBLE,
        },
        optional={"temperature_", "held_out_"},
    ),
    Layout(
        HeldOut,
        {
            "scores": numbers("K", within=number(0.0, 1.0 + 1e-6)),
            "labels": numbers("K", kinds="i", within=count(minimum=0)),
            "doubts": numbers("K", within=number(0.0)),
            "wrong": numbers("K", kinds="b", within=None),
        },
    ),
    Layout(Calibration, {"residuals": numbers(None, "T", within=number(0.0), order=1)}),
    Layout(
        ModularRegressor,
        {**ENSEMBLE, "_target_shape": target_shape, "calibration_": record(Calibration)},
        optional={"calibration_"},
    ),
    Layout(
        ModularOutlierDetector,
        {
            "extractor_": part("transform", "score_samples", columns="D"),
            "_nearest": record(NearestRows, N="N"),
            "_variance": number(above=0.0),
            "reference_scores_": numbers("N", order=1),
            "offset_": number(),
        },
    ),
    Layout(ModularClassifierCV, {"classes_": rules.labels, **SEARCH}),
    Layout(ModularRegressorCV, SEARCH),
)
