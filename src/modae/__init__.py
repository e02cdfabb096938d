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
    from modae.estimators.bagging import BaggingAutoencoder as BaggingAutoencoder
    from modae.estimators.linear import LinearModularAutoencoder as LinearModularAutoencoder
    from modae.estimators.regression import LinearModularRegressor as LinearModularRegressor
    from modae.export.api import export_onnx as export_onnx
    from modae.inputs.batches import Batches as Batches
    from modae.inputs.batches import open_batches as open_batches
    from modae.persistence.api import describe as describe
    from modae.persistence.api import load as load
    from modae.persistence.api import save as save
    from modae.persistence.errors import ModelFormatError as ModelFormatError
    from modae.streaming.fitting import fit_stream as fit_stream
    from modae.streaming.transforming import transform_stream as transform_stream
    from modae.versions import show_versions as show_versions

_HOMES = {
    "BaggingAutoencoder": "modae.estimators.bagging",
    "Batches": "modae.inputs.batches",
    "LinearModularAutoencoder": "modae.estimators.linear",
    "LinearModularRegressor": "modae.estimators.regression",
    "ModelFormatError": "modae.persistence.errors",
    "ModularClassifier": "modae.ensembles.classifier",
    "ModularClassifierCV": "modae.ensembles.tuning",
    "ModularRegressor": "modae.ensembles.regressor",
    "NearestNeighborClassifier": "modae.ensembles.neighbors",
    "NearestNeighborRegressor": "modae.ensembles.neighbors",
    "describe": "modae.persistence.api",
    "export_onnx": "modae.export.api",
    "fit_stream": "modae.streaming.fitting",
    "load": "modae.persistence.api",
    "open_batches": "modae.inputs.batches",
    "save": "modae.persistence.api",
    "show_versions": "modae.versions",
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
