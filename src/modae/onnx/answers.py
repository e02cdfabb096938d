"""What an estimator says of rows, as names of values in a graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modae.onnx.graph import Graph
from modae.utils.arrays import Array


class Table(NamedTuple):
    """Features: (n, width), float32."""

    name: str
    width: int


class Modules(NamedTuple):
    """Features of several modules, one table for each."""

    tables: list[Table]

    def side_by_side(self, graph: Graph) -> Table:
        """All of them as one table, module after module."""
        names = [table.name for table in self.tables]
        return Table(graph.add("Concat", *names, axis=1), sum(table.width for table in self.tables))


class Classification(NamedTuple):
    """The index of the label in ``classes``, (n,), int64, and probabilities (n, n_classes) if any."""

    winner: str
    probabilities: str | None
    classes: np.ndarray

    def one_hot(self, graph: Graph) -> str:
        """1 for the label and 0 for the others, (n, n_classes), float32."""
        return one_hot(graph, self.winner, len(self.classes))


class Regression(NamedTuple):
    """Predictions (n, n_targets), float32, and the shape of the targets of one row: () or (T,)."""

    prediction: str
    target_shape: tuple[int, ...]


Answer = Table | Modules | Classification | Regression


def one_hot(graph: Graph, index: str, n_classes: int) -> str:
    """Indices (n,) as rows of 0 and 1, (n, n_classes), float32."""
    column = graph.reshaped(index, -1, 1)
    places = graph.numbers(np.arange(n_classes)[None], np.int64)
    return graph.cast(graph.add("Equal", column, places), np.float32)


def affine(graph: Graph, x: str, matrix: Array, bias: Array | None = None) -> str:
    """The product x @ matrix, plus the bias."""
    inputs = [x, graph.numbers(matrix)]
    return graph.add("Gemm", *inputs, *([] if bias is None else [graph.numbers(bias)]))
