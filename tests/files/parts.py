"""Small models of every kind for tests of files, and a comparison that misses nothing."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType

import numpy as np
import pandas as pd
import polars as pl
from benchmarks.damaged_files import entries_of, zipped
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR

import modae
from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    LinearModularRegressor,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    ModularRegressorCV,
    NearestNeighborClassifier,
    NearestNeighborRegressor,
)
from modae.files.archive import HEADER

N_FEATURES = 8

PLAIN = (int, str, bytes, type(None), np.generic, np.dtype, type, FunctionType, np.ufunc)

CLASSIFIERS = {
    "nearest": NearestNeighborClassifier(),
    "knn": KNeighborsClassifier(3),
    "knn-tree": KNeighborsClassifier(3, algorithm="ball_tree", weights="distance"),
    "logistic": LogisticRegression(),
    "svm": SVC(),
    "svm-linear": SVC(kernel="linear"),
    "forest": RandomForestClassifier(2, max_depth=1),
    "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=1),
    "hist-boosting": HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4),
}

REGRESSORS = {
    "nearest": NearestNeighborRegressor(),
    "knn": KNeighborsRegressor(3),
    "ridge": Ridge(),
    "svm": SVR(),
    "forest": RandomForestRegressor(2, max_depth=1),
    "boosting": GradientBoostingRegressor(n_estimators=2, max_depth=1),
    "hist-boosting": HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=4),
}


def rows(n_rows=48, n_features=N_FEATURES, seed=0):
    """Rows whose columns have different spreads."""
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)) * np.linspace(
        2.0, 0.5, n_features
    )


X = rows()
LABELS = np.argmax(X[:, :3], axis=1)
TARGET = X[:, 0] - 2.0 * X[:, 1]
TARGETS = X[:, :3] @ np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]) + X[:, 3:6]


def extractor(**params):
    return LinearModularAutoencoder(**{"n_modules": 2, "n_components": 2, "random_state": 0, **params})


def classifier(member=None, **params):
    return ModularClassifier(extractor(), member, **{"random_state": 0, **params})


def regressor(member=None, **params):
    return ModularRegressor(extractor(), member, **{"random_state": 0, **params})


def unfitted():
    """One of every public class, with parameters that are not the defaults."""
    return {
        "autoencoder": extractor(diversity=0.3, solver="backfitting"),
        "bagging": BaggingAutoencoder(3, 2, random_state=0, n_jobs=2),
        "linear-regressor": LinearModularRegressor(3, 1, 0.4, random_state=0),
        "classifier": classifier(voting="soft", n_jobs=2),
        "search": ModularClassifierCV(extractor(), None, diversities=[0.2, 0.6], cv=2, random_state=0),
        "regressor-search": ModularRegressorCV(extractor(), None, diversities=[0.5], cv=2),
        "regressor": regressor(aggregate="median", calibrate=0.3),
        "nearest-classifier": NearestNeighborClassifier(backend="brute", n_jobs=2),
        "nearest-regressor": NearestNeighborRegressor(backend="tree"),
    }


def fitted(model, features=X):
    """A model of :func:`unfitted`, fitted with what it needs."""
    if isinstance(model, LinearModularRegressor):
        return model.fit(features, TARGETS)
    return model.fit(features, TARGET if is_regressor(model) else LABELS)


def inputs():
    """The same rows in every form that models take."""
    names = [f"column {i}" for i in range(N_FEATURES)]
    return {
        "dense": X,
        "float32": X.astype(np.float32),
        "fortran": np.asfortranarray(X),
        "sparse": sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)),
        "csc-matrix": sparse.csc_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(dict(zip(names, X.T, strict=True))),
    }


def copy_of(model, *, resumable=False, **options):
    """What comes back from a file."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.modae"
        modae.save(model, path, resumable=resumable)
        return modae.load(path, **options)


def bytes_of(model, *, resumable=False):
    """The file of a model."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.modae"
        modae.save(model, path, resumable=resumable)
        return path.read_bytes()


def forged(model, path, change):
    """The file of a model whose header somebody has changed; its checksums are right."""
    modae.save(model, path)
    entries = entries_of(path.read_bytes())
    header = json.loads(entries[HEADER])
    change(header)
    path.write_bytes(zipped(entries | {HEADER: json.dumps(header).encode()}))
    return path


METHODS = (
    "transform",
    "transform_modules",
    "score_samples",
    "predict",
    "predict_proba",
    "decision_function",
    "predict_members",
    "disagreement",
    "predict_interval",
)


def answers(model, features):
    """Everything that a fitted model says about rows."""
    uncalibrated = getattr(model, "calibrate", None) is None
    unasked = {"predict_interval"} if uncalibrated else set()
    asked = (method for method in METHODS if hasattr(model, method) and method not in unasked)
    return {method: getattr(model, method)(features) for method in asked}


def fitted_attributes(estimator):
    """All public names that end in an underscore, and what is there (or which error)."""
    names = [name for name in dir(estimator) if name.endswith("_") and not name.startswith("_")]
    return {name: _attribute(estimator, name) for name in names}


def _attribute(estimator, name):
    try:
        return getattr(estimator, name)
    except Exception as error:
        return type(error)


def assert_same(one, other, place="model"):
    """Equal in type, dtype, shape, layout and bits, all the way down."""
    assert type(one) is type(other), f"{place}: {type(one)} became {type(other)}"
    if isinstance(one, BaseEstimator):
        assert_same(one.get_params(deep=False), other.get_params(deep=False), f"{place}.params")
        assert_same(fitted_attributes(one), fitted_attributes(other), place)
    elif isinstance(one, np.ndarray):
        _assert_same_array(one, other, place)
    elif sparse.issparse(one):
        assert one.shape == other.shape, place
        for part in ("data", "indices", "indptr"):
            _assert_same_array(getattr(one, part), getattr(other, part), f"{place}.{part}")
    elif isinstance(one, dict):
        assert list(one) == list(other), f"{place}: {list(one)} became {list(other)}"
        for key in one:
            assert_same(one[key], other[key], f"{place}[{key!r}]")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), place
        for i, (first, second) in enumerate(zip(one, other, strict=True)):
            assert_same(first, second, f"{place}[{i}]")
    else:
        _assert_same_value(one, other, place)


def _assert_same_array(one, other, place):
    assert one.dtype == other.dtype, f"{place}: {one.dtype} became {other.dtype}"
    assert one.shape == other.shape, f"{place}: {one.shape} became {other.shape}"
    assert one.flags.writeable == other.flags.writeable, place
    if one.flags.forc:  # a view with gaps comes back without them
        order = one.flags.c_contiguous, one.flags.f_contiguous
        assert order == (other.flags.c_contiguous, other.flags.f_contiguous), f"{place}: another order"
    if one.dtype.names:  # between the fields is whatever was in memory
        for name in one.dtype.names:
            assert one[name].tobytes() == other[name].tobytes(), f"{place}: other bits"
    elif one.dtype == object:
        assert_same(one.ravel().tolist(), other.ravel().tolist(), place)
    else:
        assert one.tobytes() == other.tobytes(), f"{place}: other bits"


def _assert_same_value(one, other, place):
    if isinstance(one, np.random.RandomState):
        assert_same(one.get_state(legacy=False), other.get_state(legacy=False), place)
    elif isinstance(one, np.random.Generator):
        assert_same(one.bit_generator.state, other.bit_generator.state, place)
    elif isinstance(one, (float, np.floating)):
        assert repr(one) == repr(other), place
    elif isinstance(one, PLAIN):
        assert one == other, f"{place}: {one!r} became {other!r}"
    else:
        state = getattr(one, "__getstate__", lambda: None)()
        assert_same(state, getattr(other, "__getstate__", lambda: None)(), f"{place}.state")


def assert_round_trip(model, features=None, **options):
    """Save and load: the same model, the same answers, the same file again."""
    loaded = copy_of(model, **options)
    assert_same(model, loaded)
    if features is not None:
        assert_same(answers(model, features), answers(loaded, features), "answers")
    assert bytes_of(loaded) == bytes_of(model)
    return loaded
