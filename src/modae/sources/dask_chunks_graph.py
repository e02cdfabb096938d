"""Graphs of tasks over the chunks of a dask collection: a tree of sums, and a list of answers.

A graph is made in one go, with dask's own tasks, and holds what all tasks share once, under a key of
its own. It runs wherever the user runs dask: on the cluster of his client if there is one, else in
threads of this process. No cluster is ever started here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any
from uuid import uuid4

from dask._task_spec import DataNode, Task, TaskRef
from dask.array.optimization import optimize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

FAN_IN = 8
"""Summaries that one task joins: a worker holds so many of them at a time."""

Layer = dict[Any, Any]


def answers_of(function: Callable[[Any], Any], keys: Sequence[Any], collection: Any) -> list[Any]:
    """What a function says of each of the chunks: small answers, which come to the caller."""
    name, end = _new_name("ask"), _new_name("answers")
    layer: Layer = {(name, i): Task((name, i), function, TaskRef(key)) for i, key in enumerate(keys)}
    layer[end] = Task(end, _listed, *(TaskRef(key) for key in list(layer)))
    answers: list[Any] = _run(end, layer, [collection])
    return answers


def joined(
    work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], collections: Sequence[Any]
) -> Any:
    """``work(*each)`` for each of the arguments, joined two by two in an order that never changes.

    Arguments that are a :class:`TaskRef` are chunks of the collections.
    """
    shared, name = _new_name("work"), _new_name("chunk")
    layer: Layer = {shared: DataNode(shared, work)}
    for place, each in enumerate(arguments):
        layer[name, place] = Task((name, place), call_shared, TaskRef(shared), *each)
    tree, root = _tree([(name, place) for place in range(len(arguments))])
    return _run(root, layer | tree, collections)


def call_shared(work: Callable[..., Any], *arguments: Any) -> Any:
    """What a task does whose function is shared by many tasks."""
    return work(*arguments)


@contextmanager
def naming_chunk(place: int) -> Iterator[None]:
    """Say which chunk was wrong. Other errors, such as a lack of memory, stay as they are."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"Chunk {place} of X: {error}") from error


def _tree(level: Sequence[Any]) -> tuple[Layer, Any]:
    """Tasks that join ``FAN_IN`` neighbours until one is left, and its key."""
    name, depth = _new_name("join"), 0
    layer: Layer = {}
    while len(level) > 1:
        groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
        keys = [(name, depth, place) for place in range(len(groups))]
        layer |= {
            key: Task(key, _join, *(TaskRef(part) for part in group))
            for key, group in zip(keys, groups, strict=True)
        }
        level, depth = keys, depth + 1
    return layer, level[0]


def _run(key: Any, layer: Layer, collections: Sequence[Any]) -> Any:
    """Compute one key, after dask has made reading the chunks one task for each."""
    name = _new_name("graph")
    graph = HighLevelGraph.from_collections(name, layer, dependencies=list(collections))
    return Delayed(key, optimize(graph, [key])).compute()


def _join(*parts: Any) -> Any:
    return reduce(lambda one, other: one.join(other), parts)


def _listed(*answers: Any) -> list[Any]:
    return list(answers)


def _new_name(what: str) -> str:
    return f"modae-{what}-{uuid4().hex}"
