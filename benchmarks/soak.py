"""Long and loud: everything in random order, for a while, in one process. ``python -m benchmarks.soak``.

Fits, partial fits, transformations, predictions, searches, files, commands and reports take turns, on
data of changing sizes, and answers are looked at. Memory, threads and open files are watched: what grows
from each quarter of the time to the next has no end. Needs Linux (``/proc``).
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.linear_model import LogisticRegression

import modae
from modae.cli.app import app
from modae.cli.console import run

ALLOWED = {"memory (MB)": 64.0, "threads": 2.0, "open files": 2.0}
"""What each may grow by after the first quarter: caches fill, and memory that was freed is kept."""


def watched() -> dict[str, float]:
    """Memory that is in use, threads and open files of this process."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "memory (MB)": int(lines["VmRSS"].split()[0]) / 1024,
        "threads": int(lines["Threads"]),
        "open files": len(list(Path("/proc/self/fd").iterdir())),
    }


class Desk:
    """A folder with a table and a model, and the things that are done there over and over."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.growing = modae.LinearModularAutoencoder(4, 2, random_state=0)
        X, y = self.rows(120)
        names = [f"c{place}" for place in range(X.shape[1])]
        table = [",".join([*names, "kind"])]
        table += [
            ",".join([*map(repr, row.tolist()), f"k{label}"]) for row, label in zip(X, y, strict=True)
        ]
        (folder / "table.csv").write_text("\n".join(table) + "\n")
        self.model, self.table = str(folder / "vote.modae"), str(folder / "table.csv")
        self.command("fit", self.table, "--target", "kind", "--no-check", "-o", self.model)

    def rows(self, n_rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        seed, n_rows = self.rng.randrange(1000), n_rows or self.rng.randrange(60, 400)
        rng = np.random.default_rng(seed)
        labels = np.arange(n_rows) % 3
        return rng.standard_normal((n_rows, 12)) * np.linspace(3, 1, 12) + labels[:, None], labels

    def command(self, *words: str) -> str:
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = run(app, list(words))
        assert code == 0, said.getvalue()
        return said.getvalue()

    def fit_and_transform(self) -> None:
        X, _ = self.rows()
        model = modae.LinearModularAutoencoder(self.rng.randrange(2, 6), 2, random_state=0).fit(X)
        assert np.isfinite(model.transform(X)).all()
        assert model.loss_ >= model.lower_bound_ * (1.0 - 1e-9)

    def partial_fit(self) -> None:
        X, _ = self.rows(50)
        self.growing.partial_fit(X)
        assert np.isfinite(self.growing.transform(X)).all()

    def predict(self) -> None:
        X, y = self.rows()
        vote = modae.ModularClassifier(
            estimator=LogisticRegression(), n_modules=5, n_jobs=self.rng.choice([1, 2]), random_state=0
        ).fit(X, y)
        assert vote.predict(X).shape == y.shape

    def search(self) -> None:
        X, y = self.rows(90)
        options = {"n_modules": 4, "n_components": 2, "diversities": [0.2, 0.8], "cv": 2}
        modae.ModularClassifierCV(None, None, **options, random_state=0).fit(X, y).predict(X)

    def save_and_load(self) -> None:
        X, _ = self.rows(60)
        path = self.folder / "features.modae"
        model = modae.LinearModularAutoencoder(3, 2, random_state=0).fit(X)
        modae.save(model, path)
        np.testing.assert_array_equal(modae.load(path).transform(X), model.transform(X))

    def commands(self) -> None:
        self.command("info", self.model)
        self.command("predict", self.model, self.table, "-o", str(self.folder / "new.csv"))
        self.command("transform", self.model, self.table, "-o", str(self.folder / "codes.parquet"))

    def report(self) -> None:
        X, y = self.rows(90)
        vote = modae.ModularClassifier(n_modules=3, n_components=2, random_state=0).fit(X, y)
        modae.report.build(vote, X, y, diversities=[], rivals=False).save(self.folder / "page.html")

    def refuse(self) -> None:
        """Errors leave nothing behind either."""
        X, _ = self.rows(60)
        X[3, 4] = np.nan
        try:
            self.growing.partial_fit(X)
        except ValueError:
            return
        raise AssertionError("rows that are not finite were taken")


def growth(history: list[dict[str, float]]) -> list[str]:
    """What grew from quarter to quarter: the least of each counts, peaks are no leak."""
    quarters = np.array_split(np.arange(len(history)), 4)
    found = []
    for name, allowed in ALLOWED.items():
        least = [min(history[place][name] for place in quarter) for quarter in quarters]
        if least[1] < least[2] < least[3] and least[3] - least[1] > allowed:
            found.append(f"{name} grew without end: {', '.join(f'{value:.0f}' for value in least)}")
    return found


def soak(minutes: float, seed: int) -> list[dict[str, float]]:
    """Do things until the time is over; what was watched after each."""
    rng, done, history = random.Random(seed), Counter[str](), []
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        desk = Desk(Path(folder), rng)
        actions: list[Callable[[], None]] = [
            desk.fit_and_transform, desk.partial_fit, desk.predict, desk.search, desk.save_and_load,
            desk.commands, desk.report, desk.refuse,
        ]  # fmt: skip
        start, told = time.monotonic(), 0.0
        while (passed := time.monotonic() - start) < 60.0 * minutes or len(history) < 8:
            action = rng.choice(actions)
            action()
            done[action.__name__] += 1
            history.append(watched())
            if passed >= told:
                told = passed + 60.0
                state = ", ".join(f"{name} {value:.0f}" for name, value in history[-1].items())
                print(f"{passed / 60:4.0f} min, {len(history):>6} actions: {state}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(done.items())))
    return history


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    found = growth(soak(options.minutes, options.seed))
    for sentence in found:
        print(sentence, file=sys.stderr)
    print("nothing grew without end" if not found else "FAILED")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
