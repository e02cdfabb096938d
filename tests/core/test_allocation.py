import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.core.allocation import allocate, loss_of_shares
from oracles import best_explained, explained, prefix_slack
from strategies import diversities, problems, spectra

SHAPES = {
    "geometric": lambda K: 0.7 ** np.arange(K),
    "steep": lambda K: 0.2 ** np.arange(K),
    "power law": lambda K: (1.0 + np.arange(K)) ** -1.5,
    "flat": np.ones,
    "plateau": lambda K: np.where(np.arange(K) < (K + 1) // 2, 1.0, 0.05),
    "ties": lambda K: np.repeat(0.5 ** np.arange(K), 2)[:K],
    "almost tied": lambda K: 1.0 - 1e-9 * np.arange(K),
}

EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
SIZES = [(2, 1), (2, 3), (3, 2), (3, 3), (4, 3), (5, 2), (6, 1)]


def bound(eigenvalues, M, H, lam):
    return loss_of_shares(eigenvalues, allocate(eigenvalues, M, H, lam).shares, lam, eigenvalues.sum())


def assert_feasible(allocation, M, H):
    shares = allocation.shares
    assert shares.min() >= 0.0
    assert shares.max() <= 1.0
    assert np.all(np.diff(shares) <= 1e-12)
    assert shares.sum() == pytest.approx(H, abs=1e-12 * H)
    assert min(prefix_slack(shares, M, H)) >= -1e-12 * H


@given(problems())
def test_shares_are_feasible(problem):
    allocation = problem.allocation
    assert_feasible(allocation, problem.n_modules, problem.n_components)
    taken = np.concatenate([block.axes for block in allocation.blocks])
    assert len(set(taken)) == len(taken)
    for block in allocation.blocks:
        assert allocation.shares[block.axes].sum() == pytest.approx(block.units, abs=1e-12)


@EVERY_SHAPE
@pytest.mark.parametrize(("M", "H"), SIZES)
@pytest.mark.parametrize("lam", [0.2, 0.6, 0.95])
def test_no_generic_solver_does_better(shape, M, H, lam):
    w = shape(M * H)
    shares = allocate(w, M, H, lam).shares
    assert_feasible(allocate(w, M, H, lam), M, H)
    reached, generic = explained(w, shares, lam), best_explained(w, M, H, lam)
    assert reached >= generic - 1e-9 * w.sum()
    assert reached == pytest.approx(generic, abs=1e-8 * w.sum())


@pytest.mark.parametrize(("M", "H", "rank"), [(3, 2, 5), (3, 2, 3), (4, 3, 7), (2, 3, 4), (5, 2, 6)])
@pytest.mark.parametrize("lam", [0.3, 0.9])
def test_axes_without_variance_are_no_use_even_to_a_generic_solver(M, H, rank, lam):
    w = 0.8 ** np.arange(rank)
    reached = explained(w, allocate(w, M, H, lam).shares, lam)
    generic = best_explained(w, M, H, lam)  # free to use all M*H axes
    assert generic - 1e-9 <= reached <= generic + 1e-8


@EVERY_SHAPE
@pytest.mark.parametrize("lam", [0.1, 0.5, 0.9, 0.999])
def test_inside_a_block_the_shares_are_a_clipped_water_level(shape, lam):
    w = 7.0 * shape(12)
    allocation = allocate(w, 4, 3, lam)
    for block in allocation.blocks:
        shares, s = allocation.shares[block.axes], np.sqrt(w[block.axes] / w[0])
        split = (shares > 1e-9) & (shares < 1 - 1e-9)
        np.testing.assert_allclose((1 - lam + lam * shares[split]) / s[split], block.level, rtol=1e-9)
        if split.any():
            assert np.all(s[shares >= 1 - 1e-9] * block.level >= 1 - 1e-9)
            assert np.all(s[shares <= 1e-9] * block.level <= 1 - lam + 1e-9)


@EVERY_SHAPE
@pytest.mark.parametrize("H", [1, 2, 5])
@pytest.mark.parametrize("lam", [0.1, 0.7, 1.0])
def test_two_modules_share_pairs_of_axes(shape, H, lam):
    shares = allocate(shape(2 * H), 2, H, lam).shares
    np.testing.assert_allclose(shares + shares[::-1], 1.0, atol=1e-13)


@pytest.mark.parametrize(("M", "lam"), [(1, 0.0), (1, 0.6), (1, 1.0), (4, 0.0)])
def test_one_module_or_no_diversity_is_pca(M, lam):
    w = 0.9 ** np.arange(3 * M)
    np.testing.assert_array_equal(allocate(w, M, 3, lam).shares, np.arange(3 * M) < 3)
    assert loss_of_shares(w, allocate(w, M, 3, lam).shares, lam, w.sum() + 1.0) == pytest.approx(
        1.0 + w[3:].sum(), rel=1e-14
    )


@EVERY_SHAPE
@pytest.mark.parametrize(("M", "H"), SIZES)
def test_full_diversity_has_the_loss_of_one_wide_pca(shape, M, H):
    w = shape(M * H)
    allocation = allocate(w, M, H, 1.0)
    assert_feasible(allocation, M, H)
    assert np.all(allocation.shares > 0.0)
    assert loss_of_shares(w, allocation.shares, 1.0, w.sum() + 0.25) == pytest.approx(0.25, rel=1e-12)


def test_an_axis_no_module_uses_is_unexplained_at_full_diversity():
    assert loss_of_shares(np.array([3.0, 2.0]), np.array([1.0, 0.0]), 1.0, 6.0) == 3.0


@EVERY_SHAPE
@pytest.mark.parametrize("lam", [5e-324, 1e-300, 1e-17, 1e-16, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize(("M", "H"), [(2, 2), (3, 2), (5, 3)])
def test_tiny_diversities_are_exact_and_continuous(shape, lam, M, H):
    w = shape(M * H)
    allocation = allocate(w, M, H, lam)
    assert_feasible(allocation, M, H)
    loss = loss_of_shares(w, allocation.shares, lam, w.sum())
    pca = w[H:].sum()
    assert pca - 2.0 * lam * w.sum() - 1e-14 * w.sum() <= loss <= pca + 1e-14 * w.sum()


@EVERY_SHAPE
@pytest.mark.parametrize("lam", [1 - 1e-6, 1 - 1e-9, 1 - 1e-12, 1 - 2**-53])
def test_diversities_near_one_are_continuous(shape, lam):
    w = shape(12)
    near, at_one = allocate(w, 4, 3, lam), allocate(w, 4, 3, 1.0)
    assert_feasible(near, 4, 3)
    np.testing.assert_allclose(near.shares, at_one.shares, atol=1e3 * (1 - lam) + 1e-12)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_rank_up_to_the_width_goes_to_every_module(rank):
    w = np.array([3.0, 2.0, 1.0]) * (np.arange(3) < rank)
    np.testing.assert_array_equal(allocate(w, 4, 3, 0.7).shares, np.ones(3))
    assert bound(w, 4, 3, 0.7) == 0.0


@EVERY_SHAPE
def test_equal_eigenvalues_have_equal_shares(shape):
    w = shape(12)
    shares = allocate(w, 4, 3, 0.8).shares
    for value in np.unique(w):
        assert np.ptp(shares[w == value]) <= 1e-12


@given(problems(), st.sampled_from([1e-280, 1e-100, 3.0, 1e100, 1e280]))
def test_the_scale_of_the_eigenvalues_does_not_matter(problem, factor):
    w, size = problem.eigenvalues, (problem.n_modules, problem.n_components, problem.diversity)
    np.testing.assert_allclose(allocate(factor * w, *size).shares, allocate(w, *size).shares, atol=1e-9)
    assert bound(factor * w, *size) == pytest.approx(
        factor * bound(w, *size), abs=1e-12 * factor * w.sum()
    )


@given(spectra(12), st.sampled_from([(3, 4), (4, 3), (6, 2), (12, 1)]), diversities, diversities)
def test_the_bound_does_not_rise_with_the_diversity(w, size, first, second):
    low, high = sorted([first, second])
    assert bound(w, *size, high) <= bound(w, *size, low) + 1e-13 * w.sum()


@given(spectra(16), st.integers(1, 4), st.integers(1, 4), diversities)
def test_the_bound_does_not_rise_with_modules_or_components(w, M, H, lam):
    def at(M, H):
        kept = w[: M * H]
        return loss_of_shares(kept, allocate(kept, M, H, lam).shares, lam, w.sum())

    here = at(M, H)
    if M < 4:
        assert at(M + 1, H) <= here + 1e-13 * w.sum()
    if H < 4:
        assert at(M, H + 1) <= here + 1e-13 * w.sum()


@given(problems())
def test_the_bound_lies_between_zero_and_pca(problem):
    w, total = problem.eigenvalues, problem.total_variance
    assert total - w.sum() - 1e-14 * total <= problem.lower_bound
    assert problem.lower_bound <= total - w[: problem.n_components].sum() + 1e-13 * total
