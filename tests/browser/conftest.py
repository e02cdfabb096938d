"""One browser for all tests, and each page written once."""

from pathlib import Path

import pytest

from browser import browser
from browser.pages import PAGES

PICTURES = Path(__file__).parents[2] / "results" / "browser"


@pytest.fixture(scope="session")
def driver():
    started = browser.start()
    yield started
    started.quit()


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Where each page is."""
    folder = tmp_path_factory.mktemp("pages")
    for name, write in PAGES:
        write(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name, _ in PAGES}


@pytest.fixture
def open_page(driver, files):
    """A function that opens a page by name."""
    return lambda name, **options: browser.Page(driver, files[name], **options)


@pytest.fixture(scope="session")
def pictures():
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES
