"""Modular autoencoders: sets of diverse, complementary representations, and ensembles on them.

Importing ``modae`` is light. Public names are resolved on first use, from the one table below.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from modae import core as core
    from modae import datasets as datasets
    from modae import deep as deep
    from modae import display as display
    from modae import metrics as metrics
    from modae import report as report
    from modae.ensembles.classifier import ModularClassifier as ModularClassifier
    from modae.ensembles.neighbors import NearestNeighborClassifier as NearestNeighborClassifier
    from modae.ensembles.neighbors import NearestNeighborRegressor as NearestNeighborRegressor
    from modae.ensembles.regressor import ModularRegressor as ModularRegressor
    from modae.ensembles.tuning import ModularClassifierCV as ModularClassifierCV
    from modae.files.api import describe as describe
    from modae.files.api import load as load
    from modae.files.api import save as save
    from modae.files.errors import ModelFormatError as ModelFormatError
    from modae.linear.autoencoder import LinearModularAutoencoder as LinearModularAutoencoder
    from modae.linear.bagging import BaggingAutoencoder as BaggingAutoencoder
    from modae.linear.regressor import LinearModularRegressor as LinearModularRegressor
    from modae.onnx.api import export_onnx as export_onnx
    from modae.sources.batches import Batches as Batches
    from modae.sources.batches import open_batches as open_batches
    from modae.streaming.fitting import fit_stream as fit_stream
    from modae.streaming.transforming import transform_stream as transform_stream
    from modae.utils.versions import show_versions as show_versions

_HOMES = {
    "BaggingAutoencoder": "modae.linear.bagging",
    "Batches": "modae.sources.batches",
    "LinearModularAutoencoder": "modae.linear.autoencoder",
    "LinearModularRegressor": "modae.linear.regressor",
    "ModelFormatError": "modae.files.errors",
    "ModularClassifier": "modae.ensembles.classifier",
    "ModularClassifierCV": "modae.ensembles.tuning",
    "ModularRegressor": "modae.ensembles.regressor",
    "NearestNeighborClassifier": "modae.ensembles.neighbors",
    "NearestNeighborRegressor": "modae.ensembles.neighbors",
    "describe": "modae.files.api",
    "export_onnx": "modae.onnx.api",
    "fit_stream": "modae.streaming.fitting",
    "load": "modae.files.api",
    "open_batches": "modae.sources.batches",
    "save": "modae.files.api",
    "show_versions": "modae.utils.versions",
    "transform_stream": "modae.streaming.transforming",
}
"""Public name -> module that defines it."""

_SUBMODULES = frozenset({"core", "datasets", "deep", "display", "metrics", "report"})

__all__ = [
    "BaggingAutoencoder",
    "Batches",
    "LinearModularAutoencoder",
    "LinearModularRegressor",
    "ModelFormatError",
    "ModularClassifier",
    "ModularClassifierCV",
    "ModularRegressor",
    "NearestNeighborClassifier",
    "NearestNeighborRegressor",
    "__version__",
    "core",
    "datasets",
    "deep",
    "describe",
    "display",
    "export_onnx",
    "fit_stream",
    "load",
    "metrics",
    "open_batches",
    "report",
    "save",
    "show_versions",
    "transform_stream",
]


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
