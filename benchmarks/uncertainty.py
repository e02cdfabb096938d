"""Does doubt find errors and strangers, and do sets hold what they promise?

``python -m benchmarks.uncertainty [--part NAME] [--quick]`` prints the tables of
``docs/uncertainty.md``, on development sets of at most 800 rows. Every method is at its default; losses
are printed too.
"""

from __future__ import annotations

import argparse
import warnings
from functools import cache
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import entr, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.field_data import CLASSIFICATION
from benchmarks.field_rivals import RotationForest, ScaleIfNeeded
from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularOutlierDetector,
)
from modae.ensembles.conformal import hold_out
from modae.ensembles.parts import take_apart
from modae.linear.model import DEFAULT_FRACTION, share_of_columns
from modae.metrics import area_under_risk_coverage

MOST_ROWS = 800

ERRORS = (
    "breast cancer", "digits", "vote", "party", "affairs", "travel", "cars", "housing", "diabetes",
    "images basic", "images rotations", "images rectangles", "waveform", "turned checkerboard",
    "spirals", "threenorm", "ringnorm", "swiss roll", "hypercube", "hypercube, much noise", "rare class",
    "multiplexer",
)  # fmt: skip

STRANGERS = (
    "iris", "wine", "breast cancer", "digits", "party", "travel", "cars", "housing", "diabetes",
    "images basic", "images rotations", "images background_noise", "waveform", "ringnorm", "threenorm",
    "swiss roll", "correlated groups", "wide signal", "hypercube", "hypercube, much noise",
    "hypercube, redundant",
)  # fmt: skip

SETS = ("digits", "waveform", "party", "hypercube, much noise", "swiss roll")
ACTIVE = ("digits", "waveform", "images basic", "hypercube, redundant")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most 800 rows of a development set."""
    X, y = CLASSIFICATION[name]()
    return X[:MOST_ROWS], y[:MOST_ROWS]


def probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    """Those of a model, or the plain softmax of its decision function."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if isinstance(model, RotationForest):
        Z = (X - model.mean_) / model.scale_
        return np.mean([tree.predict_proba(Z @ turn) for turn, tree in model.parts_], axis=0)
    scores = model.decision_function(X)
    return softmax(np.c_[0 * scores, scores] if scores.ndim == 1 else scores, axis=1)


@cache
def default_runs(quick: bool) -> list[dict[str, Any]]:
    """Untouched searches and their rivals on half of the rows, with what they say of the other half."""
    runs = []
    for name in ERRORS[:6] if quick else ERRORS:
        for seed in range(1 if quick else 2):
            X, y = load(name)
            A, B, a, b = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            search = ModularClassifierCV(random_state=seed).fit(A, a)
            parts = take_apart(search)
            width = search.best_params_.get("n_components") or share_of_columns(
                DEFAULT_FRACTION, X.shape[1]
            )
            same = clone(parts.ensemble.estimators_[0])
            plain = make_pipeline(PCA(min(width, *X.shape)), same).fit(parts.prepare(A), a)
            rivals = {
                "random forest": RandomForestClassifier(300, random_state=seed).fit(A, a),
                "extra trees": ExtraTreesClassifier(300, random_state=seed).fit(A, a),
                "rotation forest": RotationForest(DecisionTreeClassifier(), seed=seed).fit(A, a),
            }
            said = {"ours": (search.predict(B), search.predict_proba(B))}
            said["ours, total"] = (search.predict(B), search.uncertainty(B)[:, :1])
            said |= {key: (each.predict(B), probabilities(each, B)) for key, each in rivals.items()}
            said["member on PCA"] = (
                plain.predict(parts.prepare(B)),
                probabilities(plain, parts.prepare(B)),
            )
            calibrated = CalibratedClassifierCV(clone(search.best_estimator_)).fit(A, a)
            runs.append({
                "set": name, "y": b, "said": said, "classes": search.classes_,
                "calibrated": calibrated.predict_proba(B), "chosen": search.best_params_,
            })  # fmt: skip
            print(f"    {name}, split {seed}: {search.best_params_}", flush=True)
    return runs


def errors(quick: bool) -> None:
    """Must show 1: the area under the ROC curve of finding own errors, and under risk-coverage."""
    runs = default_runs(quick)
    methods = list(runs[0]["said"])
    areas: dict[str, dict[str, list[list[float]]]] = {}
    for run in runs:
        for method, (told, shares) in run["said"].items():
            wrong = told != run["y"]
            doubt = shares[:, 0] if method == "ours, total" else 1.0 - shares.max(axis=1)
            found = roc_auc_score(wrong, doubt) if 0 < wrong.sum() < len(wrong) else np.nan
            risk = area_under_risk_coverage(run["y"], told, doubt)
            areas.setdefault(run["set"], {}).setdefault(method, []).append([found, risk])
    table = np.array([[np.nanmean(each[m], axis=0) for m in methods] for each in areas.values()])
    for place, title in enumerate(("AUROC of finding own errors", "area under risk-coverage")):
        print_table(title, list(areas), methods, table[:, :, place], larger_is_better=place == 0)


def print_table(
    title: str, names: list[str], methods: list[str], table: np.ndarray, *, larger_is_better: bool
) -> None:
    """One row for each set, the means, and the paired differences of the first method to the others."""
    print(f"\n| {title} | " + " | ".join(methods) + " |\n|---" * 1 + "|---" * len(methods) + "|")
    for name, row in zip(names, table, strict=True):
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    gains = (table[:, :1] - table) * (1 if larger_is_better else -1)
    errors_of = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    print("| **mean** | " + " | ".join(f"**{value:.3f}**" for value in table.mean(axis=0)) + " |")
    cells = (
        f"{gain:+.3f} ± {error:.3f}" for gain, error in zip(gains.mean(axis=0), errors_of, strict=True)
    )
    print("| we are better by | " + " | ".join(cells) + " |")
    better = ((gains > 0) + 0.5 * (gains == 0)).mean(axis=0)
    print("| better on | " + " | ".join(f"{share:.0%}" for share in better) + " |", flush=True)


def stranger_tasks(name: str, widest: dict[str, np.ndarray]) -> Any:
    """Kind, training rows with labels, usual new rows, strangers."""
    X, y = load(name)
    rng, classes = np.random.default_rng(1), np.unique(y)
    for _ in range(2 if len(classes) > 2 else 0):
        strange = np.isin(y, rng.permutation(classes)[: max(1, len(classes) // 4)])
        order = rng.permutation(np.flatnonzero(~strange))
        train, new = np.split(order, [2 * len(order) // 3])
        yield "classes", X[train], y[train], X[new], X[strange]
    train, new = np.split(rng.permutation(len(X)), [len(X) // 2])
    A, a, B = X[train], y[train], X[new]
    if name == "digits" or name.startswith("images"):
        side = int(np.sqrt(X.shape[1]))
        yield "rotated", A, a, B, np.rot90(B.reshape(-1, side, side), axes=(1, 2)).reshape(B.shape)
    yield "shuffled", A, a, B, np.column_stack([rng.permutation(column) for column in B.T])
    yield "noise", A, a, B, rng.normal(B.mean(axis=0), B.std(axis=0), B.shape)
    if name in widest:  # as many columns, with our means and deviations: only their relations differ
        Z = widest[name]
        spread = np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
        yield "another set", A, a, B, (Z - Z.mean(axis=0)) / spread * A.std(axis=0) + A.mean(axis=0)


def strangers(quick: bool) -> None:
    """Must show 2: the area under the ROC curve of finding rows of another kind."""
    names = STRANGERS[:6] if quick else STRANGERS
    rows, widest = {name: load(name)[0] for name in STRANGERS}, {}
    for place, name in enumerate(STRANGERS):
        width = rows[name].shape[1]
        for other in STRANGERS[place + 1 :] + STRANGERS[:place]:
            if rows[other].shape[1] >= width and other.split()[0] != name.split()[0]:
                widest[name] = rows[other][:400, :width]
                break
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        for number, (kind, A, a, B, S) in enumerate(stranger_tasks(name, widest)):
            scale = ScaleIfNeeded().fit(A)
            A, rows_asked = scale.transform(A), scale.transform(np.vstack([B, S]))
            forest = RandomForestClassifier(300, random_state=0).fit(A, a).predict_proba(rows_asked)
            detector = ModularOutlierDetector(random_state=0).fit(A)
            isolation, factor = IsolationForest(random_state=0), LocalOutlierFactor(novelty=True)
            scores = {
                "ours": -detector.score_samples(rows_asked),
                "nearest row": NearestNeighbors(n_neighbors=1).fit(A).kneighbors(rows_asked)[0][:, 0],
                "isolation forest": -isolation.fit(A).score_samples(rows_asked),
                "LOF": -factor.fit(A).score_samples(rows_asked),
                "forest entropy": entr(forest).sum(axis=1),
            }
            odd = np.repeat([0, 1], [len(B), len(S)])
            areas = {method: float(roc_auc_score(odd, each)) for method, each in scores.items()}
            areas["false alarms"] = float((detector.p_values(rows_asked)[: len(B)] <= 0.05).mean())
            found.setdefault(name, {})[f"{kind} {number}"] = areas
    methods = ["ours", "nearest row", "isolation forest", "LOF", "forest entropy"]
    table = np.array(
        [[np.mean([t[m] for t in each.values()]) for m in methods] for each in found.values()]
    )
    print_table("AUROC of finding strangers", list(found), methods, table, larger_is_better=True)
    for kind in ("classes", "rotated", "shuffled", "noise", "another set"):
        of_kind = [t for each in found.values() for key, t in each.items() if key.startswith(kind)]
        if of_kind:
            cells = (f"{np.mean([t[m] for t in of_kind]):.3f}" for m in methods)
            print(f"| {kind}, {len(of_kind)} tasks | " + " | ".join(cells) + " |")
    alarms = [t["false alarms"] for each in found.values() for t in each.values()]
    print(f"Usual new rows with a p-value of at most 0.05: {np.mean(alarms):.1%}", flush=True)


def sets(quick: bool) -> None:
    """Must show 3: coverage and size of prediction sets over splits, and those of MAPIE."""
    from mapie.classification import SplitConformalClassifier

    levels, splits = [0.8, 0.9, 0.95], 10 if quick else 100
    print("\n| set | promised | covered | worst class, per_class=True | size | per class | "
          "MAPIE APS | MAPIE LAC |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for name in SETS:
        X, y = load(name)
        covered, sizes, by_class = np.zeros((splits, 3, 3)), np.zeros((splits, 3, 4)), []
        for seed in range(splits):
            A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=seed)
            member = make_pipeline(ScaleIfNeeded(), LogisticRegression(max_iter=2000))
            model = ModularClassifier(
                estimator=member, n_modules=10, calibrate=0.5, random_state=seed
            ).fit(A, a)
            *_, held, y_held = hold_out(model, A, a, np.arange(len(a)))
            labels, places = np.searchsorted(model.classes_, b), np.arange(len(b))
            own = [[model.predict_set(B, level, each) for level in levels] for each in (False, True)]
            theirs = []
            for score in ("aps", "lac"):
                mapie = SplitConformalClassifier(
                    model, confidence_level=levels, conformity_score=score, prefit=True, random_state=0
                ).conformalize(held, y_held)
                told = mapie.predict_set(B)[1]
                theirs.append([told[:, :, place] for place in range(3)])
            for place in range(3):
                every = [kind[place] for kind in (*own, *theirs)]
                sizes[seed, place] = [each.sum(axis=1).mean() for each in every]
                covered[seed, place] = [each[places, labels].mean() for each in every[:3]]
            inside = np.array([kind[places, labels] for kind in own[1]])
            classes = [labels == label for label in range(len(model.classes_))]
            by_class.append([[row[c].mean() if c.any() else np.nan for c in classes] for row in inside])
        error = covered[:, :, 0].std(axis=0, ddof=1) / np.sqrt(splits)
        each_class = np.nanmean(by_class, axis=0)
        class_error = np.nanstd(by_class, axis=0, ddof=1) / np.sqrt(splits)
        for place, level in enumerate(levels):
            worst = each_class[place].argmin()
            cells = [
                f"{covered[:, place, 0].mean():.1%} ± {error[place]:.1%}",
                f"{each_class[place, worst]:.1%} ± {class_error[place, worst]:.1%}",
                *(f"{size:.2f}" for size in sizes[:, place].mean(axis=0)),
            ]
            print(f"| {name} | {level:.0%} | " + " | ".join(cells) + " |", flush=True)


def calibration_error(shares: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error of the largest probability, in ten bins."""
    surest = shares.max(axis=1)
    bins = np.minimum((surest * 10).astype(int), 9)
    gaps = [abs(surest[bins == k].sum() - right[bins == k].sum()) for k in range(10)]
    return float(sum(gaps) / len(surest))


def calibration(quick: bool) -> None:
    """Must show 4: log loss and calibration error, beside CalibratedClassifierCV on the same members."""
    results: dict[str, list[list[float]]] = {}
    for run in default_runs(quick):
        row = []
        for shares in (run["said"]["ours"][1], run["calibrated"], run["said"]["random forest"][1]):
            right = run["classes"][shares.argmax(axis=1)] == run["y"]
            loss = log_loss(run["y"], np.clip(shares, 1e-3, 1.0), labels=run["classes"])
            row += [loss, calibration_error(shares, right)]
        results.setdefault(run["set"], []).append(row)
    table = np.array([np.mean(rows, axis=0) for rows in results.values()])
    methods = ["ours", "CalibratedClassifierCV of ours", "random forest"]
    for place, title in enumerate(("log loss", "calibration error")):
        print_table(title, list(results), methods, table[:, place::2], larger_is_better=False)


def active(quick: bool) -> None:
    """Must show 5: labels until 95 % of the accuracy with all labels; mean over five seeds."""

    def vote(rows: np.ndarray) -> Any:  # modules need no labels: they know the whole pool
        modules = LinearModularAutoencoder(random_state=0).fit(rows)
        return ModularClassifier(FrozenEstimator(modules), random_state=0)

    def forest(rows: np.ndarray) -> Any:
        return RandomForestClassifier(100, random_state=0)

    def margin(model: Any, X: np.ndarray) -> np.ndarray:
        surest = np.sort(model.predict_proba(X), axis=1)
        return surest[:, -2] - surest[:, -1]

    rng = np.random.default_rng(0)
    strategies: dict[str, tuple[Any, Any]] = {
        "vote, random": (vote, lambda model, X: rng.random(len(X))),
        "vote, disagreement": (vote, lambda model, X: model.disagreement(X)),
        "vote, BALD": (vote, lambda model, X: model.uncertainty(X)[:, 2]),
        "vote, margin": (vote, margin),
        "forest, random": (forest, lambda model, X: rng.random(len(X))),
        "forest, margin": (forest, margin),
    }
    print(
        "\n| labels needed | " + " | ".join(strategies) + " |\n" + "|---" * (1 + len(strategies)) + "|"
    )
    for name in ACTIVE:
        X, y = load(name)
        cells = []
        for make, ask in strategies.values():
            needed = []
            for seed in range(2 if quick else 5):
                A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
                model = make(A)
                goal = 0.95 * model.fit(A, a).score(B, b)
                order = np.random.default_rng(seed).permutation(len(A))
                first = [order[a[order] == label][:2] for label in np.unique(a)]
                known = np.isin(np.arange(len(A)), np.concatenate(first))
                while model.fit(A[known], a[known]).score(B, b) < goal:
                    unknown = np.flatnonzero(~known)
                    known[unknown[np.argsort(-ask(model, A[unknown]), kind="stable")[:10]]] = True
                needed.append(known.sum())
            cells.append(f"{np.mean(needed):.0f} ± {np.std(needed, ddof=1) / np.sqrt(len(needed)):.0f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def time(quick: bool) -> None:
    """Must show 6: the time of ``uncertainty`` over that of ``predict``, medians of turns."""
    X, y = load_digits(return_X_y=True)
    print("\n| members | predict | uncertainty / predict |\n|---|---|---|")
    for member in (None, SVC(), LogisticRegression(max_iter=300), DecisionTreeClassifier()):
        model = ModularClassifier(estimator=member, random_state=0).fit(X[:900], y[:900])
        took: dict[str, list[float]] = {"predict": [], "uncertainty": []}
        for _ in range(5 if quick else 31):
            for name, times in took.items():
                start = perf_counter()
                getattr(model, name)(X[900:])
                times.append(perf_counter() - start)
        usual, both = (median(times) for times in took.values())
        kind = type(model.estimators_[0]).__name__
        print(f"| {kind} | {1e3 * usual:.1f} ms | {both / usual:.2f} |", flush=True)


PARTS = {part.__name__: part for part in (errors, strangers, sets, calibration, active, time)}


def main() -> None:
    """Run one part, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--quick", action="store_true", help="few sets, few splits")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.part or PARTS:
        PARTS[name](options.quick)


if __name__ == "__main__":
    main()
