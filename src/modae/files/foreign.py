"""Objects of other libraries: written and read by skops, with what is ours inside taken out.

Three things in a member are not for skops, and a :class:`Placeholder` goes into the file instead: our
own estimators, which are stored as ours; search trees of nearest neighbours, which are built again; and
requests for metadata, which refer back to their owner. A member is as safe as skops makes it: classes
are made only if skops trusts them, or the list below, or the user. What numbers are in them nobody
checks, but for the branches of trees (:mod:`modae.files.trees`).
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.metadata_routing import MetadataRequest

from modae.files.archive import check_entries, write_entries
from modae.files.registry import import_error, layout_for, untrusted
from modae.files.requests import request_from, requests_of
from modae.files.trees import PREDICTOR, TREE, TreeCheck
from modae.utils.extras import require as require_extra

skops_io = require_extra("skops.io", extra="io", purpose="Members of other libraries in files")

SCHEMA = "schema.json"
NAMES = r"schema\.json|[0-9]{1,20}\.(npy|npz)|[0-9a-f-]{1,36}\.bin"

# Beside what skops trusts: parts of fitted estimators, scorers and splitters, which only compute.
EXTRA = {
    "functools": "partial",
    "modae.files.foreign": "Placeholder",
    "numpy": "dtype",
    "scipy.sparse._csc": "csc_array csc_matrix",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose._column_transformer": "make_column_selector",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression",
    "sklearn.metrics._classification": (
        "accuracy_score balanced_accuracy_score brier_score_loss f1_score jaccard_score log_loss "
        "matthews_corrcoef precision_score recall_score"
    ),
    "sklearn.metrics._ranking": "average_precision_score roc_auc_score",
    "sklearn.metrics._regression": (
        "explained_variance_score max_error mean_absolute_error mean_squared_error r2_score "
        "mean_squared_log_error median_absolute_error root_mean_squared_error"
    ),
    "sklearn.metrics._scorer": "_PassthroughScorer _Scorer",
    "sklearn.model_selection._split": (
        "GroupKFold KFold LeaveOneOut RepeatedKFold RepeatedStratifiedKFold ShuffleSplit "
        "StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit"
    ),
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.utils._bunch": "Bunch",
    "sklearn.utils.validation": "check_array",
}


@cache
def trusted_names() -> frozenset[str]:
    """The names of the list above, and those of the trees that are checked."""
    listed = (f"{module}.{name}" for module, names in EXTRA.items() for name in names.split())
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
            return Placeholder("request", owner=owner, asked=requests_of(node))
        if isinstance(node, (KDTree, BallTree)) and id(node) in owners:
            return _search_tree(node, owners[id(node)])
        if isinstance(node, BaseEstimator) and hasattr(node, "effective_metric_"):
            owners.update({id(value): node for value in vars(node).values()})
        if isinstance(node, dict):
            _check_keys(node)
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
        check_entries(archive, len(blob), NAMES)
    needed = set(skops_io.get_untrusted_types(data=blob))
    if needed - trusted - trusted_names():
        raise untrusted(needed - trusted - trusted_names())
    try:
        graph = skops_io.loads(blob, trusted=sorted(needed))
    except (ImportError, AttributeError) as reason:
        raise import_error(reason) from reason
    check = TreeCheck()

    def with_ours(node: Any) -> Any:
        if type(node) is Placeholder:
            return _restored(node, restore)
        check(node)
        return node

    return replaced(graph, with_ours)


def _restored(placeholder: Placeholder, restore: Callable[[int], Any]) -> Any:
    kind, content = placeholder.kind, placeholder.content
    if kind == "ours":
        return restore(content["at"])
    if kind == "request":
        return request_from(**content)
    return {"KDTree": KDTree, "BallTree": BallTree}[kind](content.pop("rows"), **content)


def _search_tree(tree: Any, owner: Any) -> Placeholder:
    """What is needed to build it again; a tree does not know its metric by name, but its owner does."""
    data = np.asarray(tree.data)
    arrays = (each for each in vars(owner).values() if isinstance(each, np.ndarray))
    rows = next((each for each in arrays if np.shares_memory(each, data)), data)  # stored only once
    options = {
        name: value for name, value in owner.effective_metric_params_.items() if value is not None
    }
    options |= {"metric": owner.effective_metric_, "leaf_size": owner.leaf_size}
    return Placeholder(type(tree).__name__, rows=rows, **options)


def _check_keys(node: dict[Any, Any]) -> None:
    for key in node:
        if isinstance(key, bool) or not isinstance(key, (str, int, float, np.number)):
            raise TypeError(f"a dict with the key {key!r:.40}, which is neither a string nor a number")


def replaced(graph: Any, replace: Callable[[Any], Any]) -> Any:
    """A copy of a graph of objects in which ``replace(each)`` stands for each; arrays are not copied.

    It is the copy that pickle makes, in memory: what is shared stays shared.

    Examples
    --------
    >>> from modae.files.foreign import replaced
    >>> replaced([1, (2, 3)], lambda each: "three" if each == 3 else each)
    [1, (2, 'three')]
    """
    copy, buffers = BytesIO(), []  # type: ignore[var-annotated]
    pickler = _Pickler(copy, protocol=5, buffer_callback=buffers.append)
    pickler.replace, pickler.new = replace, []
    pickler.dump(graph)
    copy.seek(0)
    unpickler = _Unpickler(copy, buffers=buffers)
    unpickler.new = pickler.new
    return unpickler.load()


class _Pickler(pickle.Pickler):
    replace: Callable[[Any], Any]
    new: list[Any]

    def persistent_id(self, obj: Any) -> Any:
        new = self.replace(obj)
        if new is obj or isinstance(new, Placeholder):  # which shares arrays with its neighbours
            return None if new is obj else new
        self.new.append(new)
        return len(self.new) - 1


class _Unpickler(pickle.Unpickler):
    new: list[Any]

    def persistent_load(self, pid: Any) -> Any:
        return pid if isinstance(pid, Placeholder) else self.new[pid]


def _canonical(blob: bytes) -> bytes:
    """The same archive with nodes and entries numbered in order, not by their addresses in memory."""
    with ZipFile(BytesIO(blob)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries.pop(SCHEMA))
    ids: dict[int, int] = {}
    names: dict[str, str] = {}

    def renumber(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("__id__"), int):
                number = node.pop("__id__")
                if node.get("__loader__") != "JsonNode":  # whether plain values are one object is chance
                    node["__id__"] = ids.setdefault(number, len(ids) + 1)
            name = node.get("file")
            if isinstance(name, str) and name in entries:
                ending = name.rpartition(".")[2]
                node["file"] = names.setdefault(name, f"{len(names) + 1}.{ending}")
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            renumber(child)

    renumber(schema)
    target = BytesIO()
    renamed = {names.get(name, name): _without_padding(content) for name, content in entries.items()}
    write_entries(target, {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **renamed})
    return target.getvalue()


def _without_padding(content: bytes) -> bytes:
    """An array of records with zeros between the fields, where otherwise is whatever was in memory."""
    if b"'descr': [" not in content[:128]:
        return content
    records = np.load(BytesIO(content))
    padding = np.ones(records.dtype.itemsize, dtype=bool)
    for field, offset, *_ in records.dtype.fields.values():
        padding[offset : offset + field.itemsize] = False
    start = len(content) - records.nbytes
    data = np.frombuffer(content[start:], dtype=np.uint8).reshape(-1, len(padding)).copy()
    data[:, padding] = 0
    return content[:start] + data.tobytes()
