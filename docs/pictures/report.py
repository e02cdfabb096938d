"""The example page docs/_pages/digits.html, and with --picture docs/images/report.png (needs chromium).

python docs/pictures/report.py [--picture]
"""

import subprocess
import sys
from pathlib import Path

from sklearn.datasets import load_digits

import modae

DOCS = Path(__file__).parents[1]
PAGE, PICTURE = DOCS / "_pages" / "digits.html", DOCS / "images" / "report.png"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
)


def write_page():
    X, y = load_digits(return_X_y=True)
    modules = modae.LinearModularAutoencoder(10, 5, diversity=0.7, random_state=0)
    vote = modae.ModularClassifier(modules, random_state=0).fit(X, y)
    PAGE.parent.mkdir(exist_ok=True)
    title = "Handwritten digits: ten modules of five components"
    modae.report.build(vote, X, y, title=title, n_jobs=2).save(PAGE)


def take_picture():
    look = [
        "--window-size=1280,1200",
        "--hide-scrollbars",
        "--virtual-time-budget=10000",
        f"--screenshot={PICTURE}",
    ]
    subprocess.run(["chromium", *FLAGS, *look, PAGE.as_uri()], check=True)


if __name__ == "__main__":
    write_page()
    if "--picture" in sys.argv:
        take_picture()
