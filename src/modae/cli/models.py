"""A model file as the commands see it: steps, an ensemble or modules at the end, and its columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from modae.cli.errors import Mistake, listed
from modae.cli.steps import WORDS, Steps, through
from modae.cli.tables import WORD, Table, Wanted
from modae.files.api import load

NOTES = "table_"
"""Attribute of a Pipeline with what only the command line knows: the target's name, how many rows."""

NOTES_IMPUTE = "impute"
"""The note that says whether missing values are filled; every model of the command line has it."""


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model and where it came from."""

    path: str
    steps: Steps
    notes: dict[str, Any]

    @property
    def first(self) -> Any:
        """The step that meets the table."""
        return self.steps[0][1]

    @property
    def last(self) -> Any:
        """The modules, or the ensemble."""
        return self.steps[-1][1]

    @property
    def front(self) -> Steps:
        """What happens before the last step."""
        return self.steps[:-1]

    @property
    def extractor(self) -> Any:
        """The modules, wherever they are."""
        best = getattr(self.last, "best_estimator_", self.last)
        return getattr(best, "extractor_", best)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns that it was fitted to, if they had any."""
        names = getattr(self.first, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def target(self) -> str | None:
        """Name of the target column."""
        return self.notes.get("target")

    def prepared(self, rows: Any) -> Any:
        """Rows of a table after the steps."""
        return through(self.front, self.framed(rows))

    def framed(self, rows: Any) -> Any:
        """Rows of a table with names if the model was fitted to names, and without if not."""
        if self.names is None and hasattr(rows, "columns"):
            return rows.to_numpy()
        if self.names is not None and isinstance(rows, np.ndarray):
            return pd.DataFrame(rows, columns=list(self.names))
        return rows

    def whole(self) -> Pipeline:
        """All steps as one estimator."""
        return Pipeline(self.steps)

    @property
    def fills(self) -> bool:
        """Whether a step may fill missing values: ours says so, of others we do not know."""
        return bool(self.notes.get(NOTES_IMPUTE, isinstance(self.first, ColumnTransformer)))

    def words(self, table: Table) -> frozenset[str]:
        """The columns that are words: as in the model, or as in the table if it does not say."""
        if isinstance(self.first, ColumnTransformer):
            ours = [columns for name, _, columns in self.first.transformers_ if name == WORDS]
            if ours or NOTES_IMPUTE in self.notes:
                return frozenset(*ours)
            return frozenset(name for name in self.names or () if table.kinds.get(name) == WORD)
        return frozenset()

    @property
    def categories(self) -> dict[str, list[str]]:
        """The words of each column of words that our own encoder knows."""
        parts = getattr(self.first, "named_transformers_", {})
        if WORDS not in parts:
            return {}
        columns = next(columns for name, _, columns in self.first.transformers_ if name == WORDS)
        return dict(zip(columns, map(list, parts[WORDS][-1].categories_), strict=True))

    def unseen(self, rows: Any) -> dict[str, int]:
        """How many words of each column are not among those of the fit; missing ones do not count."""
        if not hasattr(rows, "columns"):
            return {}
        counts = {
            name: int((rows[name].notna() & ~rows[name].isin(words)).sum())
            for name, words in self.categories.items()
        }
        return {name: count for name, count in counts.items() if count}


def load_model(path: str) -> Model:
    """Load and look at it: it must be fitted."""
    if not Path(path).exists():
        raise Mistake(f"{path}: there is no such file.")
    if Path(path).is_dir():
        raise Mistake(f"{path} is a folder, not a model.")
    estimator = load(path)
    steps = list(estimator.steps) if isinstance(estimator, Pipeline) else [("model", estimator)]
    notes = getattr(estimator, NOTES, {})
    model = Model(path, steps, notes if isinstance(notes, dict) else {})
    try:
        check_is_fitted(model.last)
    except (NotFittedError, TypeError):
        raise Mistake(f"{path}: this model is not fitted: fit it, and save it again.") from None
    return model


def match_columns(model: Model, table: Table, keep: tuple[str, ...] = ()) -> tuple[Wanted, list[str]]:
    """The columns of a table for a model, in its order, and remarks on the others."""
    n_features = model.first.n_features_in_
    if table.names is None:
        return Wanted(keep=keep), _check_width(model, table, n_features)
    if model.names is None:
        left = tuple(name for name in table.names if name != model.target and name not in keep)
        if len(left) != n_features:
            raise Mistake(
                f"{table.label} has {len(left)} columns, and {model.path} was fitted to {n_features} "
                "without names: give the same columns in the same order."
            )
        return Wanted(left, keep=keep), []
    missing = [name for name in model.names if name not in table.names]
    if missing:
        raise Mistake(
            f"{table.label} lacks {listed(missing)}, which {model.path} was fitted to: add or rename it."
        )
    extra = [name for name in table.names if name not in model.names and name not in keep]
    ignored = [name for name in extra if name != model.target]
    notes = [f"Not used: {listed(ignored)}."] if ignored else []
    given = [name for name in table.names if name in model.names]
    if given != list(model.names):
        notes.append("The columns are in another order than in the fit; they were found by name.")
    return Wanted(model.names, model.words(table), keep=keep), notes


def _check_width(model: Model, table: Table, n_features: int) -> list[str]:
    width = table.width(Wanted())
    if width != n_features:
        raise Mistake(
            f"{table.label} has {width} columns, and {model.path} was fitted to {n_features}: "
            "give the same columns in the same order."
        )
    return [] if model.names is None else ["The columns have no names; they were taken in their order."]
