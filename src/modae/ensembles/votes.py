"""Counting votes and breaking ties, on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from modae.utils.arrays import Array, Indices

CELLS = 1 << 20
"""Counts held at a time: rows are counted in blocks, so many classes do not fill the memory."""

SAME = 1e-12
"""Shares and mean probabilities closer than this tie: the order of summation makes such differences."""

Scores = Callable[[Indices], Array]
"""What decides ties: rows -> a number for each class, (rows, n_classes)."""


def vote_shares(votes: Indices, n_classes: int) -> Array:
    """Share of the members that vote for each class: votes (M, n) -> (n, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.votes import vote_shares
    >>> vote_shares(np.array([[0, 1], [0, 2], [1, 2], [0, 2]]), 3).tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.25, 0.75]]
    """
    n_members, n_rows = votes.shape
    shares = np.empty((n_rows, n_classes))
    height = max(1, CELLS // n_classes)
    for start in range(0, n_rows, height):
        block = votes[:, start : start + height]
        cells = block + n_classes * np.arange(block.shape[1])
        counts = np.bincount(cells.ravel(), minlength=n_classes * block.shape[1])
        shares[start : start + height] = counts.reshape(-1, n_classes) / n_members
    return shares


def decide(shares: Array, breakers: Iterable[Scores] = ()) -> Indices:
    """The class with the largest share in each row; ties go through ``breakers``, then to the first.

    A breaker sees only rows that are still tied, and can only choose among the classes that tie.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.ensembles.votes import decide
    >>> shares = np.array([[0.2, 0.4, 0.4], [0.5, 0.5, 0.0]])
    >>> decide(shares).tolist()
    [1, 0]
    >>> decide(shares, [lambda rows: np.tile([0.3, 0.2, 0.5], (len(rows), 1))]).tolist()
    [2, 0]
    """
    winners = shares >= shares.max(axis=1, keepdims=True) - SAME
    for scores in breakers:
        tied = np.flatnonzero(winners.sum(axis=1) > 1)
        if not len(tied):
            break
        values = np.where(winners[tied], scores(tied), -np.inf)
        winners[tied] = values >= values.max(axis=1, keepdims=True) - SAME
    return winners.argmax(axis=1)


def row_disagreement(shares: Array, n_members: int) -> Array:
    """Chance that two different members, drawn at random, vote differently on a row, (n,)."""
    if n_members == 1:
        return np.zeros(len(shares))
    agreement = (np.square(shares).sum(axis=1) * n_members - 1.0) / (n_members - 1)
    return np.clip(1.0 - agreement, 0.0, 1.0)
