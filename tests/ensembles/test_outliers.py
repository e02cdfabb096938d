"""The detector against loops over rows, its p-values on usual rows, and scikit-learn's conventions."""

from math import log

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import modae
from modae import BaggingAutoencoder, LinearModularAutoencoder, ModularOutlierDetector, open_batches

RNG = np.random.default_rng(0)
MIXING = RNG.standard_normal((6, 6)) * 0.6 ** np.arange(6)[:, None]
SMALL = LinearModularAutoencoder(3, 2, 0.8)


def usual(n_rows, rng):
    return rng.standard_normal((n_rows, 6)) @ MIXING


@parametrize_with_checks([ModularOutlierDetector(), ModularOutlierDetector(SMALL, contamination=0.2)])
@pytest.mark.filterwarnings("ignore:all modules are equal:UserWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def slow_score(detector, X, row, skip=None):
    """By the definition: every training row in turn."""
    codes, own = detector.extractor_.transform(X), detector.extractor_.transform(row[None])[0]
    distances = [sum((own - each) ** 2) for place, each in enumerate(codes) if place != skip]
    left = -detector.extractor_.score_samples(row[None])[0]
    unit = sum(codes.var(axis=0))
    return -0.5 * sum(log(part / unit + 1e-8) for part in (min(distances), left))


@pytest.mark.parametrize("extractor", [None, SMALL, BaggingAutoencoder(3, 2)], ids=str)
def test_scores_by_the_definition(extractor):
    X, new = usual(40, RNG), usual(10, RNG) + 1.0
    detector = ModularOutlierDetector(extractor, random_state=0).fit(X)
    np.testing.assert_allclose(
        detector.score_samples(new), [slow_score(detector, X, row) for row in new], atol=1e-6
    )
    themselves = [slow_score(detector, X, row, skip=place) for place, row in enumerate(X)]
    np.testing.assert_allclose(detector.score_samples(X), themselves, atol=1e-6)
    np.testing.assert_array_equal(detector.fit_predict(X), detector.predict(X))


@pytest.mark.parametrize("width", [6, 120])
def test_p_values_of_usual_rows_are_spread_evenly_even_if_there_are_fewer_rows_than_columns(width):
    rng, early = np.random.default_rng(1), []
    for seed in range(20):
        turn = np.random.default_rng(seed).standard_normal((6, width))
        X, new = (usual(n, rng) @ turn + 0.1 * rng.standard_normal((n, width)) for n in (60, 100))
        detector = ModularOutlierDetector(random_state=seed).fit(X)
        p_values = detector.p_values(new)
        assert ((p_values > 0.0) & (p_values <= 1.0)).all()
        np.testing.assert_array_equal(detector.predict(new) == -1, p_values <= 0.05)
        early.append([np.mean(p_values <= level) for level in (0.05, 0.2, 0.5)])
    mean, error = np.mean(early, axis=0), np.std(early, axis=0, ddof=1) / np.sqrt(20)
    assert (mean <= np.array([0.05, 0.2, 0.5]) + 3 * error).all()
    assert mean[2] > 0.3


def test_p_values_by_the_definition():
    X, new = usual(30, RNG), usual(9, RNG) * 2.0
    detector = ModularOutlierDetector(SMALL, random_state=0).fit(X)
    known = detector.reference_scores_
    assert len(known) == 30
    expected = [(1 + sum(known <= score)) / 31 for score in detector.score_samples(new)]
    np.testing.assert_allclose(detector.p_values(new), expected)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_contamination_is_the_share_of_the_training_rows_that_are_outliers(share):
    X = usual(60, RNG)
    detector = ModularOutlierDetector(contamination=share, random_state=0).fit(X)
    assert (detector.predict(X) == -1).sum() == 60 * share
    np.testing.assert_allclose(
        detector.decision_function(X), detector.score_samples(X) - detector.offset_
    )


def test_strangers_are_found():
    X, y = load_digits(return_X_y=True)
    known = X[y < 8]
    detector = ModularOutlierDetector(random_state=0).fit(known[::2])
    rows, odd = np.vstack([known[1::2], X[y >= 8]]), np.repeat([0, 1], [len(known[1::2]), sum(y >= 8)])
    assert roc_auc_score(odd, -detector.score_samples(rows)) > 0.9


def test_copies_of_training_rows_are_no_outliers():
    X = np.tile(usual(20, RNG), (3, 1))
    detector = ModularOutlierDetector(random_state=0).fit(X)
    assert detector.score_samples(X[:20]).min() > detector.score_samples(X[:20] + 0.5).max()


def test_columns_that_never_varied_betray_a_stranger():
    X = np.column_stack([usual(50, RNG), np.zeros(50)])
    new = np.column_stack([usual(20, RNG), np.full(20, 3.0)])
    detector = ModularOutlierDetector(random_state=0).fit(X)
    assert (detector.predict(new) == -1).all()
    assert np.isfinite(detector.score_samples(new)).all()


def test_rows_of_many_kinds_give_the_same_scores(tmp_path):
    X = usual(40, RNG)
    expected = ModularOutlierDetector(SMALL, random_state=0).fit(X).score_samples(X)
    for rows in (pd.DataFrame(X, columns=list("abcdef")), sparse.csr_array(X), X.tolist()):
        detector = ModularOutlierDetector(SMALL, random_state=0).fit(rows)
        np.testing.assert_allclose(detector.score_samples(rows), expected, atol=1e-5)
    np.save(tmp_path / "rows.npy", X)
    batches = open_batches(tmp_path / "rows.npy", batch_size=15)
    detector = ModularOutlierDetector(SMALL, random_state=0).fit(X)
    np.testing.assert_array_equal(detector.predict(batches), detector.predict(X))
    with pytest.raises(TypeError, match="fit of ModularOutlierDetector picks single rows"):
        detector.fit(batches)


def test_it_is_saved_with_its_rows_and_goes_into_a_pipeline(tmp_path):
    X = usual(40, RNG)
    pipeline = make_pipeline(StandardScaler(), ModularOutlierDetector(random_state=0)).fit(X)
    for name, model in {"one": pipeline[-1], "two": pipeline}.items():
        modae.save(model, tmp_path / name)
        assert modae.describe(tmp_path / name)["holds_rows"]
        loaded = modae.load(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))
    assert "Compares with" in pipeline[-1]._repr_html_()


@pytest.mark.parametrize("share", [0.0, 0.6, -1, "much", True, np.nan])
def test_a_share_outside_its_range(share):
    with pytest.raises(ValueError, match=r"contamination must be 'auto' or a number in \(0, 0.5\], got"):
        ModularOutlierDetector(contamination=share).fit(usual(20, RNG))


def test_what_cannot_work_is_refused_and_changes_nothing():
    X = usual(20, RNG)
    with pytest.raises(TypeError, match="extractor must have transform and score_samples, as Linear"):
        ModularOutlierDetector(StandardScaler()).fit(X)
    detector = ModularOutlierDetector(random_state=0).fit(X)
    before = detector.score_samples(X)
    with pytest.raises(ValueError, match="n_samples = 1"):
        detector.fit(X[:1])
    np.testing.assert_array_equal(detector.score_samples(X), before)
    assert clone(detector).get_params() == detector.get_params()
