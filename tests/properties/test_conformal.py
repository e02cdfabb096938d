"""Promised coverage: exact for rows that can change places, and within chance for new ones."""

from math import ceil

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom
from sklearn.dummy import DummyRegressor
from sklearn.naive_bayes import GaussianNB

from modae import LinearModularAutoencoder, ModularClassifier, ModularOutlierDetector, ModularRegressor
from modae.ensembles.regressor import Calibration
from strategies import seeds

EXTRACTOR = LinearModularAutoencoder(2, 1, 0.5, random_state=0)

coverages = st.integers(5, 95).map(lambda percent: percent / 100)

#: A count of rows inside that chance alone gives less often than this is an error.
NEVER = 1e-12

N_NEW = 400


def rank_of(coverage, n_rows):
    return ceil((n_rows + 1) * coverage - 1e-9)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=40), coverages)
def test_of_rows_that_change_places_the_promised_share_is_inside(residuals, coverage):
    """Each row is the new one once, and all others are held out: no chance is left."""
    residuals, inside = np.array(residuals, dtype=float), 0
    rank = rank_of(coverage, len(residuals) - 1)
    if rank > len(residuals) - 1:
        return  # too few rows for that promise
    for place, residual in enumerate(residuals):
        others = np.delete(residuals, place)
        inside += abs(residual) <= Calibration.of(np.zeros(len(others)), others).half_width(coverage)[0]
    assert inside >= rank
    if len(set(np.abs(residuals))) == len(residuals):
        assert inside == rank


@given(st.integers(40, 120), coverages, seeds, st.sampled_from(["normal", "cauchy", "exponential"]))
def test_intervals_hold_new_targets_as_often_as_promised(n_rows, coverage, seed, noise):
    rng = np.random.default_rng(seed)
    draw = {"cauchy": rng.standard_cauchy}.get(noise, getattr(rng, noise, None))
    X, y = rng.standard_normal((n_rows + N_NEW, 2)), draw(size=n_rows + N_NEW)
    member = DummyRegressor(strategy="constant", constant=0.3)
    model = ModularRegressor(EXTRACTOR, member, calibrate=0.5, random_state=0)
    model.fit(X[:n_rows], y[:n_rows])
    n_held = len(model.calibration_.residuals)
    low, high = model.predict_interval(X[n_rows:], coverage).T
    inside = int(np.sum((low <= y[n_rows:]) & (y[n_rows:] <= high)))
    rank = rank_of(coverage, n_held)
    chance = betabinom(N_NEW, rank, n_held + 1 - rank)
    assert chance.ppf(NEVER) <= inside <= chance.isf(NEVER)


def blobs(n_rows, n_classes, rng):
    y = rng.integers(0, n_classes, n_rows)
    return rng.standard_normal((n_rows, 3)) + 1.5 * np.eye(n_classes, 3)[y], y


@given(st.integers(60, 120), st.integers(2, 3), coverages, seeds)
def test_sets_hold_new_classes_at_least_as_often_as_promised(n_rows, n_classes, coverage, seed):
    rng = np.random.default_rng(seed)
    (X, y), (new, truth) = blobs(n_rows, n_classes, rng), blobs(N_NEW, n_classes, rng)
    model = ModularClassifier(EXTRACTOR, GaussianNB(), calibrate=0.5, random_state=0).fit(X, y)
    n_held = len(model.held_out_.scores)
    rank = rank_of(coverage, n_held)
    sets, told = model.predict_set(new, coverage), np.arange(N_NEW)
    assert sets[told, truth].sum() >= betabinom(N_NEW, rank, n_held + 1 - rank).ppf(NEVER)
    assert sets[told, np.searchsorted(model.classes_, model.predict(new))].all()
    assert (model.predict_set(new, min(0.95, coverage + 0.1)) >= sets).all()


@given(st.integers(10, 60), seeds)
def test_p_values_are_counted_and_a_distant_row_has_the_smallest(n_rows, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows + 20, 3)) * [3.0, 1.0, 0.1]
    detector = ModularOutlierDetector(EXTRACTOR, random_state=0).fit(rows[:n_rows])
    new = np.concatenate([rows[n_rows:], rows[:1] + 1e4])
    known = detector.reference_scores_
    counted = [sum(score >= usual for usual in known) for score in detector.score_samples(new)]
    p_values = detector.p_values(new)
    np.testing.assert_allclose(p_values, [(1 + count) / (1 + n_rows) for count in counted])
    assert p_values[-1] == 1 / (1 + n_rows)
