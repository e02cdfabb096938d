"""BaggingAutoencoder is PCA on bootstrap samples."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from modae import BaggingAutoencoder
from modae.linear.bagging import bootstrap_counts


@pytest.fixture(scope="module")
def X():
    return load_digits().data


@pytest.fixture(scope="module")
def model(X):
    return BaggingAutoencoder(6, 4, random_state=0).fit(X)


def projectors(model):
    return model.decoders_ @ model.decoders_.swapaxes(1, 2)


def test_each_module_is_the_pca_of_its_bootstrap_sample(X, model):
    seed = np.random.RandomState(0).randint(2**31 - 1)
    for module, projector in enumerate(projectors(model)):
        sample = np.repeat(X, bootstrap_counts(seed, module, 0, len(X)), axis=0)
        pca = PCA(4).fit(sample)
        np.testing.assert_allclose(projector, pca.components_.T @ pca.components_, atol=1e-8)
        variances = pca.explained_variance_ * (len(sample) - 1) / len(sample)
        np.testing.assert_allclose(model.eigenvalues_[module], variances, rtol=1e-9)


def test_modules_differ_and_differ_little(model):
    spread = np.abs(projectors(model) - projectors(model).mean(axis=0)).max(axis=(1, 2))
    assert spread.min() > 1e-3
    assert spread.max() < 0.5


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_jobs_do_not_change_the_model(X, model, n_jobs):
    again = BaggingAutoencoder(6, 4, n_jobs=n_jobs, random_state=0).fit(X)
    np.testing.assert_allclose(projectors(again), projectors(model), atol=1e-10)


def test_more_modules_keep_the_first_ones(X, model):
    more = BaggingAutoencoder(8, 4, random_state=0).fit(X)
    np.testing.assert_array_equal(more.decoders_[:6], model.decoders_)


@pytest.mark.parametrize("rows", [1797, 40])
def test_sparse_is_dense(X, rows):
    dense = BaggingAutoencoder(6, 4, random_state=0).fit(X[:rows])
    thin = BaggingAutoencoder(6, 4, random_state=0).fit(sparse.csr_array(X[:rows]))
    np.testing.assert_allclose(projectors(thin), projectors(dense), atol=1e-8)
    np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-8)


def test_the_transform_side_is_that_of_modular_autoencoders(X, model):
    codes = model.transform_modules(X)
    np.testing.assert_allclose(codes[2], (X - X.mean(axis=0)) @ model.encoders_[2].T, atol=1e-9)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), model.reconstruct_modules(X).mean(axis=0), atol=1e-9
    )
    errors = ((model.reconstruct_modules(X) - X) ** 2).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(-model.score_samples(X), errors, rtol=1e-9)
    assert list(model.get_feature_names_out()[:5]) == [
        "module0_0",
        "module0_1",
        "module0_2",
        "module0_3",
        "module1_0",
    ]


def test_what_makes_no_sense_is_not_there(model):
    for name in ("partial_fit", "with_diversity", "path", "lower_bound_", "loss_"):
        assert not hasattr(model, name)


def test_float32_stays_float32(X):
    model = BaggingAutoencoder(3, 4, random_state=0).fit(X.astype(np.float32))
    exact = BaggingAutoencoder(3, 4, random_state=0).fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(projectors(model), projectors(exact), atol=1e-4)
    assert BaggingAutoencoder(3, 4, upcast=True).fit(X.astype(np.float32)).encoders_.dtype == np.float64


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_very_few_rows(X, rows):
    model = BaggingAutoencoder(20, 4, random_state=0).fit(X[:rows])
    assert np.isfinite(model.transform(X)).all()
    gram = model.decoders_.swapaxes(1, 2) @ model.decoders_
    np.testing.assert_allclose(gram, np.tile(np.eye(4), (20, 1, 1)), atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_modules": 0}, "n_modules must be at least 1, got 0"),
        ({"n_components": 0.5}, r"n_components must be an integer of at least 1, got 0\.5"),
        ({"n_components": 65}, "n_components must be at most n_features = 64, got 65"),
        ({"spectrum": "fast"}, "spectrum must be one of"),
        ({"upcast": 1}, "upcast must be True or False, got 1"),
    ],
)
def test_bad_parameters_are_explained(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        BaggingAutoencoder(**parameters).fit(X)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_data_whose_variance_is_no_float64_are_refused(X, scale):
    with pytest.raises(ValueError, match="X spreads over about"):
        BaggingAutoencoder(3, 4, random_state=0).fit(X * scale)
