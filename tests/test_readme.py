"""The code in the README and on every page of docs runs, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOW = {"docs/deep.md"}
"""Pages whose programs train for a while."""

PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n?```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def pages():
    """The README and all pages, by their place in the repository; recipes are run by the gallery."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page.relative_to(ROOT).as_posix() for page in found]


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def programs_of(page):
    """Each block of Python, and the block of text right after it, which is what it prints."""
    blocks = PROGRAM.findall(read(page))
    marks = [pytest.mark.slow] if page in SLOW else []
    return [
        pytest.param(code, printed, id=f"{page}-{place}", marks=marks)
        for place, (code, printed) in enumerate(blocks)
    ]


PROGRAMS = [program for page in pages() for program in programs_of(page)]


def output_of(code, directory):
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=directory)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_programs_are_found():
    assert all(programs_of(page) for page in ("README.md", "docs/quickstart.md", *SLOW))
    every = sum(page.count("```python\n") for page in map(read, pages()))
    assert len(PROGRAMS) == every


@pytest.mark.parametrize(("code", "printed"), PROGRAMS)
def test_the_code_prints_what_the_page_says(code, printed, tmp_path):
    assert output_of(code, tmp_path) == printed


def test_the_test_command_is_the_one_that_continuous_integration_runs():
    assert "make test" in read("README.md")
    assert "make test" in (ROOT / ".ci" / "run").read_text()
