r"""A proof that no modules have a given allocation.

The necessary condition of :mod:`modae.core.allocation` is not sufficient for three or more modules of
two or more components. The full answer is a family of Horn inequalities. A subfamily that can be
searched: for d = 1..H-1 and every partition of Md into parts
:math:`M\ge n_1\ge\dots\ge n_{Md}\ge0`,

.. math:: \sum_{k=1}^{Md} p_{k+(H-d)(M-n_k)} \le d .

(The condition of the allocation for shells 1..d is the partition :math:`M,\dots,M,0,\dots,0`.)

A dynamic programme over (k, n_k, running sum) finds the largest left side. One violation proves that
the allocation is out of reach: the optimum lies above the bound, by an amount this does not tell.
"""

from __future__ import annotations

import numpy as np

from modae.core.allocation import PEEL
from modae.utils.arrays import Array

#: A violation must exceed this, far above round-off in the shares.
MARGIN = 1e-9

#: Most projectors times rank for which the inequalities are searched: the time grows with its cube.
LARGEST_SEARCH = 600


def is_unattainable(shares: Array, n_modules: int) -> bool:
    """True if it is proven that no M projectors have diag(shares) as their mean.

    Axes that every module uses and axes that none uses are taken away first. What is left is tested
    as it stands and as its complement: projectors on the orthogonal complements have shares 1 - p.
    Searches that would take seconds are left out; False is no proof of the contrary anyway.

    Examples
    --------
    Three planes in five dimensions cannot share the axes evenly:

    >>> import numpy as np
    >>> from modae.core.attainability import is_unattainable
    >>> is_unattainable(np.full(5, 2 / 5), 3)
    True
    >>> is_unattainable(np.array([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]), 3)
    False
    """
    split = np.sort(shares[(shares > PEEL) & (shares < 1.0 - PEEL)])[::-1]
    units = round(float(split.sum()))
    return _violates(split, units, n_modules) or _violates(
        1.0 - split[::-1], len(split) - units, n_modules
    )


def _violates(shares: Array, units: int, n_modules: int) -> bool:
    """Whether any inequality of the subfamily fails for shares of projectors of this rank."""
    if len(shares) > n_modules * units:
        return True
    if n_modules * units > LARGEST_SEARCH:
        return False
    padded = np.pad(shares, (0, n_modules * units - len(shares)))
    return any(largest_left_side(padded, n_modules, units, d) > d + MARGIN for d in range(1, units))


def largest_left_side(shares: Array, n_modules: int, n_components: int, d: int) -> float:
    """Maximum over the partitions of Md of the sum on the left, by dynamic programming."""
    total = n_modules * d
    part = np.arange(n_modules + 1)
    # best[n, t]: largest sum so far with last part n and running sum t of the parts.
    best = np.full((n_modules + 1, total + 1), -np.inf)
    best[n_modules, 0] = 0.0
    for k in range(total):
        # The next part is at most the last one: best over all last parts >= n ...
        reachable = np.maximum.accumulate(best[::-1], axis=0)[::-1]
        # ... and choosing n moves the running sum up by n.
        best = _rows_moved_right(reachable)
        best += shares[k + (n_components - d) * (n_modules - part)][:, None]
    return float(best[:, total].max())


def _rows_moved_right(matrix: Array) -> Array:
    """Row n moved n places to the right, with -inf coming in."""
    height, width = matrix.shape
    padded = np.full((height, height + width), -np.inf)
    padded[:, height:] = matrix
    # Entry (n, t) is entry (n, height + t - n) of the padded matrix: rows one entry shorter.
    return padded.ravel()[height : height + height * (height + width - 1)].reshape(height, -1)[:, :width]
