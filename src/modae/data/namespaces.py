"""Where an array lives: the one file that uses scikit-learn's private helpers for the array API.

They are private, but there is no other way to follow ``array_api_dispatch``: only scikit-learn knows
which namespaces it supports, and it brings its own wrappers of them. They are imported when dispatch is
on, so that a version of scikit-learn without them changes nothing for anybody else.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator

from modae.data.devices import Place
from modae.utils.arrays import Array

MEMORY = "_place"
"""The attribute by which an estimator remembers where the rows of its fit were. It is a word, not an
array: a fitted estimator is all NumPy, and files do without it."""


def place_of(X: Any) -> Place | None:
    """Namespace and device of X; None for NumPy and whatever becomes NumPy.

    That is everything, unless ``sklearn.set_config(array_api_dispatch=True)``.
    """
    if not get_config()["array_api_dispatch"]:
        return None
    from sklearn.utils._array_api import get_namespace_and_device

    try:
        xp, is_array, device = get_namespace_and_device(X)
    except TypeError:  # no array of any namespace: validation says what is wrong with it
        return None
    if not is_array or xp.__name__.rpartition(".")[2] == "numpy":
        return None
    return Place(xp, device, partial(_to_numpy, xp=xp))


def _to_numpy(values: Any, xp: Any) -> Array:
    from sklearn.utils._array_api import _convert_to_numpy

    return _convert_to_numpy(without_gradient(values), xp)


def without_gradient(values: Any) -> Any:
    """A tensor that is not part of a gradient: others cause warnings in validation, or are refused."""
    return values.detach() if hasattr(values, "detach") else values


def on_host(values: Any) -> Any:
    """The same values as NumPy, if they are an array of another namespace."""
    place = place_of(values)
    return values if place is None else place.fetch(values)


def remember_place(estimator: BaseEstimator, place: Place | None) -> None:
    """Keep in mind where the rows of a fit were."""
    vars(estimator).pop(MEMORY, None)
    if place is not None:
        setattr(estimator, MEMORY, str(place))


def check_same_place(estimator: BaseEstimator, X: Any, method: str) -> None:
    """Refuse rows of another namespace or device than those of a fit on a device.

    Nothing but scikit-learn's rule asks for it: the model itself is on the host. One that was fitted to
    NumPy rows, or comes from a file, takes rows from anywhere; so does every model while
    ``array_api_dispatch`` is off.
    """
    fitted = getattr(estimator, MEMORY, None)
    if fitted is None or not get_config()["array_api_dispatch"]:
        return
    here = place_of(X)
    if str(here or "numpy") != fitted:
        raise ValueError(
            f"X of {type(estimator).__name__}.{method}() must use the same namespace and device as X of "
            f"fit(), {fitted}, got {here or 'numpy'}: move X, or free the model from its place with "
            "sklearn.utils._array_api.move_estimator_to, or switch array_api_dispatch off."
        )
