"""From facts to a page: one HTML file with everything inside, that opens from disk without a network.

The page shows what the facts say, and nothing else. They travel as JSON inside a script element that no
browser runs; the scripts of the page put them in place as plain text.
"""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from string import Template
from typing import Any

from modae.report.charts import asset

#: In this order: a script uses only what those before it define.
SCRIPTS = (
    "numbers.js", "elements.js", "theme.js", "axes.js", "plots.js", "curves.js", "maps.js",
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
