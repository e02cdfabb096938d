import numpy as np
import pytest
from hypothesis import given

from modae.core.allocation import Allocation, Block, allocate
from modae.core.frames import (
    BINDING,
    MAX_STEPS,
    _with_sum,
    frames_with_mean_projector,
    mean_projector,
    module_subspaces,
)
from oracles import random_frames
from strategies import problems, seeds

SIZES = [(1, 4), (2, 1), (2, 5), (3, 1), (3, 2), (4, 3), (5, 5), (10, 2), (10, 10)]


def assert_orthonormal(frames, atol=1e-12):
    width = frames.shape[2]
    for V in frames:
        np.testing.assert_allclose(V.T @ V, np.eye(width), atol=atol)


def subspaces_for(w, M, H, lam, seed=0):
    allocation = allocate(w, M, H, lam)
    return allocation.shares, module_subspaces(allocation, M, np.random.default_rng(seed))[0]


def test_the_mean_projector_is_the_mean_of_the_projectors():
    frames = random_frames(3, 5, 2, np.random.default_rng(0))
    expected = sum(V @ V.T for V in frames) / 3
    np.testing.assert_allclose(mean_projector(frames), expected, atol=1e-14)


@pytest.mark.parametrize(("M", "H"), SIZES)
@pytest.mark.parametrize("lam", [0.0, 0.1, 0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("decay", ["geometric", "power law"])
def test_smooth_spectra_get_the_shares_they_ask_for(M, H, lam, decay):
    k = np.arange(M * H)
    w = 0.85**k if decay == "geometric" else (1.0 + k) ** -1.5
    shares, frames = subspaces_for(w, M, H, lam)
    assert_orthonormal(frames)
    used = frames.shape[1]
    np.testing.assert_allclose(mean_projector(frames), np.diag(shares[:used]), atol=1e-6)
    assert not shares[used:].any()


@given(problems(max_modules=4, max_components=3), seeds)
def test_frames_are_orthonormal_whether_or_not_the_shares_can_be_had(problem, seed):
    rng = np.random.default_rng(seed)
    frames = module_subspaces(problem.allocation, problem.n_modules, rng)[0]
    assert_orthonormal(frames, atol=1e-11)
    assert frames.shape[0] == problem.n_modules
    assert frames.shape[2] == problem.n_components


@given(problems(max_modules=2, max_components=5), seeds)
def test_two_modules_get_their_shares_exactly(problem, seed):
    frames = module_subspaces(problem.allocation, problem.n_modules, np.random.default_rng(seed))[0]
    shares = problem.allocation.shares[: frames.shape[1]]
    np.testing.assert_allclose(mean_projector(frames), np.diag(shares), atol=1e-11)


@given(problems(max_modules=6, max_components=1), seeds)
def test_modules_of_one_component_get_their_shares(problem, seed):
    frames = module_subspaces(problem.allocation, problem.n_modules, np.random.default_rng(seed))[0]
    shares = problem.allocation.shares[: frames.shape[1]]
    np.testing.assert_allclose(mean_projector(frames), np.diag(shares), atol=1e-6)


def test_axes_shared_by_all_are_in_every_module_and_unused_ones_are_left_out():
    w = np.array([100.0, 50.0, 1.0, 0.9, 0.8, 1e-6, 1e-7, 1e-8, 1e-9])
    shares, frames = subspaces_for(w, 3, 3, 0.5)
    np.testing.assert_allclose(shares[:2], 1.0)
    assert frames.shape[1] == 5
    for V in frames:
        np.testing.assert_allclose((V @ V.T)[:2], np.eye(5)[:2], atol=1e-12)


def test_shares_that_were_moved_sum_to_the_units_again():
    moved = _with_sum(np.array([1.0 - BINDING / 2, 0.7, 0.4, BINDING / 2]), 2)
    np.testing.assert_allclose(moved, [1.0, 0.65, 0.35, 0.0], rtol=0.0, atol=1e-15)
    np.testing.assert_array_equal(_with_sum(np.array([1.0, 1.0, 0.0]), 2), [1.0, 1.0, 0.0])


def test_blocks_are_direct_sums():
    blocks = (Block(np.array([0, 2, 3]), 1, 1.0), Block(np.array([1, 4, 5]), 1, 2.0))
    shares = np.array([0.6, 0.5, 0.3, 0.1, 0.3, 0.2])
    frames = module_subspaces(Allocation(shares, blocks), 3, np.random.default_rng(0))[0]
    np.testing.assert_allclose(mean_projector(frames), np.diag(shares), atol=1e-6)
    for V in frames:
        assert not (V @ V.T)[np.ix_([0, 2, 3], [1, 4, 5])].any()


@pytest.mark.parametrize(
    ("n_axes", "units", "M"), [(4, 3, 5), (5, 3, 4), (6, 4, 5), (3, 2, 10), (7, 5, 6)]
)
def test_wide_frames_are_found_through_their_complements(n_axes, units, M):
    shares = np.full(n_axes, units / n_axes) + 1e-2 * np.linspace(1.0, -1.0, n_axes)
    frames, n_iter, exact = frames_with_mean_projector(shares, units, M, np.random.default_rng(1))
    assert exact
    assert frames.shape == (M, n_axes, units)
    assert_orthonormal(frames)
    assert n_iter <= MAX_STEPS
    np.testing.assert_allclose(mean_projector(frames), np.diag(shares), atol=1e-6)


@given(seeds)
def test_shares_of_actual_projectors_are_found_again(seed):
    rng = np.random.default_rng(seed)
    M, H, D = 4, 2, 6
    shares = np.linalg.eigvalsh(mean_projector(random_frames(M, D, H, rng)))[::-1]
    frames, _, exact = frames_with_mean_projector(shares, H, M, rng)
    assert exact
    assert_orthonormal(frames)
    np.testing.assert_allclose(mean_projector(frames), np.diag(shares), atol=1e-6)


@pytest.mark.parametrize(("n_axes", "units", "M"), [(5, 2, 3), (7, 2, 3), (4, 3, 3)])
def test_impossible_shares_still_give_orthonormal_frames_near_them(n_axes, units, M):
    shares = np.full(n_axes, units / n_axes)
    frames, _, exact = frames_with_mean_projector(shares, units, M, np.random.default_rng(2))
    assert not exact
    assert_orthonormal(frames)
    error = np.abs(mean_projector(frames) - np.diag(shares)).max()
    assert 1e-3 < error < 0.6


def test_the_seed_decides_the_frames():
    w = 0.9 ** np.arange(12)
    _, first = subspaces_for(w, 4, 3, 0.8, seed=3)
    _, again = subspaces_for(w, 4, 3, 0.8, seed=3)
    _, other = subspaces_for(w, 4, 3, 0.8, seed=4)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first @ first.swapaxes(1, 2) - other @ other.swapaxes(1, 2)).max() > 1e-3


@pytest.mark.parametrize(
    ("lam", "second"),
    [("0x1.999999999999ap-5", "0x1.ce147ae148167p-1"), ("0x1.e3b2d066ea218p-5", "0x1.c5529c10c89d6p-1")],
)
def test_a_pair_of_axes_is_peeled_together(lam, second):
    allocation = allocate(np.array([1.0, float.fromhex(second)]), 2, 1, float.fromhex(lam))
    frames = module_subspaces(allocation, 2, np.random.default_rng(0))[0]
    np.testing.assert_allclose(mean_projector(frames)[0, 0], allocation.shares[0], atol=1e-11)
