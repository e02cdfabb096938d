import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.core.objective import ATTAINED, Problem
from modae.core.spectral import solve_spectral
from modae.data.moments import moments_of_rows
from modae.data.spectrum import spectrum_of_moments
from oracles import loss_by_loops, projectors, random_rotation
from strategies import data_sets, diversities, problems, seeds


def solve(problem, seed=0, **options):
    return solve_spectral(problem, np.random.default_rng(seed), **options)


def fitted(rows, M, H, lam):
    """Modules in the space of the rows, with their loss, as an estimator would make them."""
    spectrum = spectrum_of_moments(moments_of_rows(rows)).leading(M, H)
    solution = solve(Problem(spectrum.eigenvalues, spectrum.total_variance, M, H, lam))
    axes = spectrum.axes[: solution.decoders.shape[1]]
    return axes.T @ solution.decoders, solution.encoders @ axes, solution


# --- the ladder ----------------------------------------------------------------------------------


@pytest.mark.parametrize("M", [1, 2, 4])
@pytest.mark.parametrize("H", [1, 3])
def test_without_diversity_every_module_is_pca(M, H):
    w = 0.7 ** np.arange(M * H)
    solution = solve(Problem(w, w.sum() + 0.5, M, H, 0.0))
    assert solution.loss == pytest.approx(0.5 + w[H:].sum(), rel=1e-13)
    pca = np.diag((np.arange(solution.decoders.shape[1]) < H) * 1.0)
    for P, C in zip(projectors(solution.decoders), solution.decoders @ solution.encoders, strict=True):
        np.testing.assert_allclose(P, pca, atol=1e-12)
        np.testing.assert_allclose(C, pca, atol=1e-12)


@pytest.mark.parametrize(("M", "H"), [(1, 3), (2, 2), (3, 2), (5, 4), (10, 3)])
@pytest.mark.parametrize("decay", [0.6, 0.9, 1.0])
def test_full_diversity_has_the_loss_of_one_wide_pca(M, H, decay):
    w = decay ** np.arange(M * H)
    solution = solve(Problem(w, w.sum() + 0.5, M, H, 1.0))
    assert solution.loss == pytest.approx(0.5, abs=1e-9)
    assert solution.attainment == ATTAINED


@pytest.mark.parametrize(("M", "H"), [(2, 3), (3, 2), (4, 4), (10, 5)])
@pytest.mark.parametrize("lam", [0.1, 0.5, 0.9, 0.99])
def test_smooth_spectra_attain_the_bound(M, H, lam):
    w = (1.0 + np.arange(M * H)) ** -1.5
    problem = Problem(w, w.sum() + 0.5, M, H, lam)
    solution = solve(problem)
    assert solution.attainment == ATTAINED
    assert abs(solution.gap) <= 1e-10
    np.testing.assert_allclose(solution.shares, problem.allocation.shares, atol=1e-6)


@given(problems(max_modules=2))
def test_one_and_two_modules_always_attain_the_bound(problem):
    solution = solve(problem)
    assert solution.attainment == ATTAINED
    assert abs(solution.gap) <= 1e-11


@given(problems(max_modules=7, max_components=1))
def test_single_components_always_attain_the_bound(problem):
    assert abs(solve(problem).gap) <= 1e-9


FLAT = [(3, 2, 5, 3 / 7, 0.43333333), (3, 3, 4, 1 / 7, 0.15), (4, 4, 5, 1 / 9, 0.11428571)]
FLAT += [(10, 10, 11, 1 / 21, 0.04784689)]


@pytest.mark.parametrize(("M", "H", "n_equal", "bound", "optimum"), FLAT)
def test_known_optima_of_equal_eigenvalues(M, H, n_equal, bound, optimum):
    problem = Problem(np.full(n_equal, 1 / n_equal), 1.0, M, H, 0.5)
    solution = solve(problem)
    assert problem.lower_bound == pytest.approx(bound, abs=1e-12)  # without cuts
    assert solution.lower_bound == pytest.approx(optimum, abs=1e-8)
    assert solution.loss == pytest.approx(optimum, abs=1e-8)
    assert solution.attainment == ATTAINED


def test_known_optimum_of_a_plateau():
    w = np.array([1.0] * 5 + [0.01] * 7)
    problem = Problem(w / w.sum(), 1.0, 3, 4, 0.5)
    solution = solve(problem)
    assert problem.lower_bound == pytest.approx(0.12338374, abs=1e-8)
    assert solution.lower_bound == pytest.approx(0.13214990, abs=1e-8)
    assert solution.loss == pytest.approx(0.13214990, abs=1e-8)
    assert solution.attainment == ATTAINED


def test_axes_that_the_ideal_shares_leave_out_are_tried_again():
    # The ideal shares cannot be had, and the best modules use axes that they do not.
    w = np.array([1.0] * 4 + [0.5] * 4) / 6.0
    problem = Problem(w, 1.0, 3, 3, 0.3)
    solution = solve(problem)
    assert problem.allocation.shares[4:].max() == 0.0
    assert solution.shares[4:].max() > 1e-3
    assert solution.loss == pytest.approx(0.46293958, abs=1e-7)


def test_known_shares_of_five_equal_axes():
    solution = solve(Problem(np.full(5, 0.2), 1.0, 3, 2, 0.5))
    mean = np.mean(projectors(solution.decoders), axis=0)
    np.testing.assert_allclose(np.linalg.eigvalsh(mean), [1 / 3] * 3 + [1 / 2] * 2, atol=1e-4)


# --- what no solution may do ---------------------------------------------------------------------


@given(problems(max_modules=4, max_components=3), seeds)
def test_the_bound_is_never_beaten(problem, seed):
    solution = solve(problem, seed)
    assert solution.loss >= problem.lower_bound - 1e-12 * problem.total_variance
    width = problem.n_components
    gram = solution.decoders.swapaxes(1, 2) @ solution.decoders
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(width), gram.shape), atol=1e-11)
    assert np.all(np.diff(solution.loss_history) < 0.0)
    assert solution.loss == pytest.approx(solution.loss_history[-1], abs=1e-12 * problem.total_variance)


def test_the_same_seed_gives_the_same_modules():
    w = np.array([1.0] * 5 + [0.01] * 7)
    problem = Problem(w, w.sum(), 3, 4, 0.5)
    first, again, other = solve(problem, 1), solve(problem, 1), solve(problem, 2)
    np.testing.assert_array_equal(first.decoders, again.decoders)
    np.testing.assert_array_equal(first.encoders, again.encoders)
    assert np.abs(projectors(first.decoders) - projectors(other.decoders)).max() > 1e-3
    assert other.loss == pytest.approx(first.loss, abs=1e-7 * w.sum())


def test_a_generous_tolerance_leaves_the_gap_open():
    problem = Problem(np.full(5, 0.2), 1.0, 3, 2, 0.5)
    rough, fine = solve(problem, tol=1.0), solve(problem)
    assert len(rough.loss_history) == 1
    assert fine.loss <= rough.loss + 1e-12


# --- on data -------------------------------------------------------------------------------------


@given(data_sets(max_rows=10, max_columns=5), st.integers(1, 3), st.integers(1, 3), diversities)
def test_the_loss_is_that_of_the_loops_on_the_rows(rows, M, H, lam):
    H = min(H, rows.shape[1])
    decoders, encoders, solution = fitted(rows, M, H, lam)
    expected = loss_by_loops(rows - rows.mean(axis=0), decoders, encoders, lam)
    total = rows.var(axis=0).sum()
    assert solution.loss == pytest.approx(expected, abs=1e-11 * total)


@given(data_sets(max_rows=12, max_columns=5), st.floats(0.0, 1.0), st.floats(1e-3, 1e3), seeds)
def test_the_optimum_under_changes_of_the_data(rows, lam, factor, seed):
    M, H = 3, min(2, rows.shape[1])
    rng = np.random.default_rng(seed)

    def optimum(changed):
        return fitted(changed, M, H, lam)[2].loss

    loss, close = optimum(rows), 1e-8 * rows.var(axis=0).sum()
    assert optimum(rows @ random_rotation(rows.shape[1], rng)) == pytest.approx(loss, abs=close)
    assert optimum(rng.permutation(rows)) == pytest.approx(loss, abs=close)
    assert optimum(rows[:, ::-1]) == pytest.approx(loss, abs=close)
    assert optimum(factor * rows) == pytest.approx(factor**2 * loss, abs=factor**2 * close)
    assert optimum(rows + rng.uniform(-9, 9, rows.shape[1])) == pytest.approx(loss, abs=close)
    assert optimum(np.vstack([rows, rows])) == pytest.approx(loss, abs=close)
    assert optimum(np.hstack([rows, np.full((len(rows), 1), 4.0)])) == pytest.approx(loss, abs=close)


@pytest.mark.parametrize("tail", [1e-8, 1e-4, 1e-2])
def test_a_flat_tail_is_no_breakdown(tail):
    w = np.array([1.0] + [tail] * 22)
    solution = solve_spectral(Problem(w, w.sum(), 6, 5, 0.1), np.random.default_rng(0))
    assert solution.gap >= -1e-12
