"""Models that are made from a fitted one are those of a fresh fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from modae import LinearModularAutoencoder, LinearModularRegressor
from properties.parts import assert_same_facts, fitted
from strategies import data_sets, diversities, fits, seeds, splits

pytestmark = pytest.mark.filterwarnings("ignore:.* makes all modules equal:UserWarning")


def assert_same_model(derived, fresh, rows):
    """Parameters and modules, and so what they do to rows; the same seed breaks the same ties."""
    assert derived.get_params() == fresh.get_params()
    assert_same_facts(derived, fresh)
    np.testing.assert_allclose(derived.transform(rows), fresh.transform(rows), rtol=1e-6, atol=1e-6)


@given(fits(), diversities)
def test_with_diversity_is_a_fresh_fit(case, diversity):
    rows, params = case
    model = fitted(rows, params)
    before = model.encoders_.copy()
    fresh = fitted(rows, {**params, "diversity": diversity})
    assert_same_model(model.with_diversity(diversity), fresh, rows)
    np.testing.assert_array_equal(model.encoders_, before)
    assert model.diversity == params["diversity"]


@given(fits(), st.lists(diversities, max_size=4))
def test_a_path_is_a_fresh_fit_for_each_diversity(case, values):
    rows, params = case
    path = list(fitted(rows, params).path(values))
    assert [model.diversity_ for model in path] == values
    for model, diversity in zip(path, values, strict=True):
        assert_same_model(model, fitted(rows, {**params, "diversity": diversity}), rows)


@given(fits(), st.data())
def test_with_params_is_a_fresh_fit(case, data):
    rows, params = case
    change = {
        "n_modules": data.draw(st.integers(1, params["n_modules"])),
        "n_components": data.draw(st.integers(1, params["n_components"])),
        "diversity": data.draw(diversities),
    }
    change = {name: change[name] for name in data.draw(st.sets(st.sampled_from(sorted(change))))}
    assert_same_model(fitted(rows, params).with_params(**change), fitted(rows, params | change), rows)


@given(fits(), diversities, diversities)
def test_a_chain_of_derived_models_ends_where_a_single_step_does(case, between, last):
    rows, params = case
    model = fitted(rows, params)
    chain = model.with_diversity(between).with_diversity(last)
    np.testing.assert_array_equal(chain.encoders_, model.with_diversity(last).encoders_)
    back = model.with_diversity(between).with_diversity(params["diversity"])
    np.testing.assert_array_equal(back.encoders_, model.encoders_)


@given(fits(), diversities, st.data())
def test_a_derived_model_goes_on_with_more_rows(case, diversity, data):
    rows, params = case
    first, *others = data.draw(splits(len(rows)))
    model = fitted(rows[first], params).with_diversity(diversity)
    for part in others:
        model.partial_fit(rows[part])
    assert_same_facts(model, fitted(rows, {**params, "diversity": diversity}))


@given(fits(), st.data())
def test_models_of_several_sites_are_one_fit(case, data):
    rows, params = case
    n_sites = data.draw(st.integers(1, 4))
    # A site needs at least as many rows as columns: others would have to send their rows.
    sites = [np.concatenate([rows * (1.0 + k), rows**2 + k, -rows]) for k in range(n_sites)]
    sites = [site if len(site) >= site.shape[1] else np.tile(site, (2, 1)) for site in sites]
    merged = LinearModularAutoencoder.merge([fitted(site, params) for site in sites])
    assert_same_facts(merged, fitted(np.concatenate(sites), params))


@given(data_sets(max_rows=20), st.integers(1, 3), diversities, diversities, seeds)
def test_a_derived_regressor_is_a_fresh_fit(rows, n_modules, first, second, seed):
    targets = np.random.default_rng(seed).standard_normal((len(rows), 3))
    model = LinearModularRegressor(n_modules, 1, first, alpha=0.1, random_state=0).fit(rows, targets)
    fresh = clone(model).set_params(diversity=second).fit(rows, targets)
    derived = model.with_diversity(second)
    assert derived.loss_ == pytest.approx(fresh.loss_, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(derived.predict(rows), fresh.predict(rows), rtol=1e-6, atol=1e-7)
