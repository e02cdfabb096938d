"""Outlines of rectangles: tall, or wide?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modae.datasets.digits import SIDE
from modae.utils.arrays import Array, Indices

LEAST_DIFFERENCE = 3
"""Pixels by which the sides of a rectangle differ at least."""


def make_rectangles(n_samples: int, rng: np.random.RandomState) -> tuple[Array, Indices]:
    """Draw white one-pixel outlines of rectangles, half of them tall (1) and half wide (0).

    Width and height are uniform in 1 to 28 pixels, refused when they differ by less than three; the
    position is uniform among those where the rectangle fits. Sizes are drawn from the list of the
    allowed ones, which is the same as drawing and refusing.

    Parameters
    ----------
    n_samples : int
        With an odd number there is one more of one class, by lot.
    rng : RandomState

    Returns
    -------
    images : ndarray of shape (n_samples, 28, 28), float32
    tall : ndarray of shape (n_samples,), of 0 and 1
    """
    tall = balanced_labels(n_samples, rng)
    short, long = _allowed_sides()[:, rng.randint(_allowed_sides().shape[1], size=n_samples)]
    height, width = np.where(tall, (long, short), (short, long))
    top = rng.randint(SIDE - height + 1)
    left = rng.randint(SIDE - width + 1)
    return outlines(top, left, height, width), tall


def outlines(top: Indices, left: Indices, height: Indices, width: Indices) -> Array:
    """Images of rectangles with the given upper left pixel and sides, all of shape (n,).

    A pixel is on the outline if it is in the rectangle and in its first or last row or column.
    """
    row_inside, row_edge = _along_one_axis(top, height)
    column_inside, column_edge = _along_one_axis(left, width)
    inside = row_inside[:, :, None] & column_inside[:, None, :]
    edge = row_edge[:, :, None] | column_edge[:, None, :]
    return (inside & edge).astype(np.float32)


def balanced_labels(n_samples: int, rng: np.random.RandomState) -> Indices:
    """As many 0 as 1, in random order; the odd one by lot."""
    return rng.permutation((np.arange(n_samples) + rng.randint(2)) % 2)


def _allowed_sides() -> Indices:
    """All pairs of a shorter and a longer side, (2, number of pairs)."""
    short, long = np.mgrid[1 : SIDE + 1, 1 : SIDE + 1].reshape(2, -1)
    allowed = long - short >= LEAST_DIFFERENCE
    return np.array([short[allowed], long[allowed]])


def _along_one_axis(first: Indices, length: Indices) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each position along an axis: is it in the rectangle, and is it an end of it? (n, 28) each."""
    position = np.arange(SIDE)
    first, last = first[:, None], (first + length - 1)[:, None]
    return (position >= first) & (position <= last), (position == first) | (position == last)
