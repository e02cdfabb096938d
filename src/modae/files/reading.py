"""A tree of JSON becomes objects again; nothing is made that its rules have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from modae.files.errors import ModelFormatError, require
from modae.files.registry import layout_for, layout_named, resolve
from modae.files.requests import request_from
from modae.files.rules import Layout, Numbers

COLLECTIONS = {
    "tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict, "range": lambda ends: range(*ends)
}  # fmt: skip
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
STORED_AS = {"U": np.uint32, "M": np.int64, "m": np.int64}
LAST_CHARACTER = 0x10FFFF


class Reader:
    """Makes the objects of a file, each once, and knows which arrays and members were used."""

    def __init__(
        self,
        header: dict[str, Any],
        arrays: dict[str, np.ndarray],
        members: list[bytes],
        trusted: frozenset[str] = frozenset(),
    ) -> None:
        self._header, self._arrays, self._members, self._trusted = header, arrays, members, trusted
        self._safe: set[str] = set()  # references that the classes so far allow
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()
        self._used: set[str | int] = set()

    def root(self) -> Any:
        """What the file is about; nothing may be left over."""
        whole = self.value(self._header["root"])
        layout = layout_for(type(whole))
        if layout is not None and not isinstance(whole, BaseEstimator):
            layout.check(whole)
        parts = {*self._arrays, *range(len(self._members))}
        complete = len(self._made) == len(self._header["objects"]) and self._used == parts
        require(complete, "it has parts that belong to nothing")
        return whole

    def value(self, node: Any) -> Any:
        """What a node stands for."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.value(each) for each in node]
        kind = node["$"]
        if kind == "object":
            return self.object(node["at"])
        if kind == "array":
            return self._array(node)
        if kind == "view":
            return self._view(node)
        if kind == "objects":
            items = self.value(node["items"])
            values = np.empty(len(items), dtype=object)
            for place, item in enumerate(items):  # one by one: an item with a length is no row
                values[place] = item
            return values.reshape(_shape(node))
        if kind == "scalar":
            values = self.value(node["value"])
            require(isinstance(values, np.ndarray) and values.ndim == 0, "a number has no shape")
            return values[()]
        if kind == "float":
            require(node["value"] in ("nan", "inf", "-inf"), f"{node['value']!r:.40} is no number")
            return float(node["value"])
        if kind == "dtype":
            dtype = np.dtype(node["value"])
            require(dtype.kind in "fiub" and dtype.itemsize <= 8, f"there is no dtype {dtype}")
            return dtype
        if kind == "sparse":
            return self._sparse(node)
        if kind == "name":
            return resolve(node["value"], self._trusted, self._safe)
        if kind in COLLECTIONS:
            return COLLECTIONS[kind](self.value(node["items"]))  # type: ignore[operator]
        raise ModelFormatError(f"there is no kind of value {kind!r:.40}")

    def object(self, place: Any) -> Any:
        """The object at a place of the table."""
        nodes = self._header["objects"]
        inside = type(place) is int and 0 <= place < len(nodes)
        require(inside and place not in self._open, f"there is no object {place!r:.40}")
        if place not in self._made:
            self._open.add(place)
            node = nodes[place]
            self._made[place] = self._foreign(node["member"]) if "member" in node else self._ours(node)
            self._open.remove(place)
        return self._made[place]

    def _foreign(self, place: Any) -> Any:
        from modae.files.foreign import load_member  # skops takes seconds to import

        inside = type(place) is int and 0 <= place < len(self._members)
        require(inside and place not in self._used, f"there is no member {place!r:.40}")
        self._used.add(place)
        return load_member(self._members[place], self.object, self._trusted)

    def _ours(self, node: Any) -> Any:
        layout = layout_named(node["type"])
        self._safe |= layout.references
        cls = layout.cls if "class" not in node else resolve(node["class"], self._trusted)
        require(isinstance(cls, type) and issubclass(cls, layout.cls), f"{cls} is no {layout.name}")
        state = self._values(node["state"])
        strange = set(state) - set(layout.fields)
        require(not strange, f"{layout.name} has no field {sorted(strange)[:1]}")
        if issubclass(cls, BaseEstimator):
            return self._estimator(cls, layout, node, state)
        missing = set(layout.fields) - set(state) - layout.optional
        require(not missing, f"{layout.name} has no {sorted(missing)[:1]}")
        return (layout.make or _new)(cls, **state)  # checked with the estimator that it belongs to

    def _estimator(self, cls: Any, layout: Layout, node: Any, state: dict[str, Any]) -> Any:
        params = self._values(node["parameters"])
        require(set(params) == set(cls._get_param_names()), f"{layout.name} has other parameters")
        for name in layout.forgotten:
            require(params[name] is None, f"{name} must be None: a file must not say where to write")
        estimator = cls(**params)
        if node["requests"]:
            estimator._metadata_request = request_from(estimator, node["requests"])
        if node["output"]:
            estimator.set_output(**node["output"])
        extra = self._values(node["extra"])
        require(cls is not layout.cls or not extra, f"{layout.name} has no {sorted(extra)[:1]}")
        vars(estimator).update(extra)
        if state and layout.make is not None:
            layout.make(estimator, **state)
        else:
            vars(estimator).update(state)
        if state:
            layout.check(estimator)
        return estimator

    def _values(self, nodes: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(node) for name, node in nodes.items()}

    def _array(self, node: Any) -> np.ndarray:
        name = node["name"]
        require(isinstance(name, str) and name in self._arrays, f"there is no array {name!r:.40}")
        self._used.add(name)
        values = self._arrays[name].T if name.endswith("T") else self._arrays[name]
        if values.dtype == bool:
            require(values.view(np.uint8).max(initial=0) <= 1, "a truth value is neither 0 nor 1")
        if node.get("frozen"):
            values = values.view()
            values.flags.writeable = False
        return values

    def _view(self, node: Any) -> np.ndarray:
        """Text or dates, from the integers that they are in memory."""
        values, dtype = self.value(node["array"]), np.dtype(node["dtype"])
        require(dtype.kind in STORED_AS, f"there is no array of {dtype}")
        right = values.ndim == 1 and values.dtype == STORED_AS[dtype.kind]
        require(right, f"{dtype} is not stored as {values.dtype}")
        text = dtype.kind == "U"
        require(not text or values.max(initial=0) <= LAST_CHARACTER, "there is no such character")
        return values.view(dtype).reshape(_shape(node))

    def _sparse(self, node: Any) -> Any:
        """A sparse matrix, whose indices are checked before anything is done with it."""
        parts = [self.value(node[name]) for name in ("data", "indices", "indptr")]
        for part, kinds in zip(parts, ("fiub", "i", "i"), strict=True):
            Numbers((None,), kinds, finite=False)(part, {})
        require(node["class"] in SPARSE, f"there is no sparse {node['class']!r:.40}")
        rows = getattr(sparse, node["class"])(tuple(parts), shape=_shape(node))
        rows.check_format(full_check=True)
        return rows


def _shape(node: Any) -> tuple[int, ...]:
    shape = tuple(node["shape"])
    require(all(type(side) is int and side >= 0 for side in shape), f"{shape!r:.40} is no shape")
    return shape


def _new(cls: type, **state: Any) -> Any:
    """An object with these attributes, without running its own ``__init__``, which might compute."""
    whole: Any = object.__new__(cls)
    for name, value in state.items():
        object.__setattr__(whole, name, value)
    return whole
