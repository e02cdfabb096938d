"""Objects become a tree of JSON: arrays go beside it, and foreign objects into parts of their own.

Plain values are themselves. Everything else is a node ``{"$": kind, ...}``. Our own objects stand in a
table, in the order in which they were finished, so an object that is used twice is stored once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from modae.files.registry import layout_for, reference_to
from modae.files.requests import requests_of
from modae.files.rules import Layout, check_jobs

Node: TypeAlias = Any

STORED = "fiub"
"""Kinds of numbers that go into safetensors."""


HOLDS_ROWS = ("modae.core.KeptRows", "modae.NearestRow")
FOREIGN_ROWS = (b'"_fit_X"', b'"support_vectors_"', b'"X_train_"', b'"X_fit_"')
"""Where rows of the training data are kept: our own classes, and attributes of others."""


class Writer:
    """Collects arrays, foreign parts and our own objects while a tree is made."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.parts: list[bytes] = []
        self.objects: list[Node] = []
        self.holds_rows = False
        self._depth = -1
        self._places: dict[int, int] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._alive: list[Any] = []  # what has a number by its address must not move

    def node(self, value: Any) -> Node:
        """The tree of a value."""
        if value is None or type(value) in (bool, int, str):
            return value
        if is_ours(value):
            return {"$": "object", "at": self.keep(value)}
        for kind, describe in DESCRIBED:
            if isinstance(value, kind):
                return describe(self, value)
        return self._foreign(value)

    def keep(self, whole: Any) -> int:
        """Put one of our own objects into the table, and return its place."""
        if id(whole) not in self._places:
            layout = layout_for(type(whole))
            assert layout is not None
            self._depth += 1
            node = self._described(whole, layout)
            self._depth -= 1
            self._alive.append(whole)
            self._places[id(whole)] = len(self.objects)
            self.objects.append(node)
        return self._places[id(whole)]

    def _described(self, whole: Any, layout: Layout) -> Node:
        node: Node = {"type": layout.name}
        if type(whole) is not layout.cls:
            node["class"] = reference_to(type(whole))
        estimator = isinstance(whole, BaseEstimator)
        state = layout.state_of(whole) if not estimator or is_fitted(whole) else {}
        if estimator:
            node |= self._parameters(whole, layout)
        if state and (estimator or not self._depth):
            layout.check(whole)  # with all records that belong to it
        if layout.name in HOLDS_ROWS:
            self.holds_rows = True
        node["state"] = {name: self.node(value) for name, value in state.items()}
        return node

    def _parameters(self, estimator: Any, layout: Layout) -> Node:
        params = estimator.get_params(deep=False) | dict.fromkeys(layout.forgotten)
        check_jobs(params.get("n_jobs"))
        settings = {name: value for name, value in vars(estimator).items() if name in SETTINGS}
        described = {
            "parameters": {name: self.node(value) for name, value in params.items()},
            "settings": {name: self.node(SETTINGS[name](value)) for name, value in settings.items()},
        }
        inherited = layout.cls._get_param_names()  # type: ignore[attr-defined]
        known = {*layout.fields, *layout.covers, *params, *settings, *inherited, *PASSING}
        strange = {name: value for name, value in vars(estimator).items() if name not in known}
        if type(estimator) is layout.cls:
            _refuse(estimator, strange)
            return described
        # A class of the user's own may have attributes of its own.
        return described | {"extra": {name: self.node(value) for name, value in strange.items()}}

    def _foreign(self, value: Any) -> Node:
        from modae.files.foreign import dump_foreign  # skops takes seconds to import

        part = dump_foreign(value, is_ours=is_ours, keep=self.keep)
        self.holds_rows |= any(name in part for name in FOREIGN_ROWS)
        self.parts.append(part)
        return {"$": "foreign", "part": len(self.parts) - 1}

    def array(self, values: np.ndarray) -> Node:
        """Numbers by name; words as they are; other objects one by one."""
        if values.dtype.kind in STORED and values.dtype.itemsize <= 8:
            return self._tensor(values)
        if values.dtype.kind == "U":
            words = values.ravel().tolist()
            return {"$": "words", "shape": values.shape, "dtype": str(values.dtype), "items": words}
        if values.dtype.kind == "O":
            return {"$": "objects", "shape": values.shape, "items": [self.node(v) for v in values.flat]}
        raise TypeError(f"An array of dtype {values.dtype} cannot be saved.")

    def _tensor(self, values: np.ndarray) -> Node:
        place = values.__array_interface__["data"][0], values.shape, values.strides, values.dtype.str
        if place not in self._names:
            # Columns that lie together stay so: sums in another order would differ in the last digit.
            turned = values.flags.f_contiguous and not values.flags.c_contiguous
            native = values.astype(values.dtype.newbyteorder("="), copy=False)
            stored = np.ascontiguousarray(native.T if turned else native)
            self._names[place] = f"{len(self.tensors)}{'T' if turned else ''}"
            self.tensors[self._names[place]] = stored.reshape((values.T if turned else values).shape)
            self._alive.append(values)
        node = {"$": "array", "name": self._names[place]}
        return node if values.flags.writeable else node | {"frozen": True}

    def scalar(self, value: np.generic) -> Node:
        """A number with a precision."""
        if isinstance(value, np.str_):
            return {"$": "word", "value": str(value)}
        return {"$": "scalar", "value": self.array(np.asarray(value))}

    def sparse(self, rows: Any) -> Node:
        """A sparse matrix or array, by its three arrays."""
        if rows.format not in ("csr", "csc"):
            raise TypeError(f"A sparse matrix in {rows.format} format cannot be saved.")
        kind = "array" if isinstance(rows, sparse.sparray) else "matrix"
        parts = {name: self.array(getattr(rows, name)) for name in ("data", "indices", "indptr")}
        return {"$": "sparse", "format": f"{rows.format}_{kind}", "shape": rows.shape, **parts}

    def dictionary(self, values: dict[Any, Any]) -> Node:
        """A dict with any plain keys."""
        return {
            "$": "dict",
            "items": [[self.node(key), self.node(each)] for key, each in values.items()],
        }

    def random_state(self, generator: np.random.RandomState) -> Node:
        """A generator of NumPy's older kind, as it stands."""
        if generator.get_state(legacy=False)["bit_generator"] != "MT19937":
            raise TypeError("A RandomState with another bit generator than MT19937 cannot be saved.")
        return {"$": "RandomState", "state": self.node(generator.get_state(legacy=False))}

    def generator(self, generator: np.random.Generator) -> Node:
        """A generator of NumPy's newer kind, as it stands."""
        if type(generator.bit_generator) is np.random.Philox:
            raise TypeError("A Generator with the bit generator Philox cannot be saved: use PCG64.")
        return {"$": "Generator", "state": self.node(generator.bit_generator.state)}


def is_fitted(estimator: Any) -> bool:
    """Whether there is anything to store besides the parameters."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def is_ours(value: Any) -> bool:
    """Whether a value has a layout, and so a place in the table."""
    return layout_for(type(value)) is not None


def _float(writer: Writer, value: float) -> Node:
    finite = value - value == 0.0
    return value if finite else {"$": "float", "value": repr(value)}


def _tuple(writer: Writer, value: tuple[Any, ...]) -> Node:
    return {"$": "tuple", "items": [writer.node(each) for each in value]}


DESCRIBED: tuple[tuple[Any, Callable[[Writer, Any], Node]], ...] = (
    (np.generic, Writer.scalar),
    (float, _float),
    (np.ndarray, Writer.array),
    ((sparse.spmatrix, sparse.sparray), Writer.sparse),
    (list, lambda writer, value: [writer.node(each) for each in value]),
    (tuple, _tuple),
    (dict, Writer.dictionary),
    (np.dtype, lambda writer, value: {"$": "dtype", "value": value.str}),
    (PurePath, lambda writer, value: {"$": "path", "value": str(value)}),
    (np.random.RandomState, Writer.random_state),
    (np.random.Generator, Writer.generator),
    ((type, type(reference_to)), lambda writer, value: {"$": "name", "value": reference_to(value)}),
)
"""What is neither plain nor an object: kind, and how it is described."""


SETTINGS: dict[str, Callable[[Any], Any]] = {
    "_metadata_request": requests_of,
    "_sklearn_output_config": dict,
}
"""What scikit-learn keeps on an estimator besides its parameters, in plain form."""


PASSING = frozenset(
    {"_sklearn_auto_wrap_output_keys", "_parent_callback_ctx", "_callback_fit_ctx", "_sklearn_callbacks"}
)
"""What scikit-learn keeps on an estimator for the time of a call, or makes again by itself."""


def _refuse(estimator: Any, strange: dict[str, Any]) -> None:
    """What a file would silently lose."""
    if strange:
        raise ValueError(
            f"{type(estimator).__name__} has attributes that are not part of it and would be lost: "
            f"{', '.join(sorted(strange))}. Delete them, or make them parameters."
        )
