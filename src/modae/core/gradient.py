"""Batch gradient descent on the encoders and decoders: the method the paper compares with."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.core.backfitting import Descent, Pair, mean_loss, run_epochs, solve_by_epochs
from modae.core.objective import Problem, Solution, linear_gradient
from modae.utils.arrays import Array

GROWTH, SHRINK, SUFFICIENT = 1.5, 0.5, 1e-4
MAX_BACKTRACKS = 60


def descend(
    covariance: Array, start: Pair, diversity: float, *, step: float | None = None, **limits: Any
) -> Descent:
    """Gradient descent from given modules, until an epoch gains less than ``min_decrease``.

    Parameters
    ----------
    covariance, start, diversity, **limits
        As in :func:`modae.core.backfitting.backfit`.
    step : float, optional
        Fixed learning rate. By default each step is found by backtracking from a little above the last
        one: it is shortened until the loss falls enough (Armijo), and not taken if it never does.
    """
    length = 1.0 / (float(np.linalg.norm(covariance)) or 1.0)

    def epoch(modules: Pair, loss: float) -> tuple[Pair, float]:
        nonlocal length
        slopes = linear_gradient(*modules, covariance, diversity)
        steepness = sum(float(np.vdot(slope, slope)) for slope in slopes)
        length = GROWTH * length if step is None else step
        for _ in range(MAX_BACKTRACKS):
            with np.errstate(over="ignore", invalid="ignore"):  # a step too long ends in infinity
                moved = modules[0] - length * slopes[0], modules[1] - length * slopes[1]
                new_loss = mean_loss(moved, covariance, diversity)
            if step is not None or new_loss <= loss - SUFFICIENT * length * steepness:
                return moved, new_loss
            length *= SHRINK
        return modules, loss

    return run_epochs(epoch, start, mean_loss(start, covariance, diversity), **limits)


def solve_gradient(
    problem: Problem, rng: np.random.Generator, *, tol: float = 1e-9, max_iter: int = 1000
) -> Solution:
    """Gradient descent in principal axes, until an epoch gains less than ``tol`` of the variance."""
    return solve_by_epochs(descend, "gradient", problem, rng, tol, max_iter)
