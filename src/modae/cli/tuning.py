"""The diversity and the size of the modules by cross-validation, and the table that says why."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.cli.errors import Mistake
from modae.cli.judging import Score, best_plain_pca, make_splits
from modae.cli.problem import Problem, check_sizes
from modae.cli.targets import rare_classes
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.tuning import ModularClassifierCV
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.utils.text import counted, percent

TUNED_ROWS = 20_000
"""Rows on which candidates are compared; the chosen one is then fitted to all."""


def tune(problem: Problem, member: Any) -> ModularClassifier:
    """The chosen ensemble, not fitted yet; what was tried goes into the report."""
    rows, target = problem.some_rows(TUNED_ROWS)
    assert target is not None
    options = problem.options
    if not target.classify:
        raise Mistake(
            f"tuning needs classes, and {target.name!r} is a number: use fit with --diversity."
        )
    splits = make_splits(target.values, True, options.seed)
    if splits is None:
        raise Mistake(
            f"class {rare_classes(target, 2)} of {target.name!r} has one row; tuning needs two."
        )
    sizes = candidate_sizes(problem)
    search = ModularClassifierCV(
        LinearModularAutoencoder(options.modules),
        member,
        n_components=sizes,
        cv=splits,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    with problem.talk.stage(f"Trying {11 * len(sizes)} candidates on {splits.get_n_splits()} folds"):
        search.fit(rows, target.values)
        plain = best_plain_pca(sizes, member, rows, target, splits)
    _say(problem, search, rows.shape[0], plain)
    extractor = LinearModularAutoencoder(**search.best_params_)
    return ModularClassifier(extractor, member, n_jobs=options.jobs, random_state=options.seed)


def candidate_sizes(problem: Problem) -> list[int]:
    """As asked, or an eighth, a quarter and a half of the columns: at most 5, 10, 20."""
    width = problem.width
    asked = check_sizes(problem.options, width)
    usual = {max(1, min(most, width // part)) for part, most in ((8, 5), (4, 10), (2, 20))}
    return asked or sorted(usual)


def _say(problem: Problem, search: Any, n_rows: int, plain: tuple[int, Score]) -> None:
    report, results = problem.report, search.cv_results_
    best, n_folds = search.best_params_, search.n_splits_
    size = best["n_components"]
    chosen = [i for i, params in enumerate(results["params"]) if params["n_components"] == size]
    report.lines.append(("tried", _tried(search, n_folds, n_rows, problem.found.n_rows)))
    report.lines.append(("", _table(results, chosen, search.best_index_)))
    report.lines.append(("chosen", _why(results, search.best_index_)))
    components, score = plain
    report.say(
        "accuracy",
        f"{percent(search.best_score_)} in {n_folds} folds; plain PCA to {components} components and "
        f"one {problem.options.estimator}: {score}. (Both were chosen by these folds, so both are a "
        "little optimistic.)",
        score=float(search.best_score_),
        baseline_score=score.mean,
        tuned_rows=n_rows,
        curve=[_entry(results, place) for place in range(len(results["params"]))],
    )


def _tried(search: Any, n_folds: int, n_rows: int, all_rows: int) -> str:
    sizes = sorted({params["n_components"] for params in search.cv_results_["params"]})
    words = ", ".join(map(str, sizes))
    some = "" if n_rows == all_rows else f", on {n_rows:,} of the {all_rows:,} rows"
    return f"11 diversities with {words} components, {n_folds} folds{some}. Wrong:"


def _table(results: Any, places: list[int], best: int) -> str:
    """The errors for the chosen size, at each diversity."""
    lines = [f" {'diversity':>9}  {'the vote':>9}  {'one member':>10}"]
    for place in places:
        errors = [results[f"mean_{name}_error"][place] for name in ("ensemble", "individual")]
        mark = "  <- chosen" if place == best else ""
        diversity = results["params"][place]["diversity"]
        lines.append(f" {diversity:>9.1f}  {percent(errors[0]):>9}  {percent(errors[1]):>10}{mark}")
    return "\n".join(lines)


def _why(results: Any, best: int) -> str:
    params, scores = results["params"][best], results["mean_test_score"]
    near = int(np.sum(scores >= scores[best] - results["se_test_score"][best]))
    others = f"; {counted(near - 1, 'other')} within one standard error" if near > 1 else ""
    return (
        f"diversity {params['diversity']:g} with {counted(params['n_components'], 'component')}: the "
        f"fewest errors of {len(scores)} candidates{others}."
    )


def _entry(results: Any, place: int) -> dict[str, float]:
    params = results["params"][place]
    return {
        "diversity": float(params["diversity"]),
        "components": int(params["n_components"]),
        "error": float(results["mean_ensemble_error"][place]),
        "member_error": float(results["mean_individual_error"][place]),
    }
