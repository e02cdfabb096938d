"""The trials of a search: candidates on folds, compared by their errors on the same rows.

From many cheap trials to few costly ones: that is the order in which candidates are tried.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from time import perf_counter, time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.utils import get_tags

from modae.ensembles.base import SIZES
from modae.ensembles.families import Family, variance
from modae.ensembles.folds import FoldData, FoldKey, Sizes
from modae.ensembles.votes import best_temperature
from modae.utils.arrays import Array

#: Kinds of members by name, each with the sizes of modules to try.
Families = Mapping[str, tuple[Family, list[Sizes]]]

#: A candidate is dropped from a race when it is worse by so many standard errors of paired rows.
CLEARLY = 2.0

#: Candidates are screened on two folds, or on as many as it takes to test them on so many rows.
SCREEN_FOLDS, SCREEN_ROWS = 2, 500

#: Of each family so many sizes race, the best ones of the screening.
FINALISTS = 2

#: Sizes and diversity are screened with few modules.
FEW_MODULES = 5


@dataclass(frozen=True, eq=False)
class Candidate:
    """A member with its own parameters, on modules of some size, or on X itself (no ``sizes``).

    ``gamma`` is a multiple of what scikit-learn calls "scale", if the member has a kernel to tune.
    """

    family: str
    estimator: Any
    params: dict[str, Any] = field(default_factory=dict)
    sizes: Sizes | None = None
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


@dataclass(eq=False)
class Trials:
    """Candidates on folds: what is tried, on what, how it is judged, and what came out so far.

    Parameters
    ----------
    model : ensemble
        All but the extractor and the members is the same for all candidates.
    data : FoldsInMemory or LazyFolds
        Where the rows of the folds are, and their modules; and targets and weights of all rows.
    classify : bool
        Whether y are labels.
    scoring : as in ``GridSearchCV``
    n_jobs : int or None
    deadline : float or None
        When to stop, by the clock.
    advance : callable
        Called when a trial is done.
    """

    model: Any
    data: Any
    classify: bool
    scoring: Any
    n_jobs: int | None
    deadline: float | None = None
    advance: Callable[[], object] | None = None
    outcomes: dict[Candidate, dict[int, Outcome]] = field(default_factory=dict)
    gammas: dict[Candidate, float] = field(default_factory=dict)
    finalists: list[Candidate] = field(default_factory=list)

    def run(self, candidates: Sequence[Candidate], folds: Sequence[int]) -> None:
        """Try candidates on some folds; what is known, or would be too late, is not tried."""
        if self.is_late and self.tried:
            return
        tasks = [
            (candidate, (place, candidate.scaled))
            for place in folds
            for candidate in candidates
            if place not in self.outcomes.setdefault(candidate, {})
        ]
        ready: set[FoldKey] = set()
        for key in dict.fromkeys(key for _, key in tasks):
            if not (self.is_late and (self.tried or ready)):
                self.data.modules(key).solve([each.sizes for each, its in tasks if its == key])
                ready.add(key)
        tasks = [(candidate, key) for candidate, key in tasks if key in ready]
        self._find_gammas(tasks)
        work = [(key, self._trial(candidate, key)) for candidate, key in tasks]
        with warnings.catch_warnings():  # the chosen one will say so, when it is fitted to all rows
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = self.data.run(work, self.n_jobs, self.advance)
        for (candidate, (place, _)), outcome in zip(tasks, found, strict=True):
            if outcome is not None:
                self.outcomes[candidate][place] = outcome

    def _find_gammas(self, tasks: Sequence[tuple[Candidate, FoldKey]]) -> None:
        """Kernels of new candidates: the same number on all folds, and in the model at the end."""
        new = {each: key for each, key in reversed(tasks) if each.gamma is not None}
        new = {each: key for each, key in new.items() if each not in self.gammas}
        work = [
            (key, partial(kernel_scale, modules=self.data.modules(key).of(each.sizes)))
            for each, key in new.items()
        ]
        for each, scale in zip(new, self.data.run(work) if work else (), strict=True):
            assert each.gamma is not None
            self.gammas[each] = each.gamma / (scale or 1.0)

    def _trial(self, candidate: Candidate, key: FoldKey) -> Callable[[FoldData], Outcome | None]:
        """Members for one candidate, trained and tested on one fold: a function of its rows."""
        modules = self.data.modules(key).of(candidate.sizes)
        params = self.model.get_params(deep=False) | dict.fromkeys(SIZES)
        params |= {"extractor": modules, "estimator": self.member(candidate), "n_jobs": 1}
        how = {"scoring": self.scoring, "classify": self.classify}
        deadline = self.deadline if self.tried else None
        return partial(try_model, model=type(self.model)(**params), deadline=deadline, **how)

    def member(self, candidate: Candidate) -> Any:
        """The member of a candidate, with the kernel that was found for it."""
        if candidate not in self.gammas:
            return candidate.estimator
        return clone(candidate.estimator).set_params(gamma=self.gammas[candidate])

    def race(self, candidates: Sequence[Candidate]) -> None:
        """Fold after fold, drop those that are clearly worse than the best."""
        alive = list(candidates)
        for place in range(len(self.data.folds)):
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
            losses = np.concatenate([outcome.losses for outcome in found.values()])
            cost = error_of(losses, *self.tested(found), classify=False) - 1.0
        return np.inf if np.isnan(cost) else cost

    def tested(self, places: Iterable[int]) -> tuple[np.ndarray, Array | None]:
        """Targets and weights of the test rows of some folds."""
        rows = np.concatenate([self.data.folds[place][1] for place in places])
        return self.data.y[rows], None if self.data.weights is None else self.data.weights[rows]

    def calibration(self, candidate: Candidate) -> dict[str, float]:
        """What only rows held out can tell: the temperature of mean decision functions, if they vote."""
        found = self.outcomes[candidate]
        if any(outcome.decisions is None for outcome in found.values()):
            return {}
        scores = np.concatenate([outcome.decisions for outcome in found.values()])
        y, weights = self.tested(found)
        labels = np.searchsorted(np.unique(self.data.y), y)
        return {"calibration": best_temperature(scores, labels, weights)}

    @property
    def few_folds(self) -> range:
        """The folds on which candidates are screened."""
        n_tested = [len(test) for _, test in self.data.folds]
        needed = ceil(SCREEN_ROWS * len(n_tested) / max(sum(n_tested), 1))
        return range(min(len(n_tested), max(SCREEN_FOLDS, needed)))

    @property
    def tried(self) -> list[Candidate]:
        """The candidates of which something is known, in the order in which they were tried."""
        return [candidate for candidate, found in self.outcomes.items() if found]

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and time() > self.deadline

    def table(self) -> dict[str, Any]:
        """``cv_results_``: what came out for each candidate on each fold, means and standard errors.

        It is NaN on folds where a candidate was not tried. Finalists rank before those that were only
        screened, those that were tried on more folds before those that were dropped, and scores that
        are not numbers last, as in ``GridSearchCV``.
        """
        tried, names, folds = self.tried, Outcome._fields[:5], range(len(self.data.folds))
        known = np.array([[fold in self.outcomes[each] for fold in folds] for each in tried])
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
            table |= {f"split{fold}_{name}": each[:, fold] for fold in folds}
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
        gamma = {"gamma": self.gammas[candidate]} if candidate in self.gammas else {}
        scaled = {"scale": True} if candidate.scaled else {}
        return {**family, **(candidate.sizes or {}), **candidate.params, **gamma, **scaled}

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
        y, weights = self.tested(shared)
        scale = error_of(np.ones(len(y)), y, weights, classify=self.classify)
        one, other = (np.concatenate([each[k].losses for k in shared]) for each in (mine, theirs))
        return paired_difference(scale * one, scale * other, weights)


def screen(trials: Trials, families: Families, scales: list[bool]) -> None:
    """Own parameters and scale, then sizes and diversity, then a race of the best."""
    finalists: list[Candidate] = []
    for name, (family, sizes) in families.items():
        own_scales = scales
        if family.rotation and finalists:  # trees do not see the scale, but their modules do
            own_scales = [min(finalists, key=trials.cost).scaled]
        variants = _variants(trials, name, family, sizes, own_scales)
        if len(variants) > 1:
            trials.run(variants, trials.few_folds)
        best = min(variants, key=trials.cost)
        if best.sizes is None:
            finalists.append(best)
        on_modules = replace(best, estimator=family.with_params(family.member, best.params))
        made = [replace(on_modules, sizes=each) for each in sizes]
        if name:
            few = [{**each, "n_modules": min(each["n_modules"], FEW_MODULES)} for each in sizes]
            small = [replace(on_modules, sizes=each) for each in few]
            trials.run(small, trials.few_folds)
            order = np.argsort([trials.cost(each) for each in small], kind="stable")
            made = [made[place] for place in order[:FINALISTS]]
        finalists += made
    trials.finalists = finalists
    if "" in families:
        trials.run(finalists, range(len(trials.data.folds)))
    else:
        trials.race(finalists)


def _variants(
    trials: Trials, name: str, family: Family, sizes: list[Sizes], scales: list[bool]
) -> list[Candidate]:
    """The own parameters of a family on X itself; on modules where it does not take such rows."""
    learner = family.member if family.plain is None else family.plain
    fits = not trials.data.is_sparse or get_tags(learner).input_tags.sparse
    learner, first = (learner, None) if name and fits else (family.member, sizes[0])
    return [
        Candidate(name, family.with_params(learner, own), own, first, gamma, scaled)
        for own, gamma in family.variants()
        for scaled in (scales[-1:] if family.wants_scale else scales)
    ]


def most_trials(trials: Trials, families: Families, scales: list[bool]) -> int:
    """How many trials there will be if no candidate is dropped: for the time left."""
    few, n_folds, most = len(trials.few_folds), len(trials.data.folds), 0
    for name, (family, sizes) in families.items():
        n_variants, n_sizes = len(family.variants()) * len(scales), len(sizes)
        raced = 1 + min(n_sizes, FINALISTS) if name else n_sizes
        most += few * n_variants + few * n_sizes * bool(name) + n_folds * raced
    return most


def try_model(
    data: FoldData, model: Any, scoring: Any, classify: bool, deadline: float | None
) -> Outcome | None:
    """An ensemble trained and tested on one fold; None if it is too late to begin."""
    if deadline is not None and time() > deadline:
        return None
    start, features = perf_counter(), data.features(model.extractor)
    (train, test), weights = data.y, data.weights
    model._fit_to_features(features[0], train, weights[0], model._route(weights[0], {}))
    fitted = perf_counter()
    losses, individual, decisions = model._losses(features[1], test)
    error, individual = (
        error_of(each, test, weights[1], classify=classify) for each in (losses, individual)
    )
    score = 1.0 - error
    if scoring is not None:
        score = scored(model, data.rows_for(model.extractor)[1], test, weights[1], scoring)
    times = fitted - start, perf_counter() - fitted
    return Outcome(score, error, individual, *times, losses, decisions)


def kernel_scale(data: FoldData, modules: Any) -> float:
    """What scikit-learn's gamma="scale" divides by, as a mean over the modules."""
    return float(np.mean([each.shape[1] * variance(each) for each in data.features(modules)[0]]))


def scored(model: Any, rows: Any, targets: np.ndarray, weights: Any, scoring: Any) -> float:
    """The score of a fitted ensemble by a scorer."""
    scorer = get_scorer(scoring)
    if weights is None:
        return float(scorer(model, rows, targets))
    try:
        return float(scorer(model, rows, targets, sample_weight=weights))
    except TypeError as error:
        raise TypeError(
            f"scoring={scoring!r} cannot be used with sample_weight: it must take an argument "
            f"sample_weight ({error})."
        ) from error


def error_of(losses: Array, y: np.ndarray, weights: Array | None = None, *, classify: bool) -> float:
    """Share of wrong labels; or 1 - R^2 from squared errors, of several targets together."""
    mean = float(np.average(losses, weights=weights))
    if classify:
        return mean
    spread = np.square(y - np.average(y, axis=0, weights=weights)).reshape(len(y), -1).sum(axis=1)
    return mean / (float(np.average(spread, weights=weights)) or 1.0)


def error_and_r2(true: Any, told: Any) -> tuple[float, float | None]:
    """Root mean square error of numbers, and R2 if the true ones differ.

    Examples
    --------
    >>> from modae.ensembles.search import error_and_r2
    >>> error_and_r2([1.0, 3.0], [1.0, 2.0])
    (0.7071067811865476, 0.5)
    """
    values = np.asarray(true, dtype=np.float64)
    loss, spread = float(np.mean((values - told) ** 2)), float(np.var(values))
    return loss**0.5, 1.0 - loss / spread if spread else None


def paired_difference(one: Array, other: Array, weights: Array | None = None) -> tuple[float, float]:
    """Mean difference of losses on the same rows, and its standard error; a weight of 2 is two rows."""
    weights = np.ones(len(one)) if weights is None else weights
    mean = np.average(one - other, weights=weights)
    spread = np.average((one - other - mean) ** 2, weights=weights)
    return float(mean), float(np.sqrt(spread / max(weights.sum() - 1.0, 1.0)))
