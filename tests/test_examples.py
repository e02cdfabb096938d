"""Recipes: `make docs` runs all of them; those with processes and files are run as scripts here too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
APART = [script for script in SCRIPTS if script.stem[:2] in ("06", "07", "08")]
"""They write files or start processes, and must do so from a folder of their own."""


def test_there_are_recipes():
    assert len(SCRIPTS) >= 10
    assert (EXAMPLES / "GALLERY_HEADER.rst").is_file()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_recipe_is_short_and_has_a_title(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 95
    assert lines[0] == '"""'
    assert lines[2] == "=" * len(lines[1])


@pytest.mark.slow
@pytest.mark.parametrize("script", APART, ids=lambda script: script.stem)
def test_a_recipe_runs_and_leaves_nothing_behind(script, tmp_path):
    command = [sys.executable, "-W", "error", str(script)]
    environment = os.environ | {"MPLBACKEND": "Agg"}
    found = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout
    left = [each.name for each in tmp_path.iterdir()]
    # Under ``make coverage`` each process leaves what it measured.
    assert not [name for name in left if not name.startswith(".coverage")]
