r"""The recipes of the benchmarks: digits turned, on noise, on photographs; rectangles; convex regions.

Images are stacks (n, 28, 28) of float32 in [0, 1], white on black. A digit stays on top of its
background: each pixel is the brighter one of the two, so that strokes keep their soft edges.

The photographs are on the machine already, inside scikit-learn and scikit-image: their files are read
where the packages were installed, without scikit-image's own downloader.

Shapes are in two classes: rectangles, tall or wide, and white regions, convex or not.

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

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2
from scipy.ndimage import rotate

from modae.utils.arrays import Array, Indices
from modae.utils.extras import require

#: Pixels along one side of an image.
SIDE = 28

#: A patch of a photograph whose grey values have a smaller standard deviation has too little texture.
LOWEST_DEVIATION = 0.05

#: Package -> the photographs in its wheel. Drawings, documents and microscope slides are left out.
PHOTOGRAPHS = {
    "sklearn.datasets.images": "china.jpg flower.jpg",
    "skimage.data": "astronaut.png brick.png camera.png chelsea.png clock_motion.png coffee.png "
    "coins.png grass.png gravel.png moon.png motorcycle_left.png rocket.jpg",
}

#: A stack of images (n, 28, 28), True where white.
Masks: TypeAlias = NDArray[np.bool_]

#: Pixels by which the sides of a rectangle differ at least.
LEAST_DIFFERENCE = 3

CONVEX_RATE, CONVEX_LEAST_PIXELS = 0.195, 19
PART_RATE, PART_LEAST_PIXELS = 0.07, 10
FEWEST_PARTS, MOST_PARTS = 2, 4

#: Regions that grow together. Another number would give other images.
_BATCH = 1000


def rotated(images: Array, angles: Array) -> Array:
    r"""Turn each image anticlockwise about its centre.

    The pixel at :math:`r` of the result is the value of the image at :math:`R^{-1} r`, between pixels by
    bilinear interpolation, and black beyond the border.

    Parameters
    ----------
    images : ndarray of shape (n, side, side)
    angles : ndarray of shape (n,)
        In radians.

    Returns
    -------
    ndarray of shape (n, side, side)

    Examples
    --------
    >>> import numpy as np
    >>> from modae.datasets.recipes import rotated
    >>> image = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=np.float32)
    >>> rotated(image[None], np.array([np.pi / 2]))[0].round(3)
    array([[0., 0., 0.],
           [1., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    options = {"reshape": False, "order": 1, "mode": "grid-constant"}
    turned = [rotate(*pair, **options) for pair in zip(images, np.degrees(angles), strict=True)]
    return np.array(turned, dtype=images.dtype)


def on_noise(images: Array, rng: np.random.RandomState) -> Array:
    """Put each image on a background whose pixels are independent, uniform over 256 grey values."""
    noise = rng.randint(256, size=images.shape, dtype=np.uint8)
    return np.maximum(images, noise.astype(images.dtype) / 255)


def on_photographs(images: Array, photographs: Sequence[Array], rng: np.random.RandomState) -> Array:
    """Put each image on a patch of a photograph, both chosen at random.

    Every photograph is equally likely, then every patch in it; a patch whose grey values have a
    standard deviation below ``LOWEST_DEVIATION`` is refused, and photograph and patch are drawn again.

    Parameters
    ----------
    images : ndarray of shape (n, side, side)
    photographs : sequence of ndarray of shape (height, width)
        Grey values in [0, 1].
    rng : RandomState

    Returns
    -------
    ndarray of shape (n, side, side)
    """
    patches, side = np.empty_like(images), images.shape[-1]
    missing = np.arange(len(images))
    while len(missing):
        chosen = rng.randint(len(photographs), size=len(missing))
        corners = rng.random_sample((len(missing), 2))
        for index, photograph in enumerate(photographs):
            windows = sliding_window_view(photograph, (side, side))
            row, column = (corners[chosen == index] * windows.shape[:2]).astype(int).T
            patches[missing[chosen == index]] = windows[row, column]
        missing = missing[patches[missing].std(axis=(1, 2)) < LOWEST_DEVIATION]
    return np.maximum(images, patches)


@cache
def photographs() -> tuple[Array, ...]:
    """All fourteen as grey values in [0, 1], float32, read once.

    Examples
    --------
    >>> from modae.datasets.recipes import photographs
    >>> len(photographs()), photographs()[0].shape
    (14, (427, 640))
    """
    needed = {"extra": "datasets", "purpose": "Photographs behind digits"}
    pillow, pictures = require("PIL.Image", **needed), []
    for package, names in PHOTOGRAPHS.items():
        folder = files(require(package, **needed))
        for name in names.split():
            with (folder / name).open("rb") as file, pillow.open(file) as image:
                grey = np.asarray(image.convert("L"), dtype=np.float32) / 255
            grey.setflags(write=False)
            pictures.append(grey)
    return tuple(pictures)


# --- shapes ------------------------------------------------------------------------------------------


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
    >>> from modae.datasets.recipes import has_gap
    >>> full, ring = np.ones((2, 28, 28), dtype=bool)
    >>> ring[10:12, 10:12] = False
    >>> has_gap(np.array([full, ring]))
    array([False,  True])
    """
    room = 2 * np.array(regions.shape[1:])  # so that nothing wraps around
    transform = rfft2(regions.astype(np.float32), s=room)
    pairs = irfft2(transform * transform, s=room)[:, ::2, ::2]
    return np.any((pairs > 0.5) & ~regions, axis=(1, 2))
