"""Batch gradient descent on the encoders and decoders: the method the paper compares with."""

from __future__ import annotations

import numpy as np

from modae.core.backfitting import Descent, conclude_descent, random_modules
from modae.core.objective import Problem, Solution, linear_gradient, linear_terms
from modae.utils.arrays import Array

GROWTH, SHRINK, SUFFICIENT = 1.5, 0.5, 1e-4
MAX_BACKTRACKS = 60


def descend(
    covariance: Array,
    start: tuple[Array, Array],
    diversity: float,
    *,
    step: float | None = None,
    max_iter: int = 1000,
    min_decrease: float = 0.0,
    target: float = -np.inf,
) -> Descent:
    """Gradient descent from given modules, until an epoch gains less than ``min_decrease``.

    Parameters
    ----------
    covariance, start, diversity, max_iter, min_decrease, target
        As in :func:`modae.core.backfitting.backfit`.
    step : float, optional
        Fixed learning rate; if it makes the loss grow without limit, the descent ends there,
        ``converged=False``. By default each step is found by backtracking from a little above the
        last one.
    """
    modules = start
    losses = [_loss(modules, covariance, diversity)]
    length = step if step is not None else 1.0 / (float(np.linalg.norm(covariance)) or 1.0)
    for _ in range(max_iter):
        slopes = linear_gradient(*modules, covariance, diversity)
        if step is None:
            modules, loss, length = _backtrack(
                modules, slopes, losses[-1], GROWTH * length, covariance, diversity
            )
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # a step too long ends in infinity
                modules = _moved(modules, slopes, step)
                loss = _loss(modules, covariance, diversity)
        if not loss <= 1e3 * abs(losses[0]):
            return Descent(*modules, [*losses, loss], converged=False)
        losses.append(loss)
        if loss <= target or losses[-2] - loss <= min_decrease:
            return Descent(*modules, losses, converged=True)
    return Descent(*modules, losses, converged=False)


def solve_gradient(
    problem: Problem, rng: np.random.Generator, *, tol: float = 1e-9, max_iter: int = 1000
) -> Solution:
    """Gradient descent in principal axes, until an epoch gains less than ``tol`` of the variance.

    It runs in units of the variance, so that no step over- or underflows.
    """
    total = problem.total_variance or 1.0
    start = random_modules(problem.n_modules, len(problem.eigenvalues), problem.n_components, rng)
    descent = descend(
        problem.eigenvalues / total,
        start,
        problem.diversity,
        max_iter=max_iter,
        min_decrease=tol,
    )
    return conclude_descent(problem, descent, "gradient", scale=total)


def _loss(modules: tuple[Array, Array], covariance: Array, diversity: float) -> float:
    return float(linear_terms(*modules, covariance).ambiguity_loss(diversity))


def _moved(
    modules: tuple[Array, Array], slopes: tuple[Array, Array], length: float
) -> tuple[Array, Array]:
    return modules[0] - length * slopes[0], modules[1] - length * slopes[1]


def _backtrack(
    modules: tuple[Array, Array],
    slopes: tuple[Array, Array],
    loss: float,
    length: float,
    covariance: Array,
    diversity: float,
) -> tuple[tuple[Array, Array], float, float]:
    """Shorten the step until the loss falls enough (Armijo); stay put if it never does."""
    steepness = sum(float(np.vdot(slope, slope)) for slope in slopes)
    for _ in range(MAX_BACKTRACKS):
        candidate = _moved(modules, slopes, length)
        new_loss = _loss(candidate, covariance, diversity)
        if new_loss <= loss - SUFFICIENT * length * steepness:
            return candidate, new_loss, length
        length *= SHRINK
    return modules, loss, length
