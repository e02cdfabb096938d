"""The page as text: what is inside, and what can never get inside."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given
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


def facts_inside(html):
    [(_, text)] = Elements(html).named("script", id="facts")
    return json.loads(text)


@pytest.mark.parametrize("make", [example_facts.facts, example_facts.single, example_facts.hostile])
def test_the_facts_are_inside_as_they_were(make):
    assert facts_inside(page.render(make())) == make()


def test_hostile_names_add_no_element():
    def tags(facts):
        return [tag for tag, _ in Elements(page.render(facts)).found]

    assert tags(example_facts.hostile()) == tags(example_facts.facts())


@given(text=st.text(), number=st.floats(allow_nan=False, allow_infinity=False) | st.none())
def test_any_text_and_number_survive(text, number):
    facts = {"title": text, "footer": [text, number], text: text}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "SCRIPTS", ())
        html = page.render(facts)
    assert facts_inside(html) == facts
    assert len(Elements(html).named("script")) == 2
    assert html.encode()


def test_a_lone_surrogate_does_not_stop_the_page():
    html = page.render(example_facts.facts(title="a\ud800b", footer=["\ud800"]))
    assert html.encode()
    assert facts_inside(html)["footer"] == ["\ud800"]


def test_the_title_is_text():
    elements = Elements(page.render(example_facts.hostile()))
    assert [text for _, text in elements.named("title")] == [example_facts.HOSTILE + "\n"]


def test_only_the_script_and_the_style_of_the_page_are_used():
    html = page.render(example_facts.facts())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for tag, kind in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert rules.pop(kind) == f"'sha256-{digest}'"
    assert rules.pop("img-src") == "data:"
    assert set(rules.values()) == {"'none'"}
    assert rules["default-src"] == "'none'"


def test_a_page_is_small():
    """Everything is in it, and nothing that is large: a page without facts has less than 100 kB."""
    assert len(page.render({"title": ""}).encode()) < 100_000


def test_nothing_is_loaded_from_elsewhere():
    elements = Elements(page.render(example_facts.facts()))
    addresses = [attrs.get("src") or attrs.get("href") for _, attrs in elements.found]
    outside = [address for address in addresses if address and not address.startswith(("#", "data:"))]
    assert outside == []
    assert "url(" not in "".join(text for _, text in elements.named("style"))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_must_be_finite(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        page.render(example_facts.facts(diversities=[value]))


def test_every_script_is_used_and_short():
    assets = files("modae.report").joinpath("assets")
    found = {asset.name: asset.read_text(encoding="utf-8") for asset in assets.iterdir()}
    assert {name for name in found if name.endswith(".js")} == set(page.SCRIPTS)
    assert max(text.count("\n") for text in found.values()) < 250
