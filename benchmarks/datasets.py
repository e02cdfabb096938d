"""The six benchmarks in figures: ``python -m benchmarks.datasets``.

Seconds to make them, the error of the nearest neighbour, and the white area of the classes of convex.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.data import MNIST_DIRECTORY
from benchmarks.timing import seconds
from modae.datasets import load_benchmark
from modae.datasets.benchmarks import BENCHMARKS, DIGITS
from modae.datasets.sources import idx_files


def speed() -> None:
    """12,000 images of each, but 5,000 of digits if there are no IDX files. Reading them counts."""
    complete = idx_files(MNIST_DIRECTORY)
    source, n_digits = (MNIST_DIRECTORY, 12_000) if complete else ("embedded", 5_000)
    for name, benchmark in BENCHMARKS.items():
        n_samples = n_digits if benchmark.target_names == DIGITS else 12_000
        load = partial(load_benchmark, name, n_samples, source=source, random_state=0)
        load()  # reads what is kept from then on
        print(f"{name:<18} {n_samples:6,} images {seconds(load):6.2f} s")


def difficulty() -> None:
    """Error of the nearest neighbour: 2,000 images, five folds."""
    for name in BENCHMARKS:
        X, y = load_benchmark(name, 2_000, random_state=0, return_X_y=True)
        error = 1 - cross_val_score(KNeighborsClassifier(1), X, y, cv=5).mean()
        print(f"{name:<18} error of 1-NN {error:7.2%}")


def white_area() -> None:
    """Mean number of white pixels in the classes of convex, over four seeds."""
    loads = [load_benchmark("convex", 12_000, random_state=seed) for seed in range(4)]
    area = np.concatenate([found.data.sum(axis=1) for found in loads])
    labels = np.concatenate([found.target for found in loads])
    for label, name in enumerate(loads[0].target_names):
        own = area[labels == label]
        print(f"{name:<18} {own.mean():.1f} +- {own.std() / np.sqrt(len(own)):.1f} white pixels")


if __name__ == "__main__":
    speed()
    difficulty()
    white_area()
