"""Diversity of votes against the definitions by loops, scikit-learn, and limits."""

from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_digits
from sklearn.metrics import cohen_kappa_score

from modae import ModularClassifier
from modae.metrics import (
    disagreement,
    disagreement_matrix,
    double_fault,
    double_fault_matrix,
    entropy,
    kappa,
    kappa_matrix,
    q_statistic,
    q_statistic_matrix,
)
from strategies import seeds

NAMES = np.array(["ant", "bee", "cat", "dog"])


def some_votes(seed=0, n_members=5, n_rows=40, n_labels=4):
    """Members that are right in most rows, as strings, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, n_rows)
    guesses = rng.integers(0, n_labels, (n_members, n_rows))
    votes = np.where(rng.random((n_members, n_rows)) < 0.6, truth, guesses)
    return NAMES[votes], NAMES[truth]


def counts(one, other, truth):
    """N11, N00, N10, N01 by a loop over the rows."""
    found = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    for a, b, t in zip(one, other, truth, strict=True):
        found[bool(a == t), bool(b == t)] += 1
    return found.values()


def q_by_loops(one, other, truth):
    n11, n00, n10, n01 = counts(one, other, truth)
    total = n11 * n00 + n01 * n10
    return (n11 * n00 - n01 * n10) / total if total else 0.0


def double_fault_by_loops(one, other, truth):
    n11, n00, n10, n01 = counts(one, other, truth)
    return n00 / (n11 + n00 + n10 + n01)


@pytest.mark.parametrize(
    ("matrix", "mean", "definition"),
    [
        (q_statistic_matrix, q_statistic, q_by_loops),
        (double_fault_matrix, double_fault, double_fault_by_loops),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_measures_of_errors(matrix, mean, definition, seed):
    votes, truth = some_votes(seed, n_rows=8 if seed else 40)
    expected = [[definition(one, other, truth) for other in votes] for one in votes]
    np.testing.assert_allclose(matrix(votes, truth), expected, atol=1e-15)
    pairs = [expected[i][j] for i, j in combinations(range(len(votes)), 2)]
    assert mean(votes, truth) == pytest.approx(np.mean(pairs), abs=1e-15)


@pytest.mark.parametrize(
    ("matrix", "mean", "definition"),
    [
        (disagreement_matrix, disagreement, lambda one, other: np.mean(one != other)),
        (kappa_matrix, kappa, cohen_kappa_score),
    ],
)
def test_measures_of_votes(matrix, mean, definition):
    votes, _ = some_votes()
    expected = [[definition(one, other) for other in votes] for one in votes]
    np.testing.assert_allclose(matrix(votes), expected, atol=1e-14)
    pairs = [expected[i][j] for i, j in combinations(range(len(votes)), 2)]
    assert mean(votes) == pytest.approx(np.mean(pairs), abs=1e-14)


@pytest.mark.parametrize(("n_members", "n_labels"), [(2, 2), (5, 4), (4, 2), (3, 4), (7, 3)])
def test_entropy_by_loops(n_members, n_labels):
    votes, _ = some_votes(n_members=n_members, n_labels=n_labels)
    total = 0.0
    for row in votes.T:
        shares = [np.mean(row == label) for label in NAMES]
        total -= sum(share * log(share) for share in shares if share) / votes.shape[1]
    dealt = [i % n_labels for i in range(n_members)]
    even = [dealt.count(label) / n_members for label in range(n_labels)]
    largest = -sum(share * log(share) for share in even if share)
    assert entropy(votes) == pytest.approx(total / largest, rel=1e-12)


def test_entropy_reaches_both_ends():
    assert entropy([[0, 1, 2]] * 4) == 0.0
    assert entropy([[1, 1, 1]] * 4) == 0.0
    assert entropy([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 0, 1]]) == pytest.approx(1.0)
    assert entropy([[0, 1, 2, 3], [1, 2, 3, 4]]) == pytest.approx(1.0)  # more labels than members


def test_members_that_always_agree():
    votes, truth = some_votes()
    same = np.stack([votes[0]] * 3)
    assert (disagreement(same), kappa(same), q_statistic(same, truth)) == (0.0, 1.0, 1.0)
    assert double_fault(same, truth) == pytest.approx(np.mean(votes[0] != truth))


def test_kappa_of_constant_members():
    """The same label everywhere is perfect agreement; different labels are none, as by chance."""
    np.testing.assert_array_equal(
        kappa_matrix([[1, 1, 1], [1, 1, 1], [2, 2, 2]]), [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    )


def test_kappa_of_opposite_members():
    assert kappa([[0, 0, 1, 1], [1, 1, 0, 0]]) == pytest.approx(-1.0)


def test_q_of_members_that_are_always_right_or_wrong():
    truth = [0, 1, 0, 1]
    always, never, sometimes = truth, [1, 0, 1, 0], [0, 1, 1, 1]
    np.testing.assert_array_equal(
        q_statistic_matrix([always, never, sometimes], truth), [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    )


def test_independent_members_have_no_q_and_no_kappa():
    rng = np.random.default_rng(0)
    votes, truth = rng.integers(0, 2, (3, 100_000)), rng.integers(0, 2, 100_000)
    assert q_statistic(votes, truth) == pytest.approx(0.0, abs=0.02)
    assert kappa(votes) == pytest.approx(0.0, abs=0.01)
    assert double_fault(votes, truth) == pytest.approx(0.25, abs=0.01)
    assert disagreement(votes) == pytest.approx(0.5, abs=0.01)


@given(seeds)
def test_names_and_orders_do_not_matter(seed):
    votes, truth = some_votes(seed, n_rows=12)
    rng = np.random.default_rng(seed)
    members, rows = rng.permutation(5), rng.permutation(12)
    numbers = dict(zip(NAMES, rng.permutation(10)[:4], strict=True))
    renamed = np.vectorize(numbers.get)(votes)[members][:, rows]
    answers = np.vectorize(numbers.get)(truth)[rows]
    for measure in (disagreement, kappa, entropy):
        assert measure(renamed) == pytest.approx(measure(votes), abs=1e-14)
    for measure in (q_statistic, double_fault):
        assert measure(renamed, answers) == pytest.approx(measure(votes, truth), abs=1e-14)


def test_the_votes_of_a_classifier():
    X, y = load_digits(return_X_y=True)
    model = ModularClassifier(random_state=0).fit(X[:800], NAMES[y[:800] % 4])
    X, y = X[800:1000], NAMES[y[800:1000] % 4]
    votes = model.predict_members(X)
    assert disagreement(votes) == pytest.approx(model.disagreement(X).mean(), rel=1e-12)
    errors = np.mean(votes != y, axis=1)
    np.testing.assert_allclose(np.diagonal(double_fault_matrix(votes, y)), errors)
    assert double_fault(votes, y) < errors.mean()
    assert 0.0 < q_statistic(votes, y) < 1.0  # better than chance, and alike


@pytest.mark.parametrize("dtype", [object, bool, np.uint8, float])
def test_kinds_of_labels(dtype):
    votes, truth = np.random.default_rng(1).integers(0, 2, (4, 30)), np.arange(30) % 2
    kinds = votes.astype(dtype), truth.astype(dtype)
    assert kappa(kinds[0]) == kappa(votes)
    assert q_statistic(*kinds) == q_statistic(votes, truth)


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([0, 1, 0], r"votes must have the shape \(n_members, n_samples\)"),
        ([[0, 1, 0]], "at least two members"),
        (np.zeros((3, 0)), r"one row, got \(3, 0\)"),
        (np.array([["a", None], ["b", "a"]], dtype=object), "Labels must be of one kind"),
        ([[0.0, np.nan], [1.0, 0.0]], "Labels must not be NaN"),
    ],
)
@pytest.mark.parametrize("measure", [disagreement, kappa, entropy])
def test_errors_in_votes(measure, votes, message):
    with pytest.raises(ValueError, match=message):
        measure(votes)


def test_errors_in_the_truth():
    with pytest.raises(
        ValueError, match=r"one label for each of the 2 columns of votes, got shape \(3,\)"
    ):
        double_fault([[0, 1], [1, 1]], [0, 1, 1])
    with pytest.raises(ValueError, match="got strings and numbers"):
        q_statistic([["0", "1"], ["1", "1"]], [0, 1])
    with pytest.raises(ValueError, match="got strings and numbers"):
        q_statistic([[0, 1], [1, 1]], np.array(["0", "1"], dtype=object))
    with pytest.raises(ValueError, match="at least two members"):
        q_statistic([[0, 1]], [0, 1])
    with pytest.raises(ValueError, match="Labels must not be NaN"):
        q_statistic([[0, 1], [1, 1]], [0.0, np.nan])
