"""The open dispatch by type: how each kind of data is summed up, mapped and gathered.

Six questions are asked of data, and each is a function here that a new kind of data registers with:

=================  ==========================================================================
``reduce_rows``    what is the summary of all rows? (``fit``: sums that can be joined)
``map_rows``       what does a method say of each row? (``transform``, ``predict``: by chunk)
``gather``         what are the values themselves? (features and labels for a member)
``columns_of``     which columns are there? (something small, with the same names)
``check_length``   are there as many rows as labels? (as far as can be told without reading)
``split_weights``  which weights have the rows? (those that were given, or a column of X)
=================  ==========================================================================

The default of each is for whatever scikit-learn can read as a matrix, dense or sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch, update_wrapper, wraps
from importlib import import_module
from typing import Any, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from modae.data.devices import on_host
from modae.data.rows import Rows
from modae.data.summary import Stream
from modae.data.validation import rows_of, weights_of
from modae.utils.arrays import Array

KINDS = {"dask": "modae.sources.dask_chunks", "modae": "modae.sources.batch_rows"}
"""Package of a type -> the module that registers it. It is imported when such data are first seen, so
that nobody pays for what he does not use."""

Summarise = Callable[[Rows, Array | None, int], Any]
"""(rows, weights or None, index of the first row) -> a summary with a method ``join``."""

Method = TypeVar("Method", bound=Callable[..., Any])


class OpenDispatch:
    """``singledispatch`` that imports the registrations of optional packages when they are needed."""

    def __init__(self, default: Callable[..., Any]) -> None:
        update_wrapper(self, default)
        self.default = default
        self._generic = singledispatch(default)
        self.register = self._generic.register

    def dispatch(self, kind: type) -> Callable[..., Any]:
        """The implementation for a type."""
        packages = {base.__module__.partition(".")[0] for base in kind.__mro__}
        for package in packages & set(KINDS):
            import_module(KINDS[package])
        return self._generic.dispatch(kind)

    def __call__(self, X: Any, *args: Any, **options: Any) -> Any:
        """What the implementation for the type of X says."""
        return self.dispatch(type(X))(X, *args, **options)


@OpenDispatch
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

    The type of ``X`` picks the implementation *before* validation, because what "valid" means is a
    matter of the type. An implementation sets ``n_features_in_`` and ``feature_names_in_`` on the
    estimator if ``reset``, and checks them if not; it calls ``summarise(rows, weights, start)`` for each
    of its parts, where ``start`` is the index of the first row, and joins the answers. A summary that is
    not ``indexed`` does not depend on ``start``, which need not be known then.
    """
    rows = rows_of(X, estimator, reset=reset, upcast=upcast)
    return summarise(rows, weights_of(sample_weight, rows.shape[0]), 0)


def collect(
    X: Any,
    estimator: BaseEstimator,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    upcast: bool = False,
) -> Stream:
    """The stream of all rows of X: what a linear model needs of its data."""

    def stream(rows: Rows, weights: Array | None, start: int) -> Stream:
        return Stream.of(rows, weights)

    return reduce_rows(X, estimator, stream, sample_weight, reset=reset, upcast=upcast)


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


@OpenDispatch
def map_rows(X: Any, call: RowwiseCall) -> Any:
    """The answers for all rows, in the container that fits X; lazy where X is."""
    return call(X)


def by_rows(axis: int = 0) -> Callable[[Method], Method]:
    """Decorate a method ``(self, X)`` for arrays so that it takes every kind of data by chunks."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def apply(self: Any, X: Any, **options: Any) -> Any:
            implementation = map_rows.dispatch(type(X))
            if implementation is map_rows.default:
                return method(self, X, **options)
            return implementation(X, RowwiseCall(self, method.__name__, axis, options))

        return apply  # type: ignore[return-value]

    return decorate


@OpenDispatch
def gather(values: Any) -> Any:
    """The values in memory, as NumPy, where they are not there yet."""
    return on_host(values)


@OpenDispatch
def columns_of(X: Any) -> Any:
    """Something in memory with the columns of X, for checks of their number and names."""
    return X


@OpenDispatch
def check_length(X: Any, y: Any) -> None:
    """Refuse labels that are more or fewer than the rows."""
    check_consistent_length(X, y)


@OpenDispatch
def split_weights(X: Any, sample_weight: Any) -> tuple[Any, Any]:
    """X without weights of its own, and the weights in memory, for all parts of an ensemble alike."""
    return X, gather(sample_weight)
