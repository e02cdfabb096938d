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

HEAD = """# The paper, reproduced

{summary}. Made by

```
modae reproduce --full --source MNIST --out results/full
python docs/pictures/reproduction.py results/full
```

where `MNIST` is a folder with the original IDX files. Figure 2 and section 5.2: 12,000 images of each
data set (8,000 of convex), 21 diversities, five folds, three seeds, each with images, folds and modules
of its own. All numbers are in `docs/reproduction/` as JSON. `modae reproduce` without `--full` runs
everything on small samples in two minutes, and ends with an error if a claim that was reproduced stops
holding.

"""


def main(out):
    results = json.loads((out / "results.json").read_text())
    if results["scale"] != "full":
        raise SystemExit("The docs show the full scale: run with --full.")
    (DOCS / "reproduction").mkdir(exist_ok=True)
    for name in NUMBERS:
        shutil.copy(out / f"{name}.json", DOCS / "reproduction" / f"{name}.json")
    for name in PICTURES:
        shutil.copy(out / f"{name}.png", DOCS / "images" / f"reproduction-{name}.png")
    (DOCS / "reproduction.md").write_text(page(results, out))


def page(results, out):
    verdicts = [claim["verdict"] for claim in results["claims"]]
    counts = ", ".join(f"{word}: {verdicts.count(word)}" for word in dict.fromkeys(verdicts))
    text = HEAD.format(summary=f"{len(verdicts)} claims; {counts}")
    text += "## Tables and figures\n\n"
    for name, title in (("figure2", "Figure 2"), ("table1", "Table 1: one thread, moments included")):
        text += f"### {title}\n\n```text\n{(out / f'{name}.txt').read_text().rstrip()}\n```\n\n"
    for name, words in PICTURES.items():
        text += f"![{words}](images/reproduction-{name}.png)\n\n*{words}*\n\n"
    text += "## Every claim\n\n| the paper | checked here | verdict |\n|---|---|---|\n"
    return text + "".join(row(claim) for claim in results["claims"])


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
