"""Votes and means of members. The tie rule is that of :mod:`modae.ensembles.votes`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from modae.ensembles.votes import SAME
from modae.onnx.answers import Classification
from modae.onnx.graph import Graph
from modae.utils.arrays import Array

Members = Sequence[Classification]

SAME_IN_FLOAT32 = 1e-6
"""Mean probabilities closer than this are a tie: float32 and the order of summation differ by less."""


def in_classes(graph: Graph, member: Classification, classes: np.ndarray) -> Classification:
    """The answers of a member, which may know fewer classes, in the classes of the ensemble."""
    if np.array_equal(member.classes, classes):
        return member._replace(classes=classes)
    places = np.searchsorted(classes, member.classes)
    index = graph.add("Gather", graph.numbers(places, np.int64), member.winner)
    probabilities = member.probabilities
    if probabilities is not None:
        spread = graph.numbers(np.eye(len(classes))[places])
        probabilities = graph.add("MatMul", probabilities, spread)
    return Classification(index, probabilities, classes)


def hard_vote(graph: Graph, members: Members, breakers: Sequence[str]) -> Classification:
    """The label with most votes, and shares of the votes."""
    classes = members[0].classes
    counts = graph.add("Sum", *(each.one_hot(graph) for each in members))
    shares = graph.add("Div", counts, graph.numbers(float(len(members))))
    return Classification(decided(graph, counts, breakers), shares, classes)


def soft_vote(graph: Graph, members: Members, breakers: Sequence[str]) -> Classification:
    """The label with the largest mean probability, and mean probabilities."""
    shares = mean_probabilities(graph, members)
    return Classification(decided(graph, shares, breakers, SAME_IN_FLOAT32), shares, members[0].classes)


def mean_probabilities(graph: Graph, members: Members) -> str:
    """Mean over members that all have probabilities, (n, n_classes)."""
    return mean(graph, [each.probabilities or "" for each in members])


def mean(graph: Graph, values: Sequence[str]) -> str:
    """Mean of values of one shape."""
    return graph.add("Div", graph.add("Sum", *values), graph.numbers(float(len(values))))


def prior_ranks(graph: Graph, prior: Array) -> str:
    """Shares of the classes as ranks, (1, n_classes): equal shares are equal, in float32 too."""
    order = np.argsort(prior)
    steps = np.diff(prior[order], prepend=prior[order[0]]) > SAME
    ranks = np.empty(len(prior))
    ranks[order] = np.cumsum(steps)
    return graph.numbers(ranks[None])


def decided(graph: Graph, scores: str, breakers: Sequence[str], tolerance: float = 0.0) -> str:
    """Index of the largest score in each row; ties go through the breakers, then to the first class."""
    winners = _largest(graph, scores, tolerance)
    for breaker in breakers:
        # Lower than every probability and every rank.
        contest = graph.add("Where", winners, breaker, graph.numbers(-1.0))
        winners = _largest(graph, contest, SAME_IN_FLOAT32)
    return graph.add("ArgMax", graph.cast(winners, np.float32), axis=1, keepdims=0)


def _largest(graph: Graph, scores: str, tolerance: float) -> str:
    """Which scores are the largest of their row, or as good as it."""
    largest = graph.add("ReduceMax", scores, graph.numbers([1], np.int64))
    return graph.add("GreaterOrEqual", scores, graph.add("Sub", largest, graph.numbers(tolerance)))


def median(graph: Graph, values: Sequence[str], n_targets: int) -> str:
    """Median over members of their predictions (n, n_targets)."""
    columns = [graph.reshaped(value, -1, n_targets, 1) for value in values]
    together = graph.add("Concat", *columns, axis=2)
    size = graph.numbers([len(values)], np.int64)
    ranked = graph.add_several("TopK", together, size, n_outputs=2, axis=2)[0]
    middle = [(len(values) - 1) // 2, len(values) // 2]
    pair = graph.add("Gather", ranked, graph.numbers(middle, np.int64), axis=2)
    return graph.add("ReduceMean", pair, graph.numbers([2], np.int64), keepdims=0)
