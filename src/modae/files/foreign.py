"""Objects of other libraries: written and read by skops, with what is ours inside taken out.

Four things in a member are not for skops, and a :class:`Placeholder` goes into the file instead: our
own estimators, which are stored as ours; search trees of nearest neighbours, which are built again;
requests for metadata, which refer back to their owner; and pandas.NA. A member is as safe as skops
makes it: classes are made only if skops trusts them, or :func:`trusted_names`, or the user. What numbers
are in them nobody checks, but for the branches of trees.
"""

import json
import pickle
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn import metrics, model_selection
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.metadata_routing import MetadataRequest

from modae.files.archive import ModelFormatError, as_json, check_stored, require, write_entries
from modae.files.rules import layout_for
from modae.utils import extras

skops_io = extras.require("skops.io", extra="io", purpose="Members of other libraries in files")

SCHEMA = "schema.json"

TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
BITSET_WORDS = 8  # of 32 bits: one for each of 256 categories

OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "NAdam", "RAdam", "RMSprop", "SGD")

# Beside what skops trusts: parts of fitted estimators and of networks, which only compute.
EXTRA = {
    "builtins": "frozenset range",
    "functools": "partial",
    "modae.files.foreign": "Placeholder",
    "numpy": "dtype",
    "scipy.sparse._csc": "csc_array csc_matrix",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose._column_transformer": "make_column_selector",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression",
    "sklearn.metrics._scorer": "_PassthroughScorer _Scorer",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.utils._bunch": "Bunch",
    "sklearn.utils.validation": "check_array",
    "torch.nn.modules.activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU "
        "ReLU ReLU6 RReLU SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"
    ),
    "torch.nn.modules.linear": "Identity",
    **{f"torch.optim.{name.lower()}": name for name in OPTIMIZERS},
}
# The public scores and splitters of scikit-learn, by the ends of their names.
PUBLIC = {metrics: ("_score", "_error", "_loss", "_corrcoef"), model_selection: ("Fold", "Split", "Out")}


@cache
def trusted_names() -> frozenset[str]:
    """The names of the lists above, and of trees."""
    listed = {f"{module}.{name}" for module, names in EXTRA.items() for name in names.split()}
    for module, ends in PUBLIC.items():
        public = [getattr(module, name) for name in module.__all__ if name.endswith(ends)]
        listed |= {f"{each.__module__}.{each.__name__}" for each in public}
    return frozenset({*listed, TREE, PREDICTOR})


class Placeholder:
    """Stands in a file for an object that is made again in another way.

    Files know this class by the name of its module: both must stay.
    """

    def __init__(self, kind: str, /, **content: Any) -> None:
        self.kind, self.content = kind, content


def dump_member(member: Any, keep: Callable[[Any], int]) -> bytes:
    """Write an object by skops; ``keep`` is given what is ours inside, and gives back its number.

    Raises
    ------
    TypeError
        For what could not be loaded again, such as a lambda.
    """
    owners: dict[int, Any] = {}

    def without_ours(node: Any) -> Any:
        if layout_for(type(node)) is not None:
            return Placeholder("ours", at=keep(node))
        if isinstance(node, MetadataRequest):
            owner = node.owner if isinstance(node.owner, str) else type(node.owner).__name__
            asked = {method: getattr(each, "requests", None) for method, each in vars(node).items()}
            asked = {method: dict(wanted) for method, wanted in asked.items() if wanted}
            return Placeholder("request", owner=owner, asked=asked)
        if type(node).__name__ == "NAType":
            return Placeholder("NA")
        if isinstance(node, (KDTree, BallTree)) and id(node) in owners:
            return _search_tree(node, owners[id(node)])
        if isinstance(node, BaseEstimator) and hasattr(node, "effective_metric_"):
            owners.update({id(value): node for value in vars(node).values()})
        for key in node if isinstance(node, dict) else ():
            if isinstance(key, bool) or not isinstance(key, (str, int, float, np.number)):
                raise TypeError(f"a dict with the key {key!r:.40}, which is no string or number")
        return node

    try:
        return _canonical(skops_io.dumps(replaced(member, without_ours)))
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as reason:
        raise TypeError(
            f"{type(member).__name__} cannot be saved: {reason}. Classes and functions are stored by "
            "name: they must be defined at the top level of a module (no lambda, no inner function)."
        ) from reason


def load_member(blob: bytes, restore: Callable[[int], Any], trusted: frozenset[str]) -> Any:
    """Read an object that :func:`dump_member` wrote; ``restore`` gives what is ours by its number."""
    with ZipFile(BytesIO(blob)) as archive:
        check_stored(archive)
    needed = set(skops_io.get_untrusted_types(data=blob))
    strange = sorted(needed - trusted - trusted_names())
    require(
        not strange,
        f"The file needs {', '.join(strange)}, which modae does not know. If you trust whoever made the "
        f"file, and this code, load it with trusted={strange}.",
    )
    try:
        graph = skops_io.loads(blob, trusted=sorted(needed))
    except (ImportError, AttributeError) as reason:
        package = (reason.name or "").partition(".")[0]
        if isinstance(reason, ModuleNotFoundError) and find_spec(package) is None:
            remedy = f"The file needs the package {package}: pip install {package}"
            raise extras.MissingExtraError(remedy) from reason
        raise ModelFormatError(
            f"The file needs something that the installed version of its library lacks ({reason})."
        ) from reason
    known: set[int] = set()

    def with_ours(node: Any) -> Any:
        if type(node) is not Placeholder:
            check_trees(node, known)
            return node
        kind, content = node.kind, node.content
        if kind == "ours":
            return restore(content["at"])
        if kind == "NA":
            return extras.require("pandas", extra="cli", purpose="A step that fills pandas.NA").NA
        if kind != "request":
            return {"KDTree": KDTree, "BallTree": BallTree}[kind](content.pop("rows"), **content)
        request = MetadataRequest(owner=content["owner"])
        for method, wanted in content["asked"].items():
            for name, alias in wanted.items():
                getattr(request, method).add_request(param=name, alias=alias)
        return request

    return replaced(graph, with_ours)


def _search_tree(tree: Any, owner: Any) -> Placeholder:
    """What is needed to build it again; a tree does not know its metric by name, but its owner does."""
    data = np.asarray(tree.data)
    arrays = (each for each in vars(owner).values() if isinstance(each, np.ndarray))
    rows = next((each for each in arrays if np.shares_memory(each, data)), data)  # stored only once
    options = {key: each for key, each in owner.effective_metric_params_.items() if each is not None}
    options |= {"metric": owner.effective_metric_, "leaf_size": owner.leaf_size}
    return Placeholder(type(tree).__name__, rows=rows, **options)


def check_trees(owner: Any, known: set[int]) -> None:
    """Keep the branches of scikit-learn's trees inside: compiled code does not look where they lead.

    skops documents that a file with wrong branches makes ``predict`` read outside of its arrays. Every
    child must be a later node of the same tree, and every feature a column of the rows that the owner
    of the tree looks at. Owners come before what they hold; ``known`` are trees that had one.
    """
    if _name(owner) in (TREE, PREDICTOR):
        require(id(owner) in known, "a tree has no owner that knows its columns")
    held = getattr(owner, "__dict__", {})
    members = held.get("estimators_", ())
    members = members.ravel() if isinstance(members, np.ndarray) else members
    found: list[Any] = [getattr(each, "__dict__", {}).get("tree_") for each in (owner, *members)]
    found += [predictor for each in held.get("_predictors", ()) for predictor in each]
    for tree in [each for each in found if _name(each) in (TREE, PREDICTOR)]:
        columns: Any = held.get("n_features_in_")
        require(isinstance(columns, (int, np.integer)), "a tree does not know its number of columns")
        if _name(tree) == TREE:
            require(0 < tree.node_count <= tree.capacity, "a tree has other sizes than its nodes")
            left, right, features = tree.children_left, tree.children_right, tree.feature
            leaves, columns, deepest = left == -1, min(columns, tree.n_features), tree.max_depth
        else:
            nodes, bitsets = tree.nodes, tree.raw_left_cat_bitsets
            left, right, features = nodes["left"], nodes["right"], nodes["feature_idx"]
            leaves, deepest = nodes["is_leaf"] > 0, len(nodes)
            fits = bitsets.ndim == 2 and bitsets.shape[1] == BITSET_WORDS
            places = nodes["bitset_idx"][nodes["is_categorical"] > 0]
            require(fits and (places < len(bitsets)).all(), "a category is not in the tree")
        inner = np.flatnonzero(~leaves)
        for children in (left[inner], right[inner]):
            inside = (children > inner) & (children < len(left))
            require(inside.all(), "a branch of a tree leads nowhere")
        inside = (features[inner] >= 0) & (features[inner] < columns)
        require(inside.all(), "a tree reads a column that is not there")
        level, depth = np.zeros(1, dtype=int), 0
        while len(level := level[~leaves[level]]):
            level, depth = np.unique([left[level], right[level]]), depth + 1
        require(depth <= deepest <= len(left), "a tree has another depth")
        known.add(id(tree))


def _name(node: Any) -> str:
    return f"{type(node).__module__}.{type(node).__qualname__}"


def replaced(graph: Any, replace: Callable[[Any], Any]) -> Any:
    """A copy of a graph of objects in which ``replace(each)`` stands for each; arrays are not copied.

    It is the copy that pickle makes, in memory: what is shared stays shared.

    Examples
    --------
    >>> from modae.files.foreign import replaced
    >>> replaced([1, (2, 3)], lambda each: "three" if each == 3 else each)
    [1, (2, 'three')]
    """
    copy, buffers, new = BytesIO(), [], []  # type: ignore[var-annotated]

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            found = replace(obj)
            if found is obj or isinstance(found, Placeholder):  # which shares arrays with its neighbours
                return None if found is obj else found
            new.append(found)
            return len(new) - 1

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Any:
            return pid if isinstance(pid, Placeholder) else new[pid]

    Pickler(copy, protocol=5, buffer_callback=buffers.append).dump(graph)
    copy.seek(0)
    return Unpickler(copy, buffers=buffers).load()


def _canonical(blob: bytes) -> bytes:
    """The same archive with nodes and entries numbered in order, not by their addresses in memory."""
    with ZipFile(BytesIO(blob)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    ids: dict[int, int] = {}
    names: dict[str, str] = {}

    def renumbered(node: dict[str, Any]) -> dict[str, Any]:
        if isinstance(node.get("__id__"), int):
            number = node.pop("__id__")
            if node.get("__loader__") != "JsonNode":  # whether plain values are one object is chance
                node["__id__"] = ids.setdefault(number, len(ids) + 1)
        name = node.get("file")
        if isinstance(name, str) and name in entries:
            node["file"] = names.setdefault(name, f"{len(names) + 1}.{name.rpartition('.')[2]}")
        return node

    schema = json.loads(entries.pop(SCHEMA), object_hook=renumbered)
    for name, content in entries.items():
        if b"'descr': [" in content[:128]:  # records: between the fields is whatever was in memory
            records = np.load(BytesIO(content))
            clean = np.zeros(records.shape, records.dtype)
            for each in records.dtype.names:
                clean[each] = records[each]
            entries[name] = content[: -records.nbytes] + clean.tobytes()
    renamed = {names.get(name, name): content for name, content in entries.items()}
    target = BytesIO()
    write_entries(target, {name: [each] for name, each in ({SCHEMA: as_json(schema)} | renamed).items()})
    return target.getvalue()
