r"""Every theorem, proposition and lemma of the paper as a check that runs, on small random problems.

A proof needs no experiment, but a paper can have slips, and so can a library that implements it. Each
check compares the statement with something computed another way and would fail if either were wrong.
Those about the loss are in ``theorems_loss.py``.

Here is Algorithm 1: why each update is the best, and why no epoch raises the loss (section 3, appendix
B), link by link: rank-restricted regression has a closed form; a weighted sum of squares is one square
and a constant (the lemma); hence the update of Algorithm 1 minimises the loss in one module; hence every
epoch lowers the loss, unless the modules are a critical point (Theorem 2): one where the slopes with
respect to all decoders and encoders vanish. Slopes and losses are measured in units of the variance.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from modae.core.backfitting import backfit, update_module
from modae.core.frames import best_encoders
from modae.core.objective import linear_gradient
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.reproduction.run import Finding, Setting
from modae.reproduction.theorems_loss import CHECKS, Instance, check
from modae.utils.arrays import Array

#: Random instances of each check.
QUICK, FULL = 6, 24

ROUND_OFF = 1e-11
NO_RISE = 1e-12
#: How near, as a fraction of the variance, a generic optimiser has to come to a closed form.
REACHED = 1e-8

#: Entries of A_i B_i that differ by less, and by more, than what an optimiser leaves open.
SAME_PRODUCT, OTHER_PRODUCT = 1e-3, 1e-1

#: Slopes below this count as zero: the fall that they allow, about their square, is near round-off.
CRITICAL = 1e-5

#: What is left of the slope at a solution that is found to round-off in the loss.
FLAT = 1e-7

SLOPE_IN_PRODUCTS = 1e-2
STRICTLY = -np.finfo(np.float64).tiny
STARTS, ROUNDS, EPOCHS = 3, 150, 25
#: For up to four modules all lie below M/(M-1).
EPOCH_DIVERSITIES = (0.2, 0.6, 1.0, 1.1)

REGRESSION = "least squares ends {:.0e} below and {:.0e} above, value of the minimum off by {:.0e}"
MINIMISER = f"{STARTS} generic descents each: none lower by more than {{:.0e}}, best within {{:.0e}}"
SAME_MINIMISER = "products of all minimisers agree within {2:.0e}"
SECOND_MINIMISER = "products that differ by {:.2g} have the same least loss"
FALL = "least fall of the non-critical epochs {:.0e}, largest rise {:.0e}"
PROOF_STEP = "at optima dE/dA and dE/dB are {:.0e} at most, dE/dC is up to {:.2g}"


def run(setting: Setting) -> list[Finding]:
    """Run every check on a few instances, or on more of them at full scale.

    Examples
    --------
    One check by itself, on three instances:

    >>> from modae.reproduction.theorems import CHECKS
    >>> CHECKS["proposition1"](3).holds
    np.True_
    """
    count = FULL if setting.full else QUICK
    setting.tell(f"Theorems: {len(CHECKS)} checks on {count} random instances each")
    return [each(count) for each in CHECKS.values()]


# --- rank-restricted regression and the lemma --------------------------------------------------------


@check("rank-restricted-regression", REGRESSION, ROUND_OFF, REACHED, ROUND_OFF)
def rank_restricted_regression(instance: Instance) -> tuple[float, float, float]:
    """U and U^T Y X^T (X X^T)^-1 minimise |Y - ABX|^2: alternating least squares does no better."""
    X, Y = instance.rows.T, instance.rng.standard_normal(instance.rows.shape).T
    width, total, inverse = instance.decoders.shape[2], np.square(Y).sum(), np.linalg.pinv(X)
    slopes = Y @ X.T @ np.linalg.inv(X @ X.T)
    captured, U = np.linalg.eigh(slopes @ X @ Y.T)
    closed = np.square(Y - U[:, -width:] @ U[:, -width:].T @ slopes @ X).sum()
    ends = []
    for _ in range(STARTS):
        B = instance.rng.standard_normal((width, len(X)))
        for _ in range(ROUNDS):  # the best A for B, and the best B for A
            A = Y @ np.linalg.pinv(B @ X)
            B = np.linalg.pinv(A) @ Y @ inverse
        ends.append(np.square(Y - A @ B @ X).sum())
    above = (min(ends) - closed) / total
    return max(-above, 0.0), max(above, 0.0), abs(total - captured[-width:].sum() - closed) / total


@check("lemma-printed-sign", "the rest varies by {:.1e} (relative)", ROUND_OFF, cases=(1.0,))
@check("lemma-complete-square", "the rest varies by {:.1e} (relative)", ROUND_OFF, cases=(-1.0,))
def spread_of_difference(instance: Instance, sign: float) -> float:
    """sum_q a_q |Y_q - CX|^2 is (sum a) |Y~ - CX|^2 plus what does not depend on C.

    How far the rest varies with C. The last display but one of the lemma's proof has +2 tr(ABX Y~^T)
    where -2 is meant.
    """
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


@check("update-unique", SAME_MINIMISER, ROUND_OFF, REACHED, SAME_PRODUCT, cases=(0.3, 1.0, 1.1))
@check("update-minimiser", MINIMISER, ROUND_OFF, REACHED, cases=(0.3, 1.0, 1.1))
def descents_of_one_module(instance: Instance, lam: float) -> tuple[float, float, float]:
    """Appendix B: with the other modules fixed, no (A_i, B_i) has a smaller loss than the update's.

    With full rank and simple eigenvalues all that have its loss have its product A_i B_i. Measured are
    the ends of a generic optimiser: how far the least is below the update and above it, and how far
    products are from the update's where the loss is the same.
    """
    update = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
    best, half = instance.with_module(0, *update).loss(lam), update[0].size

    def as_module(flat: Array) -> tuple[Array, Array]:
        return flat[:half].reshape(update[0].shape), flat[half:].reshape(update[1].shape)

    def loss_and_slope(flat: Array) -> tuple[float, Array]:
        moved = instance.with_module(0, *as_module(flat))
        slopes = linear_gradient(moved.decoders, moved.encoders, moved.covariance, lam)
        return moved.loss(lam), np.concatenate([slope[0].ravel() for slope in slopes])

    how: dict[str, Any] = {"jac": True, "method": "BFGS", "options": {"gtol": 1e-7, "maxiter": 500}}
    starts = instance.rng.standard_normal((STARTS, half + update[1].size))
    ends = [minimize(loss_and_slope, start, **how) for start in starts]
    gaps = np.array([(end.fun - best) / instance.variance for end in ends])
    distances = [np.abs(np.matmul(*as_module(end.x)) - np.matmul(*update)).max() for end in ends]
    same = np.array(distances)[gaps <= REACHED]
    return max(-gaps.min(), 0.0), max(gaps.min(), 0.0), same.max(initial=0.0)


def minimisers_at_a_tie(instance: Instance) -> tuple[Instance, Instance]:
    """H + 1 equal leading eigenvalues, the other modules elsewhere: which H axes is a free choice."""
    (_, n_features, width), n_rows = instance.decoders.shape, len(instance.rows)
    tied = np.arange(n_features) <= width
    axes = np.linalg.qr(instance.rng.standard_normal((n_rows, n_features)))[0] * np.sqrt(n_rows)
    decoders = instance.decoders * ~tied[:, None]
    encoders = instance.encoders * ~tied
    apart = Instance(axes * np.where(tied, 3.0, 0.5), decoders, encoders, instance.rng)
    A, B = update_module(decoders, encoders, 0, apart.covariance, 0.5)
    left_out = np.linalg.eigh(np.diag(tied.astype(float)) - A @ A.T)[1][:, -1]
    swapped = A[:, 0] - left_out
    mirror = np.eye(n_features) - np.outer(swapped, swapped)  # exchanges two orthogonal unit vectors
    return apart.with_module(0, A, B), apart.with_module(0, mirror @ A, B @ mirror)


def minimisers_if_singular(instance: Instance) -> tuple[Instance, Instance]:
    """Whatever an encoder does to a direction without variance, no row shows it."""
    silent = np.linalg.eigh(instance.covariance)[1][:, 0]
    A, B = update_module(instance.decoders, instance.encoders, 0, instance.covariance, 0.5)
    other = B + np.outer(np.ones(len(B)), silent)
    return instance.with_module(0, A, B), instance.with_module(0, A, other)


def differences(one: Instance, other: Instance) -> tuple[float, float]:
    """By how much the losses at 0.5, and the products, of two choices of module 0 differ."""
    products = np.abs(one.decoders[0] @ one.encoders[0] - other.decoders[0] @ other.encoders[0])
    return abs(other.loss(0.5) - one.loss(0.5)) / one.variance, float(products.max())


@check("update-unique-full-rank", SECOND_MINIMISER, OTHER_PRODUCT)
def second_minimiser_at_a_tie(instance: Instance) -> float:
    """Full rank is not enough for one product A_i B_i: eigenvalues that tie leave a choice of axes."""
    loss, products = differences(*minimisers_at_a_tie(instance))
    return products if loss <= ROUND_OFF else 0.0


@check("update-unique-needs-rank", SECOND_MINIMISER, -OTHER_PRODUCT, singular=True)
def second_minimiser_if_singular(instance: Instance) -> float:
    """Full rank is needed: directions in which the data do not vary leave B_i open."""
    loss, products = differences(*minimisers_if_singular(instance))
    return -products if loss <= ROUND_OFF else 0.0


# --- Theorem 2 ---------------------------------------------------------------------------------------


@check("theorem2-singular", FALL, STRICTLY, NO_RISE, cases=EPOCH_DIVERSITIES, singular=True)
@check("theorem2-strict", FALL, STRICTLY, NO_RISE, cases=EPOCH_DIVERSITIES)
def strict_fall(instance: Instance, lam: float) -> tuple[float, float]:
    """Theorem 2: an epoch that does not start at a critical point lowers the loss.

    As stated, for a covariance of full rank, and without, as in images whose border never changes.
    Measured are the least fall of such epochs, with a minus, and the largest rise of any epoch.
    """
    falls, moving, point = [], [], instance
    for _ in range(EPOCHS):
        after = after_an_epoch(point, lam)
        falls.append((point.loss(lam) - after.loss(lam)) / point.variance)
        moving.append(slope_size(point, lam) > CRITICAL)
        point = after
    return -np.array(falls)[moving].min(), max(0.0, -min(falls))


@check("theorem2-critical", "slopes at most {:.0e}, largest rise in an epoch {:.0e}", FLAT, NO_RISE)
def critical_points(instance: Instance) -> tuple[float, float]:
    """At critical points, an optimum and a saddle point, an epoch does not raise the loss."""
    points = (at_optimum(instance), at_saddle_point(instance))
    rises = [(after_an_epoch(p, 0.6).loss(0.6) - p.loss(0.6)) / p.variance for p in points]
    return max(slope_size(point, 0.6) for point in points), max(0.0, *rises)


@check("theorem2-proof-step", PROOF_STEP, FLAT, SLOPE_IN_PRODUCTS)
def slope_in_products(instance: Instance) -> tuple[float, float]:
    """The proof's step "dE/dC_i = 0": it is not so, because C_i is bound to rank H.

    The slope is dE/dC_i = 2/M ((C_i - I) - lam (C_i - mean C)) Sigma.
    """
    point = at_optimum(instance)
    products = point.decoders @ point.encoders
    pull = products - np.eye(products.shape[1]) - 0.6 * (products - products.mean(axis=0))
    slopes = (2.0 / len(products)) * pull @ point.covariance
    return slope_size(point, 0.6), np.abs(slopes).max() / point.variance


def after_an_epoch(instance: Instance, lam: float) -> Instance:
    """The instance with the modules of Algorithm 1 one epoch later."""
    descent = backfit(instance.covariance, (instance.decoders, instance.encoders), lam, max_iter=1)
    return replace(instance, decoders=descent.decoders, encoders=descent.encoders)


def slope_size(instance: Instance, lam: float) -> float:
    """Largest entry of the slopes with respect to decoders and encoders."""
    slopes = linear_gradient(instance.decoders, instance.encoders, instance.covariance, lam)
    return max(float(np.abs(slope).max()) for slope in slopes) / instance.variance


def at_optimum(instance: Instance, lam: float = 0.6) -> Instance:
    """The instance with modules of least loss, those of the estimator."""
    n_modules, _, width = instance.decoders.shape
    model = LinearModularAutoencoder(n_modules, width, lam, random_state=0).fit(instance.rows)
    return replace(instance, decoders=model.decoders_, encoders=model.encoders_)


def at_saddle_point(instance: Instance, lam: float = 0.6) -> Instance:
    """The instance with every module on the H principal axes of least variance: critical, and bad."""
    n_modules, _, width = instance.decoders.shape
    last = np.linalg.eigh(instance.covariance)[1][:, :width]
    decoders = np.stack([last] * n_modules)
    return replace(instance, decoders=decoders, encoders=best_encoders(decoders, lam))
