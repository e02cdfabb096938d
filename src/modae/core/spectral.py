"""The spectral solver: the global optimum at the cost of one PCA.

spectrum -> allocation -> subspaces -> encoders, each solved exactly or to round-off; where the ideal
allocation has no modules, L-BFGS on the loss itself goes the rest of the way.
"""

from __future__ import annotations

import numpy as np

from modae.core.arrays import Array
from modae.core.codecs import best_encoders
from modae.core.polish import on_all_axes, perturbed, polish
from modae.core.solution import CLOSED, Problem, Solution, conclude
from modae.core.subspaces import module_subspaces


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
    frames, n_iter = subspaces.frames, subspaces.n_iter
    encoders, loss = _encode(problem, frames)
    history = [loss]
    for attempt in range(2):
        if not 0.0 < problem.diversity < 1.0 or problem.gap(history[-1]) <= tol:
            break
        start = on_all_axes(frames, len(problem.eigenvalues))
        if attempt:
            start = perturbed(start, rng)
        candidate, steps = polish(start, problem.eigenvalues, problem.diversity, max_iter)
        n_iter += steps
        candidate_encoders, loss = _encode(problem, candidate)
        if loss < history[-1]:
            frames, encoders = candidate, candidate_encoders
            history.append(loss)
    return conclude(problem, frames, encoders, solver="spectral", n_iter=n_iter, loss_history=history)


def _encode(problem: Problem, frames: Array) -> tuple[Array, float]:
    """Best encoders for these decoders, and the loss of both, measured and not taken from the bound."""
    encoders = best_encoders(frames, problem.diversity)
    return encoders, problem.loss(frames, encoders)
