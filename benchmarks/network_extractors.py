"""Deep modules as extractors for nearest neighbours against linear ones, each tuned by diversity.

Part of ``python -m benchmarks.networks --autoencoder``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline

from benchmarks.data import labelled_digits
from benchmarks.field_data import CLASSIFICATION, Data
from benchmarks.field_rivals import ScaleIfNeeded
from modae import LinearModularAutoencoder, ModularClassifier
from modae.deep import ModularAutoencoder

DIVERSITIES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9)
TABLES = ("digits", "breast cancer", "vote", "hypercube")


def extractors(n_features: int) -> dict[str, Any]:
    """Ten modules each, of the same size."""
    size = {"n_modules": 10, "n_components": min(10, max(2, round(0.4 * n_features))), "random_state": 0}
    return {"linear": LinearModularAutoencoder(**size), "deep": ModularAutoencoder(**size)}


def tuned_error(extractor: Any, X: np.ndarray, y: np.ndarray, n_folds: int) -> tuple[float, float]:
    """Error in percent, and the mean diversity that a fifth of the training rows chose."""
    wrong, chosen = np.empty(len(y)), []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        fit, hold = train_test_split(train, test_size=0.2, stratify=y[train], random_state=0)
        models = {
            d: make_pipeline(
                ScaleIfNeeded(),
                ModularClassifier(clone(extractor).set_params(diversity=d), random_state=0),
            )
            for d in DIVERSITIES
        }
        scores = {
            d: clone(model).fit(X[fit], y[fit]).score(X[hold], y[hold]) for d, model in models.items()
        }
        best = max(scores, key=scores.__getitem__)
        chosen.append(best)
        wrong[test] = models[best].fit(X[train], y[train]).predict(X[test]) != y[test]
    return 100 * float(wrong.mean()), float(np.mean(chosen))


def sets(with_mnist: bool) -> dict[str, Data]:
    """Digits, tables, and 5,000 digits of MNIST if they are asked for."""
    found = {name: CLASSIFICATION[name]() for name in TABLES}
    return found | ({"MNIST, 5,000": labelled_digits(5_000)[:2]} if with_mnist else {})


def compare_extractors(with_mnist: bool, n_folds: int) -> None:
    """Print a line for each set."""
    print("| error % | linear | diversity | deep | diversity |\n|---|---|---|---|---|", flush=True)
    for name, (X, y) in sets(with_mnist).items():
        cells = [
            f"{error:.2f} | {diversity:.2f}"
            for error, diversity in (
                tuned_error(each, X, y, n_folds) for each in extractors(X.shape[1]).values()
            )
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
