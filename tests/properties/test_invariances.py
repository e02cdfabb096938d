"""What is done to rows and columns, and what it does to the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import random_rotation
from properties.parts import assert_same_facts, fitted, mean_reconstruction
from strategies import fits, seeds

pytestmark = pytest.mark.filterwarnings("ignore:diversity=0:UserWarning")


def assert_same_mean(model, rows, other, others, back=lambda rows: rows):
    """Rows are reconstructed alike by both, after what was done to them is undone."""
    if not (model.certified_ and other.certified_):
        return  # several sets of modules may be as good as was found
    size = np.sqrt(other.total_variance_)
    told, expected = back(mean_reconstruction(model, rows)), mean_reconstruction(other, others)
    np.testing.assert_allclose(told, expected, rtol=0, atol=1e-4 * size)


@given(fits(), seeds)
def test_rotating_the_rows_rotates_the_model(case, seed):
    rows, params = case
    rotation = random_rotation(rows.shape[1], np.random.default_rng(seed))
    model, plain = fitted(rows @ rotation, params), fitted(rows, params)
    assert_same_facts(model, plain)
    assert_same_mean(model, rows @ rotation, plain, rows, lambda told: told @ rotation.T)


@given(fits(), st.randoms(use_true_random=False))
def test_the_order_of_the_columns_does_not_matter(case, random):
    rows, params = case
    order = random.sample(range(rows.shape[1]), rows.shape[1])
    model, plain = fitted(rows[:, order], params), fitted(rows, params)
    assert_same_facts(model, plain)
    assert_same_mean(model, rows[:, order], plain, rows, lambda told: told[:, np.argsort(order)])


@given(fits(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(case, random):
    rows, params = case
    order = random.sample(range(len(rows)), len(rows))
    model, plain = fitted(rows[order], params), fitted(rows, params)
    assert_same_facts(model, plain)
    assert_same_mean(model, rows, plain, rows)
    np.testing.assert_allclose(plain.transform(rows[order]), plain.transform(rows)[order], atol=1e-12)


@given(fits(), st.sampled_from([1e-150, 1e-9, 0.3, 7.0, 1e9, 1e150]))
def test_the_unit_of_the_rows_does_not_matter(case, factor):
    rows, params = case
    unit = 2.0 ** np.round(np.log2(factor))  # no digit is lost, so small and large are the same problem
    model, plain = fitted(unit * rows, params), fitted(rows, params)
    assert_same_facts(model, plain, unit)
    np.testing.assert_allclose(model.mean_, unit * plain.mean_, rtol=1e-12)
    assert_same_mean(model, unit * rows, plain, rows, lambda told: told / unit)


@given(fits(), seeds)
def test_moving_the_rows_moves_the_mean_alone(case, seed):
    rows, params = case
    shift = np.random.default_rng(seed).uniform(-100.0, 100.0, rows.shape[1])
    model, plain = fitted(rows + shift, params), fitted(rows, params)
    assert_same_facts(model, plain, tolerance=1e-8)
    np.testing.assert_allclose(model.mean_, plain.mean_ + shift, atol=1e-11)
    assert_same_mean(model, rows + shift, plain, rows, lambda told: told - shift)


@given(fits(), st.data())
def test_a_whole_weight_is_a_row_that_many_times(case, data):
    rows, params = case
    n_rows = len(rows)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows).filter(any))
    model = fitted(rows, params, sample_weight=counts)
    repeated = fitted(np.repeat(rows, counts, axis=0), params)
    assert_same_facts(model, repeated)
    assert_same_mean(model, rows, repeated, rows)


@given(fits(), st.integers(2, 4))
def test_rows_that_come_again_change_nothing(case, times):
    rows, params = case
    plain = fitted(rows, params)
    assert_same_facts(fitted(np.tile(rows, (times, 1)), params), plain)
    assert_same_facts(fitted(rows, params, sample_weight=np.full(len(rows), float(times))), plain)


@given(fits(), st.floats(-1e6, 1e6))
def test_a_column_that_does_not_vary_changes_nothing(case, value):
    rows, params = case
    wider = np.column_stack([rows, np.full(len(rows), value)])
    model, plain = fitted(wider, params), fitted(rows, params)
    for name in ("loss_", "lower_bound_", "total_variance_"):
        expected = getattr(plain, name)
        assert getattr(model, name) == pytest.approx(expected, abs=1e-8 * plain.total_variance_)
    np.testing.assert_allclose(
        mean_reconstruction(model, wider)[:, -1], value, atol=1e-7 + 1e-9 * abs(value)
    )
