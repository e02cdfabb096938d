"""Streamed fits from a memory map: speed, memory, and the same model. ``python -m benchmarks.streams``.

A file of 300,000 x 784 float32 (0.9 GB) is made in a temporary folder, and removed afterwards;
``--rows 1000000`` for the figures of the documentation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks.memory import peak_growth
from benchmarks.timing import Ratio, alternate, seconds
from modae import LinearModularAutoencoder, fit_stream, open_batches

FEATURES = 784
BLOCK = 20_000


def write_rows(path: Path, n_rows: int, dtype: str = "f4") -> Path:
    """Random rows in blocks, with a falling spectrum; |mean|^2 is near the variance, as for digits."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((FEATURES, FEATURES)))[0]
    mixing = (rotation * (1.0 + np.arange(FEATURES)[:, None]) ** -0.5).astype(dtype)
    mean = (0.15 * rng.random(FEATURES)).astype(dtype)
    file = np.lib.format.open_memmap(path, "w+", dtype, (n_rows, FEATURES))
    for start in range(0, n_rows, BLOCK):
        block = file[start : start + BLOCK]
        block[:] = rng.standard_normal(block.shape, dtype=dtype) @ mixing + mean
    file.flush()
    return path


def new_model() -> LinearModularAutoencoder:
    return LinearModularAutoencoder(10, 10, 0.5, random_state=0)


def streamed(path: Path) -> LinearModularAutoencoder:
    return fit_stream(new_model(), path)


def bare_sum(path: Path) -> np.ndarray:
    """The products that no streamed fit can do without, over the same batches."""
    total = np.zeros((FEATURES, FEATURES), np.float32)
    for batch in open_batches(path):
        total += batch.rows.T @ batch.rows
    return total


def fit_beside_bare_sum(path: Path, n_rows: int, repeats: int) -> Ratio:
    name = f"streamed float32 fit, {n_rows:,} x {FEATURES} / bare sum"
    return alternate(name, lambda: streamed(path), lambda: bare_sum(path), 1.3, repeats)


def peer(path: Path, n_rows: int = 100_000, repeats: int = 3) -> Ratio:
    """IncrementalPCA(100), which keeps as many axes as we do, on the same batches by partial_fit."""
    rows = np.load(path, mmap_mode="r")[:n_rows]
    batches = [batch.rows for batch in open_batches(rows, batch_size=BLOCK)]

    def ours() -> float:
        model = new_model()
        for batch in batches:
            model.partial_fit(batch)
        return model.loss_

    def theirs() -> None:
        model = IncrementalPCA(100)
        for batch in batches:
            model.partial_fit(batch)

    pairs = [(seconds(theirs), seconds(ours)) for _ in range(repeats)]
    name = f"IncrementalPCA(100) / partial_fit, {n_rows:,} rows"
    return Ratio(name, min(a for a, _ in pairs), min(b for _, b in pairs), 2.0, at_least=True)


def difference(path: Path) -> float:
    """How far the streamed model is from the one fitted in memory: loss and allocation."""
    model, whole = streamed(path), new_model().fit(np.load(path))
    loss = abs(model.loss_ - whole.loss_) / whole.loss_
    return max(loss, float(np.abs(model.allocation_ - whole.allocation_).max()))


def limit(name: str, value: float, bound: float, shown: str) -> bool:
    word = "ok" if value <= bound else "MISSED"
    print(f"{name:<52} {shown.format(value)}   (limit <= {shown.format(bound)}) {word}", flush=True)
    return value <= bound


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="modae-streams-") as folder:
        single = write_rows(Path(folder) / "single.npy", options.rows)
        ratios = [fit_beside_bare_sum(single, options.rows, options.repeats), peer(single)]
        print(*ratios, sep="\n", flush=True)
        growth = peak_growth(partial(streamed, single)) / 1e6
        held = [ratio.holds for ratio in ratios]
        held.append(limit("memory growth of the streamed fit, MB", growth, 500, "{:.0f}"))
        held.append(
            limit("difference to the fit in memory, float32", difference(single), 1e-5, "{:.1e}")
        )
        single.unlink()
        double = write_rows(Path(folder) / "double.npy", min(100_000, options.rows), "f8")
        held.append(
            limit("difference to the fit in memory, float64", difference(double), 1e-9, "{:.1e}")
        )
    raise SystemExit(not all(held))


if __name__ == "__main__":
    main()
