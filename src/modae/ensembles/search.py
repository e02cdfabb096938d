"""The trials of a search: candidates on folds, each fold decomposed once.

On a fold the rows are projected once to their principal scores, (n, K). The modules of every candidate
live in these K dimensions, so a candidate costs a product with K rows and its members. (Extractors that
are frozen or of another class, and scorers that are functions, see the rows themselves.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.preprocessing import StandardScaler

from modae.data.rows import centred_product
from modae.data.validation import take_rows
from modae.ensembles.base import SIZES
from modae.ensembles.families import AllColumns
from modae.ensembles.members import module_features, seeded, two_generators
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel

CLEARLY = 2.0
"""A candidate is dropped from a race when it is worse by so many standard errors of paired rows."""

Fold = tuple[np.ndarray, np.ndarray]
"""Rows to train on and rows to test on."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A member with its own parameters, on modules of some size, or on X itself (no ``sizes``)."""

    family: str
    estimator: Any
    params: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Any] | None = None

    @property
    def all_params(self) -> dict[str, Any]:
        """Family, sizes, and what the member has of its own."""
        family = {"family": self.family} if self.family else {}
        return {**family, **(self.sizes or {}), **self.params}


class Outcome(NamedTuple):
    """One candidate on one fold; ``losses`` are those of the test rows, in their order."""

    score: float
    losses: Array
    individual_error: float
    fit_time: float
    predict_time: float
    decisions: Array | None


class ModulesOfScores:
    """An extractor that takes principal scores instead of rows: encoders (M, H, K') in these axes."""

    def __init__(self, encoders: Array) -> None:
        self.encoders = encoders

    def transform_modules(self, scores: Array) -> Array:
        """Codes of each module, (M, n, H)."""
        n_modules, _, n_axes = self.encoders.shape
        flat = self.encoders.reshape(-1, n_axes).astype(scores.dtype, copy=False)
        return np.stack(np.hsplit(scores[:, :n_axes] @ flat.T, n_modules))


class PreparedFold:
    """Training and test rows of a fold, and their scores; it makes the extractor of any candidate."""

    def __init__(self, search: Trials, fold: Fold) -> None:
        self.places = fold
        rows = [take_rows(search.X, places) for places in fold]
        weights = None if search.weights is None else search.weights[fold[0]]
        if search.scaled:
            centred = not hasattr(rows[0], "tocsr")
            scaler = StandardScaler(with_mean=centred).fit(rows[0], sample_weight=weights)
            rows = [scaler.transform(each) for each in rows]
        self.rows = rows
        part = search.model._part("extractor")
        routed = search.model._route(weights, {})["extractor"].fit
        if isinstance(part, FrozenEstimator):
            self.extractor = part
        else:
            rng, _ = two_generators(search.model.random_state)
            extractor = seeded(clone(part), rng).set_params(**search.largest)
            self.extractor = extractor.fit(rows[0], search.y[fold[0]], **routed)
        self.scores: list[Any] | None = None
        if isinstance(self.extractor, LinearModularAutoencoder) and not callable(search.scoring):
            self.whole = self.extractor._solved_model()
            axes = self.whole.spectrum.axes.T
            self.scores = [centred_product(each, self.whole.mean, axes) for each in rows]

    def extractor_of(self, sizes: dict[str, Any] | None) -> tuple[Any, list[Any]]:
        """Modules of this size, and the training and test rows that they take."""
        if sizes is None:
            return AllColumns().fit(self.rows[0]), self.rows
        changes = dict(sizes)
        if isinstance(sizes["n_components"], float):
            del changes["n_components"]  # a share of the variance was settled by the fit
        if self.scores is None:
            changes.pop("rotation", None)
            return FrozenEstimator(self.extractor.with_params(**changes)), self.rows
        encoders = self.whole.with_settings(**changes).solution.encoders
        return ModulesOfScores(encoders), self.scores


@dataclass(eq=False)
class Trials:
    """Candidates on folds: what is tried, on what, how it is judged, and what came out so far.

    Parameters
    ----------
    model : ensemble
        All but the extractor and the members is the same for all candidates.
    folds : sequence of Fold
    X, y, weights
        All rows; weights may be None.
    scaled : bool
        Whether the columns are standardised, inside each fold.
    largest : dict
        Sizes with which one fit serves every candidate.
    scoring : as in ``GridSearchCV``
    n_jobs : int or None
    deadline : float or None
        When to stop, by ``perf_counter``.
    advance : callable
        Called when a trial is done.
    """

    model: Any
    folds: Sequence[Fold]
    X: Any
    y: np.ndarray
    weights: Array | None
    scaled: bool
    largest: dict[str, int]
    scoring: Any
    n_jobs: int | None
    deadline: float | None = None
    advance: Callable[[], object] | None = None
    outcomes: dict[Candidate, dict[int, Outcome]] = field(default_factory=dict)

    def run(self, candidates: Sequence[Candidate], folds: Sequence[int]) -> None:
        """Try candidates on some folds; what is known, or would be too late, is not tried."""
        for place in folds:
            if place not in self._prepared and not self.is_late:
                self._prepared[place] = PreparedFold(self, self.folds[place])
        tasks = [
            (candidate, place)
            for place in folds
            for candidate in candidates
            if place not in self.outcomes.setdefault(candidate, {}) and place in self._prepared
        ]
        found = run_parallel(self._try, tasks, self.n_jobs, self.advance)
        for (candidate, place), outcome in zip(tasks, found, strict=True):
            if outcome is not None:
                self.outcomes[candidate][place] = outcome

    def race(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Fold after fold, drop those that are clearly worse than the best; survivors, best first."""
        alive = list(candidates)
        for place in range(len(self.folds)):
            self.run(alive, [place])
            if place == 0:
                continue
            best = min(alive, key=self.error)
            alive = [each for each in alive if each is best or not self._is_clearly_worse(each, best)]
        return sorted(alive, key=self.error)

    def error(self, candidate: Candidate) -> float:
        """Minus the mean score over the folds that were tried; infinite if there are none."""
        scores = [outcome.score for outcome in self.outcomes.get(candidate, {}).values()]
        mean = -float(np.mean(scores)) if scores else np.inf
        return np.inf if np.isnan(mean) else mean

    @property
    def tried(self) -> list[Candidate]:
        """The candidates of which something is known, in the order in which they were tried."""
        return [candidate for candidate, found in self.outcomes.items() if found]

    @property
    def is_late(self) -> bool:
        """Whether the time is over. One fold at least is prepared, so that there is something to try."""
        over = self.deadline is not None and perf_counter() > self.deadline
        return over and bool(self._prepared)

    def __post_init__(self) -> None:
        self._prepared: dict[int, PreparedFold] = {}

    def table(self) -> dict[str, Any]:
        """``cv_results_``: what came out for each candidate on each fold, means and standard errors.

        It is NaN on folds where a candidate was not tried. Those that were tried on more folds rank
        before those that were dropped, and scores that are not numbers last, as in ``GridSearchCV``.
        """
        tried = self.tried
        values = np.full((len(tried), len(self.folds), 5), np.nan)
        for row, candidate in enumerate(tried):
            for place, outcome in self.outcomes[candidate].items():
                weights = None if self.weights is None else self.weights[self.folds[place][1]]
                error = 1.0 - self.model._score_of(outcome.losses, self.y[self.folds[place][1]], weights)
                times = outcome.fit_time, outcome.predict_time
                values[row, place] = outcome.score, error, outcome.individual_error, *times
        n_folds = np.array([len(self.outcomes[each]) for each in tried])
        table: dict[str, Any] = {"params": [each.all_params for each in tried]}
        for name in dict.fromkeys(name for params in table["params"] for name in params):
            column = [params.get(name) for params in table["params"]]
            table[f"param_{name}"] = np.array(column, dtype=object if None in column else None)
        names = "test_score", "ensemble_error", "individual_error", "fit_time", "score_time"
        for place, name in enumerate(names):
            each = values[:, :, place]
            few = n_folds < 2
            spread = np.where(few, 0.0, np.nanstd(each, axis=1) * np.sqrt(n_folds / (n_folds - 1 + few)))
            table |= {f"split{fold}_{name}": each[:, fold] for fold in range(len(self.folds))}
            table |= {f"mean_{name}": np.nanmean(each, axis=1), f"se_{name}": spread / np.sqrt(n_folds)}
        table["std_test_score"] = np.nanstd(values[:, :, 0], axis=1)
        table["n_folds"] = n_folds
        keys = [(-count, self.error(each)) for count, each in zip(n_folds, tried, strict=True)]
        ranked = sorted(keys)
        table["rank_test_score"] = np.array([1 + ranked.index(key) for key in keys], dtype=np.int32)
        return table

    def _is_clearly_worse(self, candidate: Candidate, best: Candidate) -> bool:
        mine, theirs = self.outcomes[candidate], self.outcomes[best]
        shared = sorted(set(mine) & set(theirs))
        if not shared:
            return True
        if self.scoring is not None:  # only scores of whole folds are known
            differences = np.array([theirs[place].score - mine[place].score for place in shared])
            weights = np.ones(len(shared))
        else:
            differences = np.concatenate([mine[p].losses - theirs[p].losses for p in shared])
            tested = np.concatenate([self.folds[place][1] for place in shared])
            weights = np.ones(len(tested)) if self.weights is None else self.weights[tested]
        mean = np.average(differences, weights=weights)
        spread = np.average((differences - mean) ** 2, weights=weights)
        return bool(mean > CLEARLY * np.sqrt(spread / max(weights.sum() - 1.0, 1.0)))

    def _try(self, candidate: Candidate, place: int) -> Outcome | None:
        """Members for one candidate, trained and tested on one fold."""
        if self.is_late and any(self.outcomes.values()):
            return None
        prepared = self._prepared[place]
        (train, test), start = prepared.places, perf_counter()
        weights = [None if self.weights is None else self.weights[part] for part in (train, test)]
        extractor, rows = prepared.extractor_of(candidate.sizes)
        params = self.model.get_params(deep=False) | dict.fromkeys(SIZES)
        params |= {"extractor": extractor, "estimator": candidate.estimator, "n_jobs": 1}
        model = type(self.model)(**params)
        features = module_features(extractor, rows[0])
        model._fit_to_features(features, self.y[train], weights[0], model._route(weights[0], {}))
        fitted = perf_counter()
        features = module_features(extractor, rows[1])
        losses, individual, decisions = model._losses(features, self.y[test])
        score = model._score_of(losses, self.y[test], weights[1])
        if self.scoring is not None:
            score = self._scored(model, rows[1], self.y[test], weights[1])
        error = float(np.average(individual, weights=weights[1]))
        return Outcome(score, losses, error, fitted - start, perf_counter() - fitted, decisions)

    def _scored(self, model: Any, rows: Any, targets: np.ndarray, weights: Any) -> float:
        scorer = get_scorer(self.scoring)
        if weights is None:
            return float(scorer(model, rows, targets))
        try:
            return float(scorer(model, rows, targets, sample_weight=weights))
        except TypeError as error:
            raise TypeError(
                f"scoring={self.scoring!r} cannot be used with sample_weight: it must take an argument "
                f"sample_weight ({error})."
            ) from error


def make_folds(
    cv: Any, X: Any, y: np.ndarray, weights: Any = None, groups: Any = None, *, classes: bool
) -> list[Fold]:
    """The folds of a splitter; one without a class to train on, or weight to test on, is an error."""
    if weights is not None and not np.any(weights):
        raise ValueError("sample_weight is zero for every row: there would be no data.")
    splitter = check_cv(5 if cv is None else cv, y, classifier=classes)
    places = np.arange(len(y))
    folds = [(places[train], places[test]) for train, test in splitter.split(X, y, groups)]
    if not folds:
        raise ValueError(f"cv must give at least one pair of training and test rows, got {cv!r}.")
    for number, (train, test) in enumerate(folds):
        missing = np.setdiff1d(y, y[train]) if classes else ()
        if len(missing):
            raise ValueError(
                f"class {missing.tolist()[0]!r} has no rows in the training part of fold {number}: use "
                "fewer or stratified folds (cv), or leave that class out."
            )
        if weights is not None and not np.any(weights[test]):
            raise ValueError(
                f"sample_weight is zero for every test row of fold {number}: use other folds (cv), or "
                "leave rows of weight 0 out."
            )
    return folds
