r"""Variations of digits: turned, on noise, and on photographs.

Images are stacks (n, 28, 28) of float32 in [0, 1], white on black. A digit stays on top of its
background: each pixel is the brighter one of the two, so that strokes keep their soft edges.

The photographs are on the machine already, inside scikit-learn and scikit-image: their files are read
where the packages were installed, without scikit-image's own downloader.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import rotate

from modae.utils.arrays import Array
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
    >>> from modae.datasets.digits import photographs
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
