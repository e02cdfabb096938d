"""The code in the README and the docs runs, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/ensembles.md",
    "docs/files.md",
    "docs/onnx.md",
    "docs/scale-dask.md",
    "docs/scale-devices.md",
    "docs/scale-streams.md",
    "docs/deep.md",
)


def programs_of(page):
    """Each block of Python, and the block of text after it, which is what it prints."""
    blocks = re.findall(r"```(python|text)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    following = [*blocks[1:], ("", "")]
    return [
        pytest.param(
            code,
            printed if after == "text" else "",
            id=f"{page}-{place}",
            marks=[pytest.mark.slow] if page == "docs/deep.md" else [],  # training takes a while
        )
        for place, ((kind, code), (after, printed)) in enumerate(zip(blocks, following, strict=True))
        if kind == "python"
    ]


PROGRAMS = [program for page in PAGES for program in programs_of(page)]


def output_of(code, directory):
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=directory)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_page_has_programs():
    assert all(programs_of(page) for page in PAGES)


@pytest.mark.parametrize(("code", "printed"), PROGRAMS)
def test_the_code_prints_what_the_page_says(code, printed, tmp_path):
    assert output_of(code, tmp_path) == printed


def test_the_test_command_is_the_one_that_continuous_integration_runs():
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make test" in (ROOT / ".ci" / "run").read_text()
