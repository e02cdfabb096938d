"""One blob: an archive by skops in a canonical form, and a strict reader of it.

An archive holds ``schema.json``, a tree of *nodes* that say what is to be built, and the arrays
``1.npy``, ``2.npy``, ... skops numbers nodes and arrays by their address in memory and repeats a shared
node in full. Here they are numbered in the order in which they are read, and a node that comes again is
only its number, so that the same model gives the same bytes.
"""

from __future__ import annotations

import json
import sys
from io import BytesIO
from math import prod
from re import fullmatch
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from modae.files.errors import ModelFormatError
from modae.files.foreign_schema import Node, SchemaCheck, children, full_name

SCHEMA = "schema.json"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same date in every archive, so that bytes do not depend on the day."""


def write_blob(graph: Any) -> bytes:
    """The archive of a graph of plain objects.

    Parameters
    ----------
    graph : object

    Returns
    -------
    blob : bytes

    Examples
    --------
    >>> from modae.files.foreign_blob import read_blob, write_blob
    >>> read_blob(write_blob({"degrees": (1, 2.5)}), frozenset())
    {'degrees': (1, 2.5)}
    """
    import skops.io  # it imports all of scikit-learn, and torch if there: not before it is needed

    with ZipFile(BytesIO(skops.io.dumps(graph))) as archive:
        names = _Names()
        schema = names.canonical(json.loads(archive.read(SCHEMA)))
        arrays = {new: archive.read(old) for old, new in names.files.items()}
    entries = {**arrays, SCHEMA: json.dumps(schema, separators=(",", ":")).encode()}
    target = BytesIO()
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for name, data in entries.items():
            archive.writestr(ZipInfo(name, EPOCH), data)
    return target.getvalue()


class _Names:
    """New numbers for nodes and arrays, in the order of reading."""

    def __init__(self) -> None:
        self.nodes: dict[int, int] = {}
        self.files: dict[str, str] = {}

    def canonical(self, node: Node) -> Node:
        """The node with new numbers, in place; or only its number, if it was there before."""
        number = node.pop("__id__", None)
        if node["__loader__"] == "JsonNode":
            return node  # a number or a word: whether it is shared depends on the interpreter
        if number in self.nodes:
            return {"__id__": self.nodes[number]}
        node["__id__"] = self.nodes[number] = len(self.nodes) + 1
        node["__module__"] = _lasting_module(node)
        if "file" in node:
            node["file"] = self.files.setdefault(node["file"], f"{len(self.files) + 1}.npy")
        for holder, key in children(node):
            holder[key] = self.canonical(holder[key])
        return node


def _lasting_module(node: Node) -> str:
    """The module of a name, the same with every version of NumPy.

    Functions of NumPy 2.0 do not know their module: skops searches for one, and finds a private one.
    """
    module, name = str(node["__module__"]), node["__class__"]
    if node["__loader__"] != "FunctionNode" or not isinstance(getattr(np, name, None), np.ufunc):
        return module
    return "numpy" if getattr(sys.modules.get(module), name, None) is getattr(np, name) else module


def read_blob(blob: bytes, trusted: frozenset[str]) -> Any:
    """The graph of an archive whose every name is trusted.

    Nothing is imported or built before the whole archive has been looked at.

    Parameters
    ----------
    blob : bytes
    trusted : frozenset of str
        Names of classes and functions, beside those of :mod:`modae.files.trust`.

    Returns
    -------
    graph : object
    """
    import skops.io  # late for the same reason as above

    schema, files = _checked_entries(blob)
    names = SchemaCheck(files, trusted).checked_names(schema)
    # skops looks again: at the names that are there, as a longer list would take longer at each node.
    return skops.io.loads(blob, trusted=sorted(names))


def names_in(blob: bytes) -> frozenset[str]:
    """Every name in an archive, trusted or not.

    Parameters
    ----------
    blob : bytes

    Returns
    -------
    names : frozenset of str

    Examples
    --------
    >>> from modae.files.foreign_blob import names_in, write_blob
    >>> sorted(names_in(write_blob([1, 2.5])))
    ['builtins.list', 'builtins.str']
    """
    schema, _ = _checked_entries(blob)
    found, waiting = set(), [schema]
    while waiting:
        node = waiting.pop()
        if "__loader__" in node:
            found.add(full_name(node))
            waiting.extend(holder[key] for holder, key in children(node))
    return frozenset(found)


def _checked_entries(blob: bytes) -> tuple[Node, frozenset[str]]:
    with ZipFile(BytesIO(blob)) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        if len(set(names)) < len(names) or SCHEMA not in names:
            raise ModelFormatError("the file is damaged: an archive has each name once, and a schema.")
        if sum(entry.file_size for entry in entries) > len(blob):
            raise ModelFormatError("the file is damaged: an archive is smaller than its content.")
        for entry in entries:
            _check_entry(entry)
        for name in names:
            if name != SCHEMA:
                _check_array(name, archive.read(name))
        schema = json.loads(archive.read(SCHEMA))
    return schema, frozenset(names) - {SCHEMA}


def _check_entry(entry: ZipInfo) -> None:
    if entry.filename != SCHEMA and not fullmatch(r"[1-9][0-9]{0,9}\.npy", entry.filename):
        raise ModelFormatError(f"the file is damaged: an archive has no place for {entry.filename!r}.")
    if (
        entry.compress_type != ZIP_STORED
        or entry.compress_size != entry.file_size
        or entry.flag_bits & 1
    ):
        raise ModelFormatError(f"the file is damaged: {entry.filename} is compressed or encrypted.")


def _check_array(name: str, data: bytes) -> None:
    stream = BytesIO(data)
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ModelFormatError(f"the file is damaged: {name} has version {version} of the format.")
    reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = reader(stream)
    if not set(_kinds(dtype)) <= set("biufSU") or dtype.itemsize == 0:
        raise ModelFormatError(f"the file is damaged: {name} has dtype {dtype}, no numbers and no text.")
    if any(isinstance(size, bool) or size < 0 for size in shape):
        raise ModelFormatError(f"the file is damaged: {name} has the shape {shape}.")
    if prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise ModelFormatError(f"the file is damaged: {name} of shape {shape} has another length.")


def _kinds(dtype: Any) -> list[str]:
    """The kinds of all fields; "?" for wide numbers and for arrays inside a field."""
    if dtype.names is not None:
        return [kind for name in dtype.names for kind in _kinds(dtype[name])]
    return [
        dtype.kind if dtype.kind in "SU" or (dtype.subdtype is None and dtype.itemsize <= 8) else "?"
    ]
