"""The vote: counted by hand, tied in every way, hard and soft."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from ensembles.parts import ColumnModules, OpenVoter, Voter
from modae import ModularClassifier
from modae.ensembles import votes as votes_module
from modae.ensembles.votes import decide, row_disagreement, stratified, vote_shares
from strategies import open_votes, vote_tables

LABELS = np.array(["ant", "bee", "cat", "dog", "elk"])


def training_labels(n_classes, rng):
    """Every class at least once, some more often."""
    return LABELS[np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 6)])]


def vote_of(votes, n_classes, member=None, rng=None, **params):
    """An ensemble whose members will vote as the rows of ``votes`` say."""
    y = training_labels(n_classes, rng or np.random.default_rng(0))
    model = ModularClassifier(ColumnModules(), member or Voter(), **params)
    return model.fit(np.zeros((len(y), votes.shape[1])), y), y


def counted_winners(row):
    """Indices of the classes with most votes, the slow way."""
    counts = Counter(row.tolist())
    return {index for index, count in counts.items() if count == max(counts.values())}


@given(vote_tables(), st.sampled_from(["probability", "prior", "first"]))
def test_the_modal_class_wins_and_ties_follow_the_training_shares(table, tie_break):
    votes, n_classes = table
    model, y = vote_of(votes, n_classes, tie_break=tie_break)
    frequency = Counter(y.tolist())
    for row, label in zip(votes, model.predict(votes), strict=True):
        tied = sorted(counted_winners(row))
        if tie_break == "first":
            assert label == LABELS[tied[0]]
        else:  # these members have no probabilities, so "probability" comes to the shares at once
            best = max(frequency[LABELS[index]] for index in tied)
            assert label == next(LABELS[i] for i in tied if frequency[LABELS[i]] == best)


@given(vote_tables())
def test_hard_probabilities_are_shares_of_the_votes(table):
    votes, n_classes = table
    model, _ = vote_of(votes, n_classes)
    expected = [[np.mean(row == index) for index in range(n_classes)] for row in votes]
    np.testing.assert_allclose(model.predict_proba(votes), expected, atol=1e-15)
    np.testing.assert_allclose(model.predict_proba(votes).sum(axis=1), 1.0, atol=1e-14)


@given(
    open_votes(), st.sampled_from(["hard", "soft"]), st.sampled_from(["probability", "prior", "first"])
)
def test_predict_is_one_of_the_classes_with_the_largest_probability(case, voting, tie_break):
    X, _, _, n_classes = case
    y = training_labels(n_classes, np.random.default_rng(1))
    model = ModularClassifier(
        ColumnModules(1 + n_classes), OpenVoter(), voting=voting, tie_break=tie_break
    )
    model.fit(np.zeros((len(y), X.shape[1])), y)
    shares, labels = model.predict_proba(X), model.predict(X)
    for share, label in zip(shares, labels, strict=True):
        assert label in model.classes_[share == share.max()]


@given(open_votes())
def test_soft_probabilities_are_means_and_the_largest_wins(case):
    X, _, probabilities, n_classes = case
    y = training_labels(n_classes, np.random.default_rng(1))
    model = ModularClassifier(ColumnModules(1 + n_classes), OpenVoter(), voting="soft")
    model.fit(np.zeros((len(y), X.shape[1])), y)
    mean = probabilities.mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-14)
    for row, label in zip(mean, model.predict(X), strict=True):
        assert row[np.flatnonzero(model.classes_ == label)[0]] >= row.max() - 1e-12


@given(open_votes())
def test_ties_go_to_the_larger_mean_probability_then_to_the_larger_training_share(case):
    X, votes, probabilities, n_classes = case
    y = training_labels(n_classes, np.random.default_rng(2))
    model = ModularClassifier(ColumnModules(1 + n_classes), OpenVoter(), voting="hard")
    model.fit(np.zeros((len(y), X.shape[1])), y)
    frequency = Counter(y.tolist())
    for row, chances, label in zip(votes, probabilities, model.predict(X), strict=True):
        tied = sorted(counted_winners(row))
        mean = {index: np.mean(chances[:, index]) for index in tied}
        tied = [index for index in tied if mean[index] >= max(mean.values()) - 1e-12]
        best = max(frequency[LABELS[index]] for index in tied)
        assert label == next(LABELS[i] for i in tied if frequency[LABELS[i]] == best)


def tied_model(tie_break, y):
    """Two members with three classes: they will vote for classes 1 and 2, and doubt in favour of 1."""
    model = ModularClassifier(ColumnModules(4), OpenVoter(), voting="hard", tie_break=tie_break)
    return model.fit(np.zeros((len(y), 8)), y)


@pytest.mark.parametrize(("tie_break", "winner"), [("probability", "c"), ("prior", "b"), ("first", "b")])
def test_each_rule_on_a_tie_made_by_hand(tie_break, winner):
    row = [[1, 0.0, 0.5, 0.5, 2, 0.0, 0.1, 0.9]]
    assert tied_model(tie_break, ["a", "a", "a", "b", "b", "c"]).predict(row) == [winner]


def test_the_prior_is_asked_before_the_order_of_the_classes():
    row = [[1, 0.0, 0.5, 0.5, 2, 0.0, 0.5, 0.5]]
    frequent_c = ["a", "b", "c", "c"]
    assert tied_model("first", frequent_c).predict(row) == ["b"]
    assert tied_model("prior", frequent_c).predict(row) == ["c"]
    assert tied_model("probability", frequent_c).predict(row) == ["c"]
    assert tied_model("probability", ["a", "b", "c"]).predict(row) == ["b"]


def test_a_tie_is_not_lost_to_a_class_with_more_probability_but_fewer_votes():
    # Class 0 has the largest mean probability and no vote.
    row = [[1, 0.9, 0.1, 0.0, 2, 0.9, 0.0, 0.1]]
    assert tied_model("probability", ["a", "a", "b", "c", "c"]).predict(row) == ["c"]


def test_many_classes_and_more_rows_than_a_block(monkeypatch):
    monkeypatch.setattr(votes_module, "CELLS", 1000)
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 300, (9, 50))
    shares = vote_shares(votes, 300)
    for row, share in zip(votes.T, shares, strict=True):
        counts = Counter(row.tolist())
        assert {k: round(9 * share[k]) for k in np.flatnonzero(share)} == counts
    assert vote_shares(votes, 2000).shape == (50, 2000)  # more classes than cells of a block
    assert (decide(shares) == [min(counted_winners(row)) for row in votes.T]).all()


def test_disagreement_counts_pairs_of_different_members():
    votes = np.array([[0, 0, 1], [0, 1, 1], [0, 2, 0], [0, 2, 1]])
    pairs = [(i, j) for i in range(4) for j in range(i)]
    expected = [np.mean([row[i] != row[j] for i, j in pairs]) for row in votes.T]
    np.testing.assert_allclose(row_disagreement(vote_shares(votes, 3), 4), expected, atol=1e-15)
    assert (row_disagreement(vote_shares(votes[:1], 3), 1) == 0).all()


class Partial(GaussianNB):
    """Trained on the first two classes only, as a member fitted with weights 0 may be."""

    def fit(self, X, y, sample_weight=None):
        known = np.isin(y, np.unique(y)[[0, 2]])
        return super().fit(X[known], np.asarray(y)[known])


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_members_that_know_only_some_classes(voting):
    rng = np.random.default_rng(0)
    y = np.repeat(["x", "y", "z"], 20)
    X = rng.standard_normal((60, 4)) + 3.0 * np.repeat(np.eye(3, 4), 20, axis=0)
    members = [("all", GaussianNB()), ("partial", Partial())]
    model = ModularClassifier(ColumnModules(2), members, voting=voting).fit(X, y)
    whole, partial = model.estimators_
    assert partial.classes_.tolist() == ["x", "z"]
    np.testing.assert_array_equal(model.predict_members(X)[1], partial.predict(X[:, 2:]))
    if voting == "soft":
        second = np.insert(partial.predict_proba(X[:, 2:]), 1, 0.0, axis=1)
        expected = (whole.predict_proba(X[:, :2]) + second) / 2
    else:
        first, second = whole.predict(X[:, :2]), partial.predict(X[:, 2:])
        expected = [
            [((a == c) + (b == c)) / 2 for c in "xyz"] for a, b in zip(first, second, strict=True)
        ]
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-14)


def test_hard_voting_needs_no_probabilities_and_soft_voting_is_their_mean():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((50, 6)), rng.integers(0, 3, 50)
    hard = ModularClassifier(ColumnModules(2), Voter()).fit(np.zeros((50, 6)), y)
    assert hard.predict(np.ones((4, 6))).tolist() == [1] * 4
    soft = ModularClassifier(ColumnModules(2), LogisticRegression(), voting="soft").fit(X, y)
    single = [LogisticRegression().fit(X[:, k : k + 2], y) for k in (0, 2, 4)]
    mean = np.mean(
        [each.predict_proba(X[:, 2 * k : 2 * k + 2]) for k, each in enumerate(single)], axis=0
    )
    np.testing.assert_allclose(soft.predict_proba(X), mean, atol=1e-14)
    np.testing.assert_array_equal(soft.predict(X), mean.argmax(axis=1))


@given(st.lists(st.integers(1, 200), min_size=1, max_size=5), st.integers(25, 400), st.integers(0, 9))
def test_a_stratified_choice_keeps_the_shares_of_the_classes(counts, most, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    some = stratified(labels, most, seed)
    assert len(some) == min(most, len(labels))
    assert (np.diff(some) > 0).all()
    got = np.bincount(labels[some], minlength=len(counts))
    assert (got >= np.minimum(counts, 5)).all()
    # But for the first five, a class has the same share as others, rounded up or down.
    lowest = [(mine - 1) / count for mine, count in zip(got, counts, strict=True) if mine > 5]
    highest = [(mine + 1) / count for mine, count in zip(got, counts, strict=True) if mine < count]
    assert max(lowest, default=0.0) <= min(highest, default=1.0)
