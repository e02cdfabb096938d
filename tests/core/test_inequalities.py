from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.core.cuts import cuts_at, largest_left_side
from modae.core.frames import mean_projector
from oracles import largest_left_side_by_enumeration, prefix_slack, random_frames, random_rotation
from strategies import seeds


def violates(shares, n_modules):
    """Whether some inequality proves that no modules have these shares."""
    shares = np.sort(shares)[::-1]
    n_components = round(float(shares.sum()))
    n_axes = np.count_nonzero(shares > 1e-12)
    full = np.count_nonzero(shares > 1.0 - 1e-12)
    too_many = n_axes - full > n_modules * (n_components - full)
    too_few = n_axes - full > n_modules * (n_axes - n_components)
    return too_many or too_few or any(cuts_at(shares, n_modules, n_components, 1e-9))


def spectrum_of_mean(frames):
    return np.clip(np.linalg.eigvalsh(mean_projector(frames))[::-1], 0.0, 1.0)


@pytest.mark.parametrize(
    ("M", "H", "d"),
    [(2, 2, 1), (3, 2, 1), (4, 2, 1), (3, 3, 1), (3, 3, 2), (4, 3, 2), (2, 4, 3), (3, 4, 2), (6, 2, 1)],
)
def test_the_dynamic_programme_finds_the_largest_of_all_partitions(M, H, d):
    rng = np.random.default_rng(M + 10 * H + 100 * d)
    for _ in range(5):
        shares = np.sort(rng.random(M * H))[::-1]
        expected = largest_left_side_by_enumeration(shares, M, H, d)
        assert largest_left_side(shares, M, H - d, d)[0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("M", "H"), [(2, 2), (3, 2), (3, 3), (4, 2), (3, 4), (4, 3), (5, 3)])
def test_for_one_unit_every_set_of_axes_far_enough_back_is_tried(M, H):
    rng = np.random.default_rng(M + 10 * H)
    for _ in range(5):
        shares = np.sort(rng.random(M * H))[::-1]
        far_enough = M * (M - 1) // 2 + M * (M - 1) * (H - 1)
        sets = (s for s in combinations(range(M * H), M) if sum(s) >= far_enough)
        value, free = largest_left_side(shares, M * (H - 1), 1, 1)
        assert value == pytest.approx(max(shares[list(places)].sum() for places in sets), rel=1e-13)
        assert shares[free].sum() == pytest.approx(value, rel=1e-13)
        assert free.sum() == M


@pytest.mark.parametrize(("M", "H"), [(3, 2), (4, 3), (5, 2), (3, 4)])
def test_the_family_contains_the_prefix_condition(M, H):
    shares = np.sort(np.random.default_rng(0).random(M * H))[::-1]
    for d in range(1, H):
        left = d - prefix_slack(shares, M, H)[d - 1]
        assert largest_left_side(shares, M, H - d, d)[0] >= left - 1e-13


@pytest.mark.parametrize(("M", "H"), [(3, 3), (4, 4), (10, 10), (3, 5)])
def test_too_few_lines_cannot_fill_the_complement_evenly(M, H):
    # In H + 1 axes the complements are M <= H lines, and these span M axes at most.
    assert violates(np.full(H + 1, H / (H + 1)), M)


@pytest.mark.parametrize(("M", "H"), [(3, 2), (4, 2), (5, 3), (4, 4)])
def test_one_axis_less_than_all_modules_span_cannot_be_shared_evenly(M, H):
    assert violates(np.full(M * H - 1, H / (M * H - 1)), M)


def test_the_best_shares_of_five_equal_axes_are_not_called_unattainable():
    assert not violates(np.array([0.5, 0.5, 1 / 3, 1 / 3, 1 / 3]), 3)


@pytest.mark.parametrize("step", [1e-7, 1e-4, 1e-2])
def test_the_slightest_violation_is_seen(step):
    possible, impossible = np.array([0.5, 0.5, 1 / 3, 1 / 3, 1 / 3]), np.full(5, 0.4)
    assert violates((1.0 - step) * possible + step * impossible, 3)


@pytest.mark.parametrize(("M", "H", "n_axes"), [(4, 5, 7), (4, 7, 10)])
def test_some_proofs_need_the_complements(M, H, n_axes):
    shares = np.full(n_axes, H / n_axes)
    padded = np.concatenate([shares, np.zeros(M * H - n_axes)])
    assert all(largest_left_side(padded, M, H - d, d)[0] <= d + 1e-12 for d in range(2, H))
    assert largest_left_side(padded, M * (H - 1), 1, 1)[0] <= 1 + 1e-12
    assert violates(shares, M)


def test_more_axes_than_all_modules_span_are_unattainable():
    assert violates(np.full(7, 2 / 7), 3)


@pytest.mark.parametrize("H", [1, 2, 4])
@pytest.mark.parametrize("M", [1, 2, 3, 7])
def test_even_shares_of_all_axes_are_attainable(M, H):
    assert not violates(np.full(M * H, 1 / M), M)


@given(seeds, st.integers(1, 6), st.integers(1, 5), st.integers(0, 12))
def test_shares_of_actual_projectors_are_never_called_unattainable(seed, M, H, more):
    frames = random_frames(M, H + more, H, np.random.default_rng(seed))
    assert not violates(spectrum_of_mean(frames), M)


@given(seeds, st.integers(1, 6), st.integers(1, 5), st.integers(0, 8))
def test_shares_of_coordinate_projectors_are_never_called_unattainable(seed, M, H, more):
    rng = np.random.default_rng(seed)
    frames = np.array([np.eye(H + more)[:, rng.permutation(H + more)[:H]] for _ in range(M)])
    assert not violates(spectrum_of_mean(frames), M)


@given(seeds, st.integers(2, 5), st.integers(1, 3), st.integers(1, 3))
def test_shares_of_direct_sums_are_never_called_unattainable(seed, M, first, second):
    rng = np.random.default_rng(seed)
    sizes = (M * first, M * second)
    frames = np.zeros((M, sum(sizes), first + second))
    frames[:, : sizes[0], :first] = random_frames(M, sizes[0], first, rng)
    frames[:, sizes[0] :, first:] = random_frames(M, sizes[1], second, rng)
    common = random_rotation(sum(sizes), rng)
    assert not violates(spectrum_of_mean(common @ frames), M)


@given(seeds, st.integers(2, 5), st.integers(2, 6), st.integers(2, 5))
def test_shares_and_their_complements_have_one_verdict(seed, M, n_axes, H):
    rng = np.random.default_rng(seed)
    H = min(H, n_axes - 1)
    shares = np.full(n_axes, H / n_axes)
    i, j = rng.permutation(n_axes)[:2]
    move = rng.uniform(0.0, min(shares[i], 1.0 - shares[j]))
    shares[i], shares[j] = shares[i] - move, shares[j] + move
    assert violates(shares, M) == violates(1.0 - shares, M)


def test_fully_shared_and_unused_axes_do_not_change_the_verdict():
    impossible, possible = np.full(5, 0.4), np.array([0.5, 0.5, 1 / 3, 1 / 3, 1 / 3])
    assert violates(np.concatenate([[1.0, 1.0], impossible, [0.0]]), 3)
    assert not violates(np.concatenate([[1.0, 1.0], possible, [0.0]]), 3)


def test_shares_of_lines_a_little_aside_are_not_called_unattainable():
    # Complements: three lines in three axes, which have every spectrum (Schur-Horn).
    assert not violates(np.array([1 - 0.9e-9, 1 - 0.9e-9, 1.8e-9]), 3)
