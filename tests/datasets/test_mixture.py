"""Mixtures of Gaussians."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.datasets import make_gaussian_mixture


def test_points_are_their_means_plus_noise_of_the_stated_spread():
    X, y, means = make_gaussian_mixture(20_000, 4, 3, random_state=0, return_means=True)
    noise = X - means[y]
    assert np.abs(np.cov(noise.T) - 0.25**2 * np.eye(4)).max() < 0.003
    assert np.abs(noise.mean(axis=0)).max() < 0.01
    assert np.abs(np.bincount(y) / len(y) - 1 / 3).max() < 0.02


def test_means_are_standard_normal():
    _, _, means = make_gaussian_mixture(1, 200, 200, random_state=0, return_means=True)
    assert abs(means.mean()) < 0.02
    assert abs(means.std() - 1.0) < 0.02


def test_without_spread_the_points_are_the_means():
    means = np.arange(6.0).reshape(3, 2)
    X, y = make_gaussian_mixture(50, means=means, standard_deviation=0, random_state=0)
    assert np.array_equal(X, means[y])


def test_each_cluster_has_its_covariance():
    covariances = np.array([[[2.0, 1.0], [1.0, 1.0]], [[0.1, 0.0], [0.0, 3.0]]])
    X, y = make_gaussian_mixture(
        40_000, means=[[0, 0], [100, 0]], covariances=covariances, random_state=0
    )
    for cluster in (0, 1):
        assert np.abs(np.cov(X[y == cluster].T) - covariances[cluster]).max() < 0.1


def test_one_covariance_is_shared_and_may_be_singular():
    flat = np.array([[1.0, 1.0], [1.0, 1.0]])
    X, y = make_gaussian_mixture(100, means=[[0, 0], [5, 5]], covariances=flat, random_state=0)
    assert np.allclose(X[:, 0], X[:, 1])
    each = make_gaussian_mixture(100, means=[[0, 0], [5, 5]], covariances=[flat, flat], random_state=0)
    assert np.array_equal(X, each[0])
    assert np.array_equal(y, each[1])


@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_points(n_samples, n_features, n_clusters, seed):
    X, y = make_gaussian_mixture(n_samples, n_features, n_clusters, random_state=seed)
    again = make_gaussian_mixture(
        n_samples, n_features, n_clusters, random_state=np.random.RandomState(seed)
    )
    assert X.shape == (n_samples, n_features)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    more = make_gaussian_mixture(
        n_samples + 1, n_features, n_clusters, random_state=seed, return_means=True
    )
    means = make_gaussian_mixture(1, n_features, n_clusters, random_state=seed, return_means=True)[2]
    assert np.array_equal(more[2], means)


def test_sizes_follow_from_what_is_given():
    assert make_gaussian_mixture()[0].shape == (1000, 100)
    X, _, means = make_gaussian_mixture(5, covariances=np.ones((7, 3, 3)), return_means=True)
    assert X.shape == (5, 3)
    assert means.shape == (7, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1, got 0"),
        ({"n_features": 2.0}, "n_features must be an integer of at least 1, got 2.0"),
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        ({"standard_deviation": -1}, "standard_deviation must be a finite number of at least 0, got -1"),
        ({"means": [[0, 0]], "n_clusters": 2}, "n_clusters must be 1, as in means, or left out, got 2"),
        ({"means": [[0, 0]], "n_features": 3}, "n_features must be 2, as in means, or left out, got 3"),
        ({"means": [0, 0]}, r"means must have shape \(n_clusters, n_features\), got \(2,\)"),
        ({"means": [[np.nan]]}, "means must be finite numbers"),
        ({"means": [[0, 0]], "covariances": [1, 1]}, "covariances must have shape"),
        ({"covariances": [[1, 2], [0, 1]]}, "symmetric and positive semidefinite"),
        ({"covariances": [[1, 0], [0, -1]]}, "symmetric and positive semidefinite"),
        ({"return_means": "yes"}, "return_means must be True or False, got 'yes'"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian_mixture(**wrong)
