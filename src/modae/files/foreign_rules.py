"""The rules that several checks share: counts, arrays, binary trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.files.errors import ModelFormatError


def require(condition: Any, rule: str) -> None:
    """Raise :class:`ModelFormatError` with the rule unless the condition holds."""
    if not condition:
        raise ModelFormatError(f"the file is damaged: {rule}.")


def is_count(value: Any, most: float = np.inf) -> bool:
    """Whether it is a whole number from 0 to some limit."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and bool(0 <= value <= most)


def is_array(value: Any, kinds: str, ndim: int) -> bool:
    """Whether it is an array of this many axes with a dtype of one of these kinds."""
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == ndim


def check_binary_tree(left: Any, right: Any, is_leaf: Any, features: Any, n_features: int) -> int:
    """The depth of a binary tree given by the children of its nodes; an error if it is none.

    Compiled predictors follow the numbers of children without a look. So children come after their
    parents, and nothing goes round in circles; each node but the root is the child of exactly one other,
    and each split looks at a feature that is there.

    Parameters
    ----------
    left, right : array of shape (n_nodes,)
        Numbers of the children; only those of inner nodes count.
    is_leaf : array of bool of shape (n_nodes,)
    features : array of shape (n_nodes,)
    n_features : int

    Returns
    -------
    depth : int
        0 for a single leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.files.foreign_rules import check_binary_tree
    >>> leaves = np.array([False, True, True])
    >>> check_binary_tree(np.array([1, -1, -1]), np.array([2, -1, -1]), leaves, np.zeros(3, int), 1)
    1
    """
    n_nodes = len(is_leaf)
    require(n_nodes > 0, "a tree has nodes")
    parents = np.flatnonzero(~is_leaf)
    children = np.stack([left[parents], right[parents]]).astype(np.int64)
    require((children > parents).all() and (children < n_nodes).all(), "a child comes after its parent")
    once = np.array_equal(np.sort(children, axis=None), np.arange(1, n_nodes))
    require(once, "each node of a tree is the child of one other")
    used = features[parents]
    require(
        (used >= 0).all() and (used < n_features).all(), f"a tree of {n_features} features uses these"
    )
    return _depth(parents, children, n_nodes)


def _depth(parents: np.ndarray, children: np.ndarray, n_nodes: int) -> int:
    depths = [0] * n_nodes
    for parent, one, other in zip(parents.tolist(), *children.tolist(), strict=True):
        depths[one] = depths[other] = depths[parent] + 1
    return max(depths)
