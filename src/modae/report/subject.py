"""What a report is about: a fitted model taken apart, rows to look at, and models along the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as rows_at  # frames, lists and sparse matrices alike
from sklearn.utils.validation import check_is_fitted

from modae.report.given import checked_labels, checked_rows, checked_stops, drawn_rows
from modae.utils.arrays import Array

MOST_NUMBERS = 4_000_000
"""In a dense copy of some rows."""

FEWEST_ROWS = 100

DIVERSITIES = tuple(round(0.1 * step, 1) for step in range(11))


@dataclass(frozen=True, eq=False)
class Parts:
    """A fitted model taken apart.

    Parameters
    ----------
    front : Pipeline or None
        The steps before the modules.
    ensemble : ensemble or None
        None for modules without members.
    extractor : estimator with ``transform_modules``
    """

    front: Any
    ensemble: Any
    extractor: Any

    @property
    def kind(self) -> str:
        """What the model is for: "classify", "regress", or "features"."""
        if self.ensemble is None:
            return "features"
        return "classify" if is_classifier(self.ensemble) else "regress"

    def prepared(self, X: Any) -> Any:
        """Rows as the modules see them."""
        return X if self.front is None else self.front.transform(X)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, rows to look at, and the models of the same size at other diversities.

    Parameters
    ----------
    parts : Parts
    raw : rows as they were given, at most as many as asked for
    rows : the same after the steps before the modules
    labels : ndarray or None
    names : list of str
        Of the columns that the modules see.
    n_rows : int
        How many rows were given.
    diversities : list of float
    models : list of extractors
        One for each diversity.
    start : int
        Which of them is the model itself.
    """

    parts: Parts
    raw: Any
    rows: Any
    labels: np.ndarray | None
    names: list[str]
    n_rows: int
    diversities: list[float]
    models: list[Any]
    start: int

    @property
    def extractor(self) -> Any:
        """The modules of the model itself."""
        return self.parts.extractor

    @property
    def classes(self) -> np.ndarray | None:
        """The classes of the labels, if they are classes."""
        told = self.parts.kind == "classify" or (self.labels is not None and _few_values(self.labels))
        return None if self.labels is None or not told else np.unique(self.labels)

    @property
    def n_shown(self) -> int:
        """How many rows were looked at."""
        return int(self.rows.shape[0])

    def first(self, count: int) -> np.ndarray:
        """Places of the first rows: so many, or fewer where rows are wide and copies would be large."""
        affordable = max(MOST_NUMBERS // max(len(self.names), 1), FEWEST_ROWS)
        return np.arange(min(count, affordable, self.n_shown))

    def at(self, places: Any) -> Any:
        """Some rows, in the container that they came in."""
        return rows_at(self.rows, np.asarray(places, dtype=np.intp))

    def dense_at(self, places: Any) -> Array:
        """Some rows as an array."""
        some = self.at(places)
        return some.toarray() if issparse(some) else np.asarray(some, dtype=float)


def take_apart(model: Any) -> Parts:
    """Find the steps, the ensemble and the modules of a fitted model; searches give their best."""
    steps: list[tuple[str, Any]] = []
    while True:
        check_is_fitted(model)
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            steps += [(f"{len(steps) + i}", step) for i, (_, step) in enumerate(model.steps[:-1])]
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            break
    votes = hasattr(model, "extractor_") and (is_classifier(model) or is_regressor(model))
    extractor = model.extractor_ if votes else model
    while isinstance(extractor, FrozenEstimator):
        extractor = extractor.estimator
    if not all(hasattr(extractor, name) for name in ("transform_modules", "n_modules", "n_components_")):
        raise TypeError(
            "model must be fitted modules (LinearModularAutoencoder, BaggingAutoencoder, "
            "modae.deep.ModularAutoencoder), an ensemble on them (ModularClassifier, ModularRegressor), "
            f"or a pipeline or search with refit that ends in one of these, got {type(model).__name__}."
        )
    return Parts(Pipeline(steps) if steps else None, model if votes else None, extractor)


def make_subject(
    model: Any, X: Any, y: Any, *, diversities: Any, n_samples: int, random_state: Any
) -> Subject:
    """Check what was given, draw the rows, and follow the path."""
    parts = take_apart(model)
    X = checked_rows(X)
    labels = checked_labels(parts.ensemble, X, y)
    n_rows = int(X.shape[0])
    drawn = drawn_rows(n_rows, labels, n_samples, random_state)
    raw = rows_at(X, drawn)
    rows = parts.prepared(raw)
    parts.extractor.transform_modules(rows_at(rows, [0]))  # other columns are noticed before the work
    path = _path(parts.extractor, diversities)
    start = int(np.argmin([abs(value - _own(parts.extractor)) for value in path]))
    models = _models(parts.extractor, path)
    return Subject(
        parts=parts,
        raw=raw,
        rows=rows,
        labels=None if labels is None else labels[drawn],
        names=_names(parts, raw, rows),
        n_rows=n_rows,
        diversities=path,
        models=models,
        start=start,
    )


def _own(extractor: Any) -> float:
    return float(getattr(extractor, "diversity", 0.0))


def _path(extractor: Any, diversities: Any) -> list[float]:
    """The diversities of the slider, among them the model's own; just that one without a path."""
    own = _own(extractor)
    if not hasattr(extractor, "path"):
        return [own]
    values = DIVERSITIES if diversities is None else diversities
    return sorted({*checked_stops(values), own})


def _models(extractor: Any, path: list[float]) -> list[Any]:
    """One for each diversity; the model itself for its own."""
    own = _own(extractor)
    return [extractor if value == own else extractor.with_diversity(value) for value in path]


def _names(parts: Parts, raw: Any, rows: Any) -> list[str]:
    """Names of the columns that the modules see."""
    width = int(rows.shape[1])
    known = getattr(parts.extractor, "feature_names_in_", getattr(rows, "columns", None))
    if known is None and parts.front is not None and hasattr(parts.front, "get_feature_names_out"):
        known = parts.front.get_feature_names_out(getattr(raw, "columns", None))
    if known is None and raw.shape[1] == width:
        known = getattr(raw, "columns", None)
    names = [f"column {place}" for place in range(width)] if known is None else known
    return [str(name) for name in names]


def most_frequent(labels: np.ndarray, most: int) -> np.ndarray:
    """The classes with the most rows, at most so many, sorted."""
    classes, counts = np.unique(labels, return_counts=True)
    return np.asarray(classes[np.sort(np.argsort(-counts, kind="stable")[:most])])


def _few_values(labels: np.ndarray) -> bool:
    """Whether labels that no classifier was trained on are classes: words, or few whole numbers."""
    if labels.dtype.kind in "OUSb":
        return True
    values = np.unique(labels)
    return len(values) <= 20 and bool(np.all(values == np.round(values)))
