"""A new kind of input is one registration, made before validation."""

import numpy as np
import pytest

from modae import LinearModularAutoencoder
from modae.core.moments import KeptRows, Moments, moments_of_rows
from modae.inputs import collect


class Sums:
    """An input that no validation would let through: it has no rows any more."""

    def __init__(self, moments):
        self.moments = moments


@pytest.fixture
def registered():
    def collect_sums(X, estimator):
        estimator.n_features_in_ = len(X.moments.mean)
        return X.moments

    collect.register(Sums)(collect_sums)
    yield
    collect.register(Sums)(collect.dispatch(object))


@pytest.mark.usefixtures("registered")
def test_a_registered_type_never_reaches_validation():
    X = np.random.default_rng(0).standard_normal((200, 8))
    plain = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    summed = LinearModularAutoencoder(3, 2, random_state=0).fit(Sums(moments_of_rows(X)))
    assert summed.loss_ == plain.loss_
    np.testing.assert_array_equal(summed.encoders_, plain.encoders_)


def test_tall_data_become_moments_and_wide_data_stay_rows():
    X = np.random.default_rng(0).standard_normal((20, 8))
    assert isinstance(collect(X, LinearModularAutoencoder()), Moments)
    assert isinstance(collect(X.T, LinearModularAutoencoder()), KeptRows)
