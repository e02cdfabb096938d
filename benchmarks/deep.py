"""Speed of modules that train together in one batched computation: part of ``make bench``.

Ten modules of width 64 do the same products as a loop over networks, and a few more; what training them
together saves is the time to write and read reconstructions. So that ratio depends on the processor: it
was between 0.60 and 0.80 on those that it was measured on, where products alone were 0.59 of the loop.

``python -m benchmarks.deep --picture PATH`` draws the seconds of an epoch over the number of modules.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.data import digits
from benchmarks.timing import Ratio, alternate, report, seconds
from modae.deep.networks import ModularAutoencoderNetwork
from modae.deep.shortcut import network_terms
from modae.display.style import BLUE, RED, open_frame, pyplot

N_ROWS, N_FEATURES, BATCH_SIZE, REPEATS = 5_000, 784, 256, 7
MODULES = (1, 2, 5, 10, 20, 50)


class Loop(nn.Module):
    """What one writes first: a list of networks, and a loop over it."""

    def __init__(self, n_modules: int, width: int, n_components: int) -> None:
        super().__init__()
        self.networks = nn.ModuleList(plain(width, n_components) for _ in range(n_modules))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([network(x) for network in self.networks])


class Monolith(nn.Module):
    """One autoencoder, as a single module of the same loss."""

    def __init__(self, width: int, n_components: int) -> None:
        super().__init__()
        self.network = plain(width, n_components)

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)[None]


def plain(width: int, n_components: int) -> nn.Sequential:
    """784 - width - n_components - width - 784."""
    sizes = (N_FEATURES, width, n_components, width, N_FEATURES)
    first, code, back, last = (nn.Linear(*pair) for pair in pairwise(sizes))
    return nn.Sequential(first, nn.ReLU(), code, back, nn.ReLU(), last)


def batched(n_modules: int, width: int, n_components: int) -> ModularAutoencoderNetwork:
    return ModularAutoencoderNetwork(N_FEATURES, n_modules, n_components, (width,), "relu")


def training(network: nn.Module, rows: Tensor) -> Callable[[], None]:
    """A function that trains for one epoch; the Adam of the estimators for all that is compared."""
    optimiser = torch.optim.Adam(network.parameters(), fused=True)

    def epoch() -> None:
        for batch in rows[torch.randperm(len(rows))].split(BATCH_SIZE):
            optimiser.zero_grad()
            network_terms(network, batch, batch, 0.5).loss.backward()
            optimiser.step()

    return epoch


def against_loop(rows: Tensor, n_modules: int, width: int, n_components: int, limit: float) -> Ratio:
    sizes = n_modules, width, n_components
    name = f"{n_modules} modules, width {width}: batched / loop over networks"
    return alternate(name, training(batched(*sizes), rows), training(Loop(*sizes), rows), limit, REPEATS)


def against_monolith(rows: Tensor, n_modules: int, width: int, n_components: int, limit: float) -> Ratio:
    wide = Monolith(n_modules * width, n_modules * n_components)
    ours = batched(n_modules, width, n_components)
    name = f"{n_modules} modules, width {width}: batched / one wide autoencoder"
    return alternate(name, training(ours, rows), training(wide, rows), limit, REPEATS)


def scaling(rows: Tensor) -> dict[str, list[float]]:
    """Least seconds of an epoch for each number of modules."""
    times: dict[str, list[float]] = {"batched": [], "loop over networks": []}
    for n_modules in MODULES:
        epochs = [training(kind(n_modules, 64, 10), rows) for kind in (batched, Loop)]
        for epoch in epochs:
            epoch()
        runs = [[seconds(epoch) for epoch in epochs] for _ in range(REPEATS)]
        for name, of_kind in zip(times, zip(*runs, strict=True), strict=True):
            times[name].append(min(of_kind))
        print(f"M = {n_modules:2}: " + ", ".join(f"{name} {t[-1]:.3f} s" for name, t in times.items()))
    return times


def picture(times: dict[str, list[float]], path: Path) -> None:
    figure, axes = pyplot().subplots(figsize=(5.5, 3.6), layout="constrained")
    for (name, values), colour in zip(times.items(), (BLUE, RED), strict=True):
        exponent = np.polyfit(np.log(MODULES), np.log(values), 1)[0]
        axes.loglog(
            MODULES, values, "o-", color=colour, label=rf"{name}, $\propto M^{{{exponent:.2f}}}$"
        )
    axes.set(xlabel="modules M", ylabel="seconds per epoch", xticks=MODULES, xticklabels=MODULES)
    axes.set_title("784-64-10-64-784, 5,000 digits, batches of 256", fontsize="medium")
    axes.minorticks_off()
    axes.legend(frameon=False)
    open_frame(axes)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="draw the scaling instead, and write it here")
    path = parser.parse_args().picture
    torch.manual_seed(0)
    rows = torch.tensor(digits(N_ROWS)[0], dtype=torch.float32)
    if path is not None:
        picture(scaling(rows), path)
        return
    report(
        [
            against_loop(rows, 10, 64, 10, limit=0.85),
            against_loop(rows, 50, 16, 10, limit=0.5),
            against_monolith(rows, 10, 64, 10, limit=1.8),
        ]
    )


if __name__ == "__main__":
    main()
