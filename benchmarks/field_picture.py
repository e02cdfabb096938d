"""Mean ranks of the methods on one line, and bars over those that no test tells apart."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import rankdata, wilcoxon


def undecided(errors: np.ndarray, level: float = 0.05) -> set[tuple[int, int]]:
    """Pairs of methods that Wilcoxon's test with Holm's correction does not tell apart."""
    pairs = list(combinations(range(errors.shape[1]), 2))
    values = [
        wilcoxon(errors[:, i], errors[:, j]).pvalue if (errors[:, i] != errors[:, j]).any() else 1.0
        for i, j in pairs
    ]
    same, still = set(), True
    for place, which in enumerate(np.argsort(values)):
        still = still and values[which] * (len(pairs) - place) < level
        if not still:
            same.add(pairs[which])
    return same


def draw(results: dict[str, dict[str, dict[str, Any]]], methods: list[str], path: Path) -> None:
    """A critical-difference picture."""
    errors = np.array([[np.mean(each[m]["losses"]) for m in methods] for each in results.values()])
    ranks = np.array([rankdata(row) for row in errors]).mean(axis=0)
    order = np.argsort(ranks)
    same = undecided(errors)
    figure, axes = plt.subplots(figsize=(9, 0.34 * len(methods) + 1.2), layout="constrained")
    low, high = np.floor(ranks.min()), np.ceil(ranks.max())
    for row, place in enumerate(order):
        colour = "C1" if methods[place] == "modae" else "0.25"
        axes.plot([ranks[place], high + 0.1], [-row, -row], color="0.8", linewidth=0.8, zorder=0)
        axes.plot(ranks[place], -row, "o", color=colour)
        axes.text(high + 0.15, -row, f"{methods[place]}  {ranks[place]:.2f}", va="center", color=colour)
    bar = end = 0
    for start, first in enumerate(order):
        ends = [
            stop
            for stop in range(start + 1, len(order))
            if all(tuple(sorted(pair)) in same for pair in combinations(order[start : stop + 1], 2))
        ]
        if ends and ends[-1] > end:  # others are part of one that is there
            bar, end = bar + 1, ends[-1]
            height = 0.6 + 0.3 * bar
            axes.plot([ranks[first], ranks[order[end]]], [height, height], color="C0", linewidth=3)
    axes.set(xlim=(low, high + 0.1), yticks=[], xlabel=f"mean rank over {len(results)} sets (1 is best)")
    axes.spines[["left", "right", "top"]].set_visible(False)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)
