"""What a report is about: a fitted model, rows to look at, and models along the diversity path."""

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from modae.data.validation import require_in_memory, take_rows
from modae.ensembles.families import AllColumns
from modae.ensembles.members import module_features
from modae.ensembles.parts import ModelParts, take_apart
from modae.ensembles.search import error_and_r2
from modae.ensembles.votes import stratified
from modae.utils.arrays import Array
from modae.utils.text import format_number, percent, r2_text

#: In a dense copy of some rows.
MOST_NUMBERS = 4_000_000

FEWEST_ROWS = 100

#: Numbers whose squares a computer cannot hold.
HUGE = 1e150

DIVERSITIES = tuple(round(0.1 * step, 1) for step in range(11))


class Subject:
    """A model, rows to look at, and the models of the same size at other diversities.

    Parameters
    ----------
    model, X, y, diversities, n_samples, random_state
        As in :func:`modae.report.build`; they are checked here.

    Attributes
    ----------
    parts : ModelParts
    n_rows, n_shown : int
        How many rows were given, and how many of them are looked at.
    places : ndarray of int
        Which of the rows these are.
    raw : rows as they were given
    rows : the same after the steps before the modules
    labels : ndarray or None
    n_modules, n_components : int
        Size of the model.
    diversities : list of float
    models : list of extractors
        One for each diversity.
    start : int
        Which of them is the model itself.
    """

    def __init__(
        self, model: Any, X: Any, y: Any, *, diversities: Any, n_samples: int, random_state: Any
    ) -> None:
        self.parts = take_apart(model)
        extractor, own = self.parts.extractor, self.parts.diversity
        require_in_memory(X, "report")
        _refuse_lazy_frame("X", X)
        if issparse(X):
            X = X.tocsr()
        elif not hasattr(X, "shape") or not hasattr(X, "__array__"):
            X = np.asarray(X)
        if len(X.shape) == 2 and not X.shape[0]:
            raise ValueError(
                f"X must have at least one row, got the shape {tuple(X.shape)}: give the rows that the "
                "report is to be about, for example those that the model was fitted to."
            )
        self.n_rows = int(X.shape[0])
        labels = _checked_labels(self.parts, X, y)
        # All rows, or so many at random, with some of each class; in their order.
        places = np.arange(self.n_rows)
        if self.n_rows > n_samples:
            rng = check_random_state(random_state)
            if labels is not None and len(np.unique(labels)) <= n_samples // 10:
                places = stratified(labels, n_samples, int(rng.randint(2**31 - 1)))
            else:
                places = np.sort(rng.choice(self.n_rows, n_samples, replace=False))
        self.raw, self.places, self.n_shown = take_rows(X, places), places, len(places)
        self.rows = self.parts.prepare(self.raw)
        self.labels = None if labels is None else labels[places]
        # Other columns are refused here, before the work.
        features = module_features(extractor, take_rows(self.rows, [0]))
        self.n_modules, self.n_components = len(features), max(each.shape[1] for each in features)
        self.diversities = [own]
        if hasattr(extractor, "path") and self.n_modules > 1:
            asked = DIVERSITIES if diversities is None else diversities
            if isinstance(asked, str) or not isinstance(asked, Iterable):
                raise ValueError(f"diversities must be a sequence of numbers, got {diversities!r}.")
            self.diversities = sorted({own, *(float(value) for value in asked)})
        self.start = self.diversities.index(own)
        self.models = [
            extractor if value == own else extractor.with_diversity(value) for value in self.diversities
        ]

    @property
    def is_one_learner(self) -> bool:
        """Whether the model is one learner on all columns, without modules."""
        return isinstance(self.parts.extractor, AllColumns)

    @cached_property
    def predicted(self) -> np.ndarray:
        """What the model itself says of the rows."""
        return np.asarray(self.parts.ensemble.predict(self.rows))

    @cached_property
    def own_error(self) -> dict[str, str]:
        """The error of the model itself on these rows, as people read it; of a regressor R2 too."""
        if self.parts.task == "classification":
            return {"error": percent(np.mean(self.predicted != self.labels)), "score": ""}
        error, score = error_and_r2(self.labels, self.predicted)
        return {"error": format_number(error, digits=3), "score": r2_text(score)}

    @cached_property
    def classes(self) -> np.ndarray | None:
        """The classes of the labels, if they are classes: strings, or few whole numbers."""
        if self.labels is None:
            return None
        values = np.unique(self.labels)
        named = self.parts.task == "classification" or values.dtype.kind in "OUSb"
        return values if named or (len(values) <= 20 and np.all(values == np.round(values))) else None

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns that the modules see."""
        steps, given = self.parts.steps, getattr(self.raw, "columns", None)
        known = getattr(self.parts.extractor, "feature_names_in_", getattr(self.rows, "columns", None))
        if known is None and all(hasattr(step, "get_feature_names_out") for step in steps):
            known = make_pipeline("passthrough", *steps).get_feature_names_out(given)
        width = int(self.rows.shape[1])
        if known is None and given is not None and len(given) == width:
            known = given
        return [f"column {place}" for place in range(width)] if known is None else list(map(str, known))

    def in_units(self, column: Array, place: int, rows: np.ndarray) -> tuple[Array, str]:
        """A column that the model sees in some rows, and what it is: in the units of the table, if the
        steps before it did no more than scale it.
        """
        what, raw = "value of the column", take_rows(self.raw, rows)
        with suppress(ValueError, TypeError, LookupError, ZeroDivisionError):  # not there, or no numbers
            named = self.names[place] in list(getattr(raw, "columns", ()))
            given = np.asarray(
                raw[self.names[place]] if named else np.asarray(raw)[:, place], dtype=float
            )
            known = np.flatnonzero(np.isfinite(given))
            low, high = known[column[known].argmin()], known[column[known].argmax()]
            slope = float(given[high] - given[low]) / float(column[high] - column[low])
            found = given[low] + slope * (column - column[low])
            if np.abs(found - given)[known].max() <= 1e-6 * abs(given[high] - given[low]):
                return found, what
        return column, f"{what}, as the steps before the model made it"

    def first(self, count: int) -> np.ndarray:
        """Places of the first rows: so many, or fewer where rows are wide and copies would be large."""
        affordable = max(MOST_NUMBERS // max(self.rows.shape[1], 1), FEWEST_ROWS)
        return np.arange(min(count, affordable, self.n_shown))

    def take(self, places: Any) -> tuple[Any, Array]:
        """Some rows, in the container that they came in and as an array."""
        rows = take_rows(self.rows, places)
        return rows, rows.toarray() if issparse(rows) else np.asarray(rows, dtype=float)


def most_frequent(labels: np.ndarray, most: int) -> np.ndarray:
    """The classes with the most rows, at most so many, sorted."""
    classes, counts = np.unique(labels, return_counts=True)
    return np.asarray(classes[np.sort(np.argsort(-counts, kind="stable")[:most])])


def _refuse_lazy_frame(name: str, values: Any) -> None:
    """A query that was not run, as polars.LazyFrame, has no rows yet."""
    if hasattr(values, "collect") and not hasattr(values, "shape"):
        raise TypeError(
            f"{name} must be in memory for a report, which looks at single rows, got a lazy "
            f"{type(values).__name__}: give {name}.collect(), or a sample of the rows if all do not fit."
        )


def _checked_labels(parts: ModelParts, X: Any, y: Any) -> np.ndarray | None:
    """One label for each row: none missing, and none that the classifier does not know."""
    if y is None:
        return None
    _refuse_lazy_frame("y", y)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"y must have one value for each row, got the shape {labels.shape}: a report has one "
            "target; make one for each."
        )
    check_consistent_length(X, labels)
    for place, value in enumerate(labels.tolist()):
        # None, NaN, and what pandas has for them, which cannot be compared.
        if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
            raise ValueError(f"y has no value in row {place + 1}: leave rows without one out.")
    if parts.task == "classification":
        known = parts.ensemble.classes_.tolist()
        unknown = next((each for each in dict.fromkeys(labels.tolist()) if each not in known), None)
        if unknown is not None:
            some = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
            raise ValueError(
                f"y has the class {unknown!r}, which the model does not know: its classes are "
                f"{some}. Give the labels that it was fitted to."
            )
    numbers = labels.dtype.kind in "fiub" and bool(np.all(np.abs(labels.astype(float)) < HUGE))
    if parts.task == "regression" and not numbers:
        raise ValueError(f"y must hold numbers below {HUGE:g} for a regressor, got {labels.dtype}.")
    has_strings = labels.dtype.kind == "O" and any(isinstance(value, str) for value in labels.tolist())
    return labels.astype(str) if has_strings else labels
