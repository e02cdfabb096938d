import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.core.frames import best_encoders, canonical, mean_projector
from modae.core.objective import linear_terms
from oracles import encoders_by_least_squares, random_frames
from strategies import seeds

FULL = np.array([5.0, 3.0, 2.0, 1.0, 0.5, 0.1])


def loss_of(decoders, encoders, eigenvalues, lam):
    return linear_terms(decoders, encoders, eigenvalues).loss(lam)


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.7, 0.99])
@pytest.mark.parametrize(("M", "H"), [(1, 2), (2, 2), (3, 1), (4, 3)])
def test_encoders_solve_the_least_squares_problem(M, H, lam):
    frames = random_frames(M, 6, H, np.random.default_rng(M + H))
    np.testing.assert_allclose(
        best_encoders(frames, lam), encoders_by_least_squares(frames, lam), atol=1e-9
    )


@pytest.mark.parametrize("H", [1, 2, 4])
def test_at_full_diversity_the_loss_is_that_of_least_squares(H):
    # The encoders are not unique there, but what the mean of the modules does is.
    frames = random_frames(3, 6, H, np.random.default_rng(H))
    encoders, expected = best_encoders(frames, 1.0), encoders_by_least_squares(frames, 1.0)
    np.testing.assert_allclose(
        (frames @ encoders).mean(axis=0), (frames @ expected).mean(axis=0), atol=1e-9
    )


@given(seeds, st.floats(0.0, 1.0))
def test_no_other_encoders_do_better(seed, lam):
    rng = np.random.default_rng(seed)
    frames = random_frames(3, 6, 2, rng)
    encoders = best_encoders(frames, lam)
    best = loss_of(frames, encoders, FULL, lam)
    for size in (1e-3, 1e-1, 1.0):
        other = encoders + size * rng.standard_normal(encoders.shape)
        assert loss_of(frames, other, FULL, lam) >= best - 1e-12 * FULL.sum()


@given(seeds, st.floats(0.0, 0.999))
def test_the_loss_is_a_function_of_the_mean_projector(seed, lam):
    frames = random_frames(4, 6, 2, np.random.default_rng(seed))
    p, U = np.linalg.eigh(mean_projector(frames))
    explained = np.trace(np.diag(FULL) @ (U * (p / (1 - lam + lam * p))) @ U.T)
    loss = loss_of(frames, best_encoders(frames, lam), FULL, lam)
    assert loss == pytest.approx(FULL.sum() - explained, abs=1e-11)


def test_every_module_is_one_shared_map_and_its_own_projection():
    frames = random_frames(3, 6, 2, np.random.default_rng(0))
    encoders = best_encoders(frames, 0.6)
    shared = np.linalg.inv(0.4 * np.eye(6) + 0.6 * mean_projector(frames))
    for V, B in zip(frames, encoders, strict=True):
        np.testing.assert_allclose(V @ B, V @ V.T @ shared, atol=1e-12)


@pytest.mark.parametrize("lam", [1.0, 1 - 2**-53, 1 - 1e-13])
def test_encoders_ignore_directions_that_no_decoder_has(lam):
    frames = np.concatenate(
        [random_frames(2, 3, 1, np.random.default_rng(1)), np.zeros((2, 2, 1))], axis=1
    )
    encoders = best_encoders(frames, lam)
    np.testing.assert_allclose(encoders[:, :, 3:], 0.0, atol=1e-12)
    assert np.abs(encoders).max() < 1e3


# --- the canonical form --------------------------------------------------------------------------


def random_codecs(seed, M=4, K=6, H=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((M, K, H)), rng.standard_normal((M, H, K))


def by_captured_variance(decoders, encoders, eigenvalues):
    return np.einsum("mkh,k,mkh->m", decoders, eigenvalues, decoders)


@given(seeds, st.sampled_from([FULL, FULL * [1, 1, 1, 0, 0, 0], np.ones(6), np.zeros(6)]))
def test_canonical_modules_do_what_the_given_ones_did(seed, eigenvalues):
    decoders, encoders = random_codecs(seed)
    new_decoders, new_encoders = canonical(decoders, encoders, eigenvalues)
    given_products = list(decoders @ encoders)
    for product in new_decoders @ new_encoders:
        distances = [np.abs(product - old).max() for old in given_products]
        assert min(distances) < 1e-11
        given_products.pop(int(np.argmin(distances)))


@given(seeds)
def test_canonical_conventions_hold(seed):
    decoders, encoders = canonical(*random_codecs(seed), FULL)
    np.testing.assert_allclose(decoders.mT @ decoders, np.stack([np.eye(3)] * 4), atol=1e-12)
    gram = decoders.mT @ (FULL[:, None] * decoders)
    np.testing.assert_allclose(gram, gram * np.eye(3), atol=1e-11)
    captured = by_captured_variance(decoders, encoders, FULL)
    assert np.all(np.diff(captured) <= 1e-12 * captured[0])
    code_variances = np.einsum("mhk,k,mhk->mh", encoders, FULL, encoders)
    assert np.all(np.diff(code_variances, axis=1) <= 2e-6 * code_variances.max(axis=1, keepdims=True))
    largest = np.take_along_axis(decoders, np.abs(decoders).argmax(axis=1)[:, None, :], axis=1)
    assert np.all(largest > 0.0)


@given(seeds)
def test_the_canonical_form_is_its_own(seed):
    once = canonical(*random_codecs(seed), FULL)
    for first, second in zip(once, canonical(*once, FULL), strict=True):
        np.testing.assert_allclose(second, first, atol=1e-9)


@given(seeds)
def test_the_canonical_form_does_not_depend_on_the_way_there(seed):
    decoders, encoders = random_codecs(seed)
    rng = np.random.default_rng(seed)
    inside, order = rng.standard_normal((4, 3, 3)) + 4 * np.eye(3), rng.permutation(4)
    other = canonical((decoders @ inside)[order], (np.linalg.inv(inside) @ encoders)[order], FULL)
    for first, second in zip(canonical(decoders, encoders, FULL), other, strict=True):
        np.testing.assert_allclose(second, first, atol=1e-8)


def test_whitened_components_keep_the_order_of_captured_variance():
    # Code variances equal to within round-off: the captured variance decides.
    decoders = np.eye(6)[None, :, [2, 0, 1]]
    noise = 1.0 + 1e-9 * np.array([3.0, 1.0, 2.0])
    encoders = decoders.mT * (noise / np.sqrt(FULL[[2, 0, 1]]))[None, :, None]
    columns = canonical(decoders, encoders, FULL)[0][0]
    np.testing.assert_allclose(columns, np.eye(6)[:, :3], atol=1e-12)
