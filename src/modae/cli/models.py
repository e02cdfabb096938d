"""A model file as the commands see it: what it is fitted to, what it holds, and ONNX for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError

from modae.cli.columns import helps, refuse_columns
from modae.cli.console import Talk, UserError, one_line, refuse_if, say_modules, size
from modae.cli.seen_rows import SeenRows
from modae.cli.tables import check_is_file, check_output, find_target, open_table, reading_of, sheet_with
from modae.cli.training_data import CATEGORIES, ORDERED, TrainingData, as_labels, missing_targets
from modae.data.validation import take_rows
from modae.ensembles.parts import take_apart
from modae.files.api import describe, load
from modae.files.objects import NOTES
from modae.sources.dates import date_of
from modae.sources.source import ColumnSelection, Source
from modae.utils.text import counted, listed, nearest

#: What to do with a checkpoint.
GO_ON = "call modae.fit_stream with the same source and checkpoint, in Python."


class ModelFile:
    """A fitted model of modules and what it expects of a table.

    ``first`` is the step that meets the table, ``names`` are those of the columns it was fitted to, if
    they had any; ``fills`` says whether a step may fill missing values (ours says so, of others we do
    not know), ``categories`` are the strings of each column that our own encoder knows.
    """

    def __init__(self, path: str) -> None:
        check_is_file(path)
        self.path, self.estimator = path, load(path)
        if type(self.estimator).__name__ == "StreamCheckpoint":
            so_far = f"a fit that has not ended ({self.estimator.n_rows:,} rows so far)"
            raise UserError(f"{path} is the checkpoint of {so_far}, not a model: to go on, {GO_ON}")
        try:
            self.parts = take_apart(self.estimator)
        except NotFittedError:
            raise UserError(f"{path}: this model is not fitted: fit it, and save it again.") from None
        except TypeError as error:
            raise UserError(f"{path}: {one_line(error)}") from None
        self.first = self.parts.steps[0] if self.parts.steps else self.parts.last
        names = getattr(self.first, "feature_names_in_", None)
        self.names = None if names is None else tuple(map(str, names))
        self.named = names is not None
        notes = getattr(self.estimator, NOTES, {})
        self.notes: dict[str, Any] = notes if isinstance(notes, dict) else {}
        self.target: str | None = self.notes.get("target")
        self.seen = SeenRows.of(self.notes.get("seen"))
        self.reading: dict[str, Any] = dict(self.notes.get("reading", {}))
        if self.reading.get("dates"):
            self.reading["date_parts"] = self.names or ()
        self.fills = bool(self.notes.get("impute", isinstance(self.first, ColumnTransformer)))
        classes = getattr(self.parts.last, "classes_", None)
        self.has_string_classes = classes is not None and classes.dtype.kind in "OU"
        self.categories: dict[str, list[str]] = {}
        self.ordered: set[str] = set()
        for name, part, columns in getattr(self.first, "transformers_", []):
            if name in (CATEGORIES, ORDERED):
                (known,) = (step.categories_ for _, step in part.steps if hasattr(step, "categories_"))
                self.categories |= dict(zip(columns, map(list, known), strict=True))
                self.ordered |= set(columns if name == ORDERED else ())

    def framed(self, rows: Any) -> Any:
        """Rows of a table with names if the model was fitted to names, and without if not."""
        if self.names is None:
            return rows.to_numpy() if hasattr(rows, "columns") else rows
        import pandas as pd

        return pd.DataFrame(rows, columns=list(self.names))

    def in_file(self, name: str) -> str:
        """The column of a table that this one is, or is made of."""
        return date_of(name, self.names or ()) if self.reading.get("dates") else name

    def columns_in(
        self, table: Source, *, keep: Any = (), target: str | None = None, hint: str = ""
    ) -> tuple[ColumnSelection, list[str]]:
        """The columns of a table for this model, in its order, and remarks on the others.

        The classes decide whether the target is read as strings, not what new rows have.
        """
        _, column = find_target(table, target)
        names, notes, others = self.names, [], {self.target, target, *keep}
        if not table.kinds or names is None:
            names = tuple(name for name in table.kinds if name not in others)
            width = len(names) if table.kinds else table.width - (column is not None)
            fitted = int(self.first.n_features_in_)
            has = f"{table.origin} has {width} columns{'' if target is None else ' beside the target'}"
            has += f", and {self.path} was fitted to {fitted}{'' if self.names else ' without names'}"
            refuse_if(width != fitted, f"{has}: give the same ones in the same order{hint}.")
        if not table.kinds:
            in_order = "The columns have no names; they were taken in order."
            return ColumnSelection(target=target), [in_order] if self.names else []
        missing = [name for name in names if name not in table.kinds]
        needed, lost = ([*dict.fromkeys(map(self.in_file, each))] for each in (names, missing))
        elsewhere, add = sheet_with(table, needed)
        if missing:  # dates that cannot be read as such
            unread = [name for name in lost if name in table.kinds]
            refuse_columns(table, unread, fitted=f"{self.path} was fitted to dates there")
        lacks = f"{table.origin} lacks {listed(lost)}, which {self.path} was fitted to"
        own, known = set(names), {*names, *others, *self.notes.get("dropped", ())}
        free = [name for name in table.kinds if name not in own]
        near = [*dict.fromkeys(filter(None, (nearest(name, free) for name in lost[:5])))]
        meant = f"did you mean {listed(near)}? Rename {'it' if len(near) == 1 else 'them'}."
        bare = all(name[:6] == "column" and name[6:].isdigit() for name in names)
        remedy = f"; {meant}" if near else ": add or rename what is missing."
        remedy = (": use --no-header, as in the fit." if bare else remedy) + elsewhere
        if missing:
            raise UserError(lacks + (f": {elsewhere}" if add else remedy), add)
        ignored = [name for name in table.kinds if not {name, date_of(name, table.kinds)} & known]
        if ignored:
            notes.append(f"Not used: {listed(ignored)}.")
        if [name for name in table.kinds if name in own] != list(names):
            notes.append("The columns are in another order than in the fit; they were found by name.")
        strings = set(self.categories)
        if not strings and "impute" not in self.notes and isinstance(self.first, ColumnTransformer):
            strings = {name for name in names if table.kinds[name] == "string"}
        if table.kind == "CSV":
            strings.update(set(keep) - set(names))  # as they are written
        wrong = [name for name in names if name not in strings]
        wrong = helps(table, wrong) if table.kind == "CSV" else wrong  # others are said with their line
        refuse_columns(table, wrong, fitted=f"{self.path} was fitted to numbers there: correct it")
        if target is not None and (self.has_string_classes or table.kinds[target] != "number"):
            strings.add(target)
        return ColumnSelection(names, target, kept=tuple(keep), strings=frozenset(strings)), notes


def export_command(options: Any, talk: Talk) -> None:
    """``modae export``: write the model as ONNX; what ONNX cannot say is refused."""
    from modae.onnx.api import export_onnx

    path, out = options.model, options.out
    check_output(out, (".onnx",), (path,))
    model = ModelFile(path)
    try:
        export_onnx(model.estimator, out)
    except (TypeError, ValueError) as error:
        why = one_line(error)
        if isinstance(model.first, ColumnTransformer):
            why = "--encode and --impute need names of columns, and ONNX has none: fit it without them."
        raise UserError(f"{path} cannot be written as ONNX: {why}") from error
    n_bytes = Path(out).stat().st_size
    talk.data["model"] = path
    talk.say("written", f"{out} ({size(n_bytes)}): float32 rows in 'X'.", output=out, bytes=n_bytes)


def info_command(options: Any, talk: Talk) -> None:
    """``modae info``: class, sizes, certificate, columns, target, versions. Only the header is read."""
    path = options.model
    check_is_file(path)
    told = describe(path)
    summary = told["summary"]
    about = {name: value for name, value in told.items() if name not in ("notes", "summary")}
    talk.say("file", f"{path}, {size(told['bytes'])}.", **about)
    if told["class"] == "StreamCheckpoint":
        rows = summary.get("model", {}).get("rows")
        so_far = "" if rows is None else f", {counted(rows, 'row')} so far"
        talk.say("checkpoint", f"a fit of fit_stream that has not ended{so_far}.", rows=rows)
        talk.say("go on", GO_ON)
    elif not summary.get("fitted", True):
        raise UserError(f"{path}: this model is not fitted: fit it, and save it again.")
    else:
        say_table(summary, talk)
        say_modules(summary.get("model", {}), talk)
    libraries = ", ".join(f"{name} {version}" for name, version in told["libraries"].items())
    talk.say("written by", f"modae {told['modae']}, {libraries}.")
    rows = "yes: share it as you would share them" if told["holds_rows"] else "none"
    talk.say("rows in it", f"{rows}.")
    for note in told["notes"][told["holds_rows"] :]:
        talk.say("read with", note)
    known = bool(summary.get("notes", {}).get("fingerprint"))
    what = "yes: it knows its training rows when it sees them, and cannot list them" if known else "none"
    talk.say("fingerprint", f"{what}.", fingerprint=known)


def say_table(summary: dict[str, Any], talk: Talk) -> None:
    """Steps, columns and target, as far as the header tells."""
    notes = summary.get("notes", {})
    steps = [f"{name} ({kind})" for name, kind in summary.get("steps", [])]
    talk.say("steps", f"{', then '.join(steps)}.", steps=steps)
    n_features, names = summary.get("n_features"), summary.get("feature_names")
    shown = "without names" if names is None else listed(names)
    fitted = f", fitted to {counted(notes['rows'], 'row')}" if "rows" in notes else ""
    talk.say("columns", f"{n_features:,}: {shown}{fitted}.", columns=n_features, names=names)
    if not summary.get("predicts"):
        talk.say("target", "none: it gives features only.", target=None)
        return
    target, classes = notes.get("target"), summary.get("classes")
    kind = "a number" if classes is None else f"{counted(len(classes), 'class')}: {listed(classes)}"
    talk.say("target", f"{target or 'without a name'}, {kind}.", target=target, classes=classes)
    if "verdict" in notes:
        talk.say("verdict", f"{notes['verdict']} (When it was fitted.)", verdict=notes["verdict"])


def report_command(options: Any, talk: Talk) -> None:
    """A page about a model and a table, for people: read the table, measure, write the page."""
    from modae.report.api import build

    check_output(options.out, (".html", ".htm"), (options.data, options.model))
    model = ModelFile(options.model)
    shape = image_shape(options.image, int(model.parts.extractor.n_features_in_))
    table = open_table(options.data, reading_of(options, model.reading), fitted=model.named)
    target = options.target
    there = {*table.kinds, *table.labels}
    other = model.target in there and target in there - {model.target}
    own = f"{model.path} predicts {model.target!r}, which {table.origin} has"
    refuse_if(other, f"--target {target}: {own}: leave --target out.")
    if target is None and model.target in there:
        target = model.target
    columns, notes = model.columns_in(table, target=target, hint="; --target says which is the target")
    if model.target is not None and target is None:
        none = f"{table.origin} has no column {model.target!r}, so nothing is said of errors"
        notes.append(f"{none}: if it has another name there, use --target.")
    with talk.stage(f"Reading {table.origin}") as advance:
        remedy = "fill it, or fit the model again with --impute"
        look = None if model.seen is None else model.seen.look_for
        found = TrainingData(table, columns, model.fills, advance, remedy, look)
    X, y = model.framed(found.sample.rows), None
    if found.y is not None:
        y = found.y[found.sample.places]
        known = ~missing_targets(y)
        if not known.all():
            notes.append(f"{counted(int((~known).sum()), 'row')} without a target are left out.")
        X, y = take_rows(X, np.flatnonzero(known)), as_labels(y[known])
        y = (y.astype(str) if model.has_string_classes else y) if len(y) else None
    doing = "Measuring" if y is None else "Fitting again to parts of the rows"
    has_path = hasattr(model.parts.extractor, "path")
    with talk.stage(f"{doing}, at every diversity" if has_path else doing):
        page = build(
            model.estimator,
            X,
            y,
            title=options.title or f"{Path(options.model).name} on {Path(table.origin).name}",
            image_shape=shape,
            rows=None if model.seen is None else model.seen.kind,
            n_samples=options.rows,
            n_jobs=options.jobs,
            random_state=options.seed,
        )
    page.save(options.out)
    facts, n_bytes = page.facts, Path(options.out).stat().st_size
    talk.data |= {"model": options.model, "data": table.origin}
    talk.say("read", f"{table.origin}: {found.n_rows:,} rows, with {options.model}.")
    talk.note(*notes)
    if facts["verdict"]:
        talk.say("verdict", facts["verdict"], first=True)
    numbers = [_sentences(each) for each in facts["numbers"] if each["label"] != "rows"]
    said = [*facts["summary"][2:], *numbers]
    if facts["verdict"]:  # it has said the first number
        said = [*facts["summary"][3:], facts["numbers"][0]["text"], *numbers[1:]]
    for place, sentence in enumerate(filter(None, said)):
        talk.say("" if place else "found", sentence)
    text = f"{options.out} ({size(n_bytes)}): open it in a browser; it needs no network."
    told = {name: facts[name] for name in ("numbers", "summary", "verdict")}
    talk.say("written", text, output=options.out, bytes=n_bytes, **told)


def _sentences(number: dict[str, str]) -> str:
    """What a key figure of a page is."""
    label = f"{number['label']}," if "," in number["label"] else number["label"]
    return f"The {label} is {number['value']}. {number['text']}".strip()


def image_shape(typed: str, n_columns: int) -> Any:
    """``auto``, ``none``, or a height and a width such as ``28x28``."""
    if typed in ("auto", "none"):
        return "auto" if typed == "auto" else None
    sides = typed.lower().split("x")
    whole = len(sides) == 2 and all(side.isdecimal() and int(side) for side in sides)
    refuse_if(not whole, f"--image {typed}: it must be auto, none, or a size such as 28x28.")
    height, width = map(int, sides)
    wrong = height * width != n_columns
    refuse_if(wrong, f"--image {typed}: the modules see {n_columns} columns, and not the product.")
    return height, width
