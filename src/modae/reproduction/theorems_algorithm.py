r"""Algorithm 1: why each update is the best one (section 3, appendix B).

The chain of the appendix, link by link: rank-restricted regression has a closed form; a weighted sum of
squares is one square and a constant (the lemma); hence the update of Algorithm 1 minimises the loss in
one module. That no epoch raises it follows: Theorem 2, in ``theorems_descent``.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from modae.core.backfitting import update_module
from modae.core.objective import linear_gradient
from modae.reproduction.findings import Finding
from modae.reproduction.instances import Instance, instances
from modae.utils.arrays import Array

ROUND_OFF = 1e-11
REACHED = 1e-8
"""How near, as a fraction of the variance, a generic optimiser has to come to a closed form."""

SAME_PRODUCT, OTHER_PRODUCT = 1e-3, 1e-1
"""Entries of A_i B_i that differ by less, and by more, than what an optimiser leaves open."""

STARTS, ROUNDS = 3, 150
DIVERSITIES = (0.3, 1.0, 1.1)
"""For up to four modules all lie below M/(M-1)."""


def check_rank_restricted_regression(count: int) -> Finding:
    """U and U^T Y X^T (X X^T)^-1 minimise |Y - ABX|^2: alternating least squares does no better."""
    gaps = [_gaps_of_regression(instance) for instance in instances(count)]
    below, above, formula = min(g[0] for g in gaps), max(g[0] for g in gaps), max(g[1] for g in gaps)
    measured = (
        f"least squares ends within {max(above, -below):.0e}, value of the minimum off by {formula:.0e}"
    )
    holds = below >= -ROUND_OFF and above <= REACHED and formula <= ROUND_OFF
    return Finding("rank-restricted-regression", holds, measured)


def _gaps_of_regression(instance: Instance) -> tuple[float, float]:
    """Best end of alternating least squares above the closed form; error of the formula of its value."""
    X, Y = instance.rows.T, instance.rng.standard_normal(instance.rows.shape).T
    width = instance.shape[2]
    slopes = Y @ X.T @ np.linalg.inv(X @ X.T)
    captured, U = np.linalg.eigh(slopes @ X @ Y.T)
    A = U[:, -width:]
    closed, total = float(np.square(Y - A @ A.T @ slopes @ X).sum()), float(np.square(Y).sum())
    ends = [_alternating_least_squares(X, Y, width, instance) for _ in range(STARTS)]
    formula = total - float(captured[-width:].sum())
    return (min(ends) - closed) / total, abs(formula - closed) / total


def _alternating_least_squares(X: Array, Y: Array, width: int, instance: Instance) -> float:
    """|Y - ABX|^2 after many rounds of the best A for B and the best B for A, from a random B."""
    B, inverse = instance.rng.standard_normal((width, len(X))), np.linalg.pinv(X)
    for _ in range(ROUNDS):
        A = Y @ np.linalg.pinv(B @ X)
        B = np.linalg.pinv(A) @ Y @ inverse
    return float(np.square(Y - A @ B @ X).sum())


def check_completing_the_square(count: int) -> Finding:
    """sum_q a_q |Y_q - CX|^2 is (sum a) |Y~ - CX|^2 plus what does not depend on C."""
    spread = max(_spread_of_difference(instance, sign=-1.0) for instance in instances(count))
    return Finding(
        "lemma-complete-square", spread <= ROUND_OFF, f"the rest varies by {spread:.1e} (relative)"
    )


def check_printed_sign(count: int) -> Finding:
    """The last display but one of the lemma's proof has +2 tr(ABX Y~^T) where -2 is meant."""
    spread = min(_spread_of_difference(instance, sign=1.0) for instance in instances(count))
    return Finding(
        "lemma-printed-sign", spread <= ROUND_OFF, f"the rest varies by {spread:.1e} (relative)"
    )


def _spread_of_difference(instance: Instance, sign: float) -> float:
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


def check_update_is_the_minimiser(count: int) -> Finding:
    """Appendix B: with the other modules fixed, no (A_i, B_i) has a smaller loss than the update's."""
    ends = [_ends(instance, lam) for instance in instances(count) for lam in DIVERSITIES]
    below = min(gap for gaps, _ in ends for gap in gaps)
    above = max(min(gaps) for gaps, _ in ends)
    measured = (
        f"{STARTS} generic descents each: none lower by more than {-below:.0e}, best within {above:.0e}"
    )
    return Finding("update-minimiser", below >= -ROUND_OFF and above <= REACHED, measured)


def check_update_is_unique(count: int) -> Finding:
    """Appendix B: full rank and simple eigenvalues leave one product A_i B_i."""
    ends = [_ends(instance, lam) for instance in instances(count) for lam in DIVERSITIES]
    worst = max(distance for both in ends for gap, distance in zip(*both, strict=True) if gap <= REACHED)
    return Finding(
        "update-unique", worst <= SAME_PRODUCT, f"products of all minimisers agree within {worst:.0e}"
    )


def _ends(instance: Instance, lam: float) -> tuple[list[float], list[float]]:
    """Ends of a generic optimiser of module 0: losses above the update's, distances from its product."""
    update = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
    best, product = instance.with_module(0, *update).loss(lam), np.matmul(*update)
    starts = instance.rng.standard_normal((STARTS, update[0].size + update[1].size))
    ends = [_minimised_in_one_module(start, instance, lam) for start in starts]
    gaps = [(end.fun - best) / instance.variance for end in ends]
    return gaps, [float(np.abs(np.matmul(*_as_module(end.x, instance)) - product).max()) for end in ends]


def _minimised_in_one_module(start: Array, instance: Instance, lam: float) -> OptimizeResult:
    options = {"gtol": 1e-7, "maxiter": 500}
    return minimize(_loss_in_one_module, start, (instance, lam), "BFGS", jac=True, options=options)


def _loss_in_one_module(flat: Array, instance: Instance, lam: float) -> tuple[float, Array]:
    """Loss and slope as functions of (A_0, B_0) alone."""
    moved = instance.with_module(0, *_as_module(flat, instance))
    slopes = linear_gradient(moved.decoders, moved.encoders, moved.covariance, lam)
    return moved.loss(lam), np.concatenate([slope[0].ravel() for slope in slopes])


def _as_module(flat: Array, instance: Instance) -> tuple[Array, Array]:
    _, n_features, width = instance.shape
    half = n_features * width
    return flat[:half].reshape(n_features, width), flat[half:].reshape(width, n_features)


def check_uniqueness_with_ties(count: int) -> Finding:
    """Full rank is not enough: eigenvalues of Phi that tie leave a choice of A_i B_i."""
    pairs = [_two_minimisers_at_a_tie(instance) for instance in instances(count)]
    return _finding_of_pairs("update-unique-full-rank", pairs, claims_unique=True)


def check_uniqueness_of_singular(count: int) -> Finding:
    """Full rank is needed: directions in which the data do not vary leave B_i open."""
    pairs = [_two_minimisers_if_singular(instance) for instance in instances(count, singular=True)]
    return _finding_of_pairs("update-unique-needs-rank", pairs, claims_unique=False)


def _finding_of_pairs(claim: str, pairs: list[tuple[float, float]], *, claims_unique: bool) -> Finding:
    """From pairs (difference of losses, of products): was a second minimiser found every time?"""
    losses, products = max(loss for loss, _ in pairs), min(product for _, product in pairs)
    second = losses <= ROUND_OFF and products >= OTHER_PRODUCT
    measured = (
        f"products that differ by {products:.2g} or more have the same least loss within {losses:.0e}"
    )
    return Finding(claim, second != claims_unique, measured)


def _two_minimisers_at_a_tie(instance: Instance, lam: float = 0.5) -> tuple[float, float]:
    """H + 1 equal leading eigenvalues, the other modules elsewhere: which H axes is a free choice."""
    _, n_features, width = instance.shape
    tied = np.arange(n_features) <= width
    n_rows = len(instance.rows)
    axes = np.linalg.qr(instance.rng.standard_normal((n_rows, n_features)))[0] * np.sqrt(n_rows)
    decoders = instance.decoders * ~tied[:, None]
    encoders = instance.encoders * ~tied
    apart = Instance(axes * np.where(tied, 3.0, 0.5), decoders, encoders, instance.rng)
    A, B = update_module(decoders, encoders, 0, apart.covariance, lam)
    left_out = np.linalg.eigh(np.diag(tied.astype(float)) - A @ A.T)[1][:, -1]
    swapped = A[:, 0] - left_out
    mirror = np.eye(n_features) - np.outer(swapped, swapped)  # exchanges two orthogonal unit vectors
    return _compared(apart, (A, B), (mirror @ A, B @ mirror), lam)


def _two_minimisers_if_singular(instance: Instance, lam: float = 0.5) -> tuple[float, float]:
    """Whatever an encoder does to a direction without variance, no row shows it."""
    silent = np.linalg.eigh(instance.covariance)[1][:, 0]
    A, B = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
    return _compared(instance, (A, B), (A, B + np.outer(np.ones(len(B)), silent)), lam)


def _compared(
    instance: Instance, one: tuple[Array, Array], other: tuple[Array, Array], lam: float
) -> tuple[float, float]:
    """By how much the losses, and the products, of two choices of module 0 differ."""
    losses = [instance.with_module(0, *module).loss(lam) for module in (one, other)]
    products = np.abs(np.matmul(*one) - np.matmul(*other)).max()
    return abs(losses[1] - losses[0]) / instance.variance, float(products)


CHECKS = (
    check_rank_restricted_regression,
    check_completing_the_square,
    check_printed_sign,
    check_update_is_the_minimiser,
    check_update_is_unique,
    check_uniqueness_with_ties,
    check_uniqueness_of_singular,
)
