"""A new kind of input is one registration, made before validation."""

import numpy as np
import pytest

from modae import LinearModularAutoencoder
from modae.data import reduce_rows
from modae.data.moments import moments_of_rows
from modae.data.summary import Stream


class Sums:
    """An input that no validation would let through: it has no rows any more."""

    def __init__(self, moments):
        self.moments = moments


@pytest.fixture
def registered():
    def reduce_sums(X, estimator, summarise, sample_weight=None, *, reset=True, upcast=False):
        estimator.n_features_in_ = len(X.moments.mean)
        return Stream(X.moments)

    reduce_rows.register(Sums)(reduce_sums)
    yield
    reduce_rows.register(Sums)(reduce_rows.default)


@pytest.mark.usefixtures("registered")
def test_a_registered_type_never_reaches_validation():
    X = np.random.default_rng(0).standard_normal((200, 8))
    plain = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    summed = LinearModularAutoencoder(3, 2, random_state=0).fit(Sums(moments_of_rows(X)))
    assert summed.loss_ == plain.loss_
    np.testing.assert_array_equal(summed.encoders_, plain.encoders_)


@pytest.mark.usefixtures("registered")
def test_a_registered_type_can_continue_a_stream():
    X = np.random.default_rng(0).standard_normal((200, 8))
    plain = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    streamed = LinearModularAutoencoder(3, 2, random_state=0).partial_fit(X[:50])
    streamed.partial_fit(Sums(moments_of_rows(X[50:])))
    assert streamed.loss_ == pytest.approx(plain.loss_, rel=1e-12)
