"""Modular autoencoders: sets of diverse, complementary representations, and ensembles on them.

Importing ``modae`` is light. Public names are resolved on first use, from the one table below.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from modae import core as core
    from modae.estimators.bagging import BaggingAutoencoder as BaggingAutoencoder
    from modae.estimators.linear import LinearModularAutoencoder as LinearModularAutoencoder

_HOMES = {
    "BaggingAutoencoder": "modae.estimators.bagging",
    "LinearModularAutoencoder": "modae.estimators.linear",
}
"""Public name -> module that defines it."""

_SUBMODULES = frozenset({"core"})

__all__ = ["BaggingAutoencoder", "LinearModularAutoencoder", "__version__", "core"]


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
