"""``modae fit`` and ``modae tune``: from a table to a model file, judged beside other methods."""

from __future__ import annotations

from itertools import chain
from shlex import join, quote
from typing import Any
from warnings import catch_warnings

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from modae.cli.columns import remarks_on
from modae.cli.console import THIS, Talk, UserError, one_line, refuse_if, say_modules, say_others, size
from modae.cli.tables import as_typed, batch_rows, check_output
from modae.cli.training_data import TrainingData, front_steps, missing_targets, read_table, scale_ratio
from modae.data.validation import take_rows
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.conformal import hold_out
from modae.ensembles.cv import ModularClassifierCV, ModularRegressorCV
from modae.ensembles.families import AllColumns
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.ensembles.regressor import ModularRegressor
from modae.files.api import describe, save
from modae.files.objects import NOTES
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.metrics.comparison import compare, rivals
from modae.sources.batches import open_batches
from modae.sources.dates import date_of
from modae.utils.text import counted, listed, percent

#: What a model file keeps of all that was said.
KEPT = ("rows", "score", "verdict", "tuned_rows")

#: Ratio of two standard deviations from which on columns are standardised.
TOO_DIFFERENT = 10.0

#: Rows on which a fit is compared with other methods: enough for a percent, and quick.
JUDGED_ROWS = 2000

#: Rows on which candidates are compared; the chosen one is then fitted to all.
TUNED_ROWS = 20_000

MOST_FOLDS = 5

#: Bytes from which on a model file is large.
LARGE = 50_000_000

#: Rows from which numbers are predicted: the neighbours that a member takes the mean of.
FEWEST_ROWS = 5

#: Members by the names of ``--estimator``, for classes and for numbers. (There is no linear regressor: a
#: mean of linear regressors on linear modules is one linear regression again.)
MEMBERS: dict[str, tuple[Any, Any]] = {
    "knn": (NearestNeighborClassifier(), KNeighborsRegressor()),
    "logistic": (LogisticRegression(max_iter=2000), None),
    "svm": (SVC(), SVR()),
    "tree": (DecisionTreeClassifier(), DecisionTreeRegressor()),
    "forest": (RandomForestClassifier(50), RandomForestRegressor(50)),
}


def fit_command(options: Any, talk: Talk) -> None:
    """Read, prepare, fit, judge, save, and say all of it."""
    sizes = check_options(options)
    talk.data["command"] = options.command
    found = read_table(options, talk)
    prepare(found, options, talk)
    picks = options.calibrate is not None or found.missing_label is not None
    single = "--calibrate, and a target that some rows lack, need single rows"
    refuse_if(picks and found.sample.share < 1.0, f"{single}: the table must fit into 128 MB.")
    fewer = f"there are {found.width} columns: give fewer"
    refuse_if(sizes and sizes[-1] > found.width, f"--components {options.components}: {fewer}.")
    with catch_warnings(record=True, action="always") as caught:
        if options.tune:
            model = tuned(found, options, sizes, talk)
        else:
            model = unfitted(found, options, sizes)
            if found.y is not None and not options.no_check:
                judge(model, found, options, talk)
        if not hasattr(model, "n_features_in_"):
            fit(model, found, talk)
    talk.note(*(one_line(str(each.message)) for each in caught))
    pipeline = Pipeline([*found.steps, ("modules" if found.y is None else "ensemble", model)])
    # The format is that of this table, and not of others.
    reading = {name: value for name, value in options.reading.items() if value and name != "format"}
    notes = {name: talk.data[name] for name in KEPT if name in talk.data}
    notes |= {"impute": options.impute, "reading": reading, "dropped": options.drop}
    cells = {name: value for name, value in reading.items() if name != "sheet"}
    notes |= {"options": join(chain.from_iterable(as_typed(cells)))} if cells else {}
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
    n_rows = len(found.labels)
    needs = f"--estimator {name} needs at least {fewest} rows, and there are {n_rows}"
    refuse_if(n_rows < fewest, f"{needs}: add rows, or use --estimator tree.")
    return ensemble(
        extractor,
        member,
        calibrate=options.calibrate,
        missing_label=found.missing_label,
        n_jobs=options.jobs,
        random_state=options.seed,
    )


def fit(model: Any, found: TrainingData, talk: Talk) -> None:
    """Fit to all rows after the steps: in memory where they fit, else batches that are read again."""
    if found.sample.share == 1.0:
        with talk.stage("Fitting"):
            model.fit(found.prepared(found.sample.rows), found.y)
        return
    talk.note("Larger than 128 MB: the table was read again for the fit, batch by batch.")
    with talk.stage("Fitting", (1 if found.y is None else 2) * found.n_rows, "row") as advance:
        rows = open_batches(lambda: found.batches(advance), batch_size=batch_rows(found.width))
        model.fit(rows, found.y)


def prepare(found: TrainingData, options: Any, talk: Talk) -> None:
    """Fit the steps before the modules; say what the table is, and what becomes of its columns."""
    table, n_columns = found.table, found.sample.rows.shape[1]
    dated = bool(options.reading.get("dates"))
    in_file = {date_of(name, table.kinds) if dated else name for name in table.kinds}
    width = len(in_file) or table.width
    sizes = f"{table.origin}: {counted(found.n_rows, 'row')}, {counted(width, 'column')}."
    talk.say("read", sizes, data=table.origin, rows=found.n_rows, columns=n_columns)
    if found.y is not None:
        classes: Any = None
        if found.classify:
            labels, counts = np.unique(found.labels, return_counts=True)
            classes = dict(zip(map(str, labels), map(int, counts), strict=True))
            shown = ", ".join(f"{label}: {count}" for label, count in list(classes.items())[:4])
            what = f"{len(classes)} classes ({shown}{', ...' if len(classes) > 4 else ''})"
        else:
            what = f"a number from {found.labels.min():g} to {found.labels.max():g}"
        facts = {"target": options.target, "classes": classes, "labelled_rows": len(found.labels)}
        talk.say("target", f"{options.target}, {what}.", **facts)
        if found.missing_label is not None:
            some, n_rows = f"{len(found.labels):,} rows have a target", f"{found.n_rows:,}"
            talk.say("", f"{some} and train what predicts; all {n_rows} train the modules.")
    ratio, ends = scale_ratio(found.scaler)
    auto, wide = options.scale == "auto", options.scale == "auto" and ratio > TOO_DIFFERENT
    tried = wide and options.tune
    scale = options.scale == "standard" or (wide and not tried)
    fold = f"{ratio:,.0f}" if ratio > 9.5 else f"{ratio:.1f}"
    why = f"the deviations of the columns differ {fold}-fold" if auto else "as asked"
    why += f" ({ends})" if auto and scale else ""
    answer = "both ways are tried" if tried else "yes" if scale else "no"
    talk.say("scaled", f"{answer}: {why}.", scaled=scale, scale_ratio=ratio)
    found.steps = front_steps(found, scale, options.impute)
    dates = in_file - set(table.kinds) - set(options.drop)
    encoded = [f"{counted(len(found.categories), 'column')} of strings"] if found.categories else []
    encoded += [f"{len(found.orders)} of them in order"] if found.orders else []
    encoded += [f"{counted(len(dates), 'column')} of dates"] if dates else []
    if encoded:
        after = " and ".join(["--encode"] * bool(found.categories) + ["--dates"] * bool(dates))
        text = f"{', '.join(encoded)}; {counted(found.width, 'number')} after {after}."
        talk.say("encoded", text, width=found.width)
    if options.impute:
        filled = f"{counted(found.n_missing, 'missing value')}, by the median"
        filled += ", or the most frequent string" if found.categories else ""
        talk.say("imputed", f"{filled}.", imputed=found.n_missing)
    named = found.labels if found.classify else None
    remarks = remarks_on(table, found.sample.rows, found.n_rows, found.categories, found.orders, named)
    talk.note(*found.notes, *remarks)


def say_saved(told: dict[str, Any], model: Any, found: TrainingData, options: Any, talk: Talk) -> None:
    """What the model is, where it is, and what to type next; ``told`` is what the file says."""
    say_modules(told["summary"]["model"], talk)
    if found.y is None:
        explained = model.explained_variance_ratio_of_mean_
        talk.say("explains", f"{percent(explained)} of the variance.", explained=explained)
    rows = "; it holds rows of the training data" if told["holds_rows"] else ""
    facts = {"model": options.out, "bytes": told["bytes"], "holds_rows": told["holds_rows"]}
    talk.say("saved", f"{options.out} ({size(told['bytes'])}){rows}.", **facts)
    if told["bytes"] > LARGE and "modules" in told["summary"]["model"]:
        each = f"each module has numbers for each of the {found.width:,} columns"
        talk.note(f"{options.out} is large: {each}. Fewer --modules or --components make it smaller.")
    out, data = quote(options.out), quote(options.data)
    if not isinstance(getattr(model, "extractor_", None), AllColumns):
        talk.next(f"modae transform {out} NEW.csv -o features.parquet")
    if found.y is not None:
        promised = "" if options.calibrate is None else " --coverage 0.9"
        talk.next(f"modae predict {out} NEW.csv -o predictions.csv{promised}")
        if not options.tune:
            talk.next(tune_command(options))
    if options.data != "-":
        talk.next(f"modae report {out} {data} -o report.html")


def tune_command(options: Any) -> str:
    """What to type to have the best of many candidates instead, of the same table."""
    names = ("encode", "order", "impute", "no_header", "drop", "calibrate")
    given = {name.replace("_", "-"): getattr(options, name) for name in names} | options.reading
    more = as_typed({name: value for name, value in given.items() if value})
    words = ["modae", "tune", options.data, "--target", options.target, "-o", options.out]
    return join([*words, *chain.from_iterable(more)])


def in_python(name: str, found: TrainingData, options: Any) -> str:
    """Lines of Python that train another method on the same table, as the model takes it.

    A table that only this command can read is named X and y instead.
    """
    member = "" if options.tune else ", member=model[-1].estimator"
    known = readable = options.data.lower().endswith(".csv") and not any(options.reading.values())
    known &= found.missing_label is not None
    lines = [
        f"# Python, for {name!r}:\nimport modae, pandas\nfrom modae.metrics import rivals",
        f"model = modae.load({options.out!r})",
        *[f"table = pandas.read_csv({options.data!r}, sep=None, engine='python')"] * readable,
        *[f"table = table.dropna(subset=[{options.target!r}])"] * known,
        *[f"X, y = table[model.feature_names_in_], table[{options.target!r}]"] * readable,
        *["X = model[:-1].transform(X)"] * (readable and bool(found.steps)),
        f"others = rivals(X, y, classify={found.classify}{member})\nbetter = others[{name!r}].fit(X, y)",
    ]
    return "\n".join(lines)


def make_member(name: str, classify: bool) -> Any:
    """A new member for the ensemble."""
    pairs = {each: pair[not classify] for each, pair in MEMBERS.items()}
    known = {each: member for each, member in pairs.items() if member is not None}
    what = f"for {'classes' if classify else 'numbers'} it must be one of {', '.join(known)}"
    refuse_if(name not in known, f"--estimator {name}: {what}.")
    return clone(known[name])


def make_splits(y: np.ndarray, found: TrainingData, seed: int) -> Any:
    """Five folds, fewer if a class is rare; None if one has a single row, or if rows are too few."""
    y = y[~missing_targets(y)]
    if not found.classify:
        n_folds = min(MOST_FOLDS, len(y) // 2)
        enough = n_folds > 1 and len(y) - -(-len(y) // n_folds) >= FEWEST_ROWS
        return KFold(n_folds, shuffle=True, random_state=seed) if enough else None
    n_folds = min(MOST_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed) if n_folds > 1 else None


def judge(model: Any, found: TrainingData, options: Any, talk: Talk) -> None:
    """Say how good an ensemble is beside other methods, on rows that it was not fitted to."""
    X, y = found.some_rows(JUDGED_ROWS, options.seed)
    splits = make_splits(y, found, options.seed)
    if splits is None:
        why = "a class has one row only" if found.classify else "there are too few rows"
        talk.note(f"Not cross-validated: {why}.")
        return
    model = clone(model).set_params(n_jobs=None, calibrate=None)
    beside_others(model, X, y, splits, found, options, talk)


def beside_others(
    model: Any, X: Any, y: Any, splits: Any, found: TrainingData, options: Any, talk: Talk
) -> None:
    """The model among other methods on the same folds: a table, a verdict, and what is better."""
    known, n_folds = np.flatnonzero(~missing_targets(y)), splits.get_n_splits()
    member = None if options.tune else model.estimator
    others = rivals(take_rows(X, known), y[known], classify=found.classify, member=member)
    models = {THIS: clone(model), **others}
    # Columns that do not vary have no shares of variance.
    stage = talk.stage("Comparing it with other methods", len(models) * n_folds, "fit")
    with stage as advance, catch_warnings(action="ignore"), np.errstate(invalid="ignore"):
        how = {"cv": splits, "missing_label": found.missing_label, "n_jobs": options.jobs}
        table = compare(models, X, y, advance=advance, **how)
    rows = "" if len(y) == found.n_rows else f" of {len(y):,} of the {found.n_rows:,} rows"
    text = f"on the same {n_folds} folds{rows}"
    slow = [name for name in ("gradient boosting", "SVM") if name not in others]
    text += f", without {' and '.join(slow)}, which would take long" if slow else ""
    text += "; chosen by them, so its own error is a little optimistic" if options.tune else ""
    plain = isinstance((model[-1] if isinstance(model, Pipeline) else model).extractor, AllColumns)
    better = say_others(table, f"{text}:", talk, plain=plain)
    if better:
        talk.next(in_python(better, found, options), *[tune_command(options)] * (not options.tune))


def tuned(found: TrainingData, options: Any, sizes: list[int], talk: Talk) -> Any:
    """The best of many candidates, said beside other methods; fitted, if it saw all rows."""
    among = None
    if options.calibrate is not None:  # what the fit will hold out is not for the search
        held = unfitted(found, options, sizes[:1])
        known = np.flatnonzero(~missing_targets(found.y))
        among = hold_out(held, np.arange(found.n_rows), found.y, known)[0]
    X, y = found.some_rows(TUNED_ROWS, options.seed, among)
    splits = make_splits(y, found, options.seed)
    if splits is None and found.classify:
        labels, counts = np.unique(found.labels, return_counts=True)
        rare = listed(labels[counts < 2])
        raise UserError(f"class {rare} of {options.target!r} has one row; tuning needs two.")
    few = f"{counted(len(y), 'row')} are too few to tune"
    refuse_if(splits is None, f"{few}: add rows, or use modae fit.")
    name = options.estimator
    search_class: Any = ModularClassifierCV if found.classify else ModularRegressorCV
    search = search_class(
        estimator="auto" if name is None else {name: (make_member(name, found.classify), {})},
        n_modules=options.modules,
        n_components=sizes or None,
        cv=splits,
        scale="auto" if options.scale == "auto" else False,  # the steps do what was asked for
        missing_label=found.missing_label,
        time_budget=options.time_budget,
        n_jobs=options.jobs,
        random_state=options.seed,
    )
    n_rows = X.shape[0]
    with talk.watch(f"Trying candidates on {splits.get_n_splits()} folds", search):
        search.fit(X, y)
    best, n_folds = search.best_estimator_, search.cv_results_["n_folds"]  # fewer when time is over
    scaled = isinstance(best, Pipeline)
    some = "" if n_rows == found.n_rows else f", on {n_rows:,} of the {found.n_rows:,} rows"
    n_tried = counted(len(search.cv_results_["params"]), "candidate")
    few = ", the poor ones on fewer" if len(np.unique(n_folds)) > 1 else ""
    few += f", begun within {options.time_budget:g} s" if options.time_budget else ""
    shown = "the best of each kind, and what it is behind the first on the folds of both"
    talk.say(
        "tried", f"{n_tried} on {counted(n_folds.max(), 'fold')}{few}{some}; {shown}:", tuned_rows=n_rows
    )
    talk.table(search.leaderboard_, "leaderboard")
    talk.say("chosen", search.summary().removeprefix("Chosen: "), chosen=search.best_params_)
    beside_others(best, X, y, splits, found, options, talk)
    if scaled and n_rows < found.n_rows:
        found.steps, best = front_steps(found, True, options.impute), best[-1]
    elif scaled:
        found.steps, best = [*found.steps, ("scale", best[0])], best[-1]
    return best if n_rows == found.n_rows else clone(best).set_params(calibrate=options.calibrate)
