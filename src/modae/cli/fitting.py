"""``modae fit`` and ``modae tune``: from a table to a model file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from sklearn.pipeline import Pipeline

from modae.cli.errors import Mistake, data_refused
from modae.cli.judging import best_plain_pca, cross_validated, make_splits
from modae.cli.models import NOTES
from modae.cli.opening import open_table
from modae.cli.options import FitOptions, check_options, choose_columns
from modae.cli.output import named_in_errors
from modae.cli.problem import Problem, one_size
from modae.cli.steps import front_steps, make_member
from modae.cli.survey import Scales, Survey, survey
from modae.cli.talk import Report, Talk, size
from modae.cli.targets import make_target
from modae.cli.tuning import tune
from modae.cli.wording import certificate, certificate_text, sizes_text
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.regressor import ModularRegressor
from modae.files.api import describe, save
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.utils.text import counted, percent

JUDGED_ROWS = 5000
"""Rows on which a fit is cross-validated: enough for a percent, and quick."""


def fit_command(options: FitOptions, talk: Talk) -> Report:
    """Read, prepare, fit, judge, save, and say all of it."""
    check_options(options)
    report = Report(data={"command": "tune" if options.tune else "fit"})
    problem = _prepare(options, talk, report)
    with data_refused(problem.found.table.label), _warnings_noted(report):
        model = _fitted_modules(problem) if problem.target is None else _fitted_ensemble(problem)
    _describe_modules(model, report)
    pipeline = Pipeline([*problem.front, ("modules" if problem.target is None else "ensemble", model)])
    setattr(pipeline, NOTES, _notes(problem))
    with named_in_errors(options.out):
        save(pipeline, options.out)
    _say_saved(problem, report)
    return report


def _prepare(options: FitOptions, talk: Talk, report: Report) -> Problem:
    table = open_table(options.data, header=options.header, target=options.target)
    wanted = choose_columns(table, options)
    with talk.stage(f"Reading {table.label}") as advance:
        found = survey(table, wanted, options.impute, advance)
    target = None
    if options.target is not None:
        target = make_target(table, options.target, found.targets, options.task)
    if found.n_rows < 2:
        raise Mistake(f"{table.label} has one row: there is nothing to learn from it.")
    front = front_steps(found, _say_scale(options, found, report))
    problem = Problem(options, found, front, target, talk, report)
    _say_read(problem, report)
    return problem


def _say_scale(options: FitOptions, found: Survey, report: Report) -> bool:
    """Whether to standardise, and why."""
    scales = Scales.of(found.scaler)
    scale = options.scale == "standard" or (options.scale == "auto" and scales.differ)
    report.data.update(scaled=scale, scale_ratio=scales.ratio)
    if options.scale != "auto":
        why = "as asked" if scale else "as asked; columns count by their variance"
    elif not scales.largest:
        why = "the columns do not vary"
    else:
        why = f"the deviations of the columns differ {scales.ratio:,.0f}-fold"
        why += f" ({scales.smallest}, {scales.largest})" if scale else ""
    report.lines.append(("scaled", f"{'yes' if scale else 'no'}: {why}."))
    return scale


def _say_read(problem: Problem, report: Report) -> None:
    found, target = problem.found, problem.target
    text = f"{counted(found.n_rows, 'row')}, {counted(found.table.width(found.wanted), 'column')}"
    report.lines.insert(0, ("read", f"{found.table.label}: {text}."))
    report.data.update(
        data=found.table.label, rows=found.n_rows, columns=found.table.width(found.wanted)
    )
    if target is not None:
        report.lines.insert(1, ("target", f"{target}."))
        report.data["target"] = target.name
        report.data["classes"] = target.counts if target.classify else None
    if found.wanted.words:
        width, n_words = problem.width, len(found.wanted.words)
        report.say(
            "encoded", f"{counted(n_words, 'column')} of words; {width} columns now.", width=width
        )
    for name, words in found.categories.items():
        if len(words) == found.n_rows:
            report.note(f"Column {name!r} has another word in every row: if it is an id, --drop it.")
    if found.impute:
        missing = found.n_missing
        report.say("imputed", f"{counted(missing, 'missing value')}, by the median.", imputed=missing)
    for note in found.table.notes:
        report.note(note)


def _fitted_modules(problem: Problem) -> LinearModularAutoencoder:
    options, width = problem.options, problem.width
    diversity = 0.5 if options.diversity is None else options.diversity
    model = LinearModularAutoencoder(
        options.modules, one_size(options, width), diversity, random_state=options.seed
    )
    with problem.all_rows(passes=1) as rows:
        return model.fit(rows)


def _fitted_ensemble(problem: Problem) -> Any:
    options, target = problem.options, problem.target
    assert target is not None
    member = make_member(options.estimator, target.classify)
    n_rows = problem.found.n_rows
    if not target.classify and n_rows < getattr(member, "n_neighbors", 0):
        raise Mistake(
            f"--estimator {options.estimator}: a target of numbers needs at least {member.n_neighbors} "
            f"rows, and there are {n_rows}: add rows, or use --estimator tree."
        )
    if options.tune:
        model = tune(problem, member)
    else:
        diversity = 0.5 if options.diversity is None else options.diversity
        extractor = LinearModularAutoencoder(
            options.modules, one_size(options, problem.width), diversity
        )
        kind: Any = ModularClassifier if target.classify else ModularRegressor
        model = kind(extractor, member, n_jobs=options.jobs, random_state=options.seed)
        if options.check:
            _judge(problem, model, member)
    with problem.all_rows(passes=2) as rows:
        return model.fit(rows, target.values)


def _judge(problem: Problem, model: Any, member: Any) -> None:
    """Cross-validate the ensemble and plain PCA on the same folds."""
    rows, target = problem.some_rows(JUDGED_ROWS)
    assert target is not None
    splits = make_splits(target.values, target.classify, problem.options.seed)
    if splits is None:
        why = "a class has one row only" if target.classify else "there are too few rows"
        problem.report.note(f"Not cross-validated: {why}.")
        return
    with problem.talk.stage("Cross-validating"):
        ours = cross_validated(model, rows, target, splits)
        components, plain = best_plain_pca([model.extractor.n_components], member, rows, target, splits)
    word = "accuracy" if target.classify else "fit"
    problem.report.say(
        word,
        f"{ours} in {splits.get_n_splits()} folds; plain PCA to {components} components and one "
        f"{problem.options.estimator}: {plain}.",
        score=ours.mean,
        baseline_score=plain.mean,
    )


def _describe_modules(model: Any, report: Report) -> None:
    extractor = getattr(model, "extractor_", model)
    report.lines.append(("model", sizes_text(model)))
    report.say("certificate", certificate_text(extractor), **certificate(extractor))
    if extractor is model:
        explained = extractor.explained_variance_ratio_of_mean_
        report.say("explains", f"{percent(explained)} of the variance.", explained=explained)


@contextmanager
def _warnings_noted(report: Report) -> Iterator[None]:
    """What libraries warn of while they fit becomes a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(" ".join(str(each.message).split()) for each in caught):
        report.note(text)


def _notes(problem: Problem) -> dict[str, Any]:
    kept = ("rows", "score", "baseline_score", "tuned_rows", "curve")
    notes = {key: problem.report.data[key] for key in kept if key in problem.report.data}
    notes["impute"] = problem.options.impute
    if problem.target is not None:
        notes |= {
            "target": problem.target.name,
            "task": "classify" if problem.target.classify else "regress",
        }
    return notes


def _say_saved(problem: Problem, report: Report) -> None:
    out = problem.options.out
    rows = "; it holds rows of the training data" if describe(out)["holds_rows"] else ""
    n_bytes = Path(out).stat().st_size
    report.say(
        "saved", f"{out} ({size(n_bytes)}){rows}.", model=out, bytes=n_bytes, holds_rows=bool(rows)
    )
    same = "".join(f" --{flag}" for flag in ("encode", "impute") if getattr(problem.options, flag))
    same += "".join(f" --drop {quote(name)}" for name in problem.options.drop)
    out, data = quote(out), quote(problem.options.data)
    report.next(f"modae transform {out} NEW.csv -o features.parquet")
    if problem.target is not None:
        report.next(f"modae predict {out} NEW.csv -o predictions.csv")
        if not problem.options.tune and problem.target.classify:
            report.next(f"modae tune {data} --target {quote(problem.target.name)} -o {out}{same}")
    if problem.options.data != "-":
        report.next(f"modae report {out} {data} -o report.html")
