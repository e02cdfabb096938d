"""What ``describe`` tells of a model without making it: plain values in the header of its file."""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.files.registry import layout_for
from modae.files.writing import is_fitted

NOTES = "table_"  # where the command line keeps what it knows of a table, on the model that it saves


def summary_of(model: Any) -> dict[str, Any]:
    """Steps, columns, classes, notes, and what the layout of the last step tells.

    Returns
    -------
    summary : dict
        With "steps" (pairs of name and class), "fitted", "n_features", "feature_names" (or None),
        "predicts", "classes" (as text, or None), "notes" (of the command line), and "model": what
        :func:`model_summary` gives.
    """
    steps = list(getattr(model, "steps", [("model", model)]))
    first, last = steps[0][1], steps[-1][1]
    fitted = not hasattr(last, "get_params") or is_fitted(last)
    names, classes = getattr(first, "feature_names_in_", None), getattr(last, "classes_", None)
    n_features = getattr(first, "n_features_in_", None)
    notes = getattr(model, NOTES, {})
    return {
        "steps": [[name, type(step).__name__] for name, step in steps],
        "fitted": fitted,
        "n_features": None if n_features is None else int(n_features),
        "feature_names": None if names is None else [str(name) for name in names],
        "predicts": hasattr(last, "predict"),
        "classes": None if classes is None else [str(label) for label in np.ravel(classes)],
        "notes": plain(notes) if isinstance(notes, dict) else {},
        "model": model_summary(last) if fitted else {},
    }


def model_summary(model: Any) -> dict[str, Any]:
    """What the layout of a class tells of an object; nothing for foreign ones that hold none of ours."""
    inner = getattr(model, "best_estimator_", getattr(model, "estimator", None))
    layout = layout_for(type(model))
    if layout is None:
        return {} if inner is None else model_summary(inner)
    return plain(layout.summary(model))


def plain(value: Any) -> Any:
    """Plain JSON values for display; text for everything else, as for numbers that are not finite."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value if isinstance(value, float) and np.isfinite(value) else str(value)
