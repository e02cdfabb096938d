"""Modular autoencoders: sets of diverse, complementary representations, and ensembles on them.

Importing ``modae`` is light. Public names are imported on first use, from the one table below;
``__init__.pyi`` shows the same table to type checkers.
"""

from importlib import import_module

__version__ = "0.1.0.dev0"

_HOMES = {
    "BaggingAutoencoder": "modae.linear.bagging",
    "Batches": "modae.sources.batches",
    "LinearModularAutoencoder": "modae.linear.autoencoder",
    "LinearModularRegressor": "modae.linear.regressor",
    "ModelFormatError": "modae.files.archive",
    "ModularClassifier": "modae.ensembles.classifier",
    "ModularClassifierCV": "modae.ensembles.classifier_cv",
    "ModularRegressor": "modae.ensembles.regressor",
    "ModularRegressorCV": "modae.ensembles.regressor_cv",
    "NearestNeighborClassifier": "modae.ensembles.neighbors",
    "NearestNeighborRegressor": "modae.ensembles.neighbors",
    "core": "modae",
    "datasets": "modae",
    "deep": "modae",
    "describe": "modae.files.api",
    "display": "modae",
    "export_onnx": "modae.onnx.api",
    "fit_stream": "modae.streaming.fitting",
    "load": "modae.files.api",
    "metrics": "modae",
    "open_batches": "modae.sources.batches",
    "report": "modae",
    "save": "modae.files.api",
    "show_versions": "modae.utils.extras",
    "transform_stream": "modae.streaming.transforming",
}
"""Public name -> the module that defines it; public folders are defined by modae itself."""

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home == __name__:
        return import_module(f"{home}.{name}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
