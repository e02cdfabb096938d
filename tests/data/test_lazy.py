"""A new lazy kind of data is one subclass and one line in a table; it is met before validation."""

import numpy as np
import pytest

from modae import LinearModularAutoencoder, ModularRegressor
from modae.data.moments import moments_of_rows
from modae.data.summary import DataSummary
from modae.data.validation import LAZY_ROWS, LazyRows, lazy_rows


class Sums:
    """An input that no validation would let through: it has no rows any more."""

    def __init__(self, moments):
        self.moments = moments


class SumRows(LazyRows):
    def reduce(self, estimator, summarise, sample_weight, *, reset, upcast, indexed):
        estimator.n_features_in_ = len(self.data.moments.mean)
        return DataSummary(self.data.moments)

    def map(self, call):
        return call(self.columns())

    def fold(self, call, states, step, **shared):
        return self.gather()

    def gather(self):
        raise MemoryError("the rows are gone")

    def columns(self):
        return self.data.moments.mean[None]

    def n_rows(self):
        return None

    def split_weights(self, sample_weight):
        return self.data, sample_weight


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(LAZY_ROWS, __name__, f"{__name__}:SumRows")


def test_rows_in_memory_are_not_lazy():
    for X in (np.eye(2), [[1.0]], None):
        assert lazy_rows(X) is None


def test_subclasses_are_of_the_same_kind():
    assert isinstance(lazy_rows(type("Other", (Sums,), {"__module__": "elsewhere"})(None)), SumRows)


def test_a_lazy_kind_never_reaches_validation():
    X = np.random.default_rng(0).standard_normal((200, 8))
    plain = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    summed = LinearModularAutoencoder(3, 2, random_state=0).fit(Sums(moments_of_rows(X)))
    assert summed.loss_ == plain.loss_
    np.testing.assert_array_equal(summed.encoders_, plain.encoders_)
    np.testing.assert_allclose(summed.transform(Sums(moments_of_rows(X))), 0.0, atol=1e-12)


def test_a_lazy_kind_can_continue_a_stream():
    X = np.random.default_rng(0).standard_normal((200, 8))
    plain = LinearModularAutoencoder(3, 2, random_state=0).fit(X)
    streamed = LinearModularAutoencoder(3, 2, random_state=0).partial_fit(X[:50])
    streamed.partial_fit(Sums(moments_of_rows(X[50:])))
    assert streamed.loss_ == pytest.approx(plain.loss_, rel=1e-12)


def test_where_single_rows_are_picked_a_lazy_kind_is_refused():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(TypeError, match="must be in memory, got a lazy Sums"):
        ModularRegressor(calibrate=0.5).fit(Sums(moments_of_rows(X)), np.arange(20.0))
