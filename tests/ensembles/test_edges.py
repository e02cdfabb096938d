"""Edges of fits and searches: scores that are no numbers, arrays that change, backends of joblib."""

import os

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, load_iris

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    LinearModularRegressor,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    NearestNeighborRegressor,
)

X, y = load_iris(return_X_y=True)
extractor = LinearModularAutoencoder(3, 2, random_state=0)


def nan_below(limit):
    def scoring(model, rows, labels):
        score = model.score(rows, labels)
        return np.nan if model.extractor_.diversity < limit else score

    return scoring


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_scores_that_are_no_numbers_rank_last(rule):
    search = ModularClassifierCV(
        extractor, estimator=None, diversities=[0.3, 0.7, 0.9], scoring=nan_below(0.5), cv=3, rule=rule
    )
    with pytest.warns(UserWarning, match="1 of 3 candidates have the score NaN"):
        search.fit(X, y)
    assert search.best_params_["diversity"] > 0.5
    assert search.cv_results_["rank_test_score"].tolist()[0] == 3


def test_scores_that_are_all_no_numbers_are_an_error():
    search = ModularClassifierCV(
        extractor, estimator=None, diversities=[0.3, 0.7], scoring=nan_below(2.0), cv=3
    )
    with pytest.raises(ValueError, match="NaN for every candidate"):
        search.fit(X, y)


def test_no_folds_are_refused():
    with pytest.raises(ValueError, match="cv must give at least one pair"):
        ModularClassifierCV(estimator=None, cv=[]).fit(X, y)


@pytest.mark.parametrize("model", [ModularRegressor(extractor), NearestNeighborRegressor()])
def test_targets_that_change_after_the_fit_change_nothing(model):
    targets = y.astype(float)
    before = model.fit(X, targets).predict(X)
    targets[:] = -1.0
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    "model",
    [extractor, ModularClassifier(extractor), ModularRegressor(extractor), NearestNeighborRegressor()],
)
def test_a_refit_that_fails_keeps_the_columns_of_the_model(model):
    model.fit(X, y)
    broken = np.full((20, 7), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(broken, np.arange(20) % 3)
    assert model.n_features_in_ == 4


def test_derived_models_keep_output_and_requests():
    import sklearn

    model = LinearModularAutoencoder(3, 2, random_state=0).set_output(transform="pandas")
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        model.fit(X)
        derived = [model.with_diversity(0.3), model.with_params(n_modules=2), *model.path([0.1])]
        for other in derived:
            assert other.transform(X).columns[0] == "module0_0"
            assert other.get_metadata_routing().fit.requests == {"sample_weight": True}


def test_a_regressor_of_another_diversity_keeps_its_fitted_size():
    model = LinearModularRegressor(3, 2, random_state=0).fit(X, X)
    model.set_params(n_components=1)
    other = model.with_diversity(0.8)
    assert other.n_components == other.n_components_ == 2


class ProcessOfFit(ClassifierMixin, BaseEstimator):
    """Remembers the process that it was fitted in."""

    def fit(self, X, y):
        self.classes_, self.process_ = np.unique(y), os.getpid()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_members_run_on_the_backend_of_joblib():
    digits, labels = load_digits(return_X_y=True)
    model = ModularClassifier(LinearModularAutoencoder(4, 3, random_state=0), random_state=0)
    expected = model.fit(digits[:300], labels[:300]).predict(digits)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            again = model.fit(digits[:300], labels[:300])
            np.testing.assert_array_equal(again.predict(digits), expected)
            spy = ModularClassifier(extractor, ProcessOfFit()).fit(X, y)
        elsewhere = {member.process_ for member in spy.estimators_} != {os.getpid()}
        assert elsewhere == (backend == "loky")


def test_searches_and_bags_run_on_the_backend_of_joblib():
    search = ModularClassifierCV(
        extractor, estimator=ProcessOfFit(), diversities=[0.3, 0.7], scale=False, cv=3, random_state=0
    )
    bag, plain = BaggingAutoencoder(3, 2, random_state=0).fit(X), clone(search).fit(X, y)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            there, other = clone(search).fit(X, y), BaggingAutoencoder(3, 2, random_state=0).fit(X)
        for name in ("mean_test_score", "mean_individual_error", "n_folds"):
            np.testing.assert_array_equal(there.cv_results_[name], plain.cv_results_[name])
        np.testing.assert_array_equal(other.encoders_, bag.encoders_)


def test_concurrent_batches_are_all_counted():
    from concurrent.futures import ThreadPoolExecutor

    rows = np.random.default_rng(0).standard_normal((2000, 5))
    model = LinearModularAutoencoder(2, 2, random_state=0).partial_fit(rows[:10])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(model.partial_fit, np.array_split(rows[10:], 200)))
    whole = LinearModularAutoencoder(2, 2, random_state=0).fit(rows)
    assert model.loss_ == pytest.approx(whole.loss_, rel=1e-10)
    np.testing.assert_allclose(model.mean_, whole.mean_, atol=1e-12)


def test_a_refit_to_too_few_columns_keeps_those_of_the_model():
    model = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_components must be at most n_features = 1"):
        model.fit(X[:, :1])
    assert model.n_features_in_ == 4
    assert model.transform(X).shape == (150, 6)
