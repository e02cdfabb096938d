"""Estimators of scikit-learn, and others that skl2onnx knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from onnx import ModelProto, TensorProto
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn.preprocessing import StandardScaler

from modae.onnx.answers import Answer, Classification, Regression, Table
from modae.onnx.extras import first_line, require
from modae.onnx.graph import INPUT, ML_OPSET, OPSET, Graph
from modae.onnx.linear import sgd_label, standardised
from modae.onnx.neighbors import is_euclidean, neighbours_label, neighbours_target

Converter = Callable[[Graph, Any, Table], Answer]

NEIGHBOURS: dict[type, Converter] = {
    KNeighborsClassifier: neighbours_label,
    KNeighborsRegressor: neighbours_target,
}
"""Converted by hand: skl2onnx 1.20 weighs neighbours by their distances wrongly."""

OTHERS: dict[type, Converter] = {StandardScaler: standardised, SGDClassifier: sgd_label}
"""By hand too: skl2onnx takes labels from probabilities, which are all 0 or 1 where scores are large."""


def foreign_answer(graph: Graph, estimator: Any, x: Table, place: str) -> Answer:
    """What an estimator that is not ours says: labels, predictions, or features."""
    by_hand = _by_hand(estimator, place)
    if by_hand is not None:
        return by_hand(graph, estimator, x)
    model = converted(estimator, x.width, place)
    if is_classifier(estimator):
        if isinstance(estimator.classes_, list):
            raise ValueError(f"{place} cannot be converted to ONNX: it gives several labels at once.")
        return _classification(graph, estimator, model, x)
    if is_regressor(estimator):
        return _regression(graph, model, x)
    return _features(graph, estimator, model, x, place)


def _by_hand(estimator: Any, place: str) -> Converter | None:
    """A converter of ours, None for skl2onnx, or an error where neither would be right."""
    kind = type(estimator)
    if kind in NEIGHBOURS and not is_euclidean(estimator):
        if estimator.weights == "distance":
            raise ValueError(
                f"{place} cannot be converted to ONNX: with weights='distance' only Euclidean distances "
                f"can, got metric={estimator.effective_metric_!r}; use weights='uniform'."
            )
        return None
    if kind is SGDClassifier and estimator.loss == "modified_huber":
        raise ValueError(
            f"{place} cannot be converted to ONNX: the probabilities of loss='modified_huber' cannot; "
            "use loss='log_loss'."
        )
    if kind in (RadiusNeighborsClassifier, RadiusNeighborsRegressor):
        raise ValueError(
            f"{place} cannot be converted to ONNX: runtimes fail on rows with few neighbours; use "
            "KNeighborsClassifier or KNeighborsRegressor."
        )
    return NEIGHBOURS.get(kind) or OTHERS.get(kind)


def converted(estimator: Any, width: int, place: str) -> ModelProto:
    """The estimator as a model of its own, with the input X."""
    skl2onnx = require("skl2onnx")
    types = require("skl2onnx.common.data_types")
    try:
        with catch_warnings():
            simplefilter("ignore")  # it reads attributes that scikit-learn is about to drop
            model: ModelProto = skl2onnx.convert_sklearn(
                estimator,
                initial_types=[(INPUT, types.FloatTensorType([None, width]))],
                target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
            )
    except Exception as reason:
        raise ValueError(_refusal(place, reason)) from reason
    return _without_maps(model)


def _refusal(place: str, reason: Exception) -> str:
    exceptions = require("skl2onnx.common.exceptions")
    unknown = (exceptions.MissingShapeCalculator, exceptions.MissingConverter)
    if isinstance(reason, unknown):
        return (
            f"{place} cannot be converted to ONNX: skl2onnx has no converter for it; use an estimator "
            "that it knows, such as LogisticRegression, RandomForestClassifier or Ridge, or give it one "
            "with skl2onnx.update_registered_converter."
        )
    return (
        f"{place} cannot be converted to ONNX: skl2onnx failed with {type(reason).__name__}: "
        f"{first_line(reason)}"
    )


def _without_maps(model: ModelProto) -> ModelProto:
    """Probabilities as a table: skl2onnx may end with a list of dictionaries, one for each row."""
    outputs = {output.name: output for output in model.graph.output}
    for node in list(model.graph.node):
        if node.op_type == "ZipMap":
            output = outputs[node.output[0]]
            output.name = node.input[0]
            output.type.Clear()
            output.type.tensor_type.elem_type = TensorProto.FLOAT
            model.graph.node.remove(node)
    return model


def _classification(graph: Graph, classifier: Any, model: ModelProto, x: Table) -> Classification:
    words = model.graph.output[0].type.tensor_type.elem_type == TensorProto.STRING
    label, scores, *_ = graph.embedded(model, x.name)
    index = _index_of_word if words else _index_of_number
    probabilities = scores if hasattr(classifier, "predict_proba") else None
    return Classification(index(graph, label, classifier.classes_), probabilities, classifier.classes_)


def _index_of_word(graph: Graph, label: str, classes: np.ndarray) -> str:
    index = graph.add(
        "LabelEncoder",
        label,
        domain="ai.onnx.ml",
        keys_strings=[str(each) for each in classes],
        values_int64s=list(range(len(classes))),
    )
    return graph.reshaped(index, -1)


def _index_of_number(graph: Graph, label: str, classes: np.ndarray) -> str:
    column = graph.reshaped(graph.cast(label, np.int64), -1, 1)
    matches = graph.add("Equal", column, graph.numbers(classes[None], np.int64))
    return graph.add("ArgMax", graph.cast(matches, np.float32), axis=1, keepdims=0)


def _regression(graph: Graph, model: ModelProto, x: Table) -> Regression:
    n_targets = _width(model) or 1
    prediction = graph.reshaped(graph.embedded(model, x.name)[0], -1, n_targets)
    return Regression(prediction, () if n_targets == 1 else (n_targets,))


def _features(graph: Graph, estimator: Any, model: ModelProto, x: Table, place: str) -> Table:
    width = _width(model) or _named_width(estimator)
    if not hasattr(estimator, "transform") or width is None:
        raise ValueError(f"{place} cannot be converted to ONNX: it has no transform of known width.")
    features = graph.cast(graph.embedded(model, x.name)[0], np.float32)
    return Table(graph.reshaped(features, -1, width), width)


def _width(model: ModelProto) -> int | None:
    """Columns of the first output, where skl2onnx knows them."""
    dimensions = model.graph.output[0].type.tensor_type.shape.dim
    return int(dimensions[1].dim_value) or None if len(dimensions) == 2 else None


def _named_width(estimator: Any) -> int | None:
    names = getattr(estimator, "get_feature_names_out", None)
    return None if names is None else len(names())
