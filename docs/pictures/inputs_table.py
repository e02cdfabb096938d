"""The tables of docs/inputs.md: ``python docs/pictures/inputs_table.py`` writes them again.

They come from the cases in tests/sources/awkward.py, which the tests run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from sources.awkward import CASES

PAGE = Path(__file__).parents[1] / "inputs.md"
START = "<!-- The tables begin here. -->\n"


def table(title, cases):
    """One section: a heading and a table of input against outcome."""
    rows = [f"| {case.name} | {case.gives} |" for case in cases]
    return "\n".join([f"## {title}", "", "| Input | What it gives |", "|---|---|", *rows, ""])


def updated():
    """The page as it should be: its own introduction, then a table for each section."""
    introduction = PAGE.read_text().partition(START)[0]
    tables = "\n".join(table(title, cases) for title, cases in CASES.items())
    return f"{introduction}{START}\n{tables}"


if __name__ == "__main__":
    PAGE.write_text(updated())
    print(f"docs/{PAGE.name}: {sum(map(len, CASES.values()))} inputs")
