"""Networks for classification with untouched defaults against TabM and others, on the same folds.

``python -m benchmarks.networks`` prints errors, log losses, times relative to TabM, and every set that
is lost. ``--quick`` takes 18 sets, 700 rows, 3 folds and TabM of 2 x 128 units only, unless
``--methods`` names others; ``--ablation`` changes one default after the other; ``--autoencoder``
compares deep with linear extractors. Results are kept in a folder, so that a run can be continued
(``--keep``).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks.field_data import CLASSIFICATION
from benchmarks.network_extractors import compare_extractors
from benchmarks.network_rivals import SMALL_TABM, TABM, network_rivals
from modae.deep import ModularNetworkClassifier

SEED, N_FOLDS = 0, 5
OURS = "modae"
QUICK = (
    "wine", "breast cancer", "digits", "vote", "affairs", "travel", "cars", "housing",
    "images rotations", "checkerboard", "spirals", "threenorm", "swiss roll", "correlated groups",
    "multiplexer", "hypercube", "hypercube, redundant", "rare class",
)  # fmt: skip


def variant(**options: Any) -> ModularNetworkClassifier:
    """Ours with some other parameters."""
    return ModularNetworkClassifier(**{"random_state": SEED, **options})


def folds(y: np.ndarray, n_folds: int) -> list[Any]:
    """Stratified, the same for all methods."""
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=SEED).split(y, y))


def run(name: str, method: str, model: Any, options: Any) -> dict[str, Any]:
    """Wrong rows, log loss and seconds of CPU of a method on one set; kept in a file."""
    key = f"{name}-{method}-{options.rows}-{options.folds}".replace(" ", "_").replace(",", "")
    file = options.keep / f"{key}.json"
    if file.exists():
        return json.loads(file.read_text())
    X, y = CLASSIFICATION[name]()
    X, y = X[: options.rows], np.unique(y[: options.rows], return_inverse=True)[1]
    wrong, losses, start = np.empty(len(y)), [], time.process_time()
    for train, test in folds(y, options.folds):
        found = clone(model).fit(X[train], y[train])
        if hasattr(found, "predict_proba"):
            chances = found.predict_proba(X[test])
            losses.append(log_loss(y[test], np.clip(chances, 1e-7, 1.0), labels=np.unique(y[train])))
            wrong[test] = chances.argmax(axis=1) != y[test]
        else:
            wrong[test] = found.predict(X[test]) != y[test]
    seconds = time.process_time() - start
    loss = float(np.mean(losses)) if losses else None
    result = {"wrong": wrong.tolist(), "log_loss": loss, "seconds": seconds}
    file.write_text(json.dumps(result))
    print(
        f"{name:24} {method:32} {100 * wrong.mean():5.1f} % {loss or np.nan:.3f} {seconds:6.1f} s",
        flush=True,
    )
    return result


def outcome(ours: list[float], other: list[float]) -> int:
    """1, 0 or -1: ours wins, ties or loses at one standard error of the paired rows."""
    difference = np.subtract(other, ours)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return int(np.sign(difference.mean())) if abs(difference.mean()) > error else 0


def report(results: dict[str, dict[str, Any]], methods: list[str], base: str, clock: str) -> None:
    """One line for each method, differences from ``base`` on the same sets, and the sets lost to it."""
    errors = {
        m: np.array([100 * np.mean(each[m]["wrong"]) for each in results.values()]) for m in methods
    }
    seconds = {m: sum(each[m]["seconds"] for each in results.values()) for m in methods}
    print(f"\n{len(results)} sets; won, tied and lost are those of {base!r}\n")
    print("| | error % | log loss | minus it, points | p | won / tied / lost | time / TabM |")
    print("|---|---|---|---|---|---|---|")
    for method in methods:
        losses = [each[method]["log_loss"] for each in results.values()]
        shown = "" if None in losses else f"{np.mean(losses):.3f}"
        line = f"| {method} | {errors[method].mean():.2f} | {shown} |"
        if method == base:
            line += " | | |"
        else:
            gap = errors[base] - errors[method]
            p = float(wilcoxon(gap).pvalue) if gap.any() else 1.0
            counts = [outcome(each[base]["wrong"], each[method]["wrong"]) for each in results.values()]
            shown = " / ".join(str(counts.count(k)) for k in (1, 0, -1))
            line += f" {gap.mean():+.2f} | {p:.3f} | {shown} |"
        print(f"{line} {seconds[method] / seconds[clock]:.2f} |" if clock in methods else f"{line} |")
    print(f"\n| error % | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
    for place, name in enumerate(results):
        print(f"| {name} | {' | '.join(f'{errors[m][place]:.1f}' for m in methods)} |")
    for method in methods:
        lost = [
            n for n, each in results.items() if outcome(each[base]["wrong"], each[method]["wrong"]) < 0
        ]
        if lost:
            print(f"\n{base} loses to {method} on: {', '.join(lost)}.")


#: One default after the other set to something else; the first three are how it used to be.
ABLATION: dict[str, dict[str, Any]] = {
    "50 epochs, none held out": {"early_stopping": False, "max_epochs": 50},
    "columns as they are": {"normalize": False},
    "one layer of 64": {"hidden_layer_sizes": (64,)},
    "two layers of 256": {"hidden_layer_sizes": (256, 256)},
    "three layers of 128": {"hidden_layer_sizes": (128, 128, 128)},
    "rate 0.002": {"learning_rate": 2e-3},
    "no decay": {"weight_decay": 0.0},
    "decay 0.1": {"weight_decay": 0.1},
    "no dropout": {"dropout": 0.0},
    "dropout 0.3": {"dropout": 0.3},
    "no clipping": {"max_gradient_norm": None},
    "patience 10": {"patience": 10},
    "refit": {"refit": True},
    "8 modules": {"n_modules": 8},
    "32 modules": {"n_modules": 32},
    "shared body": {"body": "shared"},
    "separate bodies": {"body": "separate"},
    "periodic embedding": {"embedding": "periodic"},
    "diversity 0.5": {"diversity": 0.5},
    "diversity 0.9": {"diversity": 0.9},
    "diversity 1": {"diversity": 1.0},
}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="18 sets, 700 rows, 3 folds")
    parser.add_argument("--ablation", action="store_true", help="one default after the other")
    parser.add_argument("--autoencoder", action="store_true", help="extractors, deep and linear")
    parser.add_argument("--sets", nargs="*", help="names of sets; all if not given")
    parser.add_argument("--methods", nargs="*", help="names of methods; all if not given")
    parser.add_argument("--rows", type=int, help="rows of each set, at most")
    parser.add_argument("--folds", type=int)
    parser.add_argument("--keep", type=Path, default=Path("results/networks"))
    options = parser.parse_args()
    options.rows = options.rows or (700 if options.quick else 1500)
    options.folds = options.folds or (3 if options.quick else N_FOLDS)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # so that seconds of CPU are those of work, and not of waiting threads
    variant(max_epochs=1).fit(np.eye(50), np.arange(50) % 2)  # the first training imports a lot
    if options.autoencoder:
        compare_extractors(not options.quick, options.folds)
        return
    options.keep.mkdir(parents=True, exist_ok=True)
    names = options.sets or (QUICK if options.quick else CLASSIFICATION)
    models = {OURS: variant(), **network_rivals(SEED)}
    if options.ablation:
        untouched = variant()
        changed = {name: variant(**each) for name, each in ABLATION.items()}
        changed = {name: each for name, each in changed.items() if repr(each) != repr(untouched)}
        models = {OURS: untouched, **changed}
    elif options.quick and not options.methods:
        del models[TABM]
    methods = options.methods or list(models)
    results = {name: {m: run(name, m, models[m], options) for m in methods} for name in names}
    report(results, methods, OURS, TABM if TABM in methods else SMALL_TABM)


if __name__ == "__main__":
    main()
