r"""Algorithm 1: why each update is the best, and why no epoch raises the loss (section 3, appendix B).

The chain of the appendix, link by link: rank-restricted regression has a closed form; a weighted sum of
squares is one square and a constant (the lemma); hence the update of Algorithm 1 minimises the loss in
one module; hence every epoch lowers the loss, unless the modules are a critical point (Theorem 2): one
where the slopes with respect to all decoders and encoders vanish. Slopes and losses are measured in
units of the variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize

from modae.core.backfitting import backfit, update_module
from modae.core.frames import best_encoders
from modae.core.objective import Problem, linear_gradient
from modae.core.spectral import on_all_axes, solve_spectral
from modae.reproduction.claims import Finding
from modae.reproduction.instances import Instance, instances
from modae.utils.arrays import Array

Module: TypeAlias = tuple[Array, Array]
"""A decoder and an encoder."""

ROUND_OFF = 1e-11
NO_RISE = 1e-12
REACHED = 1e-8
"""How near, as a fraction of the variance, a generic optimiser has to come to a closed form."""

SAME_PRODUCT, OTHER_PRODUCT = 1e-3, 1e-1
"""Entries of A_i B_i that differ by less, and by more, than what an optimiser leaves open."""

CRITICAL = 1e-5
"""Slopes below this count as zero: the fall that they allow, about their square, is near round-off."""

FLAT = 1e-7
"""What is left of the slope at a solution that is found to round-off in the loss."""

SLOPE_IN_PRODUCTS = 1e-2

STARTS, ROUNDS, EPOCHS = 3, 150, 25
UPDATE_DIVERSITIES = (0.3, 1.0, 1.1)
EPOCH_DIVERSITIES = (0.2, 0.6, 1.0, 1.1)
"""For up to four modules all lie below M/(M-1)."""


# --- rank-restricted regression and the lemma --------------------------------------------------------


def check_rank_restricted_regression(count: int) -> Iterator[Finding]:
    """U and U^T Y X^T (X X^T)^-1 minimise |Y - ABX|^2: alternating least squares does no better."""
    ends, off = [], []
    for instance in instances(count):
        X, Y = instance.rows.T, instance.rng.standard_normal(instance.rows.shape).T
        width, total = instance.shape[2], np.square(Y).sum()
        slopes = Y @ X.T @ np.linalg.inv(X @ X.T)
        captured, U = np.linalg.eigh(slopes @ X @ Y.T)
        A = U[:, -width:]
        closed = np.square(Y - A @ A.T @ slopes @ X).sum()
        squares = [_alternating_least_squares(X, Y, width, instance) for _ in range(STARTS)]
        ends.append((min(squares) - closed) / total)
        off.append(abs(total - captured[-width:].sum() - closed) / total)
    measured = (
        f"least squares ends within {np.max(np.abs(ends)):.0e}, "
        f"value of the minimum off by {np.max(off):.0e}"
    )
    holds = np.min(ends) >= -ROUND_OFF and np.max(ends) <= REACHED and np.max(off) <= ROUND_OFF
    yield Finding("rank-restricted-regression", holds, measured)


def _alternating_least_squares(X: Array, Y: Array, width: int, instance: Instance) -> float:
    """|Y - ABX|^2 after many rounds of the best A for B and the best B for A, from a random B."""
    B, inverse = instance.rng.standard_normal((width, len(X))), np.linalg.pinv(X)
    for _ in range(ROUNDS):
        A = Y @ np.linalg.pinv(B @ X)
        B = np.linalg.pinv(A) @ Y @ inverse
    return float(np.square(Y - A @ B @ X).sum())


def check_lemma(count: int) -> Iterator[Finding]:
    """sum_q a_q |Y_q - CX|^2 is (sum a) |Y~ - CX|^2 plus what does not depend on C.

    The last display but one of its proof has +2 tr(ABX Y~^T) where -2 is meant.
    """
    cases = (("lemma-complete-square", -1.0, np.max), ("lemma-printed-sign", 1.0, np.min))
    for claim, sign, worst in cases:
        spread = worst([spread_of_difference(instance, sign) for instance in instances(count)])
        yield Finding(claim, spread <= ROUND_OFF, f"the rest varies by {spread:.1e} (relative)")


def spread_of_difference(instance: Instance, sign: float) -> float:
    """How far sum_q a_q |Y_q - CX|^2 less (sum a) times the lemma's expression varies with C."""
    X, rng = instance.rows.T, instance.rng
    weights = np.array([1.0, 0.7, -0.4])  # the lemma asks only for a positive sum
    targets = rng.standard_normal((3, *X.shape))
    mean = np.tensordot(weights, targets, 1) / weights.sum()
    sums, rests = [], []
    for _ in range(10):
        fit = rng.standard_normal((len(X), 2)) @ rng.standard_normal((2, len(X))) @ X
        sums.append(float(weights @ np.square(targets - fit).sum(axis=(1, 2))))
        square = np.vdot(fit, fit) + sign * 2.0 * np.vdot(fit, mean) + np.vdot(mean, mean)
        rests.append(sums[-1] - weights.sum() * float(square))
    return float(np.ptp(rests) / np.abs(sums).max())


# --- the update of one module ------------------------------------------------------------------------


def check_update(count: int) -> Iterator[Finding]:
    """Appendix B: with the other modules fixed, no (A_i, B_i) has a smaller loss than the update's.

    With full rank and simple eigenvalues all that have its loss have its product A_i B_i.
    """
    drawn = product(instances(count), UPDATE_DIVERSITIES)
    ends = np.array([_descents_of_one_module(instance, lam) for instance, lam in drawn])
    gaps, distances = ends[:, 0], ends[:, 1]
    below, above = gaps.min(), gaps.min(axis=1).max()
    measured = f"none lower by more than {-below:.0e}, best within {above:.0e}"
    holds = below >= -ROUND_OFF and above <= REACHED
    yield Finding("update-minimiser", holds, f"{STARTS} generic descents each: {measured}")
    worst = distances[gaps <= REACHED].max(initial=0.0)
    holds = worst <= SAME_PRODUCT and np.any(gaps <= REACHED)
    yield Finding("update-unique", holds, f"products of all minimisers agree within {worst:.0e}")


def _descents_of_one_module(instance: Instance, lam: float) -> tuple[list[float], list[float]]:
    """Ends of a generic optimiser of module 0: losses above the update's, distances from its product."""
    update = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
    best, half = instance.with_module(0, *update).loss(lam), update[0].size

    def as_module(flat: Array) -> tuple[Array, Array]:
        return flat[:half].reshape(update[0].shape), flat[half:].reshape(update[1].shape)

    def loss_and_slope(flat: Array) -> tuple[float, Array]:
        moved = instance.with_module(0, *as_module(flat))
        slopes = linear_gradient(moved.decoders, moved.encoders, moved.covariance, lam)
        return moved.loss(lam), np.concatenate([slope[0].ravel() for slope in slopes])

    starts = instance.rng.standard_normal((STARTS, half + update[1].size))
    options = {"gtol": 1e-7, "maxiter": 500}
    ends = [
        minimize(loss_and_slope, start, jac=True, method="BFGS", options=options) for start in starts
    ]
    gaps = [(end.fun - best) / instance.variance for end in ends]
    return gaps, [np.abs(np.matmul(*as_module(end.x)) - np.matmul(*update)).max() for end in ends]


def check_second_minimisers(count: int) -> Iterator[Finding]:
    """Full rank is not enough for one product A_i B_i, but it is needed.

    Eigenvalues of Phi that tie leave a choice of axes; directions in which the data do not vary leave
    B_i open.
    """
    cases = (
        ("update-unique-full-rank", minimisers_at_a_tie, False),
        ("update-unique-needs-rank", minimisers_if_singular, True),
    )
    for claim, minimisers, singular in cases:
        drawn = instances(count, singular=singular)
        pairs = np.array([differences(*minimisers(instance)) for instance in drawn])
        loss, products = pairs[:, 0].max(), pairs[:, 1].min()
        second = bool(loss <= ROUND_OFF and products >= OTHER_PRODUCT)  # found every time
        measured = f"products that differ by {products:.2g} or more have the same least loss within"
        yield Finding(claim, second == singular, f"{measured} {loss:.0e}")


def minimisers_at_a_tie(instance: Instance) -> tuple[Instance, Module, Module]:
    """H + 1 equal leading eigenvalues, the other modules elsewhere: which H axes is a free choice."""
    (_, n_features, width), n_rows = instance.shape, len(instance.rows)
    tied = np.arange(n_features) <= width
    axes = np.linalg.qr(instance.rng.standard_normal((n_rows, n_features)))[0] * np.sqrt(n_rows)
    decoders = instance.decoders * ~tied[:, None]
    encoders = instance.encoders * ~tied
    apart = Instance(axes * np.where(tied, 3.0, 0.5), decoders, encoders, instance.rng)
    A, B = update_module(decoders, encoders, 0, apart.covariance, 0.5)
    left_out = np.linalg.eigh(np.diag(tied.astype(float)) - A @ A.T)[1][:, -1]
    swapped = A[:, 0] - left_out
    mirror = np.eye(n_features) - np.outer(swapped, swapped)  # exchanges two orthogonal unit vectors
    return apart, (A, B), (mirror @ A, B @ mirror)


def minimisers_if_singular(instance: Instance) -> tuple[Instance, Module, Module]:
    """Whatever an encoder does to a direction without variance, no row shows it."""
    silent = np.linalg.eigh(instance.covariance)[1][:, 0]
    A, B = update_module(instance.decoders, instance.encoders, 0, instance.covariance, 0.5)
    return instance, (A, B), (A, B + np.outer(np.ones(len(B)), silent))


def differences(instance: Instance, one: Module, other: Module) -> tuple[float, float]:
    """By how much the losses at 0.5, and the products, of two choices of module 0 differ."""
    losses = [instance.with_module(0, *module).loss(0.5) for module in (one, other)]
    products = np.abs(np.matmul(*one) - np.matmul(*other)).max()
    return abs(losses[1] - losses[0]) / instance.variance, float(products)


# --- Theorem 2 ---------------------------------------------------------------------------------------


def check_strict_fall(count: int) -> Iterator[Finding]:
    """Theorem 2: an epoch that does not start at a critical point lowers the loss.

    As stated, for a covariance of full rank, and without, as in images whose border never changes.
    """
    for claim, singular in (("theorem2-strict", False), ("theorem2-singular", True)):
        epochs = []
        for instance, lam in product(instances(count, singular=singular), EPOCH_DIVERSITIES):
            point = instance
            for _ in range(EPOCHS):
                after = after_an_epoch(point, lam)
                fall = (point.loss(lam) - after.loss(lam)) / point.variance
                epochs.append((slope_size(point, lam), fall))
                point = after
        slopes, falls = np.array(epochs).T
        moving = slopes > CRITICAL
        least, rise = falls[moving].min(), max(0.0, -falls.min())
        measured = f"least fall of {moving.sum()} non-critical epochs {least:.0e}"
        holds = least > 0.0 and rise <= NO_RISE
        yield Finding(claim, holds, f"{measured}, largest rise {rise:.0e}")


def check_critical_points(count: int) -> Iterator[Finding]:
    """At critical points, an optimum and a saddle point, an epoch does not raise the loss."""
    points = [p for each in instances(count) for p in (at_optimum(each), at_saddle_point(each))]
    slope = np.max([slope_size(point, 0.6) for point in points])
    rise = np.max([(after_an_epoch(p, 0.6).loss(0.6) - p.loss(0.6)) / p.variance for p in points])
    measured = f"slopes at most {slope:.0e}, largest rise in an epoch {max(rise, 0.0):.0e}"
    yield Finding("theorem2-critical", slope <= FLAT and rise <= NO_RISE, measured)


def check_slope_in_products(count: int) -> Iterator[Finding]:
    """The proof's step "dE/dC_i = 0": it is not so, because C_i is bound to rank H.

    The slope is dE/dC_i = 2/M ((C_i - I) - lam (C_i - mean C)) Sigma.
    """
    in_codes, in_products = [], []
    for point in map(at_optimum, instances(count)):
        in_codes.append(slope_size(point, 0.6))
        products = point.decoders @ point.encoders
        pull = products - np.eye(point.shape[1]) - 0.6 * (products - products.mean(axis=0))
        slopes = (2.0 / len(products)) * pull @ point.covariance
        in_products.append(np.abs(slopes).max() / point.variance)
    codes, least = np.max(in_codes), np.min(in_products)
    measured = f"at optima dE/dA and dE/dB are {codes:.0e} at most, dE/dC {least:.2g} at least"
    yield Finding("theorem2-proof-step", least <= SLOPE_IN_PRODUCTS, measured)


def after_an_epoch(instance: Instance, lam: float) -> Instance:
    """The instance with the modules of Algorithm 1 one epoch later."""
    descent = backfit(instance.covariance, (instance.decoders, instance.encoders), lam, max_iter=1)
    return replace(instance, decoders=descent.decoders, encoders=descent.encoders)


def slope_size(instance: Instance, lam: float) -> float:
    """Largest entry of the slopes with respect to decoders and encoders."""
    slopes = linear_gradient(instance.decoders, instance.encoders, instance.covariance, lam)
    return max(float(np.abs(slope).max()) for slope in slopes) / instance.variance


def at_optimum(instance: Instance, lam: float = 0.6) -> Instance:
    """The instance with modules of least loss, from the spectral solver."""
    n_modules, n_features, width = instance.shape
    eigenvalues, vectors = np.linalg.eigh(instance.covariance)
    kept = min(n_modules * width, n_features)
    problem = Problem(eigenvalues[::-1][:kept], instance.variance, n_modules, width, lam)
    frames = on_all_axes(solve_spectral(problem, instance.rng).decoders, n_features)
    decoders = vectors[:, ::-1] @ frames
    return replace(instance, decoders=decoders, encoders=best_encoders(decoders, lam))


def at_saddle_point(instance: Instance, lam: float = 0.6) -> Instance:
    """The instance with every module on the H principal axes of least variance: critical, and bad."""
    n_modules, _, width = instance.shape
    last = np.linalg.eigh(instance.covariance)[1][:, :width]
    decoders = np.stack([last] * n_modules)
    return replace(instance, decoders=decoders, encoders=best_encoders(decoders, lam))
