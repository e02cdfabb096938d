"""The pages hold together: links, anchors, pictures, the table of contents, the list of public names."""

import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import pytest

import modae

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = Path(modae.__file__).parent
PAGES = [*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*.md"))]
MADE = {"recipes/index"}
"""Pages that the gallery makes when the site is built."""


def prose(page):
    """The text of a page without its programs and formulas, in which brackets mean something else."""
    text = re.sub(r"^(```+)(?!\{).*?^\1$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\$[^$]*\$", "", text)


def links(page):
    """Targets of links and pictures that stay inside the repository."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [unquote(target) for target in targets if not re.match(r"[a-z]+:", target)]


def included(page):
    """Files whose text a page shows as its own."""
    found = re.findall(r"^```\{include\} (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    return [(page.parent / name).resolve() for name in found]


def anchors(page):
    """Headings as MyST and GitHub name them, those of included files too."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)
    own = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return own.union(*map(anchors, included(page)))


def broken(page):
    """Links of a page that lead nowhere, each with the reason."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path)
        if not file.exists():
            yield f"{target}: there is no {file}"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: no such heading; there are {sorted(anchors(file))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    assert not list(broken(page))


def test_every_file_that_a_page_names_is_there():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"`((?:benchmarks|docs|examples|src|tests)/[\w./-]*)`", text)
        assert not [name for name in named if not (ROOT / name).exists()], page


def test_a_broken_link_would_be_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One heading\n\n[a](#one-heading) [b](#another) [c](gone.md) `[d](code.md)`\n")
    assert [reason.partition(":")[0] for reason in broken(page)] == ["#another", "gone.md"]


def contents(page):
    """Pages in the tables of contents of one page."""
    found = re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [line for block in found for line in block.splitlines() if line and line[0] != ":"]


def test_every_page_is_in_one_table_of_contents_and_every_entry_is_a_page():
    entries = [entry for page in DOCS.glob("*.md") for entry in contents(page)]
    assert sorted(set(entries)) == sorted(entries)
    shown = {file.stem for page in DOCS.glob("*.md") for file in included(page) if file.parent == DOCS}
    assert set(entries) - MADE == {page.stem for page in DOCS.glob("*.md")} - {"index"} - shown


def listed(part):
    """``__all__`` of a part of modae, read from its text: importing torch would take seconds."""
    for node in ast.parse((PACKAGE / part / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return []


def public_names():
    """Full names of everything that modae and its public parts list in ``__all__``."""
    names = [name for name in modae.__all__ if name != "core"]
    parts = [name for name in names if (PACKAGE / name).is_dir()]
    return {f"modae.{name}" for name in names} | {
        f"modae.{part}.{name}" for part in parts for name in listed(part)
    }


def test_every_public_name_is_on_the_api_page():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    lists = re.findall(r"^\.\. autosummary::\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    documented = {
        f"modae.{name}" for block in lists for name in re.findall(r"^   ([\w.]+)$", block, re.MULTILINE)
    }
    documented |= set(re.findall(r"`(modae\.\w+)`", page))
    assert public_names() <= documented


def test_every_core_function_that_the_theory_links_to_is_on_a_page_of_functions():
    core, public = ((DOCS / name).read_text(encoding="utf-8") for name in ("api-core.md", "api.md"))
    for name in ("theory.md", "beyond.md"):
        for link in re.findall(r"\{py:func\}`~?([\w.]+)`", (DOCS / name).read_text(encoding="utf-8")):
            assert (
                f".. autofunction:: {link}\n" in core or f"   {link.removeprefix('modae.')}\n" in public
            ), link


def test_the_picture_of_the_layers_is_the_one_that_its_script_draws(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS / "pictures"), *sys.path])
    drawn = import_module("layers").drawing()
    stored = (DOCS / "images" / "layers.svg").read_text(encoding="utf-8")
    assert stored == drawn, "out of date: run python docs/pictures/layers.py"


def test_every_picture_is_shown_somewhere():
    shown = {Path(target).name for page in PAGES for target in links(page)}
    assert {picture.name for picture in (DOCS / "images").iterdir()} <= shown


def test_every_script_of_a_picture_or_a_table_is_named_on_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for script in (DOCS / "pictures").glob("*.py"):
        assert f"python docs/pictures/{script.name}" in text, script.name
