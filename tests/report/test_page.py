"""The page as text: what is inside, and what can never get inside."""

import json
import re
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modae.report import page
from report import example_facts


class Elements(HTMLParser):
    """Every element with its attributes and the text after it, as a browser reads them."""

    def __init__(self, html):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data

    def named(self, tag, **attributes):
        pairs = zip(self.found, self.texts, strict=True)
        return [
            (attrs, text)
            for (found, attrs), text in pairs
            if found == tag and all(attrs.get(name) == value for name, value in attributes.items())
        ]


@pytest.fixture
def small_script(monkeypatch):
    """Without the five megabytes that draw."""
    monkeypatch.setattr(page, "plotly_script", lambda: "let Plotly;")


def facts_inside(html):
    [(_, text)] = Elements(html).named("script", id="facts")
    return json.loads(text)


@pytest.mark.parametrize("make", [example_facts.facts, example_facts.single, example_facts.hostile])
def test_the_facts_are_inside_as_they_were(make, small_script):
    assert facts_inside(page.render(make())) == make()


def test_hostile_names_add_no_element(small_script):
    def tags(facts):
        return [tag for tag, _ in Elements(page.render(facts)).found]

    assert tags(example_facts.hostile()) == tags(example_facts.facts())


@settings(deadline=None)
@given(text=st.text(), number=st.floats(allow_nan=False, allow_infinity=False) | st.none())
def test_any_text_and_number_survive(text, number):
    facts = {"title": text, "footer": [text, number], text: text}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "plotly_script", lambda: "let Plotly;")
        patch.setattr(page, "SCRIPTS", ())
        html = page.render(facts)
    assert facts_inside(html) == facts
    assert len(Elements(html).named("script")) == 4
    assert html.encode()


def test_a_lone_surrogate_does_not_stop_the_page(small_script):
    html = page.render(example_facts.facts(title="a\ud800b", footer=["\ud800"]))
    assert html.encode()
    assert facts_inside(html)["footer"] == ["\ud800"]


def test_the_title_is_text(small_script):
    elements = Elements(page.render(example_facts.hostile()))
    assert [text for _, text in elements.named("title")] == [example_facts.HOSTILE + "\n"]


def test_only_the_scripts_of_the_page_may_run():
    html = page.render(example_facts.facts())
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in scripts]
    assert len(digests) == 2
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert f"content=\"default-src 'none'; script-src {allowed}; style-src" in html


def test_nothing_is_loaded_from_elsewhere(small_script):
    elements = Elements(page.render(example_facts.facts()))
    addresses = [attrs.get("src") or attrs.get("href") for _, attrs in elements.found]
    outside = [address for address in addresses if address and not address.startswith(("#", "data:"))]
    assert outside == []
    assert "url(" not in "".join(text for _, text in elements.named("style"))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_must_be_finite(value, small_script):
    with pytest.raises(ValueError, match="JSON compliant"):
        page.render(example_facts.facts(diversities=[value]))


def test_without_plotly_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(
        ImportError, match=r'A report cannot be used without plotly.*: pip install "modae\[report\]"'
    ):
        page.render(example_facts.facts())


def test_every_script_is_used_and_short():
    assets = files("modae.report").joinpath("assets")
    found = {asset.name: asset.read_text(encoding="utf-8") for asset in assets.iterdir()}
    assert {name for name in found if name.endswith(".js")} == set(page.SCRIPTS)
    assert max(text.count("\n") for text in found.values()) < 250
