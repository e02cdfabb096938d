r"""Step 3: the spectrum becomes an allocation, and a lower bound on every possible loss.

With the best encoders for given decoders, :math:`B_i=A_i^T((1-\lambda)I+\lambda\bar P)^{-1}` (see
:func:`modae.core.frames.best_encoders`), the loss is
:math:`E=\mathrm{tr}\,\Sigma-\mathrm{tr}(\Sigma f(\bar P))`. It depends only on the mean projector
:math:`\bar P` of the modules, and by von Neumann's trace inequality the best one shares the
principal axes. What remains is its spectrum: :math:`p_k`, *the share of the modules that look at
principal component k*, chosen to

.. math:: \text{maximise } \sum_k w_k f(p_k), \qquad f(p) = \frac{p}{1-\lambda+\lambda p}.

A mean of M projectors of rank H has :math:`0\le p_k\le 1`, :math:`\sum p_k=H` and, since modules that
share an axis have the less rank for others (``docs/beyond.md`` has the proof),

.. math:: \sum_{k\le j} p_k + (\text{the last } j(M-1) \text{ of the } MH \text{ values}) \le j
          \qquad (j = 1..H).

In words: *shell* j is axis j with the j-th group of M-1 axes counted from the end, and shells 1..j
together may hold at most j units. M = 3 and H = 2 have the shells {1, 5, 6} and {2, 3, 4}.
Maximising a separable concave function under such prefix sums is pool-adjacent-violators, with plain
water-filling inside a block of shells. Everything is solved exactly: no iterative root finding.

Two modules keep more than that: the mean of two projectors has the spectrum
:math:`\frac12(1\pm\cos t)` for the angles t between them. So every shell, the pair of axes k and 2H+1-k,
holds *exactly* one unit. For M = 2 each shell is therefore a block of its own, and nothing is pooled.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from modae.utils.arrays import Array, Indices

#: Shares this close to 0 or 1 count as 0 or 1: such an axis belongs to no module or to all.
ZERO_OR_ONE = 1e-12


@dataclass(frozen=True)
class Block:
    """Neighbouring shells that share one water level.

    ``axes`` are rising indices of principal axes, ``units`` the integer sum of their shares, and
    ``level`` the c of ``1 - lam + lam p_k = c s_k``, which rises with the units.
    """

    axes: Indices
    units: int
    level: float


@dataclass(frozen=True)
class Allocation:
    """Shares p of the principal axes, in independent blocks.

    With cuts, see :mod:`modae.core.cuts`, all is one block, and ``surplus`` is how far the proven bound
    lies below the loss of these shares: round-off, as a rule.
    """

    shares: Array
    blocks: tuple[Block, ...]
    has_cuts: bool = False
    surplus: float = 0.0


def allocate(eigenvalues: Array, n_modules: int, n_components: int, diversity: float) -> Allocation:
    """Shares that no set of modules can beat.

    Parameters
    ----------
    eigenvalues : ndarray of shape (K,)
        Leading eigenvalues, falling; at most M*H of them, at least H.
    n_modules, n_components, diversity
        M, H and lam in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from modae.core.allocation import allocate
    >>> allocate(np.array([4.0, 1.0, 1.0]), 3, 1, 0.5).shares.round(3).tolist()
    [1.0, 0.0, 0.0]
    >>> allocate(np.array([4.0, 1.0, 1.0]), 3, 1, 0.8).shares.round(3).tolist()
    [0.625, 0.188, 0.188]
    """
    rank = int(np.count_nonzero(eigenvalues))
    if diversity == 0.0 or n_modules == 1 or rank <= n_components:
        # Plain PCA: every module takes the first H axes.
        top = Block(np.arange(n_components), n_components, np.inf)
        blocks: list[tuple[Block, Array]] = [(top, np.ones(n_components))]
    else:
        blocks = _pooled_blocks(eigenvalues[:rank], n_modules, n_components, diversity)
    shares = np.zeros(len(eigenvalues))
    for block, values in blocks:
        shares[block.axes] = values
    return Allocation(shares, tuple(block for block, _ in blocks))


def loss_of_shares(eigenvalues: Array, shares: Array, diversity: float, total_variance: float) -> float:
    r"""Loss of an ideal set of modules with these shares: :math:`\mathrm{tr}\Sigma-\sum_k w_kf(p_k)`.

    Written as a sum of what each axis leaves unexplained, which is exact where the loss is small.
    """
    missing = (1.0 - diversity) * (1.0 - shares)
    kept = 1.0 - diversity + diversity * shares
    # At lam = 1 an unused axis is 0/0: nothing of it is explained.
    unexplained = np.where(kept > 0.0, missing / np.where(kept > 0.0, kept, 1.0), 1.0)
    beyond = max(0.0, total_variance - float(eigenvalues.sum()))
    return beyond + float(eigenvalues @ unexplained)


def _pooled_blocks(
    eigenvalues: Array, n_modules: int, n_components: int, diversity: float
) -> list[tuple[Block, Array]]:
    """Pool adjacent violators over the shells, from the outermost in."""
    scales = np.sqrt(eigenvalues / eigenvalues[0])
    shells = _shells(len(eigenvalues), n_modules, n_components)
    whole = _fill(scales, np.arange(len(scales)), n_components, diversity)
    held = np.cumsum([whole[1][shell].sum() for shell in shells])  # shells 1..j hold at most j units
    if n_modules > 2 and np.all(held <= np.arange(1, n_components + 1) + 1e-12):
        return [whole]  # at high diversity all shells share one level, and this saves the pooling
    blocks: list[tuple[Block, Array]] = []
    for shell in shells:
        blocks.append(_fill(scales, shell, 1, diversity))
        # Only sums of the first shells are bounded, so what is left may move inwards, and levels must
        # rise from shell to shell: two that fall share one level. With M = 2 each holds exactly one.
        while n_modules > 2 and len(blocks) > 1 and blocks[-2][0].level > blocks[-1][0].level:
            inner, outer = blocks.pop()[0], blocks.pop()[0]
            axes = np.sort(np.concatenate([outer.axes, inner.axes]))
            blocks.append(_fill(scales, axes, outer.units + inner.units, diversity))
    return blocks


def _shells(n_axes: int, n_modules: int, n_components: int) -> list[Indices]:
    """Axis j and the j-th group of M-1 axes from the end of the M*H; axes beyond the rank drop out."""
    end = n_modules * n_components
    shells = []
    for j in range(n_components):
        start = end - (n_modules - 1)
        tail = np.arange(min(start, n_axes), min(end, n_axes))
        shells.append(np.concatenate([[j], tail]))
        end = start
    return shells


def _fill(scales: Array, axes: Indices, units: int, diversity: float) -> tuple[Block, Array]:
    r"""Water-filling: shares clip((c s_k - 1 + lam) / lam, 0, 1) that sum to ``units``.

    The sum is piecewise linear in c, with breakpoints where some axis enters (share 0) or fills up
    (share 1). Bisection over the sorted breakpoints finds the two that enclose the level, and linear
    interpolation ends it. Shares at a breakpoint are taken from differences of the scales, so that a
    tiny diversity loses no digits.
    """
    s, lam = scales[axes], diversity
    if units == len(s) or s[units] <= (1.0 - lam) * s[units - 1]:
        # So steep a fall that nothing is split: the first axes are full, the rest stay dry. Many levels
        # do that; the lowest keeps blocks apart, and pools no shells that need not be.
        return Block(axes, units, 1.0 / s[units - 1]), (np.arange(len(s)) < units) * 1.0
    levels = np.concatenate([(1.0 - lam) / s, 1.0 / s])
    order = np.argsort(levels, kind="stable").tolist()

    def shares_at(place: int) -> Array:
        index = order[place]
        if index < len(s):
            entered = (1.0 - lam) * (s / s[index] - 1.0)
            shares: Array = np.minimum(np.maximum(entered, 0.0), lam) / lam
        else:
            short = 1.0 - s / s[index - len(s)]
            shares = 1.0 - np.minimum(np.maximum(short, 0.0), lam) / lam
        return shares

    upper = bisect_left(range(1, len(order) - 1), units, key=lambda place: shares_at(place).sum()) + 1
    below, above = shares_at(upper - 1), shares_at(upper)
    gain = above.sum() - below.sum()
    part = min(1.0, (units - below.sum()) / gain) if gain > 0.0 else 1.0
    low, high = levels[order[upper - 1]], levels[order[upper]]
    return Block(axes, units, low + part * (high - low)), below + part * (above - below)
