"""A search where lazy rows are: the same choice, scores and members as in memory, and two readings."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit

from modae import LinearModularAutoencoder, ModularClassifierCV, ModularRegressorCV, open_batches
from sources_dask.parts import FRAME, X, Y, chunked

WINE = load_wine(return_X_y=True)


def search(**options):
    given = {"estimator": LogisticRegression(max_iter=50), "n_modules": 4, "n_components": [3, 5]}
    given |= {"diversities": [0.5, 0.9], "scale": False, "cv": 3, "random_state": 0}
    return ModularClassifierCV(**given | options)


def assert_same_search(lazy, plain, rows=X):
    assert lazy.best_params_ == plain.best_params_
    for name in ("mean_test_score", "mean_individual_error", "se_difference"):
        np.testing.assert_allclose(lazy.cv_results_[name], plain.cv_results_[name], atol=1e-9)
    np.testing.assert_allclose(lazy.predict_proba(rows), plain.predict_proba(rows), atol=1e-4)
    assert lazy.n_features_in_ == plain.n_features_in_


@pytest.fixture(scope="module")
def plain():
    return search().fit(X, Y)


KINDS = {
    "array": lambda: chunked((300, 64)),
    "fewer rows than columns": lambda: chunked((50, 64)),
    "frame": lambda: dd.from_pandas(FRAME, npartitions=3),
    "batches": lambda: open_batches(X, batch_size=400),
}


@pytest.mark.filterwarnings(
    "ignore:lbfgs failed", "ignore:X has feature names", "ignore:X does not have"
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_choice_and_the_same_model(kind, plain):
    lazy = search().fit(KINDS[kind](), Y)
    assert_same_search(lazy, plain)
    ours, theirs = lazy.best_estimator_.extractor_, plain.best_estimator_.extractor_
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-9)
    assert hasattr(lazy, "feature_names_in_") == (kind == "frame")


@pytest.mark.filterwarnings("ignore:lbfgs failed")
@pytest.mark.parametrize("cv", [KFold(4, shuffle=True, random_state=1), ShuffleSplit(3, random_state=2)])
def test_any_splitter_and_weights(cv):
    weights = np.arange(len(Y)) % 4.0
    plain = search(cv=cv).fit(X, Y, sample_weight=weights)
    lazy = search(cv=cv).fit(chunked(), Y, sample_weight=da.from_array(weights, chunks=500))
    assert_same_search(lazy, plain)


@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_the_data_are_read_twice(tmp_path):
    log = tmp_path / "log"
    log.write_text("")

    def read(block_id=None):
        with log.open("a") as file:
            file.write(".")
        return X[300 * block_id[0] : 300 * block_id[0] + 300]

    heights = (*(300,) * 5, 297)
    rows = da.map_blocks(read, chunks=(heights, (64,)), dtype=float, meta=np.empty((0, 0)))
    search(diversities=[0.1, 0.3, 0.5, 0.7, 0.9]).fit(rows, Y)
    assert len(log.read_text()) == 2 * len(heights)


@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_columns_far_from_zero_and_of_many_scales():
    """Standardised columns come from scaled sums: a small column far from zero keeps its digits."""
    rng = np.random.default_rng(0)
    rows = X[:600] * np.exp(rng.uniform(-8.0, 8.0, 64)) + 1e3 * rng.standard_normal(64)
    plain = search(scale=True, cv=2).fit(rows, Y[:600])
    lazy = search(scale=True, cv=2).fit(chunked((100, 64), rows), Y[:600])
    assert_same_search(lazy, plain, rows)
    np.testing.assert_allclose(lazy.best_estimator_[0].mean_, plain.best_estimator_[0].mean_)
    np.testing.assert_allclose(lazy.best_estimator_[0].scale_, plain.best_estimator_[0].scale_)


@pytest.mark.parametrize("chunks", [(60, 13), (5, 13)])
def test_left_alone(chunks):
    rows, labels = WINE
    plain = ModularClassifierCV(cv=3, random_state=0).fit(rows, labels)
    lazy = ModularClassifierCV(cv=3, random_state=0).fit(da.from_array(rows, chunks=chunks), labels)
    assert lazy.best_params_["family"] == plain.best_params_["family"]
    np.testing.assert_allclose(
        lazy.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-9
    )
    np.testing.assert_allclose(lazy.predict_proba(rows), plain.predict_proba(rows), atol=1e-6)


def test_targets():
    rows, targets = load_diabetes(return_X_y=True)
    options = {"estimator": None, "n_components": [2, 4], "diversities": [0.5, 0.9], "random_state": 0}
    plain = ModularRegressorCV(**options).fit(rows, targets)
    lazy = ModularRegressorCV(**options).fit(da.from_array(rows, chunks=(100, 10)), targets)
    assert lazy.best_params_ == plain.best_params_
    np.testing.assert_allclose(lazy.predict(rows), plain.predict(rows))


def test_refusals():
    fitted = FrozenEstimator(LinearModularAutoencoder(4, 5, random_state=0).fit(X))
    for options in ({"scoring": lambda *_: 0.0}, {"extractor": fitted, "n_components": None}):
        with pytest.raises(TypeError, match="a search on lazy data needs a LinearModularAutoencoder"):
            search(**options).fit(chunked(), Y)
    twice = [(np.zeros(50, int), np.arange(50, 60))]
    with pytest.raises(ValueError, match="names a row twice"):
        search(cv=twice).fit(chunked(rows=X[:60]), Y[:60] * 0 + np.arange(60) % 2 * 0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search().fit(chunked(), Y[:-1])
    for wrong in (Y[:-1], np.append(Y, 0)):  # of a frame the number of rows is known when it was read
        with pytest.raises(ValueError, match="one entry for each row of X"):
            search().fit(dd.from_pandas(FRAME, npartitions=3), wrong)
