r"""Nearest neighbours: ours, and scikit-learn's with Euclidean distances.

The nearest of the rows :math:`r_j` has the smallest :math:`|r_j|^2/2-q\cdot r_j`. These differences
cancel where distances are small beside the rows, so they are taken in float64; the rows themselves are
kept in float32. Of equal distances the row with the lowest index comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from modae.onnx.graph import Classification, Features, Graph, Regression, one_hot
from modae.utils.arrays import Array

SMALLEST_DISTANCE = 1e-150
"""In float64. A row at distance 0 then outweighs all that are not, as it should."""


def neighbors_label(graph: Graph, classifier: Any, x: Features) -> Classification:
    """NearestNeighborClassifier, or KNeighborsClassifier of scikit-learn with one label per row."""
    rows, labels, count, weighted = _training_data(classifier)
    chosen, weights = _nearest(graph, x, rows, count, weighted)
    votes = one_hot(graph, graph.add("Gather", labels, chosen), len(classifier.classes_))
    shares = _mean(graph, votes, weights)
    winner = graph.add("ArgMax", shares, axis=1, keepdims=0)
    return Classification(winner, shares, classifier.classes_)


def neighbors_target(graph: Graph, regressor: Any, x: Features) -> Regression:
    """NearestNeighborRegressor, or KNeighborsRegressor of scikit-learn."""
    rows, targets, count, weighted = _training_data(regressor)
    chosen, weights = _nearest(graph, x, rows, count, weighted)
    table = targets.reshape(len(targets), -1).astype(np.float64)
    prediction = _mean(graph, graph.add("Gather", table, chosen, axis=0), weights)
    return Regression(prediction, targets.shape[1:])


def is_euclidean(estimator: Any) -> bool:
    """Whether the functions above know such neighbours of scikit-learn."""
    one_output = np.ndim(getattr(estimator, "_y", ())) == 1 or not hasattr(estimator, "classes_")
    known = estimator.weights in ("uniform", None, "distance")
    return estimator.effective_metric_ == "euclidean" and known and one_output


def _training_data(estimator: Any) -> tuple[Array, np.ndarray, int, bool]:
    """Rows, their labels or targets, how many neighbours are asked, whether distances are weights."""
    if hasattr(estimator, "nearest_"):
        return estimator.nearest_.rows, estimator.targets_, 1, False
    rows, weighted = estimator._fit_X, estimator.weights == "distance"
    rows = rows.toarray() if issparse(rows) else np.asarray(rows)
    return rows, np.asarray(estimator._y), estimator.n_neighbors, weighted


def _nearest(
    graph: Graph, x: Features, rows: Array, count: int, weighted: bool
) -> tuple[str, str | None]:
    """Indices of the nearest rows, (n, count), and their weights, (n, count, 1), which sum to 1."""
    centre = np.asarray(rows.mean(axis=0), dtype=np.float64)
    kept = np.asarray(rows, dtype=np.float32).astype(np.float64)
    half_squares = np.square(kept - centre).sum(axis=1) / 2.0
    origin = graph.constant(centre, np.float64)
    around = graph.add("Sub", graph.cast(graph.constant(kept), np.float64), origin)
    queries = graph.add("Sub", graph.cast(x.name, np.float64), origin)
    products = graph.add("MatMul", queries, graph.add("Transpose", around, perm=[1, 0]))
    heights = graph.add("Sub", graph.constant(half_squares[None], np.float64), products)
    chosen = graph.add_several("TopK", heights, [count], n_outputs=2, largest=0)[1]
    if not weighted:
        return chosen, None
    queries = graph.add("Reshape", queries, [-1, 1, x.width])
    gaps = graph.add("Sub", graph.add("Gather", around, chosen, axis=0), queries)
    distances = graph.add("Sqrt", graph.add("ReduceSumSquare", gaps, [2]))
    smallest = graph.constant(SMALLEST_DISTANCE, np.float64)
    inverses = graph.add("Reciprocal", graph.add("Max", distances, smallest))
    weights = graph.add("Div", inverses, graph.add("ReduceSum", inverses, [1]))
    return chosen, graph.cast(weights, np.float32)


def _mean(graph: Graph, values: str, weights: str | None) -> str:
    """Mean over the neighbours of values (n, count, T): (n, T)."""
    if weights is None:
        return graph.add("ReduceMean", values, [1], keepdims=0)
    return graph.add("ReduceSum", graph.add("Mul", values, weights), [1], keepdims=0)
