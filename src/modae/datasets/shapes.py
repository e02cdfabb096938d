r"""Shapes in two classes: rectangles, tall or wide, and white regions, convex or not.

A rectangle is an outline, one pixel wide. Its sides are uniform in 1 to 28 pixels, refused when they
differ by less than three, and its position is uniform among those where it fits.

A convex region is the intersection of half-planes that are placed one after the other. A half-plane is
one side of a line, whose direction is uniform and whose distance from the centre is uniform among the
lines that cross the image. One that would leave too few pixels is refused and drawn again. A region that
is not convex is the union of two to four such sets.

The number of half-planes is geometric (1, 2, ...) with parameter 0.195 for convex regions, of at least
19 pixels, and 0.07 for the parts of the others, of at least 10 pixels. The published recipe does not say
whether a half-plane or the whole region is refused. Refusing half-planes gives both classes the same
mean white area, as the recipe promises: 175 pixels. Refusing regions favours those of few half-planes:
about 275 pixels if convex and 465 if not.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2

from modae.datasets.digits import SIDE
from modae.utils.arrays import Array, Indices

#: A stack of images (n, 28, 28), True where white.
Masks: TypeAlias = NDArray[np.bool_]


#: Pixels by which the sides of a rectangle differ at least.
LEAST_DIFFERENCE = 3


CONVEX_RATE, CONVEX_LEAST_PIXELS = 0.195, 19


PART_RATE, PART_LEAST_PIXELS = 0.07, 10


FEWEST_PARTS, MOST_PARTS = 2, 4


#: Regions that grow together. Another number would give other images.
_BATCH = 1000


def balanced_labels(n_samples: int, rng: np.random.RandomState) -> Indices:
    """As many 0 as 1, in random order; the odd one by lot."""
    return rng.permutation((np.arange(n_samples) + rng.randint(2)) % 2)


def make_rectangles(n_samples: int, rng: np.random.RandomState) -> tuple[Array, Indices]:
    """Draw white one-pixel outlines of rectangles, half of them tall (1) and half wide (0).

    Sizes are drawn from the list of the allowed ones, which is the same as drawing and refusing.

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
    sides = np.mgrid[1 : SIDE + 1, 1 : SIDE + 1].reshape(2, -1)
    allowed = sides[:, sides[1] - sides[0] >= LEAST_DIFFERENCE]
    short, long = allowed[:, rng.randint(allowed.shape[1], size=n_samples)]
    height, width = np.where(tall, (long, short), (short, long))
    top = rng.randint(SIDE - height + 1)
    left = rng.randint(SIDE - width + 1)
    return outlines(top, left, height, width), tall


def outlines(top: Indices, left: Indices, height: Indices, width: Indices) -> Array:
    """Images of rectangles with the given upper left pixel and sides, all of shape (n,).

    A pixel is on the outline if it is in the rectangle and in its first or last row or column.
    """
    rows, columns = np.arange(SIDE)[:, None], np.arange(SIDE)
    top, left, height, width = (each[:, None, None] for each in (top, left, height, width))
    bottom, right = top + height - 1, left + width - 1
    inside = (rows >= top) & (rows <= bottom) & (columns >= left) & (columns <= right)
    edge = (rows == top) | (rows == bottom) | (columns == left) | (columns == right)
    return (inside & edge).astype(np.float32)


def make_convex(n_samples: int, rng: np.random.RandomState) -> tuple[Array, Indices]:
    """Draw white regions on black, half of them convex (1) and half not (0).

    Parameters
    ----------
    n_samples : int
        With an odd number there is one more of one class, by lot.
    rng : RandomState

    Returns
    -------
    images : ndarray of shape (n_samples, 28, 28), float32
    convex : ndarray of shape (n_samples,), of 0 and 1
    """
    labels = balanced_labels(n_samples, rng)
    regions = np.empty((n_samples, SIDE, SIDE), dtype=bool)
    for start in range(0, n_samples, _BATCH):
        batch = slice(start, start + _BATCH)
        convex = labels[batch] == 1
        regions[batch][convex] = intersections(convex.sum(), CONVEX_RATE, CONVEX_LEAST_PIXELS, rng)
        regions[batch][~convex] = nonconvex_unions((~convex).sum(), rng)
    return regions.astype(np.float32), labels


def intersections(n_regions: int, rate: float, least_pixels: int, rng: np.random.RandomState) -> Masks:
    """Intersections of random half-planes, their number geometric, with at least so many pixels."""
    regions = np.ones((n_regions, SIDE, SIDE), dtype=bool)
    to_place = rng.geometric(rate, size=n_regions)
    while to_place.any():
        growing = np.flatnonzero(to_place)
        cut = regions[growing] & half_planes(len(growing), rng)
        fits = np.count_nonzero(cut, axis=(1, 2)) >= least_pixels
        regions[growing[fits]] = cut[fits]
        to_place[growing[fits]] -= 1
    return regions


def half_planes(n: int, rng: np.random.RandomState) -> Masks:
    """One side of a line of uniform direction, its offset uniform among those that cross the image."""
    angle = rng.uniform(0.0, 2.0 * np.pi, size=n)
    pixels = np.arange(SIDE) - (SIDE - 1) / 2
    down, right = np.cos(angle)[:, None] * pixels, np.sin(angle)[:, None] * pixels
    offset = rng.uniform(-1.0, 1.0, size=n) * (down.max(axis=1) + right.max(axis=1))
    return down[:, :, None] >= (offset[:, None] - right)[:, None, :]


def nonconvex_unions(n_regions: int, rng: np.random.RandomState) -> Masks:
    """Unions of two to four convex sets; those that happen to be convex are drawn again."""
    regions = np.empty((n_regions, SIDE, SIDE), dtype=bool)
    missing = np.arange(n_regions)
    while len(missing):
        n_parts = rng.randint(FEWEST_PARTS, MOST_PARTS + 1, size=len(missing))
        parts = intersections(n_parts.sum(), PART_RATE, PART_LEAST_PIXELS, rng)
        regions[missing] = np.logical_or.reduceat(parts, np.cumsum(n_parts) - n_parts, axis=0)
        missing = missing[~has_gap(regions[missing])]
    return regions


def has_gap(regions: Masks) -> NDArray[np.bool_]:
    r"""Whether some black pixel lies exactly half-way between two white ones, for each region.

    Then the region is certainly not convex; an intersection of half-planes never has such a pixel. All
    pairs are looked at in one convolution: :math:`(S * S)(2q)` counts the pairs of white pixels
    with :math:`a + b = 2q`.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.datasets.shapes import has_gap
    >>> full, ring = np.ones((2, 28, 28), dtype=bool)
    >>> ring[10:12, 10:12] = False
    >>> has_gap(np.array([full, ring]))
    array([False,  True])
    """
    room = 2 * np.array(regions.shape[1:])  # so that nothing wraps around
    transform = rfft2(regions.astype(np.float32), s=room)
    pairs = irfft2(transform * transform, s=room)[:, ::2, ::2]
    return np.any((pairs > 0.5) & ~regions, axis=(1, 2))
