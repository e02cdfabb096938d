"""What a model is made of: numbers are filled and scaled, strings become columns of 0 and 1."""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from modae.cli.errors import UserError
from modae.cli.training import TrainingData

CATEGORIES = "categories"
"""The name of the part that encodes; a model is asked for it to know which columns are strings."""

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
    known = MEMBERS["classify" if classify else "regress"]
    if name not in known:
        kind = "classes" if classify else "numbers"
        raise UserError(
            f"--estimator {name}: for a target of {kind} it must be one of {', '.join(known)}."
        )
    module, kind, params = known[name]
    return getattr(import_module(module), kind)(**params)


def scale_ratio(scaler: StandardScaler) -> tuple[float, str]:
    """How much the deviations of the columns differ, and which ones; constant columns do not count."""
    deviations = np.sqrt(getattr(scaler, "var_", np.zeros(0)))
    means = getattr(scaler, "mean_", None)  # there is none before the first number, or if sparse
    varying = np.flatnonzero(deviations > (0.0 if means is None else 1e-9 * np.abs(means)))
    if not len(varying):
        return 1.0, ""
    names = getattr(scaler, "feature_names_in_", [f"column {i}" for i in range(len(deviations))])
    low, high = varying[deviations[varying].argmin()], varying[deviations[varying].argmax()]
    ends = [f"{names[place]} {deviations[place]:.2g}" for place in (low, high)]
    return float(deviations[high] / deviations[low]), ", ".join(ends)


def front_steps(found: TrainingData, scale: bool, impute: bool) -> list[tuple[str, Any]]:
    """Fitted steps that turn the rows of the table into numbers on comparable scales.

    They are fitted to the sample; categories and scales are those of all rows.
    """
    if not found.categories and not impute:
        return [("scale", found.scaler)] if scale else []
    rows = found.sample.rows
    categories = [name for name in getattr(rows, "columns", ()) if name in found.categories]
    columns = getattr(rows, "columns", range(rows.shape[1]))
    numbers = [name for name in columns if name not in categories]
    parts: list[tuple[str, Any, list[Any]]] = []
    if numbers:
        fill = [("impute", SimpleImputer(strategy="median"))] if impute else []
        steps = [*fill, *([("scale", StandardScaler())] if scale else [])]
        parts.append(("numbers", Pipeline(steps) if steps else "passthrough", numbers))
    if categories:
        fill = [("impute", SimpleImputer(strategy="most_frequent", missing_values=None))]
        known = [sorted(found.categories[name]) for name in categories]
        encode = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
        parts.append((CATEGORIES, Pipeline([*(fill if impute else []), ("encode", encode)]), categories))
    step = ColumnTransformer(parts, verbose_feature_names_out=False, sparse_threshold=0.0).fit(rows)
    if numbers and scale:
        # Scales are those of the values that are there, in all rows and not in the sample only.
        scaler = copy(found.scaler)
        if impute and hasattr(scaler, "feature_names_in_"):
            del scaler.feature_names_in_  # the step before it gives an array
        step.named_transformers_["numbers"].steps[-1] = ("scale", scaler)
    return [("columns", step)]
