"""A tree of JSON becomes objects again; nothing is made that its rules have not seen."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from modae.files.container import Container
from modae.files.registry import layout_for, layout_named, resolve, safe_references
from modae.files.requests import METHODS, set_requests
from modae.files.rules import Count, Layout, Numbers, check_jobs, require

PLAIN = (bool, int, float, str, type(None))

SPARSE = {
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
}

BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "SFC64")
"""Not Philox: it reads from a buffer at a place that its state names."""


ROOM = 1 << 20
"""Bytes that an array of words may have, however short the words are."""


class Reader:
    """Makes the objects of a container, each once, and knows which arrays and parts were used."""

    def __init__(self, container: Container, trusted: frozenset[str]) -> None:
        self.tensors, self.parts = container.tensors, container.parts
        self.nodes = container.header["objects"]
        self.trusted = trusted
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()
        self._used: set[str] = set()
        self._foreign: dict[int, Any] = {}

    def value(self, node: Any) -> Any:
        """What a node stands for."""
        if isinstance(node, PLAIN):
            return node
        if isinstance(node, list):
            return [self.value(each) for each in node]
        kind = node["$"]
        require(kind in KINDS, f"there is no kind of value {kind!r:.40}")
        return KINDS[kind](self, node)

    def object(self, place: Any) -> Any:
        """The object at a place of the table."""
        inside = type(place) is int and 0 <= place < len(self.nodes)
        require(inside and place not in self._open, f"there is no object {place!r:.40}")
        if place not in self._made:
            self._open.add(place)
            self._made[place] = self._make(self.nodes[place])
            self._open.remove(place)
        return self._made[place]

    def root(self, node: Any) -> Any:
        """What the file is about; nothing may be left over."""
        whole = self.value(node)
        layout = layout_for(type(whole))
        if layout is not None and not isinstance(whole, BaseEstimator):
            layout.check(whole)
        self._finish()
        return whole

    def _finish(self) -> None:
        """A file with parts that nobody needs was not written by modae."""
        whole = len(self._made) == len(self.nodes) and self._used == set(self.tensors)
        require(whole and len(self._foreign) == len(self.parts), "it has parts that belong to nothing")

    def _make(self, node: Any) -> Any:
        layout = layout_named(node["type"])
        cls = layout.cls if "class" not in node else self._subclass(node["class"], layout)
        state = {name: self.value(each) for name, each in node["state"].items()}
        strange = set(state) - set(layout.fields)
        require(not strange, f"{layout.name} has no field {sorted(strange)[:1]}")
        if issubclass(cls, BaseEstimator):
            return self._make_estimator(cls, layout, node, state)
        missing = set(layout.fields) - set(state) - layout.optional
        require(not missing, f"{layout.name} has no {sorted(missing)[:1]}")
        return (layout.make or _new)(cls, **state)  # checked with the estimator that it belongs to

    def _subclass(self, reference: Any, layout: Layout) -> type:
        found = resolve(reference, self.trusted)
        fits = isinstance(found, type) and issubclass(found, layout.cls)
        require(fits, f"{reference} is no {layout.name}")
        return found

    def _make_estimator(self, cls: type, layout: Layout, node: Any, state: dict[str, Any]) -> Any:
        params = {name: self.value(each) for name, each in node["parameters"].items()}
        known = set(cls._get_param_names())  # type: ignore[attr-defined]
        require(set(params) == known, f"{layout.name} has no such set of parameters")
        check_jobs(params.get("n_jobs"))
        for name in layout.forgotten:
            require(params[name] is None, f"{name} must be None: a file must not say where to write")
        estimator = cls(**params)
        self._restore_settings(estimator, node["settings"])
        if "class" in node:
            vars(estimator).update({name: self.value(each) for name, each in node["extra"].items()})
        if state and layout.make is not None:
            layout.make(estimator, **state)
        else:
            vars(estimator).update(state)
        if state:
            layout.check(estimator)
        return estimator

    def _restore_settings(self, estimator: Any, settings: Any) -> None:
        for name, stored in settings.items():
            value = self.value(stored)
            if name == "_metadata_request":
                require(set(value) <= set(METHODS), "there is no such request")
                set_requests(estimator, value)
            else:
                require(name == "_sklearn_output_config", f"there is no setting {name!r:.40}")
                estimator.set_output(**value)

    def array(self, node: Any) -> np.ndarray:
        """An array by its name; one that was laid out by columns is so again."""
        name = node["name"]
        require(isinstance(name, str) and name in self.tensors, f"there is no array {name!r:.40}")
        self._used.add(name)
        values = self.tensors[name].T if name.endswith("T") else self.tensors[name]
        if node.get("frozen"):
            values = values.view()
            values.flags.writeable = False
        return values

    def foreign(self, node: Any) -> Any:
        """A part that belongs to another library."""
        from modae.files.foreign import load_foreign  # skops takes seconds to import

        place = node["part"]
        inside = type(place) is int and 0 <= place < len(self.parts)
        require(inside and place not in self._foreign, f"there is no part {place!r:.40}")
        self._foreign[place] = None
        made = load_foreign(self.parts[place], restore=self.object, trusted=self.trusted)
        self._foreign[place] = made
        return made

    def scalar(self, node: Any) -> Any:
        """A number with a precision."""
        values = self.value(node["value"])
        require(isinstance(values, np.ndarray) and values.shape == (), "a number has no shape")
        return values[()]

    def words(self, node: Any) -> np.ndarray:
        """An array of words."""
        require(all(isinstance(word, str) for word in node["items"]), "words must be words")
        dtype = np.dtype(node["dtype"])
        require(dtype.kind == "U", f"words cannot be {dtype}")
        longest, count = max(map(len, node["items"]), default=0), len(node["items"])
        fits = dtype.itemsize * count <= ROOM or dtype.itemsize <= 16 * max(longest, 1)
        require(fits, "words are shorter than they say")
        return _shaped(np.array(node["items"], dtype=dtype), node["shape"])

    def objects(self, node: Any) -> np.ndarray:
        """An array of anything."""
        values = np.empty(len(node["items"]), dtype=object)
        values[:] = [self.value(each) for each in node["items"]]
        return _shaped(values, node["shape"])

    def sparse(self, node: Any) -> Any:
        """A sparse matrix, whose indices are checked before anything is done with it."""
        kind = SPARSE[node["format"]]
        parts = [self.value(node[name]) for name in ("data", "indices", "indptr")]
        flat = all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts)
        require(flat and all(part.dtype.kind == "i" for part in parts[1:]), "indices must be integers")
        shape = tuple(node["shape"])
        require(len(shape) == 2 and all(type(side) is int for side in shape), "a matrix has two sides")
        rows = kind(tuple(parts), shape=shape)
        rows.check_format(full_check=True)
        return rows

    def random_state(self, node: Any) -> np.random.RandomState:
        """A generator of NumPy's older kind."""
        state = self.value(node["state"])
        check_twister(state)
        generator = np.random.RandomState()
        generator.set_state(state)
        return generator

    def generator(self, node: Any) -> np.random.Generator:
        """A generator of NumPy's newer kind."""
        state = self.value(node["state"])
        name = state["bit_generator"]
        require(isinstance(name, str) and name in BIT_GENERATORS, "there is no such generator")
        if name == "MT19937":
            check_twister(state)
        bits = getattr(np.random, name)()
        bits.state = state
        return np.random.Generator(bits)


def _pairs(reader: Reader, node: Any) -> dict[Any, Any]:
    pairs = [(reader.value(key), reader.value(each)) for key, each in node["items"]]
    # Large numbers can be chosen to have equal hashes, and a dict of many such keys takes for ever.
    plain = all(isinstance(key, (str, bool)) or _is_small(key) for key, _ in pairs)
    require(plain or len(pairs) <= 1000, "keys of a large table must be words or small numbers")
    return dict(pairs)


def _is_small(key: Any) -> bool:
    return isinstance(key, int) and abs(key) < 2**53


def _dtype(reader: Reader, node: Any) -> np.dtype[Any]:
    dtype = np.dtype(node["value"])
    require(dtype.kind in "fiub" and dtype.itemsize <= 8, f"there is no dtype {dtype}")
    return dtype


def _float(reader: Reader, node: Any) -> float:
    require(node["value"] in ("nan", "inf", "-inf"), f"{node['value']!r:.40} is no number")
    return float(node["value"])


def _word(reader: Reader, node: Any) -> np.str_:
    require(isinstance(node["value"], str), "a word must be a word")
    return np.str_(node["value"])


KINDS: dict[Any, Callable[[Reader, Any], Any]] = {
    "object": lambda reader, node: reader.object(node["at"]),
    "foreign": Reader.foreign,
    "array": Reader.array,
    "scalar": Reader.scalar,
    "words": Reader.words,
    "word": _word,
    "objects": Reader.objects,
    "sparse": Reader.sparse,
    "tuple": lambda reader, node: tuple(reader.value(each) for each in node["items"]),
    "dict": _pairs,
    "float": _float,
    "dtype": _dtype,
    "path": lambda reader, node: Path(node["value"]),
    "RandomState": Reader.random_state,
    "Generator": Reader.generator,
    "name": lambda reader, node: resolve(node["value"], reader.trusted, safe_references()),
}


def check_twister(state: Any) -> None:
    """NumPy reads the words at a place that the state names, and does not look whether it is there."""
    inner = state["state"]
    require(state["bit_generator"] == "MT19937", "RandomState must use MT19937")
    Numbers((624,), "u")(inner["key"], {})
    Count(minimum=0, maximum=624)(inner["pos"], {})


def _shaped(values: np.ndarray, shape: Any) -> np.ndarray:
    require(all(type(side) is int and side >= 0 for side in shape), f"{shape!r:.40} is no shape")
    require(prod(shape) == len(values), f"{len(values)} entries do not have shape {shape!r:.40}")
    return values.reshape(shape)


def _new(cls: type, **state: Any) -> Any:
    """An object with these attributes, without running its own ``__init__``, which might compute."""
    whole: Any = object.__new__(cls)
    for name, value in state.items():
        object.__setattr__(whole, name, value)
    return whole
