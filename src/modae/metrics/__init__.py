"""Measures of an ensemble: terms of its loss, diversity of its votes, correlation of its features.

``terms`` splits the loss, ``votes`` compares members, ``correlations`` compares feature spaces, and
``curves`` draws the two curves of the paper from them. All take arrays; ``curves`` takes a fitted
extractor. It may import core, data and ensembles.
"""

from modae.metrics.correlations import distance_correlation, distance_correlation_matrix
from modae.metrics.curves import Estimate, faithfulness, redundancy
from modae.metrics.terms import AmbiguityDecomposition, ambiguity_decomposition, loss_terms
from modae.metrics.votes import (
    disagreement,
    disagreement_matrix,
    double_fault,
    double_fault_matrix,
    entropy,
    kappa,
    kappa_matrix,
    q_statistic,
    q_statistic_matrix,
)

__all__ = [
    "AmbiguityDecomposition",
    "Estimate",
    "ambiguity_decomposition",
    "disagreement",
    "disagreement_matrix",
    "distance_correlation",
    "distance_correlation_matrix",
    "double_fault",
    "double_fault_matrix",
    "entropy",
    "faithfulness",
    "kappa",
    "kappa_matrix",
    "loss_terms",
    "q_statistic",
    "q_statistic_matrix",
    "redundancy",
]
