"""A page: charts as plain data, and the one HTML file that shows them, from disk and without a network.

A chart is a dictionary of numbers and texts that JSON can hold, with values for every diversity of the
slider; ``assets`` draws it. It says in ``summary`` what it shows, in a sentence for each diversity: its
text alternative.

The page shows what the facts say, and nothing else. They travel as JSON inside a script element that no
browser runs; the scripts of the page put them in place as plain text.
"""

import json
import tomllib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

Chart = dict[str, Any]
Section = dict[str, Any]
Named = dict[str, tuple[Any, Any]]

#: In this order: a script uses only what those before it define.
SCRIPTS = (
    "numbers.js", "elements.js", "theme.js", "axes.js", "plots.js", "curves.js", "maps.js",
    "shapes.js", "tables.js", "figures.js", "sections.js", "slider.js", "start.js",
)  # fmt: skip

#: Characters that could end a script element early, and how JSON may write them instead.
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


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
    """Bars from 0 up, (n_diversities, n_bars); without a ``range`` the highest one fills the frame."""
    top = 1.05 * max(float(np.max(values)), 1e-3)
    return chart("bars", title, **({"names": names, "values": values, "range": [0.0, top]} | content))


def matrix(title: str, rows: list[str], columns: list[str], values: Any, **content: Any) -> Chart:
    """A table of numbers from 0 to 1, coloured, (n_diversities, n_rows, n_columns)."""
    table = {"rows": rows, "columns": columns, "values": values, "range": [0.0, 1.0]}
    return chart("matrix", title, **table, **content)


def module_names(count: int) -> list[str]:
    """Modules are counted from 0, as in the names of their features: ``module0_0``."""
    return [f"module {number}" for number in range(count)]


def render(facts: dict[str, Any]) -> str:
    """The whole page.

    Parameters
    ----------
    facts : dict
        What the page says: title, numbers, and for each chart its values at every diversity. Plain text
        everywhere, never HTML; plain numbers and None, never NaN.

    Returns
    -------
    html : str

    Raises
    ------
    ValueError
        If a number of the facts is not finite: JSON has no word for it.

    Examples
    --------
    >>> from modae.report.page import render
    >>> facts = {"title": "Digits", "subtitle": "", "summary": [], "numbers": [], "diversities": [0.5]}
    >>> facts |= {"start": 0, "live": ["Diversity 0.5"], "overview": [], "studies": [], "footer": []}
    >>> "<title>Digits</title>" in render(facts)
    True
    """
    style = asset("charts.css") + asset("page.css")  # the page has the last word, as in print
    script = f"(() => {{\n'use strict';\n{''.join(map(asset, SCRIPTS))}}})();"
    # Nothing but this style and this script is used, and nothing is fetched: pictures are in the page.
    return Template(asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        title=escape(facts["title"].encode(errors="replace").decode()),
        style=style,
        # Plain ASCII that says the same inside a script element, whatever the texts contain.
        facts=json.dumps(facts, allow_nan=False, separators=(",", ":")).translate(_UNSAFE),
        script=script,
    )


def _digest(text: str) -> str:
    """By which a browser knows an element of the page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
