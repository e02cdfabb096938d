"""Data of the paper: six benchmarks of images, and mixtures of Gaussians."""

from modae.datasets.benchmarks import load_benchmark
from modae.datasets.mixture import make_gaussian_mixture

__all__ = ["load_benchmark", "make_gaussian_mixture"]
