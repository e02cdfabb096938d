"""The oldest versions that are tested are the lower bounds that are promised."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
FILE = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = FILE["project"], FILE["dependency-groups"]
EXTRAS = PROJECT["optional-dependencies"]


def bounds(requirements):
    """Package -> its lower bound."""
    parsed = [Requirement(each) for each in requirements]
    return {
        each.name: part.version for each in parsed for part in each.specifier if part.operator == ">="
    }


NEEDED = [
    each for group in GROUPS.values() for each in group if isinstance(each, str)
]  # others include groups
TOOLS = bounds(NEEDED)
PINNED = {each.partition("==")[0] for each in NEEDED if "==" in each}
PROMISED = bounds(PROJECT["dependencies"]) | bounds(each for names in EXTRAS.values() for each in names)
LINES = [
    line.partition("#")[0].strip() for line in (ROOT / ".github/oldest.txt").read_text().splitlines()
]
TESTED = {line.partition("==")[0]: line.partition("==")[2].removesuffix(".*") for line in LINES if line}


def as_numbers(version):
    """Without zeros at the end: 1.26 and 1.26.0 are one version."""
    return tuple(int(part) for part in re.sub(r"(\.0)+$", "", version).split("."))


@pytest.mark.parametrize("name", sorted(PROMISED.keys() - PINNED))
def test_every_lower_bound_is_tested(name):
    assert as_numbers(TESTED[name]) == as_numbers(PROMISED[name])


@pytest.mark.parametrize("name", sorted(TESTED.keys() & TOOLS.keys() - PROMISED.keys()))
def test_tools_are_tested_at_their_bounds_too(name):
    assert as_numbers(TESTED[name]) == as_numbers(TOOLS[name])
