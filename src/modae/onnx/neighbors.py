r"""Nearest neighbours: ours, and scikit-learn's with Euclidean distances.

The nearest of the rows :math:`r_j` has the smallest :math:`|r_j|^2/2-q\cdot r_j`. These differences
cancel where distances are small beside the rows, so they are taken in float64; the rows themselves are
kept in float32. Of equal distances the row with the lowest index comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from modae.onnx.answers import Classification, Regression, Table, one_hot
from modae.onnx.graph import Graph
from modae.utils.arrays import Array

WEIGHTINGS = ("uniform", None, "distance")

SMALLEST_DISTANCE = 1e-150
"""In float64. A row at distance 0 then outweighs all that are not, as it should."""


def nearest_label(graph: Graph, classifier: Any, x: Table) -> Classification:
    """Our NearestNeighborClassifier."""
    nearest = Neighbours(graph, classifier.nearest_.rows).nearest(x)
    index = graph.add("Gather", graph.numbers(classifier.targets_, np.int64), nearest)
    probabilities = one_hot(graph, index, len(classifier.classes_))
    return Classification(index, probabilities, classifier.classes_)


def nearest_target(graph: Graph, regressor: Any, x: Table) -> Regression:
    """Our NearestNeighborRegressor."""
    targets = regressor.targets_
    nearest = Neighbours(graph, regressor.nearest_.rows).nearest(x)
    table = graph.numbers(targets.reshape(len(targets), -1))
    return Regression(graph.add("Gather", table, nearest, axis=0), targets.shape[1:])


def is_euclidean(estimator: Any) -> bool:
    """Whether scikit-learn's neighbours are such that the functions below know them."""
    one_output = np.ndim(getattr(estimator, "_y", ())) == 1 or not hasattr(estimator, "classes_")
    return estimator.effective_metric_ == "euclidean" and estimator.weights in WEIGHTINGS and one_output


def neighbours_label(graph: Graph, classifier: Any, x: Table) -> Classification:
    """KNeighborsClassifier of scikit-learn."""
    labels = np.eye(len(classifier.classes_), dtype=np.float32)[classifier._y]
    shares = _mean_of_neighbours(graph, classifier, x, labels)
    index = graph.add("ArgMax", shares, axis=1, keepdims=0)
    return Classification(index, shares, classifier.classes_)


def neighbours_target(graph: Graph, regressor: Any, x: Table) -> Regression:
    """KNeighborsRegressor of scikit-learn."""
    targets = np.asarray(regressor._y)
    mean = _mean_of_neighbours(graph, regressor, x, targets.reshape(len(targets), -1))
    return Regression(mean, targets.shape[1:])


def _mean_of_neighbours(graph: Graph, estimator: Any, x: Table, values: Array) -> str:
    """Mean of the values (n_rows, T) of the nearest rows, weighted or not: (n, T)."""
    rows = estimator._fit_X
    neighbours = Neighbours(graph, rows.toarray() if issparse(rows) else np.asarray(rows))
    chosen = neighbours.several(x, estimator.n_neighbors)
    theirs = graph.add("Gather", graph.numbers(values), chosen, axis=0)
    if estimator.weights != "distance":
        return graph.add("ReduceMean", theirs, graph.numbers([1], np.int64), keepdims=0)
    weights = graph.cast(neighbours.closeness(x, chosen), np.float32)
    weighted = graph.add("Mul", theirs, weights)
    return graph.add("ReduceSum", weighted, graph.numbers([1], np.int64), keepdims=0)


class Neighbours:
    """Training rows in a graph, around their centre, and which of them are near."""

    def __init__(self, graph: Graph, rows: Array) -> None:
        self.graph = graph
        self.centre = np.asarray(rows.mean(axis=0), dtype=np.float64)
        kept = np.asarray(rows, dtype=np.float32).astype(np.float64)
        wide = graph.cast(graph.numbers(kept), np.float64)
        self.rows = graph.add("Sub", wide, graph.numbers(self.centre, np.float64))
        self.half_squares = np.square(kept - self.centre).sum(axis=1) / 2.0

    def nearest(self, x: Table) -> str:
        """Index of the nearest row, (n,)."""
        return self.graph.add("ArgMin", self._heights(x), axis=1, keepdims=0)

    def several(self, x: Table, count: int) -> str:
        """Indices of the nearest rows, (n, count)."""
        size = self.graph.numbers([count], np.int64)
        return self.graph.add_several("TopK", self._heights(x), size, n_outputs=2, largest=0)[1]

    def closeness(self, x: Table, chosen: str) -> str:
        """Inverse distances to the chosen rows, divided by their sum: (n, count, 1)."""
        graph = self.graph
        queries = graph.reshaped(self._queries(x), -1, 1, x.width)
        gaps = graph.add("Sub", graph.add("Gather", self.rows, chosen, axis=0), queries)
        squares = graph.add("ReduceSumSquare", gaps, graph.numbers([2], np.int64))
        smallest = graph.numbers(SMALLEST_DISTANCE, np.float64)
        inverses = graph.add("Reciprocal", graph.add("Max", graph.add("Sqrt", squares), smallest))
        total = graph.add("ReduceSum", inverses, graph.numbers([1], np.int64))
        return graph.add("Div", inverses, total)

    def _heights(self, x: Table) -> str:
        """Half the squared distances to all rows, less a number for each query: (n, n_rows)."""
        graph = self.graph
        products = graph.add("MatMul", self._queries(x), graph.add("Transpose", self.rows, perm=[1, 0]))
        return graph.add("Sub", graph.numbers(self.half_squares[None], np.float64), products)

    def _queries(self, x: Table) -> str:
        centre = self.graph.numbers(self.centre, np.float64)
        return self.graph.add("Sub", self.graph.cast(x.name, np.float64), centre)
