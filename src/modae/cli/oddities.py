"""What stands in a column: numbers in another notation, dates, words in an order, ids, or slips."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modae.sources.cells import MINUS, Reading, is_number_text

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

#: More cells than this that are no numbers are not proposed as marks of nothing.
MOST_MARKERS = 3

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
    what there is, and where, ``why`` what speaks against the column, and ``gaps`` in how many rows there
    is nothing.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    shown: str = ""
    slips: list[str] = field(default_factory=list)
    unsure: bool = False
    mixed: bool = False
    text: str = ""
    why: str = ""
    gaps: int = 0


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


def is_log(values: Sequence[Any]) -> bool:
    """Whether many numbers, or dates that are written, rise or fall from row to row, as in a log."""
    written = [re.findall(r"\d+", value) for value in values if isinstance(value, str)]
    parts = [[*map(int, numbers)] for numbers in written]
    known = [[*each[2::-1], *each[3:]] if each[2:] and each[0] < 32 else each for each in parts if each]
    known = known or [*values]
    rises = known in (sorted(known), sorted(known, reverse=True))
    return len(known) >= MANY_ROWS and known[0] != known[-1] and rises


def in_order(strings: set[str]) -> list[str]:
    """Three strings or more in their order, if it is one that many tables have; else nothing.

    >>> in_order({"Often", "never", "Sometimes"})
    ['never', 'Sometimes', 'Often']
    """
    small = {re.sub(r"[\s_-]+", " ", each.strip().casefold()): each for each in strings}
    scales = (scale.split(",") for scale in SCALES.splitlines() if len(small) == len(strings) > 2)
    scale = next((each for each in scales if small.keys() <= set(each)), [])
    return [small[each] for each in scale if each in small]
