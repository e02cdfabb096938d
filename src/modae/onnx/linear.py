"""Linear modules: (x - mean) @ B, in this order, since x @ B - mean @ B would cancel digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.onnx.answers import Classification, Modules, Regression, Table, affine
from modae.onnx.graph import Graph

SMALLEST_SCORES = {np.dtype(np.float32): -88.7228, np.dtype(np.float64): -709.78}
"""Sigmoids of lower scores are 0 in Python. Where all are, scikit-learn takes the classes as equal."""

FAR_BELOW = -1e4
"""So all such scores are set to this number."""


def linear_codes(graph: Graph, extractor: Any, x: Table) -> Modules:
    """Codes of each module of a linear extractor."""
    encoders = np.asarray(extractor.encoders_, dtype=np.float64)
    n_modules, width, n_features = encoders.shape
    centred = graph.centred(x.name, extractor.mean_)
    codes = affine(graph, centred, encoders.reshape(-1, n_features).T)
    return split(graph, codes, n_modules, width)


def split(graph: Graph, codes: str, n_modules: int, width: int) -> Modules:
    """Codes of all modules side by side, (n, M*H), as one table for each module."""
    if n_modules == 1:
        return Modules([Table(codes, width)])
    widths = graph.numbers([width] * n_modules, np.int64)
    names = graph.add_several("Split", codes, widths, n_outputs=n_modules, axis=1)
    return Modules([Table(name, width) for name in names])


def linear_prediction(graph: Graph, regressor: Any, x: Table) -> Regression:
    """The mean of the maps of a LinearModularRegressor."""
    flat = np.ndim(regressor.coef_) == 1
    coefficients = np.atleast_2d(regressor.coef_)
    centred = graph.centred(x.name, regressor.feature_mean_)
    prediction = affine(graph, centred, coefficients.T, np.ravel(regressor.target_mean_))
    return Regression(prediction, () if flat else (len(coefficients),))


def standardised(graph: Graph, scaler: Any, x: Table) -> Table:
    """The StandardScaler of scikit-learn, centred with more care than a product with rounded means."""
    name = x.name
    if scaler.with_mean:
        name = graph.centred(name, scaler.mean_)
    if scaler.with_std:
        name = graph.add("Div", name, graph.numbers(scaler.scale_))
    return Table(name, x.width)


def sgd_label(graph: Graph, classifier: Any, x: Table) -> Classification:
    r"""The SGDClassifier of scikit-learn: label by the scores, probabilities in logarithms.

    With ``loss="log_loss"`` they are sigmoids of the scores, divided by their sum. In float32 sigmoids
    of very negative scores are all 0; :math:`\log\sigma(s)=-\log(1+e^{-s})` keeps them apart.
    """
    scores = affine(graph, x.name, classifier.coef_.T, classifier.intercept_)
    if len(classifier.coef_) == 1:
        scores = graph.add("Concat", graph.add("Neg", scores), scores, axis=1)
    probabilities = None
    if classifier.loss == "log_loss":
        smallest = SMALLEST_SCORES[classifier.coef_.dtype]
        lost = graph.add("Less", scores, graph.numbers(smallest))
        kept = graph.add("Where", lost, graph.numbers(FAR_BELOW), scores)
        logarithms = graph.add("Neg", graph.add("Softplus", graph.add("Neg", kept)))
        probabilities = graph.add("Softmax", logarithms, axis=1)
    winner = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return Classification(winner, probabilities, classifier.classes_)
