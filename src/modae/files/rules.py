"""Rules for what a file may hold: every number, text and array is checked before anybody uses it.

A layout lists the attributes of a class with a rule for each. Rules of one object share a table of
sizes: ``Floats("K", "D")`` says that an array has K rows and D columns, and the first array that is met
decides what K and D are. The same rules run before a file is written, so what is saved can be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from modae.files.errors import ModelFormatError
from modae.files.errors import require as require

LARGEST = float(np.finfo(np.float64).max)

Sizes: TypeAlias = dict[str, int]

# Raises ModelFormatError for a value that breaks it.
Rule: TypeAlias = Callable[[Any, Sizes], None]


@dataclass(frozen=True)
class Layout:
    """How objects of one class are stored.

    Parameters
    ----------
    name : str
        By which files know the class; it outlives a move of the code.
    cls : type
    fields : mapping of str to rule
        Attributes that are stored, besides the parameters of an estimator, and the rule for each.
    optional : frozenset of str
        Fields that may be absent.
    agree : callable
        A last check of the whole object, when each field has passed.
    take : callable
        The fields of an object as a dict, if they are not simply its attributes; the second argument
        says whether what ``partial_fit`` needs to go on is wanted too.
    make : callable
        An object from class and fields; for an estimator, which has its parameters already, in place.
    forgotten : frozenset of str
        Parameters that are stored as None.
    references : frozenset of str
        Classes and functions ``module:name`` of other libraries that parameters may be.
    summary : callable
        What ``describe`` tells of a fitted object: a dict of plain values.
    holds_rows : bool
        Whether it holds rows of the training data.
    """

    name: str
    cls: type
    fields: Mapping[str, Rule]
    optional: frozenset[str] = frozenset()
    agree: Callable[[Any], None] = lambda whole: None
    take: Callable[[Any, bool], dict[str, Any]] | None = None
    make: Callable[..., Any] | None = None
    forgotten: frozenset[str] = frozenset()
    references: frozenset[str] = frozenset()
    summary: Callable[[Any], dict[str, Any]] = lambda whole: {}
    holds_rows: bool = False

    def check(self, whole: Any, sizes: Sizes | None = None, state: dict[str, Any] | None = None) -> None:
        """Every field by its rule, with sizes that agree, then the whole."""
        sizes = {} if sizes is None else sizes
        state = self.state_of(whole) if state is None else state
        for name, rule in self.fields.items():
            if name not in state:
                require(name in self.optional, f"{self.name} has no {name}")
                continue
            try:
                rule(state[name], sizes)
            except ModelFormatError as reason:
                raise ModelFormatError(f"{self.name}.{name}: {reason}") from None
        self.agree(whole)

    def state_of(self, whole: Any, resumable: bool = True) -> dict[str, Any]:
        """The fields that are there."""
        if self.take is not None:
            return self.take(whole, resumable)
        return {name: getattr(whole, name) for name in self.fields if hasattr(whole, name)}


def anything(value: Any, sizes: Sizes) -> None:
    """Whatever could be read: for things that are shown, and not computed with."""


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
        limits = f"{max(self.minimum, self.above)} to {self.maximum}"
        require(inside, f"must be from {limits}, got {value!r:.60}")


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
        require(not self.finite or np.isfinite(value).all(), "must have finite numbers only")
        if value.size and (self.minimum, self.maximum) != (-np.inf, np.inf):
            smallest, largest = float(value.min()), float(value.max())  # limits may be no float32
            inside = not (smallest < self.minimum or largest > self.maximum)
            require(inside, f"must have numbers from {self.minimum} to {self.maximum} only")
        require(not self.falling or (np.diff(value) <= 0.0).all(), "must fall")

    def _check_shape(self, shape: tuple[int, ...], sizes: Sizes) -> None:
        require(len(shape) == len(self.shape), f"must have {len(self.shape)} axes, got shape {shape}")
        for wanted, length in zip(self.shape, shape, strict=True):
            known = sizes.setdefault(wanted, length) if isinstance(wanted, str) else wanted
            right = ", ".join(str(sizes.get(str(side), side)) for side in self.shape)
            require(known in (None, length), f"must have shape ({right}), got {shape}")


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
        Count(self.columns)(value.shape[1], sizes)


@dataclass(frozen=True)
class Record:
    """An object with a layout of its own; its sizes may have other names there."""

    layout: Layout
    sizes: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check a value."""
        right = type(value) is self.layout.cls
        require(right, f"must be {self.layout.name}, got {type(value).__name__}")
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
