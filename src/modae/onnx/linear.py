"""Linear estimators: (x - mean) @ B, in this order, since x @ B - mean @ B would cancel digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.onnx.graph import Classification, Features, Graph, Regression

SMALLEST_SCORES = {np.dtype(np.float32): -88.7228, np.dtype(np.float64): -709.78}
"""Sigmoids of lower scores are 0 in Python. Where all are, scikit-learn takes the classes as equal."""

FAR_BELOW = -1e4
"""So all such scores are set to this number."""


def linear_codes(graph: Graph, extractor: Any, x: Features) -> Features:
    """Codes of all modules of a linear extractor."""
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
