"""Dask on this machine: time of a distributed fit, memory of the scheduler: ``make bench``.

Everything stays on the loopback interface, and every process that is started here is ended here.
Memory is read from ``/proc``: Linux only.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import dumps
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import process_time

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.memory import anonymous_bytes
from benchmarks.timing import Ratio, alternate
from modae import LinearModularAutoencoder
from modae.data.summary import DataSummary

N_ROWS, N_FEATURES, N_FILES = 200_000, 784, 40
LIMIT_TIME = 1.6

CHUNKS, ROWS_OF_CHUNK = (50, 500, 2_000), 1_000
LIMIT_MEGABYTES = 50.0

PAGE = "127.0.0.1:0"
"""Where dask may show its pages: nowhere but here, on any port that is free."""


def model() -> LinearModularAutoencoder:
    """M = H = 10."""
    return LinearModularAutoencoder(10, 10, random_state=0)


def write_rows(folder: Path) -> None:
    """Files of 5,000 rows of float64, as ``dask.array.to_npy_stack`` writes them."""
    chunk = N_ROWS // N_FILES
    rows = da.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES), chunks=(chunk, -1))
    da.to_npy_stack(str(folder), rows)


def fit_in_memory(folder: Path) -> LinearModularAutoencoder:
    """Read all files, then fit."""
    X = np.empty((N_ROWS, N_FEATURES))
    height = N_ROWS // N_FILES
    for place in range(N_FILES):
        X[place * height : (place + 1) * height] = np.load(folder / f"{place}.npy")
    return model().fit(X)


def fit_by_workers(folder: Path) -> LinearModularAutoencoder:
    """Workers read the files."""
    return model().fit(da.from_npy_stack(str(folder), mmap_mode=None))


def print_rate() -> None:
    """Rows that one thread sums up in a second of processor time, and what joining two sums takes."""
    rows = np.random.default_rng(0).standard_normal((25_000, N_FEATURES))
    half = DataSummary.of(rows[:12_500]).as_moments()
    with threadpool_limits(1):
        sums = min(processor_seconds(lambda: DataSummary.of(rows).as_moments()) for _ in range(5))
        joins = min(processor_seconds(lambda: half.join(half)) for _ in range(5))
    megabytes = len(dumps(half)) / 1e6
    print(
        f"one thread: {len(rows) / sums:,.0f} rows of {N_FEATURES} float64 a second of processor time; "
        f"a sum has {megabytes:.1f} MB; joining two takes {1e3 * joins:.1f} ms",
        flush=True,
    )


def processor_seconds(function: Callable[[], object]) -> float:
    start = process_time()
    function()
    return process_time() - start


def compare_time() -> Ratio:
    """Two workers of one thread against one process of two threads, reading included."""
    name = f"{N_ROWS:,} x {N_FEATURES}, {N_FILES} files: Dask / in memory"
    with (
        TemporaryDirectory() as directory,
        LocalCluster(2, threads_per_worker=1, host="127.0.0.1", dashboard_address=PAGE) as cluster,
        Client(cluster),
    ):
        folder = Path(directory)
        write_rows(folder)
        return alternate(
            name, lambda: fit_by_workers(folder), lambda: fit_in_memory(folder), LIMIT_TIME, repeats=3
        )


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of dask as a process of its own."""
    command = [sys.executable, "-m", "dask", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def cluster_of_processes() -> Iterator[int]:
    """A scheduler, two workers, and a client in this process; gives the id of the scheduler."""
    with TemporaryDirectory() as directory:
        file = f"--scheduler-file={directory}/scheduler.json"
        here = (file, "--host=127.0.0.1", f"--dashboard-address={PAGE}")
        worker = ("worker", *here, "--nthreads=1", "--no-nanny")
        with (
            started("scheduler", *here, "--port=0") as scheduler,
            started(*worker),
            started(*worker),
            Client(scheduler_file=f"{directory}/scheduler.json") as client,
        ):
            client.wait_for_workers(2)
            # Everybody has imported what he needs before anything is measured.
            model().fit(rows_in(2))
            yield scheduler.pid


class Peak:
    """Most anonymous memory of a process, beyond what it had at the start."""

    def __init__(self, process: int | str) -> None:
        self.process = process
        self.first = self.most = anonymous_bytes(process)

    def look(self) -> None:
        self.most = max(self.most, anonymous_bytes(self.process))

    @property
    def megabytes(self) -> float:
        return (self.most - self.first) / 1e6


@contextmanager
def watched(*processes: int | str) -> Iterator[list[Peak]]:
    """Growth of the memory of some processes."""
    peaks, done = [Peak(each) for each in processes], Event()

    def watch() -> None:
        while not done.wait(0.005):
            for peak in peaks:
                peak.look()

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        done.set()
        watcher.join()


def rows_in(n_chunks: int) -> da.Array:
    """Rows that the workers make when they need them."""
    shape = n_chunks * ROWS_OF_CHUNK, N_FEATURES
    return da.random.default_rng(0).random(shape, dtype=np.float32, chunks=(ROWS_OF_CHUNK, -1))


def compare_memory(n_chunks: int) -> bool:
    """Whether a fit costs the scheduler little more than the sum of all numbers does."""
    growths = []
    for work in (lambda: rows_in(n_chunks).sum().compute(), lambda: model().fit(rows_in(n_chunks))):
        with cluster_of_processes() as scheduler:
            with watched(scheduler, "self") as peaks:
                work()
            growths.append([peak.megabytes for peak in peaks])
    (plain, plain_client), (fit, fit_client) = growths
    holds = fit - plain <= LIMIT_MEGABYTES
    print(
        f"{n_chunks:>5,} chunks: scheduler + {fit:5.1f} MB in fit, + {plain:5.1f} MB in x.sum(): "
        f"{fit - plain:5.1f} MB more (limit {LIMIT_MEGABYTES:g}) {'ok' if holds else 'MISSED'}; "
        f"client + {fit_client:5.1f} MB, + {plain_client:5.1f} MB",
        flush=True,
    )
    return holds


def main() -> None:
    """A rate, a time, then memory."""
    print_rate()
    ratio = compare_time()
    print(ratio, flush=True)
    held = [compare_memory(n_chunks) for n_chunks in CHUNKS]
    raise SystemExit(not (ratio.holds and all(held)))


if __name__ == "__main__":
    main()
