"""The pictures of docs/choosing.md: ``python docs/pictures/choosing.py``, about five minutes.

Three data sets, six random halves of each: train on one half, count errors on the other. The members are
1-nearest-neighbour classifiers with a hard vote. One decomposition of each half serves every M, H and
diversity. The numbers go to docs/choosing/curves.json; ``--draw`` draws them again without computing.
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from modae import LinearModularAutoencoder, ModularClassifier
from modae.core.allocation import allocate
from modae.datasets import load_benchmark
from modae.utils.atomic import atomic_write

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "choosing" / "curves.json"
SPLITS = 6
DIVERSITIES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]
MODULES = [1, 2, 3, 5, 10, 20, 50, 100]
LEVELS = [0.0, 0.5, 0.7, 0.9]
COLOURS = ["#555555", "#56B4E9", "#0072B2", "#D55E00"]
TITLES = {
    "digits": "digits, 64 columns",
    "mnist": "MNIST, 784 columns",
    "cancer": "breast cancer, 30 columns",
}
SIZES = {"digits": (4, 8, 16), "mnist": (5, 10, 20), "cancer": (2, 4, 8)}
WIDTHS = {
    "digits": [1, 2, 3, 5, 8, 12, 18, 27, 40],
    "mnist": [1, 2, 4, 7, 10, 15, 22, 33, 50],
    "cancer": [1, 2, 3, 4, 6, 8, 12, 18, 26],
}


def data(name):
    """Rows on a common scale, and labels."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "mnist":
        return load_benchmark("basic", 2000, random_state=0, return_X_y=True)
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


class Half:
    """One random half to train on, and the errors of ensembles on the other."""

    def __init__(self, X, y, widest, seed):
        self.train, self.test, self.y_train, self.y_test = train_test_split(
            X, y, test_size=0.5, random_state=seed, stratify=y
        )
        # The largest fit first: the others come from its spectrum.
        largest = LinearModularAutoencoder(max(MODULES), widest, 0.5, random_state=seed)
        self.model = largest.fit(self.train)
        self.eigenvalues = self.model.eigenvalues_
        self.known = {}

    def errors(self, n_modules, n_components, diversity):
        """Percent of wrong votes."""
        asked = (n_modules, n_components, diversity)
        if asked not in self.known:
            self.known[asked] = self._errors(*asked)
        return self.known[asked]

    def _errors(self, n_modules, n_components, diversity):
        # At diversity 0 all modules are one PCA: one member is the whole vote.
        members = n_modules if diversity > 0.0 else 1
        extractor = self.model.with_params(
            n_modules=members, n_components=n_components, diversity=diversity
        )
        vote = ModularClassifier(FrozenEstimator(extractor)).fit(self.train, self.y_train)
        return float(100 * np.mean(vote.predict(self.test) != self.y_test))


def curves(name, seeds):
    """All curves of one data set: a list of errors for each half."""
    X, y = data(name)
    middle = SIZES[name][1]
    found = {"diversity": {}, "modules": {}, "components": {}, "reached": {}}
    halves = [Half(X, y, WIDTHS[name][-1], seed) for seed in seeds]
    for width in SIZES[name]:
        found["diversity"][width] = [[h.errors(20, width, d) for d in DIVERSITIES] for h in halves]
        found["reached"][width] = [
            [reached(h.eigenvalues, 20, width, d) for d in DIVERSITIES] for h in halves
        ]
    for level in LEVELS:
        found["modules"][level] = [[h.errors(m, middle, level) for m in MODULES] for h in halves]
        found["components"][level] = [[h.errors(20, k, level) for k in WIDTHS[name]] for h in halves]
    return found


def reached(eigenvalues, n_modules, n_components, diversity):
    """Principal components that any module looks at."""
    leading = eigenvalues[: n_modules * n_components]
    shares = allocate(leading, n_modules, n_components, diversity).shares
    return int(np.count_nonzero(shares > 1e-9))


def draw(results):
    figure, grid = plt.subplots(3, 3, figsize=(11, 9.5), layout="constrained")
    for axes, (name, found) in zip(grid, results.items(), strict=True):
        middle = SIZES[name][1]
        panels = [
            ("diversity", DIVERSITIES, "{} components", "20 modules"),
            ("modules", MODULES, "diversity {}", f"{middle} components"),
            ("components", WIDTHS[name], "diversity {}", "20 modules"),
        ]
        pcas = np.mean(found["components"]["0.0"], axis=0)  # diversity 0, for each number of components
        for axis, (kind, places, label, fixed) in zip(axes, panels, strict=True):
            draw_panel(axis, found[kind], places, label)
            name_of_best = f"best PCA: {WIDTHS[name][pcas.argmin()]} components"
            axis.axhline(pcas.min(), color="black", ls=":", lw=1.2, label=name_of_best)
            axis.legend(frameon=False, fontsize=8)
            axis.set(title=f"{TITLES[name]}; {fixed}", xlabel=kind, ylabel="wrong votes (%)")
            axis.title.set_fontsize(9)
            if kind != "diversity":
                axis.set_xscale("log")
                axis.set_xticks(places, [str(place) for place in places], fontsize=8)
                axis.minorticks_off()
    save(figure, "choosing-errors")
    draw_reach(results)


def draw_panel(axis, lines, places, label):
    """Mean and one standard error over the halves, for each line."""
    colours = COLOURS[-len(lines) :]
    lowest = []
    for (key, values), colour in zip(lines.items(), colours, strict=True):
        votes = np.array(values)
        mean, band = votes.mean(axis=0), votes.std(axis=0, ddof=1) / np.sqrt(len(votes))
        axis.plot(places, mean, color=colour, lw=1.8, marker=".", label=label.format(key))
        axis.fill_between(places, mean - band, mean + band, color=colour, alpha=0.25, lw=0)
        lowest.append(mean.min())
    axis.set_ylim(0, min(60, 6 * min(lowest) + 2))
    axis.spines[["top", "right"]].set_visible(False)


def draw_reach(results):
    """How many components the modules look at, with the best diversity of each size."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axis, (name, found) in zip(axes, results.items(), strict=True):
        for (width, counts), colour in zip(found["reached"].items(), COLOURS[1:], strict=True):
            share = np.array(counts).mean(axis=0) / int(width)
            votes = np.array(found["diversity"][width]).mean(axis=0)
            best = votes.argmin()
            axis.plot(DIVERSITIES, share, color=colour, lw=1.8, label=f"{width} components")
            axis.plot(DIVERSITIES[best], share[best], "o", color=colour, ms=8)
            print(
                f"{name:7s} H {width:>2}: best diversity {DIVERSITIES[best]:.2f},"
                f" {votes[best]:.1f} % (PCA {votes[0]:.1f} %), {share[best]:.1f} H components reached"
            )
        axis.set(title=TITLES[name], xlabel="diversity", ylabel="components reached / H", ylim=(0, 10))
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    save(figure, "choosing-reach")


def save(figure, name):
    target = DOCS / "images" / f"{name}.png"
    figure.savefig(target, dpi=110)
    print(f"docs/images/{target.name}: {target.stat().st_size // 1000} kB")
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", action="store_true", help="draw the stored numbers again")
    if not parser.parse_args().draw:
        RESULTS.parent.mkdir(exist_ok=True)
        results = {name: curves(name, range(SPLITS)) for name in TITLES}
        with atomic_write(RESULTS, "w") as file:
            json.dump(results, file)
    draw(json.loads(RESULTS.read_text()))


if __name__ == "__main__":
    main()
