"""Estimators of scikit-learn, and others that skl2onnx knows."""

from __future__ import annotations

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

from modae.onnx.graph import (
    INPUT,
    ML_OPSET,
    OPSET,
    Answer,
    Classification,
    Converter,
    Features,
    Graph,
    Regression,
    failure,
    refusal,
)
from modae.onnx.neighbors import is_euclidean, neighbors_label, neighbors_target
from modae.utils.extras import require

SMALLEST_SCORES = {np.dtype(np.float32): -88.7228, np.dtype(np.float64): -709.78}
"""Sigmoids of lower scores are 0 in Python. Where all are, scikit-learn takes the classes as equal."""

FAR_BELOW = -1e4
"""So all such scores are set to this number."""


def convert_foreign(graph: Graph, estimator: Any, x: Features, place: str) -> Answer:
    """Add what an estimator that is not ours says: labels, predictions, or features."""
    own_converter = _own_converter(estimator, place)
    if own_converter is not None:
        return own_converter(graph, estimator, x)
    model = _converted(estimator, x.width, place)
    first, *others = graph.embed(model, x.name)
    if is_classifier(estimator):
        if isinstance(estimator.classes_, list):
            raise refusal(place, "it gives several labels at once.")
        strings = model.graph.output[0].type.tensor_type.elem_type == TensorProto.STRING
        winner = _index_of_label(graph, first, estimator.classes_, strings)
        probabilities = _table(graph, others[0]) if hasattr(estimator, "predict_proba") else None
        return Classification(winner, probabilities, estimator.classes_)
    if is_regressor(estimator):
        n_targets = _width(model) or 1
        prediction = graph.add("Reshape", first, [-1, n_targets])
        return Regression(prediction, () if n_targets == 1 else (n_targets,))
    width = _width(model)
    if width is None and hasattr(estimator, "get_feature_names_out"):
        width = len(estimator.get_feature_names_out())
    if not hasattr(estimator, "transform") or width is None:
        raise refusal(place, "it has no transform of known width.")
    return Features(graph.add("Reshape", graph.cast(first, np.float32), [-1, width]), width)


def _own_converter(estimator: Any, place: str) -> Converter | None:
    """A converter of ours, None for skl2onnx, or an error where neither would be right."""
    kind = type(estimator)
    if kind in (KNeighborsClassifier, KNeighborsRegressor) and not is_euclidean(estimator):
        if estimator.weights == "distance":
            raise refusal(
                place,
                "with weights='distance' only Euclidean distances can, got "
                f"metric={estimator.effective_metric_!r}; use weights='uniform'.",
            )
        return None
    if kind is SGDClassifier and estimator.loss == "modified_huber":
        raise refusal(place, "the probabilities of loss='modified_huber' cannot; use loss='log_loss'.")
    if kind in (RadiusNeighborsClassifier, RadiusNeighborsRegressor):
        raise refusal(
            place,
            "runtimes fail on rows with few neighbours; use KNeighborsClassifier or "
            "KNeighborsRegressor.",
        )
    return OWN_CONVERTERS.get(kind)


def _converted(estimator: Any, width: int, place: str) -> ModelProto:
    """The estimator as a model of its own, made by skl2onnx."""
    skl2onnx = require("skl2onnx", extra="onnx", purpose="Export to ONNX")
    exceptions = skl2onnx.common.exceptions
    try:
        with catch_warnings():
            simplefilter("ignore")  # it reads attributes that scikit-learn is about to drop
            return skl2onnx.convert_sklearn(
                estimator,
                initial_types=[(INPUT, skl2onnx.common.data_types.FloatTensorType([None, width]))],
                target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
            )
    except (exceptions.MissingShapeCalculator, exceptions.MissingConverter) as error:
        raise refusal(
            place,
            "skl2onnx has no converter for it; use an estimator that it knows, such as "
            "LogisticRegression, RandomForestClassifier or Ridge, or give it one with "
            "skl2onnx.update_registered_converter.",
        ) from error
    except Exception as error:
        raise failure(place, "skl2onnx", error) from error


def _index_of_label(graph: Graph, label: str, classes: np.ndarray, strings: bool) -> str:
    known: dict[str, list[Any]] = {"values_int64s": list(range(len(classes)))}
    if strings:
        known["keys_strings"] = [str(each) for each in classes]
    else:
        label = graph.cast(label, np.int64)
        known["keys_int64s"] = [int(each) for each in classes]
    return graph.add("Reshape", graph.add("LabelEncoder", label, domain="ai.onnx.ml", **known), [-1])


def _table(graph: Graph, scores: str) -> str:
    """Probabilities as a table: skl2onnx may end with a list of dictionaries, one for each row."""
    last = next(node for node in reversed(graph.nodes) if scores in node.output)
    return last.input[0] if last.op_type == "ZipMap" else scores


def _width(model: ModelProto) -> int | None:
    """Columns of the first output, where skl2onnx knows them."""
    dimensions = model.graph.output[0].type.tensor_type.shape.dim
    return int(dimensions[1].dim_value) or None if len(dimensions) == 2 else None


def standard_scaler(graph: Graph, scaler: Any, x: Features) -> Features:
    """The StandardScaler of scikit-learn, centred with more care than a product with rounded means."""
    name = graph.centred(x.name, scaler.mean_) if scaler.with_mean else x.name
    return Features(graph.add("Div", name, scaler.scale_) if scaler.with_std else name, x.width)


def sgd_label(graph: Graph, classifier: Any, x: Features) -> Classification:
    r"""The SGDClassifier of scikit-learn: label by the scores, probabilities in logarithms.

    With ``loss="log_loss"`` they are sigmoids of the scores, divided by their sum. In float32 sigmoids
    of very negative scores are all 0; :math:`\log\sigma(s)=-\log(1+e^{-s})` keeps them apart.
    """
    scores = graph.add("Gemm", x.name, classifier.coef_.T, classifier.intercept_)
    if len(classifier.coef_) == 1:
        scores = graph.add("Concat", graph.add("Neg", scores), scores, axis=1)
    probabilities = None
    if classifier.loss == "log_loss":
        lost = graph.add("Less", scores, SMALLEST_SCORES[classifier.coef_.dtype])
        kept = graph.add("Where", lost, FAR_BELOW, scores)
        logarithms = graph.add("Neg", graph.add("Softplus", graph.add("Neg", kept)))
        probabilities = graph.add("Softmax", logarithms, axis=1)
    winner = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return Classification(winner, probabilities, classifier.classes_)


OWN_CONVERTERS: dict[type, Converter] = {
    # skl2onnx 1.20 weighs neighbours by their distances wrongly.
    KNeighborsClassifier: neighbors_label,
    KNeighborsRegressor: neighbors_target,
    # It takes labels from probabilities, which are all 0 or 1 where scores are large.
    SGDClassifier: sgd_label,
    # It multiplies before it subtracts.
    StandardScaler: standard_scaler,
}
