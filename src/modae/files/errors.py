"""What can be wrong with a model file."""

from __future__ import annotations

from modae.utils.extras import MissingExtraError as MissingExtraError


class ModelFormatError(ValueError):
    """A file that is not a model of modae, or is damaged, or of another version.

    The message says what is wrong with the file, and what to do.

    Examples
    --------
    >>> from modae.files.errors import ModelFormatError
    >>> try:
    ...     raise ModelFormatError("the file ends too early; save the model again")
    ... except ValueError as error:
    ...     print(error)
    the file ends too early; save the model again
    """


class UntrustedError(ModelFormatError):
    """A file names a class or function that is not trusted; nothing of it was imported or run."""


def require(condition: object, rule: str) -> None:
    """Refuse a file that breaks a rule."""
    if not condition:
        raise ModelFormatError(rule)
