"""Dates as numbers: a column ``when`` becomes four or five, all of them known from the date alone."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import narwhals as nw

from modae.sources.source import Chunk, ColumnSelection, Source, named

DAY = 86_400_000  # milliseconds

#: What a column of dates becomes, and the ends of the names; days are counted from the first of 1970.
DATE_PARTS: dict[str, Callable[[Any], Any]] = {
    "year": lambda date: date.dt.year(),
    "month": lambda date: date.dt.month(),
    "weekday": lambda date: date.dt.weekday(),
    "days": lambda date: date.cast(nw.Datetime("ms")).dt.timestamp("ms").cast(nw.Float64()) / DAY,
    "hour": lambda date: date.cast(nw.Datetime("ms")).dt.timestamp("ms") % DAY / (DAY / 24),
}


#: Dates before this one are those of a year with two digits, or slips.
FIRST_YEAR = 1000


def date_of(name: str, names: Collection[str]) -> str:
    """The column of dates that one of these columns was made of; the same name if it was of none.

    >>> date_of("when_year", [f"when_{part}" for part in DATE_PARTS]), date_of("a_year", ["a_year"])
    ('when', 'a_year')
    """
    date, _, part = name.rpartition("_")
    others = (f"{date}_{each}" for each in DATE_PARTS if each != "hour")
    return date if part in DATE_PARTS and all(each in names for each in others) else name


def with_dates_as_numbers(source: Source, known: Collection[str] | None = None) -> Source:
    """The same source, with numbers instead of dates; times without a date stay what they are.

    A column ``when`` becomes ``when_year`` and others, all of them known from the date alone. It becomes
    ``when_hour`` too if this is ``known``, or, where nothing is, if first rows have times of day.
    """
    schema = source.sample.schema
    dates = [name for name in schema if isinstance(schema[name], (nw.Date, nw.Datetime))]
    if known is None and dates:
        sample = source.sample.select(*(DATE_PARTS["hour"](nw.col(name)) for name in dates))
        known = [f"{name}_hour" for name in dates if (sample[name] > 0).any()]
    made = {f"{name}_{part}": name for name in dates for part in DATE_PARTS}
    made = {part: name for part, name in made.items() if part != f"{name}_hour" or part in (known or ())}
    twice = [part for part in made if part in source.kinds]
    if twice:
        raise ValueError(f"{source.origin}: --dates makes {twice[0]!r}, which is there: rename it.")
    kinds: dict[str, str] = {}
    for name, kind in source.kinds.items():
        parts = {part: "number" for part, date in made.items() if date == name}
        kinds |= parts if name in dates else {name: kind}

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        wanted = dict.fromkeys(made.get(name, name) for name in columns.names or ())
        features = tuple(name for name in columns.features or () if name not in made)
        given = ColumnSelection(features, kept=tuple(wanted), strings=columns.strings)
        used = [name for name in dates if name in wanted]
        for chunk in source.read(start, given, size):
            with named(chunk.origin):
                yield chunk._replace(table=_with_parts(chunk.table, used))

    return replace(source, read=read, sample=_with_parts(source.sample, dates), kinds=kinds)


def _with_parts(table: Any, dates: Iterable[str]) -> Any:
    """A table with the parts of these columns beside them."""
    parts = []
    for name in dates:
        if table.shape[0] and (table[name].dt.year() < FIRST_YEAR).any():
            early = f"column {name!r} has years before {FIRST_YEAR}"
            raise ValueError(f"{early}: write them with four digits.")
        parts += [make(nw.col(name)).alias(f"{name}_{part}") for part, make in DATE_PARTS.items()]
    return table.with_columns(*parts)
