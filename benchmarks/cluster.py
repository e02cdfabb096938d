"""Members and searches on two workers of dask, beside the same in memory: ``make bench``.

Printed are times as ratios, growth of memory of client, scheduler and workers, how often the data were
read, and how many predictions differ. One worker is killed on the way. ``--small`` for a tenth of it.
"""

from __future__ import annotations

import argparse
import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from benchmarks.distributed import PAGE, cluster_of_processes, watched
from modae import ModularClassifier, ModularClassifierCV

LIMIT_MEGABYTES, MOST_READS = 150.0, 2


class Stored:
    """Rows and labels in files of 10,000 rows, which say in a log when they are read."""

    def __init__(self, folder: Path, n_rows: int, n_features: int) -> None:
        rng = np.random.default_rng(0)
        self.folder, self.log = folder, folder / "log"
        self.shape, self.height = (n_rows, n_features), min(10_000, n_rows // 10)
        mixing = rng.standard_normal((n_features, n_features)) * np.linspace(1.0, 0.05, n_features)
        plane = rng.standard_normal((n_features, 3)) * np.linspace(0.5, 1.0, n_features)[:, None]
        labels = []
        for place in range(n_rows // self.height):
            hidden = rng.standard_normal((self.height, n_features))
            np.save(folder / f"{place}.npy", hidden @ mixing.T)
            noise = 3.0 * rng.standard_normal((self.height, 3))
            labels.append((hidden @ plane + noise).argmax(axis=1))
        self.y = np.concatenate(labels)

    def lazy(self) -> da.Array:
        """A dask array of the files."""
        folder, log, (n_rows, n_features) = str(self.folder), str(self.log), self.shape

        def read(block_id: Any = None) -> np.ndarray:
            with Path(log).open("a") as file:
                file.write(f"{block_id[0]}\n")
            return np.load(f"{folder}/{block_id[0]}.npy")

        chunks = ((self.height,) * (n_rows // self.height), (n_features,))
        return da.map_blocks(read, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))

    def whole(self) -> np.ndarray:
        """All rows in memory."""
        n_files = self.shape[0] // self.height
        return np.concatenate([np.load(self.folder / f"{place}.npy") for place in range(n_files)])

    def times_read(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """What some work gives, and how often it read the data."""
        self.log.write_text("")
        answer = work()
        return answer, len(self.log.read_text().splitlines()) / (self.shape[0] // self.height)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    return work(), perf_counter() - start


def logistic(n_jobs: int | None = None) -> ModularClassifier:
    """20 modules of 10."""
    member = LogisticRegression(max_iter=200)
    sizes: dict[str, Any] = {"n_modules": 20, "n_components": 10, "random_state": 0}
    return ModularClassifier(estimator=member, n_jobs=n_jobs, **sizes)


def search(n_rows: int) -> ModularClassifierCV:
    """Logistic members, three diversities, folds by the number of a row."""
    folds = list(KFold(5).split(np.zeros(n_rows)))
    sizes: dict[str, Any] = {"n_modules": 10, "n_components": 10, "diversities": [0.5, 0.8, 0.95]}
    member = LogisticRegression(max_iter=200)
    return ModularClassifierCV(
        estimator=member, cv=folds, scale=False, random_state=0, n_jobs=2, **sizes
    )


def say(text: str, holds: bool) -> bool:
    print(f"{text}   {'ok' if holds else 'MISSED'}", flush=True)
    return holds


def compare(
    name: str, work: Callable[[Any], Any], stored: Stored, limit: float | None = None
) -> list[bool]:
    """The same fit in memory and on the workers; times are compared where they are long enough."""
    new = stored.whole()[::7]
    with cluster_of_processes() as scheduler:
        (client,) = [Client.current()]
        workers = list(client.run(os.getpid).values())
        with watched("self", scheduler, *workers) as peaks:
            (there, reads), seconds = timed(lambda: stored.times_read(lambda: work(stored.lazy())))
        labels = there.predict(new)
    ours, schedulers, *others = (peak.megabytes for peak in peaks)
    here, alone = timed(lambda: work(stored.whole()))
    shares = np.sort(here.predict_proba(new), axis=1)
    clear = shares[:, -1] - shares[:, -2] > 1e-9
    differ = float(((labels != here.predict(new)) & clear).mean())
    chosen = getattr(here, "best_params_", None) == getattr(there, "best_params_", None)
    held = [
        say(f"{name}: same choice, share of labels that differ {differ:.1e}", chosen and differ <= 1e-5),
        say(f"{name}: client + {ours:.0f} MB, scheduler + {schedulers:.0f} MB (limit 150)"
            f"; workers + {' and '.join(f'{each:.0f}' for each in others)} MB",
            max(ours, schedulers) <= LIMIT_MEGABYTES),
        say(f"{name}: data read {reads:.2f} times (limit {MOST_READS})", reads <= MOST_READS),
    ]  # fmt: skip
    if limit is not None:
        ratio = f"{seconds:.1f} s / {alone:.1f} s = {seconds / alone:.2f} (limit {limit})"
        held.append(say(f"{name}: {ratio}", seconds <= limit * alone))
    return held


def lose_a_worker(stored: Stored) -> bool:
    """A worker is killed while members are fitted; the result must have the same bits."""
    rows, y = stored.lazy(), stored.y
    with (
        LocalCluster(2, threads_per_worker=1, host="127.0.0.1", dashboard_address=PAGE) as cluster,
        Client(cluster) as client,
    ):
        whole = logistic().fit(rows, y)
        victim = next(iter(client.run(os.getpid).values()))
        done = Event()

        def kill() -> None:
            while not done.wait(0.02):
                tasks = client.run_on_scheduler(_members_done)
                if tasks:
                    os.kill(victim, signal.SIGKILL)
                    return

        killer = Thread(target=kill)
        killer.start()
        wounded = logistic().fit(rows, y)
        done.set()
        killer.join()
    new = stored.whole()[::7]
    same = np.array_equal(whole.predict_proba(new), wounded.predict_proba(new))
    return say("a worker killed during the members' fit: the same probabilities", same)


def _members_done(dask_scheduler: Any) -> bool:
    """Whether some member is fitted, and not all."""
    names = [str(key) for key, task in dask_scheduler.tasks.items() if task.state == "memory"]
    return any(name.startswith("in_one_thread") for name in names)


def main() -> None:
    """Members, then a search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    part = 10 if parser.parse_args().small else 1
    warnings.simplefilter("ignore")
    held = []
    with TemporaryDirectory() as folder:
        stored = Stored(Path(folder), 400_000 // part, 200)
        held += compare("logistic members", lambda X: logistic(2).fit(X, stored.y), stored, 1.6)
        held.append(lose_a_worker(stored))
    with TemporaryDirectory() as folder:
        stored = Stored(Path(folder), 20_000 // part, 50)

        def neighbors(X: Any) -> ModularClassifier:
            return ModularClassifier(n_modules=10, n_components=8, random_state=0).fit(X, stored.y)

        held += compare("nearest neighbours", neighbors, stored)
    with TemporaryDirectory() as folder:
        stored = Stored(Path(folder), 100_000 // part, 100)
        tune = search(stored.shape[0])
        held += compare("search", lambda X: tune.fit(X, stored.y), stored, 2.0)
    raise SystemExit(not all(held))


if __name__ == "__main__":
    main()
