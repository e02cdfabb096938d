"""Ensembles in ONNX: labels, probabilities, and the rule for ties."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    NearestNeighborClassifier,
)
from modae.ensembles.families import AllColumns
from modae.ensembles.votes import decide, vote_shares
from modae.onnx.conversion import vote, with_classes
from modae.onnx.graph import Classification, Graph
from onnx_export.parts import CLOSE, REQUIRED, assert_same_labels, digits, ensemble, outputs_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:The `probability` parameter was deprecated:FutureWarning",
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}",
)

FURTHER = [
    DecisionTreeClassifier(),
    ExtraTreesClassifier(5),
    GaussianNB(),
    GradientBoostingClassifier(n_estimators=2, max_depth=2),
    KNeighborsClassifier(3, metric="manhattan"),
    LinearSVC(),
    MLPClassifier((8,), max_iter=5),
    RidgeClassifier(),
    SGDClassifier(),
    make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")),
    make_pipeline(MinMaxScaler(), StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("member", REQUIRED + FURTHER, ids=str)
def test_members_on_digits_with_words_for_labels(member, tmp_path):
    X, y = digits()
    words = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
    for voting in ("hard", "auto"):
        model = ensemble(member, voting=voting).fit(X[::6], words[::6])
        assert_same_labels(model, outputs_of(model, X, tmp_path)["label"], X)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize(
    "member",
    [
        SVC(),
        LinearSVC(),
        LogisticRegression(max_iter=50),
        RidgeClassifier(),
        make_pipeline(StandardScaler(), SVC(C=10.0)),
        SGDClassifier(),
    ],
    ids=str,
)
def test_votes_by_decision_functions(member, n_classes, tmp_path):
    X, y = digits()
    X, y = X[y < n_classes] / 16.0, y[y < n_classes]
    model = ensemble(member, voting="decision", calibration=0.7).fit(X[::3], y[::3])
    assert model.voting_ == "decision"
    found = outputs_of(model, X, tmp_path)
    assert_same_labels(model, found["label"], X)
    assert np.abs(found["probabilities"] - model.predict_proba(X)).max() <= 5 * CLOSE


def test_decision_functions_of_members_whose_scores_are_probabilities_are_refused(tmp_path):
    X, y = digits()
    model = ensemble(SVC(probability=True), voting="decision").fit(X[::8], y[::8])
    with pytest.raises(ValueError, match=r"module 0 \(SVC\) cannot .* know its decision function"):
        outputs_of(model, X, tmp_path)
    assert not list(tmp_path.iterdir())


def test_members_with_and_without_probabilities_vote_by_decision_functions(tmp_path):
    X, y = digits()
    members = [("svm", SVC()), ("linear", LogisticRegression(max_iter=50)), ("other", LinearSVC())]
    model = ensemble(members, n_modules=3, calibration="cv").fit(X[::6] / 16.0, y[::6])
    assert model.voting_ == "decision"
    found = outputs_of(model, X / 16.0, tmp_path)
    assert_same_labels(model, found["label"], X / 16.0)
    assert np.abs(found["probabilities"] - model.predict_proba(X / 16.0)).max() <= 5 * CLOSE


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_neighbors", [1, 4, 1000])
def test_several_neighbours_of_ours_with_weights(n_neighbors, weighted, tmp_path):
    X, y = digits()
    weights = np.random.default_rng(0).integers(0, 4, 300) / 2 if weighted else None
    model = NearestNeighborClassifier(n_neighbors).fit(X[:300], y[:300], weights)
    found = outputs_of(model, X, tmp_path)["probabilities"]
    # Where distances tie, either row may be the last neighbour.
    assert (np.abs(found - model.predict_proba(X)).max(axis=1) > CLOSE).mean() <= 0.01


def test_a_learner_on_all_columns(tmp_path):
    X, y = digits()
    model = ModularClassifier(AllColumns(), GaussianNB(var_smoothing=1e-2)).fit(X[::6], y[::6])
    assert_same_labels(model, outputs_of(model, X, tmp_path)["label"], X)


@pytest.mark.parametrize("member", [REQUIRED[0], REQUIRED[2], REQUIRED[5]], ids=str)
def test_soft_votes(member, tmp_path):
    X, y = digits()
    model = ensemble(member, voting="soft", extractor=BaggingAutoencoder).fit(X[::6], y[::6])
    found = outputs_of(model, X, tmp_path)
    assert_same_labels(model, found["label"], X)
    assert np.abs(found["probabilities"] - model.predict_proba(X)).max() <= CLOSE


def test_soft_votes_of_round_probabilities_tie_by_the_same_rule(tmp_path):
    X, y = digits()
    model = ensemble(RandomForestClassifier(10), voting="soft").fit(X[::6], y[::6])
    found = outputs_of(model, X, tmp_path)
    assert_same_labels(model, found["label"], X)
    assert np.abs(found["probabilities"] - model.predict_proba(X)).max() <= CLOSE


@pytest.mark.parametrize("member", REQUIRED[:4], ids=str)
def test_two_classes_that_are_not_zero_and_one(member, tmp_path):
    X, y = digits()
    labels = np.where(y % 2, 7, -3)
    model = ensemble(member).fit(X[::6], labels[::6])
    assert_same_labels(model, outputs_of(model, X, tmp_path)["label"], X)


@pytest.mark.parametrize("kind", [bool, float, object])
def test_other_types_of_labels(kind, tmp_path):
    X, y = digits()
    labels = (y > 4).astype(kind) if kind is not object else np.array(list("ab"), dtype=object)[y % 2]
    for member in (None, LogisticRegression(max_iter=20)):
        model = ensemble(member).fit(X[::6], labels[::6])
        assert_same_labels(model, outputs_of(model, X, tmp_path)["label"], X)


def test_whatever_is_around_an_ensemble(tmp_path):
    X, y = digits()
    A, a = X[::6], y[::6]
    extractor = LinearModularAutoencoder(5, 6, random_state=0).fit(X)
    frozen = ModularClassifier(FrozenEstimator(extractor), random_state=0)
    tuned = ModularClassifierCV(
        LinearModularAutoencoder(5, 6), estimator=None, diversities=[0.5, 0.7], cv=2, random_state=0
    )
    grid = GridSearchCV(ensemble(None), {"extractor__diversity": [0.5, 0.7]}, cv=2)
    names = [(f"m{i}", member) for i, member in enumerate([*FURTHER[:3], FURTHER[-1]])]
    listed = ensemble(
        [*names, ("other", ensemble(None, n_modules=2).set_params(extractor__n_components=2))]
    )
    for model in (frozen, tuned, grid, listed, make_pipeline(StandardScaler(), frozen)):
        model.fit(A, a)
        assert (outputs_of(model, X, tmp_path)["label"] == model.predict(X)).mean() >= 0.999


def test_a_pipeline_that_ends_in_a_classifier_of_others(tmp_path):
    X, y = digits()
    for last, names in (
        (LogisticRegression(max_iter=50), {"label", "probabilities"}),
        (SVC(), {"label"}),
    ):
        model = make_pipeline(LinearModularAutoencoder(5, 6, random_state=0), last).fit(X[::6], y[::6])
        found = outputs_of(model, X, tmp_path)
        assert set(found) == names
        assert (found["label"] == model.predict(X)).mean() >= 0.999


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_so_large_that_sigmoids_are_0_or_1(dtype, tmp_path):
    X, y = digits()
    X = X.astype(dtype)
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X[::6], y[::6])
    assert np.abs(model.decision_function(X)).max() > 1000
    found = outputs_of(model, X, tmp_path)
    assert (found["label"] == model.predict(X)).mean() >= 0.999
    assert (np.abs(found["probabilities"] - model.predict_proba(X)).max(axis=1) > 1e-3).mean() <= 1e-3


def test_neighbours_far_from_zero_and_close_together(tmp_path):
    rng = np.random.default_rng(0)
    centres = 1e3 * rng.normal(size=(8, 5))
    X = (np.repeat(centres, 50, axis=0) + 1e-2 * rng.normal(size=(400, 5))).astype(np.float32)
    y = rng.integers(0, 4, 400)
    model = NearestNeighborClassifier().fit(X[::2].astype(np.float64), y[::2])
    assert (outputs_of(model, X, tmp_path)["label"] == model.predict(X.astype(np.float64))).all()


def graph_of_votes(votes, probabilities, prior, tie_break, soft):
    """A graph of the vote alone: what the members say is given."""
    graph = Graph()
    classes = np.arange(len(prior))
    members = [
        Classification(graph.constant(labels), graph.constant(each), classes)
        for labels, each in zip(votes, probabilities, strict=True)
    ]
    answer = vote(graph, members, prior, "soft" if soft else "hard", tie_break)
    graph.output("winner", answer.winner, np.int64)
    return ReferenceEvaluator(graph.model(1))


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from(["probability", "prior", "first"]),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_the_rule_for_ties_is_that_of_votes(n_members, n_classes, tie_break, soft, seed):
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, n_classes, size=(n_members, 6))
    # Fourths are exact in both precisions: what ties here ties there.
    probabilities = rng.integers(0, 3, size=(n_members, 6, n_classes)) / 4
    prior = rng.integers(1, 3, size=n_classes) / 4
    breakers = {
        "probability": lambda rows: probabilities.mean(axis=0)[rows],
        "prior": lambda rows: np.tile(prior, (len(rows), 1)),
    }
    shares = probabilities.mean(axis=0) if soft else vote_shares(votes, n_classes)
    # A mean of fifths or thirds is not exact: here a soft tie is one within round-off.
    wanted = {"probability": ["probability", "prior"], "prior": ["prior"], "first": []}[tie_break]
    expected = decide(np.round(shares, 9), [breakers[name] for name in wanted])
    evaluator = graph_of_votes(votes, probabilities, prior, tie_break, soft)
    found = evaluator.run(None, {"X": np.zeros((6, 1), np.float32)})[0]
    assert found.tolist() == expected.tolist()


def test_a_member_that_knows_fewer_classes():
    classes = np.array([1, 3, 5, 7])
    graph = Graph()
    member = Classification(
        graph.constant([0, 1, 1]),
        graph.constant([[0.75, 0.25], [0.5, 0.5], [0, 1]]),
        np.array([3, 7]),
    )
    answer = with_classes(graph, member, classes)
    graph.output("winner", answer.winner, np.int64)
    graph.output("probabilities", answer.scores, np.float32, 4)
    winner, spread = ReferenceEvaluator(graph.model(1)).run(None, {"X": np.zeros((3, 1))})
    assert classes[winner].tolist() == [3, 7, 7]
    assert spread.tolist() == [[0, 0.75, 0, 0.25], [0, 0.5, 0, 0.5], [0, 0, 0, 1]]


def test_a_member_that_knows_fewer_classes_and_no_scores():
    graph = Graph()
    member = Classification(graph.constant([0, 1, 1]), None, np.array([3, 7]))
    answer = with_classes(graph, member, np.array([1, 3, 5, 7]))
    assert answer.scores is None
    graph.output("winner", answer.winner, np.int64)
    (winner,) = ReferenceEvaluator(graph.model(1)).run(None, {"X": np.zeros((3, 1))})
    assert answer.classes[winner].tolist() == [3, 7, 7]


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_sgd_of_two_classes(loss, tmp_path):
    X, y = digits()
    model = make_pipeline(StandardScaler(), SGDClassifier(loss=loss, random_state=0)).fit(X, y > 4)
    found = outputs_of(model, X, tmp_path)
    assert (found["label"] == model.predict(X)).mean() >= 0.999
    if loss == "log_loss":
        assert np.abs(found["probabilities"] - model.predict_proba(X)).max() <= 10 * CLOSE


def test_every_tie_break_reaches_the_file(tmp_path):
    X, y = digits()
    for voting, tie_break in itertools.product(["hard", "soft"], ["probability", "prior", "first"]):
        model = ensemble(GaussianNB(), n_modules=4, voting=voting, tie_break=tie_break).fit(
            X[::6], y[::6]
        )
        found = outputs_of(model, X, tmp_path)["label"]
        assert_same_labels(model, found, X)
