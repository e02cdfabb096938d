"""The certificate against an optimisation in 40 digits that shares nothing with the library.

The loss is written from its definition. A rough descent in float64 from random starts is followed by
alternating least squares in mpmath: the best encoders for the decoders, and the other way round.
"""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from modae import LinearModularAutoencoder

DIGITS = 40
N_STARTS = 3

SPECTRA = {
    "smooth": [5.0, 3.0, 2.0, 1.0, 0.5],
    "steep": [8.0, 1.0, 0.25, 0.0625],
    "five equal": [1.0, 1.0, 1.0, 1.0, 1.0],
    "four equal": [1.0, 1.0, 1.0, 1.0],
    "three equal": [1.0, 1.0, 1.0],
    "four and a tail": [1.0, 1.0, 1.0, 1.0, 0.25],
    "two plateaus": [2.0, 2.0, 1.0, 1.0, 1.0],
}

PROBLEMS = [
    ("smooth", 2, 1, 0.5),
    ("smooth", 2, 2, 0.7),
    ("smooth", 3, 1, 0.9),
    ("smooth", 3, 2, 0.3),
    ("smooth", 4, 2, 0.6),
    ("steep", 4, 1, 0.8),
    ("three equal", 2, 2, 0.5),
    ("four equal", 3, 2, 0.25),
    ("four equal", 4, 1, 0.9),
    ("five equal", 3, 2, 0.5),
    ("five equal", 4, 2, 0.3),
    ("four and a tail", 3, 2, 0.7),
    ("two plateaus", 3, 2, 0.5),
    ("two plateaus", 4, 1, 0.6),
]


def loss_of(A, B, w, lam):
    """Eq. 1 as it is written, for decoders (M, D, H), encoders (M, H, D) and a diagonal covariance."""
    outputs = A @ B
    mean = sum(outputs) / len(outputs)
    errors = sum(((C - np.eye(len(w), dtype=int)) ** 2 @ w).sum() for C in outputs)
    spread = sum(((C - mean) ** 2 @ w).sum() for C in outputs)
    return (errors - lam * spread) / len(outputs)


def rough_descent(w, M, H, lam, rng):
    """Decoders and encoders near an optimum, in float64."""
    D = len(w)

    def loss_and_gradient(flat):
        A, B = flat[: M * D * H].reshape(M, D, H), flat[M * D * H :].reshape(M, H, D)
        outputs = A @ B
        pull = (outputs - np.eye(D) - lam * (outputs - outputs.mean(axis=0))) * w * 2.0 / M
        gradient = (pull @ B.swapaxes(1, 2)).ravel(), (A.swapaxes(1, 2) @ pull).ravel()
        return loss_of(A, B, w, lam), np.concatenate(gradient)

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-17, "gtol": 1e-11}
    start = rng.standard_normal(2 * M * D * H)
    flat = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
    return flat[: M * D * H].reshape(M, D, H), flat[M * D * H :].reshape(M, H, D)


def solve(matrix, right):
    """Gauss and Jordan, for a positive definite matrix of mpmath's numbers."""
    both = np.concatenate([matrix, right], axis=1)
    for k in range(len(both)):
        both[k] = both[k] / both[k, k]
        for row in range(len(both)):
            if row != k:
                both[row] = both[row] - both[row, k] * both[k]
    return both[:, len(both) :]


def better_factor(fixed, weights, lam):
    """The best (M, H, D) for fixed (M, D, H): encoders for decoders, or the other way round, turned."""
    M, D, H = fixed.shape
    side_by_side = fixed.transpose(1, 0, 2).reshape(D, M * H)
    gram = side_by_side.T @ (weights[:, None] * side_by_side)
    own = np.kron(np.eye(M, dtype=int), np.ones((H, H), dtype=int))
    right = (side_by_side * weights[:, None]).T
    return solve((1 - lam) * own * gram + lam * gram / M, right).reshape(M, H, D)


def least_loss_in_many_digits(w, M, H, lam):
    exact, lam_exact = np.array([mpmath.mpf(value) for value in w]), mpmath.mpf(lam)
    ones, losses = exact * 0 + 1, []
    for seed in range(N_STARTS):
        A, B = rough_descent(w, M, H, lam, np.random.default_rng(seed))
        A = np.vectorize(mpmath.mpf, otypes=[object])(A)
        for _ in range(4):
            B = better_factor(A, ones, lam_exact)
            A = better_factor(B.swapaxes(1, 2), exact, lam_exact).swapaxes(1, 2)
        losses.append(loss_of(A, B, exact, lam_exact))
    return min(losses)


@pytest.mark.parametrize(("spectrum", "M", "H", "lam"), PROBLEMS)
def test_no_modules_in_many_digits_are_better(spectrum, M, H, lam):
    # Rows along the axes, in pairs: their mean is exactly zero, and the eigenvalues are known exactly.
    scales = np.sqrt(SPECTRA[spectrum])
    rows = np.concatenate([np.diag(scales), -np.diag(scales)])
    model = LinearModularAutoencoder(M, H, diversity=lam, random_state=0).fit(rows)
    with mpmath.workdps(DIGITS):
        w = scales**2 / len(scales)
        found = least_loss_in_many_digits(w, M, H, lam)
        unit = mpmath.mpf(w.sum())
        assert found >= model.lower_bound_ - 1e-15 * unit
        assert model.certified_
        assert abs(found - model.loss_) <= 1e-12 * unit
        assert abs(found - model.lower_bound_) <= 1e-12 * unit
