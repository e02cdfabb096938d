"""The measurements behind Figure 2 and section 5.2: six data sets, all diversities, five folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from modae.datasets import load_benchmark
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.tuning import ModularClassifierCV
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder
from modae.metrics import faithfulness, redundancy
from modae.reproduction.findings import Setting
from modae.reproduction.store import measured_folder, remembered
from modae.utils.arrays import Array

N_MODULES = N_COMPONENTS = 10
N_FOLDS = 5

FULL_SIZES = {
    "basic": 12_000,
    "rotations": 12_000,
    "background_noise": 12_000,
    "background_images": 12_000,
    "rectangles": 12_000,
    "convex": 8_000,
}
"""Rows of each data set at full scale: those of the original training and validation sets, but for
rectangles, of which the originals have 1,200 (and 50,000 to test on)."""

QUICK_SIZE = 3_000

FROM_DIGITS = ("basic", "rotations", "background_noise", "background_images")
EMBEDDED_DIGITS = 5_000
"""All that the embedded source has: there the full scale is less than the paper's."""


@dataclass(frozen=True)
class Sweep:
    """What was measured on one data set, over all folds and seeds.

    Parameters
    ----------
    name : str
    diversities : ndarray of shape (n_diversities,)
    ensemble, individual : ndarrays of shape (n_runs, n_diversities)
        Errors; a run is one fold with one seed.
    bagging : ndarray of shape (n_runs,)
        Error of Bagging Autoencoders on the same folds.
    faithfulness, redundancy : ndarrays of shape (2, n_diversities, 2)
        Mean distance correlation with the data, and between modules: on rows of the training and of
        the test part of one fold; value and standard error.
    """

    name: str
    diversities: Array
    ensemble: Array
    individual: Array
    bagging: Array
    faithfulness: Array
    redundancy: Array

    @property
    def title(self) -> str:
        """The name for people."""
        return self.name.replace("_", " ")

    @property
    def best(self) -> int:
        """Which diversity has the least mean error."""
        return int(self.ensemble.mean(axis=0).argmin())


def sweeps(setting: Setting) -> list[Sweep]:
    """All six, each data set and seed from the disk if it was measured before."""
    return [_sweep(setting, name) for name in FULL_SIZES]


def grid(setting: Setting) -> list[float]:
    """Diversities: 0, 0.05, ..., 1 at full scale, 0, 0.1, ..., 1 else."""
    return [float(value) for value in np.linspace(0.0, 1.0, 21 if setting.full else 11).round(2)]


def _sweep(setting: Setting, name: str) -> Sweep:
    seeds = range(3 if setting.full else 1)
    parts = [_errors(setting, name, seed) for seed in seeds]
    curves = _curves(setting, name)
    return Sweep(
        name=name,
        diversities=np.array(grid(setting)),
        ensemble=np.concatenate([part["ensemble"] for part in parts]),
        individual=np.concatenate([part["individual"] for part in parts]),
        bagging=np.concatenate([part["bagging"] for part in parts]),
        faithfulness=np.array(curves["faithfulness"]),
        redundancy=np.array(curves["redundancy"]),
    )


def _question(setting: Setting, name: str, seed: int) -> dict[str, Any]:
    n_samples = FULL_SIZES[name] if setting.full else QUICK_SIZE
    if setting.source == "embedded" and name in FROM_DIGITS:
        n_samples = min(n_samples, EMBEDDED_DIGITS)
    return {"data": name, "n_samples": n_samples, "source": str(setting.source), "seed": seed}


def data_of(setting: Setting, name: str, most: int) -> tuple[Array, np.ndarray]:
    """Rows of one data set, at most so many."""
    question = _question(setting, name, 0)
    return _data(question | {"n_samples": min(most, question["n_samples"])})


def _data(question: dict[str, Any]) -> tuple[Array, np.ndarray]:
    return load_benchmark(
        question["data"],
        question["n_samples"],
        source=question["source"],
        random_state=question["seed"],
        return_X_y=True,
    )


def _errors(setting: Setting, name: str, seed: int) -> dict[str, list[Any]]:
    """Errors of modular and bagging autoencoders on the folds of one seed."""
    question = _question(setting, name, seed) | {"diversities": grid(setting)}

    def measure() -> dict[str, list[Any]]:
        setting.tell(
            f"Figure 2: {name.replace('_', ' ')}, {question['n_samples']:,} images, seed {seed}"
        )
        X, y = _data(question)
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        search = ModularClassifierCV(
            LinearModularAutoencoder(N_MODULES, N_COMPONENTS),
            diversities=question["diversities"],
            cv=folds,
            n_jobs=setting.n_jobs,
            random_state=seed,
        )
        results = search.fit(X, y).cv_results_
        baseline = ModularClassifier(
            BaggingAutoencoder(N_MODULES, N_COMPONENTS, n_jobs=setting.n_jobs),
            n_jobs=setting.n_jobs,
            random_state=seed,
        )
        splits = [f"split{fold}" for fold in range(N_FOLDS)]
        return {
            "ensemble": [results[f"{split}_ensemble_error"].tolist() for split in splits],
            "individual": [results[f"{split}_individual_error"].tolist() for split in splits],
            "bagging": (1.0 - cross_val_score(baseline, X, y, cv=folds)).tolist(),
        }

    return remembered(measured_folder(setting.out) / f"sweep-{name}-{seed}.json", question, measure)


def _curves(setting: Setting, name: str) -> dict[str, list[Any]]:
    """Distance correlations of one fold, on rows that trained the modules and on others."""
    rows = 1000 if setting.full else 500
    question = _question(setting, name, 0) | {"diversities": grid(setting), "rows": rows}

    def measure() -> dict[str, list[Any]]:
        setting.tell(f"Section 5.2: {name.replace('_', ' ')}, distance correlations")
        X, y = _data(question)
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        train, test = next(folds.split(X, y))
        model = LinearModularAutoencoder(N_MODULES, N_COMPONENTS, random_state=0).fit(X[train])
        models = list(model.path(question["diversities"]))
        return {
            measured.__name__: [
                [list(measured(at, X[part], n_samples=rows, random_state=0)) for at in models]
                for part in (train, test)
            ]
            for measured in (faithfulness, redundancy)
        }

    return remembered(
        measured_folder(setting.out) / f"sweep-{name}-correlations.json", question, measure
    )
