"""The slider moves everything, and what it shows is what the facts say."""

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from browser.browser import SECONDS
from browser.pages import PAGES
from modae.report.api import Report
from report import example_facts

pytestmark = pytest.mark.browser
MOVING = [name for name, _ in PAGES if name != "single"]


def differs(chart, last):
    """Whether a chart must look different at the first and the last diversity."""
    if chart["kind"] in {"curves", "map"}:
        return "x" not in chart
    if chart.get("fixed"):
        return False
    values = {"bars": "values", "matrix": "values", "images": "images", "scatter": "y"}
    if chart["kind"] == "densities":
        return any(panel["curves"][0] != panel["curves"][last] for panel in chart["panels"])
    return (
        chart["kind"] in values and chart[values[chart["kind"]]][0] != chart[values[chart["kind"]]][last]
    )


@pytest.mark.parametrize("name", MOVING)
def test_the_keyboard_moves_every_chart(open_page, name):
    page = open_page(name)
    last = len(page.facts["diversities"]) - 1
    for study in range(len(page.facts["studies"])):
        page.choose(study)
        page.press("#diversity", Keys.HOME)
        first = page.drawings()
        page.press("#diversity", Keys.END)
        assert page.body("index") == str(last)
        for chart, one, other in zip(page.charts, first, page.drawings(), strict=True):
            assert (one != other) == differs(chart, last), chart["title"]


def test_texts_follow_the_slider(open_page):
    page = open_page("everything")
    facts = page.facts
    page.press("#diversity", Keys.HOME)
    for index, diversity in enumerate(facts["diversities"]):
        page.wait(lambda index=index: page.labels() == page.summaries(index))
        assert page.texts("#value") == [str(diversity).removesuffix(".0")]
        assert page.find("#diversity").get_attribute("aria-valuetext") == page.texts("#value")[0]
        assert page.texts("#live")[0] == facts["live"][index]
        page.press("#diversity", Keys.ARROW_RIGHT)


def test_starts_at_the_diversity_of_the_model(open_page):
    page = open_page("everything")
    assert page.body("index") == str(page.facts["start"])
    assert page.find("#diversity").get_attribute("value") == str(page.facts["start"])


def test_a_click_on_a_curve_moves_the_slider(open_page):
    page = open_page("everything")
    curves = page.find("figure.curves .plot")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", curves)
    page.click(curves, -0.48)
    page.wait(lambda: page.body("index") == "0")


def test_one_diversity_needs_no_slider(open_page):
    page = open_page("single")
    assert not page.find("#diversity").is_displayed()
    assert page.texts("#live")[0] == page.facts["live"][0]


def test_the_list_chooses_the_study(open_page):
    page = open_page("everything")
    first, second = page.facts["studies"]
    assert page.texts("#study h2") == [first["name"]]
    before = page.texts("#overview, #closing")
    page.choose(1)
    assert page.texts("#study h2") == [second["name"]]
    assert page.texts("#study h3") == [section["title"] for section in second["sections"]]
    assert page.texts("#overview, #closing") == before
    assert page.texts("[role=status]") == [f"Data set: {second['name']}"]
    assert page.texts("#live")[0] == second["live"][int(page.body("index"))]
    headings = page.texts("main h2, main h3")
    assert page.texts("#contents a") == headings


def test_inside_a_notebook_links_stay_on_the_page(driver, tmp_path):
    note = tmp_path / "note.html"
    frame = Report(example_facts.facts())._repr_html_()
    note.write_text(f'<!doctype html><meta charset="utf-8">{frame}', encoding="utf-8")
    driver.get(note.as_uri())
    driver.switch_to.frame(driver.find_element("tag name", "iframe"))
    wait = WebDriverWait(driver, SECONDS)
    wait.until(lambda _: driver.execute_script("return document.body.dataset.ready") == "yes")
    driver.execute_script("[...document.querySelectorAll('a[href^=\\'#\\']')].at(-1).click()")
    wait.until(lambda _: driver.execute_script("return window.scrollY > 0"))
    assert driver.execute_script("return document.URL") == "about:srcdoc"
    driver.switch_to.default_content()
