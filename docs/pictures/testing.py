"""The counts of docs/testing.md: ``python docs/pictures/testing.py`` collects and writes them."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from modae.utils.atomic import atomic_write

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing.md"
COMMANDS = {
    "make test": "not slow and not browser",
    "make slow": "slow",
    "make test-browser": "browser",
}
BEGIN, END = "<!-- The counts begin here. -->\n", "<!-- The counts end here. -->\n"


def collected(marker):
    """How many tests each folder has; doctests are those inside src."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", marker]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    names = [line for line in answer.stdout.splitlines() if "::" in line]
    if answer.returncode != 0 or not names:
        raise SystemExit(answer.stdout[-2000:] + answer.stderr[-2000:])
    return Counter(folder(name) for name in names)


def folder(name):
    parts = Path(name.partition("::")[0]).parts
    if parts[0] == "src":
        return "examples in docstrings"
    return f"`tests/{parts[1]}`" if len(parts) > 2 else "`tests/*.py`"


def table():
    counts = [collected(marker) for marker in COMMANDS.values()]
    lines = [["", *(f"`{command}`" for command in COMMANDS)], ["---"] * (1 + len(counts))]
    lines += [[name, *(f"{count[name]:,}" for count in counts)] for name in sorted(set().union(*counts))]
    lines.append(["**all**", *(f"**{count.total():,}**" for count in counts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
    written = table()
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    with atomic_write(PAGE, "w") as file:
        file.write(f"{head}{BEGIN}\n{written}\n\n{END}{rest.split(END)[1]}")
    print(written)


if __name__ == "__main__":
    main()
