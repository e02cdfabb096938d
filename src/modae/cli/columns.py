"""Columns of a table: read as commands see them, and what is said of those that are odd.

Columns that are no numbers are all named at once, with the command that reads them right; of others
remarks are made, and they are left as they are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

import numpy as np

from modae.cli.console import UserError
from modae.cli.tables import as_typed, batch_rows, find_target, place_of
from modae.sources.batches import Batches
from modae.sources.cells import MINUS, CellError, Reading, is_number_text
from modae.sources.frames import as_numpy
from modae.sources.source import Batch, ColumnSelection, Source
from modae.utils.text import counted, listed, shortened

#: Cells that stand for nothing, in small letters. (Those that are read so anyway are for strings.)
MARKS_OF_NOTHING = "? - -- --- . .. * / n/a na n.a. nan none null nil missing unknown #n/a #div/0! #ref!"
MARKERS = {*MARKS_OF_NOTHING.split(), "#value!", "#num!", "#name?", "not available", "no data"}

#: Marks before decimals and between thousands; of two that suit alike, the first is proposed.
MARKS = [(".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'")]

#: What stands before or behind a number: a sign, or a unit in letters if all cells have it.
UNIT = re.compile(
    r"[+-]?\s*([^\w\s.,+-]|[A-Z]{3}(?=\s))\s*[\d.,].*|.*\d\s*([^\w\s.,+-]|[a-zµ]{1,3}|[A-Z]{3})"
)

#: Around a number, instead of a minus.
AROUND = re.compile(r"\((.*\d.*)\)")

#: The share of numbers from which on a column is one of numbers, and other cells are slips.
NEARLY_ALL = 0.9

#: Rows from which on another value in each, or in most of them, is taken for an id.
MANY_ROWS = 10

#: Columns that are named with a cell of theirs.
SHOWN = 12

#: More cells than this that are no numbers are not proposed as marks of nothing.
MOST_MARKERS = 3

KINDS = {"string": "strings", "date": "dates or times", "other": "neither numbers nor strings"}

#: What is said of columns of numbers, by what they are; ``drop`` leaves them out.
REMARKS = {
    "id": "Another whole number in every row, or more digits than are kept: {names}. If an id, {drop}.",
    "code": "Leading zeros in {names} are not kept: they were read as numbers. If codes, {drop}.",
    "same": "The same in every row, so it tells nothing: {names}.",
    "gaps": "No value in most rows of {names}: what --impute makes of it tells little; {drop}.",
}

#: Strings that have an order, in small letters, which columns of 0 and 1 would lose.
SCALES = """
strongly disagree,disagree,somewhat disagree,neutral,undecided,somewhat agree,agree,strongly agree
very dissatisfied,dissatisfied,neutral,satisfied,very satisfied
never,rarely,seldom,sometimes,often,usually,very often,always
none,very low,low,medium,moderate,high,very high
none,mild,moderate,severe,very severe
very poor,poor,fair,average,good,very good,excellent
xxs,xs,s,m,l,xl,xxl,xxxl
very small,small,medium,large,very large
none,primary,primary school,secondary,high school,some college,college,bachelor,master,phd,doctorate
"""

DAY = r"(\d{4}-\d\d?-\d\d?|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}\.\d{1,2}\.\d{4})"
ISO = r"\d{4}-\d\d-\d\d([T ]\d\d(:?\d\d(:?\d\d(\.\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?"
DATE = re.compile(rf"{ISO}|{DAY}( \d{{1,2}}:\d\d(:\d\d)?)?")
MONTH = "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
UNSURE_DATE = re.compile(
    rf"({DAY}|\d{{1,2}}[/-]\d{{1,2}}[/-]\d{{2,4}}|\d{{1,2}}\.\d{{1,2}}\.\d{{2}}|\d{{4}}-\d\d"
    rf"|\d{{1,2}}[ .-]*{MONTH}[ ,.-]*\d{{2,4}}|{MONTH}[ .]*\d{{1,2}},? \d{{4}})([T ,]+\d{{1,2}}:\d\d.*)?"
)


@dataclass
class Oddity:
    """What a column is: a "number" once ``options`` are given, a "date", an "unsure date" (which number
    is the month?), "words", or "other". ``shown`` is a cell that tells, ``slips`` are cells of a column
    of numbers that are none, and no usual mark of nothing. It is ``unsure`` whether commas stand before
    decimals or between thousands; units are ``mixed`` if not all numbers have the same. ``text`` says
    what there is, and where.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    shown: str = ""
    slips: list[str] = field(default_factory=list)
    unsure: bool = False
    mixed: bool = False
    text: str = ""


def look_at(values: Sequence[str]) -> Oddity:
    """What the cells of a column are, the empty ones left out.

    >>> look_at(["49,0", "?", "7,25"]).options
    {'decimal': ',', 'missing': ['?']}
    """
    import pyarrow as pa

    cells = Counter(value.strip() for value in values)
    markers = [cell for cell in cells if cell.lower() in MARKERS]
    rest = {cell: count for cell, count in cells.items() if cell not in markers}
    total = sum(rest.values())
    for kind, form in (("date", DATE), ("unsure date", UNSURE_DATE)):
        if rest and sum(n for cell, n in rest.items() if form.fullmatch(cell)) >= NEARLY_ALL * total:
            missing = {"missing": markers} if markers else {}
            return Oddity(kind, {"dates": True} | missing if kind == "date" else {}, next(iter(rest)))
    units = Counter[str]()
    for cell, count in rest.items():
        match = UNIT.fullmatch(AROUND.sub(r"\1", cell))
        if match:
            units[match[1] or match[2]] += count
    strip = [unit for unit, n in units.items() if not unit.isalpha() or n >= NEARLY_ALL * total]
    mixed = len(strip) > 1 or (strip and any(map(is_number_text, rest)) and strip[0] not in MINUS)
    strip = ["()", *strip] if any(map(AROUND.fullmatch, rest)) else strip
    text, judged = pa.array(list(rest), pa.string()), {}
    for marks in MARKS:
        reading = Reading(decimal=marks[0], thousands=marks[1], strip=strip)
        numbers = zip(rest, reading.plain(text).to_pylist(), strict=True)
        others = [cell for cell, number in numbers if not is_number_text(number)]
        judged[marks] = others, sum(rest[cell] for cell in others)
    fewest = min(count for _, count in judged.values())
    suiting = [marks for marks, (_, count) in judged.items() if count == fewest]
    wrong = (cell for cell in cells if not is_number_text(cell))
    if fewest > (1 - NEARLY_ALL) * total:
        return Oddity("words", shown=next(wrong, ""))
    (decimal, thousands), others = suiting[0], judged[suiting[0]][0]
    few = len(others) <= MOST_MARKERS and not any(re.search(r"\d", cell) for cell in others)
    markers += others if few else []
    found = {"strip": strip, "decimal": decimal.strip("."), "thousands": thousands, "missing": markers}
    shown = next(iter(others or wrong), "")
    options = {name: value for name, value in found.items() if value}
    return Oddity("number", options, shown, others, suiting[:2] == MARKS[1:3], bool(mixed))


def kind_of(values: np.ndarray) -> str:
    """What a column of numbers may be besides a quantity: an "id", the "same", "gaps", or nothing."""
    known = values[~np.isnan(values)]
    different = len(np.unique(known))
    if len(known) < len(values) / 2 or different == 1:
        return "gaps" if len(known) < len(values) / 2 else "same"
    large = different == len(values) or np.abs(known).max() > 2**53
    return "id" if large and len(known) >= MANY_ROWS and is_whole(known) else ""


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers of a column are whole ones."""
    known = values[~np.isnan(values)]
    return bool((known == np.round(known)).all())


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
    texts = [f"{name!r} ({found.text})" for name, found in told.items()][:SHOWN]
    texts += [f"and {len(told) - SHOWN} more"] if len(told) > SHOWN else []
    what = ";\n".join([f"{counted(len(told), 'column')} are no numbers:\n{texts[0]}", *texts[1:]])
    if len(told) == 1:
        what = "".join(f"column {name!r} has {found.text}" for name, found in told.items())
    fits = not fitted and not target
    ways, options = _remedies(table, told, fits)
    numbers = [name for name in names if table.kinds[name] == "number" and fits]
    if numbers:  # what would be said of these next
        rows = first_rows(table, numbers)
        ids = [name for name in numbers if kind_of(rows[name].to_numpy()) == "id"]
        options |= {"impute": True} if rows.isna().any(axis=None) else {}
        if ids:
            options["drop"] = [*options.get("drop", []), *ids]
            ways.append(f"another whole number is in every row of {listed(ids)}, as in an id")
    ways += [fitted] if fitted else []
    what += ":\n" if ways else ""
    raise UserError(f"{table.origin}: {what}" + ";\n".join(ways) + ".", as_typed(options))


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
    if len(cells) < len(rows) and "drop" not in found.options:
        found.options["impute"] = True
    found.text = "dates" if "date" in found.kind else KINDS[kind]
    if found.shown:
        place = next(place for place, value in cells.items() if value == found.shown)
        found.text += f", such as {shortened(found.shown)!r} in {place_of(table, place)}"
    return found


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
    return ways, {name: value for name, value in options.items() if name not in skipped}


def in_order(strings: set[str]) -> list[str]:
    """Three strings or more in their order, if it is one that many tables have; else nothing.

    >>> in_order({"Often", "never", "Sometimes"})
    ['never', 'Sometimes', 'Often']
    """
    small = {re.sub(r"[\s_-]+", " ", each.strip().casefold()): each for each in strings}
    scales = (scale.split(",") for scale in SCALES.splitlines() if len(small) == len(strings) > 2)
    scale = next((each for each in scales if small.keys() <= set(each)), [])
    return [small[each] for each in scale if each in small]


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
        is_date = f"{name.removesuffix('_days')}_weekday" in rows  # what --dates made, no id
        kinds["" if kind == "id" and is_date else kind].append(name)
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
