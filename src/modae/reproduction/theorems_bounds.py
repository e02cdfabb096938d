r"""Bounds on the diversity: Theorem 1 and its proof, and the limit M/(M-1) of one module (appendix A.2).

The proof of Theorem 1 is constructive. With a fixed feature :math:`\varphi_1` that is not 0, two modules
put out

.. math:: F_1=c(q^2+q)\varphi_1, \qquad F_2=-cq^2\varphi_1

and the others nothing. The members then miss the targets by order :math:`q^4`, their mean, in which
:math:`q^2` cancels, by order :math:`q^2`; so :math:`E=(1-\lambda)\,\Omega(q^4)+\lambda\,\Omega(q^2)`.
"""

from __future__ import annotations

import numpy as np

from modae.core.backfitting import random_modules, update_module
from modae.core.gradient import descend
from modae.core.objective import Terms, linear_terms, output_terms
from modae.reproduction.findings import Finding
from modae.reproduction.instances import Instance, fitted_exponent, instances, scales

ROUND_OFF = 1e-12
EXPONENT = 0.01
DEEP, HIGH = 1e9, 1e9
"""How low, and how high, stands for "arbitrarily": in units of the variance."""

UP_TO_ONE = (0.0, 0.5, 0.9, 1.0)
ABOVE_ONE = (1.01, 1.5, 3.0)
STEEP = np.array([1e4, 1e5, 1e6])
"""Values of q, far out where the leading order is all that counts."""


def check_bounded_up_to_one(count: int) -> Finding:
    """Theorem 1, first half: no modules have a negative loss for lam <= 1."""
    least = min(lowest_loss(instance, lam) for instance in instances(count) for lam in UP_TO_ONE)
    return Finding(
        "theorem1-nonnegative", least >= -ROUND_OFF, f"least loss found {least:.1e} of its terms"
    )


def lowest_loss(instance: Instance, lam: float) -> float:
    """Least Eq. 1 met by random modules of all sizes and by descent, relative to its first term."""
    sigma = instance.covariance
    hunted = [random_modules(*instance.shape, instance.rng) for _ in scales(100.0)]
    candidates = [(size * A, B) for size, (A, B) in zip(scales(100.0), hunted, strict=True)]
    descent = descend(sigma, (instance.decoders, instance.encoders), lam, max_iter=200)
    candidates.append((descent.decoders, descent.encoders))
    terms = [linear_terms(A, B, sigma) for A, B in candidates]
    return min(float(t.loss(lam) / (instance.variance + t.reconstruction)) for t in terms)


def check_unbounded_above_one(count: int) -> Finding:
    """Theorem 1, second half: for lam > 1 plain descent finds no floor."""
    depth = max(_depth_of_descent(instance, lam) for instance in instances(count) for lam in ABOVE_ONE)
    return Finding(
        "theorem1-unbounded", depth <= -DEEP, f"descent passed {depth:.0e} of the variance every time"
    )


def _depth_of_descent(instance: Instance, lam: float) -> float:
    """The loss at which descent with a line search was stopped, over the variance."""
    floor = -DEEP * instance.variance
    start = (instance.decoders, instance.encoders)
    descent = descend(instance.covariance, start, lam, max_iter=2000, min_decrease=-np.inf, target=floor)
    return descent.losses[-1] / instance.variance


def check_low_loss_high_error(count: int) -> Finding:
    """Theorem 1, "moreover": the loss is as low, and the modules as bad, as one likes."""
    pairs = [_low_and_high(instance, lam) for instance in instances(count) for lam in ABOVE_ONE]
    loss, error = max(low for low, _ in pairs), min(high for _, high in pairs)
    measured = f"q = {STEEP[-1]:.0e}: loss at most {loss:.0e}, reconstruction error at least {error:.0e}"
    return Finding("theorem1-moreover", loss <= -DEEP and error >= HIGH, measured)


def _low_and_high(instance: Instance, lam: float) -> tuple[float, float]:
    """Loss and mean reconstruction error, over the variance, of autoencoders of the proof's kind."""
    n_modules, n_features, width = instance.shape
    decoders = np.zeros((n_modules, n_features, width))
    encoders = np.broadcast_to(instance.encoders[0], instance.encoders.shape)
    q = float(STEEP[-1])
    decoders[0, 0, 0], decoders[1, 0, 0] = q**2 + q, -(q**2)
    terms = linear_terms(decoders, encoders, instance.covariance)
    low, high = float(terms.ambiguity_loss(lam)), float(terms.reconstruction)
    return low / instance.variance, high / instance.variance


def check_orders_of_divergence(count: int) -> Finding:
    """The proof's sequence: q^2 for the mean, q^4 for the members, -q^4 for the loss."""
    fits = np.array([_exponents(instance, lam) for instance in instances(count) for lam in ABOVE_ONE])
    off = np.abs(fits - [2.0, 4.0, 4.0])
    mean, members, loss = fits[off.max(axis=1).argmax()]
    measured = f"exponents {mean:.4f} (mean), {members:.4f} (members), {loss:.4f} (minus the loss)"
    return Finding("appendix-orders", bool(off.max() <= EXPONENT), measured)


def _exponents(instance: Instance, lam: float) -> tuple[float, float, float]:
    """Fitted exponents of q: error of the mean, mean error of the members, minus the loss."""
    errors = [_diverging_network(instance, q) for q in STEEP]
    losses = np.array([float(terms.ambiguity_loss(lam)) for terms in errors])
    return (
        fitted_exponent(STEEP, np.array([terms.error_of_mean for terms in errors])),
        fitted_exponent(STEEP, np.array([terms.reconstruction for terms in errors])),
        fitted_exponent(STEEP, -losses),
    )


def _diverging_network(instance: Instance, q: float) -> Terms:
    """Mean terms of the proof's networks for q, with tanh(<r, x>) as the feature: not linear in x."""
    feature = np.tanh(instance.rows @ instance.encoders[0, 0])
    c = feature[np.abs(feature).argmax()]  # the proof takes any row whose feature is not 0
    outputs = np.zeros_like(instance.outputs)
    outputs[0, :, 0] = c * (q**2 + q) * feature
    outputs[1, :, 0] = -c * q**2 * feature
    return Terms(*(float(np.mean(term)) for term in output_terms(outputs, instance.rows)))


def check_one_module_below_its_limit(count: int) -> Finding:
    """With the others fixed and lam < M/(M-1), one module has a least loss: nothing goes below it."""
    least = min(
        _lowest_above_best(instance, fraction * instance.one_module_limit)
        for instance in instances(count)
        for fraction in (0.3, 0.9, 0.99)
    )
    return Finding(
        "one-module-bounded", least >= -ROUND_OFF, f"nearest to the least loss: {least:+.1e} above it"
    )


def _lowest_above_best(instance: Instance, lam: float) -> float:
    """Least loss of random first modules of all sizes, less that of the best one, relative to both."""
    best_module = update_module(instance.decoders, instance.encoders, 0, instance.covariance, lam)
    best = instance.with_module(0, *best_module).loss(lam)
    gaps = []
    for size in scales(1e4):
        for centre in (best_module, (np.zeros_like(best_module[0]), np.zeros_like(best_module[1]))):
            noise = [size * instance.rng.standard_normal(part.shape) for part in centre]
            other = instance.with_module(0, centre[0] + noise[0], centre[1] + noise[1]).loss(lam)
            gaps.append((other - best) / (instance.variance + abs(best) + abs(other)))
    return min(gaps)


def check_one_module_above_its_limit(count: int) -> Finding:
    """With the others fixed and lam > M/(M-1), one growing module takes the loss to minus infinity."""
    fits = np.array(
        [
            _growth_of_one_module(instance, factor * instance.one_module_limit)
            for instance in instances(count)
            for factor in (1.01, 2.0)
        ]
    )
    off_exponent, off_factor = np.abs(fits - [2.0, 1.0]).max(axis=0)
    measured = (
        f"loss ~ -t^2 for a module t*C: exponent off by {off_exponent:.0e}, factor by {off_factor:.0e}"
    )
    holds = bool(off_exponent <= EXPONENT and off_factor <= EXPONENT)
    return Finding("one-module-unbounded", holds, measured)


def _growth_of_one_module(instance: Instance, lam: float) -> tuple[float, float]:
    """Exponent of t in minus the loss, and its factor over (lam (M-1)/M - 1) E|Cx|^2 / M."""
    decoder, encoder = instance.decoders[0], instance.encoders[0]
    losses = np.array([instance.with_module(0, t * decoder, encoder).loss(lam) for t in STEEP])
    size = float(np.square(instance.outputs[0]).sum(axis=1).mean())
    predicted = (lam / instance.one_module_limit - 1.0) * size / len(instance.decoders)
    return fitted_exponent(STEEP, -losses), float(-losses[-1] / STEEP[-1] ** 2 / predicted)


CHECKS = (
    check_bounded_up_to_one,
    check_unbounded_above_one,
    check_low_loss_high_error,
    check_orders_of_divergence,
    check_one_module_below_its_limit,
    check_one_module_above_its_limit,
)
