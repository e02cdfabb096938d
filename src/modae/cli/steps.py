"""The steps of a model: numbers are filled and scaled, words become columns of 0 and 1."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from modae.cli.errors import Mistake
from modae.cli.survey import Survey

Steps = list[tuple[str, Any]]

WORDS = "words"
"""The name of the part that encodes; a model is asked for it to know which columns are words."""

MEMBERS = {
    "classify": {
        "knn": ("modae.ensembles.neighbors", "NearestNeighborClassifier", {}),
        "logistic": ("sklearn.linear_model", "LogisticRegression", {"max_iter": 2000}),
        "svm": ("sklearn.svm", "SVC", {}),
        "tree": ("sklearn.tree", "DecisionTreeClassifier", {}),
        "forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 50}),
    },
    "regress": {
        "knn": ("sklearn.neighbors", "KNeighborsRegressor", {}),
        "svm": ("sklearn.svm", "SVR", {}),
        "tree": ("sklearn.tree", "DecisionTreeRegressor", {}),
        "forest": ("sklearn.ensemble", "RandomForestRegressor", {"n_estimators": 50}),
    },
}
"""Members by the names of ``--estimator``: module, class, parameters. (There is no linear regressor: a
mean of linear regressors on linear modules is one linear regression again.)"""


def make_member(name: str, classify: bool) -> Any:
    """A new member for the ensemble."""
    from importlib import import_module

    known = MEMBERS["classify" if classify else "regress"]
    if name not in known:
        kind = "classes" if classify else "numbers"
        raise Mistake(
            f"--estimator {name}: for a target of {kind} it must be one of {', '.join(known)}."
        )
    module, kind, params = known[name]
    return getattr(import_module(module), kind)(**params)


def front_steps(found: Survey, scale: bool) -> Steps:
    """Fitted steps that turn the rows of the table into numbers on comparable scales."""
    if not found.wanted.words and not found.impute:
        return [("scale", found.scaler)] if scale else []
    return [("columns", _columns(found, scale))]


def _columns(found: Survey, scale: bool) -> ColumnTransformer:
    """Fitted to the sample; categories and scales are those of all rows."""
    rows = found.sample.rows
    words = [name for name in getattr(rows, "columns", ()) if name in found.wanted.words]
    numbers = [name for name in getattr(rows, "columns", range(rows.shape[1])) if name not in words]
    parts = []
    if numbers:
        parts.append(("numbers", _numbers(found, scale), numbers))
    if words:
        parts.append((WORDS, _words(found, words), words))
    columns = ColumnTransformer(parts, verbose_feature_names_out=False, sparse_threshold=0.0).fit(rows)
    if numbers and scale:
        # Scales are those of the values that are there, in all rows and not in the sample only.
        columns.named_transformers_["numbers"].steps[-1] = ("scale", _nameless(found))
    return columns


def _nameless(found: Survey) -> StandardScaler:
    """The scaler for what the step before it gives: an array."""
    scaler = copy(found.scaler)
    if found.impute and hasattr(scaler, "feature_names_in_"):
        del scaler.feature_names_in_
    return scaler


def _numbers(found: Survey, scale: bool) -> Any:
    fill = [("impute", SimpleImputer(strategy="median"))] if found.impute else []
    steps = [*fill, *([("scale", StandardScaler())] if scale else [])]
    return Pipeline(steps) if steps else "passthrough"


def _words(found: Survey, words: list[str]) -> Any:
    fill = [("impute", SimpleImputer(strategy="most_frequent", missing_values=None))]
    categories = [sorted(found.categories[name]) for name in words]
    encode = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    return Pipeline([*(fill if found.impute else []), ("encode", encode)])


def through(steps: Steps, rows: Any) -> Any:
    """Rows after the steps."""
    for _, step in steps:
        rows = step.transform(rows)
    return rows
