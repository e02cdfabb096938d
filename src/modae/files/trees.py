"""Branches of scikit-learn's trees: compiled code follows them, and does not look where they lead.

skops documents that a file with wrong branches makes ``predict`` read outside of its arrays, and does
therefore not trust trees. Here every child must be a later node of the same tree, and every feature a
column of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.files.errors import require

TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
LEAF = -1  # the child that leaves have
BITSET_WORDS = 8  # of 32 bits: one for each of 256 categories


class TreeCheck:
    """Looks at each object of a member, owners before what they hold."""

    def __init__(self) -> None:
        self._known: set[int] = set()  # trees of histogram boosting that an owner answers for

    def __call__(self, node: Any) -> None:
        """Check one object."""
        held = getattr(node, "__dict__", {})
        name = _name(node)
        if name == TREE:
            require(0 < node.node_count <= node.capacity, "a tree has other sizes than its nodes")
            left, right = node.children_left, node.children_right
            depth = _check_nodes(left, right, left == LEAF, node.feature, node.n_features)
            require(depth <= node.max_depth <= node.node_count, "a tree has another depth")
        elif name == PREDICTOR:
            require(id(node) in self._known, "a tree of histogram boosting has no owner")
        elif isinstance(held, dict) and {"tree_", "estimators_", "_predictors"} & set(held):
            self._check_owner(node, held)

    def _check_owner(self, owner: Any, held: dict[str, Any]) -> None:
        """The owner looks whether rows have ``n_features_in_`` columns; then its trees read them."""
        members = held.get("estimators_", ())
        members = members.ravel() if isinstance(members, np.ndarray) else members
        found = [getattr(each, "__dict__", {}).get("tree_") for each in (owner, *members)]
        trees: list[Any] = [tree for tree in found if _name(tree) == TREE]
        predictors = [predictor for each in held.get("_predictors", ()) for predictor in each]
        if not trees and not predictors:
            return
        n_features: Any = getattr(owner, "n_features_in_", None)
        require(isinstance(n_features, (int, np.integer)), "trees do not know the number of columns")
        require(all(tree.n_features <= n_features for tree in trees), "a tree has other columns")
        for predictor in predictors:
            nodes, bitsets = predictor.nodes, predictor.raw_left_cat_bitsets
            leaves, splits = nodes["is_leaf"] > 0, nodes[nodes["is_categorical"] > 0]
            _check_nodes(nodes["left"], nodes["right"], leaves, nodes["feature_idx"], n_features)
            fits = bitsets.ndim == 2 and bitsets.shape[1] == BITSET_WORDS
            require(
                fits and (splits["bitset_idx"] < len(bitsets)).all(), "a category is not in the tree"
            )
            self._known.add(id(predictor))


def _name(node: Any) -> str:
    return f"{type(node).__module__}.{type(node).__qualname__}"


def _check_nodes(left: Any, right: Any, leaves: Any, features: Any, n_features: int) -> int:
    """Children come after their parents, features are columns of the rows. Returns the depth."""
    inner, columns = np.flatnonzero(~leaves), features[~leaves]
    for children in (left, right):
        inside = (children[inner] > inner) & (children[inner] < len(left))
        require(inside.all(), "a branch of a tree leads nowhere")
    require(((columns >= 0) & (columns < n_features)).all(), "a tree reads a column that is not there")
    level, depth = np.zeros(1, dtype=int), 0
    while len(level := level[~leaves[level]]):
        level, depth = np.unique([left[level], right[level]]), depth + 1
    return depth
