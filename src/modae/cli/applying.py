"""``modae transform`` and ``modae predict``: a model and a table, batch by batch, to another table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from modae.cli.errors import UserError, data_refused
from modae.cli.models import ModelFile, load_model
from modae.cli.tables import TypedTable, check_output, open_output, open_table
from modae.cli.talk import CommandReport, Talk
from modae.cli.training import count_missing, missing_targets
from modae.sources.source import ColumnSelection
from modae.utils.text import counted, percent

Answers = Callable[[Any, Any], dict[str, Any]]
"""(prepared rows, targets or None) -> columns to write."""


def transform_command(options: Any, talk: Talk) -> CommandReport:
    """Features of every module, for every row."""
    model, table, columns, report = opened(options, "transform")
    extractor = model.parts.extractor
    names = [str(name) for name in extractor.get_feature_names_out()]

    def features(X: Any, y: Any) -> dict[str, Any]:
        return dict(zip(names, extractor.transform(X).T, strict=True))

    n_rows = write_answers(options, talk, model, table, columns, features, report)
    text = f"{counted(n_rows, 'row')}, {counted(len(names), 'feature')} ({names[0]} ... {names[-1]})"
    say_written(options, report, text, n_rows, names)
    return report


def predict_command(options: Any, talk: Talk) -> CommandReport:
    """The predicted target for every row, and how sure the ensemble is."""
    model, table, columns, report = opened(options, "predict")
    ensemble, target = model.parts.last, model.target
    if not hasattr(ensemble, "predict"):
        raise UserError(
            f"{options.model} predicts nothing: it was fitted without --target. Use 'modae transform', "
            "or fit it again with --target."
        )
    if target is not None and target in (table.names or ()):
        strings = {target} if model.reads_target_as_strings(table, target) else set()
        columns = replace(columns, target=target, strings=columns.strings | strings)
    name = f"predicted_{target}" if target else "predicted"
    written: list[str] = []
    judged: list[tuple[np.ndarray, np.ndarray]] = []

    def predictions(X: Any, y: Any) -> dict[str, Any]:
        """Prediction, probabilities, and how much the members differ."""
        answers: dict[str, Any] = {}
        if hasattr(ensemble, "classes_"):
            answers[name] = ensemble.predict(X)
            if hasattr(ensemble, "predict_proba"):
                shares = ensemble.predict_proba(X).T
                labels = [f"probability_{label}" for label in ensemble.classes_]
                answers |= dict(zip(labels, shares, strict=True))
            if hasattr(ensemble, "disagreement"):
                answers["disagreement"] = ensemble.disagreement(X)
        elif hasattr(ensemble, "predict_members"):
            answers[name], answers["spread"] = ensemble.predict(X, return_std=True)
        else:
            answers[name] = ensemble.predict(X)
        written[:] = answers
        if y is not None:
            judged.append((y, np.asarray(answers[name])))
        return answers

    n_rows = write_answers(options, talk, model, table, columns, predictions, report)
    shown = written if len(written) < 8 else [*written[:3], "...", written[-1]]
    say_written(options, report, f"{counted(n_rows, 'row')}: {', '.join(shown)}", n_rows, written)
    say_right(model, judged, report)
    return report


def opened(options: Any, command: str) -> tuple[ModelFile, TypedTable, ColumnSelection, CommandReport]:
    """Model and table, and what of the table to read."""
    if options.out == "-" and options.as_json:
        raise UserError("-o - and --json both want standard output: write to a file.")
    check_output(options.out, (".csv", ".parquet", ".npy"), (options.data, options.model))
    model = load_model(options.model)
    table = open_table(options.data, header=not options.no_header)
    columns, notes = model.columns_in(table, keep=tuple(dict.fromkeys(options.keep or ())))
    report = CommandReport(data={"command": command, "model": options.model, "data": table.label})
    for note in notes:
        report.note(note)
    return model, table, columns, report


def write_answers(
    options: Any,
    talk: Talk,
    model: ModelFile,
    table: TypedTable,
    columns: ColumnSelection,
    answers: Answers,
    report: CommandReport,
) -> int:
    """All batches through the model; nothing is written if one of them is refused."""
    n_rows, unseen, categories = 0, Counter[str](), model.categories
    with (
        talk.stage(f"Reading {table.label}") as advance,
        data_refused(table.label),
        open_output(options.out) as write,
    ):
        for batch in table.read(columns):
            count_missing(table, batch, model.fills)
            for name, known in categories.items():
                values = batch.rows[name]
                unseen[name] += int((values.notna() & ~values.isin(known)).sum())
            told = answers(model.parts.prepare(model.framed(batch.rows)), batch.target)
            twice = [name for name in batch.kept if name in told]
            if twice:
                raise UserError(
                    f"--keep {twice[0]}: the output has a column of this name too: rename yours."
                )
            write(dict(batch.kept) | told)
            n_rows += batch.rows.shape[0]
            advance(batch.rows.shape[0])
        if n_rows == 0:
            raise UserError(f"{table.label} has no rows.")
    for name, count in unseen.items():
        if count:
            values = counted(count, "value")
            report.note(f"Column {name!r}: {values} that the fit never saw, taken for no category.")
    return n_rows


def say_written(options: Any, report: CommandReport, text: str, n_rows: int, names: list[str]) -> None:
    """What was read and where the output is, before any notes."""
    out = "standard output" if options.out == "-" else options.out
    report.lines.insert(0, ("read", f"{report.data['data']}, with {options.model}."))
    report.lines.insert(1, ("written", f"{out}: {text}."))
    kept = list(dict.fromkeys(options.keep or ()))
    report.data.update(output=options.out, rows=n_rows, columns=[*kept, *names])


def say_right(
    model: ModelFile, judged: list[tuple[np.ndarray, np.ndarray]], report: CommandReport
) -> None:
    """Compare with the target column of the table, if it has one."""
    if not judged:
        return
    true, told = (np.concatenate(each) for each in zip(*judged, strict=True))
    known = ~missing_targets(true)
    true, told = true[known], told[known]
    if not len(true):
        return
    if hasattr(model.parts.last, "classes_"):
        right = float(np.mean(right_labels(true, told)))
        text = f"{percent(right)} of {len(true):,} rows are right: the table has {model.target!r} too."
        report.say("accuracy", text, accuracy=right)
    elif not any(isinstance(value, str) for value in true[:1]):
        error = float(np.sqrt(np.mean((true.astype(np.float64) - told) ** 2)))
        text = f"off by {error:.4g} (root mean square): the table has {model.target!r} too."
        report.say("error", text, root_mean_square_error=error)


def right_labels(true: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Where a prediction is right: numbers are compared as numbers, and strings as strings."""
    if told.dtype.kind not in "fiub":
        return np.array([str(value) for value in true]) == told.astype(str)
    return np.array([_number(value) for value in true.tolist()], dtype=object) == told


def _number(value: object) -> object:
    """A number, if it can be read as one; whole ones stay whole, however large."""
    for kind in (int, float):
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            continue
    return value
