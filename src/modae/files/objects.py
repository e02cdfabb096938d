"""Objects become a tree of JSON, and a tree becomes objects; arrays and members are beside it.

Plain values are themselves, everything else is a node ``{"$": kind, ...}``. Objects, ours and others,
stand in a table in the order in which they were finished: one that is used twice is stored once, and
each refers to earlier ones only. What is not ours, and no plain value, is for skops.
"""

import json
from contextlib import suppress
from math import isfinite
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from modae.files.archive import require
from modae.files.rules import Layout, layout_for, layout_named

Arrays: TypeAlias = dict[str, np.ndarray]

MAKERS = {"float": float, "tuple": tuple, "dict": dict, "dtype": np.dtype}
LARGEST_TEXT = 1 << 31  # bytes of an array of strings, whose entries are all as long as the longest

# What scikit-learn keeps on an estimator: requests for metadata, and the kind of output.
BESIDE = {"_metadata_request", "_sklearn_output_config"}

# Attributes of other libraries' classes that hold rows of the training data.
FOREIGN_ROWS = (b'"_fit_X"', b'"support_vectors_"', b'"X_train_"', b'"X_fit_"')

NOTES = "table_"  # where the command line keeps what it knows of a table, on the model that it saves


class Writer:
    """Collects arrays, members and objects while a tree is made."""

    def __init__(self, resumable: bool = False) -> None:
        self.arrays: Arrays = {}
        self.members: list[bytes] = []
        self.objects: list[Any] = []
        self.holds_rows = False
        self._resumable = resumable
        # By address: each has what is there beside it, so that nothing else comes to be there.
        self._places: dict[int, tuple[int, Any]] = {}
        self._names: dict[tuple[Any, ...], tuple[str, np.ndarray]] = {}

    def node(self, value: Any) -> Any:
        """The tree of a value."""
        kind: Any = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and isfinite(value)):
            return value
        if kind is float:
            return {"$": "float", "of": repr(value)}
        if kind is list:
            return [self.node(each) for each in value]
        if kind is tuple:
            return {"$": "tuple", "of": self.node(list(value))}
        if kind is dict:
            return {"$": "dict", "of": self.node([list(pair) for pair in value.items()])}
        if kind in (np.ndarray, np.memmap):
            return self._array(value)
        if isinstance(value, np.generic):
            return self._array(np.asarray(value)) | {"scalar": True}
        if isinstance(value, np.dtype):
            return {"$": "dtype", "of": value.str}
        return {"$": "object", "at": self.keep(value)}

    def keep(self, whole: Any) -> int:
        """Put an object into the table, and return its place."""
        if id(whole) not in self._places:
            layout = layout_for(type(whole))
            node = self._foreign(whole) if layout is None else self._ours(whole, layout)
            self._places[id(whole)] = len(self.objects), whole
            self.objects.append(node)
        return self._places[id(whole)][0]

    def _foreign(self, value: Any) -> Any:
        from modae.files.foreign import dump_member  # skops takes seconds to import

        member = dump_member(value, self.keep)
        self.holds_rows |= any(name in member for name in FOREIGN_ROWS)
        self.members.append(member)
        return {"member": len(self.members) - 1}

    def _ours(self, whole: Any, layout: Layout) -> Any:
        """Fields, and for estimators parameters, and attributes of a user's own subclass."""
        cls: Any = type(whole)
        state = {name: getattr(whole, name) for name in layout.fields if hasattr(whole, name)}
        if state:
            layout.check(whole)
            self.holds_rows |= layout.holds_rows
        if isinstance(whole, BaseEstimator):
            names = cls._get_param_names()
            names += [name for name in sorted(BESIDE) if name in vars(whole)]
            # Other private attributes are scikit-learn's own affair; fitted ones of ours follow.
            ends = "_" if cls is layout.cls else ()
            names += [name for name in vars(whole) if name[0] != "_" and not name.endswith(ends)]
            state |= {name: getattr(whole, name) for name in names if name not in state}
        state |= dict.fromkeys(layout.forgotten)
        state |= {} if self._resumable else dict.fromkeys(layout.resumable)
        node = {"type": layout.name} | ({} if cls is layout.cls else {"class": self.node(cls)})
        return node | {"state": {name: self.node(value) for name, value in state.items()}}

    def _array(self, values: np.ndarray) -> Any:
        kind = values.dtype.kind
        if kind in "OUMm":  # objects, text and dates, one by one
            items = values.ravel().astype("i8") if kind in "Mm" else values.ravel()
            listed = [self.node(item) for item in items.tolist()]
            dtype = values.dtype.newbyteorder("<").str
            return {"$": "array", "dtype": dtype, "shape": values.shape, "items": listed}
        if kind not in "fiub" or values.dtype.itemsize > 8:
            raise TypeError(f"An array of dtype {values.dtype} cannot be saved: use numbers or text.")
        place = values.__array_interface__["data"][0], values.shape, values.strides, values.dtype.str
        # Columns that lie together stay so: sums in another order would differ in the last digit.
        turned = values.flags.f_contiguous and not values.flags.c_contiguous
        if place not in self._names:
            little = values.astype(values.dtype.newbyteorder("<"), copy=False)
            self._names[place] = f"{len(self.arrays)}", values
            self.arrays[f"{len(self.arrays)}"] = np.asarray(little.T if turned else little, order="C")
        node = {"$": "array", "name": self._names[place][0]} | ({"turned": True} if turned else {})
        return node if values.flags.writeable else node | {"frozen": True}


class Reader:
    """Makes the objects of a file, one after the other."""

    def __init__(self, arrays: Arrays, members: list[bytes], trusted: frozenset[str]) -> None:
        self._arrays, self._members, self._trusted = arrays, members, trusted
        self._made: list[Any] = []

    def root(self, header: dict[str, Any]) -> Any:
        """What the file is about."""
        for node in header["objects"]:
            self._made.append(self._foreign(node["member"]) if "member" in node else self._ours(node))
        return self.value(header["root"])

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
            values = self._array(node)
            return values[()] if node.get("scalar") else values
        require(kind in MAKERS, f"there is no kind of value {kind!r:.40}")
        return MAKERS[kind](self.value(node["of"]))

    def object(self, place: Any) -> Any:
        """The object at a place of the table."""
        there = type(place) is int and 0 <= place < len(self._made)
        require(there, f"there is no object {place!r:.40}")
        return self._made[place]

    def _foreign(self, place: int) -> Any:
        from modae.files.foreign import load_member  # skops takes seconds to import

        return load_member(self._members[place], self.object, self._trusted)

    def _ours(self, node: Any) -> Any:
        """An object with its fields and parameters; the constructor of an estimator is not called."""
        layout = layout_named(node["type"])
        cls: Any = self.value(node["class"]) if "class" in node else layout.cls
        require(isinstance(cls, type) and issubclass(cls, layout.cls), f"{cls} is no {layout.name}")
        state = {name: self.value(each) for name, each in node["state"].items()}
        is_estimator = issubclass(cls, BaseEstimator)
        fields, params = set(layout.fields), set(cls._get_param_names()) if is_estimator else set()
        # A subclass may have fewer parameters, and keeps those of ours as attributes.
        ours: Any = layout.cls
        known = params | fields | BESIDE | set(ours._get_param_names() if is_estimator else ())
        strange = {name for name in state.keys() - known if hasattr(layout.cls, name)}
        # A parameter that is newer than the file has its default.
        state |= {name: getattr(cls, name) for name in params - state.keys() if hasattr(cls, name)}
        wrong = sorted(strange | (params - state.keys()))
        require(not wrong, f"{layout.name} has other attributes: {', '.join(wrong)!s:.80}")
        for name in layout.forgotten:
            require(state[name] is None, f"{name} must be None: a file must not say where to write")
        if hasattr(cls, "__setstate__"):
            whole = cls.__new__(cls)
            whole.__setstate__(state)
        else:
            whole = cls(**state)
        if not is_estimator or not fields.isdisjoint(state):  # it is fitted
            layout.check(whole)
            if layout.finish is not None:
                layout.finish(whole)
        return whole

    def _array(self, node: Any) -> np.ndarray:
        if "items" in node:  # objects, text or dates
            items, dtype = self.value(node["items"]), np.dtype(node["dtype"])
            known = dtype.kind in "OUMm" and 0 <= dtype.itemsize * len(items) <= LARGEST_TEXT
            require(known, f"there is no array of {dtype}")
            values = np.empty(len(items), dtype=dtype)
            for place, item in enumerate(items):  # one by one: an item with a length is no row
                values[place] = item
            return values.reshape(node["shape"])
        name = node["name"]
        require(isinstance(name, str) and name in self._arrays, f"there is no array {name!r:.40}")
        values = self._arrays[name].T if node.get("turned") else self._arrays[name]
        if values.dtype == bool:
            require(values.view(np.uint8).max(initial=0) <= 1, "a truth value is neither 0 nor 1")
        if node.get("frozen"):
            values = values.view()
            values.flags.writeable = False
        return values


def summary_of(model: Any) -> dict[str, Any]:
    """What ``describe`` tells of a model without making it: plain values for the header.

    Returns
    -------
    summary : dict
        With "steps" (pairs of name and class), "fitted", "n_features", "feature_names" (or None),
        "predicts", "classes" (as text, or None), "notes" (of the command line), and "model": what the
        layout of the last step tells.
    """
    steps = [pair for pair in getattr(model, "steps", ()) if pair[1] not in (None, "passthrough")]
    steps = steps or [("model", model)]
    first, last = steps[0][1], steps[-1][1]
    names, classes = getattr(first, "feature_names_in_", None), getattr(last, "classes_", None)
    fitted, notes = _is_fitted(model), getattr(model, NOTES, {})
    notes = notes.items() if isinstance(notes, dict) else ()
    return {
        "steps": [[name, type(step).__name__] for name, step in steps],
        "fitted": fitted,
        "n_features": _plain(getattr(first, "n_features_in_", None)),
        "feature_names": None if names is None else [str(name) for name in names],
        "predicts": hasattr(last, "predict"),
        "classes": None if classes is None else [str(label) for label in np.ravel(classes)],
        # what is made of several things is no summary
        "notes": _plain({name: value for name, value in notes if not isinstance(value, dict)}),
        "model": _plain(model_summary(last)) if fitted else {},
    }


def _is_fitted(model: Any) -> bool:
    layout = layout_for(type(model))
    if layout is not None:
        return any(name in vars(model) for name in layout.fields)
    with suppress(NotFittedError):
        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
        return True
    return False


def model_summary(model: Any) -> dict[str, Any]:
    """What the layout of a class tells of an object, and of the extractor or the model inside it."""
    layout, held = layout_for(type(model)), getattr(model, "__dict__", {})
    if "steps" in held:
        return model_summary(held["steps"][-1][1])
    inside = [held[name] for name in ("extractor_", "best_estimator_", "estimator") if name in held]
    told = model_summary(inside[0]) if inside else {}
    if layout is None:
        return told
    if "estimators_" in held:
        told["member"] = type(held["estimators_"][0]).__name__
    return told | _read(model, layout.summary)


def _read(model: Any, path: Any) -> Any:
    """What is at a path, or at each path of a dict."""
    if isinstance(path, str):
        return attrgetter(path)(model)
    return {name: _read(model, each) for name, each in path.items()}


def _plain(value: Any) -> Any:
    """Plain JSON values for display; text for everything else, as for numbers that are not finite."""
    text = json.dumps(value, default=lambda each: each.item() if hasattr(each, "item") else str(each))
    return json.loads(text, parse_constant=str)
