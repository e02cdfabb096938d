"""``modae fit`` and ``modae tune``: from a table to a model file, judged beside other methods."""

from __future__ import annotations

from importlib import import_module
from shlex import join, quote
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from modae.cli.console import Talk, UserError, one_line, refuse_if, say_modules, say_scores, size
from modae.cli.tables import as_typed, batch_rows, check_output
from modae.cli.training_data import TrainingData, front_steps, read_training_data, scale_ratio
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.classifier_cv import ModularClassifierCV
from modae.ensembles.leaderboard import Leaderboard
from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.regressor_cv import ModularRegressorCV
from modae.files.api import describe, save
from modae.files.objects import NOTES
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.model import resolved_components
from modae.metrics.comparison import compare, rivals
from modae.sources.batches import open_batches
from modae.utils.text import counted, listed, percent

#: What a model file keeps of all that was said.
KEPT = ("rows", "score", "baseline", "baseline_score", "tuned_rows")

#: The tuned model among other methods.
CHOSEN = "modae, as chosen"

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
    talk.data["command"] = options.command
    found = read_training_data(options, talk)
    prepare(found, options, talk)
    fewer = f"there are {found.width} columns: give fewer"
    refuse_if(sizes and sizes[-1] > found.width, f"--components {options.components}: {fewer}.")
    with catch_warnings(record=True, action="always") as caught:
        if options.tune:
            model = tuned(found, options, sizes, talk)
        else:
            model = unfitted(found, options, sizes)
            if found.y is not None and not options.no_check:
                cross_validate(model, found, options, talk)
        if not hasattr(model, "n_features_in_"):
            fit(model, found, talk)
    talk.note(*(one_line(str(each.message)) for each in caught))
    pipeline = Pipeline([*found.steps, ("modules" if found.y is None else "ensemble", model)])
    notes = {name: talk.data[name] for name in KEPT if name in talk.data} | {"impute": options.impute}
    notes["reading"] = {
        name: value for name, value in options.reading.items() if value and name != "format"
    }
    if found.y is not None:
        notes |= {"target": options.target, "task": "classify" if found.classify else "regress"}
    if found.seen is not None:
        notes |= {"fingerprint": True, "seen": found.seen.notes()}
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
    refuse_if(many, f"--components {typed}: several sizes are for modae tune, which chooses from them.")
    if options.target is None:
        refuse_if(options.tune, "tune needs --target: it finds what predicts that column best.")
        for option, usual in (("task", "auto"), ("estimator", None), ("calibrate", None)):
            given = getattr(options, option) != usual
            refuse_if(given, f"--{option} is for predictions: name the column with --target.")
    return sorted({int(text) for text in sizes})


def unfitted(found: TrainingData, options: Any, sizes: list[int]) -> Any:
    """The modules, or the ensemble on them, before they are fitted; the defaults are the library's."""
    given = {"n_modules": options.modules, "diversity": options.diversity}
    given |= {"n_components": sizes[0]} if sizes else {}
    extractor = LinearModularAutoencoder()
    extractor.set_params(**{name: value for name, value in given.items() if value is not None})
    if found.y is None:
        return extractor.set_params(random_state=options.seed)
    name = options.estimator or "knn"
    member = make_member(name, found.classify)
    ensemble: Any = ModularClassifier if found.classify else ModularRegressor
    fewest = 0 if found.classify else getattr(member, "n_neighbors", 0)
    needs = f"--estimator {name} needs at least {fewest} rows, and there are {found.n_rows}"
    refuse_if(found.n_rows < fewest, f"{needs}: add rows, or use --estimator tree.")
    more = "--calibrate holds out single rows: the table must fit into 128 MB"
    refuse_if(options.calibrate is not None and found.sample.share < 1.0, f"{more}.")
    return ensemble(
        extractor, member, calibrate=options.calibrate, n_jobs=options.jobs, random_state=options.seed
    )


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
    tried = options.tune and options.scale == "auto" and ratio > TOO_DIFFERENT
    scale = options.scale == "standard" or (
        options.scale == "auto" and ratio > TOO_DIFFERENT and not tried
    )
    if tried:
        why = f"both ways are tried: the deviations of the columns differ {ratio:,.0f}-fold"
    elif options.scale != "auto":
        why = "as asked" if scale else "as asked; columns count by their variance"
    elif not ends:
        why = "the columns do not vary"
    else:
        why = f"the deviations of the columns differ {ratio:,.0f}-fold{f' ({ends})' if scale else ''}"
    answer = "" if tried else "yes: " if scale else "no: "
    talk.say("scaled", f"{answer}{why}.", scaled=scale, scale_ratio=ratio)
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
    read = {name: value for name, value in options.reading.items() if value}
    same += "".join(f" {join(words)}" for words in as_typed(read))
    out, data = quote(options.out), quote(options.data)
    talk.next(f"modae transform {out} NEW.csv -o features.parquet")
    if found.y is not None:
        promised = "" if options.calibrate is None else " --coverage 0.9"
        talk.next(f"modae predict {out} NEW.csv -o predictions.csv{promised}")
        if not options.tune:
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


def cross_validate(model: Any, found: TrainingData, options: Any, talk: Talk) -> None:
    """Say how good the ensemble is beside plain PCA, on rows that it was not fitted to."""
    X, y = found.some_rows(JUDGED_ROWS, options.seed)
    splits = make_splits(y, found.classify, options.seed)
    if splits is None:
        why = "a class has one row only" if found.classify else "there are too few rows"
        talk.note(f"Not cross-validated: {why}.")
        return
    n_folds = splits.get_n_splits()
    most = max(1, min(X.shape[0] - X.shape[0] // n_folds - 1, X.shape[1]))  # of axes, in every fold
    width = min(int(resolved_components(model.extractor.n_components, X.shape[1])), most)
    plain = Pipeline([("pca", PCA(width, random_state=0)), ("member", clone(model.estimator))])
    models = {"ensemble": clone(model).set_params(n_jobs=None), "plain": plain}
    # Columns that do not vary have no shares of variance.
    with talk.stage("Cross-validating"), np.errstate(invalid="ignore"):
        table = compare(models, X, y, cv=splits, n_jobs=options.jobs)
    scores = dict(zip(table["name"], map(float, table["score"]), strict=True))
    name = f"plain PCA to {width} components and one {options.estimator or 'knn'}"
    say_scores(scores["ensemble"], scores["plain"], name, found.classify, n_folds, talk)


def tuned(found: TrainingData, options: Any, sizes: list[int], talk: Talk) -> Any:
    """The best of many candidates, said beside other methods; fitted, if it saw all rows."""
    X, y = found.some_rows(TUNED_ROWS, options.seed)
    splits = make_splits(y, found.classify, options.seed)
    if splits is None and found.classify:
        labels, counts = np.unique(y, return_counts=True)
        rare = listed(labels[counts < 2])
        raise UserError(f"class {rare} of {options.target!r} has one row; tuning needs two.")
    refuse_if(
        splits is None, f"{counted(len(y), 'row')} are too few to tune: add rows, or use modae fit."
    )
    name = options.estimator
    search_class: Any = ModularClassifierCV if found.classify else ModularRegressorCV
    search = search_class(
        estimator="auto" if name is None else {name: (make_member(name, found.classify), {})},
        n_modules=options.modules,
        n_components=sizes or None,
        cv=splits,
        scale="auto" if options.scale == "auto" else False,  # the steps do what was asked for
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    n_folds, n_rows = splits.get_n_splits(), X.shape[0]
    with talk.stage(f"Trying candidates on {n_folds} folds"):
        search.fit(X, y)
    best = search.best_estimator_
    scaled = isinstance(best, Pipeline)
    models = {CHOSEN: clone(best), **rivals(X, y, classify=found.classify)}
    with talk.stage("Comparing it with other methods"), catch_warnings(action="ignore"):
        others = compare(models, X, y, cv=splits, n_jobs=options.jobs)
    some = "" if n_rows == found.n_rows else f", on {n_rows:,} of the {found.n_rows:,} rows"
    n_tried = counted(len(search.cv_results_["params"]), "candidate")
    talk.say("tried", f"{n_tried} on {n_folds} folds{some}; the best of each kind:", tuned_rows=n_rows)
    talk.say("", indented(search.leaderboard_), leaderboard=as_rows(search.leaderboard_))
    talk.say("chosen", search.summary().removeprefix("Chosen: "), chosen=search.best_params_)
    talk.say("others", "the same folds; chosen by them, so its own error is a little optimistic:")
    talk.say("", indented(others), others=as_rows(others))
    talk.headline("verdict", others.verdict(CHOSEN), verdict=others.verdict(CHOSEN))
    rival = next(place for place, each in enumerate(others["name"]) if each != CHOSEN)
    best_other = str(others["name"][rival])
    score, other = float(search.best_score_), float(others["score"][rival])
    say_scores(score, other, best_other, found.classify, n_folds, talk)
    if scaled and n_rows < found.n_rows:
        found.steps, best = front_steps(found, True, options.impute), best[-1]
    elif scaled:
        found.steps, best = [*found.steps, ("scale", best[0])], best[-1]
    return best if n_rows == found.n_rows else clone(best)


def indented(table: Leaderboard) -> str:
    """Lines that are shown as they are."""
    return "\n".join(f" {line}" for line in str(table).splitlines())


def as_rows(table: Leaderboard) -> list[dict[str, Any]]:
    """The same for JSON, a dict for each model."""
    return [
        dict(zip(table, row, strict=True))
        for row in zip(*(table[n].tolist() for n in table), strict=True)
    ]
