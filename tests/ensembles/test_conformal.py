"""Split-conformal intervals: the rank rule exactly, and the coverage it promises."""

from fractions import Fraction
from math import ceil

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from modae import LinearModularAutoencoder, ModularRegressor
from modae.ensembles.regressor import Calibration

PERCENT = st.integers(1, 99)


def small(**params):
    return ModularRegressor(LinearModularAutoencoder(2, 1, 0.5, random_state=0), **params)


def line(n_rows, rng, n_targets=None):
    X = rng.standard_normal((n_rows, 2))
    shape = (n_rows,) if n_targets is None else (n_rows, n_targets)
    return X, X.sum(axis=1).reshape((-1,) + (1,) * (len(shape) - 1)) + rng.standard_normal(shape)


@given(st.integers(1, 300), PERCENT)
def test_the_rank_rule_in_exact_arithmetic(n_rows, percent):
    calibration = Calibration.of(np.zeros(n_rows), np.arange(1.0, n_rows + 1))
    rank = ceil((n_rows + 1) * Fraction(percent, 100))
    if rank <= n_rows:
        assert calibration.half_width(percent / 100) == [rank]
        return
    needed = min(n for n in range(1, 100) if ceil((n + 1) * Fraction(percent, 100)) <= n)
    with pytest.raises(ValueError, match=f"needs at least {needed} rows held out, got {n_rows}: raise"):
        calibration.half_width(percent / 100)


def test_residuals_are_absolute_sorted_and_apart_for_each_target():
    predictions = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    targets = np.array([[-3.0, 10.0], [1.0, -30.0], [2.0, 20.0]])
    calibration = Calibration.of(predictions, targets)
    np.testing.assert_array_equal(calibration.residuals, [[1, 10], [2, 20], [3, 30]])
    np.testing.assert_array_equal(calibration.half_width(0.5), [2, 20])


@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_intervals_are_the_prediction_and_a_rank_of_the_residuals(n_targets):
    X, y = line(80, np.random.default_rng(0), n_targets)
    model = small(calibrate=0.25, random_state=3).fit(X, y)
    held = model.calibration_.residuals
    assert held.shape == (20, n_targets or 1)
    intervals = model.predict_interval(X, coverage=0.8)
    assert intervals.shape == (*y.shape, 2)
    width = np.sort(held, axis=0)[ceil(21 * 0.8) - 1]
    half = width if n_targets else width[0]
    np.testing.assert_allclose(intervals[..., 0], model.predict(X) - half)
    np.testing.assert_allclose(intervals[..., 1], model.predict(X) + half)


def test_members_never_see_the_rows_held_out():
    X, y = line(60, np.random.default_rng(1))
    model = small(calibrate=0.5, random_state=0).fit(X, y)
    assert all(len(member.nearest_.rows) == 30 for member in model.estimators_)
    zero = np.sum(np.abs(model.predict(X) - y) < 1e-12)
    assert zero == 30  # its own rows are reproduced by nearest neighbours, the others are not
    assert model.calibration_.residuals.min() > 0


def test_wider_for_more_coverage_and_the_same_with_the_same_seed():
    X, y = line(200, np.random.default_rng(2))
    model = small(calibrate=0.5, random_state=0).fit(X, y)
    widths = [np.diff(model.predict_interval(X[:1], coverage)).item() for coverage in (0.5, 0.8, 0.95)]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]
    again = small(calibrate=0.5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    other = small(calibrate=0.5, random_state=1).fit(X, y)
    assert (other.predict_interval(X) != model.predict_interval(X)).any()


def test_frames_and_sparse_rows_give_the_same_intervals():
    X, y = line(80, np.random.default_rng(3))
    expected = small(calibrate=0.5, random_state=0).fit(X, y).predict_interval(X)
    frames = [kind({"a": X[:, 0], "b": X[:, 1]}) for kind in (pd.DataFrame, pl.DataFrame)]
    kinds = sparse.csr_array, sparse.coo_array, sparse.coo_matrix, sparse.bsr_array, sparse.dia_matrix
    for rows in (*frames, *(kind(X) for kind in kinds), X.tolist()):
        model = small(calibrate=0.5, random_state=0).fit(rows, y)
        np.testing.assert_allclose(model.predict_interval(rows), expected)


def test_too_few_rows_held_out_are_refused():
    X, y = line(30, np.random.default_rng(0))
    model = small(calibrate=0.25, random_state=0).fit(X, y)
    assert model.predict_interval(X, coverage=0.8).shape == (30, 2)
    with pytest.raises(ValueError, match=r"coverage=0.95 needs at least 19 rows held out, got 8: raise"):
        model.predict_interval(X, coverage=0.95)


def test_intervals_need_calibration():
    X, y = line(30, np.random.default_rng(0))
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="fit with calibrate, for example"):
        model.predict_interval(X)


def test_a_fit_without_calibration_forgets_an_earlier_one():
    X, y = line(60, np.random.default_rng(0))
    model = small(calibrate=0.5, random_state=0).fit(X, y)
    model.set_params(calibrate=None).fit(X, y)
    with pytest.raises(ValueError, match="fit with calibrate"):
        model.predict_interval(X)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.2, 2, np.nan, "half", True])
def test_shares_outside_their_range(value):
    X, y = line(60, np.random.default_rng(0))
    with pytest.raises(ValueError, match="calibrate must be a number strictly between 0 and 1, got"):
        small(calibrate=value).fit(X, y)
    model = small(calibrate=0.5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="coverage must be a number strictly between 0 and 1, got"):
        model.predict_interval(X, coverage=value)


def test_calibration_with_weights_is_refused():
    X, y = line(60, np.random.default_rng(0))
    with pytest.raises(ValueError, match="calibrate does not work with weights"):
        small(calibrate=0.5).fit(X, y, sample_weight=np.ones(60))


@pytest.mark.slow
@pytest.mark.parametrize("member", [LinearRegression(), KNeighborsRegressor(3)])
def test_the_promised_coverage_over_many_repetitions(member):
    """The share of m new rows inside is beta-binomial around rank / (n + 1), n rows being held out."""
    n_held, n_new, repetitions = 39, 100, 250
    levels = np.array([0.8, 0.9, 0.95])
    rng = np.random.default_rng(7)
    inside = np.zeros((repetitions, 3))
    for k in range(repetitions):
        X, y = line(52 + n_new, rng)
        model = small(estimator=member, calibrate=0.75, random_state=k).fit(X[:52], y[:52])
        assert len(model.calibration_.residuals) == n_held
        for place, level in enumerate(levels):
            low, high = model.predict_interval(X[52:], level).T
            inside[k, place] = np.mean((low <= y[52:]) & (y[52:] <= high))
    promised = np.ceil(40 * levels - 1e-9) / 40
    shared = 1 / (n_held + 2)  # correlation of two new rows: they have the rows held out in common
    variance = promised * (1 - promised) * (shared + (1 - shared) / n_new) / repetitions
    np.testing.assert_array_less(np.abs(inside.mean(axis=0) - promised), 4 * np.sqrt(variance))
