"""The shares of the modules that look at each principal component, as a model tells them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae import LinearModularAutoencoder
from oracles import rows_with_spectrum
from properties.parts import fitted
from strategies import fits, seeds, spectra

pytestmark = pytest.mark.filterwarnings("ignore:diversity=0:UserWarning")


@given(fits())
def test_shares_lie_between_none_and_all_and_sum_to_the_components(case):
    rows, params = case
    model = fitted(rows, params)
    shares = model.allocation_
    assert shares.shape == model.eigenvalues_.shape
    assert (shares >= 0.0).all()
    assert (shares <= 1.0).all()
    assert shares.sum() == pytest.approx(params["n_components"], abs=1e-9)


@given(spectra(8), st.integers(1, 4), st.integers(1, 2), st.floats(0.01, 0.99), seeds)
def test_shares_are_ordered_like_the_spectrum(values, M, H, diversity, seed):
    rows = rows_with_spectrum(values, 20, np.random.default_rng(seed))
    model = LinearModularAutoencoder(M, H, diversity, random_state=0).fit(rows)
    assert (np.diff(model.eigenvalues_) <= 0.0).all()
    # Shares that nearly tie have half of the digits of the loss, which is flat there.
    assert (np.diff(model.allocation_) <= 1e-7 + 10.0 * np.sqrt(max(0.0, model.optimality_gap_))).all()


def test_nearly_equal_eigenvalues_have_nearly_equal_shares():
    values = np.array([1.0, 1.0, 1.0, 0.99994186, 0.1, 0.1, 0.1, 0.1])
    rows = rows_with_spectrum(values, 20, np.random.default_rng(0))
    model = LinearModularAutoencoder(3, 2, 0.5, random_state=0).fit(rows)
    assert model.certified_
    np.testing.assert_allclose(model.allocation_, [0.5, 0.5, 0.5, 0.5, 0.0, 0.0], atol=1e-4)


@given(spectra(8), st.integers(1, 4), st.integers(1, 2), st.floats(0.05, 0.95), seeds)
def test_shares_are_continuous_in_the_diversity(values, M, H, diversity, seed):
    rows = rows_with_spectrum(values, 20, np.random.default_rng(seed))
    model = LinearModularAutoencoder(M, H, diversity, random_state=0).fit(rows)
    for step in (1e-3, 1e-6):
        moved = model.with_diversity(diversity + step)
        # The slope is that of a root of the eigenvalues, over the square of the diversity.
        limit = 1e-6 + step / diversity**2 / (1.0 - diversity)
        assert np.abs(moved.allocation_ - model.allocation_).max() <= limit


@given(fits())
def test_the_mean_of_the_projectors_has_these_shares(case):
    rows, params = case
    model = fitted(rows, params)
    if not model.certified_:
        return  # the shares are those of the bound, which these modules do not have
    used = model.principal_axes_
    mean = np.mean([used @ decoder @ decoder.T @ used.T for decoder in model.decoders_], axis=0)
    expected = np.square(model.eigenvalues_) @ np.diag(mean)
    assert np.square(model.eigenvalues_) @ model.allocation_ == pytest.approx(expected, rel=1e-3)
