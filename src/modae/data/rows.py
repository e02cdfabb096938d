r"""Rows of any kind: where they are, and products with centred rows that never form the centred matrix.

Dense rows are shifted block by block. For sparse rows the mean is a rank-one correction:
:math:`(X-\mathbf 1\mu^T)B=XB-\mathbf 1(\mu^TB)`, so they stay sparse.

Dense rows may be of another array namespace (torch, CuPy, ...), perhaps on another device. Whatever
grows with the number of rows is computed where the rows are; whatever has the size of a model comes to
the host, and is NumPy from there on. NumPy is one namespace among others here (the Python array API
standard), so dense code is written once, for :data:`HOST` and for every device.

This is the one file that uses scikit-learn's private helpers for the array API. There is no public way
to follow ``array_api_dispatch``: only scikit-learn knows which namespaces it supports, and it brings its
own wrappers of them. They are imported when dispatch is on, so that a version of scikit-learn without
them changes nothing for anybody else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator

from modae.utils.arrays import FLOAT64, Array, Indices, Precision

#: A matrix of rows (n, D): a NumPy array, a scipy sparse matrix or array in CSR or CSC form without
#: duplicate entries, or a :class:`modae.data.rows.DeviceArray`.
Rows: TypeAlias = Any

#: Dense rows are shifted and multiplied in blocks of about this size.
BLOCK_BYTES = 1 << 26

#: Rows in a block, at most, for a device without float64: so few can be added up in float32.
SINGLE_ROWS = 4096

FLOAT32: Precision = np.dtype(np.float32)

#: The attribute by which an estimator remembers where the rows of its fit were. It is a string, not an
#: array: a fitted estimator is all NumPy, and files do without it.
FIT_DEVICE = "_fit_device"


@dataclass(frozen=True, eq=False)
class Place:
    """A namespace and a device: where arrays are, and how they come and go.

    Parameters
    ----------
    xp : namespace
        With the functions of the array API standard.
    device : object
        A device of that namespace.
    """

    xp: Any
    device: Any

    def __str__(self) -> str:
        return "numpy" if self is HOST else f"{self.xp.__name__.rpartition('.')[2]} on {self.device}"

    @cached_property
    def precise(self) -> Precision:
        """The best precision of the device: float64 if it has that."""
        if self.xp is np:  # which tells that from version 2.1 on only
            return FLOAT64
        known = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return FLOAT64 if "float64" in known else FLOAT32

    def float_types(self, upcast: bool = False) -> list[Any]:
        """Precisions that are kept as they are, of this namespace; other numbers become the first."""
        wanted = (FLOAT64,) if upcast else (FLOAT64, FLOAT32)
        return [getattr(self.xp, dtype.name) for dtype in wanted if dtype <= self.precise]

    def send(self, values: Array, dtype: Precision) -> Any:
        """A host array on the device; a copy where it moves, as some libraries refuse odd strides."""
        if self.xp is np:
            return values.astype(dtype, copy=False)
        return self.xp.asarray(np.array(values, dtype, order="C"), device=self.device)

    def cast(self, values: Any, dtype: Precision) -> Any:
        """An array of the device in another precision."""
        return self.xp.astype(values, getattr(self.xp, dtype.name), copy=False)

    def in_double(self, values: Any) -> Any:
        """The values in float64, which is on the host if the device has none."""
        if self.precise == FLOAT64:
            return self.cast(values, FLOAT64)
        return self.fetch(values).astype(np.float64)

    def fetch(self, values: Any) -> Array:
        """An array of the device, or of :meth:`in_double`, as NumPy; it may share memory.

        What is on the host stays as it is.
        """
        if self is HOST or isinstance(values, np.ndarray):
            return values
        from sklearn.utils._array_api import _convert_to_numpy

        return _convert_to_numpy(values.detach() if hasattr(values, "detach") else values, self.xp)


HOST = Place(np, "cpu")


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """Rows of a namespace, with their place: just enough of a NumPy array for a summary to hold it."""

    values: Any
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

    def __getitem__(self, rows: Any) -> "DeviceArray":
        """Some rows, by a slice, or by a mask or indices of NumPy."""
        if isinstance(rows, slice):
            return DeviceArray(self.values[rows, ...], self.place)
        indices: Indices = np.flatnonzero(rows) if rows.dtype == bool else rows
        # Not every device has integers of 64 bits.
        there = self.place.xp.asarray(indices.astype(np.int32), device=self.place.device)
        return DeviceArray(self.place.xp.take(self.values, there, axis=0), self.place)

    def copy(self) -> Array:
        """The same numbers on the host, in memory of their own: what is kept is not kept on a device."""
        return np.array(self.place.fetch(self.values))


def place_and_values(rows: Any) -> tuple[Place, Any]:
    """Where rows are, and the array of that namespace."""
    return (rows.place, rows.values) if isinstance(rows, DeviceArray) else (HOST, rows)


def place_of(X: Any) -> Place:
    """Namespace and device of X; the host for NumPy and whatever becomes NumPy.

    That is everything, unless ``sklearn.set_config(array_api_dispatch=True)``.
    """
    if not get_config()["array_api_dispatch"]:
        return HOST
    from sklearn.utils._array_api import get_namespace_and_device

    try:
        xp, is_array, device = get_namespace_and_device(X)
    except TypeError:  # no array of any namespace: validation says what is wrong with it
        return HOST
    is_numpy = not is_array or xp.__name__.rpartition(".")[2] == "numpy"
    return HOST if is_numpy else Place(xp, device)


def plain_numbers(X: Any, place: Place) -> Any:
    """X without a gradient, which causes warnings in validation.

    What validation would not see in other namespaces is refused here.
    """
    if "sparse" in str(getattr(X, "layout", "")):
        raise TypeError("X must be dense or a sparse matrix of scipy, got a sparse tensor: convert it.")
    if place is not HOST and place.xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: X must be real numbers.")
    return X.detach() if hasattr(X, "detach") else X


def on_host(values: Any) -> Any:
    """The same values as NumPy, if they are an array of another namespace."""
    if isinstance(values, DeviceArray):
        return values.place.fetch(values.values)
    return place_of(values).fetch(values)


def refuse_masked(name: str, values: Any) -> None:
    """Masked entries would be read as the numbers behind the mask."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked entries, which would be read as numbers: fill them, or drop those rows."
        )


def weights_of(sample_weight: Any, n_rows: int) -> Array | None:
    """Weights of the rows as float64, checked; None where there are none."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    try:
        given = np.asarray(on_host(sample_weight))
        if np.iscomplexobj(given):
            raise ValueError("no real numbers")
        weights = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as reason:
        raise ValueError(f"sample_weight must be numbers, got {sample_weight!r}.") from reason
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_rows} rows of X, got shape "
            f"{weights.shape}."
        )
    bad = weights[~(np.isfinite(weights) & (weights >= 0.0))]
    if len(bad):
        raise ValueError(f"sample_weight must be finite and not negative, got {bad[0]}.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight adds up to infinity: divide it, only ratios matter.")
    return weights


def remember_place(estimator: BaseEstimator, place: Place) -> None:
    """Keep in mind where the rows of a fit were, if that is not the host."""
    vars(estimator).pop(FIT_DEVICE, None)
    if place is not HOST:
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
    if str(here) != fitted:
        raise ValueError(
            f"X of {type(estimator).__name__}.{method}() must use the same namespace and device as X of "
            f"fit(), {fitted}, got {here}: move X, or free the model from its place with "
            "sklearn.utils._array_api.move_estimator_to, or switch array_api_dispatch off."
        )


def row_blocks(rows: Rows) -> Iterator[slice]:
    """Slices that cut dense rows into blocks."""
    height = max(1, BLOCK_BYTES // int(rows.dtype.itemsize * rows.shape[1]))
    if place_and_values(rows)[0].precise != FLOAT64:
        height = min(height, SINGLE_ROWS)
    for start in range(0, rows.shape[0], height):
        yield slice(start, min(start + height, rows.shape[0]))


def shifted_blocks(rows: Rows, shift: Array, unit: float = 1.0) -> Iterator[tuple[slice, Any]]:
    """Blocks of ``(rows - shift) / unit``, each after its slice; the rows themselves if that is all.

    On the host all blocks use one buffer, so a block is gone when the next one is asked for.
    """
    place, values = place_and_values(rows)
    cuts = list(row_blocks(rows))
    if unit == 1.0 and not shift.any():
        yield from ((cut, values[cut, ...]) for cut in cuts)
        return
    away = place.send(shift, rows.dtype)
    buffer = np.empty((cuts[0].stop, rows.shape[1]), rows.dtype) if place is HOST else None
    for cut in cuts:
        if buffer is None:
            block = values[cut, ...] - away
        else:
            block = np.subtract(values[cut], away, out=buffer[: cut.stop - cut.start])
        yield cut, block if unit == 1.0 else block / unit


def weighted_blocks(
    rows: Rows, shift: Array, unit: float, weights: Array | None
) -> Iterator[tuple[Any, Array]]:
    """Blocks of ``roots * (rows - shift) / unit`` for the rows of positive weight, with the roots."""
    if weights is None:
        for cut, block in shifted_blocks(rows, shift, unit):
            yield block, np.ones(cut.stop - cut.start)
        return
    place, _ = place_and_values(rows)
    present = np.flatnonzero(weights)
    for cut in row_blocks(rows):
        if len(chosen := present[cut]):
            roots = np.sqrt(weights[chosen])
            ((_, block),) = shifted_blocks(rows[chosen], shift, unit)
            yield block * place.send(roots[:, None], rows.dtype), roots


def centred_product(rows: Rows, mean: Array, matrix: Array) -> Any:
    """(rows - mean) @ matrix, in the precision of the rows, where the rows are."""
    if issparse(rows):
        matrix = matrix.astype(rows.dtype, copy=False)
        product: Array = np.asarray(rows @ matrix)
        product -= mean.astype(rows.dtype, copy=False) @ matrix
        return product
    place, _ = place_and_values(rows)
    there = place.send(matrix, rows.dtype)
    parts = [block @ there for _, block in shifted_blocks(rows, mean)]
    return parts[0] if len(parts) == 1 else place.xp.concat(parts)


def centred_squares(rows: Rows, mean: Array) -> Any:
    """Squared length of each centred row, in float64 or the best precision of a device.

    Of sparse rows, entries that are there count one by one, others by what is left of |mean|^2.
    """
    if not issparse(rows):
        place, _ = place_and_values(rows)
        blocks = (place.cast(block, place.precise) for _, block in shifted_blocks(rows, mean))
        return place.xp.concat([place.xp.vecdot(block, block) for block in blocks])
    rows, mean = rows.tocsr(), mean.astype(np.float64, copy=False)
    there = rows.astype(np.float64)
    there.data = (there.data - mean[there.indices]) ** 2
    absent = rows.astype(np.float64)
    absent.data = mean[absent.indices] ** 2
    missing = float(mean @ mean) - np.asarray(absent.sum(axis=1)).ravel()
    missing[np.diff(rows.indptr) == rows.shape[1]] = 0.0
    return np.asarray(there.sum(axis=1)).ravel() + np.maximum(missing, 0.0)


def entries_near_mean(rows: Rows) -> Array:
    """One entry of each column to subtract from it: exact, so a constant column becomes exactly 0.

    Of dense rows it is the one nearest to the mean of a sample. Sparse rows have one only in columns
    without a missing entry, and 0 in the others: there |mean|^2 cannot be much larger than the
    variance, and a shift would fill the column.
    """
    if issparse(rows):
        csc, full = rows.tocsc(), full_columns(rows)
        entries: Array = np.zeros(rows.shape[1], rows.dtype)
        entries[full] = csc.data[csc.indptr[:-1][full]]
        return entries
    sample = sample_of(rows)
    middle = (sample.astype(np.float64) / len(sample)).sum(axis=0)
    nearest = np.abs(sample / 2.0 - middle / 2.0).argmin(axis=0)
    return np.take_along_axis(sample, nearest[None], axis=0)[0]


def sample_of(rows: Rows) -> Array:
    """Some 256 dense rows from all over, on the host."""
    return np.asarray(on_host(rows[:: max(1, rows.shape[0] // 256)]))


def full_columns(rows: Rows) -> Array:
    """Which columns of sparse rows have no missing entry."""
    return np.diff(rows.tocsc().indptr) == rows.shape[0]


def mean_row(rows: Rows, weights: Array | None = None) -> Array:
    """Weighted mean of the rows in float64, exact for constant columns."""
    shift, shares = entries_near_mean(rows), shares_of(weights, rows.shape[0])
    if issparse(rows):
        offset = np.asarray(shares @ shifted_sparse(rows, shift.astype(np.float64))).ravel()
    else:
        place, _ = place_and_values(rows)
        offset = np.zeros(rows.shape[1])
        for cut, block in shifted_blocks(rows, shift):
            part = place.send(shares[cut], place.precise) @ place.cast(block, place.precise)
            offset += place.fetch(place.in_double(part))
    return shift.astype(np.float64) + offset


def shifted_sparse(rows: Rows, shift: Array, unit: float = 1.0) -> Rows:
    """(rows - shift) / unit in float64, for a shift of columns without a missing entry: still sparse."""
    shifted = rows.tocsr().astype(np.float64)
    shifted.data = (shifted.data - shift[shifted.indices]) / unit
    return shifted


def shares_of(weights: Array | None, n_rows: int) -> Array:
    """Shares of the rows in the weight; they sum to 1."""
    if weights is None:
        return np.full(n_rows, 1.0 / n_rows)
    relative = weights / weights.max()
    return relative / relative.sum()
