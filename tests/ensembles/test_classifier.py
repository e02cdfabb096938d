"""What a fitted ModularClassifier tells about its members, and the kinds of data it takes."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ensembles.parts import ColumnModules
from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularRegressor,
    NearestNeighborClassifier,
)

M = 5


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400], X[400:700], y[400:700]


def small(**params):
    return ModularClassifier(LinearModularAutoencoder(M, 4, 0.7, random_state=0), **params)


@pytest.fixture(scope="module")
def model(digits):
    A, a, _, _ = digits
    return small().fit(A, a)


def test_members_are_trained_on_the_features_of_their_module(model, digits):
    A, a, B, _ = digits
    extractor = LinearModularAutoencoder(M, 4, 0.7, random_state=0).fit(A)
    codes = zip(extractor.transform_modules(A), extractor.transform_modules(B), strict=True)
    expected = [NearestNeighborClassifier().fit(train, a).predict(test) for train, test in codes]
    np.testing.assert_array_equal(model.predict_members(B), expected)
    assert model.predict_members(B).shape == (M, 300)
    assert model.n_modules_ == len(model.estimators_) == M


def test_member_scores_are_accuracies(model, digits):
    _, _, B, b = digits
    weights = np.random.default_rng(0).uniform(0, 2, len(b))
    members = model.predict_members(B)
    expected = [accuracy_score(b, each) for each in members]
    np.testing.assert_allclose(model.member_scores(B, b), expected)
    expected = [accuracy_score(b, each, sample_weight=weights) for each in members]
    np.testing.assert_allclose(model.member_scores(B, b, sample_weight=weights), expected)


def test_the_mean_disagreement_is_that_of_pairs_of_members(model, digits):
    _, _, B, _ = digits
    pairs = combinations(model.predict_members(B), 2)
    expected = np.mean([np.mean(first != second) for first, second in pairs])
    doubt = model.disagreement(B)
    assert doubt.shape == (300,)
    assert doubt.mean() == pytest.approx(expected, abs=1e-14)
    assert ((doubt >= 0) & (doubt <= 1)).all()


def test_one_member_never_disagrees(digits):
    A, a, B, _ = digits
    alone = ModularClassifier(LinearModularAutoencoder(1, 4, random_state=0)).fit(A, a)
    assert (alone.disagreement(B) == 0).all()
    np.testing.assert_array_equal(alone.predict(B), alone.predict_members(B)[0])


def test_the_vote_is_better_than_its_members(digits):
    A, a, B, b = digits
    model = small().fit(A, a)
    assert model.score(B, b) > model.member_scores(B, b).max() + 0.03


@pytest.mark.parametrize("member", [LogisticRegression(max_iter=5000), LinearDiscriminantAnalysis()])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_decision_function_is_the_mean_of_the_members(member, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    extractor = LinearModularAutoencoder(3, 2, 0.5, random_state=0)
    model = ModularClassifier(extractor, member, voting="decision").fit(X, y)
    codes = model.extractor_.transform_modules(X)
    answers = [m.decision_function(c) for m, c in zip(model.estimators_, codes, strict=True)]
    expected = np.mean(answers, axis=0)
    assert expected.shape == ((len(y),) if classes == 2 else (len(y), 3))
    np.testing.assert_allclose(model.decision_function(X), expected)


def test_the_decision_function_is_there_only_if_it_decides():
    assert not hasattr(ModularClassifier(), "decision_function")
    assert hasattr(ModularClassifier(estimator=LinearSVC()), "decision_function")
    assert not hasattr(ModularClassifier(estimator=LinearSVC(), voting="hard"), "decision_function")
    assert not hasattr(ModularClassifier(estimator=LogisticRegression()), "decision_function")
    mixed = [("svm", LinearSVC()), ("near", NearestNeighborClassifier())]
    assert not hasattr(ModularClassifier(estimator=mixed), "decision_function")
    X, y = load_iris(return_X_y=True)
    extractor = LinearModularAutoencoder(2, 2, random_state=0)
    fitted = ModularClassifier(extractor, mixed).fit(X, y)
    assert not hasattr(fitted, "decision_function")
    with pytest.raises(AttributeError, match="decision_function"):
        fitted.decision_function(X)


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_jobs_changes_nothing(digits, voting, n_jobs):
    A, a, B, _ = digits
    one = small(voting=voting).fit(A, a)
    many = small(voting=voting, n_jobs=n_jobs).fit(A, a)
    np.testing.assert_array_equal(one.predict_members(B), many.predict_members(B))
    np.testing.assert_array_equal(one.predict_proba(B), many.predict_proba(B))
    np.testing.assert_array_equal(one.predict(B), many.predict(B))


def test_named_members_keep_their_order_with_any_number_of_jobs():
    X, y = load_iris(return_X_y=True)
    members = [("svm", LinearSVC(max_iter=100_000)), ("near", NearestNeighborClassifier())]
    model = ModularClassifier(ColumnModules(2), members, n_jobs=2).fit(X, y)
    assert [type(each) for each in model.estimators_] == [LinearSVC, NearestNeighborClassifier]
    expected = LinearSVC(max_iter=100_000, random_state=0)
    np.testing.assert_array_equal(
        model.predict_members(X)[1], NearestNeighborClassifier().fit(X[:, 2:], y).predict(X[:, 2:])
    )
    assert expected.fit(X[:, :2], y).score(X[:, :2], y) == pytest.approx(
        model.member_scores(X, y)[0], abs=0.05
    )


def test_labels_of_every_kind(digits):
    A, a, B, _ = digits
    expected = small().fit(A, a).predict(B)
    words = np.array([f"digit {k}" for k in range(10)])
    np.testing.assert_array_equal(small().fit(A, words[a]).predict(B), words[expected])
    objects = words.astype(object)
    np.testing.assert_array_equal(small().fit(A, objects[a]).predict(B), words[expected])
    np.testing.assert_array_equal(small().fit(A, 10.0 * a - 30).predict(B), 10.0 * expected - 30)
    np.testing.assert_array_equal(small().fit(A, a.tolist()).predict(B), expected)
    np.testing.assert_array_equal(small().fit(A, pd.Series(words[a])).predict(B), words[expected])
    np.testing.assert_array_equal(small().fit(A, pl.Series(words[a])).predict(B), words[expected])
    parity = small().fit(A, a % 2 == 0).predict(B)
    assert parity.dtype == bool


def test_string_labels_in_scores(digits):
    A, a, B, b = digits
    words = np.array([f"digit {k}" for k in range(10)])
    model = small().fit(A, words[a])
    np.testing.assert_allclose(model.member_scores(B, words[b]), small().fit(A, a).member_scores(B, b))
    frame = pd.Series(words[b])
    np.testing.assert_allclose(model.member_scores(B, frame), model.member_scores(B, words[b]))


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
@pytest.mark.parametrize("extractor", [LinearModularAutoencoder, BaggingAutoencoder])
def test_sparse_rows_are_the_same_rows(digits, kind, extractor):
    A, a, B, _ = digits
    model = ModularClassifier(extractor(M, 4, random_state=0))
    expected = model.fit(A, a).predict_proba(B)
    np.testing.assert_allclose(model.fit(kind(A), a).predict_proba(kind(B)), expected)


def test_single_precision_stays_single(digits):
    A, a, B, b = digits
    model = small().fit(A.astype(np.float32), a)
    assert model.estimators_[0].nearest_.rows.dtype == np.float32
    assert model.score(B.astype(np.float32), b) == pytest.approx(small().fit(A, a).score(B, b), abs=0.02)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("kind", [ModularClassifier, ModularRegressor])
def test_frames_and_their_column_names(digits, library, kind):
    A, a, B, _ = digits
    names = [f"pixel {k}" for k in range(64)]
    frame, new = (library.DataFrame(dict(zip(names, rows.T, strict=True))) for rows in (A, B))
    model = kind(LinearModularAutoencoder(M, 4, 0.7, random_state=0))
    expected = model.fit(A, a).predict(B)
    model.fit(frame, a)
    np.testing.assert_allclose(model.predict(new), expected)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 64
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[names[::-1]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(B)


@pytest.mark.parametrize("output", ["pandas", "polars", "default"])
def test_steps_before_may_give_frames(digits, output):
    A, a, B, _ = digits
    scaler = StandardScaler().set_output(transform=output)
    expected = make_pipeline(StandardScaler(), small()).fit(A, a).predict(B)
    np.testing.assert_array_equal(make_pipeline(scaler, small()).fit(A, a).predict(B), expected)


def test_an_extractor_with_frames_as_output(digits):
    A, a, B, _ = digits
    model = small()
    expected = model.fit(A, a).predict(B)
    model.extractor.set_output(transform="pandas")
    np.testing.assert_array_equal(model.fit(A, a).predict(B), expected)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_members", "disagreement"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError, match="ModularClassifier"):
        getattr(ModularClassifier(), method)(np.zeros((2, 3)))


def test_one_class_is_a_sure_vote(digits):
    A, _, B, _ = digits
    model = small().fit(A, np.zeros(len(A), dtype=int))
    assert (model.predict(B) == 0).all()
    assert (model.predict_proba(B) == 1).all()


def test_a_second_fit_forgets_the_first(digits):
    A, a, B, _ = digits
    model = small().fit(A, a)
    model.set_params(extractor__n_modules=2).fit(A[:100, :20], a[:100] % 3)
    assert model.n_modules_ == 2
    assert model.n_features_in_ == 20
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_members(B[:, :20]).shape == (2, 300)
