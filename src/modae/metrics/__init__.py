"""Measures of an ensemble: terms of its loss, diversity of its votes, correlation of its features.

``comparison`` cross-validates models beside each other and judges their doubt, ``terms`` splits the
loss, ``votes`` compares members, and ``correlations`` compares feature spaces: its ``faithfulness`` and
``redundancy``, the two curves of the paper, take a fitted extractor, all others arrays. It may import
core, data and ensembles.
"""

from modae.ensembles.votes import split_uncertainty
from modae.metrics.comparison import compare, rivals
from modae.metrics.correlations import (
    Estimate,
    distance_correlation,
    distance_correlation_matrix,
    faithfulness,
    redundancy,
)
from modae.metrics.risk import area_under_risk_coverage, risk_coverage_curve
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
    "AmbiguityDecomposition", "Estimate", "ambiguity_decomposition", "area_under_risk_coverage",
    "compare", "disagreement", "disagreement_matrix", "distance_correlation",
    "distance_correlation_matrix", "double_fault", "double_fault_matrix", "entropy", "faithfulness",
    "kappa", "kappa_matrix", "loss_terms", "q_statistic", "q_statistic_matrix", "redundancy",
    "risk_coverage_curve", "rivals", "split_uncertainty",
]  # fmt: skip
