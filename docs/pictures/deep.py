"""The picture of deep.md, from the numbers in docs/deep: ``python docs/pictures/deep.py``.

The numbers are made by ``python -m benchmarks.deep_diversity --out docs/deep``.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from modae.display.style import BLUE, RED, open_frame

DOCS = Path(__file__).parents[1]


def numbers(name):
    return json.loads((DOCS / "deep" / f"{name}.json").read_text())


def draw(axis, diversities, values, colour, label):
    """Means over repetitions, with bars of one standard error."""
    values = np.asarray(values)
    bars = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    axis.errorbar(diversities, values.mean(axis=1), bars, fmt="o-", color=colour, label=label, capsize=3)


def main():
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    digits = numbers("digits")
    for kind, colour in (("linear", RED), ("deep", BLUE)):
        draw(left, digits["diversities"], 100 * np.array(digits[kind]), colour, f"{kind} modules")
    left.set(title="5,000 digits, vote of 1-NN", xlabel="diversity", ylabel="error, percent")
    regression = numbers("regression")
    for axis, name in ((middle, "diabetes"), (right, "friedman1")):
        values = np.array(regression[name])
        draw(axis, regression["diversities"], values[:, :, 0], RED, "single network")
        draw(axis, regression["diversities"], values[:, :, 1], BLUE, "mean of ten")
        axis.set(title=name, xlabel="diversity", ylabel="squared error, held out")
    for axis in (left, middle, right):
        axis.legend(frameon=False)
        open_frame(axis)
    figure.savefig(DOCS / "images" / "deep-diversity.png", dpi=130)


if __name__ == "__main__":
    main()
