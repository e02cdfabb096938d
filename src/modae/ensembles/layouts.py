"""Layouts of the ensembles: members are checked with what they are asked, before they are handed over.

Sizes: D features, M modules, C classes, N rows that a nearest neighbour keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.classifier_cv import ModularClassifierCV
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor, NearestRows
from modae.ensembles.regressor import AGGREGATES, Calibration, ModularRegressor
from modae.ensembles.votes import TIE_BREAKS, VOTINGS
from modae.files.registry import layout_for
from modae.files.rules import (
    Choice,
    Count,
    Each,
    Floats,
    Layout,
    Maybe,
    Number,
    Numbers,
    Record,
    Sizes,
    anything,
    require,
)
from modae.files.summary import model_summary
from modae.linear.layouts import OPTIONAL_NAMES, known_features


def labels(value: Any, sizes: Sizes) -> None:
    """C different labels in order: numbers, strings, dates, or objects that can be compared."""
    one_axis = isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0
    require(one_axis and value.dtype.kind in "fiubUOMm", "must be numbers, strings or dates")
    plain = all(isinstance(each, (str, int, float)) for each in value) if value.dtype == object else True
    require(plain and (value[:-1] < value[1:]).all(), "labels must differ and be in order")
    Count("C")(len(value), sizes)


def targets(value: Any, sizes: Sizes) -> None:
    """One number, or several, for each of N rows."""
    shape: tuple[Any, ...] = ("N", None) if np.ndim(value) == 2 else ("N",)
    Floats(*shape)(value, sizes)


def word(value: Any, sizes: Sizes) -> None:
    """A string."""
    require(isinstance(value, str), f"must be a string, got {type(value).__name__}")


def can(*methods: str) -> Any:
    """A rule: something with these methods."""

    def rule(value: Any, sizes: Sizes) -> None:
        missing = [method for method in methods if not hasattr(value, method)]
        require(not missing, f"must have {missing}, got {type(value).__name__}")

    return rule


FARTHEST = 1e150  # squares of distances between rows beyond it overflow float64

NEAREST_ROW = Layout(
    "modae.NearestRow",
    NearestRows,
    {
        "rows": Floats("N", "D", minimum=-FARTHEST, maximum=FARTHEST),
        "backend": Choice(("tree", "brute")),
    },
    make=lambda cls, rows, backend: cls(rows, backend),
    holds_rows=True,
)


def _labels_in_range(neighbor: Any) -> None:
    known = neighbor.targets_.max(initial=0) < len(neighbor.classes_)
    require(known and len(neighbor.targets_), "there is no such label")


NEAREST_CLASSIFIER = Layout(
    "modae.NearestNeighborClassifier",
    NearestNeighborClassifier,
    {
        **known_features(),
        "classes_": labels,
        "nearest_": Record(NEAREST_ROW),
        "targets_": Numbers(("N",), "i", minimum=0),
        "weights_": Maybe(Floats("N", minimum=0.0)),
    },
    optional=OPTIONAL_NAMES,
    agree=_labels_in_range,
)

NEAREST_REGRESSOR = Layout(
    "modae.NearestNeighborRegressor",
    NearestNeighborRegressor,
    {
        **known_features(),
        "nearest_": Record(NEAREST_ROW),
        "targets_": targets,
        "weights_": Maybe(Floats("N", minimum=0.0)),
    },
    optional=OPTIONAL_NAMES,
    agree=lambda neighbor: require(len(neighbor.targets_), "there are no rows"),
)


def _check_members(ensemble: Any) -> None:
    """Extractor and members fit together."""
    extractor, count = ensemble.extractor_, len(ensemble.estimators_)
    known = getattr(extractor, "n_features_in_", ensemble.n_features_in_)
    require(known == ensemble.n_features_in_, f"the extractor has {known} features")
    if layout_for(type(extractor)) is not None:
        width = len(extractor.get_feature_names_out()) / count
        for member in ensemble.estimators_:
            has = getattr(member, "n_features_in_", width)
            require(has == width, f"a member has {has} features, its module {width:g}")


def _summary(ensemble: Any) -> dict[str, Any]:
    member = type(ensemble.estimators_[0]).__name__
    return model_summary(ensemble.extractor_) | {"member": member}


def _classifier_agrees(ensemble: ModularClassifier) -> None:
    Choice(VOTINGS)(ensemble.voting, {})
    Choice(tuple(TIE_BREAKS))(ensemble.tie_break, {})
    for member in ensemble.estimators_:
        known = getattr(member, "classes_", ensemble.classes_)
        require(np.isin(known, ensemble.classes_).all(), "a member knows other classes")
        able = ensemble.voting == "hard" or hasattr(member, "predict_proba")
        require(able, "voting='soft' needs members with predict_proba")
    _check_members(ensemble)


def _regressor_agrees(ensemble: ModularRegressor) -> None:
    Choice(tuple(AGGREGATES))(ensemble.aggregate, {})
    shape = ensemble._target_shape
    whole = len(shape) <= 1 and all(type(side) is int and side > 0 for side in shape)
    require(whole, f"{shape!r:.40} is no shape of a target")
    _check_members(ensemble)
    if hasattr(ensemble, "calibration_"):
        columns = ensemble.calibration_.residuals.shape[1]
        require(columns == int(np.prod(shape)), f"residuals have {columns} columns")


ENSEMBLE = {
    **known_features(),
    "n_modules_": Count("M"),
    "extractor_": can("transform_modules"),
    "estimators_": Each(can("predict"), list, "M"),
    "_member_names": Each(word, list, "M"),
}

CLASSIFIER = Layout(
    "modae.ModularClassifier",
    ModularClassifier,
    {**ENSEMBLE, "classes_": labels, "class_prior_": Floats("C", minimum=0.0, maximum=1.0 + 1e-9)},
    optional=OPTIONAL_NAMES,
    agree=_classifier_agrees,
    summary=_summary,
)

CALIBRATION = Layout(
    "modae.Calibration",
    Calibration,
    {"residuals": Floats(None, None, minimum=0.0)},
    agree=lambda held: require(
        (np.diff(held.residuals, axis=0) >= 0.0).all() and held.residuals.size, "residuals must rise"
    ),
)

REGRESSOR = Layout(
    "modae.ModularRegressor",
    ModularRegressor,
    {**ENSEMBLE, "_target_shape": Each(anything), "calibration_": Record(CALIBRATION)},
    optional=OPTIONAL_NAMES | {"calibration_"},
    agree=_regressor_agrees,
    summary=_summary,
)


def results(value: Any, sizes: Sizes) -> None:
    """A table of outcomes: one entry for each candidate under every name."""
    table = isinstance(value, dict) and all(isinstance(name, str) for name in value)
    require(table and "params" in value, "must be a table")
    for column in value.values():
        require(isinstance(column, (list, np.ndarray)), "must have columns")
        Count("candidates")(len(column), sizes)


def _search_agrees(search: ModularClassifierCV) -> None:
    best = search.best_estimator_
    require(type(best) is ModularClassifier, "best_estimator_ must be a ModularClassifier")
    same = np.array_equal(best.classes_, search.classes_)
    require(same and best.n_features_in_ == search.n_features_in_, "the best estimator does not fit")
    require(search.best_index_ < len(search.cv_results_["params"]), "there is no such candidate")


SEARCH = Layout(
    "modae.ModularClassifierCV",
    ModularClassifierCV,
    {
        **known_features(),
        "best_estimator_": can("predict", "classes_"),
        "best_params_": anything,
        "best_index_": Count(minimum=0),
        "best_score_": Number(),
        "cv_results_": results,
        "classes_": labels,
        "n_splits_": Count(),
    },
    optional=OPTIONAL_NAMES,
    agree=_search_agrees,
    summary=lambda search: _summary(search.best_estimator_),
)

LAYOUTS = (
    NEAREST_ROW, NEAREST_CLASSIFIER, NEAREST_REGRESSOR, CLASSIFIER, CALIBRATION, REGRESSOR, SEARCH,
)  # fmt: skip
