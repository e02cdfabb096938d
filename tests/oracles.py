"""Slow and obvious versions of what the library computes, written from the definitions alone.

Nothing here imports ``modae``: a formula that is wrong there cannot be wrong here for the same reason.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.floating]


# --- the objective -------------------------------------------------------------------------------


def loss_by_loops(rows: Array, decoders: Array, encoders: Array, lam: float) -> float:
    """Eq. 1, averaged over the rows."""
    total = 0.0
    for x in rows:
        outputs = [A @ (B @ x) for A, B in zip(decoders, encoders, strict=True)]
        mean = sum(outputs) / len(outputs)
        for output in outputs:
            total += sum((output - x) ** 2) / len(outputs)
            total -= lam * sum((output - mean) ** 2) / len(outputs)
    return total / len(rows)


def ambiguity_loss_by_loops(rows: Array, decoders: Array, encoders: Array, lam: float) -> float:
    """Proposition 1, averaged over the rows: individual errors and the error of the mean output."""
    total = 0.0
    for x in rows:
        outputs = [A @ (B @ x) for A, B in zip(decoders, encoders, strict=True)]
        mean = sum(outputs) / len(outputs)
        total += lam * sum((mean - x) ** 2)
        for output in outputs:
            total += (1.0 - lam) * sum((output - x) ** 2) / len(outputs)
    return total / len(rows)


def encoders_by_least_squares(decoders: Array, lam: float) -> Array:
    """Best encoders for given decoders: the ambiguity form is a sum of squares linear in the codes."""
    n_modules, n_features, width = decoders.shape
    one, mean = np.sqrt((1.0 - lam) / n_modules), np.sqrt(lam)
    design = np.zeros(((n_modules + 1) * n_features, n_modules * width))
    target = np.zeros(((n_modules + 1) * n_features, n_features))
    for i in range(n_modules):
        columns = slice(i * width, (i + 1) * width)
        design[i * n_features : (i + 1) * n_features, columns] = one * decoders[i]
        target[i * n_features : (i + 1) * n_features] = one * np.eye(n_features)
        design[-n_features:, columns] = mean * decoders[i] / n_modules
    target[-n_features:] = mean * np.eye(n_features)
    codes = np.linalg.lstsq(design, target, rcond=1e-10)[0]
    return codes.reshape(n_modules, width, n_features)


def algorithm_1(
    sigma: Array, decoders: Array, encoders: Array, lam: float, epochs: int
) -> tuple[Array, Array]:
    """The paper's Algorithm 1, line by line."""
    A, B = [a.copy() for a in decoders], [b.copy() for b in encoders]
    M, D, H = decoders.shape
    for _ in range(epochs):
        for i in range(M):
            Z = np.zeros((D, D))
            for j in range(M):
                if j != i:
                    Z += A[j] @ B[j] / M
            Phi = (np.eye(D) - lam * Z) @ sigma @ (np.eye(D) - lam * Z).T
            vectors, _, _ = np.linalg.svd(Phi)
            A[i] = vectors[:, :H]
            B[i] = A[i].T @ (np.eye(D) - lam * Z) / (1 - lam * (M - 1) / M)
    return np.array(A), np.array(B)


# --- shares --------------------------------------------------------------------------------------


def explained(eigenvalues: Array, shares: Array, lam: float) -> float:
    """Sum of w_k f(p_k), f(p) = p / (1 - lam + lam p) and f(0) = 0."""
    total = 0.0
    for w, p in zip(eigenvalues, shares, strict=True):
        total += w * p / (1.0 - lam + lam * p) if p > 0.0 else 0.0
    return total


def prefix_slack(shares: Array, n_modules: int, n_components: int) -> list[float]:
    """j less the left side of condition (*), for j = 1..H: none may be negative."""
    p = np.zeros(n_modules * n_components)
    p[: len(shares)] = shares
    slack = []
    for j in range(1, n_components + 1):
        last = j * (n_modules - 1)
        slack.append(j - p[:j].sum() - (p[-last:].sum() if last else 0.0))
    return slack


def best_explained(eigenvalues: Array, n_modules: int, n_components: int, lam: float) -> float:
    """Largest sum of w_k f(p_k) over falling shares under condition (*), by a generic solver."""
    size = n_modules * n_components
    w = np.zeros(size)
    w[: len(eigenvalues)] = eigenvalues / eigenvalues.sum()
    # Condition (*) for j = H is the sum itself.
    prefix = np.zeros((n_components - 1, size))
    for j in range(1, n_components):
        prefix[j - 1, :j] = 1.0
        prefix[j - 1, size - j * (n_modules - 1) :] += 1.0
    limits = np.arange(1.0, n_components)
    # Two projectors: the spectrum is 1 +- cos(angle), so every prefix holds exactly.
    kind = "eq" if n_modules == 2 else "ineq"
    result = minimize(
        lambda p: -(w @ (p / (1.0 - lam + lam * p))),
        np.full(size, 1.0 / n_modules),
        jac=lambda p: -w * (1.0 - lam) / (1.0 - lam + lam * p) ** 2,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * size,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - n_components, "jac": lambda p: np.ones(size)},
            {"type": kind, "fun": lambda p: limits - prefix @ p, "jac": lambda p: -prefix},
            {"type": "ineq", "fun": lambda p: p[:-1] - p[1:]},
        ],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return -float(result.fun) * float(eigenvalues.sum())


def partitions(total: int, largest: int, length: int) -> Iterator[tuple[int, ...]]:
    """All falling sequences of ``length`` integers in 0..largest that add up to ``total``."""
    if length == 0:
        if total == 0:
            yield ()
        return
    for first in range(min(total, largest), -1, -1):
        for rest in partitions(total - first, first, length - 1):
            yield (first, *rest)


def largest_left_side_by_enumeration(shares: Array, M: int, H: int, d: int) -> float:
    """Maximum over partitions n of Md of sum_k p_{k + (H-d)(M - n_k)}, k from 1."""
    return max(
        sum(shares[k + (H - d) * (M - part)] for k, part in enumerate(parts))
        for parts in partitions(M * d, M, M * d)
    )


# --- moments -------------------------------------------------------------------------------------


def moments_in_long_double(rows: Array) -> tuple[Array, Array]:
    """Mean and covariance (divisor n) in two passes, in the longest precision there is."""
    wide = rows.astype(np.longdouble)
    mean = wide.mean(axis=0)
    centred = wide - mean
    covariance = (centred[:, :, None] * centred[:, None, :]).mean(axis=0)
    return mean.astype(np.float64), covariance.astype(np.float64)


# --- tools ---------------------------------------------------------------------------------------


def finite_differences(function: Callable[[Array], float], point: Array, step: float = 1e-6) -> Array:
    """Central differences of a scalar function, one coordinate at a time."""
    gradient = np.zeros(point.size)
    for k in range(point.size):
        shift = np.zeros(point.size)
        shift[k] = step
        shift = shift.reshape(point.shape)
        gradient[k] = (function(point + shift) - function(point - shift)) / (2.0 * step)
    return gradient.reshape(point.shape)


def random_rotation(size: int, rng: np.random.Generator) -> Array:
    """A random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def random_frames(M: int, D: int, H: int, rng: np.random.Generator) -> Array:
    """Random orthonormal decoders (M, D, H)."""
    return np.array([random_rotation(D, rng)[:, :H] for _ in range(M)])


def projectors(decoders: Array) -> Array:
    """Orthogonal projectors on the column spaces, whatever the basis."""
    return np.array([A @ np.linalg.pinv(A) for A in decoders])


def rows_with_spectrum(eigenvalues: Sequence[float], n_rows: int, rng: np.random.Generator) -> Array:
    """Centred rows whose covariance (divisor n) has exactly these eigenvalues, in random axes."""
    D = len(eigenvalues)
    raw = rng.standard_normal((n_rows, D))
    scores = np.linalg.qr(raw - raw.mean(axis=0))[0] * np.sqrt(n_rows)
    return (scores * np.sqrt(eigenvalues)) @ random_rotation(D, rng).T
