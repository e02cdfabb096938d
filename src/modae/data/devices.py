"""Rows of another array namespace (torch, CuPy, ...), perhaps on another device.

Whatever grows with the number of rows is computed where the rows are; whatever has the size of a model
comes to the host, and is NumPy from there on. NumPy is one namespace among others here (the Python array
API standard), so dense code is written once, for :data:`HOST` and for every device.

This is the one file that uses scikit-learn's private helpers for the array API. There is no public way
to follow ``array_api_dispatch``: only scikit-learn knows which namespaces it supports, and it brings its
own wrappers of them. They are imported when dispatch is on, so that a version of scikit-learn without
them changes nothing for anybody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

from modae.utils.arrays import FLOAT64, Array, Indices, Precision

FLOAT32: Precision = np.dtype(np.float32)

Values = Any
"""An array of a namespace."""

FIT_DEVICE = "_fit_device"
"""The attribute by which an estimator remembers where the rows of its fit were. It is a string, not an
array: a fitted estimator is all NumPy, and files do without it."""


@dataclass(frozen=True, eq=False)
class Place:
    """A namespace and a device: where arrays are, and how they come and go.

    Parameters
    ----------
    xp : namespace
        With the functions of the array API standard.
    device : object
        A device of that namespace.
    fetch : callable
        Takes an array of the namespace, and returns it as NumPy; it may share memory.
    """

    xp: Any
    device: Any
    fetch: Callable[[Values], Array]

    def __str__(self) -> str:
        return f"{self.xp.__name__.rpartition('.')[2]} on {self.device}"

    @cached_property
    def precise(self) -> Precision:
        """The best precision of the device: float64 if it has that."""
        known = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return FLOAT64 if "float64" in known else FLOAT32

    def send(self, values: Array, dtype: Precision) -> Values:
        """A host array on the device; a copy where it moves, as some libraries refuse odd strides."""
        if self.xp is np:
            return values.astype(dtype, copy=False)
        return self.xp.asarray(np.array(values, dtype, order="C"), device=self.device)

    def cast(self, values: Values, dtype: Precision) -> Values:
        """An array of the device in another precision."""
        return self.xp.astype(values, getattr(self.xp, dtype.name), copy=False)

    def in_double(self, values: Values) -> Values:
        """The values in float64, which is on the host if the device has none."""
        if self.precise == FLOAT64:
            return self.cast(values, FLOAT64)
        return self.fetch(values).astype(np.float64)

    def to_host(self, values: Values) -> Array:
        """The values as NumPy: those that :meth:`in_double` brought are there already."""
        return values if isinstance(values, np.ndarray) else self.fetch(values)


HOST = Place(np, "cpu", lambda values: values)


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array of a namespace, with its place; functions of such arrays return such arrays.

    It has just enough of a NumPy array for a summary of the data to hold it.
    """

    values: Values
    place: Place

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.values.shape)

    @property
    def dtype(self) -> Precision:
        """float32 or float64, as NumPy calls them."""
        return FLOAT64 if self.values.dtype == self.place.xp.float64 else FLOAT32

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __getitem__(self, rows: Any) -> DeviceArray:
        """Some rows, by a slice, or by a mask or indices of NumPy."""
        if isinstance(rows, slice):
            return DeviceArray(self.values[rows, ...], self.place)
        indices: Indices = np.flatnonzero(rows) if rows.dtype == bool else rows
        known = self.place.xp.__array_namespace_info__().dtypes(
            kind="integral", device=self.place.device
        )
        dtype = np.int64 if "int64" in known else np.int32
        there = self.place.xp.asarray(indices.astype(dtype), device=self.place.device)
        return DeviceArray(self.place.xp.take(self.values, there, axis=0), self.place)

    def copy(self) -> Array:
        """The same numbers on the host, in memory of their own: what is kept is not kept on a device."""
        return np.array(self.place.fetch(self.values))


def place_and_values(rows: Any) -> tuple[Place, Values]:
    """Where dense rows are, and the array of that namespace."""
    return (rows.place, rows.values) if isinstance(rows, DeviceArray) else (HOST, rows)


def same_place(rows: Any, values: Values) -> Any:
    """An array beside the rows that it was computed from."""
    return DeviceArray(values, rows.place) if isinstance(rows, DeviceArray) else values


def unwrap(values: Any) -> Any:
    """The answer as the caller knows arrays: those of a namespace without their place."""
    return values.values if isinstance(values, DeviceArray) else values


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
    if isinstance(values, DeviceArray):
        return values.place.fetch(values.values)
    place = place_of(values)
    return values if place is None else place.fetch(values)


def remember_place(estimator: BaseEstimator, place: Place | None) -> None:
    """Keep in mind where the rows of a fit were."""
    vars(estimator).pop(FIT_DEVICE, None)
    if place is not None:
        setattr(estimator, FIT_DEVICE, str(place))


def check_same_place(estimator: BaseEstimator, X: Any, method: str) -> None:
    """Refuse rows of another namespace or device than those of a fit on a device.

    Nothing but scikit-learn's rule asks for it: the model itself is on the host. One that was fitted to
    NumPy rows, or comes from a file, takes rows from anywhere; so does every model while
    ``array_api_dispatch`` is off.
    """
    fitted = getattr(estimator, FIT_DEVICE, None)
    if fitted is None or not get_config()["array_api_dispatch"]:
        return
    here = place_of(X)
    if str(here or "numpy") != fitted:
        raise ValueError(
            f"X of {type(estimator).__name__}.{method}() must use the same namespace and device as X of "
            f"fit(), {fitted}, got {here or 'numpy'}: move X, or free the model from its place with "
            "sklearn.utils._array_api.move_estimator_to, or switch array_api_dispatch off."
        )
