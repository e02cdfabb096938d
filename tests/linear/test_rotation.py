"""A random rotation of the codes inside each module changes the codes and nothing else."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from modae import BaggingAutoencoder, LinearModularAutoencoder

X, _ = load_digits(return_X_y=True)
X = X[:300]
EXTRACTORS = [LinearModularAutoencoder(4, 3, 0.7), BaggingAutoencoder(4, 3)]


@pytest.fixture(params=EXTRACTORS, ids=lambda extractor: type(extractor).__name__)
def pair(request):
    plain = request.param.set_params(random_state=0, rotation=None).fit(X)
    turned = type(plain)(**plain.get_params()).set_params(rotation="random").fit(X)
    return plain, turned


def test_reconstructions_stay(pair):
    plain, turned = pair
    np.testing.assert_allclose(turned.reconstruct_modules(X), plain.reconstruct_modules(X), atol=1e-9)
    np.testing.assert_allclose(turned.score_samples(X), plain.score_samples(X), atol=1e-8)
    codes = turned.transform(X)
    np.testing.assert_allclose(
        turned.inverse_transform(codes), plain.inverse_transform(plain.transform(X)), atol=1e-9
    )


def test_codes_are_turned_by_an_orthogonal_matrix(pair):
    plain, turned = pair
    for before, after in zip(plain.transform_modules(X), turned.transform_modules(X), strict=True):
        assert np.abs(before - after).max() > 0.1
        turn = np.linalg.lstsq(before, after, rcond=None)[0]
        np.testing.assert_allclose(before @ turn, after, atol=1e-8)
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-8)


def test_modules_are_turned_differently(pair):
    plain, turned = pair
    turns = turned.decoders_.mT @ plain.decoders_
    assert np.abs(turns[0] - turns[1]).max() > 0.1


def test_loss_and_certificate_stay():
    plain = LinearModularAutoencoder(4, 3, 0.7, random_state=0).fit(X)
    turned = LinearModularAutoencoder(4, 3, 0.7, rotation="random", random_state=0).fit(X)
    assert turned.loss_ == plain.loss_
    assert turned.certified_
    derived = plain.set_params(rotation=None).with_diversity(0.9)
    again = turned.with_diversity(0.9)
    assert again.loss_ == derived.loss_
    fresh = LinearModularAutoencoder(4, 3, 0.9, rotation="random", random_state=0).fit(X)
    np.testing.assert_allclose(again.encoders_, fresh.encoders_, atol=1e-12)


def test_an_unknown_rotation_is_refused():
    with pytest.raises(ValueError, match="rotation must be one of None, 'random', got 'much'"):
        LinearModularAutoencoder(rotation="much").fit(X)
