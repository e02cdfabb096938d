r"""Algorithm 1 of the paper: each module in turn, the others fixed.

.. math::
   Z_i &= \tfrac1M\textstyle\sum_{j\ne i}A_jB_j, \qquad
   \Phi = (I-\lambda Z_i)\,\Sigma\,(I-\lambda Z_i)^T,\\
   A_i &= \text{top } H \text{ eigenvectors of } \Phi, \qquad
   B_i = \frac{A_i^T(I-\lambda Z_i)}{1-\lambda(M-1)/M}.

:func:`backfit` is the literal form, for any covariance. :func:`solve_backfitting` runs it on the K x K
diagonal problem in principal axes. That is exactly equivalent: the algorithm commutes with rotations,
and when it starts inside the span of the leading axes it never leaves it. (A perturbation of rank
(M-1)H of the K x K block still has H singular values of at least :math:`s_K`, by Weyl, so the top
eigenvectors of :math:`\Phi` are inside; when K is the rank, the outside block of :math:`\Phi` is 0.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from modae.core.objective import Problem, Solution, conclude, linear_terms
from modae.utils.arrays import Array

#: Decoders (M, D, H) and encoders (M, H, D).
Pair: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class Descent:
    """Where an iterative method ended: modules, the loss at the start and after each epoch."""

    decoders: Array
    encoders: Array
    losses: list[float]
    converged: bool


def random_modules(n_modules: int, n_features: int, n_components: int, rng: np.random.Generator) -> Pair:
    """Random decoders (M, D, H) and encoders (M, H, D) of moderate size."""
    shape = (n_modules, n_features, n_components)
    decoders = rng.standard_normal(shape) / np.sqrt(n_features)
    encoders = rng.standard_normal((n_modules, n_components, n_features)) / np.sqrt(n_features)
    return decoders, encoders


def update_module(
    decoders: Array, encoders: Array, module: int, covariance: Array, diversity: float
) -> tuple[Array, Array]:
    """The best (A_i, B_i) with the other modules fixed, for a diversity below M/(M-1).

    ``covariance`` is D x D, or its diagonal. At M/(M-1) and above one module alone can drive the loss
    to minus infinity, so there is no best one.
    """
    n_modules, n_features, width = decoders.shape
    own_weight = 1.0 - diversity * (n_modules - 1) / n_modules
    if own_weight <= 0.0:
        raise ValueError(
            f"diversity must be below M/(M-1) = {n_modules / (n_modules - 1):g} for one module to have "
            f"a best update, got {diversity!r}."
        )
    sigma = np.diag(covariance) if covariance.ndim == 1 else covariance
    others = (A @ B for j, (A, B) in enumerate(zip(decoders, encoders, strict=True)) if j != module)
    Z = sum(others, np.zeros((n_features, n_features))) / n_modules
    left_over = np.eye(n_features) - diversity * Z
    Phi = left_over @ sigma @ left_over.T
    A = np.linalg.eigh(Phi)[1][:, : -width - 1 : -1]
    B = A.T @ left_over / own_weight
    return A, B


def backfit(covariance: Array, start: Pair, diversity: float, **limits: Any) -> Descent:
    """Algorithm 1 from given modules, until an epoch gains less than ``min_decrease``.

    Parameters
    ----------
    covariance : ndarray of shape (D, D), or (D,) for a diagonal one
    start : (decoders, encoders) of shapes (M, D, H) and (M, H, D)
    diversity : float
    **limits
        When to stop, as in :func:`run_epochs`.
    """

    def epoch(modules: Pair, loss: float) -> tuple[Pair, float]:
        decoders, encoders = (each.copy() for each in modules)
        for module in range(len(decoders)):
            decoders[module], encoders[module] = update_module(
                decoders, encoders, module, covariance, diversity
            )
        return (decoders, encoders), mean_loss((decoders, encoders), covariance, diversity)

    return run_epochs(epoch, start, mean_loss(start, covariance, diversity), **limits)


def mean_loss(modules: Pair, covariance: Array, diversity: float) -> float:
    """Loss of linear modules, averaged over data with this covariance."""
    return float(linear_terms(*modules, covariance).ambiguity_loss(diversity))


def run_epochs(
    epoch: Callable[[Pair, float], tuple[Pair, float]],
    modules: Pair,
    loss: float,
    *,
    max_iter: int = 1000,
    min_decrease: float = 0.0,
    target: float = -np.inf,
) -> Descent:
    """Epochs from modules and their loss to better ones, until one of them gains too little.

    Parameters
    ----------
    epoch : callable
        From (modules, loss) to (modules, loss). If it makes the loss grow without limit, the descent
        ends there, ``converged=False``.
    modules, loss
        The start.
    max_iter : int
        Most epochs.
    min_decrease : float
        The paper's stopping rule.
    target : float
        Stop as soon as the loss is at most this.
    """
    losses = [loss]
    for _ in range(max_iter):
        modules, loss = epoch(modules, loss)
        losses.append(loss)
        if not loss <= 1e3 * abs(losses[0]):
            break
        if loss <= target or losses[-2] - loss <= min_decrease:
            return Descent(*modules, losses, converged=True)
    return Descent(*modules, losses, converged=False)


def solve_backfitting(
    problem: Problem, rng: np.random.Generator, *, tol: float = 1e-9, max_iter: int = 1000
) -> Solution:
    """Algorithm 1 in principal axes, until an epoch gains less than ``tol`` of the variance."""
    return solve_by_epochs(backfit, "backfitting", problem, rng, tol, max_iter)


def solve_by_epochs(
    method: Callable[..., Descent],
    solver: str,
    problem: Problem,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
) -> Solution:
    """An iterative method in principal axes, from random modules.

    It runs in units of the variance, so that nothing over- or underflows.
    """
    total, n_axes = problem.total_variance or 1.0, len(problem.eigenvalues)
    start = random_modules(problem.n_modules, n_axes, problem.n_components, rng)
    limits = {"max_iter": max_iter, "min_decrease": tol}
    descent = method(problem.eigenvalues / total, start, problem.diversity, **limits)
    beyond = problem.variance_beyond(n_axes)
    return conclude(
        problem,
        descent.decoders,
        descent.encoders,
        solver=solver,
        n_iter=len(descent.losses) - 1,
        converged=descent.converged,
        loss_history=[beyond + total * loss for loss in descent.losses],
    )
