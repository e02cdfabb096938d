"""What can be wrong with a model file.

Reading a file that somebody else wrote must end in one of two ways: a model that works, or one of these
errors. Both are a ``ValueError``, so a caller who does not care for the difference needs one ``except``.
"""

from __future__ import annotations

from modae.utils.extras import MissingExtraError as MissingExtraError


class ModelFormatError(ValueError):
    """A file that is not a model of modae, or is damaged, or newer.

    The message says which part of the file is wrong, which rule it breaks, and what to do.

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
    """A model file names a class that is not on the list of trusted classes.

    Nothing of that class was imported or run. The message names the class, and the argument ``trusted``
    that lets it pass once you know that the file comes from a source that you trust.

    Examples
    --------
    >>> from modae.files.errors import ModelFormatError, UntrustedError
    >>> issubclass(UntrustedError, ModelFormatError)
    True
    """
