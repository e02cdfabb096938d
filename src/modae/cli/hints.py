"""Columns that are no numbers: all are named at once, with the command that reads them right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modae.cli.columns import MANY_ROWS, Oddity, kind_of, look_at
from modae.cli.console import UserError
from modae.cli.tables import as_typed, place_of, read_rows
from modae.sources.cells import is_number_text
from modae.sources.source import ColumnSelection, Source
from modae.utils.text import counted, listed

#: Columns that are named with a cell of theirs.
SHOWN = 12

KINDS = {"string": "strings", "date": "dates or times", "other": "neither numbers nor strings"}


def refuse_columns(
    table: Source, names: Sequence[str], *, encode: bool = False, fitted: str = "", target: str = ""
) -> None:
    """Refuse columns that are no numbers: all of them, each with a cell, and with the options to add.

    With ``encode``, strings are welcome unless they are numbers in disguise. For a model that is
    ``fitted``, which is then said, only options that say how to read a table help; so for a ``target``.
    """
    looked = {name: _found(table, name) for name in names if table.kinds[name] != "number"}
    welcome = {name for name, (found, _) in looked.items() if found.kind == "words"}
    told = {name: looked[name] for name in looked if name not in welcome or not (encode or target)}
    if not told:
        return
    texts = [f"{name!r} ({text})" for name, (_, text) in told.items()]
    more = f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    what = f"{counted(len(told), 'column')} are no numbers: {'; '.join(texts[:SHOWN])}{more}"
    if len(told) == 1:
        what = "".join(f"column {name!r} has {text}" for name, (_, text) in told.items())
    findings = {name: found for name, (found, _) in told.items()}
    ways, options = _remedies(table, findings, fits=not fitted and not target)
    numbers = tuple(name for name in names if table.kinds[name] == "number" and not (fitted or target))
    if numbers:  # what would be said of these next
        rows = next(read_rows(table, ColumnSelection(numbers))).rows
        ids = [name for name in numbers if kind_of(rows[name].to_numpy()) == "id"]
        options |= {"impute": True} if rows.isna().any(axis=None) else {}
        if ids:
            options["drop"] = [*options.get("drop", []), *ids]
            ways.append(f"another whole number is in every row of {listed(ids)}, as in an id")
    ways += [fitted] if fitted else []
    raise UserError(f"{table.origin}: {what}{': ' if ways else ''}{'; '.join(ways)}.", as_typed(options))


def helps(table: Source, names: Sequence[str]) -> list[str]:
    """Those of the columns that options would make numbers of."""
    texts = [name for name in names if table.kinds[name] != "number"]
    return [name for name in texts if _found(table, name)[0].options]


def _found(table: Source, name: str) -> tuple[Oddity, str]:
    """What a column is, and the same in words, with a cell of its first rows and where it is."""
    kind = table.kinds[name]
    if kind == "other":
        return Oddity(kind), KINDS[kind]
    rows = next(read_rows(table, ColumnSelection((name,), strings=frozenset([name])))).rows[name]
    cells = [(place, value.strip()) for place, value in enumerate(rows) if value and value.strip()]
    finding = look_at([value for _, value in cells])
    if kind == "date" and finding.kind == "words":  # times of a day
        finding = Oddity("other")
    shown = finding.shown or next((value for _, value in cells if not is_number_text(value)), "")
    place = next((place for place, value in cells if value == shown), 0)
    unique = len({value for _, value in cells}) > len(cells) / 2 >= MANY_ROWS / 2
    if finding.kind == "words":
        finding.options = {"drop": [name]} if unique else {"encode": True}
    if len(cells) < len(rows) and "drop" not in finding.options:
        finding.options["impute"] = True
    such_as = f", such as {shown!r:.40} in {place_of(table, place)}" if shown else ""
    return finding, f"{'dates' if 'date' in finding.kind else KINDS[kind]}{such_as}"


def _remedies(
    table: Source, findings: dict[str, Oddity], fits: bool
) -> tuple[list[str], dict[str, Any]]:
    """What may be done, in words, and the options of all columns together."""
    ways: list[str] = []
    options: dict[str, Any] = {}
    sure = {f.options.get("decimal") for f in findings.values() if not f.unsure}
    for name, found in findings.items():
        drop = f"leave it out with --drop {name!r}"
        given = dict(found.options)
        if found.unsure and "," in sure:
            given["decimal"] = given.pop("thousands")
        elif found.unsure:
            less = f"{found.shown!r} of {name!r} is {found.shown.replace(',', '.')}"
            ways.append(f"if {less}, use --decimal , and not --thousands ,")
        if found.mixed:
            ways.append(f"not all numbers of {name!r} have the same unit: they then count alike")
        if found.kind == "number" and table.kind != "CSV":
            ways.append(f"make {name!r} a column of numbers in the file")
            given = {}
        elif found.slips:
            gap = ", or take it for missing" if found.slips[0] in given.get("missing", ()) else ""
            ways.append(f"nearly all of {name!r} are numbers: correct {found.slips[0]!r:.40}{gap}")
        elif found.kind == "unsure date":
            ways.append(f"write the dates of {name!r} as 2026-01-31, or {drop}")
        elif found.kind == "words" and len(findings) == 1 and fits:
            ways.append(f"correct it, make it numbers with --encode, or {drop}")
        elif found.kind == "other":
            ways.append(drop)
        both = {**options, **given}
        if both.get("decimal", ".") == both.get("thousands"):
            mark, given = both["decimal"], {"drop": [name]}
            ways.append(f"{mark!r} means another thing in {name!r} than before: correct it, or {drop}")
        for option, value in given.items():
            known = options.get(option, [])
            options[option] = [*dict.fromkeys([*known, *value])] if isinstance(value, list) else value
    if "missing" in options:
        options["impute"] = True
    skipped = () if fits else ("encode", "drop", "impute")
    return ways, {name: value for name, value in options.items() if name not in skipped}
