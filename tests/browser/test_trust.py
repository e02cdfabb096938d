"""What is new rows to the model, how far to trust it, and notes at the pointer, as people see them."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from sklearn.datasets import load_digits

from browser.browser import Page
from modae import LinearModularAutoencoder, ModularClassifier
from modae.report import build
from modae.utils.text import percent

pytestmark = pytest.mark.browser


def headline(page):
    """The first number of the page, and what it is."""
    return page.texts("#numbers .value")[0], page.texts("#numbers dt")[0]


def test_the_headline_is_the_error_on_held_out_rows_and_not_that_on_training_rows(driver, tmp_path):
    X, y = (array[:600] for array in load_digits(return_X_y=True))
    modules = LinearModularAutoencoder(6, 4, 0.7, random_state=0)
    model = ModularClassifier(modules, random_state=0).fit(X[:400], y[:400])
    for rows, some in (("new", slice(400, 600)), ("training", slice(0, 400))):
        file = tmp_path / f"{rows}.html"
        build(model, X[some], y[some], rows=rows, diversities=[], rivals=False).save(file)
        value, label = headline(Page(driver, file))
        is_own = rows == "new"
        assert (value == percent(1.0 - model.score(X[some], y[some]))) is is_own
        assert ("this model" in label) is is_own
        assert ("cross-validated" in label) is not is_own


@pytest.mark.parametrize("name", ["digits", "new_rows"])
def test_calibration_and_coverage_are_drawn_and_stay_where_they_are(open_page, name):
    page = open_page(name)
    (section,) = [each for each in page.facts["studies"][0]["sections"] if each["id"] == "trust"]
    calibration, risk = section["charts"]
    figures = page.run(
        "return [...document.getElementById('study-trust').parentElement.querySelectorAll('figure')]"
    )
    for chart, figure in zip(section["charts"], figures, strict=True):
        assert page.texts(".said", figure) == [chart["summary"]]
        assert page.texts(".above > *", figure) == []  # no mark of the slider
    dots, lines = (
        page.run(f"return arguments[0].querySelectorAll('{tag}').length", figures[0])
        for tag in ("circle", "path")
    )
    assert dots == len(calibration["x"])
    assert lines == 2  # the line and its band
    assert page.run("return arguments[0].querySelectorAll('path').length", figures[1]) == 1
    assert "of all predictions are wrong, at 95% coverage" in risk["summary"]
    before = page.drawings()
    page.press("#diversity", Keys.HOME)
    titles = [chart["title"] for chart in page.charts]
    after = page.drawings()
    for title in ("Calibration", "Risk and coverage", "Rows"):
        assert after[titles.index(title)] == before[titles.index(title)]
    assert after != before


def test_the_least_certain_rows_have_their_picture_and_their_label(open_page):
    page = open_page("new_rows")
    (chart,) = [chart for chart in page.charts if chart["kind"] == "cards"]
    assert len(chart["rows"]) == 12
    sizes = page.run(
        "return [...document.querySelectorAll('.card-list img')].map((image) => image.naturalWidth)"
    )
    assert sizes == [8] * 12
    for item, row in zip(page.all(".card-list li"), chart["rows"], strict=True):
        assert page.texts("dt", item) == chart["columns"]
        assert page.texts("dd", item) == row
    badges = page.run(
        "return [...document.querySelectorAll('.card-list .badge')].map((badge) => badge.className)"
    )
    good = {"right": "badge good", "wrong": "badge bad"}
    assert badges == [good[row[1]] for row in chart["rows"]]


def test_the_least_certain_rows_of_a_table_have_their_columns(open_page):
    page = open_page("wine")
    names = page.texts(".text-table thead th")
    assert names[:6] == [
        "row",
        "result",
        "true class",
        "predicted class",
        "probability",
        "next likeliest",
    ]
    assert names[-1] == "proline"
    page = open_page("diabetes")
    assert page.texts(".text-table thead th")[:4] == ["row", "true value", "predicted value", "spread"]


def test_modules_are_counted_from_zero(open_page):
    page = open_page("digits")
    assert page.texts(".pictures thead th")[2:8] == [f"module {number}" for number in range(6)]
    assert page.texts(".panel-title")[0].startswith("module 0, feature ")


@pytest.mark.parametrize("kind", ["bars", "matrix", "scatter", "curves", "map"])
def test_the_pointer_shows_what_is_below_it(open_page, kind):
    page = open_page("everything")
    page.choose(1 if kind == "scatter" else 0)
    page.see_all()
    plot = page.find(f"#study figure.{kind} .plot")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    assert not page.all(f"#study figure.{kind} .note")[0].is_displayed()
    ActionChains(page.driver).move_to_element(plot).perform()
    note = page.find(f"#study figure.{kind} .note")
    page.wait(note.is_displayed)
    assert any(character.isdigit() for character in note.text)
    ActionChains(page.driver).move_to_element(page.find("h1")).perform()
    page.wait(lambda: not note.is_displayed())


def test_no_other_script_or_style_gets_in(open_page):
    page = open_page("single")
    for tag, text in (("script", "window.inside = 1"), ("style", "h1 { display: none }")):
        page.run(
            "const node = document.createElement(arguments[0]); node.textContent = arguments[1];"
            "document.body.append(node)",
            tag,
            text,
        )
    assert page.run("return window.inside ?? null") is None
    assert page.find("h1").is_displayed()
    complaints, _ = page.logs()
    assert len(complaints) == 2
