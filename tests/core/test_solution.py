from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given

from modae.core.backfitting import random_modules, solve_backfitting
from modae.core.gradient import solve_gradient
from modae.core.objective import ATTAINED, UNDECIDED, Problem, conclude
from modae.core.spectral import solve_spectral
from oracles import loss_by_loops, random_rotation, rows_with_spectrum
from strategies import problems, seeds

SOLVERS = pytest.mark.parametrize("solver", [solve_spectral, solve_backfitting, solve_gradient])
W = np.array([4.0, 2.0, 1.0, 0.8, 0.3, 0.1])


@given(problems(max_modules=4, max_components=3), seeds)
def test_a_conclusion_measures_any_modules(problem, seed):
    modules = random_modules(
        problem.n_modules, len(problem.eigenvalues), problem.n_components, np.random.default_rng(seed)
    )
    solution = conclude(problem, *modules, solver="none", n_iter=0)
    lam, total = problem.diversity, problem.total_variance
    size = 1e-12 * (total + solution.reconstruction_error)
    assert solution.loss == pytest.approx(problem.loss(*modules), abs=size)
    assert solution.loss == pytest.approx(
        solution.reconstruction_error - lam * solution.diversity_term, abs=size
    )
    assert solution.gap == pytest.approx((solution.loss - solution.lower_bound) / total, abs=1e-12)
    assert solution.lower_bound == problem.lower_bound
    assert solution.diversity_term >= -size
    assert solution.shares.sum() == pytest.approx(problem.n_components, abs=1e-10)
    np.testing.assert_array_equal(solution.loss_history, [solution.loss])


@SOLVERS
@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
def test_the_result_of_every_solver_holds_on_actual_rows(solver, lam):
    M, H, rng = 3, 2, np.random.default_rng(0)
    w = np.concatenate([W, [0.05, 0.02]])
    rows = rows_with_spectrum(w, 20, rng)
    axes = np.linalg.svd(rows)[2]
    solution = solver(Problem(w[: M * H], w.sum(), M, H, lam), np.random.default_rng(1), max_iter=20)
    kept = axes[: solution.decoders.shape[1]]
    decoders, encoders = kept.T @ solution.decoders, solution.encoders @ kept
    assert loss_by_loops(rows, decoders, encoders, lam) == pytest.approx(solution.loss, rel=1e-9)
    assert loss_by_loops(rows, decoders, encoders, 0.0) == pytest.approx(
        solution.reconstruction_error, rel=1e-9
    )


@SOLVERS
def test_the_fields_of_every_solver(solver):
    solution = solver(Problem(W, W.sum(), 3, 2, 0.5), np.random.default_rng(2), max_iter=15)
    assert solution.decoders.shape[::2] == (3, 2)
    assert solution.encoders.shape == (3, 2, solution.decoders.shape[1])
    assert solution.shares.shape == (6,)
    assert solution.solver == solver.__name__.removeprefix("solve_")
    assert 1 <= len(solution.loss_history) <= solution.n_iter + 1
    with pytest.raises(FrozenInstanceError):
        solution.loss = 0.0


@SOLVERS
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_without_variance_there_is_no_loss_and_no_gap(solver, lam):
    problem = Problem(np.zeros(2), 0.0, 3, 2, lam)
    solution = solver(problem, np.random.default_rng(3))
    assert solution.loss == solution.lower_bound == solution.gap == 0.0
    assert solution.attainment == ATTAINED
    np.testing.assert_allclose(solution.shares, 1.0)


@SOLVERS
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_a_rank_below_the_width_is_reconstructed_whole(solver, lam):
    problem = Problem(np.array([3.0, 1.0, 0.0]), 4.0, 4, 3, lam)
    solution = solver(problem, np.random.default_rng(4), max_iter=300)
    assert problem.lower_bound == 0.0
    assert solution.loss == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("w", [W, np.ones(6), np.ones(5)])
def test_the_two_states(w):
    rng = np.random.default_rng(5)
    problem = Problem(w, w.sum(), 3, 2, 0.5)
    assert solve_spectral(problem, rng).attainment == ATTAINED
    poor = random_modules(3, len(w), 2, rng)
    assert conclude(problem, *poor, solver="none", n_iter=1).attainment == UNDECIDED


@pytest.mark.parametrize(("loss", "gap"), [(3.0, 0.25), (2.0, 0.0), (1.0, -0.25)])
def test_the_gap_is_a_fraction_of_the_variance(loss, gap):
    problem = Problem(np.array([2.0]), 4.0, 1, 1, 0.0)
    assert problem.lower_bound == 2.0
    assert problem.gap(loss) == gap


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_axes_no_module_uses_are_lost_in_full(n_axes):
    problem = Problem(np.array([3.0, 2.0, 1.0]), 7.0, 2, 1, 0.5)
    assert problem.variance_beyond(n_axes) == 7.0 - [3.0, 5.0, 6.0][n_axes - 1]
    decoders = np.repeat(np.eye(n_axes)[None, :, :1], 2, axis=0)
    assert problem.loss(decoders, decoders.swapaxes(1, 2)) == pytest.approx(4.0)


def test_turning_a_module_inside_itself_changes_no_conclusion():
    problem, rng = Problem(W, W.sum(), 3, 2, 0.5), np.random.default_rng(6)
    decoders, encoders = random_modules(3, 6, 2, rng)
    turn = random_rotation(2, rng)
    first = conclude(problem, decoders, encoders, solver="none", n_iter=1)
    second = conclude(problem, decoders @ turn, turn.T @ encoders, solver="none", n_iter=1)
    np.testing.assert_allclose(second.decoders, first.decoders, atol=1e-9)
    np.testing.assert_allclose(second.shares, first.shares, atol=1e-12)
    assert second.loss == pytest.approx(first.loss, rel=1e-12)


def test_descent_on_data_without_variance_has_converged():
    assert solve_gradient(Problem(np.zeros(2), 0.0, 3, 2, 0.5), np.random.default_rng(0)).converged


@SOLVERS
def test_axes_beyond_the_rank_keep_their_places(solver):
    """A problem with zeros among its eigenvalues, and modules that are not proven to be the best."""
    w = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    solution = solver(Problem(w, 4.0, 3, 2, 0.6), np.random.default_rng(3), max_iter=2)
    assert solution.shares.shape == (6,)
    assert solution.shares.sum() == pytest.approx(2.0)


def test_shares_that_nearly_fail_need_patience_and_no_descent():
    spectrum = 1.0 + 0.3 * np.arange(100)[::-1] / 100.0  # noise, and fifteen axes above it
    spectrum[:15] += 10.0 * 0.9 ** np.arange(15)
    problem = Problem(spectrum, float(spectrum.sum()), 5, 22, 0.95)
    for seed in range(3):
        solution = solve_spectral(problem, np.random.default_rng(seed))
        assert solution.attainment == "attained"
        assert solution.n_iter < 200  # L-BFGS needs a thousand
