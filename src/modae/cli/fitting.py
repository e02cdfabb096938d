"""``modae fit`` and ``modae tune``: from a table to a model file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from modae.cli.errors import UserError, data_refused, one_line
from modae.cli.models import say_modules
from modae.cli.tables import TypedTable, batch_rows, check_output, named_in_errors, open_table
from modae.cli.talk import Talk, size
from modae.cli.training import TrainingData, front_steps, scale_ratio, set_target
from modae.cli.tuning import cross_validated, make_member
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.regressor import ModularRegressor
from modae.files.api import describe, save
from modae.files.summary import NOTES
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.sources.batches import open_batches
from modae.sources.source import ColumnSelection
from modae.utils.text import counted, percent

CHOICES = {"task": ("auto", "classify", "regress"), "scale": ("auto", "standard", "none")}

#: Ratio of two standard deviations from which on columns are standardised.
TOO_DIFFERENT = 10.0


def fit_command(options: Any, talk: Talk) -> None:
    """Read, prepare, fit, judge, save, and say all of it."""
    sizes = check_options(options)
    talk.data["command"] = "tune" if options.tune else "fit"
    table = open_table(options.data, header=not options.no_header)
    columns = choose_columns(table, options)
    with talk.stage(f"Reading {table.label}") as advance:
        found = TrainingData(table, columns, options.impute, advance)
    if options.target is not None:
        set_target(found, options.target, options.task)
    if found.n_rows < 2:
        raise UserError(f"{table.label} has one row: there is nothing to learn from it.")
    prepare(found, options, talk)
    if sizes and sizes[-1] > found.width:
        raise UserError(
            f"--components {sizes[-1]}: there are {found.width} columns; give fewer, such as a third of "
            "them."
        )
    with data_refused(table.label), warnings_noted(talk):
        model = unfitted(found, options, sizes)
        if found.y is not None and (options.tune or not options.no_check):
            model = cross_validated(model, found, options, sizes, talk)
        if not hasattr(model, "n_features_in_"):
            fit(model, found, talk)
    pipeline = Pipeline([*found.steps, ("modules" if found.y is None else "ensemble", model)])
    kept = {"rows", "score", "baseline_score", "tuned_rows", "curve"}
    notes = {key: value for key, value in talk.data.items() if key in kept}
    notes["impute"] = options.impute
    if found.y is not None:
        notes |= {"target": options.target, "task": "classify" if found.classify else "regress"}
    setattr(pipeline, NOTES, notes)
    with named_in_errors(options.out):
        save(pipeline, options.out)
    say_saved(model, found, options, talk)


def check_options(options: Any) -> list[int]:
    """Refuse what cannot work, with the remedy; the sizes of --components, none if it was not given."""
    check_output(options.out, (".modae",), (options.data,))
    sizes = [text.strip() for text in (options.components or "").split(",") if options.components]
    if not all(text.isdigit() and int(text) > 0 for text in sizes):
        raise UserError(f"--components {options.components}: give a whole number from 1 on, such as 5.")
    if len(sizes) > 1 and not options.tune:
        raise UserError(
            f"--components {options.components}: several sizes need --tune to choose from them."
        )
    if options.tune and options.diversity is not None:
        raise UserError("--diversity and --tune: --tune chooses the diversity; leave one of them out.")
    if options.tune and options.target is None:
        raise UserError(
            "--tune needs --target: diversity is chosen by how well the target is predicted."
        )
    for name, known in CHOICES.items():
        if getattr(options, name) not in known:
            raise UserError(f"--{name} {getattr(options, name)}: it must be one of {', '.join(known)}.")
    if options.target is None and (options.task != "auto" or options.estimator != "knn"):
        option = "--task" if options.task != "auto" else "--estimator"
        raise UserError(f"{option} is for predictions: name the column to predict with --target.")
    return sorted({int(text) for text in sizes})


def choose_columns(table: TypedTable, options: Any) -> ColumnSelection:
    """Features, strings and target; what cannot be used is refused by name."""
    target, features, strings = options.target, None, set()
    table.require("--drop", options.drop)
    table.find_target(target)
    if target in options.drop:
        raise UserError(f"--target {target} and --drop {target}: leave one of them out.")
    if table.kinds:
        if "" in table.kinds:
            table.notes.append("A column without a name (row numbers?) is left out.")
        features = tuple(name for name in table.kinds if name not in {target, "", *options.drop})
        strings = {name for name in features if table.kinds[name] in ("string", "date")}
        table.refuse_strings([name for name in features if not (options.encode and name in strings)])
        if target is not None and table.kinds[target] != "number":
            strings.add(target)
    if not (table.width(target) if features is None else features):
        raise UserError(f"{table.label} has no columns to learn from beside the target.")
    return ColumnSelection(features, target, strings=frozenset(strings))


def unfitted(found: TrainingData, options: Any, sizes: list[int]) -> Any:
    """The modules, or the ensemble on them, before they are tuned and fitted."""
    components = sizes[0] if sizes else max(1, min(10, found.width // 3))
    diversity = 0.5 if options.diversity is None else options.diversity
    extractor = LinearModularAutoencoder(options.modules, components, diversity)
    if found.y is None:
        return extractor.set_params(random_state=options.seed)
    member = make_member(options.estimator, found.classify)
    if options.tune and not found.classify:
        raise UserError(
            f"tuning needs classes, and {options.target!r} is a number: use fit with --diversity."
        )
    if not found.classify and found.n_rows < getattr(member, "n_neighbors", 0):
        raise UserError(
            f"--estimator {options.estimator}: a target of numbers needs at least {member.n_neighbors} "
            f"rows, and there are {found.n_rows}: add rows, or use --estimator tree."
        )
    kind: Any = ModularClassifier if found.classify else ModularRegressor
    return kind(extractor, member, n_jobs=options.jobs, random_state=options.seed)


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


@contextmanager
def warnings_noted(talk: Talk) -> Iterator[None]:
    """What libraries warn of while they fit becomes a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    talk.note(*(one_line(str(each.message)) for each in caught))


def prepare(found: TrainingData, options: Any, talk: Talk) -> None:
    """Fit the steps before the modules; say what the table is, and what becomes of its columns."""
    table, features = found.table, found.columns.features
    n_columns = table.width(options.target) if features is None else len(features)
    sizes = f"{counted(found.n_rows, 'row')}, {counted(n_columns, 'column')}"
    facts = {"data": table.label, "rows": found.n_rows, "columns": n_columns}
    talk.say("read", f"{table.label}: {sizes}.", **facts)
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
    talk.note(*table.notes)


def say_saved(model: Any, found: TrainingData, options: Any, talk: Talk) -> None:
    """What the model is, where it is, and what to type next."""
    told = describe(options.out)
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
