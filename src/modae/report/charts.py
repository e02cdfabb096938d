"""Charts as plain data: what the page needs to draw one, for every diversity of the slider.

Each function returns a dictionary of numbers and words that JSON can hold; ``assets`` draws them.
A chart says in ``summary`` what it shows, in words, for each diversity: that is its text alternative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Chart = dict[str, Any]
Section = dict[str, Any]
Summary = str | list[str]


def section(name: str, title: str, words: str, charts: Sequence[Chart]) -> Section:
    """Charts that belong together, under a heading and a few sentences."""
    return {"id": name, "title": title, "words": words, "charts": list(charts)}


def line(name: str, values: Any, error: Any = None) -> dict[str, Any]:
    """One curve against diversity, and one standard error to each side."""
    return {"name": name, "values": rounded(values), "error": rounded(error)}


def level(name: str, value: float, error: float | None = None) -> dict[str, Any]:
    """A number that does not depend on diversity: a horizontal line."""
    return {"name": name, "value": rounded(value), "error": rounded(error)}


def curves(
    title: str,
    lines: Sequence[dict[str, Any]],
    *,
    y_label: str,
    summary: Summary,
    unit: str = "",
    levels: Sequence[dict[str, Any]] = (),
    y_range: Sequence[float] | None = None,
    mark: int | None = None,
) -> Chart:
    """Lines against diversity; the slider moves a marker along them."""
    chart: Chart = {
        "kind": "curves",
        "title": title,
        "y_label": y_label,
        "unit": unit,
        "summary": summary,
    }
    chart |= {"lines": list(lines), "levels": list(levels), "mark": mark}
    return chart if y_range is None else chart | {"y_range": list(y_range)}


def path_map(
    title: str, values: Any, rows: Sequence[str], *, y_label: str, unit: str, summary: Summary
) -> Chart:
    """A row of colours against diversity for each name, the first on top."""
    return {
        "kind": "map",
        "title": title,
        "y_label": y_label,
        "rows": list(rows),
        "values": rounded(values),
        "unit": unit,
        "range": [0.0, 1.0],
        "reverse": True,
        "summary": summary,
    }


def bars(
    title: str,
    values: Any,
    names: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    summary: Summary,
    unit: str = "%",
    top: float = 1.0,
) -> Chart:
    """A number for each name, at each diversity; all on one scale from 0 to ``top``."""
    return {
        "kind": "bars",
        "title": title,
        "x_label": x_label,
        "y_label": y_label,
        "unit": unit,
        "names": list(names),
        "values": rounded(values),
        "range": rounded([0.0, top]),
        "summary": summary,
    }


def matrix(
    title: str,
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    summary: Summary,
    unit: str = "",
    value_range: Sequence[float] = (0.0, 1.0),
    show_values: bool = True,
    aim: str | None = None,
    square: bool = False,
) -> Chart:
    """A table of colours, one for each diversity."""
    return {
        "kind": "matrix",
        "title": title,
        "x_label": x_label,
        "y_label": y_label,
        "columns": list(columns),
        "rows": list(rows),
        "values": rounded(values),
        "unit": unit,
        "range": rounded(value_range),
        "show_values": show_values,
        "aim": aim,
        "square": square,
        "summary": summary,
    }


def rounded(values: Any) -> Any:
    """Numbers for a page: four digits are more than a picture shows; what is not finite is missing."""
    if values is None:
        return None
    if np.ndim(values):
        return [rounded(each) for each in values]
    number = float(values)
    return float(f"{number:.4g}") if np.isfinite(number) else None


def module_names(count: int) -> list[str]:
    """Modules are counted from 1, as people do."""
    return [f"module {number}" for number in range(1, count + 1)]
