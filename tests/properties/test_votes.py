"""What a vote does not depend on: the names of the classes, and the order of members and rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensembles.parts import ColumnModules, OpenVoter, Voter
from modae import LinearModularAutoencoder, ModularClassifier
from strategies import data_sets, open_votes, vote_tables

tie_breaks = st.sampled_from(["probability", "prior", "first"])


def vote(votes, names, tie_break):
    """The ensemble of members that vote as the rows say; class k comes k + 1 times in the training."""
    y = np.repeat(names, np.arange(1, len(names) + 1))
    model = ModularClassifier(ColumnModules(), Voter(), tie_break=tie_break)
    model.fit(np.zeros((len(y), votes.shape[1])), y)
    places = np.searchsorted(model.classes_, names)  # a voter counts the classes in their order
    return model, places[votes]


names = st.lists(st.text("abcxyz", min_size=1, max_size=4), min_size=5, max_size=5, unique=True)


@given(vote_tables(), names, names)
def test_other_names_of_the_classes_give_the_same_answers_under_these_names(table, first, second):
    votes, n_classes = table
    first, second = first[:n_classes], second[:n_classes]
    # No two classes are as frequent, so that the order of the names never decides.
    (model, X), (renamed, Z) = (vote(votes, each, "prior") for each in (first, second))
    renaming = dict(zip(first, second, strict=True))
    assert [renaming[label] for label in model.predict(X)] == renamed.predict(Z).tolist()
    for old, new in renaming.items():
        np.testing.assert_array_equal(
            model.predict_proba(X)[:, model.classes_ == old],
            renamed.predict_proba(Z)[:, renamed.classes_ == new],
        )


@given(vote_tables(), names, tie_breaks)
def test_names_in_the_same_order_change_nothing_whatever_the_rule_for_ties(table, some, tie_break):
    votes, n_classes = table
    some = sorted(some[:n_classes])
    (model, X), (numbered, Z) = (vote(votes, each, tie_break) for each in (some, range(n_classes)))
    assert model.predict(X).tolist() == [some[place] for place in numbered.predict(Z)]
    np.testing.assert_array_equal(model.predict_proba(X), numbered.predict_proba(Z))


def open_vote(X, n_classes, voting, tie_break):
    y = np.repeat(np.arange(n_classes), 2)
    model = ModularClassifier(
        ColumnModules(1 + n_classes), OpenVoter(), voting=voting, tie_break=tie_break
    )
    return model.fit(np.zeros((len(y), X.shape[1])), y)


def assert_same_answers(model, X, other, Z):
    np.testing.assert_allclose(other.predict_proba(Z), model.predict_proba(X), atol=1e-14)
    np.testing.assert_array_equal(other.predict(Z), model.predict(X))


@given(open_votes(), st.sampled_from(["hard", "soft"]), tie_breaks, st.randoms(use_true_random=False))
def test_the_order_of_the_members_does_not_matter(case, voting, tie_break, random):
    X, votes, _, n_classes = case
    members = X.reshape(len(X), votes.shape[1], -1)
    order = random.sample(range(votes.shape[1]), votes.shape[1])
    shuffled = members[:, order].reshape(X.shape)
    model = open_vote(X, n_classes, voting, tie_break)
    assert_same_answers(model, X, model, shuffled)


@given(open_votes(), st.sampled_from(["hard", "soft"]), tie_breaks)
def test_every_member_twice_changes_nothing(case, voting, tie_break):
    X, _, _, n_classes = case
    twice = np.hstack([X, X])
    model, larger = (open_vote(rows, n_classes, voting, tie_break) for rows in (X, twice))
    assert_same_answers(model, X, larger, twice)


@given(open_votes(), st.sampled_from(["hard", "soft"]), tie_breaks, st.randoms(use_true_random=False))
def test_a_row_gets_its_answer_whatever_rows_are_around_it(case, voting, tie_break, random):
    X, _, _, n_classes = case
    model = open_vote(X, n_classes, voting, tie_break)
    order = random.choices(range(len(X)), k=len(X))
    np.testing.assert_array_equal(model.predict(X[order]), model.predict(X)[order])
    np.testing.assert_array_equal(model.predict_proba(X[order]), model.predict_proba(X)[order])


@given(vote_tables(), tie_breaks)
def test_one_more_vote_for_the_winner_does_not_make_it_lose(table, tie_break):
    votes, n_classes = table
    model, X = vote(votes, range(n_classes), tie_break)
    winners = model.predict(X)
    larger, Z = vote(np.column_stack([votes, winners]), range(n_classes), tie_break)
    np.testing.assert_array_equal(larger.predict(Z), winners)


@given(data_sets(max_rows=20), st.integers(2, 4), st.integers(1, 4), st.integers(0, 9))
def test_real_members_vote_alike_under_other_names(rows, n_classes, n_modules, seed):
    y = np.arange(len(rows)) % n_classes
    model = ModularClassifier(LinearModularAutoencoder(n_modules, 1, 0.5, random_state=seed))
    names = np.array(["ant", "bee", "cat", "dog"])
    plain, named = (model.fit(rows, labels).predict(rows * 1.1) for labels in (y, names[y]))
    np.testing.assert_array_equal(names[plain], named)
