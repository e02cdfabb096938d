r"""Step 3, where a spectrum has plateaus: more that the shares of any modules satisfy, as constraints.

On smooth spectra the shares of :mod:`modae.core.allocation` belong to actual modules. On plateaus they
may belong to none: for three or more modules of two or more components its condition is necessary, and
not sufficient. The full answer is a family of Horn inequalities. A part of it that can be searched, for
d = 1..H-1:

*Choose M windows of H-d axes in a row among the MH axes, so that on average d axes in no window come
before a window. The axes in no window hold at most d units.*

In a formula, with :math:`n_k` windows after the k-th of the Md axes in no window,

.. math:: \sum_{k=1}^{Md} p_{k+(H-d)(M-n_k)} \le d, \qquad
          M\ge n_1\ge\dots\ge n_{Md}\ge0,\quad \sum_kn_k=Md .

(If all windows come after the first d axes, that is the condition of the allocation for shells 1..d.)
Projectors on the orthogonal complements give as many again: K-H in place of H, and 1-p in place of p.
All of them have one form, a :class:`Cut`: the axes of a set S hold at most r units. Where a cut holds
with equality, the modules split: r components of each module lie in S, and the others outside.

Cuts are linear in the shares, so they can be added as constraints, and lift the bound to the optimum:

.. math::
   \text{maximise } \sum_k w_k f(p_k) \quad\text{over}\quad 1\ge p_1\ge\dots\ge p_K\ge0,\;
   \sum_k p_k=H,\; \sum_{k\in S}p_k\le r \text{ for each cut } (S, r).

Each round solves this and adds the cuts that the solution violates, until there is none. An
interior-point method solves it; the certificate does not depend on how well: *any* prices
:math:`\mu` of a unit and :math:`\nu\ge0` of the cuts prove, for all shares,

.. math::
   \sum_k w_kf(p_k)\le\mu H+\sum_c\nu_cr_c+\max_{1\ge q_1\ge\dots\ge q_K\ge0}\sum_k(w_kf(q_k)-\pi_kq_k),
   \qquad \pi_k=\mu+\sum_{c:\,k\in S_c}\nu_c ,

and the maximum on the right is found exactly, by pooling neighbours whose best shares would rise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from modae.core.allocation import Allocation, Block, loss_of_shares
from modae.utils.arrays import Array

#: A violation must exceed this, far above round-off in the shares. Shares this close to 0 or 1 are taken
#: away before the search.
MARGIN = 1e-9

#: Most modules times components that are searched: the time grows with its cube.
LARGEST_SEARCH = 600

#: Rounds of added cuts, far beyond what was seen, and steps of the interior-point method, which run out
#: only where round-off keeps it from ending: any number of either gives a bound.
MAX_ROUNDS, MAX_STEPS = 50, 80

#: Errors of a bound up to this are round-off; the variance is 1.
ROUND_OFF = 1e-14

#: The interior-point method ends when slacks times multipliers are below this, or when round-off has
#: made the error so many times larger than it was.
SMALLEST_GAP, GROWN = 1e-18, 100.0


class Cut(NamedTuple):
    """The axes in ``mask`` hold at most ``units`` units."""

    mask: np.ndarray
    units: int


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
    found = any(cuts_at(allocation.shares, n_modules, n_components, MARGIN))
    if not found and (allocation.shares[:full] > 1.0 - MARGIN).all():
        return allocation
    shares = (np.arange(n_axes) < full) * 1.0
    shares[full:], surplus = _rounds_of_cuts(w / w.sum(), n_modules, units, diversity)
    block = Block(np.arange(n_axes), n_components, np.nan)
    return Allocation(shares, (block,), has_cuts=True, surplus=surplus * float(w.sum()))


def _rounds_of_cuts(
    w: Array, n_modules: int, n_components: int, diversity: float
) -> tuple[Array, float]:
    """Shares for eigenvalues of sum 1, and how far their loss is above the proven bound."""
    cuts, loss = shell_cuts(len(w), n_modules, n_components), 0.0
    for _ in range(MAX_ROUNDS):
        sets = np.array([cut.mask for cut in cuts], dtype=np.float64).reshape(-1, len(w))
        limits = np.array([cut.units for cut in cuts], dtype=np.float64)
        p, price, prices = _interior_point(w, n_components, sets, limits, diversity)
        p = np.sort(np.clip(p, 0.0, 1.0))[::-1]
        new = list(cuts_at(p, n_modules, n_components, MARGIN))
        binds = prices > limits - sets @ p
        before, loss = loss, loss_of_shares(w, p, diversity, 1.0)
        if (not new and binds.all()) or loss < before + ROUND_OFF:
            break
        # Without the cuts that do not bind the solution would be the same, and more precise.
        cuts = [cut for cut, kept in zip(cuts, binds, strict=True) if kept] + new
    return p, loss - _proven_bound(w, n_components, sets, limits, diversity, price, prices)


def shell_cuts(n_axes: int, n_modules: int, n_components: int) -> list[Cut]:
    """The condition of the allocation as cuts."""
    places, size = np.arange(n_axes), n_modules * n_components
    cuts = ((places < j) | (places >= size - j * (n_modules - 1)) for j in range(1, n_components))
    return [Cut(mask, j) for j, mask in enumerate(cuts, 1)]


def cuts_at(shares: Array, n_modules: int, n_components: int, margin: float) -> Iterator[Cut]:
    """The cut with the largest left side for each d, if that exceeds the right side by the margin.

    A positive margin gives cuts that the shares violate: no modules have them. A small negative one also
    gives those that hold with equality.

    Parameters
    ----------
    shares : ndarray of shape (K,)
        Falling.
    n_modules, n_components : int
        M and H, the sum of the shares.
    margin : float

    Examples
    --------
    Three planes in five dimensions cannot share the axes evenly: the last three hold one unit at most.

    >>> import numpy as np
    >>> from modae.core.cuts import cuts_at
    >>> cut = next(cuts_at(np.full(5, 2 / 5), 3, 2, 1e-9))
    >>> cut.mask.astype(int).tolist(), cut.units
    ([0, 0, 1, 1, 1], 1)
    >>> list(cuts_at(np.array([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]), 3, 2, 1e-9))
    []
    """
    # Axes that all modules use and axes that none uses take no part. A cut for the others holds for any
    # shares once it is lifted: all other axes are added to its set, and one unit for each full one.
    full = int(np.count_nonzero(shares > 1.0 - MARGIN))
    used = int(np.count_nonzero(shares > MARGIN))
    split, units = shares[full:used], n_components - full
    for d, free in _fullest_sets(split, n_modules, units, margin):
        mask = np.ones(len(shares), dtype=bool)
        mask[full : full + len(free)] = free[: len(shares) - full]
        yield Cut(mask, full + d)
    for d, free in _fullest_sets(1.0 - split[::-1], n_modules, len(split) - units, margin):
        # Complements: the axes counted from the last used one hold at least so many units ...
        free = free[:used]
        others = np.ones(len(shares), dtype=bool)
        others[used - len(free) : used] = free[::-1]
        # ... and the rest at most what is left.
        yield Cut(~others, n_components + d - int(others[:used].sum()))


def _fullest_sets(
    shares: Array, n_modules: int, n_components: int, margin: float
) -> Iterator[tuple[int, np.ndarray]]:
    size = n_modules * n_components
    if not len(shares) <= size <= LARGEST_SEARCH:
        return
    padded = np.pad(shares, (0, size - len(shares)))
    for d in range(1, n_components):
        windows = (n_modules * (n_components - 1), 1) if d == 1 else (n_modules, n_components - d)
        value, free = largest_left_side(padded, *windows, d)
        if value > d + margin:
            yield d, free


def largest_left_side(shares: Array, n_windows: int, width: int, d: int) -> tuple[float, np.ndarray]:
    """The most that the axes in no window hold, over all choices of the windows; and which they are.

    A dynamic programme, one window after the other, for the least that windows hold. ``least[m, t]`` is
    for windows of which the last has m free axes before it, and all of them have t, summed up. The
    average of d gives ``m <= Md / (windows still to come)`` and ``t <= d * (windows so far)``.
    """
    total, n_free = n_windows * d, len(shares) - n_windows * width
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    held = sums[width:] - sums[:-width]  # by a window that begins at this axis
    reached, tables = np.zeros((1, 1)), []  # the least with at most m free axes before the last window
    for j in range(n_windows - 1):
        height = min(total // (n_windows - j), n_free) + 1
        least = _rows_moved_right(reached, height, (j + 1) * d + 1)
        least += held[j * width : j * width + height, None]
        reached = np.minimum.accumulate(least, axis=0)
        tables.append(least)
    # The last window has all the free axes before it that the sum still needs: d or more.
    before = np.arange(d, n_free + 1)
    ends = held[(n_windows - 1) * width + before]
    ends = ends + reached[np.minimum(before, len(reached) - 1), total - before]
    m, t = d + int(ends.argmin()), total
    free = np.ones(len(shares), dtype=bool)
    for j in reversed(range(n_windows)):  # the way back
        free[j * width + m : (j + 1) * width + m] = False
        t -= m
        m = int(tables[j - 1][: m + 1, t].argmin()) if j else 0
    return float(sums[-1] - ends.min()), free


def _rows_moved_right(matrix: Array, height: int, width: int) -> Array:
    """Row m moved m places to the right, with inf coming in; further rows are like the last one."""
    known, columns = len(matrix), slice(height, height + matrix.shape[1])
    padded = np.full((height, height + width), np.inf)
    padded[:known, columns] = matrix
    padded[known:, columns] = matrix[-1]
    # Entry (m, t) is entry (m, height + t - m) of the padded matrix: rows one entry shorter.
    return padded.ravel()[height : height + height * (height + width - 1)].reshape(height, -1)[:, :width]


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # the last step may find no slack left
def _interior_point(
    w: Array, units: int, sets: Array, most: Array, diversity: float
) -> tuple[Array, float, Array]:
    """Shares, the price of a unit and the prices of the cuts, by Mehrotra's predictor and corrector.

    The constraints are steps, 1 - p_1, p_1 - p_2, ..., p_K, which are not negative, and the cuts: the
    sets, (n_cuts, K), hold at most so many units.
    """
    # Axes in a row that have one eigenvalue and are in the same cuts have one share (f is concave).
    alike = (np.diff(w) == 0.0) & (np.diff(sets, axis=1) == 0.0).all(axis=0)
    first = np.flatnonzero(np.append(True, ~alike))
    sizes, even = np.diff(np.append(first, len(w))), units / len(w)
    w, sets, n_axes, lam = w[first] * sizes, sets[:, first] * sizes, len(first), diversity
    limits = np.concatenate([np.eye(1, n_axes + 1)[0], most])

    def sums(p: Array) -> Array:
        return np.concatenate([np.diff(p, prepend=0.0, append=0.0), sets @ p])

    def turned(z: Array) -> Array:  # the transpose of ``sums``
        return z[:n_axes] - z[1 : n_axes + 1] + z[n_axes + 1 :] @ sets

    p = even + 0.5 * min(even, 1.0 - even) * np.linspace(1.0, -1.0, n_axes)
    slacks, z, price = np.maximum(limits - sums(p), 1e-2), np.full(len(limits), 1e-2), 0.1
    least, best = np.inf, (p, price, z)
    for _ in range(MAX_STEPS):
        gap, kept = slacks @ z, 1.0 - lam + lam * p
        uphill = turned(z) + price * sizes - (1.0 - lam) * w / kept**2
        error = gap + np.abs(uphill).sum()  # how far the bound of these prices may be off
        if error <= max(least, ROUND_OFF):
            least, best = error, (p, price, z)
        if gap < SMALLEST_GAP or not error <= GROWN * max(least, ROUND_OFF):
            break  # the end, or as far as float64 goes (error may be nan)
        primal, short = sums(p) + slacks - limits, sizes @ p - units
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
                move, level = np.linalg.solve(matrix, np.column_stack([right, sizes])).T
                rise = (sizes @ move + short) / (sizes @ level)
                move = move - rise * level
                slack_move = -primal - sums(move)
                z_move = -(target + z * slack_move) / slacks
                length = min(_longest(slacks, slack_move), _longest(z, z_move))
                if not is_corrector:
                    left = (slacks + length * slack_move) @ (z + length * z_move)
                    target = target + slack_move * z_move - (left / gap) ** 3 * gap / len(z)
        except np.linalg.LinAlgError:
            break
        p, price = p + length * move, price + length * rise
        slacks, z = slacks + length * slack_move, z + length * z_move
    p, price, z = best
    return np.repeat(p, sizes), float(price), z[n_axes + 1 :]


def _longest(values: Array, moves: Array) -> float:
    """The longest step, up to 1, that leaves all values positive."""
    falling = moves < 0.0
    return float(min(1.0, 0.99 * np.min(-values[falling] / moves[falling], initial=np.inf)))


def _proven_bound(
    w: Array, units: int, sets: Array, limits: Array, diversity: float, price: float, prices: Array
) -> float:
    """The loss that these prices prove to be the least possible, see the top of this file."""
    lam = diversity

    def best_share(worth: float, cost: float) -> float:
        if cost <= 0.0:
            return 1.0
        return float(np.clip((np.sqrt((1.0 - lam) * worth / cost) - (1.0 - lam)) / lam, 0.0, 1.0))

    pools: list[tuple[float, float, int, float]] = []  # worth, cost, axes and their best share
    for worth, cost in zip(w.tolist(), (price + prices @ sets).tolist(), strict=True):
        pool = worth, cost, 1, best_share(worth, cost)
        while pools and pools[-1][3] < pool[3]:  # shares fall: two that rise share one
            worth, cost, size, _ = (a + b for a, b in zip(pools.pop(), pool, strict=True))
            pool = worth, cost, size, best_share(worth, cost)
        pools.append(pool)
    p = np.repeat([pool[3] for pool in pools], [pool[2] for pool in pools])
    unsold = price * (units - p.sum()) + prices @ (limits - sets @ p)
    return loss_of_shares(w, p, lam, float(w.sum())) - float(unsold)
