"""On a real cluster: two worker processes, one thread each, on the loopback interface."""

import os
import signal
import sys
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

import dask
import joblib
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.naive_bayes import GaussianNB

from modae import BaggingAutoencoder, ModularClassifier, ModularClassifierCV
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


class DyingOnce(ClassifierMixin, BaseEstimator):
    """Class means; but the first to be fitted kills its worker."""

    def __init__(self, witness=None):
        self.witness = witness

    def fit(self, X, y):
        if self.witness is not None:
            try:
                os.close(os.open(self.witness, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[np.square(X[:, None] - self.means_).sum(axis=2).argmin(axis=1)]


def test_a_worker_killed_while_members_are_trained_changes_nothing(client, tmp_path):
    client.run(sys.path.insert, 0, str(Path(__file__).parents[1]))  # where this class is
    client.wait_for_workers(2)
    witness = tmp_path / "killed"
    ensemble = ModularClassifier(estimator=DyingOnce(), n_modules=6, n_components=4, random_state=0)
    undisturbed = in_time(ensemble.fit, chunked((200, 64)), Y).predict(X)
    wounded = clone(ensemble).set_params(estimator=DyingOnce(str(witness)))
    in_time(wounded.fit, chunked((200, 64)), Y)
    assert witness.exists(), "nobody was killed"
    np.testing.assert_array_equal(wounded.predict(X), undisturbed)


@pytest.mark.usefixtures("client")
def test_a_search_and_a_stream_on_workers():
    options = {"estimator": GaussianNB(), "n_modules": 4, "n_components": 5, "diversities": [0.5, 0.9]}
    search = ModularClassifierCV(**options, cv=3, scale=False, random_state=0)
    plain, lazy = clone(search).fit(X, Y), in_time(clone(search).fit, chunked(), Y)
    assert lazy.best_params_ == plain.best_params_
    np.testing.assert_allclose(lazy.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    stream = ModularClassifier(
        estimator=GaussianNB(), stream=True, n_modules=4, n_components=5, random_state=0
    )
    with dask.config.set(scheduler="threads"):
        here = clone(stream).fit(chunked(), Y)
    there = in_time(clone(stream).fit, chunked(), Y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-9)


@pytest.mark.usefixtures("client")
def test_members_run_on_the_workers_by_joblib():
    ensemble = ModularClassifier(n_modules=4, n_components=5, random_state=0).fit(X, Y)
    with joblib.parallel_config(backend="dask"):
        there = in_time(clone(ensemble).set_params(n_jobs=2).fit, X, Y)
    np.testing.assert_array_equal(there.predict(X), ensemble.predict(X))
