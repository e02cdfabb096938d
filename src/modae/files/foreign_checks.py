"""The last look at a graph that was read: every array, every estimator.

Classes that only the user trusts are not looked into, but known ones inside them are.
"""

from __future__ import annotations

from inspect import signature
from re import fullmatch
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from modae.files.foreign_graph import state_of, walked
from modae.files.foreign_models import MODEL_CHECKS
from modae.files.foreign_rules import is_array, is_count, require
from modae.files.trust import CLASS_NAMES, full_name_of

MAY_HOLD_NAN = frozenset(
    f"{cls}.{attribute}"
    for classes, attributes in {
        # A column without any value has no statistics.
        "SimpleImputer": "statistics_",
        "StandardScaler": "mean_ var_ scale_",
        "MinMaxScaler": "min_ scale_ data_min_ data_max_ data_range_",
        "MaxAbsScaler": "scale_ max_abs_",
        "RobustScaler": "center_ scale_",
        "PowerTransformer": "lambdas_",
        "QuantileTransformer": "quantiles_",
        # A missing value is a category too.
        "OneHotEncoder OrdinalEncoder": "categories_",
        # Outer edges of bins.
        "KBinsDiscretizer": "bin_edges_",
        "_BinMapper": "bin_thresholds_",
        # Scores of what failed, of constant features, of rows that every tree has seen.
        "GridSearchCV RandomizedSearchCV": "cv_results_ best_score_",
        "LogisticRegressionCV RidgeCV RidgeClassifierCV": "scores_ cv_results_",
        "LassoCV ElasticNetCV": "mse_path_",
        "SelectKBest SelectPercentile": "scores_ pvalues_",
        "RandomForestClassifier ExtraTreesClassifier RandomForestRegressor ExtraTreesRegressor": (
            "oob_decision_function_ oob_prediction_ oob_score_"
        ),
        "BaggingClassifier BaggingRegressor": "oob_decision_function_ oob_prediction_ oob_score_",
        "PCA IncrementalPCA": "noise_variance_ explained_variance_ explained_variance_ratio_",
        # The logarithm of 0, without smoothing.
        "MultinomialNB ComplementNB BernoulliNB": "feature_log_prob_ class_log_prior_",
        "MLPClassifier MLPRegressor": "best_loss_ best_validation_score_ validation_scores_",
    }.items()
    for cls in classes.split()
    for attribute in attributes.split()
)
"""Attributes that hold NaN or infinity for good reasons, as "Class.attribute"."""

MOST_JOBS = 1024


def check_graph(graph: Any) -> None:
    """Raise :class:`ModelFormatError` unless every part of the graph keeps its rules.

    Parameters
    ----------
    graph : object

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from modae.files.foreign_checks import check_graph
    >>> line = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> check_graph(line)
    >>> line.coef_[0] = float("nan")
    >>> check_graph(line)
    Traceback (most recent call last):
    modae.files.errors.ModelFormatError: the file is damaged: LinearRegression.coef_ is finite.
    """
    # What is inside comes first, so that an estimator can rely on its parts.
    for node, owner, attribute in reversed(list(walked(graph))):
        if isinstance(node, (np.ndarray, np.generic)) or issparse(node):
            if owner is None or full_name_of(type(owner)) in CLASS_NAMES:
                _check_numbers(node, owner, attribute)
        elif full_name_of(type(node)) in CLASS_NAMES:
            _check_object(node)


def _check_numbers(node: Any, owner: Any, attribute: str) -> None:
    numbers = node.data if issparse(node) else np.asarray(node)
    place = f"{type(owner).__name__}.{attribute}"
    if numbers.dtype.kind == "f" and place not in MAY_HOLD_NAN:
        require(np.isfinite(numbers).all(), f"{place} is finite")


def _check_object(node: Any) -> None:
    state = state_of(node)
    _check_shadows(node, state)
    _check_parameters(state)
    if isinstance(node, BaseEstimator):
        missing = set(node._get_param_names()) - set(state)
        require(not missing, f"{type(node).__name__} has no {', '.join(sorted(missing))}")
    for name, check_attribute in ATTRIBUTES.items():
        if name in state:
            check_attribute(node, state[name])
    for cls, (attribute, check) in MODEL_CHECKS.items():
        if isinstance(node, cls) and attribute in state:
            check(node)


def _check_shadows(node: Any, state: dict[str, Any]) -> None:
    """An attribute of an object must not hide a method or a constant of its class."""
    hiding = [name for name in state if getattr(type(node), name, None) is not None]
    # A few classes have a constant with the name of a parameter.
    allowed = set(signature(type(node)).parameters) if hiding else set()
    for name in hiding:
        require(name in allowed, f"{type(node).__name__}.{name} is not an attribute that a file gives")


def _check_parameters(state: dict[str, Any]) -> None:
    jobs = state.get("n_jobs")
    require(
        jobs is None or (isinstance(jobs, int) and abs(jobs) <= MOST_JOBS),
        f"n_jobs is below {MOST_JOBS}",
    )
    # A cache holds pickles, and a file must not say where to find some.
    require(state.get("memory") is None, "memory is None: set it again after loading")
    dispatch = state.get("pre_dispatch")
    simple = isinstance(dispatch, str) and fullmatch(r"all|(\d{1,4} ?\* ?)?n_jobs", dispatch)
    require(dispatch is None or is_count(dispatch, 2**31) or simple, 'pre_dispatch is like "2*n_jobs"')


def _check_classes(node: Any, classes: Any) -> None:
    columns = classes if isinstance(classes, list) else [classes]
    for names in columns:
        require(is_array(names, "biufSUO", 1), f"{type(node).__name__}.classes_ is a list of labels")
        require(np.array_equal(np.unique(names), names), f"{type(node).__name__}.classes_ is sorted")
    # Memory for votes is taken by this number.
    counts = getattr(node, "n_classes_", None)
    fits = counts is None or np.array_equal(np.ravel(counts), [len(names) for names in columns])
    require(fits, f"{type(node).__name__}.n_classes_ is the number of classes")


def _check_feature_count(node: Any, count: Any) -> None:
    require(is_count(count, 2**31), f"{type(node).__name__}.n_features_in_ is a count")


def _check_coef(node: Any, coef: Any) -> None:
    if not (isinstance(coef, np.ndarray) or issparse(coef)):
        return
    place, n_features = f"{type(node).__name__}.coef_", getattr(node, "n_features_in_", None)
    require(coef.ndim in (1, 2), f"{place} has one or two axes")
    require(n_features is None or coef.shape[-1] == n_features, f"{place} has {n_features} columns")
    n_outputs = 1 if coef.ndim == 1 else coef.shape[0]
    intercept = getattr(node, "intercept_", None)
    fits = not isinstance(intercept, np.ndarray) or intercept.size in (1, n_outputs)
    require(fits, f"{type(node).__name__}.intercept_ has {n_outputs} numbers")


ATTRIBUTES = {"classes_": _check_classes, "n_features_in_": _check_feature_count, "coef_": _check_coef}
