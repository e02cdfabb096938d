"""Put a finished run of ``modae reproduce`` into the docs: page, pictures, numbers.

modae reproduce --full --source MNIST --out results/full
python docs/pictures/reproduction.py results/full
"""

import json
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1]
PICTURES = {
    "figure1": "Figure 1, redrawn: a modular autoencoder.",
    "figure2": "Figure 2: error against diversity; bands are one standard error over folds and seeds.",
    "section51": "Section 5.1: projected class densities and decision regions at diversity 0 and 0.5.",
    "section52": "Section 5.2: distance correlation of the modules with the data, and with each other.",
}
NUMBERS = ("results", "table1", "figure2", "section51", "section52", "transfer")

BEGIN, END = "<!-- The results begin here. -->\n", "<!-- The results end here. -->\n"


def main(out):
    results = json.loads((out / "results.json").read_text())
    if results["scale"] != "full":
        raise SystemExit("The docs show the full scale: run with --full.")
    (DOCS / "reproduction").mkdir(exist_ok=True)
    for name in NUMBERS:
        shutil.copy(out / f"{name}.json", DOCS / "reproduction" / f"{name}.json")
    for name in PICTURES:
        shutil.copy(out / f"{name}.png", DOCS / "images" / f"reproduction-{name}.png")
    page = DOCS / "reproduction.md"
    head, rest = page.read_text().split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{written(results, out)}\n{END}{rest.split(END)[1]}")


def written(results, out):
    """The part of the page between the two marks."""
    verdicts = [claim["verdict"] for claim in results["claims"]]
    counts = ", ".join(f"{word}: {verdicts.count(word)}" for word in dict.fromkeys(verdicts))
    text = f"**{len(verdicts)} claims. {counts.capitalize()}.**\n\n"
    for name, title in (("figure2", "Figure 2"), ("table1", "Table 1")):
        text += f"## {title}\n\n```text\n{(out / f'{name}.txt').read_text().rstrip()}\n```\n\n"
        text += picture(name) if name in PICTURES else ""
    text += "## Other figures\n\n" + "".join(picture(name) for name in PICTURES if name != "figure2")
    text += "## Every claim\n\n| the paper | checked here | verdict |\n|---|---|---|\n"
    claims = sorted(results["claims"], key=lambda claim: claim["verdict"] == "reproduced")
    return text + "".join(row(claim) for claim in claims)


def picture(name):
    return f"![{PICTURES[name]}](images/reproduction-{name}.png)\n\n*{PICTURES[name]}*\n\n"


def row(claim):
    note = f" *{claim['note']}*" if claim["note"] else ""
    measured = f" **{claim['measured']}**" if claim["measured"] else ""
    cells = (
        f"{claim['where']}: {claim['paper']}",
        f"{claim['check']}.{measured}{note}",
        claim["verdict"],
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
