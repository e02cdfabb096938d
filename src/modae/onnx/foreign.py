r"""Nearest neighbours, ours and scikit-learn's; and estimators of others that skl2onnx knows.

The nearest of the rows :math:`r_j` has the smallest :math:`|r_j|^2/2-q\cdot r_j`. These differences
cancel where distances are small beside the rows, so they are taken in float64; the rows themselves are
kept in float32. Of equal distances the row with the lowest index comes first.
"""

from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from onnx import ModelProto, TensorProto
from scipy.sparse import issparse
from sklearn import neighbors
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

from modae.ensembles.votes import by_pairs
from modae.onnx.graph import Answer, Classification, Converter, Features, Graph, Regression, refusal
from modae.utils.extras import require

#: In float64. A row at distance 0 then outweighs all that are not, as it should.
SMALLEST_DISTANCE = 1e-150

#: Sigmoids of lower scores are 0 in Python. Where all are, scikit-learn takes the classes as equal.
SMALLEST_SCORES = {np.dtype(np.float32): -88.7228, np.dtype(np.float64): -709.78}

#: So all such scores are set to this number.
FAR_BELOW = -1e4

NO_DECISIONS = "skl2onnx does not know its decision function; use voting='hard' or 'soft'."


def convert_foreign(graph: Graph, estimator: Any, x: Features, place: str, decisions: bool) -> Answer:
    """Add what an estimator that is not ours says: labels, predictions, or features."""
    own_converter = None if decisions else _own_converter(estimator, place)
    if own_converter is not None:
        return own_converter(graph, estimator, x)
    asked = by_pairs(estimator) if decisions else estimator
    model = _converted(asked, x.width, place, decisions)
    if model.functions:  # some of their names clash once they are part of a larger model
        raise refusal(place, "skl2onnx writes it with functions of its own; for gaps use SimpleImputer.")
    first, *others = graph.embed(model, x.name)
    if is_classifier(estimator):
        if isinstance(estimator.classes_, list):
            raise refusal(place, "it gives several labels at once.")
        strings = model.graph.output[0].type.tensor_type.elem_type == TensorProto.STRING
        kind, dtype = (str, "strings") if strings else (int, "int64s")
        places: dict[str, Any] = {f"keys_{dtype}": [kind(each) for each in estimator.classes_]}
        places["values_int64s"] = list(range(len(estimator.classes_)))
        label = first if strings else graph.cast(first, np.int64)
        encoded = graph.add("LabelEncoder", label, domain="ai.onnx.ml", **places)
        winner = graph.add("Reshape", encoded, [-1])
        scores = None
        if decisions or hasattr(estimator, "predict_proba"):
            # As a table: skl2onnx may end with a list of dictionaries, one for each row.
            last = next(node for node in reversed(graph.nodes) if others[0] in node.output)
            scores = last.input[0] if last.op_type == "ZipMap" else others[0]
            if asked is not estimator:
                scores = _smallest_margins(graph, scores, len(estimator.classes_))
        return Classification(winner, scores, estimator.classes_)
    # A clusterer says the cluster first, and the distances from all of them, its transform, then.
    which = int(is_clusterer(estimator) and len(others))
    features = [first, *others][which]
    dimensions = model.graph.output[which].type.tensor_type.shape.dim
    width = int(dimensions[1].dim_value) if len(dimensions) == 2 else 0  # 0 if skl2onnx knows none
    if is_regressor(estimator):
        n_targets = width or 1
        prediction = graph.add("Reshape", first, [-1, n_targets])
        return Regression(prediction, () if n_targets == 1 else (n_targets,))
    if hasattr(estimator, "get_feature_names_out"):
        n_columns = len(estimator.get_feature_names_out())
        if width not in (0, n_columns):  # such as SimpleImputer(add_indicator=True)
            raise refusal(place, f"skl2onnx writes {width} of its {n_columns} columns.")
        width = n_columns
    if not hasattr(estimator, "transform") or not width:
        raise refusal(place, "it has no transform of known width.")
    return Features(graph.add("Reshape", graph.cast(features, np.float32), [-1, width]), width)


def _smallest_margins(graph: Graph, pairs: str, n_classes: int) -> str:
    """The margin of each class over its strongest rival, from those of all pairs of classes."""
    one, other = np.triu_indices(n_classes, k=1)
    place = np.zeros((n_classes, n_classes), dtype=np.int64)
    place[one, other], place[other, one] = np.arange(len(one)), np.arange(len(one)) + len(one)
    rivals = place[~np.eye(n_classes, dtype=bool)].reshape(n_classes, n_classes - 1)
    both = graph.add("Concat", pairs, graph.add("Neg", pairs), axis=1)
    return graph.add("ReduceMin", graph.add("Gather", both, rivals, axis=1), [2], keepdims=0)


def _own_converter(estimator: Any, place: str) -> Converter | None:
    """A converter of ours, None for skl2onnx, or an error where neither would be right."""
    kind, reason = type(estimator), ""
    if kind in (neighbors.KNeighborsClassifier, neighbors.KNeighborsRegressor):
        metric, weights = estimator.effective_metric_, estimator.weights
        one_output = is_regressor(estimator) or np.ndim(estimator._y) == 1
        if not (metric == "euclidean" and one_output and weights in ("uniform", None, "distance")):
            if weights != "distance":
                return None
            reason = f"with weights='distance' only Euclidean distances can, got metric={metric!r}; "
            reason += "use weights='uniform'."
    elif kind is SGDClassifier and estimator.loss == "modified_huber":
        reason = "the probabilities of loss='modified_huber' cannot; use loss='log_loss'."
    elif kind in (neighbors.RadiusNeighborsClassifier, neighbors.RadiusNeighborsRegressor):
        reason = "runtimes fail at few neighbours; use KNeighborsClassifier or KNeighborsRegressor."
    elif kind in (RFE, RFECV):
        reason = "skl2onnx knows its transform only; use SelectFromModel, and the estimator after it."
    if reason:
        raise refusal(place, reason)
    return OWN_CONVERTERS.get(kind)


def _converted(estimator: Any, width: int, place: str, decisions: bool) -> ModelProto:
    """The estimator as a model of its own, made by skl2onnx."""
    skl2onnx = require("skl2onnx", extra="onnx", purpose="Export to ONNX")
    exceptions = skl2onnx.common.exceptions
    # With probabilities an SVC gives votes there.
    if decisions and isinstance(estimator, (SVC, NuSVC)) and hasattr(estimator, "predict_proba"):
        raise refusal(place, NO_DECISIONS)
    try:
        with catch_warnings():
            simplefilter("ignore")  # it reads attributes that scikit-learn is about to drop
            return skl2onnx.convert_sklearn(
                estimator,
                initial_types=[(Graph.INPUT, skl2onnx.common.data_types.FloatTensorType([None, width]))],
                target_opset=Graph.OPSETS,
                options={id(estimator): {"raw_scores": True}} if decisions else None,
            )
    except NameError as error:  # it has no such option
        raise refusal(place, NO_DECISIONS) from error
    except (exceptions.MissingShapeCalculator, exceptions.MissingConverter) as error:
        raise refusal(
            place,
            "skl2onnx has no converter for it; use an estimator that it knows, such as "
            "LogisticRegression, RandomForestClassifier or Ridge, or give it one with "
            "skl2onnx.update_registered_converter.",
        ) from error
    except Exception as error:
        raise refusal(place, "skl2onnx failed", error) from error


def neighbors_label(graph: Graph, classifier: Any, x: Features) -> Classification:
    """NearestNeighborClassifier, or KNeighborsClassifier of scikit-learn with one label per row."""
    labels, chosen, weights = _nearest(graph, classifier, x)
    votes = graph.one_hot(graph.add("Gather", labels, chosen), len(classifier.classes_))
    shares = graph.add("ReduceSum", graph.add("Mul", votes, weights), [1], keepdims=0)
    winner = graph.add("ArgMax", shares, axis=1, keepdims=0)
    return Classification(winner, shares, classifier.classes_)


def neighbors_target(graph: Graph, regressor: Any, x: Features) -> Regression:
    """NearestNeighborRegressor, or KNeighborsRegressor of scikit-learn."""
    targets, chosen, weights = _nearest(graph, regressor, x)
    table = targets.reshape(len(targets), -1).astype(np.float64)
    values = graph.add("Mul", graph.add("Gather", table, chosen, axis=0), weights)
    return Regression(graph.add("ReduceSum", values, [1], keepdims=0), targets.shape[1:])


def _nearest(graph: Graph, estimator: Any, x: Features) -> tuple[np.ndarray, str, str]:
    """All labels or targets; which are nearest, (n, count); and their weights, (n, count, 1)."""
    ours = hasattr(estimator, "nearest_")
    rows = estimator.nearest_.rows if ours else estimator._fit_X
    rows = rows.toarray() if issparse(rows) else np.asarray(rows)
    targets = np.asarray(estimator.targets_ if ours else estimator._y)
    count = min(int(estimator.n_neighbors), len(rows))
    centre = np.asarray(rows.mean(axis=0), dtype=np.float64)
    kept = np.asarray(rows, dtype=np.float32).astype(np.float64)
    half_squares = np.square(kept - centre).sum(axis=1) / 2.0
    origin = graph.constant(centre, np.float64)
    around = graph.add("Sub", graph.cast(graph.constant(kept), np.float64), origin)
    queries = graph.add("Sub", graph.cast(x.name, np.float64), origin)
    products = graph.add("MatMul", queries, graph.add("Transpose", around, perm=[1, 0]))
    heights = graph.add("Sub", graph.constant(half_squares[None], np.float64), products)
    chosen = graph.add_several("TopK", heights, [count], n_outputs=2, largest=0)[1]
    if ours and estimator.weights_ is not None:
        # So many rows as their weight says, until n_neighbors are there.
        own = graph.add("Gather", estimator.weights_[:, None], chosen, axis=0)
        reached = graph.add("CumSum", own, 1)
        before = graph.add("Min", graph.add("Sub", reached, own), float(estimator.n_neighbors))
        shares = graph.add("Sub", graph.add("Min", reached, float(estimator.n_neighbors)), before)
    elif not ours and estimator.weights == "distance":
        queries = graph.add("Reshape", queries, [-1, 1, x.width])
        gaps = graph.add("Sub", graph.add("Gather", around, chosen, axis=0), queries)
        distances = graph.add("Sqrt", graph.add("ReduceSumSquare", gaps, [2]))
        smallest = graph.constant(SMALLEST_DISTANCE, np.float64)
        shares = graph.add("Reciprocal", graph.add("Max", distances, smallest))
    else:
        return targets, chosen, graph.constant(np.full((count, 1), 1.0 / count))
    weights = graph.add("Div", shares, graph.add("ReduceSum", shares, [1]))
    return targets, chosen, graph.cast(weights, np.float32)


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
    neighbors.KNeighborsClassifier: neighbors_label,
    neighbors.KNeighborsRegressor: neighbors_target,
    # It takes labels from probabilities, which are all 0 or 1 where scores are large.
    SGDClassifier: sgd_label,
    # It multiplies before it subtracts.
    StandardScaler: standard_scaler,
}
