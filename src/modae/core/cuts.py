r"""Step 3, where a spectrum has plateaus: the allocation under every inequality that it would violate.

On smooth spectra the shares of :mod:`modae.core.allocation` belong to actual modules. On plateaus they
may violate an inequality of :mod:`modae.core.inequalities`. These are linear in the shares, so they can
be added as constraints, and lift the bound to the optimum:

.. math::
   \text{maximise } \sum_k w_k f(p_k) \quad\text{over}\quad 1\ge p_1\ge\dots\ge p_K\ge0,\;
   \sum_k p_k=H,\; \sum_{k\in S}p_k\le r \text{ for each cut } (S, r).

Each round solves this and adds the inequalities that the solution violates, until there is none. An
interior-point method solves it; the certificate does not depend on how well: *any* prices
:math:`\mu` of a unit and :math:`\nu\ge0` of the cuts prove, for all shares,

.. math::
   \sum_k w_kf(p_k)\le\mu H+\sum_c\nu_cr_c+\max_{1\ge q_1\ge\dots\ge q_K\ge0}\sum_k(w_kf(q_k)-\pi_kq_k),
   \qquad \pi_k=\mu+\sum_{c:\,k\in S_c}\nu_c ,

and the maximum on the right is an isotonic regression.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from modae.core.allocation import Allocation, Block, lower_bound
from modae.core.inequalities import Cut, cuts_at
from modae.utils.arrays import Array

#: A violation must exceed this, far above round-off in the shares.
MARGIN = 1e-9

#: Rounds of added inequalities, and steps of the interior-point method: both far beyond what was seen.
MAX_ROUNDS, MAX_STEPS = 50, 80

#: The interior-point method ends when slacks times multipliers are below this; the variance is 1.
SMALLEST_GAP = 1e-15


def allocate_with_cuts(
    allocation: Allocation, eigenvalues: Array, n_modules: int, diversity: float
) -> Allocation:
    """Shares that violate no known inequality, and a bound that takes these into account.

    Parameters
    ----------
    allocation : Allocation
        That of :func:`modae.core.allocation.allocate`; it comes back as it is if nothing is violated.
    eigenvalues : ndarray of shape (K,)
        Falling and positive.
    n_modules, diversity
        M, and lam strictly between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.allocation import allocate
    >>> from modae.core.cuts import allocate_with_cuts
    >>> five = np.full(5, 0.2)
    >>> allocate_with_cuts(allocate(five, 3, 2, 0.5), five, 3, 0.5).shares.round(6).tolist()
    [0.5, 0.5, 0.333333, 0.333333, 0.333333]
    """
    n_axes, n_components = len(eigenvalues), round(float(allocation.shares.sum()))
    # So few axes that the complements cannot span them: the first ones are in every module.
    full = max(0, n_axes - n_modules * (n_axes - n_components))
    units, w = n_components - full, eigenvalues[full:]
    found = list(cuts_at(allocation.shares, n_modules, n_components, MARGIN))
    if not found and (allocation.shares[:full] > 1.0 - MARGIN).all():
        return allocation
    shares, surplus = np.ones(n_axes), 0.0
    shares[full:] = 0.0
    if units:
        cuts = shell_cuts(len(w), n_modules, units)
        for _ in range(MAX_ROUNDS):
            sets = np.array([cut.mask for cut in cuts], dtype=np.float64).reshape(-1, len(w))
            limits = np.array([cut.units for cut in cuts], dtype=np.float64)
            part, price, prices = _interior_point(w / w.sum(), units, sets, limits, diversity)
            part = np.sort(np.clip(part, 0.0, 1.0))[::-1]
            known = {(cut.mask.tobytes(), cut.units) for cut in cuts}
            new = list(cuts_at(part, n_modules, units, MARGIN))
            new = [cut for cut in new if (cut.mask.tobytes(), cut.units) not in known]
            if not new:
                break
            cuts += new
        shares[full:] = part
        paid = w.sum() * price, w.sum() * prices
        proven = _proven_bound(w, units, sets, limits, diversity, *paid)
        surplus = lower_bound(w, part, diversity, float(w.sum())) - proven
    return Allocation(shares, (Block(np.arange(n_axes), n_components, np.nan),), True, surplus)


def shell_cuts(n_axes: int, n_modules: int, n_components: int) -> list[Cut]:
    """The condition of the allocation as cuts: for the modules, and for their complements."""
    places, cuts = np.arange(n_axes), []
    for j in range(1, n_components):
        mask = (places < j) | (places >= n_modules * n_components - j * (n_modules - 1))
        cuts.append(Cut(mask, j))
    for used in range(n_components + 1, n_axes):
        # If no module used more axes, so many would be in every module.
        full = n_modules * n_components - (n_modules - 1) * used
        if full > 0:
            cuts.append(Cut((places >= full) & (places < used), n_components - full))
    return [cut for cut in cuts if not cut.mask.all()]


def _interior_point(
    w: Array, units: int, sets: Array, most: Array, diversity: float
) -> tuple[Array, float, Array]:
    """Shares, the price of a unit and the prices of the cuts, by Mehrotra's predictor and corrector.

    The constraints are steps, 1 - p_1, p_1 - p_2, ..., p_K, which are not negative, and the cuts: the
    sets, (n_cuts, K), hold at most so many units.
    """
    n_axes, lam = len(w), diversity
    limits = np.concatenate([np.eye(1, n_axes + 1)[0], most])

    def sums(p: Array) -> Array:
        return np.concatenate([np.diff(p, prepend=0.0, append=0.0), sets @ p])

    def turned(z: Array) -> Array:  # the transpose of ``sums``
        return z[:n_axes] - z[1 : n_axes + 1] + z[n_axes + 1 :] @ sets

    p = units / n_axes + 0.5 * min(units, n_axes - units) / n_axes * np.linspace(1.0, -1.0, n_axes)
    slacks, z, price = np.maximum(limits - sums(p), 1e-2), np.full(len(limits), 1e-2), 0.1
    for _ in range(MAX_STEPS):
        gap = slacks @ z
        if gap < SMALLEST_GAP:
            break
        kept = 1.0 - lam + lam * p
        uphill = turned(z) + price - (1.0 - lam) * w / kept**2
        primal, short = sums(p) + slacks - limits, p.sum() - units
        ratio = z / slacks
        steps, of_cuts = ratio[: n_axes + 1], ratio[n_axes + 1 :]
        matrix = (sets.T * of_cuts) @ sets - np.diag(steps[1:-1], 1) - np.diag(steps[1:-1], -1)
        np.fill_diagonal(
            matrix, np.diag(matrix) + steps[:-1] + steps[1:] + 2.0 * lam * (1.0 - lam) * w / kept**3
        )
        target = slacks * z
        try:
            for is_corrector in (False, True):
                right = -(uphill + turned((z * primal - target) / slacks))
                move, level = np.linalg.solve(matrix, np.column_stack([right, np.ones(n_axes)])).T
                rise = (move.sum() + short) / level.sum()
                move = move - rise * level
                slack_move = -primal - sums(move)
                z_move = -(target + z * slack_move) / slacks
                length = min(_longest(slacks, slack_move), _longest(z, z_move))
                if not is_corrector:
                    left = (slacks + length * slack_move) @ (z + length * z_move)
                    target = target + slack_move * z_move - (left / gap) ** 3 * gap / len(z)
        except np.linalg.LinAlgError:
            break  # as far as float64 goes
        p, price = p + length * move, price + length * rise
        slacks, z = slacks + length * slack_move, z + length * z_move
    return p, float(price), z[n_axes + 1 :]


def _longest(values: Array, moves: Array) -> float:
    """The longest step, up to 1, that leaves all values positive."""
    falling = moves < 0.0
    return float(min(1.0, 0.99 * np.min(-values[falling] / moves[falling], initial=np.inf)))


def _proven_bound(
    w: Array, units: int, sets: Array, limits: Array, diversity: float, price: float, prices: Array
) -> float:
    """The loss that these prices prove to be the least possible, see the top of this file."""
    lam = diversity
    true = price + prices @ sets
    # A price must be positive to divide by it; what a raised one hides is added at the end.
    raised = np.maximum(true, 1e-12 * np.abs(true).max())
    worth = isotonic_regression(w / raised, weights=raised, increasing=False).x
    p = np.clip((np.sqrt((1.0 - lam) * worth) - (1.0 - lam)) / lam, 0.0, 1.0)
    unsold = price * (units - p.sum()) + prices @ (limits - sets @ p)
    hidden = (raised - true) @ (1.0 - p)
    return lower_bound(w, p, lam, float(w.sum())) - float(unsold + hidden)
