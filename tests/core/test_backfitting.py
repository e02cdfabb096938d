import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from modae.core.backfitting import backfit, random_modules, solve_backfitting, update_module
from modae.core.frames import best_encoders
from modae.core.objective import Problem, linear_terms
from modae.core.spectral import solve_spectral
from oracles import algorithm_1, random_frames, random_rotation
from strategies import problems, seeds


def loss_of(modules, covariance, lam):
    return linear_terms(*modules, covariance).loss(lam)


def random_covariance(D, rank, rng):
    root = rng.standard_normal((D, rank))
    return root @ root.T / D


def with_update(modules, i, covariance, lam):
    decoders, encoders = modules[0].copy(), modules[1].copy()
    decoders[i], encoders[i] = update_module(decoders, encoders, i, covariance, lam)
    return decoders, encoders


@pytest.mark.parametrize("rank", [6, 3], ids=["full rank", "singular"])
@pytest.mark.parametrize("lam", [0.0, 0.4, 0.9, 1.0])
def test_epochs_are_those_of_the_literal_algorithm(rank, lam):
    rng = np.random.default_rng(0)
    sigma, start = random_covariance(6, rank, rng), random_modules(3, 6, 2, rng)
    ours = backfit(sigma, start, lam, max_iter=4, min_decrease=-1.0)
    A, B = algorithm_1(sigma, *start, lam, epochs=4)
    assert len(ours.losses) == 5
    # Encoders act on data only: compare what the products do to directions with variance.
    np.testing.assert_allclose(ours.decoders @ ours.encoders @ sigma, A @ B @ sigma, atol=1e-9)
    assert ours.losses[-1] == pytest.approx(loss_of((A, B), sigma, lam), rel=1e-10)


@pytest.mark.parametrize("rank", [10, 5], ids=["more axes than matter", "singular"])
@pytest.mark.parametrize("lam", [0.3, 0.8, 1.0])
def test_the_reduced_problem_is_the_full_one(rank, lam):
    M, H, D = 3, 2, 10
    rng = np.random.default_rng(1)
    w = np.zeros(D)
    w[:rank] = 0.6 ** np.arange(rank)
    axes = random_rotation(D, rng).T
    K = min(M * H, rank)
    start = random_modules(M, K, H, rng)
    reduced = backfit(w[:K], start, lam, max_iter=30, min_decrease=-1.0)
    lifted = axes[:K].T @ start[0], start[1] @ axes[:K]
    A, B = algorithm_1(axes.T @ np.diag(w) @ axes, *lifted, lam, epochs=30)
    ours = axes[:K].T @ reduced.decoders @ reduced.encoders @ axes[:K]
    np.testing.assert_allclose(ours, A @ B, atol=1e-8)
    assert loss_of((A, B), axes.T @ np.diag(w) @ axes, lam) == pytest.approx(
        reduced.losses[-1] + w[K:].sum(), rel=1e-9
    )


@given(problems(max_modules=4, max_components=3), seeds)
def test_no_epoch_raises_the_loss_and_none_beats_the_bound(problem, seed):
    close = 1e-12 * problem.total_variance
    solution = solve_backfitting(problem, np.random.default_rng(seed), tol=0.0, max_iter=30)
    assert np.all(np.diff(solution.loss_history) <= close)
    assert np.all(solution.loss_history[1:] >= problem.lower_bound - close)
    assert solution.loss >= problem.lower_bound - close
    assert solution.loss == pytest.approx(solution.loss_history[-1], abs=close)


@given(problems(max_modules=5, max_components=3), seeds)
def test_random_modules_do_not_beat_the_bound(problem, seed):
    rng = np.random.default_rng(seed)
    K, H, lam = len(problem.eigenvalues), problem.n_components, problem.diversity
    frames = random_frames(problem.n_modules, K, H, rng)
    for modules in [
        random_modules(problem.n_modules, K, H, rng),
        (frames, best_encoders(frames, lam)),
    ]:
        terms = problem.terms(*modules)
        # At full diversity both terms can be large, and their difference no better than their digits.
        close = 1e-12 * (problem.total_variance + terms.reconstruction)
        assert terms.loss(lam) >= problem.lower_bound - close


# The last two lie between 1 and M/(M-1) = 1.5, where only a single module is bounded.
ONE_MODULE = pytest.mark.parametrize("lam", [0.0, 0.5, 1.0, 1.2, 1.45])


@ONE_MODULE
@pytest.mark.parametrize("rank", [5, 3], ids=["full rank", "singular"])
def test_no_perturbation_of_an_updated_module_does_better(lam, rank):
    rng = np.random.default_rng(2)
    sigma = random_covariance(5, rank, rng)
    decoders, encoders = with_update(random_modules(3, 5, 2, rng), 1, sigma, lam)
    best = loss_of((decoders, encoders), sigma, lam)
    for size in np.repeat([1e-3, 1e-1, 1.0, 10.0], 25):
        other = decoders.copy(), encoders.copy()
        other[0][1] += size * rng.standard_normal((5, 2))
        other[1][1] += size * rng.standard_normal((2, 5))
        assert loss_of(other, sigma, lam) >= best - 1e-12 * (1.0 + abs(best))


@ONE_MODULE
def test_a_generic_optimiser_finds_no_better_module(lam):
    rng = np.random.default_rng(3)
    sigma, modules = random_covariance(4, 4, rng), random_modules(3, 4, 2, rng)
    best = loss_of(with_update(modules, 2, sigma, lam), sigma, lam)

    def loss_with(flat):
        decoders, encoders = modules[0].copy(), modules[1].copy()
        decoders[2], encoders[2] = flat[:8].reshape(4, 2), flat[8:].reshape(2, 4)
        return loss_of((decoders, encoders), sigma, lam)

    found = min(minimize(loss_with, rng.standard_normal(16), method="BFGS").fun for _ in range(4))
    assert best <= found + 1e-9
    assert found == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize(("M", "lam"), [(2, 2.0), (2, 3.0), (3, 1.5), (3, 1.6), (5, 1.25)])
def test_a_diversity_at_or_above_the_limit_of_one_module_is_refused(M, lam):
    modules = random_modules(M, 4, 2, np.random.default_rng(4))
    with pytest.raises(ValueError, match=r"below M/\(M-1\).*got"):
        update_module(*modules, 0, np.eye(4), lam)


@pytest.mark.parametrize("lam", [0.0, 1.0, 7.0])
def test_a_single_module_has_no_limit(lam):
    w = np.array([4.0, 2.0, 1.0])
    A, B = update_module(*random_modules(1, 3, 2, np.random.default_rng(5)), 0, w, lam)
    np.testing.assert_allclose(A @ B, np.diag([1.0, 1.0, 0.0]), atol=1e-12)


def test_a_diagonal_covariance_may_be_given_as_a_vector():
    w, start = np.array([4.0, 2.0, 1.0, 0.5]), random_modules(3, 4, 1, np.random.default_rng(6))
    short, full = (backfit(c, start, 0.7, max_iter=5) for c in (w, np.diag(w)))
    np.testing.assert_allclose(
        short.decoders @ short.encoders, full.decoders @ full.encoders, atol=1e-12
    )


@pytest.mark.parametrize(("M", "H", "lam"), [(2, 2, 0.5), (3, 2, 0.3), (4, 3, 0.6)])
def test_back_fitting_comes_to_the_spectral_optimum(M, H, lam):
    w = 0.7 ** np.arange(M * H)
    problem = Problem(w, w.sum() + 0.1, M, H, lam)
    slow = solve_backfitting(problem, np.random.default_rng(7), tol=1e-14, max_iter=2000)
    fast = solve_spectral(problem, np.random.default_rng(7))
    assert slow.converged
    assert slow.loss == pytest.approx(fast.loss, abs=1e-8 * w.sum())


def test_stopping_rules():
    w, start = 0.8 ** np.arange(6), random_modules(3, 6, 2, np.random.default_rng(8))
    full = backfit(w, start, 0.8, max_iter=20, min_decrease=-1.0)
    assert not full.converged
    assert len(full.losses) == 21
    early = backfit(w, start, 0.8, target=full.losses[5])
    assert early.converged
    assert early.losses == full.losses[:6]
    gain = full.losses[4] - full.losses[5]
    small = backfit(w, start, 0.8, min_decrease=gain)
    assert small.converged
    assert np.all(-np.diff(small.losses)[:-1] > gain)
    assert small.losses[-2] - small.losses[-1] <= gain


def test_the_start_is_left_alone():
    start = random_modules(3, 4, 2, np.random.default_rng(9))
    before = [modules.copy() for modules in start]
    backfit(np.ones(4), start, 0.5, max_iter=3)
    np.testing.assert_array_equal(start[0], before[0])
    np.testing.assert_array_equal(start[1], before[1])


@given(seeds, st.floats(0.0, 1.0))
def test_back_fitting_commutes_with_rotations(seed, lam):
    rng = np.random.default_rng(seed)
    sigma, start, Q = random_covariance(5, 5, rng), random_modules(3, 5, 2, rng), random_rotation(5, rng)
    there = backfit(sigma, start, lam, max_iter=3, min_decrease=-np.inf)
    back = backfit(
        Q @ sigma @ Q.T, (Q @ start[0], start[1] @ Q.T), lam, max_iter=3, min_decrease=-np.inf
    )
    np.testing.assert_allclose(back.losses, there.losses, rtol=0, atol=1e-9 * there.losses[0])
