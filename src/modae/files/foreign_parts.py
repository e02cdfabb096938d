"""Objects that a file holds as plain data, because their own way of reading trusts what it reads.

==================  ==========================  =====================================================
kind                stands for                  why
==================  ==========================  =====================================================
"tree"              a scikit-learn ``Tree``     its constructor reads past the end of a wrong array
"sparse"            CSR or CSC rows             files of its own are archives inside the archive
"random state"      ``RandomState``             a wrong position in the sequence reads past the end
"generator"         ``Generator(PCG64)``        a wrong pool size takes all memory
"neighbours"        ``KDTree``, ``BallTree``    compiled and large; the rows are enough to build it
"points"            scipy's k-d tree            the same
"check"             ``partial(check_array)``    histogram boosting keeps one; no other function is called
==================  ==========================  =====================================================

Everything is checked before the object is built.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix, issparse
from scipy.spatial import KDTree as ScipyKDTree
from scipy.spatial import cKDTree
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import MetadataRequest

from modae.files.foreign_graph import Part
from modae.files.foreign_rules import check_binary_tree, is_array, is_count, require
from modae.files.requests import METHODS, request_from, requests_of

SPARSE = {
    "csr_array": csr_array,
    "csr_matrix": csr_matrix,
    "csc_array": csc_array,
    "csc_matrix": csc_matrix,
}
SEARCH_TREES = {"KDTree": KDTree, "BallTree": BallTree}
PACKED_NODES = repack_fields(NODE_DTYPE)
N_WORDS = 624
"""Words in the state of the Mersenne twister."""


def as_part(node: Any, owner: Any) -> Any:
    """The part for an object that has one, or the object itself.

    Parameters
    ----------
    node : object
    owner : object
        Whose attribute it is: a search tree of scikit-learn does not know its metric by name, but the
        estimator does.

    Returns
    -------
    node : object

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from modae.files.foreign_parts import as_part
    >>> as_part(csr_array([[0.0, 1.0]]), None).kind
    'sparse'
    """
    if isinstance(node, np.memmap):
        return np.array(node)
    if issparse(node):
        return _sparse_part(node)
    for kind, writer in WRITERS.items():
        if isinstance(node, kind):
            return writer(node, owner)
    return node


def from_part(part: Part) -> Any:
    """The object that a part stands for, after a look at each number that compiled code would trust.

    Parameters
    ----------
    part : Part

    Returns
    -------
    node : object

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from modae.files.foreign_parts import as_part, from_part
    >>> from_part(as_part(csr_array([[0.0, 1.0]]), None)).toarray()
    array([[0., 1.]])
    """
    return READERS[part.kind](**part.content)


def _tree_part(tree: Tree, owner: Any) -> Part:
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    sizes = {"n_features": n_features, "n_classes": n_classes, "n_outputs": n_outputs}
    # Without the bytes between the fields, which are whatever was in memory.
    return Part("tree", {**sizes, **state, "nodes": repack_fields(state["nodes"])})


def _tree(
    n_features: Any, n_classes: Any, n_outputs: Any, nodes: Any, values: Any, **sizes: Any
) -> Tree:
    require(is_count(n_features, 2**31) and is_count(n_outputs, 2**31), "sizes of a tree are counts")
    require(is_array(n_classes, "iu", 1) and len(n_classes) == n_outputs > 0, "a tree has n_classes")
    require(n_classes.min() >= 1, "n_classes is at least 1")
    require(
        is_array(nodes, "V", 1) and nodes.dtype == PACKED_NODES, "nodes of a tree have another layout"
    )
    require(is_array(values, "f", 3) and values.dtype == np.float64, "values of a tree are float64")
    require(values.shape == (len(nodes), n_outputs, n_classes.max()), "values of a tree fit its nodes")
    require(np.isfinite(values).all(), "values of a tree are finite")
    depth = _check_nodes(nodes, n_features)
    require(sizes == {"max_depth": depth, "node_count": len(nodes)}, "sizes of a tree fit its nodes")
    padded = np.zeros(len(nodes), dtype=NODE_DTYPE)
    for name in NODE_DTYPE.names:
        padded[name] = nodes[name]
    tree = Tree(int(n_features), n_classes.astype(np.intp), int(n_outputs))
    tree.__setstate__({**sizes, "nodes": padded, "values": np.ascontiguousarray(values)})
    return tree


def _check_nodes(nodes: np.ndarray, n_features: int) -> int:
    left, right = nodes["left_child"], nodes["right_child"]
    is_leaf = left == -1
    require((right[is_leaf] == -1).all(), "a leaf has no children")
    require(not np.isnan(nodes["threshold"]).any(), "thresholds of a tree are numbers")
    for name in ("impurity", "weighted_n_node_samples"):
        require(np.isfinite(nodes[name]).all(), f"{name} of a tree is finite")
    require((nodes["n_node_samples"] >= 0).all(), "n_node_samples is not negative")
    return check_binary_tree(left, right, is_leaf, nodes["feature"], n_features)


def _sparse_part(rows: Any) -> Part:
    name = type(rows).__name__
    if name not in SPARSE:
        raise TypeError(f"a sparse {name} cannot be saved: convert it with .tocsr() before fitting.")
    used = int(rows.indptr[-1])  # scipy allows arrays that are longer than that
    data, indices = (
        array if len(array) == used else array[:used] for array in (rows.data, rows.indices)
    )
    arrays = {"data": data, "indices": indices, "indptr": rows.indptr}
    return Part("sparse", {"name": name, "shape": tuple(int(size) for size in rows.shape), **arrays})


def _sparse(name: Any, shape: Any, data: Any, indices: Any, indptr: Any) -> Any:
    require(name in SPARSE, "a sparse array is CSR or CSC")
    require(isinstance(shape, tuple) and len(shape) == 2, "a sparse array has two axes")
    require(all(is_count(size, 2**62) for size in shape), "the shape of a sparse array is two counts")
    require(is_array(data, "biuf", 1), "data of a sparse array are numbers")
    for pointers in (indices, indptr):
        require(is_array(pointers, "i", 1) and pointers.dtype.itemsize in (4, 8), "indices are integers")
    require(indices.dtype == indptr.dtype, "indices have one dtype")
    _check_pointers(indices, indptr, shape if name.startswith("csr") else shape[::-1])
    require(len(data) == len(indices), "each number of a sparse array has its place")
    rows = SPARSE[name](shape, dtype=data.dtype)
    # The very arrays: the constructor might take smaller integers, and two may share one.
    rows.data, rows.indices, rows.indptr = data, indices, indptr
    rows.check_format(full_check=True)
    return rows


def _check_pointers(indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> None:
    # scipy's own check looks at no pointer if the last one is 0.
    require(len(indptr) == shape[0] + 1 and indptr[0] == 0, "indptr fits the shape")
    # Compared, not subtracted: differences of small integers can overflow.
    rising = (indptr[1:] >= indptr[:-1]).all()
    require(rising and indptr[-1] == len(indices), "indptr goes up to the end")
    require(((indices >= 0) & (indices < shape[1])).all(), "indices are in the shape")


def _random_state_part(random: np.random.RandomState, owner: Any) -> Part:
    state = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise TypeError(
            f"a RandomState of {state['bit_generator']} cannot be saved: use an integer seed."
        )
    return Part(
        "random state", {**state["state"], "has_gauss": state["has_gauss"], "gauss": state["gauss"]}
    )


def _random_state(key: Any, pos: Any, has_gauss: Any, gauss: Any) -> np.random.RandomState:
    require(is_array(key, "u", 1) and key.dtype == np.uint32, "a random state has a key of uint32")
    require(len(key) == N_WORDS and is_count(pos, N_WORDS), "a random state has a position in its key")
    require(
        has_gauss in (0, 1) and isinstance(gauss, (float, np.floating)), "a random state has a spare"
    )
    random = np.random.RandomState(0)
    random.set_state(("MT19937", key, int(pos), int(has_gauss), float(gauss)))
    return random


def _generator_part(generator: np.random.Generator, owner: Any) -> Part:
    bits = generator.bit_generator
    if type(bits).__name__ != "PCG64":
        raise TypeError(f"a Generator of {type(bits).__name__} cannot be saved: use PCG64 or a seed.")
    seed: Any = bits.seed_seq.state  # type: ignore[attr-defined]
    kept = {name: seed[name] for name in ("entropy", "spawn_key", "n_children_spawned")}
    state = dict(bits.state)
    return Part("generator", {**kept, **state.pop("state"), **state})


def _generator(
    entropy: Any, spawn_key: Any, n_children_spawned: Any, state: Any, inc: Any, bit_generator: Any,
    has_uint32: Any, uinteger: Any,
) -> np.random.Generator:  # fmt: skip
    require(bit_generator == "PCG64", "a generator is PCG64")
    require(is_count(state, 2**128 - 1) and is_count(inc, 2**128 - 1), "the state of PCG64 has 128 bits")
    require(has_uint32 in (0, 1) and is_count(uinteger, 2**32 - 1), "PCG64 has a spare of 32 bits")
    require(is_count(n_children_spawned, 2**31), "the number of spawned seeds is a count")
    seed = np.random.SeedSequence(entropy, spawn_key=spawn_key, n_children_spawned=n_children_spawned)
    bits = np.random.PCG64(seed)
    words = {"state": int(state), "inc": int(inc)}
    spare = {"has_uint32": int(has_uint32), "uinteger": int(uinteger)}
    whole: Any = {"bit_generator": "PCG64", "state": words, **spare}
    bits.state = whole
    return np.random.Generator(bits)


def _neighbours_part(tree: Any, owner: Any) -> Part:
    is_its_tree = getattr(owner, "_tree", None) is tree and hasattr(owner, "effective_metric_")
    if not is_its_tree:
        raise TypeError(f"a {type(tree).__name__} in {type(owner).__name__} cannot be saved.")
    given = {name: value for name, value in owner.effective_metric_params_.items() if value is not None}
    metric = {"metric": owner.effective_metric_, "metric_params": given}
    rows = owner._fit_X
    if not np.array_equal(np.asarray(tree.data), rows):
        raise TypeError(f"the search tree of {type(owner).__name__} is not of the rows in _fit_X.")
    leaf_size = tree.__getstate__()[LEAF_SIZE_PLACE]
    return Part(
        "neighbours", {"name": type(tree).__name__, "rows": rows, "leaf_size": leaf_size, **metric}
    )


LEAF_SIZE_PLACE = 4
"""Where the state of a search tree of scikit-learn has its leaf size."""


def _neighbours(name: Any, rows: Any, leaf_size: Any, metric: Any, metric_params: Any) -> Any:
    require(name in SEARCH_TREES, "a search tree is a KDTree or a BallTree")
    _check_points(rows, leaf_size)
    require(
        isinstance(metric, str) and isinstance(metric_params, dict), "the metric of a tree has a name"
    )
    for value in metric_params.values():
        numbers = np.asarray(value)
        require(
            numbers.dtype.kind in "biuf" and np.isfinite(numbers).all(), "metric parameters are finite"
        )
    return SEARCH_TREES[name](rows, leaf_size=int(leaf_size), metric=metric, **metric_params)


def _points_part(tree: cKDTree, owner: Any) -> Part:
    return Part("points", {"name": type(tree).__name__, "rows": tree.data, "leaf_size": tree.leafsize})


def _points(name: Any, rows: Any, leaf_size: Any) -> Any:
    _check_points(rows, leaf_size)
    return (ScipyKDTree if name == "KDTree" else cKDTree)(rows, leafsize=int(leaf_size))


def _check_array_part(check: partial[Any], owner: Any) -> Part:
    if check.func is not check_array or check.args:
        raise TypeError(f"{type(owner).__name__} holds a functools.partial, which cannot be saved.")
    return Part("check", dict(check.keywords))


def _check_array(**keywords: Any) -> partial[Any]:
    require(
        set(keywords) <= {"dtype", "ensure_all_finite", "force_all_finite"}, "a check has two settings"
    )
    return partial(check_array, **keywords)


def _request_part(request: MetadataRequest, owner: Any) -> Part:
    # It refers back to its owner, so that a walk would never end.
    return Part("request", {"owner": type(owner).__name__, "asked": requests_of(request)})


def _request(owner: Any, asked: Any) -> MetadataRequest:
    require(isinstance(owner, str) and isinstance(asked, dict), "a request has an owner")
    require(set(asked) <= set(METHODS), "requests are for methods")
    return request_from(owner, asked)


def _check_points(rows: Any, leaf_size: Any) -> None:
    require(is_array(rows, "biuf", 2) and rows.size > 0, "a search tree has rows")
    require(np.isfinite(rows).all(), "the rows of a search tree are finite")
    require(is_count(leaf_size, 2**31) and leaf_size >= 1, "a leaf has at least one row")


WRITERS: dict[Any, Callable[[Any, Any], Part]] = {
    Tree: _tree_part,
    np.random.RandomState: _random_state_part,
    np.random.Generator: _generator_part,
    KDTree: _neighbours_part,
    BallTree: _neighbours_part,
    cKDTree: _points_part,
    partial: _check_array_part,
    MetadataRequest: _request_part,
}
READERS: dict[str, Callable[..., Any]] = {
    "tree": _tree,
    "sparse": _sparse,
    "random state": _random_state,
    "generator": _generator,
    "neighbours": _neighbours,
    "points": _points,
    "check": _check_array,
    "request": _request,
}
