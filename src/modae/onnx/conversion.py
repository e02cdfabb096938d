"""A fitted model, walked through from the outside in: wrappers, steps, extractor, members, vote.

Votes follow the rules of :mod:`modae.ensembles.votes`.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, checker, helper, shape_inference
from scipy.stats import rankdata
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from modae import __version__
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.families import AllColumns
from modae.ensembles.neighbors import NearestNeighborClassifier, NearestNeighborRegressor
from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.votes import TIE_BREAKS
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.linear.regressor import LinearModularRegressor
from modae.onnx.foreign import convert_foreign, neighbors_label, neighbors_target
from modae.onnx.graph import Answer, Classification, Converter, Features, Graph, Regression, refusal
from modae.utils.arrays import Array

#: Mean probabilities closer than this are a tie: float32 and the order of summation differ by less.
SAME_IN_FLOAT32 = 1e-6


def onnx_model(estimator: Any) -> ModelProto:
    """The model that :func:`export_onnx` writes, checked."""
    if not hasattr(estimator, "n_features_in_"):
        first = estimator.steps[0][1] if hasattr(estimator, "steps") else estimator
        reason = "it does not read a table of numbers of fixed width; export what comes after it."
        raise refusal(type(first).__name__, reason)
    width, graph = int(estimator.n_features_in_), Graph()
    answer = convert(graph, estimator, Features(Graph.INPUT, width))
    notes = {"modae": __version__, "class": type(estimator).__name__}
    if hasattr(estimator, "feature_names_in_"):
        notes["feature_names"] = json.dumps([str(name) for name in estimator.feature_names_in_])
    if isinstance(answer, Features):
        graph.output("codes", answer.name, np.float32, answer.width)
    elif isinstance(answer, Regression):
        prediction = graph.add("Reshape", answer.prediction, [-1, *answer.target_shape])
        graph.output("prediction", prediction, np.float32, *answer.target_shape)
    else:
        numbers = answer.classes.dtype.kind in "iubf"
        if not numbers and not all(isinstance(each, str) for each in answer.classes):
            raise ValueError(f"labels must be numbers or strings in ONNX, got {answer.classes[0]!r}.")
        dtype = np.int64 if numbers else object
        labels = graph.constant(answer.classes.astype(dtype), dtype)
        graph.output("label", graph.add("Gather", labels, answer.winner), dtype)
        if answer.scores is not None:
            graph.output("probabilities", answer.scores, np.float32, len(answer.classes))
        notes["classes"] = json.dumps(answer.classes.tolist())
    model = graph.model(width)
    # Where it comes from, what the columns of X are called, and which classes there are.
    model.producer_name, model.producer_version = "modae", __version__
    names = ", ".join(output.name for output in model.graph.output)
    model.doc_string = f"{notes['class']} of modae {__version__}: float32 rows X in, {names} out."
    helper.set_model_props(model, notes)
    try:
        checker.check_model(model, full_check=True)
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        raise refusal(notes["class"], "what skl2onnx wrote does not fit together", error) from error
    return model


def convert(
    graph: Graph, estimator: Any, x: Features, place: str = "", *, decisions: bool = False
) -> Answer:
    """Add what the estimator says of the rows x; messages say at which place of the model it is.

    The class itself decides, not a parent of it: a subclass may compute something else. With
    ``decisions`` the scores of a classifier are its decision function instead of probabilities.
    """
    estimator = unwrap(estimator)
    kind = type(estimator)
    if kind is Pipeline:
        answer: Answer = x
        for name, step in estimator.steps:
            if step in (None, "passthrough"):
                continue
            here = _inside(place, f"step {name!r} ({type(unwrap(step)).__name__})")
            if not isinstance(answer, Features):
                reason = "skl2onnx does not know the transform of the classifier or regressor before it."
                raise refusal(here, reason)
            is_last = step is estimator.steps[-1][1]
            answer = convert(graph, step, answer, here, decisions=decisions and is_last)
        return answer
    place_or_kind = place or kind.__name__
    if kind.__module__.partition(".")[0] != "modae":
        return convert_foreign(graph, estimator, x, place_or_kind, decisions)
    if decisions:
        raise refusal(place, "its decision function has no converter; use voting='hard' or 'soft'.")
    if kind in (ModularClassifier, ModularRegressor):
        return _convert_ensemble(graph, estimator, x, place)
    converter = CONVERTERS.get(kind)
    if kind.__module__.startswith("modae.deep."):  # only then is torch loaded, and it has been before
        from modae.onnx.networks import DEEP_CONVERTERS

        converter = DEEP_CONVERTERS.get(kind)
    if converter is None:
        raise refusal(place_or_kind, "export_onnx does not know its class.")
    return converter(graph, estimator, x)


def unwrap(estimator: Any) -> Any:
    """What answers inside a frozen estimator or a search."""
    if isinstance(estimator, FrozenEstimator):
        return unwrap(estimator.estimator)
    return unwrap(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def _inside(place: str, part: str) -> str:
    return f"{place}, {part}" if place else part


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
    decisions = getattr(ensemble, "voting_", None) == "decision"
    answers: list[Any] = []
    for member, table in zip(ensemble._members(), tables, strict=True):
        rows, here = Features(table, width), _inside(place, str(member))
        answers.append(convert(graph, member.estimator, rows, here, decisions=decisions))
    if isinstance(ensemble, ModularRegressor):
        aggregate = _median if ensemble.aggregate == "median" else _mean
        prediction = aggregate(graph, [answer.prediction for answer in answers])
        return Regression(prediction, ensemble._target_shape)
    members = [with_classes(graph, answer, ensemble.classes_) for answer in answers]
    temperature = getattr(ensemble, "temperature_", 1.0)
    return vote(graph, members, ensemble.class_prior_, ensemble.voting_, ensemble.tie_break, temperature)


def with_classes(graph: Graph, member: Classification, classes: np.ndarray) -> Classification:
    """The answers of a member, which may know fewer classes, in the classes of the ensemble."""
    if np.array_equal(member.classes, classes):
        return member._replace(classes=classes)
    places, scores = np.searchsorted(classes, member.classes), member.scores
    if scores is not None:
        scores = graph.add("MatMul", scores, np.eye(len(classes))[places])
    return Classification(graph.add("Gather", places, member.winner), scores, classes)


def vote(
    graph: Graph,
    members: Sequence[Classification],
    prior: Array,
    voting: str,
    tie_break: str,
    temperature: float = 1.0,
) -> Classification:
    """The label that wins, by the rules of ModularClassifier.

    Ties go through what ``tie_break`` names, then to the first class. Probabilities are shares of the
    votes, mean probabilities ("soft"), or the softmax of mean decision functions ("decision").
    """
    classes = members[0].classes
    scores: list[Any] = [member.scores for member in members]
    mean_scores = "" if None in scores else _mean(graph, scores)
    if voting == "hard":
        votes = graph.add("Sum", *(graph.one_hot(each.winner, len(classes)) for each in members))
        shares = graph.add("Div", votes, float(len(members)))
        winners = _largest(graph, votes, 0.0)
    else:
        shares = mean_scores
        if voting == "decision":
            # Two classes have the scores -s and s here, and 0 and s in Python.
            scale = temperature * (2.0 if len(classes) == 2 else 1.0)
            shares = graph.add("Softmax", graph.add("Div", mean_scores, scale), axis=1)
        winners = _largest(graph, shares, SAME_IN_FLOAT32)
    for name in TIE_BREAKS[tie_break]:
        if name == "probability" and (voting != "hard" or not mean_scores):
            continue  # they tie already, or there are none
        # Ranks of shares that are equal but for round-off are equal, in float32 too.
        ranks = rankdata(prior.round(12), method="dense").astype(float)
        breaker: Any = mean_scores if name == "probability" else ranks[None]
        # -1 is lower than every probability and every rank.
        winners = _largest(graph, graph.add("Where", winners, breaker, -1.0), SAME_IN_FLOAT32)
    winner = graph.add("ArgMax", graph.cast(winners, np.float32), axis=1, keepdims=0)
    return Classification(winner, shares, classes)


def _largest(graph: Graph, scores: str, tolerance: float) -> str:
    """Which scores are the largest of their row, or as good as it."""
    largest = graph.add("ReduceMax", scores, [1])
    return graph.add("GreaterOrEqual", scores, graph.add("Sub", largest, tolerance))


def _mean(graph: Graph, values: Sequence[Any]) -> str:
    """Mean of values of one shape."""
    return graph.add("Div", graph.add("Sum", *values), float(len(values)))


def _median(graph: Graph, values: Sequence[str]) -> str:
    """Median over members of their predictions (n, n_targets)."""
    together = graph.add("Concat", *(graph.add("Unsqueeze", each, [2]) for each in values), axis=2)
    ranked = graph.add_several("TopK", together, [len(values)], n_outputs=2, axis=2)[0]
    pair = graph.add("Gather", ranked, [(len(values) - 1) // 2, len(values) // 2], axis=2)
    return graph.add("ReduceMean", pair, [2], keepdims=0)


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


#: Estimators of ours that have no other estimators inside, but for the deep ones.
CONVERTERS: dict[type, Converter] = {
    AllColumns: lambda graph, extractor, x: Features(x.name, x.width, 1),
    BaggingAutoencoder: linear_codes,
    LinearModularAutoencoder: linear_codes,
    LinearModularRegressor: linear_prediction,
    NearestNeighborClassifier: neighbors_label,
    NearestNeighborRegressor: neighbors_target,
}
