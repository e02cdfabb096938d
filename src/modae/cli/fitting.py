"""``modae fit`` and ``modae tune``: from a table to a model file, judged beside plain PCA."""

from __future__ import annotations

from importlib import import_module
from shlex import quote
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from modae.cli.console import Talk, UserError, one_line, refuse_if, say_modules, say_scores, size
from modae.cli.tables import batch_rows, check_output
from modae.cli.training_data import TrainingData, front_steps, read_training_data, scale_ratio
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.classifier_cv import ModularClassifierCV
from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.regressor_cv import ModularRegressorCV
from modae.files.api import describe, save
from modae.files.objects import NOTES
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.sources.batches import open_batches
from modae.utils.text import counted, listed, percent

#: What a model file keeps of all that was said.
KEPT = ("rows", "score", "baseline_score", "tuned_rows", "curve")

#: Ratio of two standard deviations from which on columns are standardised.
TOO_DIFFERENT = 10.0

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


def fit_command(options: Any, talk: Talk) -> None:
    """Read, prepare, fit, judge, save, and say all of it."""
    sizes = check_options(options)
    talk.data["command"] = "tune" if options.tune else "fit"
    found = read_training_data(options, talk)
    prepare(found, options, talk)
    fewer = f"there are {found.width} columns: give fewer"
    refuse_if(sizes and sizes[-1] > found.width, f"--components {options.components}: {fewer}.")
    with catch_warnings(record=True, action="always") as caught:
        model = unfitted(found, options, sizes)
        if found.y is not None and (options.tune or not options.no_check):
            model = cross_validated(model, found, options, sizes, talk)
        if not hasattr(model, "n_features_in_"):
            fit(model, found, talk)
    talk.note(*(one_line(str(each.message)) for each in caught))
    pipeline = Pipeline([*found.steps, ("modules" if found.y is None else "ensemble", model)])
    notes = {name: talk.data[name] for name in KEPT if name in talk.data} | {"impute": options.impute}
    if found.y is not None:
        notes |= {"target": options.target, "task": "classify" if found.classify else "regress"}
    setattr(pipeline, NOTES, notes)
    save(pipeline, options.out)
    say_saved(describe(options.out), model, found, options, talk)


def check_options(options: Any) -> list[int]:
    """Refuse what cannot work, with the remedy; the sizes of --components, none if it was not given."""
    check_output(options.out, (".modae",), (options.data,))
    sizes = [text.strip() for text in (options.components or "").split(",") if options.components]
    whole, typed = all(text.isdigit() and int(text) > 0 for text in sizes), options.components
    refuse_if(not whole, f"--components {typed}: give a whole number from 1 on, such as 5.")
    many = len(sizes) > 1 and not options.tune
    refuse_if(many, f"--components {typed}: several sizes need --tune to choose from them.")
    both = options.tune and options.diversity is not None
    refuse_if(both, "--diversity and --tune: --tune chooses the diversity; leave one of them out.")
    if options.target is None:
        refuse_if(options.tune, "--tune needs --target: it finds what predicts that column best.")
        for option, usual in (("task", "auto"), ("estimator", "knn")):
            given = getattr(options, option) != usual
            refuse_if(given, f"--{option} is for predictions: name the column with --target.")
    return sorted({int(text) for text in sizes})


def unfitted(found: TrainingData, options: Any, sizes: list[int]) -> Any:
    """The modules, or the ensemble on them, before they are tuned and fitted."""
    components = sizes[0] if sizes else max(1, min(10, found.width // 3))
    diversity = 0.5 if options.diversity is None else options.diversity
    extractor = LinearModularAutoencoder(options.modules, components, diversity)
    if found.y is None:
        return extractor.set_params(random_state=options.seed)
    member = make_member(options.estimator, found.classify)
    ensemble: Any = ModularClassifier if found.classify else ModularRegressor
    if not found.classify:
        number, fewest = f"{options.target!r} is a number", getattr(member, "n_neighbors", 0)
        refuse_if(options.tune, f"tuning needs classes, and {number}: use fit with --diversity.")
        needs = f"--estimator {options.estimator} needs at least {fewest} rows, and there are"
        refuse_if(found.n_rows < fewest, f"{needs} {found.n_rows}: add rows, or use --estimator tree.")
    return ensemble(extractor, member, n_jobs=options.jobs, random_state=options.seed)


def fit(model: Any, found: TrainingData, talk: Talk) -> None:
    """Fit to all rows after the steps: in memory where they fit, else batches that are read again."""
    if found.sample.share == 1.0:
        with talk.stage("Fitting"):
            model.fit(found.prepared(found.sample.rows), found.y)
        return
    talk.note("Larger than 128 MB: the table was read again for the fit, batch by batch.")
    with talk.stage("Fitting", (1 if found.y is None else 2) * found.n_rows) as advance:
        rows = open_batches(lambda: found.batches(advance), batch_size=batch_rows(found.width))
        model.fit(rows, found.y)


def prepare(found: TrainingData, options: Any, talk: Talk) -> None:
    """Fit the steps before the modules; say what the table is, and what becomes of its columns."""
    table, n_columns = found.table, found.sample.rows.shape[1]
    sizes = f"{counted(found.n_rows, 'row')}, {counted(n_columns, 'column')}"
    facts = {"data": table.origin, "rows": found.n_rows, "columns": n_columns}
    talk.say("read", f"{table.origin}: {sizes}.", **facts)
    if found.classify:
        labels, counts = np.unique(found.y, return_counts=True)
        classes = dict(zip(map(str, labels), map(int, counts), strict=True))
        shown = ", ".join(f"{label}: {count}" for label, count in list(classes.items())[:4])
        what = f"{len(classes)} classes ({shown}{', ...' if len(classes) > 4 else ''})"
        talk.say("target", f"{options.target}, {what}.", target=options.target, classes=classes)
    elif found.y is not None:
        what = f"a number from {found.y.min():g} to {found.y.max():g}"
        talk.say("target", f"{options.target}, {what}.", target=options.target, classes=None)
    ratio, ends = scale_ratio(found.scaler)
    scale = options.scale == "standard" or (options.scale == "auto" and ratio > TOO_DIFFERENT)
    if options.scale != "auto":
        why = "as asked" if scale else "as asked; columns count by their variance"
    elif not ends:
        why = "the columns do not vary"
    else:
        why = f"the deviations of the columns differ {ratio:,.0f}-fold{f' ({ends})' if scale else ''}"
    talk.say("scaled", f"{'yes' if scale else 'no'}: {why}.", scaled=scale, scale_ratio=ratio)
    found.steps = front_steps(found, scale, options.impute)
    if found.categories:
        encoded = f"{counted(len(found.categories), 'column')} of strings"
        talk.say("encoded", f"{encoded}; {found.width} columns now.", width=found.width)
    for name, strings in found.categories.items():
        if len(strings) == found.n_rows:
            talk.note(f"Column {name!r} has another string in every row: if it is an id, --drop it.")
    if options.impute:
        missing = found.n_missing
        talk.say("imputed", f"{counted(missing, 'missing value')}, by the median.", imputed=missing)
    talk.note(*found.notes)


def say_saved(told: dict[str, Any], model: Any, found: TrainingData, options: Any, talk: Talk) -> None:
    """What the model is, where it is, and what to type next; ``told`` is what the file says."""
    say_modules(told["summary"]["model"], talk)
    if found.y is None:
        explained = model.explained_variance_ratio_of_mean_
        talk.say("explains", f"{percent(explained)} of the variance.", explained=explained)
    rows = "; it holds rows of the training data" if told["holds_rows"] else ""
    facts = {"model": options.out, "bytes": told["bytes"], "holds_rows": told["holds_rows"]}
    talk.say("saved", f"{options.out} ({size(told['bytes'])}){rows}.", **facts)
    same = "".join(f" --{flag}" for flag in ("encode", "impute") if getattr(options, flag))
    same += "".join(f" --drop {quote(name)}" for name in options.drop)
    out, data = quote(options.out), quote(options.data)
    talk.next(f"modae transform {out} NEW.csv -o features.parquet")
    if found.y is not None:
        talk.next(f"modae predict {out} NEW.csv -o predictions.csv")
        if not options.tune and found.classify:
            talk.next(f"modae tune {data} --target {quote(options.target)} -o {out}{same}")
    if options.data != "-":
        talk.next(f"modae report {out} {data} -o report.html")


def make_member(name: str, classify: bool) -> Any:
    """A new member for the ensemble."""
    known = MEMBERS["classify" if classify else "regress"]
    what = "classes" if classify else "numbers"
    refuse_if(name not in known, f"--estimator {name}: for {what} it must be one of {', '.join(known)}.")
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
    n_folds = splits.get_n_splits()
    most = max(1, min(X.shape[0] - X.shape[0] // n_folds - 1, X.shape[1]))  # of axes, in every fold
    plain = Pipeline([("pca", PCA(random_state=0)), ("member", clone(model.estimator))])
    axes = {"pca__n_components": sorted({min(size, most) for size in sizes})}
    baseline = GridSearchCV(plain, axes, cv=splits, refit=False, error_score="raise")
    trying = f"Trying {11 * len(sizes)} candidates on {n_folds} folds"
    with talk.stage(trying if options.tune else "Cross-validating"):
        search.fit(X, y)
        with np.errstate(invalid="ignore"):  # columns that do not vary have no shares of variance
            baseline.fit(X, y)
    if options.tune:
        say_tried(search, sizes, X.shape[0], found.n_rows, talk)
        talk.data["tuned_rows"] = X.shape[0]
    width = baseline.best_params_["pca__n_components"]
    text = f"in {n_folds} folds; plain PCA to {width} components and one {options.estimator}"
    chosen = " (Both were chosen by these folds, so both are a little optimistic.)"
    both = float(search.best_score_), float(baseline.best_score_)
    say_scores(*both, found.classify, text, talk, chosen if options.tune else "")
    best = search.best_estimator_
    return best if X.shape[0] == found.n_rows else clone(best)


def say_tried(search: Any, sizes: list[int], n_rows: int, all_rows: int, talk: Talk) -> None:
    """The errors of the vote and of one member at each diversity, and which was chosen."""
    results, best = search.cv_results_, search.best_index_
    params, scores = results["params"], results["mean_test_score"]
    winner = params[best]
    some = "" if n_rows == all_rows else f", on {n_rows:,} of the {all_rows:,} rows"
    tried = f"11 diversities with {', '.join(map(str, sizes))} components, {search.n_splits_} folds"
    curve, lines = [], [f" {'diversity':>9}  {'the vote':>9}  {'one member':>10}"]
    for place, each in enumerate(params):
        vote, member = (float(results[f"mean_{who}_error"][place]) for who in ("ensemble", "individual"))
        diversity, size = float(each["diversity"]), int(each["n_components"])
        curve.append({"diversity": diversity, "components": size, "error": vote, "member_error": member})
        if size == winner["n_components"]:
            mark = "  <- chosen" if place == best else ""
            lines.append(f" {diversity:>9.1f}  {percent(vote):>9}  {percent(member):>10}{mark}")
    talk.say("tried", f"{tried}{some}. Wrong:")
    talk.say("", "\n".join(lines), curve=curve)
    near = int(np.sum(scores >= scores[best] - results["se_test_score"][best]))
    others = f"; {counted(near - 1, 'other')} within one standard error" if near > 1 else ""
    chosen = f"diversity {winner['diversity']:g} with {counted(winner['n_components'], 'component')}"
    talk.say("chosen", f"{chosen}: the fewest errors of {len(scores)} candidates{others}.")
