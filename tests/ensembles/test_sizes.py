"""Models of other sizes and diversities from one fit, and what such a fit cannot give."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

import oracles
from modae import LinearModularAutoencoder


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:300]


@pytest.fixture(scope="module")
def large(X):
    return LinearModularAutoencoder(4, 6, 0.5, random_state=0).fit(X)


def assert_same_model(derived, fresh, X):
    np.testing.assert_allclose(
        oracles.projectors(derived.decoders_), oracles.projectors(fresh.decoders_), atol=1e-10
    )
    scale = np.abs(fresh.transform_modules(X)).max()
    np.testing.assert_allclose(
        derived.transform_modules(X), fresh.transform_modules(X), atol=1e-10 * scale
    )
    assert derived.loss_ == pytest.approx(fresh.loss_, rel=1e-12)
    assert derived.lower_bound_ == pytest.approx(fresh.lower_bound_, rel=1e-12)
    assert derived.n_components_ == fresh.n_components_
    assert derived.get_params() == fresh.get_params()


@pytest.mark.parametrize(
    "changes",
    [
        {"n_modules": 2},
        {"n_modules": 1, "n_components": 24},
        {"n_components": 3},
        {"n_modules": 8, "n_components": 3},
        {"n_modules": 24, "n_components": 1, "diversity": 0.9},
        {"n_modules": 3, "n_components": 5, "diversity": 0.2},
        {"diversity": 1.0},
        {},
    ],
)
def test_another_size_equals_a_fresh_fit(large, X, changes):
    fresh = clone(large).set_params(**changes).fit(X)
    assert_same_model(large.with_params(**changes), fresh, X)


def test_the_original_stays_as_it_is(X):
    model = LinearModularAutoencoder(4, 6, 0.5, random_state=0).fit(X)
    before = model.transform(X)
    model.with_params(n_modules=2, diversity=0.9)
    model.with_diversity(0.1)
    np.testing.assert_array_equal(model.transform(X), before)
    assert (model.n_modules, model.diversity) == (4, 0.5)


def test_from_a_derived_model_back_to_the_original_size(large, X):
    small = large.with_params(n_modules=2, n_components=3)
    with pytest.raises(ValueError, match="at most 6"):
        small.with_params(n_modules=4, n_components=6)
    assert_same_model(
        small.with_params(n_modules=3, n_components=2),
        clone(large).set_params(n_modules=3, n_components=2).fit(X),
        X,
    )


@pytest.mark.parametrize("sizes", [(5, 6), (4, 7), (25, 1), (1, 25)])
def test_sizes_beyond_the_axes_kept_are_refused(large, sizes):
    message = (
        rf"at most 24, the number of principal axes that this fit kept, got {sizes[0]} \* {sizes[1]}"
    )
    with pytest.raises(ValueError, match=message):
        large.with_params(n_modules=sizes[0], n_components=sizes[1])


@pytest.mark.parametrize("first", [(1, 12), (3, 12), (6, 2), (5, 3)])
@pytest.mark.parametrize("other", [(4, 5), (10, 12), (7, 3)])
def test_any_size_if_all_axes_are_there(first, other):
    """With as many axes as features, or more than the rank, none is left out."""
    rows = np.random.default_rng(0).standard_normal((40, 12))
    model = LinearModularAutoencoder(*first, 0.6, random_state=0).fit(rows)
    fresh = LinearModularAutoencoder(*other, 0.6, random_state=0).fit(rows)
    assert_same_model(model.with_params(n_modules=other[0], n_components=other[1]), fresh, rows)


def test_any_size_if_the_rank_is_exhausted():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 12))
    model = LinearModularAutoencoder(3, 2, 0.6, random_state=0).fit(rows)  # 6 axes asked, rank 5
    fresh = LinearModularAutoencoder(4, 4, 0.6, random_state=0).fit(rows)
    derived = model.with_params(n_modules=4, n_components=4)
    assert derived.loss_ == pytest.approx(fresh.loss_, rel=1e-9)
    np.testing.assert_allclose(derived.lower_bound_, fresh.lower_bound_, rtol=1e-9)
    exact = LinearModularAutoencoder(1, 5, 0.6, random_state=0).fit(rows)  # 5 asked: is there a sixth?
    with pytest.raises(ValueError, match="at most 5"):
        exact.with_params(n_modules=2, n_components=4)


def test_more_components_than_features(large):
    with pytest.raises(ValueError, match="n_components must be at most n_features = 64, got 65"):
        large.with_params(n_modules=1, n_components=65)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_modules": 0}, "n_modules must be at least 1"),
        ({"n_modules": 2.0}, "n_modules must be an integer"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_components": "3"}, "n_components must be"),
        ({"n_components": True}, "n_components must be"),
        ({"diversity": 1.5}, r"diversity must be a number in \[0, 1\]"),
        ({"diversity": "0.5"}, r"diversity must be a number in \[0, 1\]"),
    ],
)
def test_nonsense_is_refused(large, changes, message):
    with pytest.raises(ValueError, match=message):
        large.with_params(**changes)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_share_of_the_variance_equals_a_fresh_fit_or_is_refused(X, share):
    model = LinearModularAutoencoder(1, 40, 0.5, random_state=0).fit(X)
    fresh = LinearModularAutoencoder(1, share, 0.5, random_state=0).fit(X)
    try:
        derived = model.with_params(n_components=share)
    except ValueError as error:
        derived, problem = None, str(error)
    if derived is None:
        assert problem.startswith("n_components must be")
    else:
        assert_same_model(derived, fresh, X)


def test_a_fit_by_a_share_of_the_variance(X):
    model = LinearModularAutoencoder(3, 0.6, 0.5, random_state=0).fit(X)
    derived = model.with_params(diversity=0.8)
    assert_same_model(derived, LinearModularAutoencoder(3, 0.6, 0.8, random_state=0).fit(X), X)
    assert model.with_params(n_modules=2).n_components_ == model.n_components_


@pytest.mark.parametrize("value", [None, "0.5", -0.1, 1.01, np.nan, True])
def test_with_diversity_takes_a_diversity(large, value):
    with pytest.raises(ValueError, match=r"diversity must be a number in \[0, 1\]"):
        large.with_diversity(value)
    with pytest.raises(ValueError, match=r"diversity must be a number in \[0, 1\]"):
        large.path([0.5, value])


def test_derived_models_keep_names_pickle_and_clone(X):
    frame = pd.DataFrame(X, columns=[f"pixel {k}" for k in range(64)])
    model = LinearModularAutoencoder(4, 6, random_state=0).fit(frame)
    derived = model.with_params(n_modules=2, n_components=5)
    assert derived.feature_names_in_[3] == "pixel 3"
    assert derived.n_features_in_ == 64
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(derived)).transform(frame), derived.transform(frame)
    )
    assert clone(derived).get_params()["n_modules"] == 2


def test_single_precision_stays_single(X):
    model = LinearModularAutoencoder(4, 6, random_state=0).fit(X.astype(np.float32))
    assert model.with_params(n_modules=2).transform(X.astype(np.float32)).dtype == np.float32


def test_not_fitted():
    with pytest.raises(NotFittedError):
        LinearModularAutoencoder().with_params(n_modules=2)
    with pytest.raises(NotFittedError):
        LinearModularAutoencoder().with_diversity(0.5)


def test_parameters_set_after_the_fit_do_not_leak_into_other_sizes(X):
    model = LinearModularAutoencoder(4, 6, 0.5, random_state=0).fit(X)
    expected = model.with_params(n_components=3)
    model.set_params(n_modules=9, diversity=0.1, solver="gradient")
    derived = model.with_params(n_components=3)
    np.testing.assert_array_equal(derived.transform(X), expected.transform(X))
    assert derived.diversity == 0.5
