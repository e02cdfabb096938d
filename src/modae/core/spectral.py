r"""The spectral solver: the global optimum at the cost of one PCA, wherever its lower bound is attained.

spectrum -> allocation -> subspaces -> encoders, each solved exactly or to round-off. Where no modules
have the allocation, as on plateaus, it is found again under more inequalities (:mod:`modae.core.cuts`);
where that has no modules either, L-BFGS on the loss itself goes the rest of the way.

For that last step: with the encoders eliminated the loss is a smooth function of the mean projector,
:math:`E=\mathrm{tr}\,\Sigma-\mathrm{tr}(\Sigma f(\bar P))`. Any full-rank :math:`W_i=Q_iR_i` names the
subspace of :math:`Q_i`, so L-BFGS runs without constraints, with the gradient

.. math:: -\tfrac2M\,(I-Q_iQ_i^T)\,\Gamma\,Q_iR_i^{-T},\qquad
          \Gamma=(1-\lambda)S^{-1}\Sigma S^{-1},\quad S=(1-\lambda)I+\lambda\bar P .
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from modae.core.allocation import ZERO_OR_ONE
from modae.core.frames import best_encoders, mean_projector, module_subspaces
from modae.core.objective import CLOSED, Problem, Solution, conclude
from modae.utils.arrays import Array

#: Shares that differ by less are equal.
TIED = 1e-9

#: Size of the random step aside before the second descent; frames have entries of size 1.
NOISE = 1e-2


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
    >>> from modae.core.objective import Problem
    >>> from modae.core.spectral import solve_spectral
    >>> problem = Problem(np.array([4.0, 2.0, 1.0]), 7.0, 3, 1, 0.8)
    >>> solution = solve_spectral(problem, np.random.default_rng(0))
    >>> solution.attainment, solution.shares.round(3).tolist()
    ('attained', [0.543, 0.311, 0.146])
    """
    if has_plateau(problem.allocation.shares):
        # Perhaps no modules have these shares, and Newton's method would fail slowly.
        problem = problem.with_all_cuts
    frames, n_iter = module_subspaces(problem.allocation, problem.n_modules, rng)
    converged = True
    encoders = best_encoders(frames, problem.diversity)
    history = [problem.loss(frames, encoders)]  # measured, and not taken from the bound
    if problem.gap_to_ideal(history[-1]) > tol:
        # A second attempt, from other random frames: far cheaper than a descent where it succeeds.
        problem = problem.with_all_cuts
        strong, steps = module_subspaces(problem.allocation, problem.n_modules, rng, is_patient=True)
        n_iter += steps
        strong_encoders = best_encoders(strong, problem.diversity)
        if (loss := problem.loss(strong, strong_encoders)) < history[-1]:
            frames, encoders = strong, strong_encoders
            history.append(loss)
    # Axes that no module uses stay unused in a descent: the second time noise sets them free.
    for noise in (0.0, NOISE) if 0.0 < problem.diversity < 1.0 else ():
        if problem.gap_to_ideal(history[-1]) <= tol:
            break
        start = on_all_axes(frames, len(problem.eigenvalues))
        start = perturbed(start, rng, noise) if noise else start
        polished, steps, ended = polish(start, problem.eigenvalues, problem.diversity, max_iter)
        n_iter += steps
        new_encoders = best_encoders(polished, problem.diversity)
        loss = problem.loss(polished, new_encoders)
        if loss < history[-1]:
            frames, encoders, converged = polished, new_encoders, ended
        history.append(min(loss, history[-1]))
    return conclude(
        problem,
        frames,
        encoders,
        solver="spectral",
        n_iter=n_iter,
        converged=converged,
        loss_history=history,
    )


def has_plateau(shares: Array) -> bool:
    """Whether two axes in a row have the same share, neither 0 nor 1, as equal eigenvalues have."""
    split = shares[(shares > ZERO_OR_ONE) & (shares < 1.0 - ZERO_OR_ONE)]
    return bool((np.abs(np.diff(split)) < TIED).any())


def polish(
    frames: Array, eigenvalues: Array, diversity: float, max_iter: int = 2000
) -> tuple[Array, int, bool]:
    """Frames with a smaller loss, for a diversity in (0, 1).

    Parameters
    ----------
    frames : ndarray of shape (M, K, H)
    eigenvalues : ndarray of shape (K,)

    Returns
    -------
    frames : ndarray of shape (M, K, H)
    n_iter : int
    converged : bool
        Whether the descent came to its end.
    """
    variances = eigenvalues / eigenvalues.sum()
    result = minimize(
        lambda flat: reduced_loss(flat.reshape(frames.shape), variances, diversity),
        frames.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxcor": 20,
            "gtol": 1e-10,
            "ftol": 1e-16,
            "maxiter": max_iter,
            "maxfun": 2 * max_iter,
        },
    )
    polished = np.linalg.qr(result.x.reshape(frames.shape))[0]
    # Status 1 is a limit reached. Status 2, a line search that finds nothing better, is an end too.
    return polished, int(result.nit), result.status != 1


def on_all_axes(frames: Array, n_axes: int) -> Array:
    """The same frames with zeros for the axes they do not use."""
    return np.pad(frames, ((0, 0), (0, n_axes - frames.shape[1]), (0, 0)))


def perturbed(frames: Array, rng: np.random.Generator, size: float) -> Array:
    """Frames a random step of this size aside."""
    return np.linalg.qr(frames + size * rng.standard_normal(frames.shape))[0]


def reduced_loss(stack: Array, variances: Array, diversity: float) -> tuple[float, Array]:
    """Loss of the subspaces spanned by the columns of each matrix, with gradient (flat)."""
    frames, triangles = np.linalg.qr(stack)
    identity = np.eye(len(variances))
    inverse = np.linalg.inv((1.0 - diversity) * identity + diversity * mean_projector(frames))
    # 1 - f(P) = (1 - lam) (S^-1 - I) / lam, which is small where the loss is small.
    unexplained = (1.0 - diversity) / diversity * (np.diag(inverse) - 1.0)
    gamma = (1.0 - diversity) * (inverse * variances) @ inverse
    pull = gamma @ frames
    pull -= frames @ (frames.mT @ pull)
    gradient = -2.0 / len(frames) * np.linalg.solve(triangles, pull.mT).mT
    return float(variances @ unexplained), gradient.ravel()
