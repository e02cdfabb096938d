"""Models of several sites become the model of all their rows, from sums alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import modae
from modae import LinearModularAutoencoder

RNG = np.random.default_rng(0)
X = RNG.standard_normal((900, 12)) @ RNG.standard_normal((12, 12)) + 50.0 * RNG.standard_normal(12)


def model():
    return LinearModularAutoencoder(4, 3, diversity=0.6, random_state=0)


@given(n_sites=st.integers(1, 20), seed=st.integers(0, 100), weighted=st.booleans())
def test_any_split_gives_the_model_of_all_rows(n_sites, seed, weighted):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    ends = np.sort(rng.choice(np.arange(1, len(X) // 20), n_sites - 1, replace=False)) * 20
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    sites = [model().fit(X[part], sample_weight=weights[part]) for part in np.split(order, ends)]
    together, whole = LinearModularAutoencoder.merge(sites), model().fit(X, sample_weight=weights)
    assert together.loss_ == pytest.approx(whole.loss_, rel=1e-9)
    np.testing.assert_allclose(together.mean_, whole.mean_, rtol=1e-9)
    np.testing.assert_allclose(together.encoders_, whole.encoders_, atol=1e-9)
    assert together.certified_


def test_through_files_and_on_from_there(tmp_path):
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(12)])
    for place in range(3):
        modae.save(model().fit(frame[place::3]), tmp_path / f"{place}.modae", resumable=True)
    sites = [modae.load(tmp_path / f"{place}.modae") for place in range(3)]
    together = LinearModularAutoencoder.merge(sites)
    assert list(together.feature_names_in_) == list(frame.columns)
    more = together.partial_fit(frame[:100])
    whole = model().fit(pd.concat([frame, frame[:100]]))
    assert more.loss_ == pytest.approx(whole.loss_, rel=1e-9)
    again = LinearModularAutoencoder.merge([together, sites[0]])  # a model of sums can be merged again
    assert again.n_features_in_ == 12


def test_streams_with_rows_left_over():
    stream = model().partial_fit(X[:300]).partial_fit(X[300:305])
    together = LinearModularAutoencoder.merge([stream, model().fit(X[305:])])
    assert together.loss_ == pytest.approx(model().fit(X).loss_, rel=1e-9)


def test_refusals(tmp_path):
    fitted = model().fit(X)
    merge = LinearModularAutoencoder.merge
    with pytest.raises(ValueError, match="at least one fitted model"):
        merge([])
    with pytest.raises(TypeError, match=r"got .*BaggingAutoencoder.* as model 1"):
        merge([fitted, modae.BaggingAutoencoder(4, 3).fit(X)])
    with pytest.raises(ValueError, match=r"model 1 was fitted to fewer rows .* at least 12 rows"):
        merge([fitted, model().fit(X[:10])])
    with pytest.raises(ValueError, match="same columns in the same order; those of model 1"):
        merge([fitted, model().fit(X[:, :11])])
    with pytest.raises(ValueError, match="those of model 1 differ"):
        merge([fitted, model().fit(pd.DataFrame(X).add_prefix("c"))])
    modae.save(fitted, tmp_path / "small.modae")
    with pytest.raises(ValueError, match="save it with resumable=True"):
        merge([fitted, modae.load(tmp_path / "small.modae")])
    with pytest.raises(Exception, match="not fitted"):
        merge([fitted, model()])
