"""``modae report``: a page about a model and a table, for people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from modae.cli.applying import has_words
from modae.cli.errors import Mistake, data_refused
from modae.cli.models import Model, load_model, match_columns
from modae.cli.opening import open_table
from modae.cli.options import check_seed_and_jobs
from modae.cli.output import check_output, named_in_errors
from modae.cli.survey import survey
from modae.cli.tables import ArrayTable, Table, Wanted
from modae.cli.talk import Report, Talk, size
from modae.cli.targets import as_labels, missing_targets
from modae.report.api import build
from modae.report.page import require_plotly
from modae.utils.text import counted

PAGES = (".html", ".htm")


@dataclass(frozen=True)
class ReportOptions:
    """The options of ``modae report``."""

    model: str
    data: str
    out: str
    target: str | None = None
    title: str | None = None
    image: str = "auto"
    rows: int = 3000
    header: bool = True
    seed: int = 0
    jobs: int | None = None


def report_command(options: ReportOptions, talk: Talk) -> Report:
    """Read the table, measure, write the page."""
    check_output(options.out, PAGES, (options.data, options.model))
    require_plotly()
    shape = image_shape(options.image)
    if options.rows < 10:
        raise Mistake(f"--rows {options.rows}: ten rows are the least.")
    check_seed_and_jobs(options.seed, options.jobs)
    model = load_model(options.model)
    _check_shape(options.image, shape, model)
    target = options.target or model.target
    table = open_table(options.data, header=options.header, target=target)
    wanted, notes = _wanted(options, model, table)
    told = Report(data={"command": "report", "model": options.model, "data": table.label})
    for note in notes:
        told.note(note)
    X, y, n_rows = _rows(model, table, wanted, talk, told)
    words = "Measuring" if y is None else "Fitting again to parts of the rows"
    with talk.stage(f"{words}, at every diversity"), data_refused(table.label):
        page = build(
            model.whole(),
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
    _say(told, options, page.facts, n_rows)
    return told


def image_shape(typed: str) -> Any:
    """``auto``, ``none``, or a height and a width such as ``28x28``."""
    if typed in ("auto", "none"):
        return "auto" if typed == "auto" else None
    sides = typed.lower().split("x")
    if len(sides) != 2 or not all(side.isdecimal() and int(side) for side in sides):
        raise Mistake(f"--image {typed}: it must be auto, none, or a height and a width such as 28x28.")
    return int(sides[0]), int(sides[1])


def _check_shape(typed: str, shape: Any, model: Model) -> None:
    width = int(model.extractor.n_features_in_) if hasattr(model.extractor, "n_features_in_") else 0
    if isinstance(shape, tuple) and width and shape[0] * shape[1] != width:
        raise Mistake(f"--image {typed}: the modules see {width} columns, and that is not the product.")


def _wanted(options: ReportOptions, model: Model, table: Table) -> tuple[Wanted, list[str]]:
    """The model's columns, and the target if the table has it."""
    target = options.target or model.target
    if isinstance(table, ArrayTable):  # a target may be one of its columns
        known = target is not None and (options.target is not None or target in table.labels)
        wanted = Wanted(target=target if known else None)
        _check_width(model, table, wanted)
        return wanted, []
    known = target is not None and table.names is not None and target in table.names
    if options.target is not None and not known:
        raise Mistake(f"--target {options.target}: {table.label} has no such column.")
    keep = (options.target,) if options.target is not None else ()
    wanted, notes = match_columns(model, table, keep)
    if target is None or not known:
        return wanted, notes
    return replace(wanted, keep=(), target=target, target_words=has_words(model, table, target)), notes


def _check_width(model: Model, table: Table, wanted: Wanted) -> None:
    width, fitted = table.width(wanted), int(model.first.n_features_in_)
    if width != fitted:
        raise Mistake(
            f"{table.label} has {width} columns beside the target, and {model.path} was fitted to "
            f"{fitted}: give the same columns in the same order; --target says which one is the target."
        )


def _rows(model: Model, table: Table, wanted: Wanted, talk: Talk, told: Report) -> tuple[Any, Any, int]:
    """Rows of the table, all or a sample that fits into memory, with their targets."""
    with talk.stage(f"Reading {table.label}") as advance:
        remedy = "fill it, or fit the model again with --impute"
        found = survey(table, wanted, model.fills, advance, remedy=remedy)
    X, places = model.framed(found.sample.rows), found.sample.places
    if wanted.target is None:
        return X, None, found.n_rows
    y = found.targets[places]
    known = ~missing_targets(y)
    if not known.all():
        told.note(f"{counted(int((~known).sum()), 'row')} without a target are left out.")
    y = as_labels(y[known])
    X = X[known] if not hasattr(X, "iloc") else X.loc[known]
    return X, _as_in(model, y), found.n_rows


def _as_in(model: Model, y: np.ndarray) -> np.ndarray | None:
    """Labels of the kind that the model knows: words as words."""
    if not len(y):
        return None
    classes = getattr(model.last, "classes_", None)
    words = classes is not None and np.asarray(classes).dtype.kind in "OU"
    return y.astype(str) if words else y


def _say(told: Report, options: ReportOptions, facts: dict[str, Any], n_rows: int) -> None:
    n_bytes = Path(options.out).stat().st_size
    told.lines.insert(0, ("read", f"{told.data['data']}: {n_rows:,} rows, with {options.model}."))
    for sentence in facts["summary"][2:]:
        told.lines.append(("found", sentence))
    for number in facts["numbers"]:
        told.lines.append(("", f"{number['value']} {number['label']}. {number['text']}"))
    told.say(
        "written",
        f"{options.out} ({size(n_bytes)}): open it in a browser; it needs no network.",
        output=options.out,
        bytes=n_bytes,
        numbers=facts["numbers"],
        words=facts["summary"],
    )
