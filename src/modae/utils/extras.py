"""Optional packages, imported where they are used, with one message if they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional package is not installed; the message has the command that installs it."""


def require(package: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package.

    Parameters
    ----------
    package : str
        Name of the module to import; dots are allowed.
    extra : str
        The extra of modae that installs it.
    purpose : str
        What it is for. The message begins with it.

    Returns
    -------
    module : module

    Raises
    ------
    MissingExtraError
        If the package, or one that it imports, is not installed. A package that is installed but broken
        raises its own ImportError.

    Examples
    --------
    >>> from modae.utils.extras import require
    >>> try:
    ...     require("no_such_package", extra="deep", purpose="Deep modules")
    ... except ImportError as missing:
    ...     print(missing)
    Deep modules cannot be used without no_such_package: pip install "modae[deep]"
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f'{purpose} cannot be used without {missing.name or package}: pip install "modae[{extra}]"',
            name=missing.name,
        ) from missing
