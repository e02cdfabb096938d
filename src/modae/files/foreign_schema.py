"""The nodes of ``schema.json``: which there are, what is in them, and whom they may name.

skops knows more kinds of nodes than these; what calls methods, evaluates partial functions or opens
inner archives is not needed here, and a file that has it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from modae.files.foreign_rules import require
from modae.files.trust import (
    CLASS_NAMES,
    FUNCTION_NAMES,
    LOSS_NAMES,
    SCALAR_NAMES,
    TYPE_NAMES,
    untrusted,
)

Node = dict[str, Any]

DEEPEST = 150
"""Nodes inside each other; an object in a list in an object has four."""

DICTIONARIES = frozenset({"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"})
HEAD = {"__class__", "__module__", "__loader__"}

FIELDS: dict[str, tuple[set[str], ...]] = {
    "JsonNode": ({"content", "is_json"},),
    "DictNode": ({"content", "key_types", "__id__"},),
    "ListNode": ({"content", "__id__"},),
    "TupleNode": ({"content", "__id__"},),
    "SetNode": ({"content", "__id__"},),
    "NdArrayNode": ({"type", "file", "__id__"}, {"type", "content", "shape", "__id__"}),
    "MaskedArrayNode": ({"content", "__id__"},),
    "DTypeNode": ({"content", "__id__"},),
    "SliceNode": ({"content", "__id__"},),
    "TypeNode": ({"__id__"},),
    "FunctionNode": ({"__id__"},),
    "ObjectNode": ({"content", "__id__"}, {"__id__"}),
    "ConstructorFromReduceNode": ({"content", "__id__"},),
    "LossNode": ({"content", "__reduce__", "__id__"},),
}
"""Kinds of nodes, and the fields that each has beside its name."""

NAMED: dict[str, frozenset[str]] = {
    "JsonNode": frozenset({"builtins.str"}),
    "DictNode": DICTIONARIES,
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SetNode": frozenset({"builtins.set"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}) | {name for name in SCALAR_NAMES if name[0] == "n"},
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TypeNode": TYPE_NAMES,
    "FunctionNode": FUNCTION_NAMES,
    "ObjectNode": CLASS_NAMES,
    "ConstructorFromReduceNode": frozenset(),
    "LossNode": LOSS_NAMES,
}
"""The names that each kind of node may have without the user's word."""

EXTENSIBLE = frozenset({"ObjectNode", "ConstructorFromReduceNode", "FunctionNode", "TypeNode"})
"""Where a name that the user trusts may stand too."""


def full_name(node: Node) -> str:
    """The full name of what a node builds."""
    return f"{node['__module__']}.{node['__class__']}"


def children(node: Node) -> Iterator[tuple[Any, Any]]:
    """Where the inner nodes of a node are, as (holder, key), in the order in which skops reads them.

    Parameters
    ----------
    node : dict

    Yields
    ------
    holder : dict or list
    key : str or int
    """
    loader, content = node["__loader__"], node.get("content")
    if loader == "DictNode":
        yield node, "key_types"
    if loader in ("ObjectNode", "ConstructorFromReduceNode", "LossNode", "DTypeNode"):
        if "content" in node:
            yield node, "content"
    elif isinstance(content, list):
        yield from ((content, place) for place in range(len(content)))
    elif isinstance(content, dict) and loader != "SliceNode":
        yield from ((content, key) for key in content)
    if "shape" in node:
        yield node, "shape"
    if "__reduce__" in node:
        yield node["__reduce__"], "args"


class SchemaCheck:
    """One look at all nodes of a schema.

    Parameters
    ----------
    files : frozenset of str
        The arrays that are there.
    trusted : frozenset of str
        Names that the user trusts.
    """

    def __init__(self, files: frozenset[str], trusted: frozenset[str]) -> None:
        self._files = files
        self._trusted = trusted
        # The number of nodes below each numbered node that has been read to its end. A node that is
        # referred to twice counts twice, as skops looks at it twice: a few levels could take for ever.
        self._sizes: dict[int, int] = {}
        self._n_read = 0
        self._names: set[str] = set()

    def checked_names(self, schema: Any) -> frozenset[str]:
        """All names in a schema, or :class:`ModelFormatError` if anything is wrong with it."""
        require(
            isinstance(schema, dict) and type(schema.get("protocol")) is int, "a schema has a protocol"
        )
        require(schema["protocol"] == PROTOCOL, f"protocol {schema['protocol']} of skops is not known")
        root = {key: value for key, value in schema.items() if key not in ("protocol", "_skops_version")}
        size = self._size(root, 0)
        require(size <= 100_000 + 4 * self._n_read, "shared nodes unfold to too many")
        return frozenset(self._names)

    def _size(self, node: Any, depth: int) -> int:
        require(isinstance(node, dict) and depth < DEEPEST, "a node is an object, and not nested deeply")
        if set(node) == {"__id__"}:
            require(type(node["__id__"]) is int and node["__id__"] in self._sizes, "a number has a node")
            return self._sizes[node["__id__"]]
        self._check_fields(node)
        self._check_name(node)
        self._n_read += 1
        size = 1 + sum(self._size(holder[key], depth + 1) for holder, key in children(node))
        if node["__loader__"] != "JsonNode":
            number = node["__id__"]
            require(type(number) is int and number > 0, "nodes are numbered")
            require(number not in self._sizes, "nodes have numbers of their own")
            self._sizes[number] = size
        return size

    def _check_fields(self, node: Node) -> None:
        loader: Any = node.get("__loader__")
        require(isinstance(loader, str), "a node has a loader")
        require(loader in FIELDS, f"there are no nodes of kind {loader!r}")
        require(set(node) - HEAD in FIELDS[loader] and set(node) >= HEAD, f"{loader} has other fields")
        CONTENTS.get(loader, _is_node)(node)
        if "file" in node:
            require(isinstance(node["file"], str) and node["file"] in self._files, "an array is missing")

    def _check_name(self, node: Node) -> None:
        require(
            isinstance(node["__module__"], str) and isinstance(node["__class__"], str), "names are text"
        )
        name, loader = full_name(node), node["__loader__"]
        if name not in NAMED[loader] and not (loader in EXTENSIBLE and name in self._trusted):
            raise untrusted(name)
        self._names.add(name)


PROTOCOL = 2
"""The version of skops' nodes that is read; older ones are other classes, so they are not."""


def _is_node(node: Node) -> None:
    require(isinstance(node.get("content", {}), dict), "a node is inside a node")


def _is_list(node: Node) -> None:
    require(isinstance(node["content"], list), "a list has items")


def _is_word(node: Node) -> None:
    content = node["content"]
    require(isinstance(content, str), "a value is text")
    value = json.loads(content) if content[:1] not in "[{" else []
    require(value is None or isinstance(value, (bool, int, float, str)), "a value is a number or a word")


def _is_array(node: Node) -> None:
    if "file" in node:
        require(node["type"] == "numpy", "an array with a file is of numbers")
    else:
        require(node["type"] == "json" and isinstance(node["content"], list), "an array has items")


def _is_masked(node: Node) -> None:
    content = node["content"]
    require(isinstance(content, dict) and set(content) == {"data", "mask"}, "a masked array has a mask")


def _is_slice(node: Node) -> None:
    content = node["content"]
    require(isinstance(content, dict) and set(content) == {"start", "stop", "step"}, "a slice has ends")
    require(all(value is None or type(value) is int for value in content.values()), "ends are integers")


def _is_loss(node: Node) -> None:
    reduced = node["__reduce__"]
    require(isinstance(reduced, dict) and set(reduced) == {"args"}, "a loss has arguments")


CONTENTS = {
    "JsonNode": _is_word,
    "ListNode": _is_list,
    "TupleNode": _is_list,
    "SetNode": _is_list,
    "NdArrayNode": _is_array,
    "MaskedArrayNode": _is_masked,
    "SliceNode": _is_slice,
    "LossNode": _is_loss,
}
