import numpy as np
import pytest
from hypothesis import given

from modae.core.backfitting import random_modules
from modae.core.gradient import descend, solve_gradient
from modae.core.objective import Problem, linear_gradient, linear_terms
from modae.core.spectral import solve_spectral
from strategies import problems, seeds

W = 0.7 ** np.arange(6)


def start_modules(seed=0):
    return random_modules(3, 6, 2, np.random.default_rng(seed))


@given(problems(max_modules=4, max_components=3), seeds)
def test_no_step_raises_the_loss_and_none_beats_the_bound(problem, seed):
    close = 1e-12 * problem.total_variance
    solution = solve_gradient(problem, np.random.default_rng(seed), tol=0.0, max_iter=60)
    assert np.all(np.diff(solution.loss_history) <= 0.0)
    assert solution.loss >= problem.lower_bound - close
    assert solution.loss == pytest.approx(solution.loss_history[-1], abs=close)


@pytest.mark.parametrize("lam", [0.0, 0.4, 0.8])
def test_descent_comes_to_the_spectral_optimum(lam):
    problem = Problem(W, W.sum() + 0.1, 3, 2, lam)
    slow = solve_gradient(problem, np.random.default_rng(1), tol=1e-13, max_iter=5000)
    fast = solve_spectral(problem, np.random.default_rng(1))
    assert slow.converged
    assert slow.solver == "gradient"
    assert slow.loss == pytest.approx(fast.loss, abs=1e-6 * W.sum())


def test_a_fixed_step_follows_the_gradient():
    start, step = start_modules(), 0.05
    result = descend(W, start, 0.5, step=step, max_iter=2, min_decrease=-np.inf)
    expected = start
    for _ in range(2):
        slopes = linear_gradient(*expected, W, 0.5)
        expected = [modules - step * slope for modules, slope in zip(expected, slopes, strict=True)]
    np.testing.assert_allclose(result.decoders, expected[0], rtol=1e-13)
    np.testing.assert_allclose(result.encoders, expected[1], rtol=1e-13)
    assert result.losses[-1] == pytest.approx(linear_terms(*expected, W).loss(0.5), rel=1e-13)


@pytest.mark.parametrize("step", [30.0, 1e3, 1e6])
def test_a_step_that_diverges_ends_without_convergence(step):
    result = descend(W, start_modules(), 0.5, step=step, max_iter=50)
    assert not result.converged
    assert len(result.losses) < 51


def test_stopping_rules():
    full = descend(W, start_modules(), 0.8, max_iter=20, min_decrease=-1.0)
    assert not full.converged
    assert len(full.losses) == 21
    early = descend(W, start_modules(), 0.8, target=full.losses[5])
    assert early.converged
    assert early.losses == full.losses[:6]


def test_the_start_is_left_alone():
    start = start_modules()
    before = [modules.copy() for modules in start]
    descend(W, start, 0.5, max_iter=3)
    np.testing.assert_array_equal(start[0], before[0])
    np.testing.assert_array_equal(start[1], before[1])


@pytest.mark.parametrize("factor", [1e-20, 1e20])
def test_the_scale_of_the_data_does_not_change_the_path(factor):
    here = descend(W, start_modules(), 0.7, max_iter=40)
    there = descend(factor * W, start_modules(), 0.7, max_iter=40)
    np.testing.assert_allclose(there.losses, factor * np.array(here.losses), rtol=1e-6)
    np.testing.assert_allclose(there.decoders @ there.encoders, here.decoders @ here.encoders, atol=1e-6)


@pytest.mark.parametrize("step", [1e80, 1e200])
def test_a_huge_step_ends_without_a_warning(step):
    assert not descend(
        np.ones(4), random_modules(3, 4, 1, np.random.default_rng(0)), 0.5, step=step
    ).converged


@pytest.mark.parametrize("factor", [1e-200, 1e160])
def test_descent_at_extreme_scales(factor):
    w = factor * np.array([4.0, 3.0, 2.0, 1.0])
    solution = solve_gradient(Problem(w, w.sum(), 3, 2, 0.7), np.random.default_rng(0))
    assert solution.gap < 1e-5
