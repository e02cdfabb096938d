"""Do conformal intervals hold what they promise? Coverage on new rows, over diversity.

Prints the table of ``docs/ensembles.md``: ``python -m benchmarks.coverage``.
"""

from __future__ import annotations

from warnings import simplefilter

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor

from modae import LinearModularAutoencoder, ModularRegressor

COVERAGES = (0.80, 0.90, 0.95)
DIVERSITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
REPETITIONS = 100


def coverages(diversity: float, seed: int) -> list[float]:
    """Share of 1,000 new rows inside the intervals, 400 rows to train and calibrate."""
    X, y = make_friedman1(1400, noise=1.0, random_state=seed)
    model = ModularRegressor(
        LinearModularAutoencoder(10, 3, diversity),
        KNeighborsRegressor(5),
        calibrate=0.5,
        random_state=seed,
    ).fit(X[:400], y[:400])
    intervals = (model.predict_interval(X[400:], coverage).T for coverage in COVERAGES)
    return [float(((low <= y[400:]) & (y[400:] <= high)).mean()) for low, high in intervals]


def main() -> None:
    simplefilter("ignore", UserWarning)
    print("| diversity | " + " | ".join(f"promised {coverage:.0%}" for coverage in COVERAGES) + " |")
    print("|---|---|---|---|")
    for diversity in DIVERSITIES:
        found = np.array([coverages(diversity, seed) for seed in range(REPETITIONS)])
        errors = found.std(axis=0, ddof=1) / np.sqrt(REPETITIONS)
        cells = (
            f"{mean:.1%} ± {error:.1%}" for mean, error in zip(found.mean(axis=0), errors, strict=True)
        )
        print(f"| {diversity:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
