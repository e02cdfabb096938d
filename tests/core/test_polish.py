import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.core.frames import best_encoders
from modae.core.objective import linear_terms
from modae.core.spectral import on_all_axes, perturbed, polish, reduced_loss
from oracles import finite_differences, projectors, random_frames
from strategies import seeds

WEIGHTS = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def loss_of(frames, weights, lam):
    return linear_terms(frames, best_encoders(frames, lam), weights).loss(lam)


@pytest.mark.parametrize("lam", [0.05, 0.5, 0.95])
def test_the_reduced_loss_is_the_loss_with_the_best_encoders(lam):
    frames = random_frames(3, 5, 2, np.random.default_rng(0))
    assert reduced_loss(frames, WEIGHTS, lam)[0] == pytest.approx(
        loss_of(frames, WEIGHTS, lam), abs=1e-12
    )


def test_the_reduced_loss_sees_only_the_subspaces():
    rng = np.random.default_rng(1)
    stack = rng.standard_normal((3, 5, 2))
    inside = rng.standard_normal((3, 2, 2)) + 3 * np.eye(2)
    assert reduced_loss(stack @ inside, WEIGHTS, 0.5)[0] == pytest.approx(
        reduced_loss(stack, WEIGHTS, 0.5)[0], rel=1e-12
    )


@pytest.mark.parametrize("lam", [0.05, 0.5, 0.95])
@pytest.mark.parametrize(("M", "H"), [(1, 2), (3, 1), (3, 2), (4, 4)])
def test_the_gradient_is_that_of_finite_differences(M, H, lam):
    stack = np.random.default_rng(2).standard_normal((M, 5, H))
    expected = finite_differences(lambda W: reduced_loss(W, WEIGHTS, lam)[0], stack)
    np.testing.assert_allclose(
        reduced_loss(stack, WEIGHTS, lam)[1].reshape(stack.shape), expected, atol=1e-8
    )


@given(seeds, st.floats(0.01, 0.99), st.integers(1, 30))
def test_polishing_never_raises_the_loss(seed, lam, max_iter):
    frames = random_frames(3, 5, 2, np.random.default_rng(seed))
    better, steps, _ = polish(frames, 7.0 * WEIGHTS, lam, max_iter)
    assert loss_of(better, WEIGHTS, lam) <= loss_of(frames, WEIGHTS, lam) + 1e-12
    np.testing.assert_allclose(better.swapaxes(1, 2) @ better, np.stack([np.eye(2)] * 3), atol=1e-12)
    assert steps <= max_iter


def test_one_module_is_polished_to_pca():
    frames = polish(random_frames(1, 5, 2, np.random.default_rng(3)), WEIGHTS, 0.5)[0]
    np.testing.assert_allclose(frames[0] @ frames[0].T, np.diag([1.0, 1, 0, 0, 0]), atol=1e-4)


def test_more_axes_leave_the_subspaces_as_they_are():
    frames = random_frames(3, 4, 2, np.random.default_rng(4))
    padded = on_all_axes(frames, 6)
    np.testing.assert_array_equal(padded[:, :4], frames)
    assert padded.shape == (3, 6, 2)
    assert not padded[:, 4:].any()
    np.testing.assert_array_equal(on_all_axes(frames, 4), frames)


def test_a_perturbation_is_small_and_frees_unused_axes():
    frames = on_all_axes(random_frames(3, 4, 2, np.random.default_rng(5)), 6)
    moved = perturbed(frames, np.random.default_rng(6), 1e-2)
    np.testing.assert_allclose(moved.swapaxes(1, 2) @ moved, np.stack([np.eye(2)] * 3), atol=1e-12)
    change = np.abs(projectors(moved) - projectors(frames)).max()
    assert 1e-3 < change < 0.1
    assert np.all(np.abs(moved[:, 4:]).max(axis=(1, 2)) > 1e-4)
