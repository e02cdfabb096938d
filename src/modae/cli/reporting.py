"""``modae report``: a page about a model and a table, for people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from modae.cli.errors import UserError, data_refused
from modae.cli.fitting import check_seed_and_jobs
from modae.cli.models import ModelFile, load_model
from modae.cli.tables import TypedTable, check_output, named_in_errors, open_table
from modae.cli.talk import CommandReport, Talk, size
from modae.cli.training import as_labels, missing_targets, survey
from modae.report.api import build
from modae.report.page import require_plotly
from modae.sources.source import ColumnSelection
from modae.utils.text import counted


def report_command(options: Any, talk: Talk) -> CommandReport:
    """Read the table, measure, write the page."""
    check_output(options.out, (".html", ".htm"), (options.data, options.model))
    require_plotly()
    shape = image_shape(options.image)
    if options.rows < 10:
        raise UserError(f"--rows {options.rows}: ten rows are the least.")
    check_seed_and_jobs(options)
    model = load_model(options.model)
    width = int(model.parts.extractor.n_features_in_)
    if isinstance(shape, tuple) and shape[0] * shape[1] != width:
        raise UserError(
            f"--image {options.image}: the modules see {width} columns, and that is not the product."
        )
    table = open_table(options.data, header=not options.no_header)
    columns, notes = choose_columns(model, table, options.target)
    told = CommandReport(data={"command": "report", "model": options.model, "data": table.label})
    for note in notes:
        told.note(note)
    with talk.stage(f"Reading {table.label}") as advance:
        remedy = "fill it, or fit the model again with --impute"
        found = survey(table, columns, model.fills, advance, remedy=remedy)
    X, y = model.framed(found.sample.rows), None
    if found.y is not None:
        y = found.y[found.sample.places]
        known = ~missing_targets(y)
        if not known.all():
            told.note(f"{counted(int((~known).sum()), 'row')} without a target are left out.")
        X, y = X[known] if not hasattr(X, "loc") else X.loc[known], as_labels(y[known])
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
    told.lines.insert(0, ("read", f"{table.label}: {found.n_rows:,} rows, with {options.model}."))
    facts, n_bytes = page.facts, Path(options.out).stat().st_size
    for sentence in facts["summary"][2:]:
        told.say("found", sentence)
    for number in facts["numbers"]:
        told.say("", f"{number['value']} {number['label']}. {number['text']}")
    told.say(
        "written",
        f"{options.out} ({size(n_bytes)}): open it in a browser; it needs no network.",
        output=options.out,
        bytes=n_bytes,
        numbers=facts["numbers"],
        summary=facts["summary"],
    )
    return told


def image_shape(typed: str) -> Any:
    """``auto``, ``none``, or a height and a width such as ``28x28``."""
    if typed in ("auto", "none"):
        return "auto" if typed == "auto" else None
    sides = typed.lower().split("x")
    if len(sides) != 2 or not all(side.isdecimal() and int(side) for side in sides):
        raise UserError(
            f"--image {typed}: it must be auto, none, or a height and a width such as 28x28."
        )
    return int(sides[0]), int(sides[1])


def choose_columns(
    model: ModelFile, table: TypedTable, asked: str | None
) -> tuple[ColumnSelection, list[str]]:
    """The model's columns, and the target if the table has it."""
    target = asked or model.target
    if table.names is None:  # a target may be one of its columns
        target = target if asked is not None or target in table.labels else None
        table.find_target(target)
        width, fitted = table.width(target), int(model.first.n_features_in_)
        if width != fitted:
            raise UserError(
                f"{table.label} has {width} columns beside the target, and {model.path} was fitted to "
                f"{fitted}: give the same columns in the same order; --target says which one is the "
                "target."
            )
        return ColumnSelection(target=target), []
    table.require("--target", [] if asked is None else [asked])
    columns, notes = model.columns_in(table, keep=() if asked is None else (asked,))
    columns = replace(columns, kept=())
    if target is None or target not in table.names:
        return columns, notes
    strings = {target} if model.reads_target_as_strings(table, target) else set()
    return replace(columns, target=target, strings=(columns.strings - {target}) | strings), notes
