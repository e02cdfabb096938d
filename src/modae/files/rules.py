"""Rules for what a file may hold: every number, word and array is checked before anybody uses it.

A layout lists the fields of a class with a rule for each. Rules of one object share a table of sizes:
``Floats("K", "D")`` says that an array has K rows and D columns, and the first array that is met decides
what K and D are. The same rules run before a file is written, so what is saved can be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from modae.files.errors import ModelFormatError

LARGEST = float(np.finfo(np.float64).max)

Sizes: TypeAlias = dict[str, int]

Rule: TypeAlias = Callable[[Any, Sizes], None]
"""Raises :class:`ModelFormatError` for a value that breaks it."""


@dataclass(frozen=True)
class Layout:
    """How objects of one class are stored.

    Parameters
    ----------
    name : str
        By which files know the class; it outlives a move of the code.
    cls : type
    fields : mapping of str to rule
        What is stored, besides the parameters of an estimator.
    optional : frozenset of str
        Fields that may be absent.
    agree : callable
        A last check of the whole object, when each field has passed.
    take : callable
        The fields of an object, as a dict.
    make : callable
        An object from class and fields; for an estimator, which has its parameters already, in place.
    covers : frozenset of str
        Attributes of an estimator that the fields stand for, where those have other names.
    forgotten : frozenset of str
        Parameters that are stored as None.
    """

    name: str
    cls: type
    fields: Mapping[str, Rule]
    optional: frozenset[str] = frozenset()
    agree: Callable[[Any], None] = lambda whole: None
    take: Callable[[Any], dict[str, Any]] | None = None
    make: Callable[..., Any] | None = None
    covers: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()

    def check(self, whole: Any, sizes: Sizes | None = None) -> None:
        """Every field by its rule, with sizes that agree, then the whole."""
        sizes = {} if sizes is None else sizes
        state = self.state_of(whole)
        for name, rule in self.fields.items():
            if name not in state:
                require(name in self.optional, f"{self.name} has no {name}")
                continue
            try:
                rule(state[name], sizes)
            except ModelFormatError as reason:
                raise ModelFormatError(f"{self.name}.{name}: {reason}") from None
        self.agree(whole)

    def state_of(self, whole: Any) -> dict[str, Any]:
        """The fields that are there."""
        if self.take is not None:
            return self.take(whole)
        return {name: getattr(whole, name) for name in self.fields if hasattr(whole, name)}


def require(condition: Any, what: str) -> None:
    """Refuse a file, saying what is wrong with it."""
    if not condition:
        raise ModelFormatError(what)


def anything(value: Any, sizes: Sizes) -> None:
    """Whatever could be read: for things that are shown, and not computed with."""


def all_finite(values: np.ndarray) -> bool:
    """Whether there is no NaN and no infinity.

    Either would be in the sum of squares too, which is the fastest pass over an array that there is.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.vdot(values, values)
    return bool(np.isfinite(total) or np.isfinite(values).all())  # finite numbers may have large squares


MOST_JOBS = 1024
"""More threads than that are not what anybody wants."""


def check_jobs(n_jobs: Any) -> None:
    """A number of threads that a machine could have."""
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    possible = n_jobs is None or (whole and 0 < abs(n_jobs) <= MOST_JOBS)
    require(possible, f"n_jobs must be None or an integer up to {MOST_JOBS}, not 0, got {n_jobs!r:.40}")


def flag(value: Any, sizes: Sizes) -> None:
    """True or False."""
    require(isinstance(value, bool), f"must be True or False, got {value!r:.60}")


def precision(value: Any, sizes: Sizes) -> None:
    """float32 or float64."""
    known = isinstance(value, np.dtype) and value in (np.dtype("f4"), np.dtype("f8"))
    require(known, f"must be float32 or float64, got {value!r:.60}")


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        known = isinstance(value, (str, type(None))) and value in self.values
        require(known, f"must be one of {self.values}, got {value!r:.60}")


@dataclass(frozen=True)
class Number:
    """A finite number in a range."""

    minimum: float = -np.inf
    maximum: float = np.inf
    above: float = -np.inf

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        # A whole number may be too large to become a float.
        finite = real and (abs(value) <= LARGEST if isinstance(value, int) else isfinite(value))
        require(finite, f"must be a finite number, got {value!r:.60}")
        inside = self.minimum <= value <= self.maximum and value > self.above
        require(
            inside, f"must be from {max(self.minimum, self.above)} to {self.maximum}, got {value!r:.60}"
        )


@dataclass(frozen=True)
class Count:
    """A whole number in a range, which may be a size that arrays have too."""

    size: str | None = None
    minimum: int = 1
    maximum: int = 2**53

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        inside = whole and self.minimum <= value <= self.maximum
        require(inside, f"must be an integer of at least {self.minimum}, got {value!r:.60}")
        if self.size is not None:
            known = sizes.setdefault(self.size, int(value))
            require(known == value, f"must be {known}, got {value}")


@dataclass(frozen=True)
class Numbers:
    """An array of numbers with a shape, a kind, a range; always finite, unless said otherwise.

    A shape has names of sizes, numbers, and None for a length that is free.
    """

    shape: tuple[str | int | None, ...]
    kinds: str = "f"
    minimum: float = -np.inf
    maximum: float = np.inf
    falling: bool = False
    finite: bool = True

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        require(isinstance(value, np.ndarray), f"must be an array, got {type(value).__name__}")
        require(value.dtype.kind in self.kinds, f"must not have dtype {value.dtype}")
        self._check_shape(value.shape, sizes)
        if self.finite:
            require(all_finite(value), "must have finite numbers only")
        if value.size and (self.minimum, self.maximum) != (-np.inf, np.inf):
            smallest, largest = float(value.min()), float(value.max())  # limits may be no float32
            inside = not (smallest < self.minimum or largest > self.maximum)
            require(inside, f"must have numbers from {self.minimum} to {self.maximum} only")
        if self.falling:
            require((np.diff(value) <= 0.0).all(), "must fall")

    def _check_shape(self, shape: tuple[int, ...], sizes: Sizes) -> None:
        wanted = [
            sizes.get(length, length) if isinstance(length, str) else length for length in self.shape
        ]
        fits = len(shape) == len(wanted) and all(
            want in (None, got) or isinstance(want, str) for want, got in zip(wanted, shape, strict=True)
        )
        require(fits, f"must have shape ({', '.join(map(str, wanted))}), got {shape}")
        for name, length in zip(self.shape, shape, strict=True):
            if isinstance(name, str):
                known = sizes.setdefault(name, length)
                require(known == length, f"must have two sides of the same length, got {shape}")


def Floats(*shape: str | int | None, **limits: Any) -> Numbers:  # noqa: N802
    """An array of finite floats."""
    return Numbers(shape, "f", **limits)


@dataclass(frozen=True)
class Rows:
    """A matrix of finite floats with D columns, dense or sparse; a sparse one has indices in range."""

    columns: str = "D"

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        if not sparse.issparse(value):
            Floats(None, self.columns)(value, sizes)
            return
        require(value.format in ("csr", "csc"), f"must be CSR or CSC, got {value.format}")
        try:
            value.check_format(full_check=True)
        except ValueError as reason:
            raise ModelFormatError(f"sparse matrix: {reason}") from None
        Floats(None)(value.data, sizes)
        known = sizes.setdefault(self.columns, value.shape[1])
        require(known == value.shape[1], f"must have {known} columns, got {value.shape[1]}")


@dataclass(frozen=True)
class Record:
    """An object with a layout of its own; its sizes may have other names there."""

    layout: Layout
    sizes: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        require(
            type(value) is self.layout.cls, f"must be {self.layout.name}, got {type(value).__name__}"
        )
        if not self.sizes:
            self.layout.check(value, sizes)
            return
        inner = {there: sizes[here] for there, here in self.sizes.items() if here in sizes}
        self.layout.check(value, inner)
        sizes.update({here: inner[there] for there, here in self.sizes.items() if there in inner})


@dataclass(frozen=True)
class Maybe:
    """None, or what another rule says."""

    rule: Rule

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        if value is not None:
            self.rule(value, sizes)


@dataclass(frozen=True)
class Each:
    """A list or tuple of values that keep to one rule, of a size that arrays may have too."""

    rule: Rule
    kind: type = tuple
    size: str | None = None

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        require(type(value) is self.kind, f"must be a {self.kind.__name__}, got {type(value).__name__}")
        if self.size is not None:
            Count(self.size)(len(value), sizes)
        for each in value:
            self.rule(each, sizes)
