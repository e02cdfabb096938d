"""From facts to a page: one HTML file with everything inside, that opens from disk without a network.

The page shows what the facts say, and nothing else. They travel as JSON inside a script element that no
browser runs; the scripts of the page put them in place as plain text.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from modae.display.style import PALETTE
from modae.utils.extras import require

#: In this order: a script uses only what those before it define.
SCRIPTS = (
    "numbers.js", "elements.js", "theme.js", "axes.js", "overlay.js", "curves.js", "maps.js",
    "shapes.js", "tables.js", "figures.js", "sections.js", "slider.js", "start.js",
)  # fmt: skip

#: Characters that could end a script element early, and how JSON may write them instead.
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


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
    ImportError
        If plotly is missing, which draws the charts: ``pip install "modae[report]"``.
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
    drawing = plotly_script()
    behaviour = f"(() => {{\n'use strict';\n{''.join(map(_asset, SCRIPTS))}}})();"
    # Only these scripts run, and nothing is fetched from anywhere. Styles are allowed inline because
    # plotly writes them; pictures are inside the page.
    digests = [b64encode(sha256(each.encode()).digest()).decode() for each in (drawing, behaviour)]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        title=escape(facts["title"].encode(errors="replace").decode()),
        style=_asset("page.css"),
        facts=_as_json(facts),
        palette=_as_json(PALETTE),
        drawing=drawing,
        behaviour=behaviour,
    )


def _asset(name: str) -> str:
    return files("modae.report").joinpath("assets", name).read_text(encoding="utf-8")


def _as_json(values: Any) -> str:
    """JSON that says the same inside a script element, whatever the texts contain: plain ASCII."""
    return json.dumps(values, allow_nan=False, separators=(",", ":")).translate(_UNSAFE)


def require_plotly() -> None:
    """Say that plotly is missing, before the work of a report and not after it."""
    plotly_script()


def plotly_script() -> str:
    """What draws the charts, to be part of the page; an ImportError with the remedy if it is missing."""
    plotly = require("plotly.offline", extra="report", purpose="A report")
    # Browsers read every line end as "\n" before they compare a script with its digest.
    return str(plotly.get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n")
