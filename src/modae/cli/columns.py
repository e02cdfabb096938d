"""Columns of a table: read as commands see them, and what is said of those that are odd.

Columns that are no numbers are all named at once, with the command that reads them right; of others
remarks are made, and they are left as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np

from modae.cli.console import UserError
from modae.cli.oddities import MANY_ROWS, MARKERS, Oddity, in_order, is_log, is_whole, kind_of, look_at
from modae.cli.tables import as_typed, batch_rows, find_target, place_of
from modae.sources.batches import Batches
from modae.sources.cells import CellError
from modae.sources.dates import date_of
from modae.sources.frames import as_numpy
from modae.sources.source import Batch, ColumnSelection, Source
from modae.utils.text import counted, listed, shortened

#: Columns that are named with a cell of theirs.
SHOWN = 12

KINDS = {"string": "strings", "date": "dates or times", "other": "neither numbers nor strings"}

#: What is said of columns of numbers, by what they are; ``drop`` leaves them out.
REMARKS = {
    "id": "Another whole number in every row, or more digits than are kept: {names}. If an id, {drop}.",
    "code": "Leading zeros in {names} are not kept: they were read as numbers. If codes, {drop}.",
    "same": "The same in every row, so it tells nothing: {names}.",
    "gaps": "No value in most rows of {names}: what --impute makes of it tells little; {drop}.",
}


def read_rows(table: Source, columns: ColumnSelection, n_answers: int = 0) -> Iterator[Batch]:
    """Batches whose rows are a matrix, or a pandas frame if columns have names.

    They are as short as answers with ``n_answers`` columns for each row need them to be. Of a cell that
    is no number, the options that make it one are said.

    Features in ``columns.strings`` are strings in that frame, and None where there is none. The target
    is a NumPy array; integers beside missing values stay integers.
    """
    import pandas as pd

    labels, target_column = find_target(table, columns.target)
    features = columns.features or ()
    categories = [name for name in features if name in columns.strings]
    numbers = [name for name in features if name not in columns.strings]
    kept = tuple(dict.fromkeys((*categories, *columns.kept)))
    selection, width = replace(columns, features=tuple(numbers), kept=kept), len(features)
    if not table.kinds:
        selection, width = ColumnSelection(), table.matrix.shape[1]
    absent = {"", *table.missing}
    try:
        for batch in Batches(table, selection, batch_rows(max(width, n_answers))):
            rows, target = batch.rows, batch.target
            if not table.kinds:
                rows = rows if target_column is None else np.delete(rows, target_column, axis=1)
                target = None if labels is None else labels[batch.start : batch.stop]
                yield replace(batch, rows=rows, target=target)
                continue
            frame = pd.DataFrame(rows, columns=numbers)
            texts = {}
            for name in categories:
                values = batch.kept[name].to_pylist()
                known = [None if each is None or each.strip() in absent else each for each in values]
                texts[name] = pd.Series(known, dtype=object)
            if texts:  # at once: thousands of columns one by one take minutes
                frame = pd.concat([frame, pd.DataFrame(texts)], axis=1)[list(features)]
            target = None if target is None else as_numpy(target)
            if table.missing and target is not None and columns.target in columns.strings:
                target = np.array(["" if value in absent else value for value in target], dtype=object)
            yield replace(batch, rows=frame, target=target)
    except CellError as error:
        options = look_at([error.value]).options
        options.pop("dates", None)
        raise UserError(str(error), as_typed(options)) from error


def first_rows(table: Source, names: Sequence[str], *, as_strings: bool = False) -> Any:
    """These columns in the first batch, as a pandas frame."""
    strings = frozenset(names if as_strings else ())
    return next(read_rows(table, ColumnSelection(tuple(names), strings=strings))).rows


def refuse_columns(
    table: Source, names: Sequence[str], *, encode: bool = False, fitted: str = "", target: str = ""
) -> None:
    """Refuse columns that are no numbers: all of them, each with a cell, and with the options to add.

    With ``encode``, strings are welcome unless they are numbers in disguise. For a model that is
    ``fitted``, which is then said, only options that say how to read a table help; so for a ``target``.
    """
    looked = {name: _oddity(table, name) for name in names if table.kinds[name] != "number"}
    welcome = "words" if encode or target else ""
    told = {name: found for name, found in looked.items() if found.kind != welcome}
    if not told:
        return
    fits = not fitted and not target
    ways, options = _remedies(table, told, fits)
    first = sorted(told, key=lambda name: len(told) > SHOWN and not ways[name])  # those with reasons
    why = {name: f": {', '.join(given)}" if given else "" for name, given in ways.items()}
    lines = [f"{name!r} ({told[name].text}){why[name]}" for name in first]
    head = f"{counted(len(told), 'column')} are no numbers"
    if len(told) == 1:
        head, lines = f"column {first[0]!r} has {told[first[0]].text}", ways[first[0]]
    lines[SHOWN:] = lines[SHOWN:] and [f"{len(lines) - SHOWN} more, such as {first[SHOWN]!r}"]
    numbers = [name for name in names if table.kinds[name] == "number" and fits]
    if numbers:  # what would be said of these next
        rows = first_rows(table, numbers)
        empty = rows.columns[rows.isna().all()].tolist()
        gaps = [name for name in rows.columns[rows.isna().any()] if name not in empty]
        ids = [name for name in numbers if name not in empty and kind_of(rows[name].to_numpy()) == "id"]
        lines += [
            f"every row of {name!r} has another whole number, as ids have: leave it out" for name in ids
        ]
        lines += [f"no row has a value in {name!r}: leave it out" for name in empty]
        lines += [f"some cells of {listed(gaps)} are empty: --impute fills them"] if gaps else []
        drop = [*options.get("drop", []), *ids, *empty]
        options |= ({"impute": True} if gaps else {}) | ({"drop": drop} if drop else {})
    lines += [fitted] if fitted else []
    what = ":\n".join([f"{table.origin}: {head}", *([";\n".join(lines)] if lines else [])])
    raise UserError(f"{what}.", as_typed(options))


def helps(table: Source, names: Sequence[str]) -> list[str]:
    """Those of the columns that options would make numbers of."""
    return [name for name in names if table.kinds[name] != "number" and _oddity(table, name).options]


def _oddity(table: Source, name: str) -> Oddity:
    """What a column is, by its first rows, and the same in words, with a cell and where it is."""
    kind = table.kinds[name]
    if kind == "other":
        return Oddity(kind, text=KINDS[kind])
    rows = first_rows(table, [name], as_strings=True)[name]
    cells = {place: value.strip() for place, value in enumerate(rows) if value and value.strip()}
    values = list(cells.values())
    found = look_at(values)
    if kind == "date" and found.kind == "words":  # times of a day
        found.kind = "other"
    unique = len(set(values)) > len(cells) / 2 >= MANY_ROWS / 2
    if found.kind == "words":
        order = in_order({*values} & {*rows})
        encode: dict[str, Any] = {"encode": True} | ({"order": [",".join(order)]} if order else {})
        found.options = {"drop": [name]} if unique else encode
        as_in = "free text" if sum(value.count(" ") for value in values) >= 2 * len(values) else "an id"
        found.why = f"another string in most rows, as in {as_in}: leave it out" if unique else ""
    if found.kind == "date" and is_log(values):
        found.why = f"rows are in the order of {name!r}: new rows will lie beyond it"
    found.gaps = len(rows) - sum(value not in found.options.get("missing", ()) for value in values)
    if len(cells) < len(rows) and "drop" not in found.options:
        found.options["impute"] = True
    found.text = "dates" if "date" in found.kind else KINDS[kind]
    if found.shown:
        place = next(place for place, value in cells.items() if value == found.shown)
        found.text += f", such as {shortened(found.shown)!r} in {place_of(table, place)}"
    return found


def _remedies(
    table: Source, findings: dict[str, Oddity], fits: bool
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """What is to be known of each column, and may be done, and the options of all columns together."""
    all_ways: dict[str, list[str]] = {}
    options: dict[str, Any] = {}
    sure = {f.options.get("decimal") for f in findings.values() if not f.unsure}
    for name, found in findings.items():
        drop, ways = f"leave it out with --drop {name!r}", all_ways.setdefault(name, [])
        given = dict(found.options)
        if found.why and fits:
            ways.append(found.why)
            given = {"drop": [name]}
        elif found.gaps:
            ways.append(f"no value in {counted(found.gaps, 'row')}")
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
            ways.append(
                f"nearly all of {name!r} are numbers: correct {shortened(found.slips[0])!r}{gap}"
            )
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
    skipped = () if fits else ("encode", "order", "drop", "impute")
    return all_ways, {name: value for name, value in options.items() if name not in skipped}


def remarks_on(
    table: Source, rows: Any, n_rows: int, categories: Mapping[str, set[str]], orders: Any, labels: Any
) -> list[str]:
    """Remarks on columns of numbers, on the strings of others, and on those that are labels.

    ``orders`` has the columns whose order is known.
    """
    kinds, notes = defaultdict(list), []
    numbers = [name for name in getattr(rows, "columns", ()) if name not in categories]
    for name in numbers:
        kind = kind_of(rows[name].to_numpy())
        date = date_of(name, rows)  # what --dates made is no id
        kinds["" if kind == "id" and date != name else kind].append(name)
        if name == f"{date}_days" != date and is_log(rows[name].dropna().tolist()):
            trap = f"Rows are in the order of {date!r}: new rows will lie beyond it, and shuffled folds"
            notes.append(
                f"{trap} do not show what that does. If it tells nothing else, --drop {quote(date)}."
            )
    whole = [name for name in numbers if is_whole(rows[name].to_numpy())]
    if table.kind == "CSV" and whole:
        text = first_rows(table, whole, as_strings=True)[:100]
        kinds["code"] = [name for name in whole if text[name].str.fullmatch(r"\s*0\d+\s*").any()]
    kinds["same"] += [name for name, known in categories.items() if len(known) == 1]
    for kind, remark in REMARKS.items():
        drop = " ".join(f"--drop {quote(name)}" for name in kinds[kind][:5])
        notes += [remark.format(names=listed(kinds[kind]), drop=drop)] if kinds[kind] else []
    strings: dict[Any, set[str]] = {**categories}
    if labels is not None and labels.dtype.kind == "U":
        strings[None] = set(np.unique(labels).tolist())
    for name, known in strings.items():
        where = "the target" if name is None else f"column {name!r}"
        if len(known) > n_rows / 2 >= MANY_ROWS / 2:
            drop = "" if name is None else f"; leave it out with --drop {quote(name)}"
            notes.append(f"Other strings in most rows of {where}: of an id nothing can be learnt{drop}.")
        twins = defaultdict(list)
        for each in sorted(known):
            twins[each.strip().casefold()].append(each)
        alike = next((each for each in twins.values() if len(each) > 1), [])
        if alike:
            notes.append(f"{listed(alike)} in {where} count as different: make them one if they are.")
        order = [] if name is None or name in orders else in_order(known)
        if order:
            lost = f"{listed(order, 3)} in {where} have an order, which columns of 0 and 1 lose"
            notes.append(f"{lost}: keep it with --order {quote(','.join(order))}.")
        markers = sorted(each for each in known if each.strip().lower() in MARKERS)
        if markers:
            options = " ".join(f"--missing {quote(each)}" for each in markers)
            notes.append(f"{listed(markers)} in {where} counts as a string; if it is none, {options}.")
    return notes
