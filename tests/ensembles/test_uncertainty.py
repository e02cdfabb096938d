"""What members say one by one, and the uncertainty that follows: against loops over rows and members."""

from math import log

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from ensembles.parts import ColumnModules, OpenVoter, Voter
from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    ModularRegressorCV,
    open_batches,
)

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]

MEMBERS = [
    None,
    KNeighborsClassifier(5),
    LogisticRegression(max_iter=5000),
    SVC(),
    LinearSVC(),
    make_pipeline(StandardScaler(), SVC()),
]


def fitted(member, labels=y, **options):
    extractor = LinearModularAutoencoder(4, 2, 0.6, random_state=0)
    return ModularClassifier(extractor, member, **options).fit(X, labels)


def entropy(shares):
    return -sum(share * log(share) for share in shares if share > 0.0)


def by_definition(members):
    """Total, aleatoric, epistemic, row by row."""
    rows = []
    for row in range(members.shape[1]):
        total = entropy(members[:, row].mean(axis=0))
        aleatoric = sum(entropy(each) for each in members[:, row]) / len(members)
        rows.append([total, aleatoric, total - aleatoric])
    return np.array(rows)


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_uncertainty_is_the_entropy_of_the_mean_and_its_parts(member):
    model = fitted(member, NAMES)
    members = model.predict_proba_members(X)
    assert members.shape == (4, len(X), 3)
    np.testing.assert_allclose(members.sum(axis=2), 1.0)
    found = model.uncertainty(X)
    np.testing.assert_allclose(found, by_definition(members), atol=1e-12)
    assert (found >= 0.0).all()
    assert (found <= log(3) + 1e-12).all()


@pytest.mark.parametrize("member", MEMBERS[:3], ids=str)
def test_the_mean_of_the_members_is_the_soft_vote(member):
    model = fitted(member)
    np.testing.assert_allclose(model.predict_proba_members(X).mean(axis=0), model.predict_proba(X))


def test_nearest_neighbours_have_no_aleatoric_part():
    assert (fitted(None).uncertainty(X)[:, 1] == 0.0).all()


def test_a_single_member_has_no_epistemic_part():
    model = ModularClassifier(LinearModularAutoencoder(1, 2), LogisticRegression(max_iter=5000)).fit(
        X, y
    )
    np.testing.assert_allclose(model.uncertainty(X)[:, 2], 0.0, atol=1e-12)


def test_members_with_labels_only_have_ones():
    rows = np.array([[0, 1, 1], [2, 2, 0], [1, 1, 1]])
    model = ModularClassifier(ColumnModules(), Voter()).fit(rows, ["a", "b", "c"])
    members = model.predict_proba_members(rows)
    np.testing.assert_array_equal(members.argmax(axis=2), rows.T)
    np.testing.assert_array_equal(np.sort(members, axis=2), np.tile([0, 0, 1], (3, 3, 1)))


def test_a_hard_vote_has_the_probabilities_of_its_members_too():
    rows = np.array([[0, 0.6, 0.4, 1, 0.3, 0.7], [1, 0.5, 0.5, 0, 0.9, 0.1]])
    model = ModularClassifier(ColumnModules(3), OpenVoter(), voting="hard").fit(rows, [0, 1])
    np.testing.assert_array_equal(model.predict_proba_members(rows)[1], [[0.3, 0.7], [0.9, 0.1]])


def test_a_member_that_knows_fewer_classes_has_zeros_for_others():
    class Blind(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X[y != 1], y[y != 1])

    members = fitted(Blind(max_iter=5000)).predict_proba_members(X)
    assert (members[:, :, 1] == 0.0).all()


@pytest.mark.parametrize("member", [SVC(), make_pipeline(StandardScaler(), SVC(C=10.0))], ids=str)
def test_an_svm_for_several_classes_gives_each_its_margin_over_the_strongest_rival(member):
    model = fitted(member)
    assert model.voting_ == "decision"
    codes = model.extractor_.transform_modules(X)
    expected = np.zeros((len(X), 3))
    for each, rows in zip(model.estimators_, codes, strict=True):
        svm = each if isinstance(each, SVC) else each[-1]
        assert svm.decision_function_shape == "ovr"
        svm.set_params(decision_function_shape="ovo")
        for row, (a, b, c) in enumerate(each.decision_function(rows)):  # 0-1, 0-2, 1-2
            expected[row] += [min(a, b), min(-a, c), min(-b, -c)]
        svm.set_params(decision_function_shape="ovr")
    np.testing.assert_allclose(model.decision_function(X), expected / 4)


def test_the_winner_of_all_pairs_wins_the_vote_of_one_svm():
    single = ModularClassifier(LinearModularAutoencoder(1, 3), SVC(gamma=2.0)).fit(X, y)
    member, (codes,) = single.estimators_[0], single.extractor_.transform_modules(X)
    clear = member.decision_function(codes).max(axis=1) > 2.0  # won both of its pairs
    assert clear.sum() > 100
    np.testing.assert_array_equal(single.predict(X)[clear], member.predict(codes)[clear])


def test_margins_tell_a_close_call_from_a_clear_one():
    model = fitted(SVC(), n_jobs=2)
    margins = np.sort(model.decision_function(X), axis=1)[:, -1]
    assert len(np.unique(margins.round(6))) > 100  # not a count of pairs


def test_lazily_by_chunk(tmp_path):
    model = fitted(LogisticRegression(max_iter=5000), calibrate=0.4, random_state=0)
    np.save(tmp_path / "rows.npy", X)
    batches = open_batches(tmp_path / "rows.npy", batch_size=40)
    dask_array = pytest.importorskip("dask.array")
    chunked = dask_array.from_array(X, chunks=(40, 4))
    for rows in (batches, chunked):
        for name in ("uncertainty", "predict_proba_members", "predict_set", "abstain"):
            expected = getattr(model, name)(X)
            np.testing.assert_allclose(np.asarray(getattr(model, name)(rows)), expected, atol=1e-12)
        np.testing.assert_array_equal(
            np.asarray(model.predict_set(rows, 0.8, True)), model.predict_set(X, 0.8, per_class=True)
        )


@pytest.mark.parametrize("scale", [False, True])
def test_a_search_passes_it_on(scale):
    options = {"diversities": [0.8], "n_components": 2, "cv": 2, "random_state": 0}
    search = ModularClassifierCV(estimator=SVC(), scale=scale, calibrate=0.4, **options).fit(X, y)
    assert search.predict_proba_members(X).shape[1:] == (150, 3)
    np.testing.assert_allclose(
        search.uncertainty(X), by_definition(search.predict_proba_members(X)), atol=1e-12
    )
    assert search.predict_set(X, 0.8).any(axis=1).all()
    assert search.abstain(X, 0.5).shape == (150,)
    with pytest.raises(ValueError, match="calibrate does not work with weights"):
        search.fit(X, y, sample_weight=np.ones(150))


def test_the_uncertainty_of_a_mean_is_the_spread_of_its_members():
    targets = np.column_stack([X[:, 0], X @ [1.0, 2.0, 3.0, 4.0]])
    for target in (targets, targets[:, 0]):
        model = ModularRegressor(n_components=2, random_state=0).fit(X[::2], target[::2])
        spread = model.predict_members(X).std(axis=0)
        np.testing.assert_array_equal(model.uncertainty(X), spread)
        np.testing.assert_array_equal(model.predict(X, True)[1], spread)
    search = ModularRegressorCV(estimator=None, n_components=2, diversities=[0.8], cv=2, random_state=0)
    assert search.fit(X, targets[:, 0]).uncertainty(X).shape == (150,)
