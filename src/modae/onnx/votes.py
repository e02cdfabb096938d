"""Votes and means of members, by the rules of :mod:`modae.ensembles.votes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modae.ensembles.votes import SAME, TIE_BREAKS
from modae.onnx.graph import Classification, Graph, one_hot
from modae.utils.arrays import Array

SAME_IN_FLOAT32 = 1e-6
"""Mean probabilities closer than this are a tie: float32 and the order of summation differ by less."""


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
