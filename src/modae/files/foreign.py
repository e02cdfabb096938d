"""Objects that are not ours, such as scikit-learn estimators, as bytes that are safe to read.

Saving: our own estimators inside become numbers, compiled objects become plain data
(:mod:`modae.files.foreign_parts`), the rest is written by skops
(:mod:`modae.files.foreign_blob`), and then it is read again, so that what is saved can be loaded.

Loading: nothing is built before every name in the blob is found on the list of
:mod:`modae.files.trust`, and no estimator is handed out before
:mod:`modae.files.foreign_checks` has looked at every array.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from modae.files.errors import MissingExtraError, ModelFormatError
from modae.files.foreign_blob import names_in, read_blob, write_blob
from modae.files.foreign_checks import check_graph
from modae.files.foreign_graph import Part, rewritten, walked
from modae.files.foreign_parts import READERS, as_part, from_part

if find_spec("skops") is None:
    raise MissingExtraError('Members of scikit-learn in files need skops: pip install "modae[io]"')

OURS = "ours"
"""The kind of part that stands for an estimator of ours."""


def dump_foreign(obj: Any, *, is_ours: Callable[[Any], bool], keep: Callable[[Any], int]) -> bytes:
    """Write an object; what is ours inside is handed to the caller.

    Parameters
    ----------
    obj : object
        It is not changed. Shared references inside stay shared.
    is_ours : callable
        Whether an object inside is written by the caller.
    keep : callable
        Is given each such object once, and gives back the number by which :func:`load_foreign` asks for
        it.

    Returns
    -------
    blob : bytes
        The same bytes for the same object.

    Raises
    ------
    TypeError
        For what could not be loaded again, such as a lambda.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from modae.files.foreign import dump_foreign, load_foreign
    >>> line = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> blob = dump_foreign(line, is_ours=lambda x: False, keep=lambda x: 0)
    >>> load_foreign(blob, restore=lambda index: None, trusted=frozenset()).predict([[2.0]])
    array([5.])
    """

    def without_ours(node: Any, owner: Any) -> Any:
        if isinstance(node, MetadataRequest):
            return as_part(node, owner)  # it refers back to its owner, so it goes before the walk below
        return Part(OURS, {"index": keep(node)}) if is_ours(node) else node

    graph = rewritten(obj, without_ours)
    for node, owner, attribute in walked(graph):
        _check_importable(node, owner, attribute)
    try:
        blob = write_blob(rewritten(graph, as_part))
        again = _built(blob, names_in(blob))
        same = write_blob(rewritten(again, as_part)) == blob
    except ModelFormatError as error:
        rule = str(error).removeprefix("the file is damaged: ")
        raise ValueError(f"{type(obj).__name__} cannot be saved, as this must hold: {rule}") from error
    except Exception as error:
        raise TypeError(f"{type(obj).__name__} cannot be saved: {error}") from error
    if not same:
        raise TypeError(f"{type(obj).__name__} cannot be saved: it would not be the same when loaded.")
    return blob


def load_foreign(blob: bytes, *, restore: Callable[[int], Any], trusted: frozenset[str]) -> Any:
    """Read an object that :func:`dump_foreign` wrote.

    Parameters
    ----------
    blob : bytes
    restore : callable
        Gives the object of ours with a number.
    trusted : frozenset of str
        Full names of classes and functions that may be in the blob beside those of
        :mod:`modae.files.trust`. Their attributes are taken as they are.

    Returns
    -------
    obj : object

    Raises
    ------
    ModelFormatError
        For anything that is wrong; :class:`UntrustedError` for a name that is not trusted.
    """
    try:
        graph = _built(blob, trusted)
    except ModelFormatError:
        raise
    except Exception as error:  # whatever else a damaged blob leads to
        raise ModelFormatError(f"the file is damaged: {type(error).__name__}: {error}") from error

    def with_ours(node: Any, owner: Any) -> Any:
        return restore(node.content["index"]) if isinstance(node, Part) else node

    return rewritten(graph, with_ours)


def try_member(estimator: Any, n_features: int, dtype: Any = np.float64) -> None:
    """Predict one row of zeros, so that a wrong member is found on loading and not later.

    Parameters
    ----------
    estimator : estimator
    n_features : int
    dtype : dtype, default=float64

    Raises
    ------
    ModelFormatError
        If it cannot.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from modae.files.foreign import try_member
    >>> try_member(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), n_features=1)
    """
    row = np.zeros((1, n_features), dtype=dtype)
    for method in ("predict", "predict_proba", "decision_function"):
        try:
            if method == "predict" or hasattr(estimator, method):
                getattr(estimator, method)(row)
        except Exception as error:
            name = type(estimator).__name__
            raise ModelFormatError(f"the file is damaged: {method} of {name} fails: {error}") from error


def _built(blob: bytes, trusted: frozenset[str]) -> Any:
    """The graph with parts for what is ours, and all else as it was."""
    graph = read_blob(blob, trusted)
    for node, _, _ in walked(graph):
        if isinstance(node, Part):
            _check_part(node)
    graph = rewritten(graph, lambda node, owner: from_part(node) if _is_foreign(node) else node)
    check_graph(graph)
    return graph


def _is_foreign(node: Any) -> bool:
    return isinstance(node, Part) and node.kind != OURS


def _check_part(part: Part) -> None:
    whole = set(vars(part)) == {"kind", "content"} and isinstance(part.content, dict)
    if not whole or not isinstance(part.kind, str) or part.kind not in (OURS, *READERS):
        raise ModelFormatError("the file is damaged: a part has a kind and a content.")
    if part.kind == OURS and (set(part.content) != {"index"} or type(part.content["index"]) is not int):
        raise ModelFormatError("the file is damaged: a part of ours has a number.")


def _check_importable(node: Any, owner: Any, attribute: str) -> None:
    """Functions and classes are written by name, so the name must lead to them."""
    named = node if isinstance(node, (FunctionType, type)) else type(node)
    try:
        found = getattr(import_module(named.__module__), named.__name__)
    except (ImportError, AttributeError, ValueError):
        found = None
    if isinstance(node, FunctionType) and found is not node:
        place = f"{type(owner).__name__}.{attribute} is" if owner is not None else "it is"
        raise TypeError(
            f"{place} the function {node.__qualname__}, which cannot be saved: a file holds the name "
            "of a function, so it must be defined at the top of a module (no lambda, no inner function)."
        )
    if hasattr(node, "__dict__") and not isinstance(node, FunctionType) and found is not named:
        raise TypeError(
            f"the class {named.__qualname__} cannot be saved: a file holds its name, so it must be "
            f"defined at the top of the module {named.__module__}."
        )
