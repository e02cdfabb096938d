"""How good an ensemble is beside plain PCA, and the diversity and size that predict best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from modae.cli.errors import UserError
from modae.cli.talk import CommandReport, Talk
from modae.cli.training import TrainingData
from modae.ensembles.classifier_cv import ModularClassifierCV
from modae.utils.text import counted, listed, percent

JUDGED_ROWS = 5000
"""Rows on which a fit is cross-validated: enough for a percent, and quick."""

TUNED_ROWS = 20_000
"""Rows on which candidates are compared; the chosen one is then fitted to all."""

MOST_FOLDS = 5

FEWEST_ROWS = 5
"""Rows from which numbers are predicted: the neighbours that a member takes the mean of."""


def make_splits(y: np.ndarray, classify: bool, seed: int) -> Any:
    """Five folds, fewer if a class is rare; None if one has a single row, or if rows are too few."""
    if not classify:
        n_folds = min(MOST_FOLDS, len(y) // 2)
        enough = n_folds > 1 and len(y) - -(-len(y) // n_folds) >= FEWEST_ROWS
        return KFold(n_folds, shuffle=True, random_state=seed) if enough else None
    n_folds = min(MOST_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed) if n_folds > 1 else None


def best_plain_pca(
    sizes: Sequence[int], member: Any, X: Any, y: np.ndarray, splits: Any
) -> tuple[int, float]:
    """The best of PCA with these numbers of components and one member: what the ensemble must beat."""
    reduce = TruncatedSVD if issparse(X) else PCA
    smallest_fold = X.shape[0] - X.shape[0] // splits.get_n_splits() - 1
    scores = {}
    for size in sizes:
        width = min(size, smallest_fold, X.shape[1] - issparse(X))
        plain = make_pipeline(reduce(max(width, 1), random_state=0), clone(member))
        with np.errstate(invalid="ignore"):  # columns that do not vary have no shares of variance
            scores[size] = float(cross_val_score(plain, X, y, cv=splits, error_score="raise").mean())
    best = max(scores, key=lambda size: scores[size])
    return best, scores[best]


def judge(model: Any, found: TrainingData, options: Any, talk: Talk, report: CommandReport) -> None:
    """Cross-validate the ensemble and plain PCA on the same folds."""
    X, y = found.some_rows(JUDGED_ROWS, options.seed)
    splits = make_splits(y, found.classify, options.seed)
    if splits is None:
        why = "a class has one row only" if found.classify else "there are too few rows"
        report.note(f"Not cross-validated: {why}.")
        return
    with talk.stage("Cross-validating"):
        ours = float(cross_val_score(model, X, y, cv=splits, error_score="raise").mean())
        sizes = [model.extractor.n_components]
        components, plain = best_plain_pca(sizes, model.estimator, X, y, splits)
    shown = [percent(score) if found.classify else f"R2 {score:.3f}" for score in (ours, plain)]
    report.say(
        "accuracy" if found.classify else "fit",
        f"{shown[0]} in {splits.get_n_splits()} folds; plain PCA to {components} components and one "
        f"{options.estimator}: {shown[1]}.",
        score=ours,
        baseline_score=plain,
    )


def tune(
    model: Any,
    found: TrainingData,
    options: Any,
    sizes: list[int],
    talk: Talk,
    report: CommandReport,
) -> Any:
    """The ensemble with the diversity and size that were chosen; what was tried goes into the report."""
    if not found.classify:
        raise UserError(
            f"tuning needs classes, and {options.target!r} is a number: use fit with --diversity."
        )
    X, y = found.some_rows(TUNED_ROWS, options.seed)
    splits = make_splits(y, True, options.seed)
    if splits is None:
        labels, counts = np.unique(y, return_counts=True)
        rare = listed(labels[counts < 2])
        raise UserError(f"class {rare} of {options.target!r} has one row; tuning needs two.")
    width = X.shape[1]  # an eighth, a quarter and a half of the columns: at most 5, 10, 20
    usual = {max(1, min(most, width // part)) for part, most in ((8, 5), (4, 10), (2, 20))}
    sizes = sizes or sorted(usual)
    search = ModularClassifierCV(
        model.extractor,
        model.estimator,
        n_components=sizes,
        cv=splits,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    with talk.stage(f"Trying {11 * len(sizes)} candidates on {splits.get_n_splits()} folds"):
        search.fit(X, y)
        plain = best_plain_pca(sizes, model.estimator, X, y, splits)
    say_tried(search, sizes, X.shape[0], found.n_rows, report)
    report.say(
        "accuracy",
        f"{percent(search.best_score_)} in {search.n_splits_} folds; plain PCA to {plain[0]} components "
        f"and one {options.estimator}: {percent(plain[1])}. (Both were chosen by these folds, so both "
        "are a little optimistic.)",
        score=float(search.best_score_),
        baseline_score=plain[1],
        tuned_rows=X.shape[0],
    )
    return model.set_params(extractor=clone(model.extractor).set_params(**search.best_params_))


def say_tried(search: Any, sizes: list[int], n_rows: int, all_rows: int, report: CommandReport) -> None:
    """The errors of the vote and of one member at each diversity, and which was chosen."""
    results, best = search.cv_results_, search.best_index_
    params, scores = results["params"], results["mean_test_score"]
    some = "" if n_rows == all_rows else f", on {n_rows:,} of the {all_rows:,} rows"
    tried = f"11 diversities with {', '.join(map(str, sizes))} components, {search.n_splits_} folds"
    lines = [f" {'diversity':>9}  {'the vote':>9}  {'one member':>10}"]
    curve = []
    for place, (candidate, vote, member) in enumerate(
        zip(params, results["mean_ensemble_error"], results["mean_individual_error"], strict=True)
    ):
        diversity, size = float(candidate["diversity"]), int(candidate["n_components"])
        curve.append(
            {
                "diversity": diversity,
                "components": size,
                "error": float(vote),
                "member_error": float(member),
            }
        )
        if size == params[best]["n_components"]:
            mark = "  <- chosen" if place == best else ""
            lines.append(f" {diversity:>9.1f}  {percent(vote):>9}  {percent(member):>10}{mark}")
    report.say("tried", f"{tried}{some}. Wrong:")
    report.say("", "\n".join(lines), curve=curve)
    near = int(np.sum(scores >= scores[best] - results["se_test_score"][best]))
    others = f"; {counted(near - 1, 'other')} within one standard error" if near > 1 else ""
    report.say(
        "chosen",
        f"diversity {params[best]['diversity']:g} with "
        f"{counted(params[best]['n_components'], 'component')}: the fewest errors of {len(scores)} "
        f"candidates{others}.",
    )
