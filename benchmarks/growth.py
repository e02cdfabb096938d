"""How the cost of a fit grows with rows, features, modules and components: ``make bench``.

Every curve has its peer, a PCA with as many components as all modules together, in the same alternating
runs; the exponent is the slope of a straight line in doubly logarithmic axes.
``python -m benchmarks.growth --picture docs/images/growth.png`` draws the curves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.data import digits
from benchmarks.timing import seconds
from modae import LinearModularAutoencoder
from modae.data.moments import moments_of_rows
from modae.display.style import BLUE, GREY, RED, open_frame, pyplot

ROWS = (5_000, 10_000, 20_000, 40_000, 70_000)
FEATURES = (100, 200, 400, 800, 1_600)
MODULES = (2, 5, 10, 20, 50)
COMPONENTS = (1, 2, 5, 10, 20, 50)
REPEATS = 4

LINEAR = (0.85, 1.15)
"""Between these an exponent counts as linear."""

Task = Callable[[], object]


@dataclass(frozen=True)
class Curve:
    """Seconds over sizes, for several tasks by name."""

    axis: str
    title: str
    sizes: Sequence[int]
    seconds: dict[str, list[float]]

    def exponent(self, name: str) -> float:
        """Slope of log seconds over log size, by least squares."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds[name]), 1)[0])

    def __str__(self) -> str:
        lines = [f"{self.title}", f"  {self.axis:<24}" + "".join(f"{size:>9,}" for size in self.sizes)]
        for name, values in self.seconds.items():
            numbers = "".join(f"{1e3 * value:>9.1f}" for value in values)
            lines.append(f"  {name + ', ms':<24}{numbers}   exponent {self.exponent(name):5.2f}")
        return "\n".join(lines)


def measured(
    axis: str, title: str, sizes: Sequence[int], tasks: Callable[[int], dict[str, Task]]
) -> Curve:
    """The fastest of alternating runs of all tasks at each size.

    Sizes are measured one after the other, so a slow minute of the machine would bend a median.
    """
    columns = []
    for size in sizes:
        at_size = tasks(size)
        for task in at_size.values():
            task()
        runs = [[seconds(task) for task in at_size.values()] for _ in range(REPEATS)]
        columns.append([min(each) for each in zip(*runs, strict=True)])
    rows = zip(*columns, strict=True)
    return Curve(axis, title, sizes, dict(zip(tasks(sizes[0]), map(list, rows), strict=True)))


def fit_and_pca(X: np.ndarray, n_modules: int, n_components: int) -> dict[str, Task]:
    model = LinearModularAutoencoder(n_modules, n_components, 0.5, random_state=0)
    whole = PCA(min(n_modules * n_components, X.shape[1]), svd_solver="covariance_eigh")
    return {"fit": lambda: model.fit(X), "PCA": lambda: whole.fit(X)}


def over_rows() -> Curve:
    X, _ = digits(ROWS[-1])

    def tasks(size: int) -> dict[str, Task]:
        part = X[:size]
        sums = {"sums over the rows": lambda: moments_of_rows(part)}
        return fit_and_pca(part, 10, 10) | sums

    return measured("rows", "784 features, M = H = 10", ROWS, tasks)


def over_features(n_rows: int = 10_000) -> Curve:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, FEATURES[-1])) / np.arange(1, FEATURES[-1] + 1) ** 0.5

    def tasks(size: int) -> dict[str, Task]:
        return fit_and_pca(np.ascontiguousarray(X[:, :size]), 10, 10)

    return measured("features", f"{n_rows:,} rows, M = H = 10", FEATURES, tasks)


def over_modules(X: np.ndarray) -> Curve:
    def tasks(size: int) -> dict[str, Task]:
        return fit_and_pca(X, size, 10) | {"with_diversity": another_diversity(X, size, 10)}

    return measured("modules", "10,000 x 784, H = 10", MODULES, tasks)


def over_components(X: np.ndarray) -> Curve:
    def tasks(size: int) -> dict[str, Task]:
        return fit_and_pca(X, 10, size) | {"with_diversity": another_diversity(X, 10, size)}

    return measured("components", "10,000 x 784, M = 10", COMPONENTS, tasks)


def another_diversity(X: np.ndarray, n_modules: int, n_components: int) -> Task:
    """The solve alone: the axes are those of a fit."""
    model = LinearModularAutoencoder(n_modules, n_components, 0.3, random_state=0).fit(X)
    return lambda: model.with_diversity(0.5)


COLOURS = {"fit": BLUE, "PCA": RED}


def draw(curves: Sequence[Curve], path: Path) -> None:
    """One panel for each curve."""
    figure, panels = pyplot().subplots(1, len(curves), figsize=(12, 3.4), layout="constrained")
    for curve, panel in zip(curves, panels, strict=True):
        for name, values in curve.seconds.items():
            label = f"{name}: exponent {curve.exponent(name):.2f}"
            panel.loglog(curve.sizes, values, "o-", color=COLOURS.get(name, GREY), label=label)
        panel.set(title=curve.title, xlabel=curve.axis)
        panel.set_xticks(curve.sizes, [f"{size:,}" for size in curve.sizes], rotation=35)
        panel.minorticks_off()
        panel.set_ylim(top=15 * max(max(values) for values in curve.seconds.values()))
        panel.legend(frameon=False, fontsize=8, loc="upper left")
        open_frame(panel)
    panels[0].set_ylabel("seconds")
    figure.savefig(path, dpi=130)


def main() -> None:
    """Measure, print, draw; fail if the cost is not linear in the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    picture = parser.parse_args().picture
    X, source = digits(10_000)
    print(f"{source}; the fastest of {REPEATS} alternating runs")
    curves = [over_rows(), over_features(), over_modules(X), over_components(X)]
    print(*curves, sep="\n")
    slope = curves[0].exponent("sums over the rows")
    holds = LINEAR[0] <= slope <= LINEAR[1] and curves[0].exponent("fit") <= LINEAR[1]
    limits = "between {} and {}".format(*LINEAR)
    print(f"cost in the rows: exponent {slope:.2f} ({limits}) {'ok' if holds else 'MISSED'}")
    if picture:
        draw(curves, picture)
    raise SystemExit(not holds)


if __name__ == "__main__":
    main()
