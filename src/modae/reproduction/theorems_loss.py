r"""The loss itself, and bounds on the diversity (section 2.1, appendix A).

A check draws a few random instances, measures one number on each and compares the worst with a
tolerance. The modules of Propositions 1 and 2 are any functions: there the outputs are drawn at random.

The proof of Theorem 1 is constructive. With a fixed feature :math:`\varphi_1` that is not 0, two modules
put out

.. math:: F_1=c(q^2+q)\varphi_1, \qquad F_2=-cq^2\varphi_1

and the others nothing. The members then miss the targets by order :math:`q^4`, their mean, in which
:math:`q^2` cancels, by order :math:`q^2`; so :math:`E=(1-\lambda)\,\Omega(q^4)+\lambda\,\Omega(q^2)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from modae.core.backfitting import backfit, random_modules, update_module
from modae.core.gradient import descend
from modae.core.objective import Terms, linear_gradient, linear_terms, output_terms
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.reproduction.claims import Finding
from modae.reproduction.instances import Instance, instances
from modae.utils.arrays import Array

ROUND_OFF = 1e-12
DIFFERENCES = 1e-8
"""What central differences of a quadratic leave: round-off divided by their step."""

PROJECTORS = 1e-8
EXPONENT = 0.01
DEEP, HIGH = 1e9, 1e9
"""How low, and how high, stands for "arbitrarily": in units of the variance."""

DIVERSITIES = (0.0, 0.3, 1.0, 1.7)
UP_TO_ONE = (0.0, 0.5, 0.9, 1.0)
ABOVE_ONE = (1.01, 1.5, 3.0)
STEEP = np.array([1e4, 1e5, 1e6])
"""Values of q, far out where the leading order is all that counts."""


# --- two forms, the gradient -------------------------------------------------------------------------


def random_network(instance: Instance) -> tuple[Array, Array]:
    """Outputs (M, n, Q) of any regression network, and targets (n, Q)."""
    outputs = instance.rng.standard_normal((len(instance.decoders), *instance.rows.shape))
    return outputs, instance.rng.standard_normal(instance.rows.shape)


def ncl_direction(outputs: Array, targets: Array, diversity: float) -> Array:
    """What Negative Correlation Learning follows: (F_i - y) - lam (F_i - mean F)."""
    return (outputs - targets) - diversity * (outputs - outputs.mean(axis=0))


def check_two_forms(count: int) -> Iterator[Finding]:
    """Proposition 1: the loss is also (1 - lam) * errors of the members + lam * error of the mean."""
    differences = []
    for instance in instances(count):
        terms = output_terms(*random_network(instance))
        for lam in DIVERSITIES:
            difference = np.abs(terms.loss(lam) - terms.ambiguity_loss(lam)) / terms.reconstruction
            differences.append(np.max(difference))
    worst = np.max(differences)
    yield Finding("proposition1", worst <= ROUND_OFF, f"largest relative difference {worst:.1e}")


def check_gradient(count: int, step: float = 1e-3) -> Iterator[Finding]:
    """Proposition 2: dL/dF_i = 2/M ((F_i - y) - lam (F_i - mean F)), against central differences."""
    differences = []
    for instance in instances(count):
        outputs, targets = random_network(instance)
        for lam in DIVERSITIES:
            exact = (2.0 / len(outputs)) * ncl_direction(outputs, targets, lam)
            slopes = np.empty_like(outputs)  # of the loss of each row along each output of each module
            for module, column in np.ndindex(len(outputs), outputs.shape[2]):
                moved = np.zeros_like(outputs)
                moved[module, :, column] = step
                ahead, behind = (output_terms(outputs + s * moved, targets).loss(lam) for s in (1, -1))
                slopes[module, :, column] = (ahead - behind) / (2.0 * step)
            differences.append(np.abs(exact - slopes).max() / np.abs(exact).max())
    worst = np.max(differences)
    yield Finding("proposition2", worst <= DIFFERENCES, f"largest relative difference {worst:.1e}")


def check_ncl_rate(count: int, factor: float = 0.5) -> Iterator[Finding]:
    """A step of Negative Correlation Learning is one of stochastic descent with M/2 times its rate."""
    differences, alpha, lam = [], 0.1, 0.6
    for instance in instances(count):
        x, rate = instance.rows[0], factor * len(instance.decoders) * alpha
        slopes = linear_gradient(instance.decoders, instance.encoders, np.outer(x, x), lam)
        outputs = (instance.decoders @ instance.encoders @ x)[:, None, :]
        direction = ncl_direction(outputs, x[None, :], lam)[:, 0, :]
        # F_i = A_i B_i x: its derivative takes d to d (B_i x)^T for A_i, and to A_i^T d x^T for B_i.
        for_decoders = np.einsum("md,mh->mdh", direction, instance.encoders @ x)
        for_encoders = np.einsum("mdh,md,e->mhe", instance.decoders, direction, x)
        for ncl, slope in zip((for_decoders, for_encoders), slopes, strict=True):
            differences.append(np.abs(alpha * ncl - rate * slope).max() / np.abs(alpha * ncl).max())
    worst = np.max(differences)
    yield Finding("ncl-learning-rate", worst <= ROUND_OFF, f"largest relative difference {worst:.1e}")


# --- the two ends of the diversity -------------------------------------------------------------------


def check_no_diversity_is_pca(count: int) -> Iterator[Finding]:
    """Section 2.1: at lam = 0 each module is the projection on the first H principal components."""
    differences = []
    for instance in instances(count):
        n_modules, _, width = instance.shape
        axes = np.linalg.svd(instance.rows)[2][:width]
        model = LinearModularAutoencoder(n_modules, width, random_state=0).fit(instance.rows)
        (fitted,) = model.path([0.0])  # to fit there directly is to be warned that the modules are equal
        descent = backfit(instance.covariance, (instance.decoders, instance.encoders), 0.0, max_iter=1)
        products = (fitted.decoders_ @ fitted.encoders_, descent.decoders @ descent.encoders)
        differences.append(np.abs(np.array(products) - axes.T @ axes).max())
    worst = np.max(differences)
    yield Finding("lambda-zero-pca", worst <= PROJECTORS, f"largest difference from PCA {worst:.1e}")


def check_full_diversity_is_one_autoencoder(count: int) -> Iterator[Finding]:
    """Section 2.1: at lam = 1 the loss is that of one autoencoder with M*H hidden units."""
    losses, optima = [], []
    for instance in instances(count):
        n_modules, n_features, width = instance.shape
        # Eq. 1 at lam = 1 against A = [A_1 .. A_M] / M and B = [B_1; ..; B_M] put to work on the rows.
        large_decoder = np.hstack(list(instance.decoders)) / n_modules
        large_encoder = instance.encoders.reshape(-1, n_features)
        missed = np.square(instance.rows @ large_encoder.T @ large_decoder.T - instance.rows).sum(axis=1)
        difference = np.abs(output_terms(instance.outputs, instance.rows).loss(1.0) - missed)
        losses.append(np.max(difference / np.square(instance.rows).sum(axis=1)))
        left = np.linalg.eigvalsh(instance.covariance)[::-1][n_modules * width :].sum()
        fitted = LinearModularAutoencoder(n_modules, width, 1.0, random_state=0).fit(instance.rows)
        optima.append(abs(fitted.loss_ - left) / instance.variance)
    loss, optimum = np.max(losses), np.max(optima)
    measured = f"losses differ by {loss:.1e}, best loss from that of PCA(MH) by {optimum:.1e} (relative)"
    yield Finding("lambda-one-monolithic", loss <= ROUND_OFF and optimum <= PROJECTORS, measured)


# --- Theorem 1 ---------------------------------------------------------------------------------------


def scales(largest: float) -> Array:
    """Sizes of random things, one for each decade from 0.01 to ``largest``."""
    return 10.0 ** np.arange(-2, np.log10(largest) + 0.5)


def fitted_exponent(points: Array, values: Array) -> float:
    """Slope of a straight line through log(values) against log(points); NaN unless all are positive."""
    if not np.all(values > 0.0):
        return float("nan")
    return float(np.polyfit(np.log(points), np.log(values), 1)[0])


def check_bounded_up_to_one(count: int) -> Iterator[Finding]:
    """Theorem 1, first half: no modules have a negative loss for lam <= 1."""
    least = np.min([lowest_loss(i, lam) for i, lam in product(instances(count), UP_TO_ONE)])
    measured = f"least loss found {least:.1e} of its terms"
    yield Finding("theorem1-nonnegative", least >= -ROUND_OFF, measured)


def lowest_loss(instance: Instance, lam: float) -> float:
    """Least Eq. 1 met by random modules of all sizes and by descent, relative to its first term."""
    sigma, candidates = instance.covariance, []
    for size in scales(100.0):
        A, B = random_modules(*instance.shape, instance.rng)
        candidates.append((size * A, B))
    descent = descend(sigma, (instance.decoders, instance.encoders), lam, max_iter=200)
    candidates.append((descent.decoders, descent.encoders))
    terms = [linear_terms(A, B, sigma) for A, B in candidates]
    return min(float(t.loss(lam) / (instance.variance + t.reconstruction)) for t in terms)


def check_unbounded_above_one(count: int) -> Iterator[Finding]:
    """Theorem 1, second half: for lam > 1 plain descent with a line search finds no floor."""
    depths = []
    for instance, lam in product(instances(count), ABOVE_ONE):
        start, floor = (instance.decoders, instance.encoders), -DEEP * instance.variance
        limits = {"min_decrease": -np.inf, "target": floor}
        descent = descend(instance.covariance, start, lam, max_iter=2000, **limits)
        depths.append(descent.losses[-1] / instance.variance)
    depth = np.max(depths)
    measured = f"descent passed {depth:.0e} of the variance every time"
    yield Finding("theorem1-unbounded", depth <= -DEEP, measured)


def check_low_loss_high_error(count: int) -> Iterator[Finding]:
    """Theorem 1, "moreover": the loss is as low, and autoencoders of the proof as bad, as one likes."""
    losses, errors, q = [], [], float(STEEP[-1])
    for instance, lam in product(instances(count), ABOVE_ONE):
        decoders = np.zeros_like(instance.decoders)
        decoders[0, 0, 0], decoders[1, 0, 0] = q**2 + q, -(q**2)
        encoders = np.broadcast_to(instance.encoders[0], instance.encoders.shape)
        terms = linear_terms(decoders, encoders, instance.covariance)
        losses.append(float(terms.ambiguity_loss(lam)) / instance.variance)
        errors.append(float(terms.reconstruction) / instance.variance)
    loss, error = np.max(losses), np.min(errors)
    measured = f"q = {q:.0e}: loss at most {loss:.0e}, reconstruction error at least {error:.0e}"
    yield Finding("theorem1-moreover", loss <= -DEEP and error >= HIGH, measured)


def check_orders_of_divergence(count: int) -> Iterator[Finding]:
    """The proof's sequence: q^2 for the mean, q^4 for the members, -q^4 for the loss."""
    fits = []
    for instance, lam in product(instances(count), ABOVE_ONE):
        errors = [diverging_network(instance, float(q)) for q in STEEP]
        curves = [(t.error_of_mean, t.reconstruction, -t.ambiguity_loss(lam)) for t in errors]
        fits.append([fitted_exponent(STEEP, values) for values in np.array(curves, dtype=float).T])
    off = np.abs(np.array(fits) - [2.0, 4.0, 4.0])
    mean, members, loss = fits[off.max(axis=1).argmax()]
    measured = f"exponents {mean:.4f} (mean), {members:.4f} (members), {loss:.4f} (minus the loss)"
    yield Finding("appendix-orders", off.max() <= EXPONENT, measured)


def diverging_network(instance: Instance, q: float) -> Terms:
    """Mean terms of the proof's networks for q, with tanh(<r, x>) as the feature: not linear in x."""
    feature = np.tanh(instance.rows @ instance.encoders[0, 0])
    c = feature[np.abs(feature).argmax()]  # the proof takes any row whose feature is not 0
    outputs = np.zeros_like(instance.outputs)
    outputs[0, :, 0] = c * (q**2 + q) * feature
    outputs[1, :, 0] = -c * q**2 * feature
    return Terms(*(float(np.mean(term)) for term in output_terms(outputs, instance.rows)))


# --- one module alone --------------------------------------------------------------------------------


def check_one_module_below_its_limit(count: int) -> Iterator[Finding]:
    """With the others fixed and lam < M/(M-1), one module has a least loss: nothing goes below it."""
    gaps = []
    for instance, fraction in product(instances(count), (0.3, 0.9, 0.99)):
        lam = fraction * instance.one_module_limit
        best_module = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
        best = instance.with_module(0, *best_module).loss(lam)
        nothing = tuple(np.zeros_like(part) for part in best_module)
        for size, centre in product(scales(1e4), (best_module, nothing)):
            A, B = (part + size * instance.rng.standard_normal(part.shape) for part in centre)
            other = instance.with_module(0, A, B).loss(lam)
            gaps.append((other - best) / (instance.variance + abs(best) + abs(other)))
    least = np.min(gaps)
    measured = f"nearest to the least loss: {least:+.1e} above it"
    yield Finding("one-module-bounded", least >= -ROUND_OFF, measured)


def check_one_module_above_its_limit(count: int) -> Iterator[Finding]:
    """With the others fixed and lam > M/(M-1), a module t C takes the loss to minus infinity.

    It falls as -(lam (M-1)/M - 1) E|Cx|^2 / M t^2.
    """
    off = []
    for instance, fraction in product(instances(count), (1.01, 2.0)):
        lam = fraction * instance.one_module_limit
        A, B = instance.decoders[0], instance.encoders[0]
        losses = np.array([instance.with_module(0, t * A, B).loss(lam) for t in STEEP])
        size = float(np.square(instance.outputs[0]).sum(axis=1).mean())
        predicted = (lam / instance.one_module_limit - 1.0) * size / len(instance.decoders)
        factor = float(-losses[-1] / STEEP[-1] ** 2 / predicted)
        off.append((abs(fitted_exponent(STEEP, -losses) - 2.0), abs(factor - 1.0)))
    off_exponent, off_factor = np.max(off, axis=0)
    measured = (
        f"loss ~ -t^2 for a module t*C: exponent off by {off_exponent:.0e}, factor by {off_factor:.0e}"
    )
    yield Finding("one-module-unbounded", np.max(off) <= EXPONENT, measured)
