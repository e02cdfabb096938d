"""A fitted model, walked through from the outside in: wrappers, steps, extractor, members, vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.labels import TIE_BREAKS
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor
from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.votes import SAME
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.linear.regressor import LinearModularRegressor
from modae.onnx.foreign import convert_foreign
from modae.onnx.graph import (
    Answer,
    Classification,
    Converter,
    Features,
    Graph,
    Regression,
    one_hot,
    refusal,
)
from modae.onnx.linear import linear_codes, linear_prediction
from modae.onnx.neighbors import neighbors_label, neighbors_target
from modae.utils.arrays import Array

CONVERTERS: dict[type, Converter] = {
    BaggingAutoencoder: linear_codes,
    LinearModularAutoencoder: linear_codes,
    LinearModularRegressor: linear_prediction,
    NearestNeighborClassifier: neighbors_label,
    NearestNeighborRegressor: neighbors_target,
}
"""Estimators of ours that have no other estimators inside, but for the deep ones."""

SAME_IN_FLOAT32 = 1e-6
"""Mean probabilities closer than this are a tie: float32 and the order of summation differ by less."""


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


def with_classes(graph: Graph, member: Classification, classes: np.ndarray) -> Classification:
    """The answers of a member, which may know fewer classes, in the classes of the ensemble."""
    if np.array_equal(member.classes, classes):
        return member._replace(classes=classes)
    places = np.searchsorted(classes, member.classes)
    probabilities = member.probabilities
    if probabilities is not None:
        probabilities = graph.add("MatMul", probabilities, np.eye(len(classes))[places])
    return Classification(graph.add("Gather", places, member.winner), probabilities, classes)


def vote(
    graph: Graph, members: Sequence[Classification], prior: Array, *, soft: bool, tie_break: str
) -> Classification:
    """The label with most votes or the largest mean probability, by the rules of ModularClassifier.

    Ties go through what ``tie_break`` names, then to the first class; probabilities are shares of the
    votes, or mean probabilities if soft.
    """
    classes = members[0].classes
    probabilities: list[Any] = [member.probabilities for member in members]
    mean_probabilities = "" if None in probabilities else mean(graph, probabilities)
    if soft:
        shares = scores = mean_probabilities
    else:
        scores = graph.add("Sum", *(one_hot(graph, each.winner, len(classes)) for each in members))
        shares = graph.add("Div", scores, float(len(members)))
    winners = _largest(graph, scores, SAME_IN_FLOAT32 if soft else 0.0)
    for name in TIE_BREAKS[tie_break]:
        if name == "probability" and (soft or not mean_probabilities):
            continue  # they tie already, or there are none
        breaker: Any = mean_probabilities if name == "probability" else _ranks(prior)[None]
        # -1 is lower than every probability and every rank.
        winners = _largest(graph, graph.add("Where", winners, breaker, -1.0), SAME_IN_FLOAT32)
    winner = graph.add("ArgMax", graph.cast(winners, np.float32), axis=1, keepdims=0)
    return Classification(winner, shares, classes)


def _largest(graph: Graph, scores: str, tolerance: float) -> str:
    """Which scores are the largest of their row, or as good as it."""
    largest = graph.add("ReduceMax", scores, [1])
    return graph.add("GreaterOrEqual", scores, graph.add("Sub", largest, tolerance))


def _ranks(prior: Array) -> Array:
    """Shares of the classes as ranks: equal shares are equal, in float32 too."""
    order = np.argsort(prior)
    ranks = np.empty(len(prior))
    ranks[order] = np.cumsum(np.diff(prior[order], prepend=prior[order[0]]) > SAME)
    return ranks


def mean(graph: Graph, values: Sequence[Any]) -> str:
    """Mean of values of one shape."""
    return graph.add("Div", graph.add("Sum", *values), float(len(values)))


def median(graph: Graph, values: Sequence[str]) -> str:
    """Median over members of their predictions (n, n_targets)."""
    together = graph.add("Concat", *(graph.add("Unsqueeze", each, [2]) for each in values), axis=2)
    ranked = graph.add_several("TopK", together, [len(values)], n_outputs=2, axis=2)[0]
    middle = [(len(values) - 1) // 2, len(values) // 2]
    pair = graph.add("Gather", ranked, middle, axis=2)
    return graph.add("ReduceMean", pair, [2], keepdims=0)
