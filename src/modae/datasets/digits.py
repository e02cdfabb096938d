r"""Variations of digits: turned, on noise, and on photographs.

Images are stacks (n, 28, 28) of float32 in [0, 1], white on black. A digit stays on top of its
background: each pixel is the brighter one of the two, so that strokes keep their soft edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import map_coordinates

from modae.utils.arrays import Array

SIDE = 28
"""Pixels along one side of an image."""

LOWEST_DEVIATION = 0.05
"""A patch of a photograph whose grey values have a smaller standard deviation has too little texture."""

_BATCH = 1000
"""Images that are worked on at once; the result does not depend on it."""


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
    >>> from modae.datasets.digits import rotated
    >>> image = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=np.float32)
    >>> rotated(image[None], np.array([np.pi / 2]))[0].round(3)
    array([[0., 0., 0.],
           [1., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    result = np.empty_like(images)
    for start in range(0, len(images), _BATCH):
        batch = slice(start, start + _BATCH)
        result[batch] = _bilinear(images[batch], *_turned_grid(angles[batch], images.shape[-1]))
    return result


def _turned_grid(angles: Array, side: int) -> tuple[Array, Array]:
    """Where in the image (row, column) each pixel of the result comes from, (n, side, side) each."""
    centre = (side - 1) / 2
    row, column = np.mgrid[:side, :side] - centre
    cosine, sine = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    return cosine * row + sine * column + centre, cosine * column - sine * row + centre


def _bilinear(images: Array, rows: Array, columns: Array) -> Array:
    """Values between the pixels of each image, with black around it."""
    own = np.broadcast_to(np.arange(len(images))[:, None, None], rows.shape)
    return map_coordinates(images, [own, rows, columns], order=1, mode="grid-constant", cval=0.0)


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
    patches = np.empty_like(images)
    missing = np.arange(len(images))
    while len(missing):
        patches[missing] = _patches(photographs, len(missing), images.shape[-1], rng)
        missing = missing[patches[missing].std(axis=(1, 2)) < LOWEST_DEVIATION]
    return np.maximum(images, patches)


def _patches(
    photographs: Sequence[Array], n_patches: int, side: int, rng: np.random.RandomState
) -> Array:
    """Patches anywhere in the photographs."""
    chosen = rng.randint(len(photographs), size=n_patches)
    corners = rng.random_sample((n_patches, 2))
    patches = np.empty((n_patches, side, side), dtype=np.float32)
    for index, photograph in enumerate(photographs):
        windows = sliding_window_view(photograph, (side, side))
        row, column = (corners[chosen == index] * windows.shape[:2]).astype(int).T
        patches[chosen == index] = windows[row, column]
    return patches
