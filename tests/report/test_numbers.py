"""Python and the page's script write every number alike."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from modae.utils.text import format_number, percent

TIES = [0.0625, 0.125, 0.1125, 0.00125, 1.005, 0.0115, 2.5, 12.5, 1234.5, 99995.0, 0.99995, 9.9995]
SIZES = [0.0, 1.0, 0.3, 1 / 3, 2 / 3, 1e-6, 9.9999e-7, 1e-7, 1.5e-12, 123456.789, 1e15, 1.5e21, 1e300]
NUMBERS = [
    *TIES,
    *SIZES,
    *np.random.default_rng(0).uniform(-2, 2, 200),
    *(10 ** np.random.default_rng(1).uniform(-9, 12, 200)),
    *(np.arange(400) / 400),  # shares of 400 rows: many halves
]


def by_script(calls):
    """What each expression gives in JavaScript."""
    script = files("modae.report").joinpath("assets", "numbers.js").read_text(encoding="utf-8")
    program = f"{script}\nconsole.log(JSON.stringify([{','.join(calls)}]));"
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("unit", ["", "%"])
@pytest.mark.parametrize("digits", [2, 3, 4])
def test_the_page_rounds_as_python_does(unit, digits):
    values = [sign * float(value) for value in NUMBERS for sign in (1, -1)] + [None]
    written = by_script(f"formatNumber({json.dumps(each)}, '{unit}', {digits})" for each in values)
    assert written == [format_number(each, unit, digits) for each in values]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_cells_round_as_percentages_do():
    shares = [share / 4000 for share in range(400)]  # below 10 %, where a cell has one decimal place
    cells = by_script(f"cellText({share!r}, '%')" for share in shares)
    assert cells == [percent(share).removesuffix("%").removesuffix(".0") for share in shares]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0625, "6.3%"), (0.0115, "1.2%"), (0.1125, "11.3%"), (0.0, "0.0%"), (1.0, "100.0%")],
)
def test_halves_are_rounded_away_from_zero(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\N{EN DASH}"),
        (0.0, "0"),
        (-0.0, "0"),
        (1234.5, "1235"),
        (-0.25, "\N{MINUS SIGN}0.25"),
        (2e-7, "2e\N{MINUS SIGN}7"),
    ],
)
def test_numbers_have_four_digits_and_no_zeros_at_the_end(value, text):
    assert format_number(value) == text
