"""Our defaults beside the best of the field: ``python -m benchmarks.field [--task regression]``.

Nested: five outer folds, the same for all methods; whatever a method tunes, it tunes inside a training
part. Every method predicts every row once. Printed are errors (for a regression 1 - R2), ranks, wins,
ties and losses at one standard error of the paired rows, Wilcoxon's test over the sets with Holm's
correction, and seconds of CPU. Results are kept in a folder: a run can be continued (``--keep``).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.field_data import CLASSIFICATION, REGRESSION
from benchmarks.field_ours import ABLATION, OURS, member_of, ours
from benchmarks.field_rivals import classifiers, regressors, subspaces

SEED = 0
SUBSPACES = "random subspaces of our member"


def outer_folds(y: np.ndarray, task: str) -> list[Any]:
    kind = StratifiedKFold if task == "classification" else KFold
    return list(kind(5, shuffle=True, random_state=SEED).split(y, y))


def losses_of(answers: np.ndarray, y: np.ndarray, task: str) -> np.ndarray:
    """One number for each row, whose mean is the error, or 1 - R2."""
    if task == "classification":
        return (answers != y).astype(float)
    return (answers - y) ** 2 / y.var()


def run_method(
    model: Any, X: np.ndarray, y: np.ndarray, task: str
) -> tuple[np.ndarray, float, list[Any]]:
    """Losses of all rows, seconds, and the fitted models."""
    losses, fitted = np.empty(len(y)), []
    start = time.process_time()
    for train, test in outer_folds(y, task):
        found = clone(model).fit(X[train], y[train])
        losses[test] = losses_of(found.predict(X[test]), y[test], task)
        fitted.append(found)
    return losses, time.process_time() - start, fitted


def run_set(name: str, task: str, methods: list[str], keep: Path) -> dict[str, dict[str, Any]]:
    """All methods on one set; what is in the folder is not computed again."""
    X, y = (CLASSIFICATION if task == "classification" else REGRESSION)[name]()
    if task == "classification":
        y = np.unique(y, return_inverse=True)[1]
    rivals = classifiers(SEED) if task == "classification" else regressors(SEED)
    results: dict[str, dict[str, Any]] = {}
    members: list[Any] = []
    for method in methods:
        file = keep / f"{task}-{name}-{method}.json".replace(" ", "_").replace(",", "")
        if file.exists():
            results[method] = json.loads(file.read_text())
            continue
        if method == SUBSPACES:
            if not members:
                members = [member_of(each) for each in run_method(ours(OURS, task, SEED), X, y, task)[2]]
            losses, start = np.empty(len(y)), time.process_time()
            for (train, test), member in zip(outer_folds(y, task), members, strict=True):
                found = subspaces(member, SEED).fit(X[train], y[train])
                losses[test] = losses_of(found.predict(X[test]), y[test], task)
            seconds = time.process_time() - start
        else:
            model = rivals[method] if method in rivals else ours(method, task, SEED)
            losses, seconds, fitted = run_method(model, X, y, task)
            if method == OURS:
                members = [member_of(each) for each in fitted]
        results[method] = {"losses": losses.tolist(), "seconds": seconds}
        file.write_text(json.dumps(results[method]))
        print(f"{name:24} {method:32} {losses.mean():.4f} {seconds:7.1f} s", flush=True)
    return results


def outcome(one: np.ndarray, other: np.ndarray) -> int:
    """1, 0 or -1: the first wins, ties or loses at one standard error of the paired rows."""
    difference = other - one
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return int(np.sign(difference.mean())) if abs(difference.mean()) > error else 0


def report(results: dict[str, dict[str, dict[str, Any]]], methods: list[str]) -> None:
    """The table, best mean rank first."""
    losses = {name: {m: np.array(each[m]["losses"]) for m in methods} for name, each in results.items()}
    errors = np.array([[each[m].mean() for m in methods] for each in losses.values()])
    ranks = np.array([rankdata(row) for row in errors]).mean(axis=0)
    seconds = np.array([[each[m]["seconds"] for m in methods] for each in results.values()])
    first = methods.index(OURS)
    tests = dict.fromkeys(methods, 1.0)
    for place, method in enumerate(methods):
        if place != first and (errors[:, place] != errors[:, first]).any():
            tests[method] = float(wilcoxon(errors[:, first], errors[:, place]).pvalue)
    others = sorted((m for m in methods if m != OURS), key=tests.__getitem__)
    corrected, largest = {OURS: np.nan}, 0.0
    for place, method in enumerate(others):  # Holm
        largest = max(largest, min(1.0, (len(others) - place) * tests[method]))
        corrected[method] = largest
    print(f"\n{len(results)} sets; wins, ties and losses of {OURS!r}\n")
    print("| method | mean error % | median | mean rank | won / tied / lost | p (Holm) | seconds |")
    print("|---|---|---|---|---|---|---|")
    for place in np.argsort(ranks):
        method = methods[place]
        outcomes = [outcome(each[OURS], each[method]) for each in losses.values()]
        counts = " / ".join(str(outcomes.count(which)) for which in (1, 0, -1))
        p = "<0.001" if corrected[method] < 0.0005 else f"{corrected[method]:.3f}"
        shown = "" if method == OURS else f"{counts} | {p}"
        error, middle = 100 * errors[:, place].mean(), 100 * np.median(errors[:, place])
        print(
            f"| {method} | {error:.2f} | {middle:.2f} | {ranks[place]:.2f} | {shown or ' | '} "
            f"| {seconds[:, place].mean():.1f} |"
        )
    print(f"\n| % on each set | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
    for name, row in zip(results, errors, strict=True):
        cells = [f"**{100 * e:.1f}**" if e == row.min() else f"{100 * e:.1f}" for e in row]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Run, print, and draw if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=["classification", "regression"], default="classification")
    parser.add_argument("--sets", nargs="*", help="names of sets; all if not given")
    parser.add_argument("--methods", nargs="*", help="names of methods; all if not given")
    parser.add_argument("--keep", type=Path, default=Path("results/field"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.keep.mkdir(parents=True, exist_ok=True)
    rivals = classifiers(SEED) if options.task == "classification" else regressors(SEED)
    methods = options.methods or [OURS, *ABLATION, *rivals, SUBSPACES]
    names = options.sets or (CLASSIFICATION if options.task == "classification" else REGRESSION)
    results = {name: run_set(name, options.task, methods, options.keep) for name in names}
    if OURS in methods:
        report(results, methods)
    if options.picture:
        from benchmarks.field_picture import draw

        draw(results, methods, options.picture)


if __name__ == "__main__":
    main()
