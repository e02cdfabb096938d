"""Columns of any unit, constant or with missing entries, weights of rows and of classes."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

import modae
from deep.parts import DIABETES, LABELS_OF_X, PROGRESS, X, autoencoder, classifier, regressor, says
from modae.deep.scaling import column_moments

EXACT = {"dtype": "float64", "dropout": 0.0, "batch_size": "all"}


def with_gaps(rows, part=0.2, seed=0):
    holes = np.random.default_rng(seed).random(rows.shape) < part
    return np.where(holes, np.nan, rows), holes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_moments_of_columns_are_those_of_the_standard_scaler(kind, weighted):
    rows, _ = with_gaps(DIABETES)
    weights = np.random.default_rng(1).random(len(rows)) if weighted else None
    mean, deviation, missing = column_moments(kind(rows), weights)
    expected = StandardScaler().fit(rows, sample_weight=weights)
    np.testing.assert_allclose(mean, expected.mean_)
    np.testing.assert_allclose(deviation, expected.scale_)
    assert missing.tolist() == list(range(10))


@pytest.mark.parametrize("make", [classifier, regressor])
def test_units_of_columns_do_not_matter(make):
    y = LABELS_OF_X
    units, origin = 10.0 ** np.linspace(-6, 6, 64), np.linspace(-3, 3, 64)
    plain, other = make(**EXACT).fit(X, y), make(**EXACT).fit(X * units + origin * units, y)
    np.testing.assert_allclose(says(other, (X + origin) * units), says(plain, X), rtol=1e-5)
    np.testing.assert_allclose(plain.scale_, X.std(axis=0))
    assert make(normalize=False).fit(X, y).scale_.tolist() == [1.0] * 64


def test_entries_far_away_are_bent_towards_two_deviations():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    model = classifier(**EXACT).fit(rows, LABELS_OF_X)
    far, farther = (model.predict_proba(np.full((1, 3), size)) for size in (1e9, 1e200))
    np.testing.assert_allclose(far, farther, rtol=1e-6)
    z = (rows - model.mean_) / model.scale_
    scaled = model._fitted.scaling.apply(rows, np.float64)
    np.testing.assert_allclose(scaled, z / np.sqrt(1.0 + (z / 2.0) ** 2))
    assert np.abs(scaled).max() < 2.0


def test_targets_have_scales_of_their_own():
    Y = np.c_[PROGRESS, 1e-4 * PROGRESS[::-1] + 7.0]
    model = regressor(**EXACT, max_epochs=30).fit(DIABETES, Y)
    np.testing.assert_allclose(model.target_scale_, Y.std(axis=0))
    one = regressor(**EXACT, max_epochs=30).fit(DIABETES, np.c_[Y[:, 0], 1e4 * Y[:, 1]])
    np.testing.assert_allclose(one.predict(DIABETES) / [1.0, 1e4], model.predict(DIABETES), rtol=1e-6)
    errors = np.square((model.predict_members(DIABETES) - Y) / Y.std(axis=0)).sum(axis=-1).mean()
    np.testing.assert_allclose(model.reconstruction_error_, errors * Y.var(axis=0).mean())


def test_constant_columns_are_read_as_nothing_whatever_comes_later():
    rows = np.c_[X, np.full(len(X), 0.1), np.zeros(len(X))]
    model = classifier(**EXACT).fit(rows, LABELS_OF_X)
    assert model.scale_[-2:].tolist() == [0.0, 0.0]
    changed = np.c_[X, np.full((len(X), 2), 1e6)]
    np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(rows))
    constant = regressor(**EXACT).fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0, rtol=1e-14)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_missing_entries_are_the_mean_and_an_indicator(kind):
    rows, holes = with_gaps(X[:, 10:14])
    rows[:, 0] = X[:, 10]  # which has none
    model = classifier(**EXACT).fit(kind(rows), LABELS_OF_X)
    scaled = StandardScaler().fit_transform(rows)
    scaled /= np.sqrt(1.0 + (scaled / 2.0) ** 2)
    by_hand = np.hstack([np.nan_to_num(scaled), holes[:, 1:].astype(float)])
    expected = classifier(**EXACT, normalize=False).fit(by_hand, LABELS_OF_X)
    np.testing.assert_allclose(model.predict_proba(kind(rows)), expected.predict_proba(by_hand))
    only_later = rows.copy()
    only_later[:5, 0] = np.nan  # the mean, without an indicator
    mean = rows.copy()
    mean[:5, 0] = X[:, 10].mean()
    np.testing.assert_allclose(model.predict_proba(only_later), model.predict_proba(mean), rtol=1e-6)


def test_missing_entries_go_on_and_into_files(tmp_path):
    rows, _ = with_gaps(X)
    model = (
        classifier(max_epochs=2)
        .fit(rows, LABELS_OF_X)
        .set_params(max_epochs=4)
        .resume(rows, LABELS_OF_X)
    )
    modae.save(model, tmp_path / "model.modae")
    loaded = modae.load(tmp_path / "model.modae")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


def test_an_autoencoder_still_refuses_missing_entries():
    with pytest.raises(ValueError, match="NaN"):
        autoencoder().fit(with_gaps(X)[0])


@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_weight_is_a_number_of_copies(make):
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = make(**EXACT).fit(X, LABELS_OF_X, sample_weight=7.0 * weights)
    copies = make(**EXACT).fit(X.repeat(weights, axis=0), LABELS_OF_X.repeat(weights))
    np.testing.assert_allclose(says(weighted, X), says(copies, X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.loss_, copies.loss_)
    stream = make(**EXACT).partial_fit(X, LABELS_OF_X, sample_weight=weights)
    assert not np.array_equal(says(stream, X), says(make(**EXACT).partial_fit(X, LABELS_OF_X), X))


@pytest.mark.parametrize("class_weight", ["balanced", {k: 1.0 + k for k in range(10)}], ids=str)
def test_class_weights_are_weights_of_rows(class_weight):
    given = np.random.default_rng(0).random(len(X))
    one = classifier(**EXACT, class_weight=class_weight).fit(X, LABELS_OF_X, sample_weight=given)
    weights = given * compute_sample_weight(class_weight, LABELS_OF_X)
    other = classifier(**EXACT).fit(X, LABELS_OF_X, sample_weight=weights)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_stream_cannot_be_balanced():
    with pytest.raises(ValueError, match="class_weight must be a dict for partial_fit, got 'balanced'"):
        classifier(class_weight="balanced").partial_fit(X, LABELS_OF_X)


def test_rows_without_weight_are_not_held_out():
    weights = (np.arange(len(X)) % 2).astype(float)
    model = classifier(early_stopping=True, patience=1, learning_rate=0.1, max_epochs=100)
    model.fit(X, LABELS_OF_X, sample_weight=weights)
    assert weights[model.validation_indices_].all()
    with pytest.raises(ValueError, match="sample_weight must not be zero"):
        model.fit(X, LABELS_OF_X, sample_weight=0.0 * weights)


def test_an_autoencoder_says_when_columns_have_different_units():
    rows = np.random.default_rng(0).normal(size=(200, 4)) * [1.0, 1.0, 3000.0, 1.0]
    for kind in (np.asarray, sparse.csr_array):
        with pytest.warns(UserWarning, match="column 2 has a range of .* standardise the columns first"):
            autoencoder(max_epochs=1).fit(kind(rows))
    images = load_digits().data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autoencoder(max_epochs=1).fit(images)
        autoencoder(max_epochs=1).fit(sparse.csr_array(np.round(images * 16)))
        autoencoder(max_epochs=1).fit(np.c_[X, np.full(len(X), 1e9)])
        autoencoder(max_epochs=1).fit(np.full((50, 4), 3.0))
