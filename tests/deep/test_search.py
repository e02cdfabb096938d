"""Networks as members, and deep modules, in the searches of the ensembles."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from deep.parts import LABELS_OF_X, X, assert_same_training, autoencoder, classifier, regressor
from modae import ModularClassifierCV, ModularRegressorCV, NearestNeighborClassifier

DIVERSITIES = (0.0, 0.5, 0.9)


def test_a_network_is_a_kind_of_member_beside_others():
    network = classifier(max_epochs=20, learning_rate=0.01)
    members = {"network": (network, {"dropout": [0.0]}), "neighbors": (NearestNeighborClassifier(), {})}
    search = ModularClassifierCV(
        estimator=members, n_modules=2, n_components=5, diversities=(0.5,), cv=2, random_state=0
    )
    search.fit(X, LABELS_OF_X)
    tried = {(params["family"], "n_modules" in params) for params in search.cv_results_["params"]}
    assert tried == {(name, on_modules) for name in members for on_modules in (False, True)}
    assert search.score(X, LABELS_OF_X) > 0.8


def test_networks_are_members_of_regressions():
    search = ModularRegressorCV(
        estimator={"network": (regressor(), {})},
        n_modules=2,
        n_components=5,
        diversities=(0.5,),
        cv=2,
        random_state=0,
    )
    assert search.fit(X, X[:, 20]).predict(X).shape == (200,)


@pytest.fixture(scope="module")
def search():
    return ModularClassifierCV(
        autoencoder(max_epochs=20),
        estimator=None,
        diversities=DIVERSITIES,
        scale=False,
        cv=3,
        random_state=0,
    ).fit(X, LABELS_OF_X)


def test_a_search_over_the_diversity_of_deep_modules(search):
    assert [params["diversity"] for params in search.cv_results_["params"]] == list(DIVERSITIES)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) > 1
    assert search.best_params_ == {
        "n_modules": 3,
        "n_components": 2,
        "diversity": DIVERSITIES[scores.argmax()],
    }
    assert search.extractor_.diversity_ == search.best_params_["diversity"]
    assert search.extractor_.n_epochs_ == 20  # a whole training, and no warm start


def test_warm_starts_are_a_fifth_of_a_training(search):
    extractor = autoencoder(max_epochs=20)
    path = extractor.fit_path(X, [{"diversity": each} for each in DIVERSITIES])
    assert [model.n_epochs_ for model in path] == [20, 24, 28]
    assert [model.diversity_ for model in path] == list(DIVERSITIES)
    assert_same_training(path[0], clone(extractor).set_params(diversity=0.0).fit(X))
    on = clone(extractor).set_params(diversity=0.0).fit(X).set_params(diversity=0.5, max_epochs=24)
    assert_same_training(path[1], on.resume(X))
    terms = [model.diversity_term_ / model.reconstruction_error_ for model in path]
    assert terms == sorted(terms)


def test_other_sizes_start_anew_and_early_stopping_does_not_end_a_warm_start():
    wanted = [{"n_components": 3}, {"n_components": 3, "diversity": 0.9}, {"n_modules": 2}]
    path = autoencoder(early_stopping=True, patience=1, learning_rate=0.1, max_epochs=10).fit_path(
        X, wanted
    )
    assert [model.transform_modules(X).shape for model in path] == [
        (3, 200, 3),
        (3, 200, 3),
        (2, 200, 2),
    ]
    assert path[1].n_epochs_ == path[0].n_epochs_ + 2
    assert path[2].n_epochs_ <= 10


def test_frozen_deep_modules_cannot_be_searched():
    frozen = FrozenEstimator(autoencoder(max_epochs=1).fit(X))
    with pytest.raises(TypeError, match="with_params"):
        ModularClassifierCV(frozen, estimator=None).fit(X, LABELS_OF_X)


def test_a_search_does_not_depend_on_threads(search):
    again = clone(search).set_params(n_jobs=2).fit(X, LABELS_OF_X)
    for name in ("mean_test_score", "mean_ensemble_error"):
        np.testing.assert_array_equal(again.cv_results_[name], search.cv_results_[name])
