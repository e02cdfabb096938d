"""On a real cluster: two worker processes, one thread each, on the loopback interface."""

import os
import signal
from concurrent.futures import Future
from threading import Thread

import dask
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

from modae import BaggingAutoencoder, ModularClassifier
from sources_dask.parts import CHUNKINGS, X, Y, assert_same_model, chunked, model, with_unknown_rows

PATIENCE = 120
"""Seconds after which a test gives up: something hangs."""


@pytest.fixture(scope="module")
def client():
    here = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    options = {"worker_dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, **here, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def in_time(function, *arguments):
    answer = Future()

    def work():
        try:
            answer.set_result(function(*arguments))
        except Exception as error:
            answer.set_exception(error)

    Thread(target=work, daemon=True).start()
    return answer.result(timeout=PATIENCE)


@pytest.mark.usefixtures("client")
def test_workers_give_the_model_of_all_rows():
    plain = model().fit(X)
    arrays = [chunked(chunks) for chunks in CHUNKINGS.values()]
    for rows in (*arrays, with_unknown_rows(arrays[0]), with_unknown_rows(arrays[-1])):
        lazy = in_time(model().fit, rows)
        assert_same_model(lazy, plain)
    codes = in_time(lazy.transform(rows).compute)
    np.testing.assert_allclose(codes, plain.transform(X), atol=1e-8)


@pytest.mark.usefixtures("client")
def test_workers_give_the_bits_of_threads():
    with dask.config.set(scheduler="threads"):
        here = model().fit(chunked((50, 64)))
    there = in_time(model().fit, chunked((50, 64)))
    assert_same_model(there, here, 1e-12)


@pytest.mark.usefixtures("client")
def test_workers_bag_and_vote():
    plain = BaggingAutoencoder(3, 4, random_state=0).fit(X)
    lazy = in_time(BaggingAutoencoder(3, 4, random_state=0).fit, with_unknown_rows(chunked()))
    np.testing.assert_allclose(lazy.eigenvalues_, plain.eigenvalues_, rtol=1e-10)
    ensemble = ModularClassifier(n_modules=5, random_state=0).fit(chunked(), Y)
    np.testing.assert_array_equal(in_time(ensemble.predict(chunked()).compute), ensemble.predict(X))


@pytest.mark.usefixtures("client")
def test_errors_arrive_from_workers():
    rows = X.copy()
    rows[700, 3] = np.nan
    with pytest.raises(ValueError, match="Chunk 2 of X: Input X contains NaN"):
        in_time(model().fit, chunked(rows=rows))
    with pytest.raises(ValueError, match="Chunk 2 of X: Input X contains NaN"):
        in_time(model().fit(X).transform(chunked(rows=rows)).compute)


def test_persisted_chunks_stay_where_they_are(client):
    rows = client.persist(chunked((100, 64)))
    assert_same_model(in_time(model().fit, rows), model().fit(X))


def dying_once(block, witness=None, block_info=None):
    """The rows; but whoever is first to read the last chunk is killed."""
    if block_info[0]["chunk-location"][0] == 17:
        try:
            os.close(os.open(witness, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_worker_that_is_killed_changes_nothing(client, tmp_path):
    witness, chunks = tmp_path / "killed", (100, 64)
    before = set(client.scheduler_info()["workers"])
    fatal = chunked(chunks).map_blocks(dying_once, witness=str(witness), dtype=float)
    undisturbed = in_time(model().fit, chunked(chunks))
    lazy = in_time(model().fit, fatal)
    assert witness.exists(), "nobody was killed"
    assert set(client.scheduler_info()["workers"]) != before
    np.testing.assert_array_equal(lazy.encoders_, undisturbed.encoders_)
    assert lazy.loss_ == undisturbed.loss_
