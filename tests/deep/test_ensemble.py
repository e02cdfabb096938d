"""Deep estimators among others: ensembles on them, searches, pipelines."""

import pickle
from importlib import import_module

import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deep.parts import DIGITS, LABELS, LABELS_OF_X, X, autoencoder, classifier
from modae import ModularClassifier, ModularClassifierCV
from modae.deep import ModularAutoencoder

A, B, Y_A, Y_B = train_test_split(DIGITS, LABELS, train_size=600, random_state=0)
EXTRACTOR = ModularAutoencoder(5, 6, max_epochs=10, learning_rate=5e-3, random_state=0)


def test_members_on_deep_codes_classify_digits():
    model = ModularClassifier(EXTRACTOR, random_state=0).fit(A, Y_A)
    assert model.score(B, Y_B) > 0.9
    assert model.predict_members(B).shape == (5, len(B))


def test_a_fitted_extractor_can_be_frozen():
    extractor = clone(EXTRACTOR).fit(DIGITS)
    model = ModularClassifier(FrozenEstimator(extractor)).fit(A[:200], Y_A[:200])
    assert model.score(B, Y_B) > 0.8


def test_a_search_over_diversity_reaches_the_extractor():
    ensemble = ModularClassifier(autoencoder(n_components=4), random_state=0)
    search = GridSearchCV(ensemble, {"extractor__diversity": [0.0, 0.5]}, cv=2, error_score="raise")
    search.fit(A[:200], Y_A[:200])
    assert search.best_estimator_.extractor_.diversity == search.best_params_["extractor__diversity"]


def test_a_search_over_a_network_itself():
    search = GridSearchCV(classifier(), {"hidden_layer_sizes": [(4,), (16,)]}, cv=2, error_score="raise")
    assert search.fit(A[:200], Y_A[:200]).best_params_ == {"hidden_layer_sizes": (16,)}


def test_pipelines():
    last = LogisticRegression(max_iter=500)
    pipeline = make_pipeline(StandardScaler(), autoencoder(n_components=6), last)
    assert cross_val_score(pipeline, A, Y_A, cv=2).mean() > 0.5


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_named_columns_go_in_and_out(container):
    frames = import_module(container)
    table = frames.DataFrame({f"pixel{i}": X[:, i] for i in range(64)})
    model = autoencoder(max_epochs=1).set_output(transform=container).fit(table)
    assert model.feature_names_in_.tolist() == [f"pixel{i}" for i in range(64)]
    assert isinstance(model.transform(table), frames.DataFrame)
    again = pickle.loads(pickle.dumps(model)).transform(table)
    assert list(again.columns)[:2] == ["module0_0", "module0_1"]


def test_networks_can_be_a_family_of_the_search():
    network = classifier(n_modules=2, max_epochs=10, learning_rate=0.02)
    families = {"network": (network, {"dropout": [0.0, 0.1]})}
    sizes = {"n_modules": [2], "n_components": [4], "diversities": [0.5], "cv": 2}
    search = ModularClassifierCV(estimator=families, random_state=0, **sizes).fit(X, LABELS_OF_X)
    assert search.best_params_["family"] == "network"
    assert search.score(X, LABELS_OF_X) > 0.5
