"""Data from outside become float matrices, targets and weights that can be trusted, or are refused.

Estimators call the functions of this module. Rows in memory (whatever scikit-learn reads as a matrix)
take the plain way; rows that are not, such as a Dask array, answer through their :class:`LazyRows`. A
new lazy kind of data is one subclass and one line in ``LAZY_ROWS``; no estimator knows of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from modae.data.placed_parts import Parts
from modae.data.rows import (
    HOST,
    DeviceArray,
    Rows,
    on_host,
    place_of,
    plain_numbers,
    refuse_masked,
    remember_place,
    weights_of,
)
from modae.utils.arrays import FLOAT64, Array, Indices
from modae.utils.text import listed

#: What to do with what validation refuses in a column, by what it says.
REMEDIES = {
    "could not convert string": "encode such columns (OneHotEncoder, OrdinalEncoder), or leave them out",
    "contains NaN": "fill what is missing (SimpleImputer), or leave such rows out",
    "contains infinity": "correct such numbers, or leave such rows out",
}


class AcceptsRows:
    """Tags of an estimator that takes whatever :func:`rows_of` reads, and answers in its precision.

    It comes before the mixins of scikit-learn, whose tags it changes.
    """

    _takes_tensors = False  # arrays of other namespaces, answered where they are

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.array_api_support = self._takes_tensors
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def rows_of(X: Any, estimator: BaseEstimator, *, reset: bool = False, upcast: bool = False) -> Rows:
    """X as a float matrix, sparsity kept, and float32 unless ``upcast``.

    Its columns are checked against those of ``fit`` unless ``reset``. Arrays of another namespace stay
    where they are, if the estimator has the tag ``array_api_support`` and the device has the precision.
    Missing entries, NaN, are let through for an estimator with the tag ``allow_nan``.
    """
    refuse_masked("X", X)
    if hasattr(type(X), "__dask_graph__"):
        raise TypeError(
            f"{type(estimator).__name__} does not take dask data here, because that would gather all "
            "rows: give it a sample in memory, X.compute()."
        )
    if not issparse(X):
        X = _without_dates(X)
    place = place_of(X)
    X = plain_numbers(X, place)
    if place is not HOST:
        precise = not upcast or place.precise == FLOAT64
        if not precise or not getattr(get_tags(estimator), "array_api_support", False):
            X, place = place.fetch(X), HOST
    with np.errstate(over="ignore", invalid="ignore"):  # huge numbers, whose sum is no number
        dtypes = place.float_types(upcast)
        finite: Any = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
        try:
            rows = validate_data(
                estimator, X, reset=reset, dtype=dtypes, accept_sparse="csr", ensure_all_finite=finite
            )
        except ValueError as error:
            raise _with_columns(error, X) from None
    if reset:
        remember_place(estimator, place)
    if place is not HOST:
        return DeviceArray(rows, place)
    if issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    # NumPy multiplies rows that are not aligned, as they may arrive from another process, by another
    # routine, with other round-off.
    return rows if issparse(rows) else np.require(rows, requirements="A")


def _without_dates(X: Any) -> Any:
    """X in the byte order of this machine; dates are refused: they would be read as nanoseconds."""
    dates = None
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "mM":
            dates = f"holds dates or durations ({X.dtype})"
        elif X.dtype.kind == "f" and not X.dtype.isnative:
            X = X.astype(X.dtype.newbyteorder("="))
    else:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            package = type(X).__module__.partition(".")[0]
            raise TypeError(
                f"X must be in memory, got a lazy {type(X).__name__} of {package}: use X.collect()."
            )
        schema = frame.schema if isinstance(frame, nw.DataFrame) else {}
        for name in [name for name, dtype in schema.items() if dtype.is_temporal()][:1]:
            dates = f"has dates or durations in column {name!r}"
    if dates is not None:
        raise ValueError(
            f"X {dates}, not numbers: convert them, for example to days since a date, or leave them out."
        )
    return X


def _with_columns(error: ValueError, X: Any) -> ValueError:
    """What validation said of a frame, with the names of the columns and a remedy, if it is known."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    said = str(error).partition("\n")[0].rstrip(".")
    remedy = next((remedy for words, remedy in REMEDIES.items() if words in said), None)
    of_strings, is_odd, names = "string" in said, np.isnan if "NaN" in said else np.isinf, []
    for name in [] if frame is X else frame.columns:
        try:
            odd = bool(is_odd(np.asarray(frame[name].to_numpy(), np.float64)).any()) and not of_strings
        except (TypeError, ValueError):
            odd = of_strings
        names += [name] if odd else []
    where = f"in column{'s' * (len(names) > 1)} {listed(names)}"
    return ValueError(f"{said}, {where}: {remedy}.") if remedy and names else error


def copy_columns(estimator: Any, like: Any) -> None:
    """Number and names of the columns, as another estimator knows them; none of an earlier fit."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
        if hasattr(like, name):
            setattr(estimator, name, getattr(like, name))


def codes_of(X: Any) -> Rows:
    """What ``transform`` returned, or something like it, as a dense float matrix."""
    place = place_of(X)
    codes = check_array(plain_numbers(X, place), dtype=place.float_types())
    return codes if place is HOST else DeviceArray(codes, place)


def labels_of(X: Any, y: Any, estimator: BaseEstimator) -> np.ndarray:
    """One label for each row of X, in memory."""
    y = _known(y, estimator)
    if hasattr(y, "isna") and np.any(y.isna()):  # pd.NA cannot be compared with anything
        raise ValueError("Input y contains NaN: a label is missing.")
    series = nw.from_native(y, series_only=True, pass_through=True)
    if series is not y and series.dtype.is_integer():
        y = series.to_numpy()  # through floats, as elsewhere, large integers would merge
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    check_length(X, y)
    return y


def targets_of(X: Any, y: Any, estimator: BaseEstimator, *, copy: bool = True) -> Array:
    """One target, or several, for each row of X; a copy, if the caller may change his array."""
    y = _known(y, estimator)
    targets: Array = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", copy=copy)
    check_length(X, targets)
    return targets


def _known(y: Any, estimator: BaseEstimator) -> Any:
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = gather(y)
    refuse_masked("y", y)
    return y


def known_targets(
    X: Any, y: Any, missing_label: Any, read: Callable[[Any, Any], np.ndarray]
) -> tuple[np.ndarray, Indices]:
    """Targets of all rows as ``read``, and the places of those that have one; None marks no row.

    Where there is none, that of the first row with one stands in its place, and is not used. NaN as the
    mark is None and NA of pandas too; of several targets, one that is marked is enough.
    """
    if missing_label is None or y is None:
        targets = read(X, y)
        return targets, np.arange(len(targets))
    require_in_memory(X, "missing_label")
    values = np.asarray(gather(y))
    marked = values == missing_label
    if missing_label != missing_label:
        marked = np.asarray(y.isna()) if hasattr(y, "isna") else (values != values) | (values == None)  # noqa: E711
    marked = marked.reshape(len(values), -1).any(axis=1)
    check_consistent_length(X, marked)
    known = np.flatnonzero(~marked)
    if not len(known):
        raise ValueError(
            f"y must have a label for at least one row, but missing_label={missing_label!r} stands in "
            f"all {len(marked)}: without labels, fit the extractor alone."
        )
    labels = take_rows(y, known)
    if getattr(getattr(labels, "dtype", None), "kind", "") == "O" and len({*map(type, labels)}) == 1:
        labels = np.array(list(labels))  # they were objects because of the marks
    found = read(known, labels)
    targets = np.repeat(found[:1], len(marked), axis=0)
    targets[known] = found
    return targets, known


def take_rows(X: Any, places: Any) -> Any:
    """Some rows of a matrix, frame or list, in the same kind of container."""
    frame = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if frame is not X:
        return frame[places].to_native()
    if issparse(X) and X.format in ("coo", "bsr", "dia"):
        X = X.tocsr()  # these give no single rows, or not with every SciPy
    return X[places] if hasattr(X, "shape") else [X[place] for place in places]


#: Package or module of a type -> its LazyRows as "module:class", imported when such data are met.
LAZY_ROWS = {
    "dask": "modae.sources.dask_rows:DaskRows",
    "modae.sources.batches": "modae.sources.batches:BatchRows",
}

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class RowwiseCall:
    """A method of a fitted estimator whose answer for a row depends on that row alone.

    ``axis`` is the one along which the answer has the rows.
    """

    estimator: Any
    method: str
    axis: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, X: Any) -> Any:
        """The answer for some rows."""
        return getattr(self.estimator, self.method)(X, **self.options)


class LazyRows(ABC):
    """Data that are read chunk by chunk, when they are needed: what estimators ask of them.

    Making one reads and checks nothing, so that labels and weights can be wrapped like rows.
    """

    def __init__(self, data: Any) -> None:
        self.data = data

    @abstractmethod
    def reduce(
        self, estimator: Any, summarise: Any, weights: Any, *, reset: bool, upcast: bool, indexed: bool
    ) -> Any:
        """Validate training data for an estimator and sum them up.

        ``n_features_in_`` and ``feature_names_in_`` are set on the estimator if ``reset``, and checked
        if not. ``summarise(rows, weights or None, start)`` is called for each chunk, where ``start`` is
        the index of its first row, and its answers are put together by their method ``join``. A summary
        that is not ``indexed`` does not depend on ``start``, which need not be known then.
        """

    @abstractmethod
    def map(self, call: RowwiseCall) -> Any:
        """The answers for all rows, chunk by chunk, in the container that fits the data."""

    def parts(self, call: RowwiseCall) -> Parts:
        """The answers of a call that has one array for each part, in memory or where the rows are."""
        return Parts(self.map(call))

    @abstractmethod
    def fold(self, call: RowwiseCall, states: Any, step: Any, **shared: Any) -> list[Any]:
        """``state = step(state, piece, **shared)`` for each part, chunk after chunk: the last states.

        ``step`` must not change a state: a chunk may be taken twice if a worker is lost.
        """

    @abstractmethod
    def gather(self) -> Any:
        """The values in memory."""

    @abstractmethod
    def columns(self) -> Any:
        """A matrix or table in memory, of at most one row, with the number and names of the columns."""

    @abstractmethod
    def n_rows(self) -> int | None:
        """Number of rows; None if it cannot be told without reading."""

    @abstractmethod
    def split_weights(self, sample_weight: Any) -> tuple[Any, Any]:
        """The data without weights of their own, and the weights in memory."""


def lazy_rows(X: Any) -> LazyRows | None:
    """The protocol object of lazy data, found by the package of its type; None for data in memory."""
    for base in type(X).__mro__:
        for package, where in LAZY_ROWS.items():
            if f"{base.__module__}.".startswith(f"{package}."):
                module, _, name = where.partition(":")
                rows: LazyRows = getattr(import_module(module), name)(X)
                return rows
    return None


def require_in_memory(X: Any, what: str) -> None:
    """Refuse lazy data where rows are picked one by one: scikit-learn would gather them in silence."""
    if lazy_rows(X) is not None:
        method = "to_array" if hasattr(X, "to_array") else "compute"
        raise TypeError(
            f"{what} picks single rows, so X must be in memory, got a lazy {type(X).__name__}: use a "
            f"sample of the rows that fits, or X.{method}() if all of them do."
        )


def summarised(
    X: Any, estimator: BaseEstimator, summarise: Any, weights: Any = None, *, indexed: bool, **how: bool
) -> tuple[Any, Rows | None]:
    """Validate training data and sum them up, as :meth:`LazyRows.reduce`; and the rows, if in memory."""
    lazy = lazy_rows(X)
    if lazy is not None:
        return lazy.reduce(estimator, summarise, weights, indexed=indexed, **how), None
    rows = rows_of(X, estimator, **how)
    return summarise(rows, weights_of(weights, rows.shape[0]), 0), rows


def by_rows(axis: int = 0) -> Callable[[Method], Method]:
    """Decorate a method ``(self, X)`` for rows in memory so that it takes lazy rows, chunk by chunk."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def apply(self: Any, X: Any, *given: Any, **options: Any) -> Any:
            if given:  # by name, as a chunk will be asked
                options = dict(signature(method).bind(self, X, *given, **options).arguments)
                del options["self"], options["X"]
            lazy = lazy_rows(X)
            if lazy is None:
                return method(self, X, **options)
            return lazy.map(RowwiseCall(self, method.__name__, axis, options))

        return apply  # type: ignore[return-value]

    return decorate


def gather(values: Any) -> Any:
    """The values in memory, as NumPy, where they are not there yet."""
    lazy = lazy_rows(values)
    return on_host(values) if lazy is None else lazy.gather()


def columns_of(X: Any) -> Any:
    """Something in memory with the columns of X, for checks of their number and names."""
    lazy = lazy_rows(X)
    return X if lazy is None else lazy.columns()


def check_length(X: Any, y: Any) -> None:
    """Refuse labels that are more or fewer than the rows, as far as can be told without reading."""
    lazy = lazy_rows(X)
    if lazy is None:
        check_consistent_length(X, y)
        return
    n_rows = lazy.n_rows()
    if n_rows is not None and n_rows != len(y):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: y must have one label for each "
            f"of the {n_rows} rows, got {len(y)}."
        )


def split_weights(X: Any, sample_weight: Any) -> tuple[Any, LazyRows | None, Any]:
    """X without weights of its own, its protocol object if it is lazy, and the weights in memory."""
    lazy = lazy_rows(X)
    if lazy is None:
        return X, None, gather(sample_weight)
    data, weights = lazy.split_weights(sample_weight)
    return data, type(lazy)(data), weights
