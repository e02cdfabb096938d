"""Ratios inside one run: the runs alternate, so that a slow minute of the machine hits both sides.

The fastest run of each side counts: other work on the machine only ever adds time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter


def seconds(function: Callable[[], object]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


@dataclass(frozen=True)
class Ratio:
    """How long one thing takes compared with another, and the limit it should keep."""

    name: str
    numerator: float
    denominator: float
    limit: float
    at_least: bool = False

    @property
    def value(self) -> float:
        return self.numerator / self.denominator

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        word = "ok" if self.holds else "MISSED"
        return (
            f"{self.name:<52} {self.numerator:8.3f} s / {self.denominator:6.3f} s = {self.value:7.2f}"
            f"   (limit {sign} {self.limit:g}) {word}"
        )


def report(ratios: Sequence[Ratio]) -> None:
    """Print every ratio; the exit code says whether all limits were kept."""
    print(*ratios, sep="\n")
    raise SystemExit(not all(ratio.holds for ratio in ratios))


def alternate(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    limit: float,
    repeats: int = 5,
) -> Ratio:
    """Ratio of the fastest of ``repeats`` alternating runs, after one run of each to warm up."""
    ours(), theirs()
    pairs = [(seconds(theirs), seconds(ours)) for _ in range(repeats)]
    return Ratio(name, min(b for _, b in pairs), min(a for a, _ in pairs), limit)
