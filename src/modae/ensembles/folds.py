"""The folds of a cross-validation, and one fitted extractor for all candidates of a fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing as rows_at  # frames, lists and sparse matrices alike

from modae.ensembles.composition import Generator, seeded
from modae.utils.parameters import check_count, check_diversity, resolved_components

Candidate = dict[str, Any]
"""``n_modules``, ``n_components`` and ``diversity`` of an extractor."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to train on and rows to test on."""

    train: np.ndarray
    test: np.ndarray

    def part(self, rows: Any, which: str) -> Any:
        """The training or the test part of X, y or weights; None stays None."""
        return None if rows is None else rows_at(rows, getattr(self, which))


def make_folds(cv: Any, X: Any, y: np.ndarray, weights: Any = None, groups: Any = None) -> list[Fold]:
    """The folds of a splitter; one without a class to train on, or weight to test on, is an error."""
    if weights is not None and not np.any(weights):
        raise ValueError("sample_weight is zero for every row: there would be no data.")
    splitter = check_cv(5 if cv is None else cv, y, classifier=True)
    folds = [Fold(train, test) for train, test in splitter.split(X, y, groups)]
    classes = np.unique(y)
    for number, fold in enumerate(folds):
        missing = np.setdiff1d(classes, y[fold.train])
        if len(missing):
            raise ValueError(
                f"class {missing.tolist()[0]!r} has no rows in the training part of fold {number}: use "
                "fewer or stratified folds (cv), or leave that class out."
            )
        if weights is not None and not np.any(fold.part(weights, "test")):
            raise ValueError(
                f"sample_weight is zero for every test row of fold {number}: use other folds (cv), or "
                "leave rows of weight 0 out."
            )
    return folds


def require_path(extractor: Any) -> None:
    """An extractor whose one fit serves every candidate."""
    if isinstance(extractor, type) or not hasattr(extractor, "with_params"):
        raise TypeError(
            "extractor must have a method with_params, which gives models for other diversities from "
            "one fit, as LinearModularAutoencoder does (or FrozenEstimator of a fitted one), got "
            f"{extractor!r}: use GridSearchCV over ModularClassifier for others."
        )


def changes(candidate: Candidate) -> Candidate:
    """What to ask of a fitted extractor: a share of the variance was settled by its fit."""
    return {name: value for name, value in candidate.items() if not _is_share(name, value)}


def _is_share(name: str, value: Any) -> bool:
    return name == "n_components" and isinstance(value, float)


def fit_for_all(
    extractor: Any,
    candidates: Sequence[Candidate],
    X: Any,
    y: Any,
    params: dict[str, Any],
    rng: Generator,
) -> Any:
    """A fitted extractor that keeps as many principal axes as the largest candidate needs.

    One module with all of them: fitting that is a PCA and nothing more. A frozen extractor is taken as
    it is, and so is one whose number of components is a share of the variance.
    """
    if isinstance(extractor, FrozenEstimator):
        return extractor
    extractor = seeded(clone(extractor), rng)
    widths = {candidate["n_components"] for candidate in candidates}
    if all(isinstance(width, int) for width in widths):
        n_axes = max(each["n_modules"] * each["n_components"] for each in candidates)
        extractor.set_params(n_modules=1, n_components=min(n_axes, np.shape(X)[1]))
    else:
        extractor.set_params(n_modules=max(each["n_modules"] for each in candidates))
    return extractor.fit(X, y, **params)


def make_candidates(
    extractor: Any, n_features: int, diversities: Any, n_modules: Any, n_components: Any
) -> list[Candidate]:
    """All combinations, small models first; a size that is not given is the extractor's own."""
    own_width = getattr(extractor, "n_components_", None) or resolved_components(
        extractor.n_components, n_features
    )
    modules = _several(extractor.n_modules if n_modules is None else n_modules)
    widths = _several(own_width if n_components is None else n_components)
    lams = _several(diversities)
    for diversity in lams:
        check_diversity(diversity)
    for count in modules:
        check_count("n_modules", count)
    for width in widths if n_components is not None else ():
        check_count("n_components", width)
    return [
        {"n_modules": int(count), "n_components": _plain(width), "diversity": float(diversity)}
        for count in modules
        for width in widths
        for diversity in lams
    ]


def _several(sizes: Any) -> list[Any]:
    return list(sizes) if np.iterable(sizes) else [sizes]


def _plain(width: Any) -> int | float:
    return int(width) if isinstance(width, (int, np.integer)) else float(width)
