"""Walking and rewriting a graph of objects.

A fitted estimator is a graph: attributes hold lists, which hold estimators, which hold arrays. Before it
goes to a file some of its nodes change into a :class:`Part`, plain data from which the node is built
again, and after reading they change back. Both directions are one function, :func:`rewritten`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

OPAQUE = (
    str,
    bytes,
    int,
    float,
    complex,
    type,
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
    np.generic,
)
"""Nothing inside."""

DEEPEST = 60
"""Objects inside each other; deeper graphs are damaged, or refer to themselves."""


class Part:
    """Plain data in the place of an object that a file does not hold as it is.

    Files know this class by the name of its module: both must stay where they are.

    Parameters
    ----------
    kind : str
        What it stands for: the name of a rule of :mod:`modae.files.foreign_parts`.
    content : dict
        Numbers, words and arrays.

    Examples
    --------
    >>> from modae.files.foreign_graph import Part
    >>> Part("ours", {"index": 3}).content
    {'index': 3}
    """

    def __init__(self, kind: str, content: dict[str, Any]) -> None:
        self.kind = kind
        self.content = content


Replace = Callable[[Any, Any], Any]


def rewritten(root: Any, replace: Replace) -> Any:
    """The graph with some nodes replaced; the given graph is not changed.

    What holds a replaced node is copied (one level), all else is the same object as before. A node that
    is referred to twice is replaced once, so that shared stays shared.

    Parameters
    ----------
    root : object
    replace : callable
        ``replace(node, owner)`` with the object whose attribute the node is (or is inside of) gives the
        new node, or the node itself if it stays.

    Returns
    -------
    root : object

    Examples
    --------
    >>> from modae.files.foreign_graph import rewritten
    >>> rewritten([1, (2, 3)], lambda node, owner: 30 if node == 3 else node)
    [1, (2, 30)]
    """
    return _Rewriter(replace).of(root, None, 0)


class _Rewriter:
    """One run of :func:`rewritten`: remembers what became of each node."""

    def __init__(self, replace: Replace) -> None:
        self._replace = replace
        # The old node is kept beside the new one, as the id of a dead object can come again.
        self._done: dict[int, tuple[Any, Any]] = {}

    def of(self, node: Any, owner: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"objects are nested more than {DEEPEST} deep, or refer to themselves.")
        if id(node) not in self._done:
            new = self._replace(node, owner)
            self._done[id(node)] = node, (self._inside(node, owner, depth) if new is node else new)
        return self._done[id(node)][1]

    def _inside(self, node: Any, owner: Any, depth: int) -> Any:
        if isinstance(node, OPAQUE) or node is None:
            return node
        if isinstance(node, dict):
            return self._copied_dict(node, owner, depth)
        if type(node) in (list, tuple, set):
            items = [self.of(item, owner, depth + 1) for item in node]
            return node if _same(items, node) else type(node)(items)
        if isinstance(node, np.ndarray):
            return self._copied_array(node, owner, depth) if node.dtype.hasobject else node
        return self._copied_object(node, depth)

    def _copied_dict(self, node: dict[Any, Any], owner: Any, depth: int) -> dict[Any, Any]:
        values = [self.of(value, owner, depth + 1) for value in node.values()]
        if _same(values, node.values()):
            return node
        new = type(node)()
        new.update(zip(node, values, strict=True))
        return new

    def _copied_array(self, node: np.ndarray, owner: Any, depth: int) -> np.ndarray:
        given = np.ma.getdata(node).ravel()
        items = [self.of(item, owner, depth + 1) for item in given]
        if _same(items, given):
            return node
        new = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):  # item by item: an estimator with a length is no row
            new[place] = item
        shaped: np.ndarray = new.reshape(node.shape)
        return np.ma.MaskedArray(shaped, mask=np.ma.getmaskarray(node)) if np.ma.isMA(node) else shaped

    def _copied_object(self, node: Any, depth: int) -> Any:
        attributes = getattr(node, "__dict__", None)
        if not isinstance(attributes, dict):
            return node
        values = [self.of(value, node, depth + 1) for value in attributes.values()]
        if _same(values, attributes.values()):
            return node
        cls: Any = type(node)
        new = cls.__new__(cls)
        new.__dict__.update(zip(attributes, values, strict=True))
        return new


def _same(new: Any, old: Any) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def walked(root: Any) -> Iterator[tuple[Any, Any, str]]:
    """Each node once, with the object whose attribute it is (or is inside of), and the attribute's name.

    Parameters
    ----------
    root : object

    Yields
    ------
    node, owner, attribute
        The owner of the root is None, its attribute is "".

    Examples
    --------
    >>> from modae.files.foreign_graph import Part, walked
    >>> [(node, name) for node, _, name in walked(Part("a word", {})) if isinstance(node, str)]
    [('a word', 'kind')]
    """
    waiting: list[tuple[Any, Any, str]] = [(root, None, "")]
    seen: dict[int, Any] = {}
    while waiting:
        node, owner, attribute = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        yield node, owner, attribute
        waiting.extend(_neighbours(node, owner, attribute))


def _neighbours(node: Any, owner: Any, attribute: str) -> list[tuple[Any, Any, str]]:
    if isinstance(node, OPAQUE) or node is None:
        return []
    if isinstance(node, dict):
        return [(value, owner, attribute) for value in node.values()]
    if isinstance(node, (list, tuple, set, frozenset)):
        return [(item, owner, attribute) for item in node]
    if isinstance(node, np.ndarray):
        return [(item, owner, attribute) for item in node.ravel()] if node.dtype.hasobject else []
    return [(value, node, str(name)) for name, value in state_of(node).items()]


def state_of(node: Any) -> dict[str, Any]:
    """The attributes of an object that go to a file: what it gives to be pickled, or nothing.

    Parameters
    ----------
    node : object

    Returns
    -------
    state : dict
    """
    cls: Any = type(node)  # as pickle does: what the class says, not what an attribute says
    state = cls.__getstate__(node) if hasattr(node, "__dict__") else None
    return state if isinstance(state, dict) else {}
