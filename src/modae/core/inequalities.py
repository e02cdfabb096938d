r"""Inequalities that the shares of any modules satisfy, beyond those of the allocation.

The condition of :mod:`modae.core.allocation` is necessary, and not sufficient for three or more modules
of two or more components. The full answer is a family of Horn inequalities. A subfamily that can be
searched: for d = 1..H-1 and every partition of Md into parts
:math:`M\ge n_1\ge\dots\ge n_{Md}\ge0`,

.. math:: \sum_{k=1}^{Md} p_{k+(H-d)(M-n_k)} \le d .

(The condition of the allocation for shells 1..d is the partition :math:`M,\dots,M,0,\dots,0`.) In words:
*some d components of each module cannot hold more than d units*. Projectors on the orthogonal
complements give as many again: K-H in place of H, and 1-p in place of p.

All of them have one form, a :class:`Cut`: the axes of a set S hold at most r units. Where a cut holds
with equality, the modules split: r components of each module lie in S, and the others outside.

A dynamic programme over (k, n_k, running sum) finds the largest left side, and where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from modae.utils.arrays import Array, Indices

#: Shares this close to 0 or 1 are taken away before the search.
NEAR = 1e-9

#: Most projectors times rank for which the inequalities are searched: the time grows with its cube.
LARGEST_SEARCH = 600


class Cut(NamedTuple):
    """The axes in ``mask`` hold at most ``units`` units."""

    mask: np.ndarray
    units: int


def cuts_at(shares: Array, n_modules: int, n_components: int, margin: float) -> Iterator[Cut]:
    """The inequality with the largest left side for each d, if that exceeds d by more than the margin.

    A positive margin gives inequalities that the shares violate: no modules have them. A small negative
    one also gives those that hold with equality.

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
    >>> from modae.core.inequalities import cuts_at
    >>> [(cut.mask.astype(int).tolist(), cut.units) for cut in cuts_at(np.full(5, 2 / 5), 3, 2, 1e-9)]
    [([0, 0, 1, 1, 1], 1)]
    >>> list(cuts_at(np.array([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]), 3, 2, 1e-9))
    []
    """
    # Axes that all modules use and axes that none uses take no part. An inequality for the others holds
    # for any shares once it is lifted: with the full axes in the set and one more unit for each.
    n_axes, full = len(shares), int(np.count_nonzero(shares > 1.0 - NEAR))
    used = int(np.count_nonzero(shares > NEAR))
    split, units = shares[full:used], n_components - full
    for d, places in _largest(split, n_modules, units, margin):
        mask = np.zeros(n_axes, dtype=bool)
        mask[:full] = True
        mask[full + places[full + places < n_axes]] = True
        yield Cut(mask, full + d)
    for d, places in _largest(1.0 - split[::-1], n_modules, len(split) - units, margin):
        # Complements: the axes counted from the last used one hold at least so many units ...
        places = places[places < used]
        mask = np.ones(n_axes, dtype=bool)
        mask[used - 1 - places] = False
        mask[used:] = False
        yield Cut(mask, n_components - (len(places) - d))  # ... and the rest at most what is left


def _largest(shares: Array, n_modules: int, units: int, margin: float) -> Iterator[tuple[int, Indices]]:
    size = n_modules * units
    if not len(shares) <= size <= LARGEST_SEARCH:
        return
    padded = np.pad(shares, (0, size - len(shares)))
    for d in range(1, units):
        value, places = largest_left_side(padded, n_modules, units, d)
        if value > d + margin:
            yield d, places


def largest_left_side(shares: Array, n_modules: int, n_components: int, d: int) -> tuple[float, Indices]:
    """Maximum over the partitions of Md of the sum on the left, with the places of its terms, from 0."""
    total = n_modules * d
    part = np.arange(n_modules + 1)
    # best[n, t]: largest sum so far with last part n and running sum t of the parts.
    best = np.full((n_modules + 1, total + 1), -np.inf)
    best[n_modules, 0] = 0.0
    steps = [best]
    for k in range(total):
        # The next part is at most the last one: best over all last parts >= n ...
        reachable = np.maximum.accumulate(best[::-1], axis=0)[::-1]
        # ... and choosing n moves the running sum up by n.
        best = _rows_moved_right(reachable)
        best += shares[k + (n_components - d) * (n_modules - part)][:, None]
        steps.append(best)
    n, left = int(best[:, total].argmax()), total
    value, places = float(best[n, total]), np.empty(total, dtype=np.intp)
    for k in reversed(range(total)):  # the way back
        places[k] = k + (n_components - d) * (n_modules - n)
        left -= n
        n += int(steps[k][n:, left].argmax())
    return value, places


def _rows_moved_right(matrix: Array) -> Array:
    """Row n moved n places to the right, with -inf coming in."""
    height, width = matrix.shape
    padded = np.full((height, height + width), -np.inf)
    padded[:, height:] = matrix
    # Entry (n, t) is entry (n, height + t - n) of the padded matrix: rows one entry shorter.
    return padded.ravel()[height : height + height * (height + width - 1)].reshape(height, -1)[:, :width]
