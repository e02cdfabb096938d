"""Packages of the extra ``onnx``, loaded on first use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from modae.files.errors import MissingExtraError


def first_line(reason: BaseException) -> str:
    """What another package says of a failure, cut short: some print whole arrays."""
    return str(reason).strip().partition("\n")[0][:200]


def require(package: str) -> ModuleType:
    """The package, or an error with the command that installs it.

    Examples
    --------
    >>> from modae.onnx.extras import require
    >>> require("json").__name__
    'json'
    """
    try:
        return import_module(package)
    except ImportError as missing:
        raise MissingExtraError(
            f'Export to ONNX needs {package}: pip install "modae[onnx]"'
        ) from missing
