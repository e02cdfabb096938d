"""Whatever is in a blob: a model that can be used, or one error, and never code from the blob."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from files.mutants import SCHEMA, Worker, entries_of, mutant, nodes_of, zipped
from modae.files.errors import ModelFormatError, UntrustedError
from modae.files.foreign import dump_foreign, load_foreign

N_MUTANTS = 48
"""Of each model. A bigger run raises it: the seeds go on."""

PATIENCE = 60.0
"""Seconds of the clock, on a busy machine, before a worker counts as hung."""

MOST_SECONDS = 2.0
"""Of the processor, for one mutant."""

X, y = load_iris(return_X_y=True)
X, y = X[::3].copy(), y[::3].copy()
WITH_CATEGORIES = np.column_stack([X[:, :3], np.round(X[:, 3] * 2)])

MODELS = {
    "forest": lambda: RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(
        X, y
    ),
    "histogram": lambda: HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=3, categorical_features=[3], random_state=0
    ).fit(WITH_CATEGORIES, y),
    "svc": lambda: SVC().fit(X, y),
    "sparse svc": lambda: SVC(kernel="poly").fit(csr_array(X), y),
    "kd tree": lambda: KNeighborsClassifier(3, algorithm="kd_tree").fit(X, y),
    "brute": lambda: KNeighborsClassifier(3, algorithm="brute").fit(X, y),
    "logistic": lambda: LogisticRegression(max_iter=500).fit(X, y),
    "mlp": lambda: MLPClassifier((4,), max_iter=500, tol=1e-2, random_state=0).fit(X, y),
    "pipeline": lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2), SVC(kernel="linear")).fit(
        X, y
    ),
}


def dumped(model: Any) -> bytes:
    return dump_foreign(model, is_ours=lambda node: False, keep=lambda node: 0)


def loaded(blob: bytes) -> Any:
    return load_foreign(blob, restore=lambda index: None, trusted=frozenset())


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("name", MODELS)
def test_a_mutant_is_refused_or_can_be_used(name: str, worker: Worker) -> None:
    blob = dumped(MODELS[name]())
    assert worker.answer(blob, X.shape[1], PATIENCE).startswith("opened")
    answers = []
    for seed in range(N_MUTANTS):
        damaged, story = mutant(blob, seed)
        answer = worker.answer(damaged, X.shape[1], PATIENCE)
        assert answer.startswith(("refused", "opened")), f"{name}, {story}: {answer}"
        went, seconds = answer.split()
        assert float(seconds) < MOST_SECONDS, f"{name}, {story}: {answer}"
        answers.append(went)
    assert answers.count("refused") > N_MUTANTS / 5  # or the mutations do nothing


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99, 0.9999])
def test_a_truncated_blob_is_refused(part: float) -> None:
    blob = dumped(MODELS["logistic"]())
    with pytest.raises(ModelFormatError):
        loaded(blob[: int(part * len(blob))])


def test_a_pickle_with_another_name_is_refused() -> None:
    with pytest.raises(ModelFormatError):
        loaded(pickle.dumps(MODELS["logistic"]()))


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/x", "x.pkl", "01.npy", "1.npz", "schema.json2", "1.npy/"]
)
def test_an_entry_that_has_no_place_is_refused(name: str) -> None:
    entries = entries_of(dumped(MODELS["logistic"]()))
    with pytest.raises(ModelFormatError, match="no place"):
        loaded(zipped({**entries, name: entries["1.npy"]}))


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    entries = entries_of(dumped(MODELS["logistic"]()))
    head = entries["1.npy"][:128]
    bomb = zipped({**entries, "1.npy": head + bytes(10**8)}, ZIP_DEFLATED)
    assert len(bomb) < 10**6
    with pytest.raises(ModelFormatError, match=r"smaller than its content|compressed"):
        loaded(bomb)


def test_an_array_of_objects_is_refused() -> None:
    entries = entries_of(dumped(MODELS["logistic"]()))
    head = entries["1.npy"].replace(b"'<i8'", b"'|O' ").replace(b"'<f8'", b"'|O' ")
    with pytest.raises(ModelFormatError, match="no numbers and no text"):
        loaded(zipped({**entries, "1.npy": head}))


def test_shared_nodes_that_unfold_without_end_are_refused() -> None:
    """Each list holds the one before twice: thirty of them would be a billion nodes."""
    inner = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    node: dict[str, Any] = {**inner, "__id__": 1}
    for number in range(2, 40):
        node = {**inner, "__id__": number, "content": [node, {"__id__": number - 1}]}
    schema = {**node, "protocol": 2, "_skops_version": "0"}
    with pytest.raises(ModelFormatError, match="unfold"):
        loaded(zipped({SCHEMA: json.dumps(schema).encode()}))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ModelFormatError):
        loaded(zipped({SCHEMA: b'{"a":' * 100_000}))


LOADERS = (
    "FunctionNode", "TypeNode", "ObjectNode", "ConstructorFromReduceNode", "LossNode", "TreeNode",
    "ListNode", "TupleNode", "SetNode", "DictNode", "DefaultDictNode", "NdArrayNode", "RandomStateNode",
    "RandomGeneratorNode", "MethodNode", "PartialNode", "OperatorFuncNode", "JsonNode",
    "SparseMatrixNode", "BytesNode", "DTypeNode", "MaskedArrayNode", "SliceNode", "CachedNode",
)  # fmt: skip
CALLS = (
    "os.system",
    "posix.system",
    "builtins.eval",
    "builtins.exec",
    "subprocess.Popen",
    "operator.methodcaller",
)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, True, "2"])
@pytest.mark.parametrize("loader", LOADERS)
def test_no_node_calls_what_a_blob_names(loader: str, protocol: Any, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for call in CALLS:
        module, name = call.rsplit(".", 1)
        code = (
            f"touch {canary}"
            if "eval" not in call and "exec" not in call
            else f"open({str(canary)!r}, 'w')"
        )
        word = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True}
        argument = {**word, "content": json.dumps(code)}
        items = {"__module__": "builtins", "content": [argument], "__id__": 8}
        arguments = {**items, "__class__": "tuple", "__loader__": "TupleNode"}
        function = {"__class__": name, "__module__": module, "__loader__": "FunctionNode", "__id__": 7}
        inside = {
            "func": function,
            "args": arguments,
            "kwds": argument,
            "namespace": argument,
            "obj": argument,
        }
        contents: tuple[Any, ...] = (arguments, [argument], inside, {code: argument})
        for content in contents:
            evil = {
                **function,
                "__loader__": loader,
                "content": content,
                "__id__": 5,
                "attrs": arguments,
            }
            evil |= {"__reduce__": {"args": arguments}, "key_types": {**items, "content": [function]}}
            for extra in (
                set(),
                {"attrs", "__reduce__", "key_types"},
                {"attrs", "__reduce__"},
                {"attrs", "key_types"},
            ):
                node = {key: value for key, value in evil.items() if key not in extra}
                with pytest.raises(ModelFormatError):
                    loaded(zipped({SCHEMA: json.dumps({**node, "protocol": protocol}).encode()}))
    assert not canary.exists()


def test_a_key_is_not_made_by_a_function_of_the_blobs_choice(tmp_path: Path) -> None:
    entries = entries_of(dumped({"a": 1}))
    canary = tmp_path / "canary"
    schema = json.loads(
        entries[SCHEMA].replace(b'"a"', json.dumps(f"open({str(canary)!r}, 'w')").encode())
    )
    for node in nodes_of(schema):
        if node["__loader__"] == "TypeNode":
            node["__class__"] = "eval"
    with pytest.raises(UntrustedError, match=r"builtins\.eval"):
        loaded(zipped({SCHEMA: json.dumps(schema).encode()}))
    assert not canary.exists()


def test_an_attribute_does_not_hide_a_method() -> None:
    entries = entries_of(dumped(MODELS["svc"]()))
    schema = json.loads(entries[SCHEMA].replace(b'"fit_status_":', b'"_impl":'))
    with pytest.raises(ModelFormatError, match="_impl"):
        loaded(zipped({**entries, SCHEMA: json.dumps(schema).encode()}))


def _extra_column(model: Any) -> None:
    model.estimators_ = np.column_stack([model.estimators_, model.estimators_[:, :1]])


def _foreign_tree(model: Any) -> None:
    model.estimators_[0] = RandomForestClassifier(1, random_state=0).fit(X[:, :3], y).estimators_[0]


def _beyond_the_bits(model: Any) -> None:
    for predictor in np.ravel(model._predictors):
        predictor.raw_left_cat_bitsets = predictor.raw_left_cat_bitsets[:0]


def _no_categories(model: Any) -> None:
    model._bin_mapper.is_categorical_[:] = 0


def _poke(attribute: str, place: Any, value: Any) -> Any:
    def poke(model: Any) -> None:
        getattr(model, attribute)[place] = value

    return poke


def _set(attribute: str, value: Any) -> Any:
    return lambda model: setattr(model, attribute, value)


@pytest.mark.parametrize(
    ("name", "damage", "rule"),
    [
        ("forest", _foreign_tree, "trees have the features"),
        ("boosting", _extra_column, "as many columns as the first guess"),
        ("histogram", _beyond_the_bits, "has its bits"),
        ("histogram", _no_categories, "on a categorical feature"),
        ("histogram", _set("_n_features", 3), "n_features_in_"),
        ("svc", _poke("_n_support", 0, 99), "sums to the support vectors"),
        ("svc", _poke("support_", 0, 10**6), "in the rows"),
        ("svc", _set("_intercept_", np.zeros(2)), "intercept for each pair"),
        ("svc", _set("_dual_coef_", np.zeros((2, 3))), "fit the support vectors"),
        ("svc", _set("_probA", np.zeros(1)), "for each pair"),
        ("sparse svc", _set("_dual_coef_", csr_array((2, 25))), "fit the support vectors"),
        ("sparse svc", _set("_sparse", False), "_sparse says"),
        ("brute", _poke("_y", 0, 3), "_y is in the classes"),
        ("brute", _set("n_samples_fit_", 10**6), "number of rows"),
        ("brute", _set("n_neighbors", 10**6), "n_neighbors"),
        ("brute", _set("n_jobs", 10**6), "n_jobs"),
        ("logistic", _set("classes_", np.array([0, 2, 1])), "sorted"),
        ("logistic", _set("coef_", np.zeros((3, 5))), "4 columns"),
        ("logistic", _set("intercept_", np.zeros(2)), "3 numbers"),
        ("mlp", _poke("classes_", 0, 1), "sorted"),
    ],
)
def test_a_wrong_state_is_not_even_saved(name: str, damage: Any, rule: str) -> None:
    model = MODELS[name]()
    damage(model)
    with pytest.raises(ValueError, match=rule):
        dumped(model)


@pytest.mark.parametrize("last", [0, 43, 45])
def test_pointers_of_sparse_rows_go_to_their_end(last: int) -> None:
    """A last pointer of 0 makes scipy's own check look at none of them."""
    entries = entries_of(dumped(MODELS["sparse svc"]()))
    (name,) = (name for name in entries if name != SCHEMA and _ends_with(entries[name], 44))
    pointers = np.load(BytesIO(entries[name]))
    pointers[-1] = last
    target = BytesIO()
    np.save(target, pointers)
    with pytest.raises(ModelFormatError, match="indptr goes up to the end"):
        loaded(zipped({**entries, name: target.getvalue()}))


def _ends_with(data: bytes, number: int) -> bool:
    array = np.load(BytesIO(data))
    return bool(array.ndim == 1 and array.size and array.dtype == np.int32 and array[-1] == number)


def test_an_expression_to_evaluate_is_refused() -> None:
    search = GridSearchCV(SVC(), {"C": [1]}, pre_dispatch="9**9**9*n_jobs")
    with pytest.raises(ValueError, match="pre_dispatch"):
        dumped(search)
