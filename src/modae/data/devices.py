"""A third kind of rows: arrays of another namespace (torch, CuPy, ...), perhaps on another device.

Whatever grows with the number of rows is computed where the rows are; whatever has the size of a model
comes to the host, and is NumPy from there on. The namespace comes with the array (see the Python array
API standard), so that this file imports none.

A block is multiplied in the precision of the rows, and blocks are added in float64: on the device, or on
the host for a device that has no float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from modae.data.encoding import by_module, mean_reconstruction, reconstructions, row_losses
from modae.data.moments import extremes, first_shift, mean_products
from modae.data.rows import (
    block_height,
    centred_product,
    centred_squares,
    entries_near_mean,
    mean_of_shifted,
    on_host,
    sample_of,
)
from modae.utils.arrays import FLOAT64, Array, Indices, Precision, side_by_side, swap

FLOAT32: Precision = np.dtype(np.float32)

Values = Any
"""An array of the namespace itself."""

SINGLE_ROWS = 4096
"""Rows in a block, at most, for a device without float64: so few can be added up in float32."""


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
        """A host array on the device, always as a copy: some libraries refuse odd strides."""
        return self.xp.asarray(np.array(values, dtype, order="C"), device=self.device)

    def send_indices(self, indices: Indices) -> Values:
        """Indices of rows on the device."""
        known = self.xp.__array_namespace_info__().dtypes(kind="integral", device=self.device)
        dtype = np.int64 if "int64" in known else np.int32
        return self.xp.asarray(indices.astype(dtype), device=self.device)

    def native(self, dtype: Precision) -> Any:
        """What the namespace calls a precision."""
        return getattr(self.xp, dtype.name)

    def cast(self, values: Values, dtype: Precision) -> Values:
        """An array of the device in another precision."""
        return self.xp.astype(values, self.native(dtype), copy=False)

    def in_double(self, values: Values) -> Values:
        """The values in float64, which is on the host if the device has none."""
        if self.precise == FLOAT64:
            return self.cast(values, FLOAT64)
        return self.fetch(values).astype(np.float64)

    def home(self, values: Values) -> Array:
        """What :meth:`in_double` gave, on the host."""
        return values if isinstance(values, np.ndarray) else self.fetch(values)


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array of a namespace, with its place; functions of such arrays return such arrays.

    It has just enough of a NumPy array for :class:`modae.data.summary.Stream` to hold it.
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
    def itemsize(self) -> int:
        """Bytes of a number."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return int(np.prod(self.shape)) * self.itemsize

    def __getitem__(self, rows: Any) -> DeviceArray:
        """Some rows, by a slice or by a NumPy mask."""
        if isinstance(rows, slice):
            return self.with_values(self.values[rows, ...])
        return self.with_values(self.take(np.flatnonzero(rows)))

    def take(self, indices: Indices) -> Values:
        """Some rows, by their indices."""
        return self.place.xp.take(self.values, self.place.send_indices(indices), axis=0)

    def with_values(self, values: Values) -> DeviceArray:
        """Another array in the same place."""
        return DeviceArray(values, self.place)

    def copy(self) -> Array:
        """The same numbers on the host, in memory of their own: what is kept is not kept on a device."""
        return np.array(self.place.fetch(self.values))


def given(values: Any) -> Any:
    """The answer as the caller knows arrays: those of a namespace without their place."""
    return values.values if isinstance(values, DeviceArray) else values


def height_of(rows: DeviceArray) -> int:
    """Rows in a block."""
    height = block_height(rows)
    return height if rows.place.precise == FLOAT64 else min(height, SINGLE_ROWS)


def cuts(rows: DeviceArray) -> Iterator[slice]:
    """Slices that cut the rows into blocks."""
    height = height_of(rows)
    for start in range(0, rows.shape[0], height):
        yield slice(start, min(start + height, rows.shape[0]))


def shifted_blocks(rows: DeviceArray, shift: Array, unit: float = 1.0) -> Iterator[Values]:
    """Blocks of ``(rows - shift) / unit``; of the rows themselves if that is all."""
    away = rows.place.send(shift, rows.dtype) if shift.any() else None
    for cut in cuts(rows):
        yield _moved(rows.values[cut, ...], away, unit)


def weighted_blocks(
    rows: DeviceArray, shift: Array, unit: float, weights: Array
) -> Iterator[tuple[Values, Array]]:
    """Blocks of ``roots * (rows - shift) / unit`` for the rows of positive weight, with the roots."""
    present = np.flatnonzero(weights)
    roots = np.sqrt(weights[present])
    away = rows.place.send(shift, rows.dtype) if shift.any() else None
    height = height_of(rows)
    for start in range(0, len(present), height):
        part = roots[start : start + height]
        block = _moved(rows.take(present[start : start + height]), away, unit)
        yield block * rows.place.send(part[:, None], rows.dtype), part


def _moved(block: Values, away: Values | None, unit: float) -> Values:
    block = block if away is None else block - away
    return block if unit == 1.0 else block / unit


@mean_products.register(DeviceArray)
def _(rows: DeviceArray, shift: Array, unit: float, weights: Array | None) -> tuple[Array, Array]:
    place = rows.place
    weight = float(rows.shape[0] if weights is None else weights.sum())
    blocks = blocks_with_totals(rows, shift, unit, weights)
    parts = ((place.in_double(total), place.in_double(block.T @ block)) for block, total in blocks)
    total, products = next(parts)
    for block_total, block_products in parts:
        total += block_total
        products += block_products
    return place.home(total) / weight, place.home(products) / weight


def blocks_with_totals(
    rows: DeviceArray, shift: Array, unit: float, weights: Array | None
) -> Iterator[tuple[Values, Values]]:
    """Shifted blocks, weighted if there are weights, with the sum of their rows."""
    place = rows.place
    if weights is None:
        for block in shifted_blocks(rows, shift, unit):
            yield block, place.xp.sum(block, axis=0, dtype=place.native(place.precise))
        return
    for block, roots in weighted_blocks(rows, shift, unit, weights):
        yield block, place.send(roots, place.precise) @ place.cast(block, place.precise)


@mean_of_shifted.register(DeviceArray)
def _(rows: DeviceArray, shift: Array, shares: Array) -> Array:
    place = rows.place
    offset = np.zeros(rows.shape[1])
    for cut, block in zip(cuts(rows), shifted_blocks(rows, shift), strict=True):
        part = place.send(shares[cut], place.precise) @ place.cast(block, place.precise)
        offset += place.home(place.in_double(part))
    return offset


@centred_product.register(DeviceArray)
def product_there(rows: DeviceArray, mean: Array, matrix: Array) -> DeviceArray:
    """(rows - mean) @ matrix, on the device."""
    there = rows.place.send(matrix, rows.dtype)
    parts = [block @ there for block in shifted_blocks(rows, mean)]
    return rows.with_values(rows.place.xp.concat(parts))


@centred_squares.register(DeviceArray)
def squares_there(rows: DeviceArray, mean: Array) -> DeviceArray:
    """Squared length of each centred row, on the device in its best precision."""
    place = rows.place
    blocks = (place.cast(block, place.precise) for block in shifted_blocks(rows, mean))
    return rows.with_values(place.xp.concat([place.xp.sum(block * block, axis=1) for block in blocks]))


@on_host.register(DeviceArray)
def _(rows: DeviceArray) -> Array:
    return rows.place.fetch(rows.values)


@first_shift.register(DeviceArray)
def _(rows: DeviceArray) -> Array:
    return first_shift(on_host(sample_of(rows)))


@entries_near_mean.register(DeviceArray)
def _(rows: DeviceArray) -> Array:
    return entries_near_mean(on_host(sample_of(rows)))


@extremes.register(DeviceArray)
def _(rows: DeviceArray) -> tuple[Array, Array]:
    xp, fetch = rows.place.xp, rows.place.fetch
    return fetch(xp.min(rows.values, axis=0)), fetch(xp.max(rows.values, axis=0))


@by_module.register(DeviceArray)
def by_module_there(codes: DeviceArray, n_modules: int) -> DeviceArray:
    """Codes as one matrix for each module, on the device."""
    xp = codes.place.xp
    stack = xp.reshape(codes.values, (codes.shape[0], n_modules, -1))
    return codes.with_values(xp.permute_dims(stack, (1, 0, 2)))


@mean_reconstruction.register(DeviceArray)
def _(codes: DeviceArray, mean: Array, decoders: Array) -> DeviceArray:
    send, dtype = codes.place.send, codes.dtype
    flat = side_by_side(decoders) / len(decoders)
    return codes.with_values(codes.values @ send(flat.T, dtype) + send(mean, dtype))


@reconstructions.register(DeviceArray)
def _(codes: DeviceArray, mean: Array, decoders: Array) -> DeviceArray:
    send, dtype = codes.place.send, codes.dtype
    stack = by_module_there(codes, len(decoders)).values
    return codes.with_values(stack @ send(swap(decoders), dtype) + send(mean, dtype))


@row_losses.register(DeviceArray)
def _(rows: DeviceArray, mean: Array, encoders: Array, decoders: Array, diversity: float) -> DeviceArray:
    """As for NumPy, in the best precision of the device."""
    place, flat, n_modules = rows.place, side_by_side(decoders).astype(np.float64), len(decoders)
    squares = squares_there(rows, mean).values
    codes = place.cast(product_there(rows, mean, side_by_side(swap(encoders))).values, place.precise)
    matches = place.cast(product_there(rows, mean, flat).values, place.precise)
    overlap = place.xp.sum(codes * matches, axis=1) * (2.0 / n_modules)
    each = squares + place.xp.sum(codes * codes, axis=1) / n_modules - overlap
    together = codes @ place.send(flat.T @ flat, place.precise)
    of_mean = squares + place.xp.sum(together * codes, axis=1) / n_modules**2 - overlap
    each, of_mean = place.xp.clip(each, min=0.0), place.xp.clip(of_mean, min=0.0)
    return rows.with_values((1.0 - diversity) * each + diversity * of_mean)
