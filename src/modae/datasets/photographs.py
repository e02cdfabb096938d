"""Natural photographs that are on the machine already: inside scikit-learn and inside scikit-image.

The files are read where the packages were installed, without scikit-image's own downloader.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO

import numpy as np

from modae.utils.arrays import Array

PHOTOGRAPHS = {
    "sklearn.datasets.images": ("china.jpg", "flower.jpg"),
    "skimage.data": (
        "astronaut.png",
        "brick.png",
        "camera.png",
        "chelsea.png",
        "clock_motion.png",
        "coffee.png",
        "coins.png",
        "grass.png",
        "gravel.png",
        "moon.png",
        "motorcycle_left.png",
        "rocket.jpg",
    ),
}
"""Package -> the photographs in its wheel. Drawings, documents and microscope slides are left out."""


@cache
def photographs() -> tuple[Array, ...]:
    """All fourteen as grey values in [0, 1], float32, read once.

    Examples
    --------
    >>> from modae.datasets.photographs import photographs
    >>> len(photographs()), photographs()[0].shape
    (14, (427, 640))
    """
    return tuple(
        _grey(_folder(package) / name) for package, names in PHOTOGRAPHS.items() for name in names
    )


def _folder(package: str) -> Traversable:
    try:
        return files(package)
    except ModuleNotFoundError as reason:
        raise ModuleNotFoundError(
            'The photographs behind digits need scikit-image: pip install "modae[datasets]".'
        ) from reason


def _grey(file: Traversable) -> Array:
    from PIL import Image

    with Image.open(BytesIO(file.read_bytes())) as image:
        grey = np.asarray(image.convert("L"), dtype=np.float32) / 255
    grey.setflags(write=False)
    return grey
