"""The command line: how long help takes, and how much memory a table needs that is larger than it.

``python -m benchmarks.cli`` measures three things and prints ok or MISSED for each:

* ``modae --help`` against a Python that only imports typer and rich, the fastest of alternating runs;
* the peak of anonymous memory (``RssAnon``) of ``modae fit`` on a CSV of 1 GB, without a target;
* the same for ``modae transform`` of that CSV to Parquet.

Linux only. It needs about 2 GB in the temporary folder, which are given back.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.memory import anonymous_bytes
from benchmarks.timing import Ratio, alternate

GIGABYTE = 10**9
N_COLUMNS = 50
BLOCK_ROWS = 20_000
MODAE = (sys.executable, "-c", "from modae.cli import main; main()")


def main() -> None:
    ratios = [help_against_imports()]
    print(*ratios, sep="\n", flush=True)
    with TemporaryDirectory() as folder:
        kept = large_table(Path(folder))
    raise SystemExit(not (all(ratio.holds for ratio in ratios) and kept))


def help_against_imports() -> Ratio:
    """Each run is a process of its own."""
    ours = (*MODAE, "--help")
    imports = (sys.executable, "-c", "import typer, rich")
    return alternate(
        "modae --help / import typer, rich", _quietly(ours), _quietly(imports), 2.5, repeats=10
    )


def large_table(folder: Path) -> bool:
    """Fit and transform 1 GB of text, and look at the memory from outside."""
    table, model = folder / "large.csv", folder / "large.modae"
    n_rows = make_table(table)
    print(
        f"made a CSV of {table.stat().st_size / 1e9:.2f} GB: {n_rows:,} rows, {N_COLUMNS} columns",
        flush=True,
    )
    fit = peak_of((*MODAE, "fit", str(table), "-o", str(model)))
    print(line_of("modae fit, 1 GB of CSV", *fit), flush=True)
    features = folder / "features.parquet"
    transform = peak_of((*MODAE, "transform", str(model), str(table), "-o", str(features)))
    print(line_of("modae transform, 1 GB of CSV to Parquet", *transform), flush=True)
    return fit[0] < GIGABYTE and transform[0] < GIGABYTE


def line_of(name: str, peak: int, seconds: float) -> str:
    word = "ok" if peak < GIGABYTE else "MISSED"
    return f"{name:<52} {peak / 1e6:8.0f} MB at most, {seconds:5.0f} s   (limit 1000 MB) {word}"


def make_table(path: Path) -> int:
    """Rows with a falling spectrum and different scales, until the file has 1 GB."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((N_COLUMNS, N_COLUMNS)) * 0.9 ** np.arange(N_COLUMNS)[:, None]
    scales = 10.0 ** rng.uniform(-1, 2, N_COLUMNS)
    n_rows = 0
    with path.open("wb") as file:
        while file.tell() < GIGABYTE:
            rows = np.float32((rng.standard_normal((BLOCK_ROWS, N_COLUMNS)) @ mixing) * scales)
            columns = {f"column{i}": values for i, values in enumerate(rows.T)}
            options = pyarrow.csv.WriteOptions(include_header=n_rows == 0)
            pyarrow.csv.write_csv(pa.table(columns), file, options)
            n_rows += BLOCK_ROWS
    return n_rows


def peak_of(command: tuple[str, ...]) -> tuple[int, float]:
    """The largest anonymous memory that was seen while a command ran, and its seconds."""
    start, peak = perf_counter(), 0
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            try:
                peak = max(peak, anonymous_bytes(str(process.pid)))
            except OSError:
                break  # it ended just now
            sleep(0.01)
        process.wait()
    if process.returncode:
        raise SystemExit(f"{' '.join(command[3:])} failed with code {process.returncode}")
    return peak, perf_counter() - start


def _quietly(command: tuple[str, ...]):
    return lambda: subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
