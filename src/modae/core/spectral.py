"""The spectral solver: the global optimum at the cost of one PCA.

spectrum -> allocation -> subspaces -> encoders, each solved exactly or to round-off; where the ideal
allocation has no modules, L-BFGS on the loss itself goes the rest of the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modae.core.encoders import best_encoders
from modae.core.frames import module_subspaces
from modae.core.polish import on_all_axes, perturbed, polish
from modae.core.solution import CLOSED, Problem, Solution, conclude
from modae.utils.arrays import Array

NOISE = 1e-2
"""Size of the random step aside before the second descent; frames have entries of size 1."""


def solve_spectral(
    problem: Problem, rng: np.random.Generator, *, tol: float = CLOSED, max_iter: int = 2000
) -> Solution:
    """Modules that attain the lower bound, or the best ones found where none can.

    Parameters
    ----------
    problem : Problem
    rng : numpy Generator
        Picks one of the many configurations with the same, optimal, loss.
    tol : float
        A gap above this fraction of the variance is worked on further.
    max_iter : int
        Most iterations of that further work.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.solution import Problem
    >>> from modae.core.spectral import solve_spectral
    >>> problem = Problem(np.array([4.0, 2.0, 1.0]), 7.0, 3, 1, 0.8)
    >>> solution = solve_spectral(problem, np.random.default_rng(0))
    >>> solution.attainment, solution.shares.round(3).tolist()
    ('attained', [0.543, 0.311, 0.146])
    """
    subspaces = module_subspaces(problem.allocation, problem.n_modules, rng)
    found = BestModules(subspaces.frames, *_encode(problem, subspaces.frames), subspaces.n_iter)
    history = [found.loss]
    if 0.0 < problem.diversity < 1.0:
        # Axes that no module uses stay unused in a descent: the second time noise sets them free.
        for noise in (0.0, NOISE):
            if problem.distance(found.loss) > tol:
                found = _polished(problem, found, rng, noise, max_iter)
                history.append(found.loss)
    return conclude(
        problem,
        found.frames,
        found.encoders,
        solver="spectral",
        n_iter=found.n_iter,
        converged=found.converged,
        loss_history=history,
    )


class BestModules(NamedTuple):
    """The best modules so far."""

    frames: Array
    encoders: Array
    loss: float
    n_iter: int
    converged: bool = True


def _polished(
    problem: Problem, found: BestModules, rng: np.random.Generator, noise: float, max_iter: int
) -> BestModules:
    """The modules after descent on the loss itself, if that made them better."""
    start = on_all_axes(found.frames, len(problem.eigenvalues))
    if noise > 0.0:
        start = perturbed(start, rng, noise)
    end = polish(start, problem.eigenvalues, problem.diversity, max_iter)
    n_iter = found.n_iter + end.n_iter
    encoders, loss = _encode(problem, end.frames)
    if loss < found.loss:
        return BestModules(end.frames, encoders, loss, n_iter, end.converged)
    return found._replace(n_iter=n_iter)


def _encode(problem: Problem, frames: Array) -> tuple[Array, float]:
    """Best encoders for these decoders, and the loss of both, measured and not taken from the bound."""
    encoders = best_encoders(frames, problem.diversity)
    return encoders, problem.loss(frames, encoders)
