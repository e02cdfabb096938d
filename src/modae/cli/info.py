"""``modae info``: what is in a model file."""

from __future__ import annotations

from typing import Any

from modae.cli.errors import listed
from modae.cli.models import Model, load_model
from modae.cli.talk import Report, size
from modae.cli.wording import certificate, certificate_text, sizes_text
from modae.files.api import describe
from modae.utils.text import counted, percent


def info_command(path: str) -> Report:
    """Class, sizes, certificate, columns, target, versions."""
    model, description = load_model(path), describe_checked(path)
    report = Report(data={"command": "info"})
    report.say("file", f"{path}, {size(description['bytes'])}.", **description)
    names = [f"{name} ({type(step).__name__})" for name, step in model.steps]
    report.say("steps", f"{', then '.join(names)}.", steps=names)
    _say_columns(model, report)
    _say_target(model, report)
    _say_modules(model, report)
    libraries = ", ".join(f"{name} {version}" for name, version in description["libraries"].items())
    report.lines.append(("written by", f"modae {description['modae']}, {libraries}."))
    rows = "yes: share it as you would share them" if description["holds_rows"] else "none"
    report.lines.append(("rows in it", f"{rows}."))
    return report


def describe_checked(path: str) -> dict[str, Any]:
    """What the header says; the notes on rows are in our own line."""
    description = describe(path)
    del description["notes"]
    return description


def _say_columns(model: Model, report: Report) -> None:
    n_features = int(model.first.n_features_in_)
    names = None if model.names is None else list(model.names)
    words = "without names" if names is None else listed(names)
    fitted = f", fitted to {counted(model.notes['rows'], 'row')}" if "rows" in model.notes else ""
    report.say("columns", f"{n_features}: {words}{fitted}.", columns=n_features, names=names)


def _say_target(model: Model, report: Report) -> None:
    if not hasattr(model.last, "predict"):
        report.say("target", "none: it gives features only.", target=None)
        return
    name = model.target or "without a name"
    classes = getattr(model.last, "classes_", None)
    kind = "a number" if classes is None else f"{counted(len(classes), 'class')}: {listed(classes)}"
    shown = None if classes is None else [str(label) for label in classes]
    report.say("target", f"{name}, {kind}.", target=model.target, classes=shown)
    if {"score", "baseline_score"} <= set(model.notes):
        score, plain = model.notes["score"], model.notes["baseline_score"]
        texts = [percent(each) if classes is not None else f"R2 {each:.3f}" for each in (score, plain)]
        text = f"{texts[0]} when it was fitted; plain PCA and one member: {texts[1]}."
        report.say("accuracy" if classes is not None else "fit", text, score=score, baseline_score=plain)


def _say_modules(model: Model, report: Report) -> None:
    last = getattr(model.last, "best_estimator_", model.last)
    if not hasattr(model.extractor, "n_components_"):
        return
    report.lines.append(("model", sizes_text(last)))
    if hasattr(model.extractor, "attainment_"):
        report.say("certificate", certificate_text(model.extractor), **certificate(model.extractor))
