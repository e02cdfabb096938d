"""``modae transform`` and ``modae predict``: a model and a table, batch by batch, to another table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from modae.cli.errors import Mistake, data_refused
from modae.cli.models import Model, load_model, match_columns
from modae.cli.opening import open_table
from modae.cli.output import TABLES, check_output, open_output
from modae.cli.tables import NUMBER, Batch, Table, Wanted
from modae.cli.talk import Report, Talk
from modae.cli.targets import missing_targets, right_labels
from modae.utils.text import counted, percent

Columns = dict[str, Any]


@dataclass(frozen=True)
class ApplyOptions:
    """The options of ``modae transform`` and ``modae predict``."""

    model: str
    data: str
    out: str
    keep: tuple[str, ...] = ()
    header: bool = True


def transform_command(options: ApplyOptions, talk: Talk) -> Report:
    """Features of every module, for every row."""
    model, table, wanted, report = _opened(options, "transform")
    extractor = model.extractor
    if not hasattr(extractor, "transform"):
        raise Mistake(f"{options.model}: {type(extractor).__name__} has no features to give.")
    names = [str(name) for name in extractor.get_feature_names_out()]

    def columns_of(batch: Batch) -> Columns:
        return dict(zip(names, extractor.transform(model.prepared(batch.rows)).T, strict=True))

    n_rows = _write_all(options, talk, table, wanted, columns_of, model, report)
    text = f"{counted(n_rows, 'row')}, {counted(len(names), 'feature')} ({names[0]} ... {names[-1]})"
    _say_written(options, report, text, n_rows, [*options.keep, *names])
    return report


def predict_command(options: ApplyOptions, talk: Talk) -> Report:
    """The predicted target for every row, and how sure the ensemble is."""
    model, table, wanted, report = _opened(options, "predict")
    if not hasattr(model.last, "predict"):
        raise Mistake(
            f"{options.model} predicts nothing: it was fitted without --target. Use 'modae transform', "
            "or fit it again with --target."
        )
    if model.target is not None and table.names is not None and model.target in table.names:
        wanted = replace(wanted, target=model.target, target_words=has_words(model, table, model.target))
    answers = Answers(model, f"predicted_{model.target}" if model.target else "predicted")
    n_rows = _write_all(options, talk, table, wanted, answers.columns_of, model, report)
    shown = answers.names if len(answers.names) < 8 else [*answers.names[:3], "...", answers.names[-1]]
    text = f"{counted(n_rows, 'row')}: {', '.join(shown)}"
    _say_written(options, report, text, n_rows, [*options.keep, *answers.names])
    answers.judge(report)
    return report


@dataclass(eq=False)
class Answers:
    """What a model says of each batch; and, where the truth is known, how often it is right."""

    model: Model
    name: str
    names: list[str] = field(default_factory=list)
    _told: list[np.ndarray] = field(default_factory=list)
    _true: list[np.ndarray] = field(default_factory=list)

    def columns_of(self, batch: Batch) -> Columns:
        """Prediction, probabilities, and how much the members differ."""
        rows, last = self.model.prepared(batch.rows), self.model.last
        columns = self._classes(rows) if hasattr(last, "classes_") else self._numbers(rows)
        self.names = list(columns)
        if batch.target is not None:
            self._told.append(np.asarray(columns[self.name]))
            self._true.append(batch.target)
        return columns

    def _classes(self, rows: Any) -> Columns:
        last = self.model.last
        columns: Columns = {self.name: last.predict(rows)}
        if hasattr(last, "predict_proba"):
            for label, values in zip(last.classes_, last.predict_proba(rows).T, strict=True):
                columns[f"probability_{label}"] = values
        if hasattr(last, "disagreement"):
            columns["disagreement"] = last.disagreement(rows)
        return columns

    def _numbers(self, rows: Any) -> Columns:
        last = self.model.last
        if not hasattr(last, "predict_members"):
            return {self.name: last.predict(rows)}
        prediction, spread = last.predict(rows, return_std=True)
        return {self.name: prediction, "spread": spread}

    def judge(self, report: Report) -> None:
        """Compare with the target column of the table, if it has one."""
        if not self._true:
            return
        true, told = np.concatenate(self._true), np.concatenate(self._told)
        known = ~missing_targets(true)
        true, told = true[known], told[known]
        if not len(true):
            return
        target = self.model.target
        if hasattr(self.model.last, "classes_"):
            right = float(np.mean(right_labels(true, told)))
            text = f"{percent(right)} of {len(true):,} rows are right: the table has {target!r} too."
            report.say("accuracy", text, accuracy=right)
        elif true.dtype.kind in "fiub":
            error = float(np.sqrt(np.mean((true - told) ** 2)))
            text = f"off by {error:.4g} (root mean square): the table has {target!r} too."
            report.say("error", text, root_mean_square_error=error)


def has_words(model: Model, table: Table, target: str) -> bool | None:
    """Whether the target is read as words: the classes of the model decide, not what new rows have."""
    if not hasattr(model.last, "classes_"):
        return None
    return np.asarray(model.last.classes_).dtype.kind in "OU" or table.kinds[target] != NUMBER


def _opened(options: ApplyOptions, command: str) -> tuple[Model, Table, Wanted, Report]:
    """Model and table, and what of the table to read."""
    check_output(options.out, TABLES, (options.data, options.model))
    model = load_model(options.model)
    table = open_table(options.data, header=options.header)
    wanted, notes = match_columns(model, table, options.keep)
    report = Report(data={"command": command, "model": options.model, "data": table.label})
    for note in notes:
        report.note(note)
    return model, table, wanted, report


def _write_all(
    options: ApplyOptions,
    talk: Talk,
    table: Table,
    wanted: Wanted,
    columns_of: Callable[[Batch], Columns],
    model: Model,
    report: Report,
) -> int:
    """All batches through the model; nothing is written if one of them is refused."""
    n_rows, unseen = 0, Counter[str]()
    with talk.stage(f"Reading {table.label}") as advance, open_output(options.out) as write:
        for batch in table.batches(wanted):
            _check_finite(table, batch, model.fills)
            unseen.update(model.unseen(batch.rows))
            with data_refused(table.label):
                columns = columns_of(batch)
            kept = {} if batch.kept is None else dict(zip(wanted.keep, batch.kept.columns, strict=True))
            _check_names_differ(kept, columns)
            write(kept | columns)
            n_rows += batch.rows.shape[0]
            advance(batch.rows.shape[0])
        if n_rows == 0:
            raise Mistake(f"{table.label} has no rows.")
    for name, count in unseen.items():
        words = counted(count, "value")
        report.note(f"Column {name!r}: {words} that the fit never saw, taken for none of its words.")
    return n_rows


def _check_names_differ(kept: Columns, columns: Columns) -> None:
    both = [name for name in kept if name in columns]
    if both:
        raise Mistake(f"--keep {both[0]}: the output has a column of this name too: rename yours.")


def _check_finite(table: Table, batch: Batch, fills: bool) -> None:
    """Missing values may be for the model to fill; infinite ones nobody can use."""
    if not hasattr(batch.rows, "select_dtypes"):
        return  # without names and lines there is no better message than that of the estimator
    numbers = batch.rows.select_dtypes("number")
    for name in [] if fills else [name for name in batch.rows if name not in numbers]:
        missing = batch.rows[name].isna().to_numpy()
        if missing.any():
            place = table.place(batch.start + int(missing.argmax()))
            raise Mistake(f"{table.label}: column {name!r} has no value in {place}: correct it.")
    values = numbers.to_numpy()
    bad = np.isinf(values) if fills else ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        what = "is infinite" if np.isinf(values[row, column]) else "has no value"
        place = table.place(batch.start + int(row))
        raise Mistake(
            f"{table.label}: column {numbers.columns[column]!r} {what} in {place}: correct it."
        )


def _say_written(
    options: ApplyOptions, report: Report, text: str, n_rows: int, columns: list[str]
) -> None:
    out = "standard output" if options.out == "-" else options.out
    report.lines.insert(0, ("read", f"{report.data['data']}, with {options.model}."))
    report.lines.insert(1, ("written", f"{out}: {text}."))
    report.data.update(output=options.out, rows=n_rows, columns=columns)


COMMANDS = {"transform": transform_command, "predict": predict_command}
