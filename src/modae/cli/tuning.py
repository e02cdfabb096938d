"""How good an ensemble is beside plain PCA, and the diversity and size that predict best."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from modae.cli.errors import UserError
from modae.cli.talk import Talk
from modae.cli.training import TrainingData
from modae.ensembles.classifier_cv import ModularClassifierCV
from modae.ensembles.regressor_cv import ModularRegressorCV
from modae.utils.text import counted, listed, percent

#: Rows on which a fit is cross-validated: enough for a percent, and quick.
JUDGED_ROWS = 5000

#: Rows on which candidates are compared; the chosen one is then fitted to all.
TUNED_ROWS = 20_000

MOST_FOLDS = 5

#: Rows from which numbers are predicted: the neighbours that a member takes the mean of.
FEWEST_ROWS = 5

#: Members by the names of ``--estimator``: module, class, parameters. (There is no linear regressor: a
#: mean of linear regressors on linear modules is one linear regression again.)
MEMBERS = {
    "classify": {
        "knn": ("modae.ensembles.neighbors", "NearestNeighborClassifier", {}),
        "logistic": ("sklearn.linear_model", "LogisticRegression", {"max_iter": 2000}),
        "svm": ("sklearn.svm", "SVC", {}),
        "tree": ("sklearn.tree", "DecisionTreeClassifier", {}),
        "forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 50}),
    },
    "regress": {
        "knn": ("sklearn.neighbors", "KNeighborsRegressor", {}),
        "svm": ("sklearn.svm", "SVR", {}),
        "tree": ("sklearn.tree", "DecisionTreeRegressor", {}),
        "forest": ("sklearn.ensemble", "RandomForestRegressor", {"n_estimators": 50}),
    },
}


def make_member(name: str, classify: bool) -> Any:
    """A new member for the ensemble."""
    known = MEMBERS["classify" if classify else "regress"]
    if name not in known:
        kind = "classes" if classify else "numbers"
        raise UserError(
            f"--estimator {name}: for a target of {kind} it must be one of {', '.join(known)}."
        )
    module, kind, params = known[name]
    return getattr(import_module(module), kind)(**params)


def make_splits(y: np.ndarray, classify: bool, seed: int) -> Any:
    """Five folds, fewer if a class is rare; None if one has a single row, or if rows are too few."""
    if not classify:
        n_folds = min(MOST_FOLDS, len(y) // 2)
        enough = n_folds > 1 and len(y) - -(-len(y) // n_folds) >= FEWEST_ROWS
        return KFold(n_folds, shuffle=True, random_state=seed) if enough else None
    n_folds = min(MOST_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed) if n_folds > 1 else None


def cross_validated(model: Any, found: TrainingData, options: Any, sizes: list[int], talk: Talk) -> Any:
    """The ensemble as it was, or tuned; how good it is beside plain PCA on the same folds is said.

    A model that saw all rows while it was chosen comes back fitted.
    """
    X, y = found.some_rows(TUNED_ROWS if options.tune else JUDGED_ROWS, options.seed)
    splits = make_splits(y, found.classify, options.seed)
    if splits is None and not options.tune:
        why = "a class has one row only" if found.classify else "there are too few rows"
        talk.note(f"Not cross-validated: {why}.")
        return model
    if splits is None:
        labels, counts = np.unique(y, return_counts=True)
        rare = listed(labels[counts < 2])
        raise UserError(f"class {rare} of {options.target!r} has one row; tuning needs two.")
    if options.tune and not sizes:  # an eighth, a quarter and a half of the columns: at most 5, 10, 20
        width = X.shape[1]
        sizes = sorted({max(1, min(most, width // part)) for part, most in ((8, 5), (4, 10), (2, 20))})
    sizes = sizes or [model.extractor.n_components]
    search_class: Any = ModularClassifierCV if found.classify else ModularRegressorCV
    search = search_class(
        model.extractor,
        model.estimator,
        diversities=None if options.tune else [model.extractor.diversity],
        n_components=sizes,
        cv=splits,
        scale=False,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    n_folds, scores = splits.get_n_splits(), {}
    trying = f"Trying {11 * len(sizes)} candidates on {n_folds} folds"
    with talk.stage(trying if options.tune else "Cross-validating"):
        search.fit(X, y)
        for size in sizes:
            n_axes = min(size, X.shape[0] - X.shape[0] // n_folds - 1, X.shape[1])
            plain = make_pipeline(PCA(max(n_axes, 1), random_state=0), clone(model.estimator))
            with np.errstate(invalid="ignore"):  # columns that do not vary have no shares of variance
                scores[size] = cross_val_score(plain, X, y, cv=splits, error_score="raise").mean()
    if options.tune:
        say_tried(search, sizes, X.shape[0], found.n_rows, talk)
        talk.data["tuned_rows"] = X.shape[0]
    width = max(scores, key=lambda size: scores[size])
    score, plain_score = float(search.best_score_), float(scores[width])
    ours, plain = (
        percent(each) if found.classify else f"R2 {each:.3f}" for each in (score, plain_score)
    )
    chosen = " (Both were chosen by these folds, so both are a little optimistic.)"
    talk.say(
        "accuracy" if found.classify else "fit",
        f"{ours} in {n_folds} folds; plain PCA to {width} components and one {options.estimator}: "
        f"{plain}.{chosen if options.tune else ''}",
        score=score,
        baseline_score=plain_score,
    )
    best = search.best_estimator_
    return best if X.shape[0] == found.n_rows else clone(best)


def say_tried(search: Any, sizes: list[int], n_rows: int, all_rows: int, talk: Talk) -> None:
    """The errors of the vote and of one member at each diversity, and which was chosen."""
    results, best = search.cv_results_, search.best_index_
    params, scores = results["params"], results["mean_test_score"]
    some = "" if n_rows == all_rows else f", on {n_rows:,} of the {all_rows:,} rows"
    tried = f"11 diversities with {', '.join(map(str, sizes))} components, {search.n_splits_} folds"
    curve = []
    lines = [f" {'diversity':>9}  {'the vote':>9}  {'one member':>10}"]
    for place, each in enumerate(params):
        vote, member = (float(results[f"mean_{who}_error"][place]) for who in ("ensemble", "individual"))
        diversity, size = float(each["diversity"]), int(each["n_components"])
        curve.append({"diversity": diversity, "components": size, "error": vote, "member_error": member})
        if size == params[best]["n_components"]:
            mark = "  <- chosen" if place == best else ""
            lines.append(f" {diversity:>9.1f}  {percent(vote):>9}  {percent(member):>10}{mark}")
    talk.say("tried", f"{tried}{some}. Wrong:")
    talk.say("", "\n".join(lines), curve=curve)
    near = int(np.sum(scores >= scores[best] - results["se_test_score"][best]))
    others = f"; {counted(near - 1, 'other')} within one standard error" if near > 1 else ""
    talk.say(
        "chosen",
        f"diversity {params[best]['diversity']:g} with "
        f"{counted(params[best]['n_components'], 'component')}: the fewest errors of {len(scores)} "
        f"candidates{others}.",
    )
