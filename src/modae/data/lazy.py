"""Rows in memory, and rows that are not: one protocol for every lazy kind of data.

Estimators call the functions of this module. Rows in memory (whatever scikit-learn reads as a matrix)
take the plain way; rows that are not, such as a Dask array, answer through their :class:`LazyRows`. A
new lazy kind of data is one subclass and one line in ``LAZY_ROWS``; no estimator knows of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from modae.data.devices import on_host
from modae.data.rows import Rows
from modae.data.summary import DataSummary
from modae.data.validation import rows_of, weights_of
from modae.utils.arrays import Array

LAZY_ROWS = {
    "dask": "modae.sources.dask_rows:DaskRows",
    "modae.sources.batches": "modae.sources.batch_rows:BatchRows",
}
"""Package or module of a type -> its LazyRows as "module:class", imported when such data are met."""

Summarise = Callable[[Rows, Array | None, int], Any]
"""(rows, weights or None, index of the first row) -> a summary with a method ``join``."""

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
        self,
        estimator: BaseEstimator,
        summarise: Summarise,
        sample_weight: Any,
        *,
        reset: bool,
        upcast: bool,
        indexed: bool,
    ) -> Any:
        """The joined summaries of all chunks; see :func:`reduce_rows`."""

    @abstractmethod
    def map(self, call: RowwiseCall) -> Any:
        """The answers for all rows, chunk by chunk, in the container that fits the data."""

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


def reduce_rows(
    X: Any,
    estimator: BaseEstimator,
    summarise: Summarise,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    upcast: bool = False,
    indexed: bool = False,
) -> Any:
    """Validate training data for an estimator and sum them up.

    ``n_features_in_`` and ``feature_names_in_`` are set on the estimator if ``reset``, and checked if
    not. ``summarise(rows, weights, start)`` is called for each chunk, where ``start`` is the index of
    its first row, and the answers are joined. A summary that is not ``indexed`` does not depend on
    ``start``, which need not be known then.
    """
    lazy = lazy_rows(X)
    if lazy is not None:
        options = {"reset": reset, "upcast": upcast, "indexed": indexed}
        return lazy.reduce(estimator, summarise, sample_weight, **options)
    rows = rows_of(X, estimator, reset=reset, upcast=upcast)
    return summarise(rows, weights_of(sample_weight, rows.shape[0]), 0)


def collect(
    X: Any,
    estimator: BaseEstimator,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    upcast: bool = False,
) -> DataSummary:
    """The stream of all rows of X: what a linear model needs of its data."""

    def stream(rows: Rows, weights: Array | None, start: int) -> DataSummary:
        return DataSummary.of(rows, weights)

    return reduce_rows(X, estimator, stream, sample_weight, reset=reset, upcast=upcast)


def by_rows(axis: int = 0) -> Callable[[Method], Method]:
    """Decorate a method ``(self, X)`` for rows in memory so that it takes lazy rows, chunk by chunk."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def apply(self: Any, X: Any, **options: Any) -> Any:
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


def split_weights(X: Any, sample_weight: Any) -> tuple[Any, Any]:
    """X without weights of its own, and the weights in memory, for all parts of an ensemble alike."""
    lazy = lazy_rows(X)
    return (X, gather(sample_weight)) if lazy is None else lazy.split_weights(sample_weight)
