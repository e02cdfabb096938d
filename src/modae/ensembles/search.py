"""The trials of a search: candidates on folds, each fold decomposed once.

On a fold the rows are projected once to their principal scores, (n, K). The modules of every candidate
live in these K dimensions, so a candidate costs a product with K rows and its members. (Extractors that
are frozen or of another class, and scorers that are functions, see the rows themselves.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from modae.data.rows import centred_product
from modae.data.summary import DataSummary
from modae.data.validation import take_rows
from modae.ensembles.base import SIZES
from modae.ensembles.families import AllColumns, make_scaler, variance
from modae.ensembles.members import module_features
from modae.linear.model import Settings, encoders_in_axes
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel

#: A candidate is dropped from a race when it is worse by so many standard errors of paired rows.
CLEARLY = 2.0

#: Candidates are screened on two folds, or on as many as it takes to test them on so many rows.
SCREEN_FOLDS, SCREEN_ROWS = 2, 500

#: Rows to train on and rows to test on.
Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A member with its own parameters, on modules of some size, or on X itself (no ``sizes``).

    ``gamma`` is a multiple of what scikit-learn calls "scale", if the member has a kernel to tune.
    """

    family: str
    estimator: Any
    params: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Any] | None = None
    gamma: float | None = None
    scaled: bool = False

    def size(self, n_features: int) -> float:
        """Features that all members see together; a share of the variance counts as itself."""
        sizes = self.sizes
        return n_features if sizes is None else sizes["n_modules"] * sizes["n_components"]


class Outcome(NamedTuple):
    """One candidate on one fold; ``losses`` are those of the test rows, in their order."""

    score: float
    error: float
    individual_error: float
    fit_time: float
    score_time: float
    losses: Array
    decisions: Array | None


class ModulesInAxes:
    """An extractor of rows in principal axes, (n, K): encoders (M, H, K') in the first of these axes."""

    def __init__(self, encoders: Array) -> None:
        self.encoders = encoders

    def transform_modules(self, rows: Array) -> Array:
        """Codes of each module, (M, n, H)."""
        n_modules, _, n_axes = self.encoders.shape
        flat = self.encoders.reshape(-1, n_axes).astype(rows.dtype, copy=False)
        return np.stack(np.hsplit(rows[:, :n_axes] @ flat.T, n_modules))


class PreparedFold:
    """Training and test rows of a fold, decomposed once, and the modules of the candidates on it."""

    def __init__(self, trials: Trials, fold: Fold, scaled: bool) -> None:
        train, test = take_rows(trials.X, fold[0]), take_rows(trials.X, fold[1])
        weights = None if trials.weights is None else trials.weights[fold[0]]
        if scaled:
            scaler = make_scaler(train).fit(train, sample_weight=weights)
            train, test = scaler.transform(train), scaler.transform(test)
        self.rows, self.in_axes = (train, test), trials.settings is not None
        self.modules: dict[tuple[Any, ...], Any] = {}
        self.extractor = trials.extractor
        if trials.settings is not None:  # a decomposition, and no modules yet
            asked = trials.settings.n_modules, trials.settings.n_components, trials.settings.spectrum
            summary = DataSummary.of(train, weights).ready_for(*asked)
            spectrum, width = summary.leading_spectrum(*asked)
            mean = spectrum.mean.astype(summary.dtype)
            seen = centred_product(train, mean, spectrum.axes.T)
            self.scores = seen, centred_product(test, mean, spectrum.axes.T)
            settings = replace(trials.settings, n_components=width)
            self.decomposition = settings, spectrum, summary.dtype
        elif not isinstance(self.extractor, FrozenEstimator):
            routed = trials.model._route(weights, {})["extractor"].fit
            self.extractor = clone(self.extractor).fit(train, trials.y[fold[0]], **routed)

    def solve(self, wanted: Sequence[dict[str, Any] | None]) -> None:
        """Find the modules of these sizes, unless they are there."""
        if None in wanted and () not in self.modules:
            self.modules[()] = AllColumns().fit(self.rows[0])
        new = {_key(each): settled(each) for each in wanted if each and _key(each) not in self.modules}
        if self.in_axes:
            encoders = encoders_in_axes(*self.decomposition, list(new.values()))
            found: list[Any] = [ModulesInAxes(each) for each in encoders]
        else:
            known = [{name: each[name] for name in SIZES if name in each} for each in new.values()]
            found = [self.extractor.with_params(**each) for each in known]  # without the rotation
        self.modules.update(zip(new, found, strict=True))

    def features(self, sizes: dict[str, Any] | None) -> tuple[list[Any], Any]:
        """Features of each module for the training and for the test rows, and the modules."""
        modules = self.modules[_key(sizes)]
        if isinstance(modules, ModulesInAxes):
            return [modules.transform_modules(each) for each in self.scores], modules
        return [module_features(modules, each) for each in self.rows], modules


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
    extractor : estimator
        Of sizes with which one fit serves every candidate; or a frozen one.
    settings : Settings or None
        Those of the extractor, if candidates can work in principal scores.
    classify : bool
        Whether y are labels.
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
    extractor: Any
    settings: Settings | None
    classify: bool
    scoring: Any
    n_jobs: int | None
    deadline: float | None = None
    advance: Callable[[], object] | None = None
    outcomes: dict[Candidate, dict[int, Outcome]] = field(default_factory=dict)
    prepared: dict[tuple[int, bool], PreparedFold] = field(default_factory=dict)
    gammas: dict[Candidate, float] = field(default_factory=dict)
    finalists: list[Candidate] = field(default_factory=list)

    def run(self, candidates: Sequence[Candidate], folds: Sequence[int]) -> None:
        """Try candidates on some folds; what is known, or would be too late, is not tried."""
        if self.is_late and self.tried:
            return
        tasks = [
            (candidate, place)
            for place in folds
            for candidate in candidates
            if place not in self.outcomes.setdefault(candidate, {})
        ]
        for key in dict.fromkeys((place, candidate.scaled) for candidate, place in tasks):
            if key not in self.prepared and not (self.is_late and self.prepared):
                self.prepared[key] = PreparedFold(self, self.folds[key[0]], key[1])
            if key in self.prepared:
                self.prepared[key].solve(
                    [each.sizes for each, place in tasks if key == (place, each.scaled)]
                )
        tasks = [(each, place) for each, place in tasks if (place, each.scaled) in self.prepared]
        for candidate, place in tasks:  # the same number on all folds, and in the model at the end
            if candidate.gamma is not None and candidate not in self.gammas:
                features, _ = self.prepared[place, candidate.scaled].features(candidate.sizes)
                scale = np.mean([each.shape[1] * variance(each) for each in features[0]])
                self.gammas[candidate] = candidate.gamma / (float(scale) or 1.0)
        with warnings.catch_warnings():  # the chosen one will say so, when it is fitted to all rows
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = run_parallel(self._try, tasks, self.n_jobs, self.advance)
        for (candidate, place), outcome in zip(tasks, found, strict=True):
            if outcome is not None:
                self.outcomes[candidate][place] = outcome

    def race(self, candidates: Sequence[Candidate]) -> None:
        """Fold after fold, drop those that are clearly worse than the best."""
        alive = list(candidates)
        for place in range(len(self.folds)):
            self.run(alive, [place])
            if place > 0:
                best = min(alive, key=self.cost)
                behind = {each: self.difference(each, best) for each in alive}
                alive = [each for each, (mean, error) in behind.items() if mean <= CLEARLY * error]

    def cost(self, candidate: Candidate) -> float:
        """Minus the mean score over the folds that were tried; infinite if there are none."""
        found = self.outcomes.get(candidate, {})
        if not found:
            return np.inf
        cost = -float(np.mean([outcome.score for outcome in found.values()]))
        if self.scoring is None and not self.classify:  # R^2 of a small fold says little: all rows
            tested = np.concatenate([self.folds[place][1] for place in found])
            weights = None if self.weights is None else self.weights[tested]
            losses = np.concatenate([outcome.losses for outcome in found.values()])
            cost = error_of(losses, self.y[tested], weights, classify=False) - 1.0
        return np.inf if np.isnan(cost) else cost

    @property
    def few_folds(self) -> range:
        """The folds on which candidates are screened."""
        n_folds, n_tested = len(self.folds), sum(len(test) for _, test in self.folds)
        return range(min(n_folds, max(SCREEN_FOLDS, ceil(SCREEN_ROWS * n_folds / max(n_tested, 1)))))

    @property
    def tried(self) -> list[Candidate]:
        """The candidates of which something is known, in the order in which they were tried."""
        return [candidate for candidate, found in self.outcomes.items() if found]

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and perf_counter() > self.deadline

    def table(self) -> dict[str, Any]:
        """``cv_results_``: what came out for each candidate on each fold, means and standard errors.

        It is NaN on folds where a candidate was not tried. Finalists rank before those that were only
        screened, those that were tried on more folds before those that were dropped, and scores that
        are not numbers last, as in ``GridSearchCV``.
        """
        tried, names = self.tried, Outcome._fields[:5]
        known = np.array([[k in self.outcomes[each] for k in range(len(self.folds))] for each in tried])
        values = np.full((*known.shape, 5), np.nan)
        for row, place in np.argwhere(known):
            values[row, place] = self.outcomes[tried[row]][place][:5]
        n_folds = known.sum(axis=1)
        table: dict[str, Any] = {"params": [self.params(each) for each in tried]}
        for name in dict.fromkeys(name for params in table["params"] for name in params):
            column = [params.get(name) for params in table["params"]]
            table[f"param_{name}"] = np.array(column, dtype=object if None in column else None)
        public = {"score": "test_score", "error": "ensemble_error"}
        for place, name in enumerate(public.get(name, name) for name in names):
            each = values[:, :, place]
            mean = np.mean(each, axis=1, where=known)
            spread = np.sqrt(np.mean((each - mean[:, None]) ** 2, axis=1, where=known))
            table |= {f"split{fold}_{name}": each[:, fold] for fold in range(len(self.folds))}
            table |= {f"mean_{name}": mean, f"se_{name}": spread / np.sqrt(np.maximum(n_folds - 1, 1))}
            if name == "test_score":
                table["std_test_score"] = spread
        table["n_folds"] = n_folds
        screened = [each not in self.finalists for each in tried]
        keys = [*zip(screened, -n_folds, map(self.cost, tried), strict=True)]
        ranked = sorted(keys)
        table["rank_test_score"] = np.array([1 + ranked.index(key) for key in keys], dtype=np.int32)
        return table

    def params(self, candidate: Candidate) -> dict[str, Any]:
        """What a candidate is: family, sizes, what the member has of its own, and the scale of X."""
        family = {"family": candidate.family} if candidate.family else {}
        scaled = {"scale": True} if candidate.scaled else {}
        return {**family, **(candidate.sizes or {}), **self.own_params(candidate), **scaled}

    def own_params(self, candidate: Candidate) -> dict[str, Any]:
        """Parameters of the member, with gamma as a number."""
        gamma = {"gamma": self.gammas[candidate]} if candidate in self.gammas else {}
        return {**candidate.params, **gamma}

    def difference(self, candidate: Candidate, best: Candidate) -> tuple[float, float]:
        """How much worse than the best, and its standard error, over the rows that both were tested on.

        With a scoring of one's own only scores of whole folds are known, and compared.
        """
        mine, theirs = self.outcomes.get(candidate, {}), self.outcomes.get(best, {})
        shared = sorted(set(mine) & set(theirs))
        if not shared:
            return np.inf, 0.0
        if self.scoring is not None:
            one, other = (np.array([-each[k].score for k in shared]) for each in (mine, theirs))
            return paired_difference(one, other)
        tested = np.concatenate([self.folds[place][1] for place in shared])
        weights = None if self.weights is None else self.weights[tested]
        scale = error_of(np.ones(len(tested)), self.y[tested], weights, classify=self.classify)
        one, other = (np.concatenate([each[k].losses for k in shared]) for each in (mine, theirs))
        return paired_difference(scale * one, scale * other, weights)

    def _try(self, candidate: Candidate, place: int) -> Outcome | None:
        """Members for one candidate, trained and tested on one fold."""
        if self.is_late and self.tried:
            return None
        (train, test), start = self.folds[place], perf_counter()
        weights = [None if self.weights is None else self.weights[part] for part in (train, test)]
        features, extractor = self.prepared[place, candidate.scaled].features(candidate.sizes)
        params = self.model.get_params(deep=False) | dict.fromkeys(SIZES)
        params |= {"extractor": extractor, "estimator": candidate.estimator, "n_jobs": 1}
        if candidate in self.gammas:
            params["estimator"] = clone(candidate.estimator).set_params(gamma=self.gammas[candidate])
        model = type(self.model)(**params)
        model._fit_to_features(features[0], self.y[train], weights[0], model._route(weights[0], {}))
        fitted = perf_counter()
        losses, individual, decisions = model._losses(features[1], self.y[test])
        error, individual = (
            error_of(each, self.y[test], weights[1], classify=self.classify)
            for each in (losses, individual)
        )
        score = 1.0 - error
        if self.scoring is not None:
            score = self._scored(model, place, candidate.scaled, weights[1])
        times = fitted - start, perf_counter() - fitted
        return Outcome(score, error, individual, *times, losses, decisions)

    def _scored(self, model: Any, place: int, scaled: bool, weights: Any) -> float:
        prepared, targets = self.prepared[place, scaled], self.y[self.folds[place][1]]
        in_axes = isinstance(model.extractor_, ModulesInAxes)
        rows = (prepared.scores if in_axes else prepared.rows)[1]
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


def settled(sizes: dict[str, Any]) -> dict[str, Any]:
    """What to ask of a fitted extractor: a share of the variance was settled by its fit."""
    shared = isinstance(sizes["n_components"], float)
    return {name: value for name, value in sizes.items() if not (shared and name == "n_components")}


def _key(sizes: dict[str, Any] | None) -> tuple[Any, ...]:
    return () if sizes is None else tuple(sizes.values())


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
        missing = np.setdiff1d(y, y[train])
        if classes and len(missing):
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


def error_of(losses: Array, y: np.ndarray, weights: Array | None = None, *, classify: bool) -> float:
    """Share of wrong labels; or 1 - R^2 from squared errors, of several targets together."""
    mean = float(np.average(losses, weights=weights))
    if classify:
        return mean
    spread = np.square(y - np.average(y, axis=0, weights=weights)).reshape(len(y), -1).sum(axis=1)
    return mean / (float(np.average(spread, weights=weights)) or 1.0)


def paired_difference(one: Array, other: Array, weights: Array | None = None) -> tuple[float, float]:
    """Mean difference of losses on the same rows, and its standard error; a weight of 2 is two rows."""
    weights = np.ones(len(one)) if weights is None else weights
    mean = np.average(one - other, weights=weights)
    spread = np.average((one - other - mean) ** 2, weights=weights)
    return float(mean), float(np.sqrt(spread / max(weights.sum() - 1.0, 1.0)))
