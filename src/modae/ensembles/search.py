"""All candidates on all folds: one decomposition for each fold, then members for each candidate.

On a fold the rows are projected once to their leading principal scores, (n, K). The modules of every
candidate live in these K dimensions, so a candidate costs a product with K rows and its members.
(Extractors that are frozen or of another class, and scorers that are functions, which may look at the
rows, see the rows themselves.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from modae.data.encoding import encode
from modae.data.validation import take_rows
from modae.ensembles.base import Routed
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.members import module_features, seeded, two_generators
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel
from modae.utils.parameters import check_count, check_diversity, resolved_components
from modae.utils.progress import progress_bar

RULES = ("best", "one_standard_error")

Candidate = dict[str, Any]
"""``n_modules``, ``n_components`` and ``diversity`` of an extractor."""


class Fold(NamedTuple):
    """Rows to train on and rows to test on."""

    train: np.ndarray
    test: np.ndarray


class Outcome(NamedTuple):
    """One candidate on one fold."""

    score: float
    ensemble_error: float
    individual_error: float


class ModulesOfScores:
    """An extractor that takes principal scores instead of rows: encoders (M, H, K') in these axes."""

    def __init__(self, encoders: Array) -> None:
        self.encoders = encoders

    def transform_modules(self, scores: Array) -> Array:
        """Codes of each module, (M, n, H)."""
        n_modules, _, n_axes = self.encoders.shape
        flat = self.encoders.reshape(-1, n_axes).astype(scores.dtype, copy=False)
        return np.stack(np.hsplit(scores[:, :n_axes] @ flat.T, n_modules))


@dataclass(frozen=True, eq=False)
class PreparedFold:
    """Training and test rows of a fold, or their scores, and an extractor for each candidate.

    ``routed`` are the metadata of a fit, as the extractor and the members of the model asked for them.
    """

    fold: Fold
    train: Any
    test: Any
    extractors: Sequence[Any]
    routed: Routed


@dataclass(frozen=True, eq=False)
class Search:
    """What is to be tried, on what, and how it is judged.

    Parameters
    ----------
    model : ModularClassifier
        All but the extractor is the same for all candidates.
    candidates : sequence of dict
    folds : sequence of Fold
    X, y, weights
        All rows; weights may be None.
    scoring : as in ``GridSearchCV``
    n_jobs : int or None
    verbose : bool
    """

    model: ModularClassifier
    candidates: Sequence[Candidate]
    folds: Sequence[Fold]
    X: Any
    y: np.ndarray
    weights: Array | None
    scoring: Any
    n_jobs: int | None
    verbose: bool

    def run(self) -> list[list[Outcome]]:
        """For each candidate, its outcome on each fold."""
        with progress_bar("folds", len(self.folds), shown=self.verbose) as advance:
            prepared = run_parallel(
                self._prepare, [(fold,) for fold in self.folds], self.n_jobs, advance
            )
        tasks = [(place, each) for place in range(len(self.candidates)) for each in prepared]
        with progress_bar("candidates", len(tasks), shown=self.verbose) as advance:
            outcomes = run_parallel(self._try, tasks, self.n_jobs, advance)
        starts = range(0, len(tasks), len(self.folds))
        return [outcomes[start : start + len(self.folds)] for start in starts]

    def _prepare(self, fold: Fold) -> PreparedFold:
        """Fit an extractor to the training rows that serves every candidate, and project the rows."""
        train, test = (take_rows(self.X, places) for places in fold)
        routed = self.model._route(None if self.weights is None else self.weights[fold.train], {})
        part = self.model._part("extractor")
        if isinstance(part, FrozenEstimator):
            extractor = part
        else:
            rng, _ = two_generators(self.model.random_state)
            extractor = seeded(clone(part), rng).set_params(**_largest(self.candidates, train.shape[1]))
            extractor.fit(train, self.y[fold.train], **routed["extractor"].fit)
        rowwise = callable(self.scoring) or not isinstance(extractor, LinearModularAutoencoder)
        if rowwise:
            models = [extractor.with_params(**integer_overrides(each)) for each in self.candidates]
            return PreparedFold(fold, train, test, [*map(FrozenEstimator, models)], routed)
        whole = extractor._solved_model()
        extractors = [
            ModulesOfScores(whole.with_settings(**integer_overrides(each)).solution.encoders)
            for each in self.candidates
        ]
        axes = whole.spectrum.axes[None]
        train, test = (encode(rows, whole.mean, axes) for rows in (train, test))
        return PreparedFold(fold, train, test, extractors, routed)

    def _try(self, place: int, prepared: PreparedFold) -> Outcome:
        """Members for one candidate, trained and tested on one fold."""
        extractor, (train, test) = prepared.extractors[place], prepared.fold
        train_weights = None if self.weights is None else self.weights[train]
        weights = None if self.weights is None else self.weights[test]
        params = {**self.model.get_params(deep=False), "extractor": extractor, "n_jobs": 1}
        model = ModularClassifier(**params)
        features = module_features(extractor, prepared.train)
        model._fit_to_features(features, self.y[train], train_weights, prepared.routed)
        features = module_features(extractor, prepared.test)
        ensemble, individual = model._accuracies(features, self.y[test], weights)
        score = ensemble
        if self.scoring is not None:
            score = self._score(model, prepared.test, self.y[test], weights)
        return Outcome(score, 1.0 - ensemble, 1.0 - individual)

    def _score(self, model: ModularClassifier, rows: Any, labels: np.ndarray, weights: Any) -> float:
        scorer = get_scorer(self.scoring)
        if weights is None:
            return float(scorer(model, rows, labels))
        try:
            return float(scorer(model, rows, labels, sample_weight=weights))
        except TypeError as error:
            raise TypeError(
                f"scoring={self.scoring!r} cannot be used with sample_weight: it must take an argument "
                f"sample_weight ({error})."
            ) from error


def _largest(candidates: Sequence[Candidate], n_features: int) -> dict[str, int]:
    """Sizes with which a fit keeps as many principal axes as the largest candidate needs.

    One module with all of them: fitting that is a PCA and nothing more. Where the number of components
    is a share of the variance, only the fit can tell it.
    """
    if all(isinstance(each["n_components"], int) for each in candidates):
        n_axes = max(each["n_modules"] * each["n_components"] for each in candidates)
        return {"n_modules": 1, "n_components": min(n_axes, n_features)}
    return {"n_modules": max(each["n_modules"] for each in candidates)}


def integer_overrides(candidate: Candidate) -> Candidate:
    """What to ask of a fitted extractor: a share of the variance was settled by its fit."""
    return {
        name: value
        for name, value in candidate.items()
        if not (name == "n_components" and isinstance(value, float))
    }


def make_folds(cv: Any, X: Any, y: np.ndarray, weights: Any = None, groups: Any = None) -> list[Fold]:
    """The folds of a splitter; one without a class to train on, or weight to test on, is an error."""
    if weights is not None and not np.any(weights):
        raise ValueError("sample_weight is zero for every row: there would be no data.")
    splitter = check_cv(5 if cv is None else cv, y, classifier=True)
    places = np.arange(len(y))
    folds = [Fold(places[train], places[test]) for train, test in splitter.split(X, y, groups)]
    if not folds:
        raise ValueError(f"cv must give at least one pair of training and test rows, got {cv!r}.")
    classes = np.unique(y)
    for number, fold in enumerate(folds):
        missing = np.setdiff1d(classes, y[fold.train])
        if len(missing):
            raise ValueError(
                f"class {missing.tolist()[0]!r} has no rows in the training part of fold {number}: use "
                "fewer or stratified folds (cv), or leave that class out."
            )
        if weights is not None and not np.any(weights[fold.test]):
            raise ValueError(
                f"sample_weight is zero for every test row of fold {number}: use other folds (cv), or "
                "leave rows of weight 0 out."
            )
    return folds


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
    if not (modules and widths and lams):
        raise ValueError("diversities, n_modules and n_components must not be empty.")
    for diversity in lams:
        check_diversity(diversity)
    for count in modules:
        check_count("n_modules", count)
    for width in widths if n_components is not None else ():
        check_count("n_components", width)
        resolved_components(width, n_features)
    whole = (int, np.integer)
    return [
        {
            "n_modules": int(count),
            "n_components": int(width) if isinstance(width, whole) else float(width),
            "diversity": float(diversity),
        }
        for count in modules
        for width in widths
        for diversity in lams
    ]


def _several(sizes: Any) -> list[Any]:
    return list(sizes) if np.iterable(sizes) else [sizes]


def results_table(
    candidates: Sequence[Candidate], outcomes: Sequence[Sequence[Outcome]]
) -> dict[str, Any]:
    """``cv_results_``: for each candidate, what came out on each fold, means and standard errors.

    Scores that are not numbers rank last, with a warning, as in ``GridSearchCV``.
    """
    table: dict[str, Any] = {"params": [dict(candidate) for candidate in candidates]}
    for name in ("n_modules", "n_components", "diversity"):
        table[f"param_{name}"] = np.array([candidate[name] for candidate in candidates])
    values = np.array(outcomes, dtype=np.float64)  # (candidates, folds, 3)
    n_folds = values.shape[1]
    for place, name in enumerate(("test_score", "ensemble_error", "individual_error")):
        each = values[:, :, place]
        spread = each.std(axis=1, ddof=1) if n_folds > 1 else np.zeros(len(each))
        table |= {f"split{fold}_{name}": each[:, fold] for fold in range(n_folds)}
        table |= {f"mean_{name}": each.mean(axis=1), f"se_{name}": spread / np.sqrt(n_folds)}
    table["std_test_score"] = values[:, :, 0].std(axis=1)
    scores = table["mean_test_score"]
    if np.isnan(scores).all():
        raise ValueError("scoring gave NaN for every candidate: there is nothing to choose by.")
    if np.isnan(scores).any():
        warn(
            f"{np.isnan(scores).sum()} of {len(scores)} candidates have the score NaN: they rank last.",
            UserWarning,
            stacklevel=4,
        )
    worst = np.where(np.isnan(scores), -np.inf, scores)
    table["rank_test_score"] = rankdata(-worst, method="min").astype(np.int32)
    return table


def choose(table: dict[str, Any], rule: str) -> int:
    """The candidate with the best mean score, or the simplest one within a standard error of it.

    The simplest is the one with the fewest components in all, then with the least diversity.
    """
    scores = table["mean_test_score"]
    best = int(np.nanargmax(scores))
    if rule == "best":
        return best
    enough = scores[best] - table["se_test_score"][best]
    size = table["param_n_modules"] * table["param_n_components"]
    good = np.flatnonzero(scores >= enough)
    order = np.lexsort((table["param_diversity"][good], size[good]))
    return int(good[order[0]])
