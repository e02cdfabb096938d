"""Modular autoencoders: sets of diverse, complementary representations, and ensembles on them.

Importing ``modae`` is light. Public names are imported on first use, from the one table that type
checkers see too: the imports in ``__init__.pyi``.
"""

import re
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0.dev0"

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")

#: Public name -> the module that defines it; public folders are defined by modae itself.
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", _STUB, re.MULTILINE)}

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
