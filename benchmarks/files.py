"""Time and size of files against joblib, which is fast and unsafe: part of ``make bench``."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib

import modae
from benchmarks.data import digits
from benchmarks.timing import Ratio, report, seconds
from modae import LinearModularAutoencoder

ROUNDS = 31


def there_and_back(directory: Path) -> list[Ratio]:
    """A model of 100 modules with 10 components, D = 784: saved and loaded."""
    X, _ = digits(2_000)
    model = LinearModularAutoencoder(100, 10, random_state=0).fit(X)
    ours, theirs = directory / "model.modae", directory / "model.joblib"
    modae.save(model, ours), joblib.dump(model, theirs)
    steps = (
        partial(modae.save, model, ours),
        partial(modae.load, ours),
        partial(joblib.dump, model, theirs),
        partial(joblib.load, theirs),
        partial(flush, theirs),
    )
    times = [[seconds(step) for step in steps] for _ in range(ROUNDS)]
    columns = [1000.0 * min(column) for column in zip(*times, strict=True)]
    words = "save {:.0f} ms, load {:.0f} ms; joblib: dump {:.0f} ms, load {:.0f} ms, flush {:.0f} ms"
    print(words.format(*columns))
    both = min(save + load for save, load, *_ in times)
    plain = min(dump + load for _, _, dump, load, _ in times)
    flushed = min(sum(row[2:]) for row in times)
    sizes = (path.stat().st_size / 1e6 for path in (ours, theirs))
    return [
        Ratio("save + load / joblib.dump + load, 100 modules", both, plain, 2.0),
        Ratio("the same; joblib's file is flushed to the disk too", both, flushed, 2.0),
        Ratio("size of these files (MB, not s)", *sizes, 1.1),
    ]


def flush(path: Path) -> None:
    """What save does, and joblib does not: after it, a loss of power does no harm."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        report(there_and_back(Path(scratch)))
