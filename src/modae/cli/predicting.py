"""``modae transform`` and ``modae predict``: features or predictions for every row, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from modae.cli.columns import read_rows
from modae.cli.console import Talk, refuse_if
from modae.cli.models import ModelFile
from modae.cli.tables import check_output, open_output, open_table, reading_of
from modae.cli.training_data import count_missing, missing_targets
from modae.ensembles.outliers import ModularOutlierDetector
from modae.ensembles.search import error_and_r2
from modae.utils.text import counted, percent, r2_text

#: Rows of a table that new ones are compared to: a nearest row is looked for among all of them.
USUAL_ROWS = 20_000


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
    check_doubts(options, model)
    kept = list(dict.fromkeys(options.keep))
    table = open_table(options.data, reading_of(options, model.reading), fitted=model.named, keep=kept)
    target = model.target if predicts and model.target in table.kinds else None
    columns, notes = model.columns_in(table, keep=kept, target=target)
    detector = None if options.novelty is None else detector_of(model, options, talk)
    n_rows, unseen, judged, names = 0, Counter[str](), [], []
    n_answers = 0 if predicts else len(model.parts.extractor.get_feature_names_out())
    with talk.stage(f"Reading {table.origin}") as advance, open_output(options.out) as write:
        for batch in read_rows(table, columns, n_answers):
            count_missing(table, batch, model.fills)
            for name, known in model.categories.items():
                values = batch.rows[name]
                unseen[name] += int((values.notna() & ~values.isin(known)).sum())
            if predicts and model.seen is not None:
                model.seen.look_for(batch.rows)
            X = model.parts.prepare(model.framed(batch.rows))
            answers = predictions(model, X, options) if predicts else features(model.parts.extractor, X)
            if detector is not None:
                answers["novelty_p_value"] = detector.p_values(as_numbers(X))
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
        values, taken = counted(count, "value"), "the median" if name in model.ordered else "no category"
        notes.append(f"Column {name!r}: {values} that the fit never saw, taken for {taken}.")
    if predicts and options.uncertainty and is_alone(model.parts.last):
        notes.append("One learner has no members that could differ: its 'uncertainty' has no parts.")
    talk.note(*notes)
    if judged:
        true, told = (np.concatenate(each) for each in zip(*judged, strict=True))
        say_right(model, true, told, talk)


def features(extractor: Any, X: Any) -> dict[str, Any]:
    """The features of every module, by name."""
    names = map(str, extractor.get_feature_names_out())
    return dict(zip(names, extractor.transform(X).T, strict=True))


def predictions(model: ModelFile, X: Any, options: Any) -> dict[str, Any]:
    """Prediction, probabilities, how much the members differ, and the doubts that were asked for."""
    ensemble, answers = model.parts.last, dict[str, Any]()
    labels = getattr(ensemble, "classes_", None)
    name = f"predicted_{model.target}" if model.target else "predicted"

    def add(names: Iterable[str], columns: Any) -> None:
        answers.update(zip(names, columns, strict=True))

    if labels is None and hasattr(ensemble, "predict_members") and not is_alone(ensemble):
        add((name, "spread"), ensemble.predict(X, return_std=True))
    else:
        answers[name] = ensemble.predict(X)
    if labels is not None and hasattr(ensemble, "predict_proba"):
        add((f"probability_{label}" for label in labels), ensemble.predict_proba(X).T)
    if labels is not None and hasattr(ensemble, "disagreement") and not is_alone(ensemble):
        answers["disagreement"] = ensemble.disagreement(X)
    if options.uncertainty:
        names = ("uncertainty", "aleatoric", "epistemic")[: 1 if is_alone(ensemble) else 3]
        add(names, ensemble.uncertainty(X).T[: len(names)])
    if options.coverage is not None and labels is not None:
        sets = ensemble.predict_set(X, options.coverage).astype(np.int64)
        add((f"in_set_{label}" for label in labels), sets.T)
    elif options.coverage is not None:
        add(("low", "high"), ensemble.predict_interval(X, options.coverage).T)
    return answers


def is_alone(ensemble: Any) -> bool:
    """Whether it has one member: then none can differ, and a 0 for that would look like certainty."""
    return len(getattr(ensemble, "estimators_", ())) == 1


def check_doubts(options: Any, model: ModelFile) -> None:
    """Refuse what this model cannot tell, with the remedy."""
    ensemble = model.parts.last
    votes = hasattr(ensemble, "predict_proba_members") and hasattr(ensemble, "uncertainty")
    other = f"and {options.model} is none"
    other += "" if is_alone(ensemble) else "; for numbers, see the column 'spread'"
    refuse_if(options.uncertainty and not votes, f"--uncertainty is for votes, {other}.")
    able = hasattr(ensemble, "held_out_") or hasattr(ensemble, "calibration_")
    none = f"--coverage needs rows held out of the fit, and {options.model} has none"
    refuse_if(options.coverage is not None and not able, f"{none}: fit it with --calibrate 0.25.")


def as_numbers(X: Any) -> np.ndarray:
    """Rows after the steps of a model, without names."""
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)


def detector_of(model: ModelFile, options: Any, talk: Talk) -> ModularOutlierDetector:
    """What tells whether a row is like those of a table: the first rows of it, after the same steps."""
    table = open_table(options.novelty, reading_of(options, model.reading), fitted=model.named)
    columns, _ = model.columns_in(table, target=model.target if model.target in table.kinds else None)
    known: list[np.ndarray] = []
    with talk.stage(f"Reading {table.origin}"):
        for batch in read_rows(table, columns, 0):
            count_missing(table, batch, model.fills)
            known.append(as_numbers(model.parts.prepare(model.framed(batch.rows))))
            if sum(map(len, known)) >= USUAL_ROWS:
                talk.note(f"{table.origin}: others are compared to the first {USUAL_ROWS:,} rows.")
                break
        rows = np.concatenate(known)[:USUAL_ROWS] if known else np.empty((0, 0))
        refuse_if(len(rows) < 2, f"--novelty {options.novelty} needs at least 2 rows, got {len(rows)}.")
        # The same rows give the same columns, whatever the seed of the model was.
        return ModularOutlierDetector(random_state=0).fit(rows)


def say_right(model: ModelFile, true: np.ndarray, told: np.ndarray, talk: Talk) -> None:
    """Compare with the target column of the table, where it has values."""
    known = ~missing_targets(true)
    true, told = true[known], told[known]
    if not len(true):
        return
    if hasattr(model.parts.last, "classes_"):
        right = float(np.mean(right_labels(true, told)))
        text = f"{percent(right)} of {len(true):,} rows are right: the table has {model.target!r} too"
        talk.say("accuracy", f"{text}{which_rows(model, talk)}.", accuracy=right)
    elif not isinstance(true[0], str):
        error, score = error_and_r2(true, told)
        text = f"off by {error:.4g} (root mean square{r2_text(score)})"
        text += f": the table has {model.target!r} too{which_rows(model, talk)}."
        talk.say("error", text, root_mean_square_error=error, r2=score)


def which_rows(model: ModelFile, talk: Talk) -> str:
    """Whether the rows are new to the model, as far as it knows."""
    if model.seen is None:
        return ""
    talk.data["training_rows"] = model.seen.part
    if model.seen.kind == "new":
        return ", and these rows are new to the model"
    if model.seen.kind == "training":
        return ". But the model was fitted to these rows: expect it to be worse on new ones"
    return f". But it was fitted to {percent(model.seen.part)} of these rows"


def right_labels(true: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Where a prediction is right: numbers are compared as numbers, and strings as strings."""
    if told.dtype.kind not in "fiub":
        return np.array([str(value) for value in true]) == told.astype(str)
    import pandas as pd

    return np.asarray(pd.to_numeric(pd.Series(true), errors="coerce") == told)
