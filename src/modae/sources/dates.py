"""Dates as numbers: a column ``when`` becomes four, all of them known from the date alone."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import narwhals as nw

from modae.sources.source import Chunk, ColumnSelection, Source, named

#: What follows the name of the column, and what it is; days are counted from the first of 1970.
PARTS: dict[str, Callable[[Any], Any]] = {
    "year": lambda date: date.dt.year(),
    "month": lambda date: date.dt.month(),
    "weekday": lambda date: date.dt.weekday(),
    "days": lambda date: date.cast(nw.Datetime("ms")).dt.timestamp("ms").cast(nw.Float64()) / 86_400_000,
}

# Dates before this one are those of a year with two digits, or slips.
FIRST_YEAR = 1000


def parts_of(name: str) -> list[str]:
    """The names of the columns that a column of dates becomes.

    >>> parts_of("when")
    ['when_year', 'when_month', 'when_weekday', 'when_days']
    """
    return [f"{name}_{part}" for part in PARTS]


def with_dates_as_numbers(source: Source) -> Source:
    """The same source, with numbers instead of dates; times without a date stay what they are."""
    schema = source.sample.schema
    dates = [name for name in schema if isinstance(schema[name], (nw.Date, nw.Datetime))]
    made = {part: name for name in dates for part in parts_of(name)}
    twice = [part for part in made if part in source.kinds]
    if twice:
        raise ValueError(f"{source.origin}: --dates makes {twice[0]!r}, which is there: rename it.")
    kinds: dict[str, str] = {}
    for name, kind in source.kinds.items():
        kinds |= dict.fromkeys(parts_of(name), "number") if name in dates else {name: kind}

    def read(start: int, columns: ColumnSelection, size: int) -> Iterator[Chunk]:
        used = dict.fromkeys(made[name] for name in columns.names or () if name in made)
        features = tuple(name for name in columns.features or () if name not in made)
        target = None if columns.target in made else columns.target
        kept = tuple(name for name in columns.kept if name not in made)
        given = replace(
            columns, features=features, target=target, kept=tuple(dict.fromkeys((*kept, *used)))
        )
        for chunk in source.read(start, given, size):
            with named(chunk.origin):
                yield chunk._replace(table=_numbers(chunk.table, used))

    return replace(source, read=read, sample=_numbers(source.sample, dates), kinds=kinds)


def _numbers(table: Any, dates: Any) -> Any:
    """A table with the parts of these columns beside them."""
    for name in dates:
        if table.shape[0] and (table[name].dt.year() < FIRST_YEAR).any():
            raise ValueError(
                f"column {name!r} has years before {FIRST_YEAR}: write them with four digits."
            )
    parts = [
        make(nw.col(name)).alias(f"{name}_{part}") for name in dates for part, make in PARTS.items()
    ]
    return table.with_columns(*parts)
