"""Samples of the benchmarks: ``python docs/pictures/datasets.py`` writes docs/images/datasets.png."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from modae.datasets import load_benchmark
from modae.datasets.benchmarks import BENCHMARKS

COLUMNS = 12


def samples(name):
    """A few images, sorted by class, and the name of each one's class."""
    found = load_benchmark(name, 200, random_state=1)
    classes = len(found.target_names)
    per_class = [np.flatnonzero(found.target == label) for label in range(classes)]
    wanted = np.sort(np.arange(COLUMNS) % classes)
    seen = [per_class[label][np.sum(wanted[:column] == label)] for column, label in enumerate(wanted)]
    return found.images[seen], found.target_names[wanted]


def main():
    figure, axes = plt.subplots(
        len(BENCHMARKS), COLUMNS, figsize=(COLUMNS * 0.8, len(BENCHMARKS) * 0.95), layout="constrained"
    )
    for row, name in zip(axes, BENCHMARKS, strict=True):
        for axis, image, label in zip(row, *samples(name), strict=True):
            axis.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            axis.set_title(label, fontsize=7, pad=2)
            axis.set(xticks=[], yticks=[])
        row[0].set_ylabel(name.replace("_", "\n"), fontsize=8, rotation=0, ha="right", va="center")
    target = Path(__file__).parents[1] / "images" / "datasets.png"
    figure.savefig(target, dpi=130)
    print(target.relative_to(Path.cwd()))


if __name__ == "__main__":
    main()
