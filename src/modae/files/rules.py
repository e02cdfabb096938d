"""What a file may hold: a table of rules for each class, and which classes and names are known.

A layout lists the attributes of a class with a rule for each: every number, text and array is checked
before anybody uses it. Rules of one object share a table of sizes: ``numbers("K", "D")`` says that an
array has K rows and D columns, and the first array that is met decides what K and D are. The same rules
run before a file is written, so what is saved can be loaded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import inf
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from modae.files.archive import ModelFormatError, require

LARGEST = float(np.finfo(np.float64).max)

Sizes: TypeAlias = dict[str, Any]

INSIDE = "inside"  # a size that is there while an object is checked as part of another

# Raises ModelFormatError for a value that breaks it.
Rule: TypeAlias = Callable[[Any, Sizes], None]


def anything(value: Any, sizes: Sizes) -> None:
    """Whatever could be read: for things that are shown, and not computed with."""


def text(value: Any, sizes: Sizes) -> None:
    """A string."""
    require(isinstance(value, str), f"must be a string, got {type(value).__name__}")


def labels(value: Any, sizes: Sizes) -> None:
    """C different labels in order: numbers, strings, dates, or objects that can be compared."""
    numbers("C", kinds="fiubUOMm", within=None)(value, sizes)
    plain = value.dtype != object or all(isinstance(each, (str, int, float)) for each in value)
    require(plain and (value[:-1] < value[1:]).all(), "labels must differ and be in order")
    count("C")(len(value), sizes)
    sizes["labels"] = value


def feature_names(value: Any, sizes: Sizes) -> None:
    """One name for each of D features."""
    numbers("D", kinds="O", within=None)(value, sizes)
    require(all(isinstance(name, str) for name in value), "must be strings")


def choice(*values: Any) -> Rule:
    """One of a few values, of the same type."""

    def check(value: Any, sizes: Sizes) -> None:
        known = any(type(value) is type(each) and value == each for each in values)
        require(known, f"must be one of {values}, got {value!r:.60}")

    return check


flag = choice(True, False)
precision = choice(np.dtype(np.float32), np.dtype(np.float64))


def number(minimum: float = -inf, maximum: float = inf, above: float = -inf) -> Rule:
    """A finite number in a range."""

    def check(value: Any, sizes: Sizes) -> None:
        plain = value.item() if isinstance(value, np.generic) else value
        real = isinstance(plain, (int, float)) and not isinstance(plain, bool)
        require(real and -LARGEST <= plain <= LARGEST, f"must be a finite number, got {value!r:.60}")
        inside = minimum <= plain <= maximum and plain > above
        require(inside, f"must be from {max(minimum, above)} to {maximum}, got {plain!r:.60}")

    return check


def count(size: str | None = None, minimum: int = 1, below: str | None = None) -> Rule:
    """A whole number, which may be a size that arrays have too, or below one."""

    def check(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, (int, np.integer)), f"must be an integer, got {value!r:.60}")
        number(minimum, 2**53 if below is None else sizes[below] - 1)(value, sizes)
        known = value if size is None else sizes.setdefault(size, int(value))
        require(known == value, f"must be {known}, got {value}")

    return check


FINITE = number()


def numbers(
    *shape: str | int | None, kinds: str = "f", within: Rule | None = FINITE, order: int = 0
) -> Rule:
    """An array of floats, or of another kind, whose least and largest number keep to a rule.

    A shape has names of sizes, numbers, and None for a length that is free. ``order`` is 1 for numbers
    that rise along the first axis, -1 for those that fall.
    """

    def check(value: Any, sizes: Sizes) -> None:
        require(isinstance(value, np.ndarray), f"must be an array, got {type(value).__name__}")
        require(value.dtype.kind in kinds, f"must not have dtype {value.dtype}")
        require(value.ndim == len(shape), f"must have {len(shape)} axes, got shape {value.shape}")
        for wanted, length in zip(shape, value.shape, strict=True):
            known = sizes.setdefault(wanted, length) if isinstance(wanted, str) else wanted
            right = ", ".join(str(sizes.get(str(side), side)) for side in shape)
            require(known in (None, length), f"must have shape ({right}), got {value.shape}")
        if within is not None and value.size and INSIDE not in sizes:
            within(value.min(), sizes)  # NaN, if there is any
            within(value.max(), sizes)
        require(not order or (order * np.diff(value, axis=0) >= 0.0).all(), "must be in order")

    return check


def rows(value: Any, sizes: Sizes) -> None:
    """N rows of D finite floats, dense or sparse; a sparse matrix has indices in range."""
    if not sparse.issparse(value):
        numbers("N", "D")(value, sizes)
        return
    require(value.format in ("csr", "csc"), f"must be CSR or CSC, got {value.format}")
    value.check_format(full_check=True)
    numbers(None)(value.data, sizes)
    count("N")(value.shape[0], sizes)
    count("D")(value.shape[1], sizes)


def maybe(rule: Rule) -> Rule:
    """None, or what another rule says."""
    return lambda value, sizes: None if value is None else rule(value, sizes)


def each(rule: Rule, kind: type = tuple, size: str | None = None) -> Rule:
    """A list, a tuple, or a dict with strings as keys, whose values keep to one rule."""

    def check(value: Any, sizes: Sizes) -> None:
        require(type(value) is kind, f"must be a {kind.__name__}, got {type(value).__name__}")
        count(size, minimum=0)(len(value), sizes)
        for entry in value.values() if kind is dict else value:
            rule(entry, sizes)
        require(kind is not dict or all(isinstance(key, str) for key in value), "has other keys")

    return check


def record(cls: type, **names: str) -> Rule:
    """An object of one of our classes, checked by its layout; its sizes may have other names there."""

    def check(value: Any, sizes: Sizes) -> None:
        require(type(value) is cls, f"must be {cls.__name__}, got {type(value).__name__}")
        _check_inside(value, sizes, names)

    return check


def part(*methods: str, columns: str, **names: str) -> Rule:
    """A fitted estimator, ours or not, with these methods; sizes of ours may have names here."""

    def check(value: Any, sizes: Sizes) -> None:
        able = all(hasattr(value, method) for method in methods)
        require(able, f"must have {' and '.join(methods)}, got {type(value).__name__}")
        if hasattr(value, "n_features_in_"):
            count(columns)(value.n_features_in_, sizes)
        if hasattr(value, "classes_") and "labels" in sizes:
            require(np.isin(value.classes_, sizes["labels"]).all(), "it knows other classes")
        if names and layout_for(type(value)) is not None:
            _check_inside(value, sizes, names)

    return check


def _check_inside(value: Any, sizes: Sizes, names: Mapping[str, str]) -> None:
    """Check an object by its layout, with the sizes that have a name there; by default all of them.

    The numbers in its arrays are left to the check of the object itself: every object is stored, and
    made, on its own.
    """
    outermost = INSIDE not in sizes
    inner = {there: sizes[here] for there, here in names.items() if here in sizes} if names else sizes
    inner[INSIDE] = True
    layout = layout_for(type(value))
    assert layout is not None
    layout.check(value, inner)
    sizes.update({here: inner[there] for there, here in names.items() if there in inner})
    if outermost:
        sizes.pop(INSIDE, None)


COLUMNS: dict[str, Rule] = {"n_features_in_": count("D"), "feature_names_in_": feature_names}


@dataclass(eq=False)
class Layout:
    """How objects of one class are stored.

    Parameters
    ----------
    cls : type
    fields : dict of str to rule
        Attributes that are stored, besides the parameters of an estimator, and the rule for each. Those
        of estimators begin with what all of them know of their columns.
    optional : set of str
        Fields that may be absent.
    resumable : set of str
        Fields that are stored only if ``partial_fit`` shall go on, otherwise as None.
    forgotten : set of str
        Parameters that are stored as None.
    agree : callable
        A last check of the whole object, when each field has passed.
    finish : callable
        Makes what follows from the fields, when all is checked.
    summary : mapping of str to str
        What ``describe`` tells of a fitted object, and the attribute where it is.
    holds_rows : bool
        Whether it holds rows of the training data.
    """

    cls: type
    fields: dict[str, Rule]
    optional: set[str] = field(default_factory=set)
    resumable: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    agree: Callable[[Any], None] | None = None
    finish: Callable[[Any], None] | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    holds_rows: bool = False

    def __post_init__(self) -> None:
        self.name = f"{_home(self.cls)}.{self.cls.__name__}"
        if issubclass(self.cls, BaseEstimator):
            self.fields, self.optional = COLUMNS | self.fields, {"feature_names_in_", *self.optional}

    def check(self, whole: Any, sizes: Sizes | None = None) -> None:
        """Every field by its rule, with sizes that agree, then the whole."""
        sizes = {} if sizes is None else sizes
        for name, rule in self.fields.items():
            if not hasattr(whole, name):
                require(name in self.optional, f"{self.name} has no {name}")
                continue
            try:
                rule(getattr(whole, name), sizes)
            except ModelFormatError as reason:
                raise ModelFormatError(f"{self.name}.{name}: {reason}") from None
        if self.agree is not None:
            self.agree(whole)


# The beginning of a name -> the modules with its layouts, imported when such a name is met, so that a
# linear model needs no torch; by name, because layouts are written in later layers.
HOMES = {
    "modae.deep": ("modae.deep.layouts",),
    "modae": ("modae.linear.layouts", "modae.ensembles.layouts", "modae.streaming.fitting"),
}


def _home(cls: type) -> str:
    return next((home for home in HOMES if f"{cls.__module__}.".startswith(f"{home}.")), "")


@cache
def layouts_in(home: str) -> dict[str, Layout]:
    """The layouts of a part of the library, by the names that files use."""
    layouts = (import_module(module).LAYOUTS for module in HOMES.get(home, ()))
    return {layout.name: layout for some in layouts for layout in some}


def layout_named(name: Any) -> Layout:
    """The layout of a class, by the name that files use; it outlives a move of the code."""
    layout = layouts_in(name.rpartition(".")[0]).get(name) if isinstance(name, str) else None
    if layout is None:
        raise ModelFormatError(f"modae has no class {name!r:.80}: the file is newer, or damaged.")
    return layout


def _layout_for(cls: type) -> Layout | None:
    found = (layouts_in(_home(base)).get(f"{_home(base)}.{base.__name__}") for base in cls.__mro__)
    return next((layout for layout in found if layout is not None and issubclass(cls, layout.cls)), None)


# The layout for objects of a class, or of the nearest class above it; None for foreign classes.
layout_for: Callable[[Any], Layout | None] = cache(_layout_for)
