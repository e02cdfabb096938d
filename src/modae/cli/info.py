"""``modae info``: what is in a model file. Only its header is read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from modae.cli.errors import UserError
from modae.cli.talk import CommandReport, Talk, certificate_text, size, sizes_text
from modae.files.api import describe
from modae.utils.text import counted, listed, percent


def info_command(options: Any, talk: Talk) -> CommandReport:
    """Class, sizes, certificate, columns, target, versions."""
    path = options.model
    if not Path(path).exists():
        raise UserError(f"{path}: there is no such file.")
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a model.")
    told = describe(path)
    summary = told["summary"]
    report = CommandReport(data={"command": "info"})
    about = {name: value for name, value in told.items() if name not in ("notes", "summary")}
    report.say("file", f"{path}, {size(told['bytes'])}.", **about)
    if told["class"] == "StreamCheckpoint":
        rows = summary.get("model", {}).get("rows")
        so_far = "" if rows is None else f", {counted(rows, 'row')} so far"
        report.say("checkpoint", f"a fit of fit_stream that has not ended{so_far}.", rows=rows)
        report.say("go on", "modae.fit_stream with the same source and checkpoint, in Python.")
    elif not summary.get("fitted", True):
        raise UserError(f"{path}: this model is not fitted: fit it, and save it again.")
    else:
        say_model(summary, report)
    libraries = ", ".join(f"{name} {version}" for name, version in told["libraries"].items())
    report.say("written by", f"modae {told['modae']}, {libraries}.")
    rows = "yes: share it as you would share them" if told["holds_rows"] else "none"
    report.say("rows in it", f"{rows}.")
    return report


def say_model(summary: dict[str, Any], report: CommandReport) -> None:
    """Steps, columns, target, modules, as far as the header tells."""
    notes, model = summary.get("notes", {}), summary.get("model", {})
    steps = [f"{name} ({kind})" for name, kind in summary.get("steps", [])]
    report.say("steps", f"{', then '.join(steps)}.", steps=steps)
    n_features, names = summary.get("n_features"), summary.get("feature_names")
    shown = "without names" if names is None else listed(names)
    fitted = f", fitted to {counted(notes['rows'], 'row')}" if "rows" in notes else ""
    report.say("columns", f"{n_features}: {shown}{fitted}.", columns=n_features, names=names)
    if not summary.get("predicts"):
        report.say("target", "none: it gives features only.", target=None)
    else:
        target, classes = notes.get("target"), summary.get("classes")
        kind = "a number" if classes is None else f"{counted(len(classes), 'class')}: {listed(classes)}"
        report.say("target", f"{target or 'without a name'}, {kind}.", target=target, classes=classes)
        scores = [notes[key] for key in ("score", "baseline_score") if key in notes]
        if len(scores) == 2:
            texts = [f"R2 {score:.3f}" if classes is None else percent(score) for score in scores]
            text = f"{texts[0]} when it was fitted; plain PCA and one member: {texts[1]}."
            label = "fit" if classes is None else "accuracy"
            report.say(label, text, score=scores[0], baseline_score=scores[1])
    if {"modules", "components"} <= set(model):
        sizes = {name: model.get(name) for name in ("modules", "components", "diversity")}
        report.say("model", sizes_text(model), **sizes)
    certificate = model.get("certificate")
    if certificate:
        fitted_values = SimpleNamespace(**{f"{name}_": value for name, value in certificate.items()})
        numbers = {name: certificate[name] for name in ("loss", "lower_bound", "optimality_gap")}
        report.say("certificate", certificate_text(fitted_values), **numbers)
