"""A fitted model, walked through from the outside in: wrappers, steps, extractor, members, vote."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from onnx import ModelProto, checker, helper
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from modae import __version__
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor
from modae.ensembles.regressor import ModularRegressor
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.linear.regressor import LinearModularRegressor
from modae.onnx.foreign import convert_foreign
from modae.onnx.graph import (
    INPUT,
    Answer,
    Classification,
    Converter,
    Features,
    Graph,
    Regression,
    refusal,
)
from modae.onnx.neighbors import neighbors_label, neighbors_target
from modae.onnx.votes import mean, median, vote, with_classes


def onnx_model(estimator: Any) -> ModelProto:
    """The model that :func:`export_onnx` writes, checked."""
    if not hasattr(estimator, "n_features_in_"):
        first = estimator.steps[0][1] if hasattr(estimator, "steps") else estimator
        raise refusal(
            type(first).__name__,
            "it does not read a table of numbers with a fixed number of columns; export what comes "
            "after it.",
        )
    width, graph = int(estimator.n_features_in_), Graph()
    answer = convert(graph, estimator, Features(INPUT, width))
    _add_outputs(graph, answer)
    model = graph.model(width)
    _describe(model, estimator, answer)
    checker.check_model(model, full_check=True)
    return model


def _add_outputs(graph: Graph, answer: Answer) -> None:
    """Give the answer its public names."""
    if isinstance(answer, Features):
        graph.output("codes", answer.name, np.float32, answer.width)
        return
    if isinstance(answer, Regression):
        prediction = graph.add("Reshape", answer.prediction, [-1, *answer.target_shape])
        graph.output("prediction", prediction, np.float32, *answer.target_shape)
        return
    numbers = answer.classes.dtype.kind in "iubf"
    if not numbers and not all(isinstance(each, str) for each in answer.classes):
        raise ValueError(f"labels must be numbers or strings in ONNX, got {answer.classes[0]!r}.")
    dtype = np.int64 if numbers else object
    labels = graph.constant(answer.classes.astype(dtype), dtype)
    graph.output("label", graph.add("Gather", labels, answer.winner), dtype)
    if answer.probabilities is not None:
        graph.output("probabilities", answer.probabilities, np.float32, len(answer.classes))


def _describe(model: ModelProto, estimator: Any, answer: Answer) -> None:
    """Where it comes from, what the columns of X are called, and which classes there are."""
    kind = type(estimator).__name__
    model.producer_name, model.producer_version = "modae", __version__
    names = ", ".join(output.name for output in model.graph.output)
    model.doc_string = f"{kind} of modae {__version__}: float32 rows X in, {names} out."
    notes = {"modae": __version__, "class": kind}
    if hasattr(estimator, "feature_names_in_"):
        notes["feature_names"] = json.dumps([str(name) for name in estimator.feature_names_in_])
    if isinstance(answer, Classification):
        notes["classes"] = json.dumps(answer.classes.tolist())
    helper.set_model_props(model, notes)


def convert(graph: Graph, estimator: Any, x: Features, place: str = "") -> Answer:
    """Add what the estimator says of the rows x; messages say at which place of the model it is.

    The class itself decides, not a parent of it: a subclass may compute something else.
    """
    estimator = unwrap(estimator)
    kind = type(estimator)
    if kind is Pipeline:
        return _convert_steps(graph, estimator, x, place)
    if kind in (ModularClassifier, ModularRegressor):
        return _convert_ensemble(graph, estimator, x, place)
    converter = CONVERTERS.get(kind)
    if kind.__module__.startswith("modae.deep."):  # only then is torch loaded, and it has been before
        from modae.onnx.networks import DEEP_CONVERTERS

        converter = DEEP_CONVERTERS.get(kind)
    if converter is not None:
        return converter(graph, estimator, x)
    if kind.__module__.partition(".")[0] == "modae":
        raise refusal(place or kind.__name__, "export_onnx does not know its class.")
    return convert_foreign(graph, estimator, x, place or kind.__name__)


def unwrap(estimator: Any) -> Any:
    """What answers inside a frozen estimator or a search."""
    while True:
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def _convert_steps(graph: Graph, pipeline: Pipeline, x: Features, place: str) -> Answer:
    answer: Answer = x
    for name, step in pipeline.steps:
        if step is None or step == "passthrough":
            continue
        here = _inside(place, f"step {name!r} ({type(unwrap(step)).__name__})")
        if not isinstance(answer, Features):
            raise refusal(
                here,
                "the step before it is a classifier or a regressor, whose transform skl2onnx does not "
                "know.",
            )
        answer = convert(graph, step, answer, here)
    return answer


def _convert_ensemble(graph: Graph, ensemble: Any, x: Features, place: str) -> Answer:
    extractor = unwrap(ensemble.extractor_)
    here = _inside(place, f"extractor ({type(extractor).__name__})")
    codes = convert(graph, extractor, x, here)
    if not isinstance(codes, Features) or not codes.n_modules:
        raise refusal(
            here,
            "only the extractors of modae have modules there; use LinearModularAutoencoder, "
            "BaggingAutoencoder or ModularAutoencoder.",
        )
    width = codes.width // codes.n_modules
    widths = [width] * codes.n_modules
    tables = graph.add_several("Split", codes.name, widths, n_outputs=codes.n_modules, axis=1)
    answers: list[Any] = [
        convert(graph, member.estimator, Features(table, width), _inside(place, str(member)))
        for member, table in zip(ensemble._members(), tables, strict=True)
    ]
    if isinstance(ensemble, ModularRegressor):
        aggregate = median if ensemble.aggregate == "median" else mean
        prediction = aggregate(graph, [answer.prediction for answer in answers])
        return Regression(prediction, ensemble._target_shape)
    members = [with_classes(graph, answer, ensemble.classes_) for answer in answers]
    soft = ensemble.voting == "soft"
    return vote(graph, members, ensemble.class_prior_, soft=soft, tie_break=ensemble.tie_break)


def _inside(place: str, part: str) -> str:
    return f"{place}, {part}" if place else part


def linear_codes(graph: Graph, extractor: Any, x: Features) -> Features:
    """Codes of all modules: (x - mean) @ B, in this order; x @ B - mean @ B would cancel digits."""
    n_modules, width, n_features = extractor.encoders_.shape
    centred = graph.centred(x.name, extractor.mean_)
    codes = graph.add("Gemm", centred, extractor.encoders_.reshape(-1, n_features).T)
    return Features(codes, n_modules * width, n_modules)


def linear_prediction(graph: Graph, regressor: Any, x: Features) -> Regression:
    """The mean of the maps of a LinearModularRegressor."""
    coefficients = np.atleast_2d(regressor.coef_)
    centred = graph.centred(x.name, regressor.feature_mean_)
    prediction = graph.add("Gemm", centred, coefficients.T, np.ravel(regressor.target_mean_))
    return Regression(prediction, regressor.coef_.shape[:-1])


CONVERTERS: dict[type, Converter] = {
    BaggingAutoencoder: linear_codes,
    LinearModularAutoencoder: linear_codes,
    LinearModularRegressor: linear_prediction,
    NearestNeighborClassifier: neighbors_label,
    NearestNeighborRegressor: neighbors_target,
}
"""Estimators of ours that have no other estimators inside, but for the deep ones."""
