"""Every page in both themes, on a phone and on a desk: pictures, and what must hold in all of them."""

import pytest
from selenium.webdriver.common.keys import Keys

from browser.pages import PAGES

pytestmark = pytest.mark.browser
NAMES = [name for name, _ in PAGES]


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_quiet_fits_and_is_accessible(open_page, pictures, name, width):
    page = open_page(name, width=width)
    page.screenshot(pictures / f"{name}-{width}-light.png")
    page.theme("dark")
    page.see_all()
    page.screenshot(pictures / f"{name}-{width}-dark.png")
    assert page.sideways() == 0
    assert page.violations() == []
    page.theme("light")
    page.open_details()
    assert page.sideways() == 0
    assert page.violations() == []
    assert page.logs() == ([], [page.file.as_uri()])


@pytest.mark.parametrize("width", [320, 700, 1000])
def test_widths_between_and_zoom_fit(open_page, width):
    """700 pixels are a window of 1400 at 200 %."""
    page = open_page("everything", width=width)
    assert page.sideways() == 0


def test_charts_follow_the_theme_and_the_width(open_page):
    page = open_page("everything")
    light = page.drawings()
    page.theme("dark")
    dark = page.drawings()
    page.size(360)
    narrow = page.drawings()
    for chart, *drawn in zip(page.charts, light, dark, narrow, strict=True):
        expected = 1 if chart["kind"] in {"table", "images", "cards"} else 3
        assert len(set(drawn)) == expected, chart["title"]
    assert page.sideways() == 0


def test_prints_in_light_colours_with_all_charts(open_page, pictures):
    page = open_page("everything", theme="dark")
    page.run(
        "addEventListener('beforeprint', () => document.body.dataset.print = [...document"
        ".querySelectorAll('figure[data-drawn]')].map((figure) => figure.dataset.drawn).join(';'))"
    )
    page.save(pictures / "everything.pdf", "Page.printToPDF", printBackground=True)
    drawn = page.body("print").split(";")
    assert len(drawn) == len(page.charts)
    assert all(each.endswith("#ffffff") for each in drawn)
    page.see_all()


def test_links_do_not_hide_their_target_below_the_bar(open_page):
    for width in (360, 1400):
        page = open_page("everything", width=width)
        page.run("document.documentElement.style.scrollBehavior = 'auto'")
        for link in page.run("return [...document.querySelectorAll('#contents a')].map((a) => a.hash)"):
            page.run("location.hash = arguments[0]", link)
            assert page.top_of(link) >= page.bottom_of_bar(), link


def test_the_first_key_skips_to_the_charts(open_page):
    page = open_page("everything")
    page.press("body", Keys.TAB)
    assert page.run("return document.activeElement.className") == "skip"
    page.press(".skip", Keys.ENTER)
    page.wait(lambda: page.run("return document.activeElement.id") == "content")
