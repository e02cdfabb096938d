"""Hand-made models whose wrong state reaches compiled code, or takes all memory, if nobody looks.

Each was found by reading what that code does with its arguments; random mutants hardly ever hit these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, SVR

from files.mutants import Worker
from modae.files.errors import ModelFormatError
from modae.files.foreign import load_foreign
from modae.files.foreign_blob import write_blob
from modae.files.foreign_graph import rewritten
from modae.files.foreign_parts import as_part

PATIENCE = 60.0
"""Seconds of the clock, on a busy machine, before a worker counts as hung."""

X, y = load_iris(return_X_y=True)
X, y = X[::3].copy(), y[::3].copy()
HUGE = 2**31 - 1


def unchecked(model: Any, change: Callable[[Any], None]) -> bytes:
    """The blob of a model that somebody changed after all checks."""
    graph = rewritten(model, as_part)
    change(graph)
    return write_blob(graph)


def projected() -> Any:
    return make_pipeline(SparseRandomProjection(4, random_state=0), Ridge()).fit(X, y)


def pointers(*last: int | None) -> Callable[[Any], None]:
    """The last pointers become others; None stays."""

    def change(graph: Any) -> None:
        content = graph.steps[0][1].components_.content
        ends = content["indptr"].copy()
        for place, end in zip(range(-len(last), 0), last, strict=True):
            ends[place] = ends[place] if end is None else end
        content["indptr"] = ends

    return change


def one_hot() -> Any:
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()).fit(np.round(X), y)


def rare() -> Any:
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=9, drop="first")
    return make_pipeline(encoder, Ridge()).fit(np.round(X), y)


def set_on(step: int | None = None, **attributes: Any) -> Callable[[Any], None]:
    def change(graph: Any) -> None:
        vars(graph if step is None else graph.steps[step][1]).update(attributes)

    return change


def wrong_group(graph: Any) -> None:
    groups = graph.steps[0][1]._default_to_infrequent_mappings
    next(group for group in groups if group is not None)[0] = 10**6


def without_classes(graph: Any) -> None:
    """The number of classes must not be taken from what is missing."""
    del graph.classes_
    graph._n_support = np.array([2**30, 2**30], dtype=np.int32)


def function_as_kernel(graph: Any) -> None:
    """np.exp(rows, out) is a kernel with any number of columns."""
    graph.kernel = np.exp
    graph._BaseLibSVM__Xfit = np.zeros((1, 4))
    graph.shape_fit_, graph.support_ = (HUGE, 4), np.full_like(graph.support_, HUGE - 1)


def wide(graph: Any) -> None:
    """A row of zeros with as many features as the file says takes memory; here only little."""
    graph.n_features_in_ = graph.init_.n_features_in_ = 2 * 10**7
    for tree in graph.estimators_.ravel():
        tree.n_features_in_ = tree.tree_.content["n_features"] = 2 * 10**7


def knn() -> Any:
    return KNeighborsClassifier(3, algorithm="brute").fit(X, y)


def boosted() -> Any:
    return GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(X, y)


def through_exp() -> Any:
    return make_pipeline(FunctionTransformer(np.exp), Ridge()).fit(X, y)


ATTACKS: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "sparse, differences overflow": (projected, pointers(-(2**31))),
    "sparse, last pointer 0": (projected, pointers(0)),
    "sparse, falling pointers": (projected, pointers(10**6, 1)),
    "sparse, differences overflow twice": (projected, pointers(HUGE, -(2**31), -1, None)),
    "one-hot, fewer columns": (one_hot, set_on(0, _n_features_outs=[1, 1, 1, 1])),
    "one-hot, dropped category": (
        rare,
        set_on(0, _drop_idx_after_grouping=np.array([9, 9, 9, 9], object)),
    ),
    "one-hot, group": (rare, wrong_group),
    "svc, function as kernel": (lambda: SVC().fit(X, y), function_as_kernel),
    "svc, no classes": (lambda: SVC().fit(X, y > 0), without_classes),
    "sparse svc, no classes": (lambda: SVC().fit(csr_array(X), y > 0), without_classes),
    "svr, counts": (
        lambda: SVR().fit(csr_array(X), y),
        set_on(_n_support=np.array([2**30, 0], np.int32)),
    ),
    "boosting, features": (boosted, wide),
    "bagging, classes": (lambda: BaggingClassifier(n_estimators=2).fit(X, y), set_on(n_classes_=HUGE)),
    "dummy, outputs": (lambda: DummyRegressor().fit(X, y), set_on(n_outputs_=HUGE)),
    "function, out": (through_exp, set_on(0, kw_args={"out": np.zeros((1, 4))})),
    "knn, metric": (
        knn,
        set_on(effective_metric_="mahalanobis", effective_metric_params_={"VI": np.ones((1, 1))}),
    ),
    "histogram, fewer columns": (
        lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3).fit(X, y),
        set_on(_preprocessor=PCA(1).fit(X)),
    ),
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hand_made_model_is_refused(name: str, worker: Worker) -> None:
    make, change = ATTACKS[name]
    honest, blob = unchecked(make(), lambda graph: None), unchecked(make(), change)
    assert worker.answer(honest, X.shape[1], PATIENCE).startswith("opened")
    assert worker.answer(blob, X.shape[1], PATIENCE).startswith("refused")
    with pytest.raises(ModelFormatError):  # before it predicts for the first time
        load_foreign(blob, restore=lambda index: None, trusted=frozenset())
