"""The README's code runs, and prints what the README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(python|text)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PROGRAMS = [
    (
        code,
        BLOCKS[place + 1][1] if BLOCKS[place + 1 : place + 2] and BLOCKS[place + 1][0] == "text" else "",
    )
    for place, (kind, code) in enumerate(BLOCKS)
    if kind == "python"
]


def output_of(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_readme_has_programs():
    assert len(PROGRAMS) >= 2


@pytest.mark.parametrize(("code", "printed"), PROGRAMS)
def test_the_code_prints_what_the_readme_says(code, printed):
    assert output_of(code) == printed


def test_the_comparison_with_plain_pca_is_right():
    code = PROGRAMS[0][0].replace("diversity=0.75", "diversity=0")
    error = re.search(r"([\d.]+)%", output_of(code)).group(1)
    assert f"errs on {error} %" in (ROOT / "README.md").read_text()


def test_the_test_command_is_the_one_that_continuous_integration_runs():
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make test" in (ROOT / ".ci" / "run").read_text()
