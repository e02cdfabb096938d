"""Objects become a tree of JSON; arrays and objects of other libraries are collected beside it.

Plain values are themselves, everything else is a node ``{"$": kind, ...}``. Objects, ours and others,
stand in a table in the order in which they were finished: one that is used twice is stored once.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from modae.files.registry import layout_for, reference_to
from modae.files.requests import requests_of
from modae.files.rules import Layout

Node: TypeAlias = Any

# Attributes of other libraries' classes that hold rows of the training data.
FOREIGN_ROWS = (b'"_fit_X"', b'"support_vectors_"', b'"X_train_"', b'"X_fit_"')


class Writer:
    """Collects arrays, members and objects while a tree is made."""

    def __init__(self, resumable: bool = False) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.members: list[bytes] = []
        self.objects: list[Node] = []
        self.holds_rows = False
        self._resumable = resumable
        self._depth = 0
        self._places: dict[int, int] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._alive: list[Any] = []  # what has a number by its address must not move

    def node(self, value: Any) -> Node:
        """The tree of a value."""
        kind: Any = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if value - value == 0.0 else {"$": "float", "value": repr(value)}
        if kind is list:
            return [self.node(each) for each in value]
        if kind is dict:
            return {"$": "dict", "items": [[self.node(k), self.node(v)] for k, v in value.items()]}
        if kind in (tuple, set, frozenset):
            items = value if kind is tuple else sorted(value, key=repr)
            return {"$": kind.__name__, "items": [self.node(each) for each in items]}
        if kind is range:
            return {"$": "range", "items": [value.start, value.stop, value.step]}
        if kind in (np.ndarray, np.memmap):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"$": "scalar", "value": self._array(np.asarray(value))}
        if isinstance(value, np.dtype):
            return {"$": "dtype", "value": value.str}
        if sparse.issparse(value) and value.format in ("csr", "csc"):
            parts = {name: self._array(getattr(value, name)) for name in ("data", "indices", "indptr")}
            return {"$": "sparse", "class": kind.__name__, "shape": value.shape, **parts}
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            return {"$": "name", "value": reference_to(value)}
        return {"$": "object", "at": self.keep(value)}

    def keep(self, whole: Any) -> int:
        """Put an object into the table, and return its place."""
        if id(whole) not in self._places:
            layout = layout_for(type(whole))
            self._depth += 1
            node = self._foreign(whole) if layout is None else self._ours(whole, layout)
            self._depth -= 1
            self._alive.append(whole)
            self._places[id(whole)] = len(self.objects)
            self.objects.append(node)
        return self._places[id(whole)]

    def _ours(self, whole: Any, layout: Layout) -> Node:
        estimator = isinstance(whole, BaseEstimator)
        fitted = not estimator or is_fitted(whole)
        state = layout.state_of(whole, self._resumable) if fitted else {}
        if state and (estimator or self._depth == 1):
            layout.check(whole, state=state)  # with all records that belong to it
        self.holds_rows |= layout.holds_rows
        node: Node = {"type": layout.name} | (self._settings(whole, layout) if estimator else {})
        if type(whole) is not layout.cls:
            node["class"] = reference_to(type(whole))
        return node | {"state": {name: self.node(value) for name, value in state.items()}}

    def _settings(self, estimator: Any, layout: Layout) -> Node:
        """Parameters, what scikit-learn keeps beside them, and attributes of a user's own subclass."""
        held, params = (
            vars(estimator),
            estimator.get_params(deep=False) | dict.fromkeys(layout.forgotten),
        )
        request = held.get("_metadata_request")
        inherited = layout.cls._get_param_names()  # type: ignore[attr-defined]
        known = {*layout.fields, *params, *inherited}
        # Private attributes are scikit-learn's own affair, or follow from the fields.
        extra = {name: held[name] for name in held if name not in known and not name.startswith("_")}
        if type(estimator) is layout.cls:
            lost = sorted(name for name in extra if not name.endswith("_"))  # fitted ones follow too
            if lost:
                warn(
                    f"{type(estimator).__name__} has attributes that are not part of it and that the "
                    f"file does not hold: {', '.join(lost)}.",
                    UserWarning,
                    stacklevel=2,
                )
            extra = {}
        return {
            "parameters": {name: self.node(value) for name, value in params.items()},
            "requests": {} if request is None else requests_of(request),
            "output": held.get("_sklearn_output_config", {}),
            "extra": {name: self.node(value) for name, value in extra.items()},
        }

    def _foreign(self, value: Any) -> Node:
        from modae.files.foreign import dump_member  # skops takes seconds to import

        member = dump_member(value, self.keep)
        self.holds_rows |= any(name in member for name in FOREIGN_ROWS)
        self.members.append(member)
        return {"member": len(self.members) - 1}

    def _array(self, values: np.ndarray) -> Node:
        kind = values.dtype.kind
        if kind == "O":
            return {"$": "objects", "shape": values.shape, "items": [self.node(v) for v in values.flat]}
        if kind in "UMm":  # text and dates as the integers that they are in memory
            dtype = np.dtype(values.dtype.newbyteorder("<"))
            flat = values.ravel().astype(dtype).view("<u4" if kind == "U" else "<i8")
            return {"$": "view", "array": self._array(flat), "dtype": dtype.str, "shape": values.shape}
        if kind not in "fiub" or values.dtype.itemsize > 8:
            raise TypeError(f"An array of dtype {values.dtype} cannot be saved: use numbers or text.")
        place = values.__array_interface__["data"][0], values.shape, values.strides, values.dtype.str
        if place not in self._names:
            # Columns that lie together stay so: sums in another order would differ in the last digit.
            turned = values.flags.f_contiguous and not values.flags.c_contiguous
            native = values.astype(values.dtype.newbyteorder("="), copy=False)
            self._names[place] = f"{len(self.arrays)}{'T' if turned else ''}"
            self.arrays[self._names[place]] = np.asarray(native.T if turned else native, order="C")
            self._alive.append(values)
        node = {"$": "array", "name": self._names[place]}
        return node if values.flags.writeable else node | {"frozen": True}


def is_fitted(estimator: Any) -> bool:
    """Whether there is anything to store besides the parameters."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
