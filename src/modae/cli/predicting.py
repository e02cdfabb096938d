"""``modae transform`` and ``modae predict``: features or predictions for every row, batch by batch."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from modae.cli.console import Talk, refuse_if
from modae.cli.models import ModelFile
from modae.cli.tables import check_output, open_output, open_table, read_rows, reading_of
from modae.cli.training_data import count_missing, missing_targets
from modae.utils.text import counted, percent


def apply_command(options: Any, talk: Talk) -> None:
    """Features of every module, or predictions and how sure they are, for every row.

    Nothing is written if a batch is refused.
    """
    predicts = options.command == "predict"
    both = options.out == "-" and options.as_json
    refuse_if(both, "-o - and --json both want standard output: write to a file.")
    check_output(options.out, (".csv", ".parquet", ".npy"), (options.data, options.model))
    model = ModelFile(options.model)
    able, remedy = hasattr(model.parts.last, "predict"), "use 'modae transform', or fit it with --target"
    refuse_if(predicts and not able, f"{options.model} predicts nothing: {remedy}.")
    kept = list(dict.fromkeys(options.keep))
    table = open_table(options.data, reading_of(options, model.reading), keep=kept)
    target = model.target if predicts and model.target in table.kinds else None
    columns, notes = model.columns_in(table, keep=kept, target=target)
    n_rows, unseen, judged, names = 0, Counter[str](), [], []
    n_answers = 0 if predicts else len(model.parts.extractor.get_feature_names_out())
    with talk.stage(f"Reading {table.origin}") as advance, open_output(options.out) as write:
        for batch in read_rows(table, columns, n_answers):
            count_missing(table, batch, model.fills)
            for name, known in model.categories.items():
                values = batch.rows[name]
                unseen[name] += int((values.notna() & ~values.isin(known)).sum())
            X = model.parts.prepare(model.framed(batch.rows))
            answers = predictions(model, X) if predicts else features(model.parts.extractor, X)
            names = list(answers)
            for name in kept:
                refuse_if(name in names, f"--keep {name}: the output has this column too: rename yours.")
            write({name: batch.kept[name] for name in kept} | answers)
            if batch.target is not None:
                judged.append((batch.target, np.asarray(answers[names[0]])))
            n_rows += len(batch)
            advance(len(batch))
        refuse_if(n_rows == 0, f"{table.origin} has no rows.")
    talk.say("read", f"{table.origin}, with {options.model}.", model=options.model, data=table.origin)
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
