"""Charts as plain data: what the page needs to draw one, for every diversity of the slider.

Each function returns a dictionary of numbers and texts that JSON can hold; ``assets`` draws them.
A chart says in ``summary`` what it shows, in a sentence for each diversity: its text alternative.
"""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

Chart = dict[str, Any]
Section = dict[str, Any]
Named = dict[str, tuple[Any, Any]]


def section(name: str, title: str, text: str, charts: Sequence[Chart]) -> Section:
    """Charts that belong together, under a heading and a few sentences."""
    return {"id": name, "title": title, "text": text, "charts": [_plain(chart) for chart in charts]}


def worded(name: str, charts: Sequence[Chart], also: Iterable[str] = (), **values: Any) -> Section:
    """A section with the words of ``words.toml``: ``also`` names further sentences of its text."""
    found = words()[name]
    text = " ".join(found[each].format(**values) for each in ("text", *also))
    return section(found.get("id", name), found["title"], text, charts)


@cache
def words() -> dict[str, dict[str, str]]:
    """The sentences of the page that do not come from numbers alone."""
    return tomllib.loads(asset("words.toml"))


def chart(kind: str, title: str, **content: Any) -> Chart:
    """One chart; what else there is depends on its kind, and is what the script of that kind reads."""
    return {"kind": kind, "title": title} | content


def curves(title: str, lines: Named, levels: Named | None = None, **content: Any) -> Chart:
    """Lines against diversity, and the slider moves a marker along them; or against ``x``.

    Lines and levels, which do not depend on diversity, are dicts from a name to the mean and one
    standard error to each side, or None. Content is ``y_label``, ``unit``, ``summary``, and as wanted
    ``y_range`` (from below to above) and ``mark`` (the place of the diversity to mark). Lines against
    ``x``, in the same unit, have an ``x_label`` and an ``x_range`` too.
    """
    drawn = [{"name": name, "values": mean, "error": error} for name, (mean, error) in lines.items()]
    others = levels or {}
    flat = [{"name": name, "value": mean, "error": error} for name, (mean, error) in others.items()]
    return chart("curves", title, lines=drawn, levels=flat, **content)


def bars(title: str, names: Sequence[str], values: Any, **content: Any) -> Chart:
    """Bars from 0 up, (n_diversities, n_bars); without a ``range`` the highest one fills the frame.

    With an ``error`` they are points with error bars, the one at the place ``own`` in another colour.
    """
    top = 1.05 * max(float(np.max(values)), 1e-3)
    return chart("bars", title, **({"names": names, "values": values, "range": [0.0, top]} | content))


def matrix(title: str, rows: list[str], columns: list[str], values: Any, **content: Any) -> Chart:
    """A table of numbers from 0 to 1, coloured, (n_diversities, n_rows, n_columns)."""
    table = {"rows": rows, "columns": columns, "values": values, "range": [0.0, 1.0]}
    return chart("matrix", title, **table, **content)


def module_names(count: int) -> list[str]:
    """Modules are counted from 0, as in the names of their features: ``module0_0``."""
    return [f"module {number}" for number in range(count)]


def asset(name: str) -> str:
    """The text of a file of the folder ``assets``."""
    return files("modae.report").joinpath("assets", name).read_text(encoding="utf-8")


def _plain(value: Any) -> Any:
    """What JSON can hold: lists, and numbers of six digits; what is not finite is missing.

    The page shows four digits at most: with six, numbers that were rounded here are rounded right there.
    """
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(each) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value
