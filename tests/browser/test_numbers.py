"""Tables below the charts against the facts, and names that must appear as they are."""

import pytest
from selenium.webdriver.common.keys import Keys

from browser.pages import PAGES
from modae.utils.text import format_number
from report.example_facts import HOSTILE

pytestmark = pytest.mark.browser
NAMES = [name for name, _ in PAGES]


def expected(chart, index):
    """The cells of the tables below a chart, row by row, without those of headers."""
    unit = chart.get("unit", "")
    index = 0 if chart.get("fixed") else index
    if "x" in chart and chart["kind"] == "curves":
        columns = [[format_number(value, unit) for value in line["values"]] for line in chart["lines"]]
        columns += [map(format_number, chart["counts"])] if "counts" in chart else []
        return [list(row) for row in zip(*columns, strict=True)]
    if chart["kind"] == "curves":
        lines = [
            (line["values"][index], (line["error"] or [None] * 99)[index]) for line in chart["lines"]
        ]
        entries = lines + [(level["value"], level["error"]) for level in chart.get("levels", [])]
        errors = any(error is not None for _, error in entries)
        return [[format_number(each, unit) for each in entry[: 1 + errors]] for entry in entries]
    if chart["kind"] == "map":
        return [[format_number(row[index], unit)] for row in chart["values"]]
    if chart["kind"] == "bars":
        return [[format_number(value, unit)] for value in chart["values"][index]]
    if chart["kind"] == "matrix":
        return [[format_number(value, unit) for value in row] for row in chart["values"][index]]
    if chart["kind"] == "scatter":
        return [
            [format_number(x), format_number(y)]
            for x, y in zip(chart["x"], chart["y"][index], strict=True)
        ]
    return [
        [format_number(curve[at]) for curve in panel["curves"][index]]
        for panel in chart["panels"]
        for at in range(0, len(panel["grid"][index]), -(-len(panel["grid"][index]) // 40))
    ]


def cells(page, figure):
    return page.run(
        "return [...arguments[0].querySelectorAll('details tbody tr')].map((row) =>"
        " [...row.querySelectorAll('td')].map((cell) => cell.textContent))",
        figure,
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_are_those_of_the_facts(open_page, name):
    page = open_page(name)
    for study in range(len(page.facts["studies"])):
        page.choose(study)
        page.open_details()
        for key in (Keys.HOME, Keys.END) if name != "single" else ("",):
            key and page.press("#diversity", key)
            index = page.body("index")
            page.wait(lambda index=index: page.opened() <= {index})
            for chart, figure in zip(page.charts, page.all("figure"), strict=True):
                if chart["kind"] not in {"images", "table", "cards"}:
                    assert cells(page, figure) == expected(chart, int(index)), chart["title"]


def test_hostile_names_are_texts(open_page):
    page = open_page("hostile")
    assert page.texts("h1") == [HOSTILE]
    assert page.texts("#study h2, #study h3") == [HOSTILE] * 2
    assert page.driver.title == HOSTILE
    assert page.texts("main b, main i, main img, main script") == []
    names = next(chart["rows"] for chart in page.charts if chart["kind"] == "matrix")
    legend = page.texts("#study figure.curves .legend li")
    assert legend[: len(names)] == names
    whole = [name for name in names if len(name) > 24]  # without its middle, and whole at the pointer
    short = [f"{name[:11]}…{name[-12:]}{name}" if name in whole else name for name in names]
    assert page.texts("figure.bars .x-tick") == short
    assert page.texts("figure.bars .x-tick title") == whole
