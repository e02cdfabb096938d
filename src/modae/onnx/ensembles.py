"""Every kind of estimator: ours by what they are, wrappers by what is inside, others by skl2onnx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.labels import TIE_BREAKS
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor
from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.tuning import ModularClassifierCV
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.linear.regressor import LinearModularRegressor
from modae.onnx.answers import Answer, Classification, Modules, Regression, Table
from modae.onnx.foreign import foreign_answer
from modae.onnx.graph import Graph
from modae.onnx.linear import linear_codes, linear_prediction
from modae.onnx.neighbors import nearest_label, nearest_target
from modae.onnx.votes import (
    hard_vote,
    in_classes,
    mean,
    mean_probabilities,
    median,
    prior_ranks,
    soft_vote,
)

SIMPLE: dict[type, Callable[[Graph, Any, Table], Answer]] = {
    BaggingAutoencoder: linear_codes,
    LinearModularAutoencoder: linear_codes,
    LinearModularRegressor: linear_prediction,
    NearestNeighborClassifier: nearest_label,
    NearestNeighborRegressor: nearest_target,
}
"""Estimators of ours that have no other estimators inside."""


def answer_of(graph: Graph, estimator: Any, x: Table, place: str) -> Answer:
    """What the estimator says of the rows x; ``place`` is what messages call it.

    The class itself decides, not a parent of it: a subclass may compute something else.
    """
    estimator = unwrapped(estimator)
    kind = type(estimator)
    if kind is Pipeline:
        return _through_steps(graph, estimator, x, place)
    if kind is ModularClassifier:
        return _vote(graph, estimator, x, place)
    if kind is ModularRegressor:
        return _average(graph, estimator, x, place)
    converter = SIMPLE.get(kind) or _deep_converter(kind)
    if converter is not None:
        return converter(graph, estimator, x)
    if kind.__module__.partition(".")[0] == "modae":
        raise ValueError(f"{place} cannot be converted to ONNX: export_onnx does not know its class.")
    return foreign_answer(graph, estimator, x, place)


def unwrapped(estimator: Any) -> Any:
    """What answers inside a frozen estimator or a search."""
    while True:
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, (ModularClassifierCV, BaseSearchCV)):
            estimator = estimator.best_estimator_
        else:
            return estimator


def _deep_converter(kind: type) -> Callable[[Graph, Any, Table], Answer] | None:
    """Only where there is a deep model is torch loaded, and then it has been loaded before."""
    if not kind.__module__.startswith("modae.deep."):
        return None
    from modae.onnx.networks import CONVERTERS

    return CONVERTERS.get(kind)


def _through_steps(graph: Graph, pipeline: Pipeline, x: Table, place: str) -> Answer:
    answer: Answer = x
    for name, step in pipeline.steps:
        if step is None or step == "passthrough":
            continue
        here = f"step {name!r} ({type(unwrapped(step)).__name__})"
        here = here if place == "Pipeline" else f"{place}, {here}"
        answer = answer_of(graph, step, table_of(graph, answer, here), here)
    return answer


def table_of(graph: Graph, answer: Answer, place: str) -> Table:
    """Features for the next step."""
    if isinstance(answer, Modules):
        return answer.side_by_side(graph)
    if isinstance(answer, Table):
        return answer
    raise ValueError(
        f"{place} cannot be converted to ONNX: the step before it is a classifier or a regressor, whose "
        "transform skl2onnx does not know."
    )


def _module_answers(graph: Graph, ensemble: Any, x: Table, place: str) -> list[Any]:
    """What each member says of the features of its module."""
    extractor = unwrapped(ensemble.extractor_)
    inside = "" if place in ("ModularClassifier", "ModularRegressor") else f"{place}, "
    modules = answer_of(graph, extractor, x, f"{inside}extractor ({type(extractor).__name__})")
    if not isinstance(modules, Modules):
        raise ValueError(
            f"{inside}extractor ({type(extractor).__name__}) cannot be converted to ONNX: only the "
            "extractors of modae have modules there; use LinearModularAutoencoder, BaggingAutoencoder "
            "or ModularAutoencoder."
        )
    pairs = zip(ensemble._members(), modules.tables, strict=True)
    return [answer_of(graph, each.estimator, table, f"{inside}{each}") for each, table in pairs]


def _vote(graph: Graph, ensemble: ModularClassifier, x: Table, place: str) -> Classification:
    answers = _module_answers(graph, ensemble, x, place)
    members = [in_classes(graph, answer, ensemble.classes_) for answer in answers]
    wanted = TIE_BREAKS[ensemble.tie_break]
    if ensemble.voting == "soft":
        wanted = tuple(name for name in wanted if name != "probability")  # they tie already
    breakers = _breakers(graph, ensemble, members)
    vote = soft_vote if ensemble.voting == "soft" else hard_vote
    return vote(graph, members, [breakers[name] for name in wanted if name in breakers])


def _breakers(
    graph: Graph, ensemble: ModularClassifier, members: list[Classification]
) -> dict[str, str]:
    """What decides ties: values (n, n_classes) or (1, n_classes)."""
    breakers = {"prior": prior_ranks(graph, ensemble.class_prior_)}
    if all(member.probabilities is not None for member in members):
        breakers["probability"] = mean_probabilities(graph, members)
    return breakers


def _average(graph: Graph, ensemble: ModularRegressor, x: Table, place: str) -> Regression:
    members: list[Regression] = _module_answers(graph, ensemble, x, place)
    values = [member.prediction for member in members]
    shape = ensemble._target_shape
    if ensemble.aggregate == "median":
        return Regression(median(graph, values, shape[0] if shape else 1), shape)
    return Regression(mean(graph, values), shape)
