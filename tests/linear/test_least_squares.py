"""Linear modular regression in the core: least squares, its spectrum, the loss, the penalty."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

import oracles
from modae.core.objective import Problem
from modae.core.spectral import solve_spectral
from modae.data import summary
from modae.linear import least_squares as regression
from modae.linear.least_squares import least_squares, maps_of
from strategies import seeds

N, D, T, M, H = 40, 6, 5, 3, 2


def make(n=N, d=D, t=T, seed=0, condition=1.0):
    """Rows of a given condition, far from 0, and targets that depend on them."""
    rng = np.random.default_rng(seed)
    sizes = np.logspace(0.0, -np.log10(condition), d)
    rows = (rng.standard_normal((n, d)) * sizes) @ oracles.random_rotation(d, rng) + 3.0
    targets = rows @ rng.standard_normal((d, t)) + 0.5 * rng.standard_normal((n, t)) - 7.0
    return rows, targets


def centred(values, weights=None):
    return values - np.average(values, axis=0, weights=weights)


def solved(rows, targets, alpha, lam, n_modules=M, width=H, seed=0):
    """The library's maps (M, T, D), its objective and its bound."""
    base = least_squares(rows, targets, alpha=alpha)
    base = replace(base, spectrum=base.spectrum.leading(n_modules, width))
    spectrum = base.spectrum
    problem = Problem(spectrum.eigenvalues, spectrum.total_variance, n_modules, width, lam)
    solution = solve_spectral(problem, np.random.default_rng(seed))
    maps = maps_of(base, solution.decoders, solution.encoders)
    return maps.decoders @ maps.encoders, solution.loss, solution.lower_bound


# --- slow and obvious ----------------------------------------------------------------------------


def loss_by_loops(X, Y, products, lam):
    """The loss of a modular regression network, averaged over centred rows."""
    total = 0.0
    for x, y in zip(X, Y, strict=True):
        outputs = [C @ x for C in products]
        mean = sum(outputs) / len(outputs)
        for output in outputs:
            total += sum((output - y) ** 2) / len(outputs) - lam * sum((output - mean) ** 2) / len(
                outputs
            )
    return total / len(X)


def joint_penalty(products, lam):
    """(1 - lam) mean |C_i|^2 + lam |Cbar|^2."""
    each = np.mean([np.sum(C**2) for C in products])
    return (1.0 - lam) * each + lam * np.sum(products.mean(axis=0) ** 2)


def augmented(X, Y, a):
    """D more rows with targets 0, such that a sum over rows gains a |C|^2 for every row of data."""
    extra = np.sqrt(len(X) * a) * np.eye(X.shape[1])
    return np.vstack([X, extra]), np.vstack([Y, np.zeros((X.shape[1], Y.shape[1]))])


def descend(X, Y, lam, a_joint, a_each, start):
    """L-BFGS on the factors of all modules: loss + a_joint * joint penalty + a_each * mean |C_i|^2."""
    decoders, encoders = start
    split, n_modules = decoders.size, len(decoders)

    def value_and_slope(flat):
        A, B = flat[:split].reshape(decoders.shape), flat[split:].reshape(encoders.shape)
        C = A @ B
        mean = C.mean(axis=0)
        errors, error = C @ X.T - Y.T, mean @ X.T - Y.T
        value = (1 - lam) * np.sum(errors**2) / n_modules / len(X) + lam * np.sum(error**2) / len(X)
        value += a_joint * joint_penalty(C, lam) + a_each * np.sum(C**2) / n_modules
        slope = (1 - lam) * errors @ X / len(X) + lam * error @ X / len(X)
        slope = (2.0 / n_modules) * (slope + a_joint * ((1 - lam) * C + lam * mean) + a_each * C)
        return value, np.concatenate(
            [(slope @ B.swapaxes(1, 2)).ravel(), (A.swapaxes(1, 2) @ slope).ravel()]
        )

    first = np.concatenate([decoders.ravel(), encoders.ravel()])
    options = {"maxiter": 3000, "maxfun": 10**5, "gtol": 1e-10, "ftol": 1e-15}
    result = minimize(value_and_slope, first, jac=True, method="L-BFGS-B", options=options)
    A, B = result.x[:split].reshape(decoders.shape), result.x[split:].reshape(encoders.shape)
    return result.fun, A @ B


def random_start(rng, n_modules=M, width=H):
    return rng.standard_normal((n_modules, T, width)), rng.standard_normal((n_modules, width, D))


def factors(products, width=H):
    """Products of rank H as decoders and encoders of equal size."""
    left, scales, right = np.linalg.svd(products)
    roots = np.sqrt(scales[:, :width])
    return left[:, :, :width] * roots[:, None, :], roots[:, :, None] * right[:, :width]


# --- least squares -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize(("n", "d"), [(40, 6), (7, 7), (6, 9), (2, 3), (1, 4)])
@pytest.mark.parametrize("alpha", [0.0, 2.5])
def test_coefficients_are_those_of_the_textbook(kind, n, d, alpha):
    rows, targets = make(n, d)
    X, Y = centred(rows), centred(targets)
    expected = (np.linalg.pinv(X.T @ X + alpha * np.eye(d), rcond=1e-10, hermitian=True) @ X.T @ Y).T
    found = least_squares(kind(rows), targets, alpha=alpha)
    np.testing.assert_allclose(found.coefficients, expected, atol=1e-9)
    np.testing.assert_allclose(found.row_mean, rows.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.spectrum.mean, targets.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize(("n", "d"), [(60, 8), (12, 30)])
@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9])
def test_the_error_grows_with_the_condition_and_not_with_its_square(kind, n, d, condition):
    rows, targets = make(n, d, condition=condition)
    expected = np.linalg.lstsq(centred(rows), centred(targets), rcond=60 * 2.3e-16)[0].T
    found = least_squares(kind(rows), targets).coefficients
    assert np.abs(found - expected).max() <= 1e-15 * 1e3 * condition * np.abs(expected).max()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize(("n", "d"), [(60, 4), (12, 60)])
@pytest.mark.parametrize("alpha", [0.0, 2.5])
def test_blocks_do_not_matter(monkeypatch, kind, n, d, alpha):
    rows, targets = make(n, d, 3)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, n)
    whole = least_squares(kind(rows), targets, weights, alpha)
    monkeypatch.setattr(
        regression,
        "_cuts",
        lambda length, width: (slice(a, b) for a, b in pairwise([0, 5, 6, 11, length])),
    )
    pieces = least_squares(kind(rows), targets, weights, alpha)
    np.testing.assert_allclose(pieces.coefficients, whole.coefficients, atol=1e-11)
    np.testing.assert_allclose(pieces.spectrum.eigenvalues, whole.spectrum.eigenvalues, rtol=1e-10)


def test_cuts_cover_every_row_once():
    cuts = list(regression._cuts(100_000, 700))
    assert len(cuts) > 1
    rows = np.concatenate([np.arange(100_000)[cut] for cut in cuts])
    np.testing.assert_array_equal(rows, np.arange(100_000))


@pytest.mark.parametrize("alpha", [0.0, 2.5])
@pytest.mark.parametrize(("n", "d"), [(30, 6), (9, 20)])
def test_a_weight_of_two_is_the_row_twice(alpha, n, d):
    rows, targets = make(n, d)
    counts = np.random.default_rng(2).integers(1, 4, n)
    weighted = least_squares(rows, targets, counts.astype(float), alpha)
    repeated = least_squares(
        np.repeat(rows, counts, axis=0), np.repeat(targets, counts, axis=0), None, alpha
    )
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-9)
    np.testing.assert_allclose(weighted.spectrum.eigenvalues, repeated.spectrum.eigenvalues, rtol=1e-9)
    assert weighted.root_penalty == pytest.approx(repeated.root_penalty)


def test_the_spectrum_is_that_of_the_fitted_values_and_for_ridge_it_is_not():
    rows, targets = make()
    X, Y = centred(rows), centred(targets)
    for alpha, same in ((0.0, True), (20.0, False)):
        found = least_squares(rows, targets, alpha=alpha)
        fitted = X @ np.linalg.solve(X.T @ X + alpha * np.eye(D), X.T @ Y)
        variances = np.linalg.eigvalsh(fitted.T @ fitted / N)[::-1]
        assert np.allclose(found.spectrum.eigenvalues, variances, rtol=1e-9) is same
        # By definition: S = Sigma_yx (Sigma_xx + a I)^(-1/2).
        values, vectors = np.linalg.eigh(X.T @ X / N + alpha / N * np.eye(D))
        S = (Y.T @ X / N) @ (vectors / np.sqrt(values)) @ vectors.T
        np.testing.assert_allclose(found.spectrum.eigenvalues, np.linalg.svd(S)[1] ** 2, rtol=1e-9)
        assert found.spectrum.total_variance == pytest.approx(np.sum(Y**2) / N)


def with_columns(**changes):
    """Rows with some columns replaced, and their targets."""
    X, Y = make()
    for name, column in changes.items():
        X[:, int(name[1:])] = column(X) if callable(column) else column
    return X, Y


AWKWARD = {
    "constant column": with_columns(x0=0.1),
    "all columns constant": (np.full((9, 3), 0.1), make(9, 3)[1]),
    "dependent columns far from 0": with_columns(x5=lambda X: X[:, 0] + X[:, 1] + 1e4),
    "a column twice": with_columns(x3=lambda X: X[:, 2]),
    "columns of every size": (make()[0] * np.logspace(-4, 4, D), make()[1]),
    "constant targets": (make()[0], np.full((N, T), 0.1)),
    "a constant target": (make()[0], make()[1] * [1.0, 0.0, 1.0, 1.0, 1.0] + 0.1),
    "a target twice": (make()[0], make()[1][:, [0, 1, 1, 2]]),
    "targets of every size": (make()[0], make()[1] * np.logspace(-10, 5, T)),
    "no noise": (make()[0], make()[0] @ np.arange(30.0).reshape(D, T) ** 0.5),
    "wide": make(8, 30),
    "wide, with rows twice": tuple(np.vstack([part, part]) for part in make(4, 30)),
    "two rows": make(2, 3),
    "one row": make(1, 3),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_awkward_data_have_right_results(name, kind):
    rows, targets = AWKWARD[name]
    X, Y = centred(centred(rows)), centred(targets)
    expected = X @ np.linalg.lstsq(X, Y, rcond=1e-11)[0]
    fitted = X @ least_squares(kind(rows), targets).coefficients.T
    np.testing.assert_allclose(fitted, expected, rtol=1e-7, atol=1e-9 * np.abs(Y).max())
    scale = np.sum(Y**2) / len(Y) + 1e-15 * np.sum(targets**2)
    for alpha, lam in [(0.0, 0.6), (2.0, 0.9), (0.0, 1.0)]:
        products, objective, bound = solved(kind(rows), targets, alpha, lam)
        expected = loss_by_loops(X, Y, products, lam) + alpha / len(X) * joint_penalty(products, lam)
        assert objective == pytest.approx(expected, abs=1e-9 * scale)
        assert bound <= objective + 1e-12 * scale


def test_round_off_is_no_rank():
    rows, targets = make()
    assert least_squares(rows, targets[:, [0, 1, 1, 2]]).spectrum.rank == 3
    single = rows.astype(np.float32)
    single[:, 5] = 0.1 * single[:, 0] + 0.7 * single[:, 1]  # rounded to float32
    found = least_squares(single, targets).coefficients
    expected = np.linalg.lstsq(centred(single.astype(float)), centred(targets), rcond=1e-5)[0].T
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_too_large_a_matrix_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(summary, "MEMORY_LIMIT", 1000)
    rows, targets = make(30, 10)
    with pytest.raises(MemoryError, match=r"15 x 15 numbers.*Reduce the number of features"):
        least_squares(rows, targets)


# --- the reduction -------------------------------------------------------------------------------


@given(
    seed=seeds,
    alpha=st.sampled_from([0.0, 0.3, 30.0]),
    lam=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    d=st.integers(1, 7),
    n=st.integers(2, 12),
)
def test_the_objective_is_loss_plus_penalty_by_definition(seed, alpha, lam, d, n):
    rows, targets = make(n, d, seed=seed)
    width = min(2, d)
    products, objective, bound = solved(rows, targets, alpha, lam, width=width)
    X, Y = centred(rows), centred(targets)
    expected = loss_by_loops(X, Y, products, lam) + alpha / n * joint_penalty(products, lam)
    scale = np.sum(Y**2) / n
    assert objective == pytest.approx(expected, abs=1e-10 * scale)
    assert objective >= bound - 1e-12 * scale
    assert np.all(np.linalg.matrix_rank(products, tol=1e-9 * np.abs(products).max()) <= width)


@pytest.mark.parametrize("lam", [0.0, 0.4, 0.8, 1.0])
def test_the_penalty_is_the_loss_on_more_rows(lam):
    rows, targets = make()
    X, Y, a = centred(rows), centred(targets), 0.7
    products = np.random.default_rng(3).standard_normal((M, T, D))
    more_rows, more_targets = augmented(X, Y, a)
    total = loss_by_loops(more_rows, more_targets, products, lam) * len(more_rows)
    expected = N * (loss_by_loops(X, Y, products, lam) + a * joint_penalty(products, lam))
    assert total == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("lam", [0.0, 0.4, 0.8, 1.0])
def test_ridge_is_plain_least_squares_on_more_rows(lam):
    rows, targets = make()
    X, Y, alpha = centred(rows), centred(targets), 4.0
    ridge, objective, bound = solved(X, Y, alpha, lam)
    more_rows, more_targets = augmented(X, Y, alpha / N)
    # The added rows must not be centred: mirror everything, which keeps all means at 0.
    plain, loss, plain_bound = solved(
        np.vstack([more_rows, -more_rows]), np.vstack([more_targets, -more_targets]), 0.0, lam
    )
    assert objective * N == pytest.approx(loss * len(more_rows), rel=1e-10)
    assert bound * N == pytest.approx(plain_bound * len(more_rows), rel=1e-10)
    np.testing.assert_allclose(ridge.mean(axis=0), plain.mean(axis=0), atol=1e-8)


@pytest.mark.parametrize("lam", [0.3, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 8.0])
def test_descent_from_anywhere_ends_at_the_bound_and_never_below(lam, alpha):
    rows, targets = make()
    X, Y = centred(rows), centred(targets)
    _, objective, bound = solved(rows, targets, alpha, lam)
    scale = np.sum(Y**2) / N
    assert abs(objective - bound) <= 1e-9 * scale
    rng = np.random.default_rng(4)
    ends = [descend(X, Y, lam, alpha / N, 0.0, random_start(rng))[0] for _ in range(5)]
    assert min(ends) >= bound - 1e-10 * scale
    assert min(ends) == pytest.approx(bound, abs=1e-6 * scale)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 8.0])
def test_no_step_aside_of_any_size_is_better(lam, alpha):
    rows, targets = make()
    X, Y = centred(rows), centred(targets)
    products, objective, bound = solved(rows, targets, alpha, lam)
    scale = np.sum(Y**2) / N
    rng = np.random.default_rng(5)
    decoders, encoders = factors(products)
    for size in np.repeat([1e-4, 1e-2, 1e-1, 1.0], 25):
        moved = (decoders + size * rng.standard_normal(decoders.shape)) @ (
            encoders + size * rng.standard_normal(encoders.shape)
        )
        errors, error = moved @ X.T - Y.T, moved.mean(axis=0) @ X.T - Y.T
        value = (1 - lam) * np.sum(errors**2) / M / N + lam * np.sum(error**2) / N
        value += alpha / N * joint_penalty(moved, lam)
        assert value >= min(objective, bound) - 1e-12 * scale


def test_ridge_does_not_minimise_the_mean_size_of_the_modules():
    rows, targets = make()
    X, Y, lam, a = centred(rows), centred(targets), 0.8, 0.5
    products, objective, _ = solved(rows, targets, a * N, lam)
    other_value, other = descend(X, Y, lam, 0.0, a, factors(products))
    scale = np.sum(Y**2) / N

    def with_mean_size(C):
        return loss_by_loops(X, Y, C, lam) + a * np.mean([np.sum(c**2) for c in C])

    def with_joint_penalty(C):
        return loss_by_loops(X, Y, C, lam) + a * joint_penalty(C, lam)

    assert other_value == pytest.approx(with_mean_size(other), rel=1e-9)
    assert with_mean_size(products) > other_value + 1e-3 * scale
    assert with_joint_penalty(products) == pytest.approx(objective, rel=1e-9)
    assert with_joint_penalty(products) < with_joint_penalty(other) - 1e-3 * scale
