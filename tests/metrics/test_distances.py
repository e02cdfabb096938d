"""What the public functions of distance correlation accept, return and refuse."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from modae.metrics import distance_correlation, distance_correlation_matrix

X = load_iris().data[:60]
Y = np.random.default_rng(0).standard_normal((60, 3))


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_matrix_holds_the_pairs(unbiased):
    spaces = [X, Y, X[:, 0], Y[:, :1] ** 2]
    matrix = distance_correlation_matrix(spaces, unbiased=unbiased)
    assert matrix.shape == (4, 4)
    for i, one in enumerate(spaces):
        for j, other in enumerate(spaces):
            pair = distance_correlation(one, other, unbiased=unbiased)
            assert matrix[i, j] == pytest.approx(pair, abs=1e-13)


def test_a_stack_is_a_list():
    stack = np.random.default_rng(1).standard_normal((4, 30, 2))
    np.testing.assert_array_equal(
        distance_correlation_matrix(stack), distance_correlation_matrix([*stack])
    )


def test_one_dimension_is_one_column():
    assert distance_correlation(X[:, 0], Y) == distance_correlation(X[:, :1], Y)


@pytest.mark.parametrize("kind", [csr_array, pd.DataFrame, np.ndarray.tolist])
def test_containers(kind):
    assert distance_correlation(kind(X), Y) == distance_correlation(X, Y)


def test_flipped_and_scaled_is_the_same_space():
    assert distance_correlation(X, 5.0 - 3.0 * X[:, ::-1]) == pytest.approx(1.0, abs=1e-12)


def test_the_unbiased_square_is_zero_on_average_for_independent_rows():
    rng = np.random.default_rng(2)
    pairs = rng.standard_normal((200, 2, 20, 10))
    values = np.array([distance_correlation(A, B, unbiased=True) for A, B in pairs])
    assert abs(values.mean()) < 3.0 * values.std() / np.sqrt(len(values))
    assert (values < 0.0).mean() > 0.3
    assert min(distance_correlation(A, B) for A, B in pairs) > 0.5  # the bias


def test_both_estimates_agree_for_many_rows():
    x = np.random.default_rng(3).standard_normal((1000, 2))
    y = x + 0.5 * np.random.default_rng(4).standard_normal((1000, 2))
    root, square = distance_correlation(x, y), distance_correlation(x, y, unbiased=True)
    assert root**2 == pytest.approx(square, abs=4e-3)


@pytest.mark.parametrize(
    ("one", "other", "unbiased", "message"),
    [
        (X, Y[:50], False, "X and Y must have the same number of rows, got 60 and 50"),
        (X[:1], Y[:1], False, "X must have at least 2 rows for this, got 1"),
        (X[:3], Y[:3], True, "X must have at least 4 rows for this, got 3"),
        (X, np.full((60, 1), np.nan), False, "Input Y contains NaN"),
        (np.full((60, 1), np.inf), Y, False, "Input X contains infinity"),
        (X[None], Y, False, "Found array with dim 3"),
        (X, Y, 1, "unbiased must be True or False, got 1"),
    ],
)
def test_errors(one, other, unbiased, message):
    with pytest.raises(ValueError, match=message):
        distance_correlation(one, other, unbiased=unbiased)


def test_errors_of_the_matrix():
    with pytest.raises(ValueError, match="samples must hold at least one array"):
        distance_correlation_matrix([])
    with pytest.raises(ValueError, match=r"samples\[0\] and samples\[2\] must .* rows, got 60 and 9"):
        distance_correlation_matrix([X, Y, Y[:9]])
    with pytest.raises(ValueError, match=r"samples\[1\] contains NaN"):
        distance_correlation_matrix([X, np.full(60, np.nan)])
