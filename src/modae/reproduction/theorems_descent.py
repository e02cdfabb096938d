r"""Theorem 2: every epoch of Algorithm 1 lowers the loss, unless the modules are a critical point.

A critical point is where the slopes with respect to all decoders and encoders vanish. Slopes are
measured in units of the variance, and so are losses.
"""

from __future__ import annotations

import numpy as np

from modae.core.backfitting import backfit
from modae.core.encoders import best_encoders
from modae.core.objective import linear_gradient
from modae.core.polish import on_all_axes
from modae.core.solution import Problem
from modae.core.spectral import solve_spectral
from modae.reproduction.findings import Finding
from modae.reproduction.instances import Instance, instances
from modae.utils.arrays import Array

ROUND_OFF = 1e-12
CRITICAL = 1e-5
"""Slopes below this count as zero: the fall that they allow, about their square, is near round-off."""

FLAT = 1e-7
"""What is left of the slope at a solution that is found to round-off in the loss."""

SLOPE_IN_PRODUCTS = 1e-2

EPOCHS = 25
DIVERSITIES = (0.2, 0.6, 1.0, 1.1)
"""For up to four modules all lie below M/(M-1)."""


def check_strict_fall(count: int) -> Finding:
    """Theorem 2 as stated: a covariance of full rank."""
    return _finding_of_falls(
        "theorem2-strict", [_falls(i, lam) for i in instances(count) for lam in DIVERSITIES]
    )


def check_strict_fall_if_singular(count: int) -> Finding:
    """The same without full rank, as in real images whose border never changes."""
    drawn = instances(count, singular=True)
    return _finding_of_falls("theorem2-singular", [_falls(i, lam) for i in drawn for lam in DIVERSITIES])


def _finding_of_falls(claim: str, runs: list[Array]) -> Finding:
    """From rows (slope before the epoch, fall in the epoch)."""
    slopes, falls = np.vstack(runs).T
    moving = slopes > CRITICAL
    least, rise = float(falls[moving].min()), float(max(0.0, -falls.min()))
    measured = f"least fall of {moving.sum()} non-critical epochs {least:.0e}, largest rise {rise:.0e}"
    return Finding(claim, least > 0.0 and rise <= ROUND_OFF, measured)


def _falls(instance: Instance, lam: float) -> Array:
    """(slope before, fall) of each epoch from random modules."""
    table = np.empty((EPOCHS, 2))
    for epoch in range(EPOCHS):
        after = _after_an_epoch(instance, lam)
        table[epoch] = (
            slope_size(instance, lam),
            (instance.loss(lam) - after.loss(lam)) / instance.variance,
        )
        instance = after
    return table


def check_critical_points(count: int) -> Finding:
    """At critical points, an optimum and a saddle point, an epoch does not raise the loss."""
    points = [
        p for instance in instances(count) for p in (at_optimum(instance), at_saddle_point(instance))
    ]
    slope = max(slope_size(point, 0.6) for point in points)
    rise = max((_after_an_epoch(p, 0.6).loss(0.6) - p.loss(0.6)) / p.variance for p in points)
    measured = f"slopes at most {slope:.0e}, largest rise in an epoch {max(rise, 0.0):.0e}"
    return Finding("theorem2-critical", slope <= FLAT and rise <= ROUND_OFF, measured)


def check_slope_in_products(count: int) -> Finding:
    """The proof's step "dE/dC_i = 0": it is not so, because C_i is bound to rank H."""
    optima = [at_optimum(instance) for instance in instances(count)]
    in_codes = max(slope_size(point, 0.6) for point in optima)
    in_products = min(_slope_in_products(point, 0.6) for point in optima)
    measured = f"at optima dE/dA and dE/dB are {in_codes:.0e} at most, dE/dC {in_products:.2g} at least"
    return Finding("theorem2-proof-step", in_products <= SLOPE_IN_PRODUCTS, measured)


def slope_size(instance: Instance, lam: float) -> float:
    """Largest entry of the slopes with respect to decoders and encoders."""
    slopes = linear_gradient(instance.decoders, instance.encoders, instance.covariance, lam)
    return max(float(np.abs(slope).max()) for slope in slopes) / instance.variance


def _slope_in_products(instance: Instance, lam: float) -> float:
    """Largest entry of dE/dC_i = 2/M ((C_i - I) - lam (C_i - mean C)) Sigma."""
    products = instance.decoders @ instance.encoders
    pull = products - np.eye(instance.shape[1]) - lam * (products - products.mean(axis=0))
    slopes = (2.0 / len(products)) * pull @ instance.covariance
    return float(np.abs(slopes).max()) / instance.variance


def at_optimum(instance: Instance, lam: float = 0.6) -> Instance:
    """The instance with modules of least loss, from the spectral solver."""
    n_modules, n_features, width = instance.shape
    eigenvalues, vectors = np.linalg.eigh(instance.covariance)
    kept = min(n_modules * width, n_features)
    problem = Problem(eigenvalues[::-1][:kept], instance.variance, n_modules, width, lam)
    frames = on_all_axes(solve_spectral(problem, instance.rng).decoders, n_features)
    return _with_frames(instance, vectors[:, ::-1] @ frames, lam)


def at_saddle_point(instance: Instance, lam: float = 0.6) -> Instance:
    """The instance with every module on the H principal axes of least variance: critical, and bad."""
    n_modules, _, width = instance.shape
    last = np.linalg.eigh(instance.covariance)[1][:, :width]
    return _with_frames(instance, np.stack([last] * n_modules), lam)


def _with_frames(instance: Instance, frames: Array, lam: float) -> Instance:
    return instance.with_modules(frames, best_encoders(frames, lam))


def _after_an_epoch(instance: Instance, lam: float) -> Instance:
    descent = backfit(instance.covariance, (instance.decoders, instance.encoders), lam, max_iter=1)
    return instance.with_modules(descent.decoders, descent.encoders)


CHECKS = (
    check_strict_fall,
    check_strict_fall_if_singular,
    check_critical_points,
    check_slope_in_products,
)
