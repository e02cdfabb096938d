"""A model and a table: ``modae transform`` and ``modae predict`` batch by batch, ``modae report``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from modae.cli.errors import UserError, data_refused, refuse_if
from modae.cli.models import ModelFile
from modae.cli.tables import check_output, named_in_errors, open_output, open_table
from modae.cli.talk import Talk, size
from modae.cli.training import TrainingData, as_labels, count_missing, missing_targets
from modae.data.validation import take_rows
from modae.utils.text import counted, percent


def apply_command(options: Any, talk: Talk) -> None:
    """Features of every module, or predictions and how sure they are, for every row.

    Nothing is written if a batch is refused.
    """
    predicts = options.command == "predict"
    if options.out == "-" and options.as_json:
        raise UserError("-o - and --json both want standard output: write to a file.")
    check_output(options.out, (".csv", ".parquet", ".npy"), (options.data, options.model))
    model = ModelFile(options.model)
    able, remedy = hasattr(model.parts.last, "predict"), "use 'modae transform', or fit it with --target"
    refuse_if(predicts and not able, f"{options.model} predicts nothing: {remedy}.")
    table = open_table(options.data, header=not options.no_header)
    kept = list(dict.fromkeys(options.keep))
    target = model.target if predicts and model.target in table.kinds else None
    columns, notes = model.columns_in(table, keep=kept, target=target)
    n_rows, unseen, judged, names = 0, Counter[str](), [], []
    with (
        talk.stage(f"Reading {table.label}") as advance,
        data_refused(table.label),
        open_output(options.out) as write,
    ):
        for batch in table.read(columns):
            count_missing(table, batch, model.fills)
            for name, known in model.categories.items():
                values = batch.rows[name]
                unseen[name] += int((values.notna() & ~values.isin(known)).sum())
            X = model.parts.prepare(model.framed(batch.rows))
            answers = predictions(model, X) if predicts else features(model.parts.extractor, X)
            names = list(answers)
            for name in kept:
                refuse_if(name in names, f"--keep {name}: the output has this column too: rename yours.")
            write(dict(batch.kept) | answers)
            if batch.target is not None:
                judged.append((batch.target, np.asarray(answers[names[0]])))
            n_rows += len(batch)
            advance(len(batch))
        refuse_if(n_rows == 0, f"{table.label} has no rows.")
    talk.say("read", f"{table.label}, with {options.model}.", model=options.model, data=table.label)
    shown = ", ".join(names if len(names) < 8 else [*names[:3], "...", names[-1]])
    what = f", {counted(len(names), 'feature')} ({names[0]} ... {names[-1]})"
    out = "standard output" if options.out == "-" else options.out
    text = f"{out}: {counted(n_rows, 'row')}{f': {shown}' if predicts else what}."
    talk.say("written", text, output=options.out, rows=n_rows, columns=[*kept, *names])
    for name, count in (+unseen).items():
        values = counted(count, "value")
        notes.append(f"Column {name!r}: {values} that the fit never saw, taken for no category.")
    talk.note(*notes)
    if judged:
        true, told = (np.concatenate(each) for each in zip(*judged, strict=True))
        say_right(model, true, told, talk)


def features(extractor: Any, X: Any) -> dict[str, Any]:
    """The features of every module, by name."""
    names = map(str, extractor.get_feature_names_out())
    return dict(zip(names, extractor.transform(X).T, strict=True))


def predictions(model: ModelFile, X: Any) -> dict[str, Any]:
    """Prediction, probabilities, and how much the members differ."""
    ensemble = model.parts.last
    name = f"predicted_{model.target}" if model.target else "predicted"
    if not hasattr(ensemble, "classes_") and hasattr(ensemble, "predict_members"):
        return dict(zip((name, "spread"), ensemble.predict(X, return_std=True), strict=True))
    answers = {name: ensemble.predict(X)}
    if hasattr(ensemble, "predict_proba"):
        labels = [f"probability_{label}" for label in ensemble.classes_]
        answers |= dict(zip(labels, ensemble.predict_proba(X).T, strict=True))
    if hasattr(ensemble, "disagreement"):
        answers["disagreement"] = ensemble.disagreement(X)
    return answers


def say_right(model: ModelFile, true: np.ndarray, told: np.ndarray, talk: Talk) -> None:
    """Compare with the target column of the table, where it has values."""
    known = ~missing_targets(true)
    true, told = true[known], told[known]
    if not len(true):
        return
    if hasattr(model.parts.last, "classes_"):
        right = float(np.mean(right_labels(true, told)))
        text = f"{percent(right)} of {len(true):,} rows are right: the table has {model.target!r} too."
        talk.say("accuracy", text, accuracy=right)
    elif not isinstance(true[0], str):
        error = float(np.sqrt(np.mean((true.astype(np.float64) - told) ** 2)))
        text = f"off by {error:.4g} (root mean square): the table has {model.target!r} too."
        talk.say("error", text, root_mean_square_error=error)


def right_labels(true: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Where a prediction is right: numbers are compared as numbers, and strings as strings."""
    if told.dtype.kind not in "fiub":
        return np.array([str(value) for value in true]) == told.astype(str)
    import pandas as pd

    return np.asarray(pd.to_numeric(pd.Series(true), errors="coerce") == told)


def report_command(options: Any, talk: Talk) -> None:
    """A page about a model and a table, for people: read the table, measure, write the page."""
    from modae.report.api import build
    from modae.report.page import require_plotly

    check_output(options.out, (".html", ".htm"), (options.data, options.model))
    require_plotly()
    model = ModelFile(options.model)
    shape = image_shape(options.image, int(model.parts.extractor.n_features_in_))
    table = open_table(options.data, header=not options.no_header)
    target = options.target
    if target is None and model.target in {*table.kinds, *table.labels}:
        target = model.target
    columns, notes = model.columns_in(table, target=target, hint="; --target says which is the target")
    with talk.stage(f"Reading {table.label}") as advance:
        remedy = "fill it, or fit the model again with --impute"
        found = TrainingData(table, columns, model.fills, advance, remedy)
    X, y = model.framed(found.sample.rows), None
    if found.y is not None:
        y = found.y[found.sample.places]
        known = ~missing_targets(y)
        if not known.all():
            notes.append(f"{counted(int((~known).sum()), 'row')} without a target are left out.")
        X, y = take_rows(X, np.flatnonzero(known)), as_labels(y[known])
        y = (y.astype(str) if model.has_string_classes else y) if len(y) else None
    doing = "Measuring" if y is None else "Fitting again to parts of the rows"
    with talk.stage(f"{doing}, at every diversity"), data_refused(table.label):
        page = build(
            model.estimator,
            X,
            y,
            title=options.title or f"{Path(options.model).name} on {Path(table.label).name}",
            image_shape=shape,
            n_samples=options.rows,
            n_jobs=options.jobs,
            random_state=options.seed,
        )
    with named_in_errors(options.out):
        page.save(options.out)
    facts, n_bytes = page.facts, Path(options.out).stat().st_size
    talk.data |= {"model": options.model, "data": table.label}
    talk.say("read", f"{table.label}: {found.n_rows:,} rows, with {options.model}.")
    talk.note(*notes)
    for sentence in facts["summary"][2:]:
        talk.say("found", sentence)
    for number in facts["numbers"]:
        talk.say("", f"{number['value']} {number['label']}. {number['text']}")
    text = f"{options.out} ({size(n_bytes)}): open it in a browser; it needs no network."
    told = {name: facts[name] for name in ("numbers", "summary")}
    talk.say("written", text, output=options.out, bytes=n_bytes, **told)


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
