"""A search over members, sizes and diversity by cross-validation: what both searches share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from time import time
from typing import Any, ClassVar, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, indexable

from modae.data.validation import by_rows, copy_columns, rows_of
from modae.ensembles.base import SIZES, EnsembleParameters
from modae.ensembles.families import AllColumns, Family, default_families, make_scaler, several
from modae.ensembles.folds import FoldsInMemory, largest_fit, make_folds, settled, trains_each
from modae.ensembles.lazy_folds import LazyFolds
from modae.ensembles.leaderboard import Leaderboard
from modae.ensembles.members import as_seed, two_generators
from modae.ensembles.search import Candidate, Trials, most_trials, screen
from modae.utils.arrays import Array, Indices
from modae.utils.parallel import on_own_terminal, progress_bar
from modae.utils.parameters import check_choice, check_flag, check_positive
from modae.utils.text import counted, fixed, percent

#: Candidates for one kind of member where none are given: 0, 0.1, ..., 1.
DIVERSITIES = tuple(round(0.1 * step, 1) for step in range(11))

RULES = ("best", "one_standard_error")

#: Seconds after which a search on a terminal shows how far it is.
PATIENCE = 3.0

#: If deviations of columns differ by more than this factor, standardised columns are tried too.
SPREAD = 10.0


def of_best(ensemble: type, name: str, axis: int = 0) -> Any:
    """A method of an ensemble, as one of the search: that of the chosen ensemble, scaler included.

    ``axis`` is the one along which the answer has the rows.
    """

    @wraps(getattr(ensemble, name))
    def call(self: Any, X: Any, **options: Any) -> Any:
        best = self._best_ensemble()
        if isinstance(self.best_estimator_, Pipeline):
            X = self.best_estimator_[:-1].transform(X)
        return getattr(best, name)(X, **options)

    return by_rows(axis)(call)


@dataclass(eq=False, repr=False)
class ModularSearch(CallbackSupportMixin, EnsembleParameters):
    """What both searches share. Abstract: a subclass says what its ensemble and its targets are.

    Left alone (``estimator="auto"``), a search goes from many cheap trials to few costly ones:

    1. the own parameters of each family of members, on X itself, on few folds;
    2. sizes and diversity of the modules for these, with few modules, on few folds;
    3. for each family the best learner on X itself and the best two sizes, with all modules, in a race
       over all folds: whatever is clearly worse than the best so far is dropped.
    """

    _ensemble_class: ClassVar[Any]
    _default_member = property(lambda self: self._ensemble_class._default_member)
    _read_targets = property(lambda self: self._ensemble_class._read_targets)

    estimator: str | Mapping[str, Any] | BaseEstimator | list[tuple[str, BaseEstimator]] | None = "auto"
    _: KW_ONLY
    diversities: Sequence[float] | None = None
    n_modules: int | Sequence[int] | None = None
    n_components: int | Sequence[int] | None = None
    cv: int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] | None = None
    scoring: str | Callable[..., float] | None = None
    rule: str = "best"
    scale: str | bool = "auto"
    time_budget: float | None = None

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Try the candidates on the folds, and fit the chosen one to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or (n_samples, n_targets) for numbers
        sample_weight : array-like of shape (n_samples,), optional
            For the fits, as in :class:`ModularClassifier`, and for the scores.
        groups : array-like of shape (n_samples,), optional
            For a splitter that keeps groups together, such as ``GroupKFold``.

        Returns
        -------
        self
        """
        start = time()
        extractor = self._part("extractor")
        fresh = copy(self)  # a fit that fails leaves this model as it was
        upcast = bool(getattr(extractor, "upcast", False))
        X, lazy, y, known, weights, held = self._read(X, y, sample_weight, groups)
        # What is wrong with rows in memory is said here, not by a fold.
        rows: Any = lazy.columns() if lazy else rows_of(X, fresh, reset=True, upcast=upcast)
        n_features = rows.shape[1]
        given = [several(each) for each in (self.n_modules, self.n_components, self.diversities)]
        families = {
            name: (family, family.sizes(extractor, n_features, *given))
            for name, family in self._families(y[known], n_features, weights is not None).items()
        }
        seed = as_seed(self.random_state)
        model = self._ensemble(self.extractor, None, seed)
        all_sizes = [each for _, sizes in families.values() for each in sizes]
        largest, settings = largest_fit(extractor, all_sizes, n_features, seed)
        if callable(self.scoring):  # it may look at names of columns, as other extractors do
            settings = None
        classify = is_classifier(self)
        X, groups = (X, groups) if lazy else indexable(X, groups)
        folds = make_folds(self.cv, y if lazy else X, y, known, weights, groups, classes=classify)
        if lazy is None:
            seen, rest = X if settings is None else rows, np.setdiff1d(np.arange(len(y)), known)
            data: Any = FoldsInMemory(seen, y, weights, folds, largest, settings, model._route, rest)
            scales = self._scales(make_scaler(rows).fit(rows).var_, extractor)
        else:
            data = LazyFolds(lazy, y, weights, folds, largest, settings)
            copy_columns(fresh, largest)
            scales = self._scales(data.summary.variances, extractor)
            data.prepare(scales, columns=any(families))
        deadline = None if self.time_budget is None else start + float(self.time_budget)
        trials = Trials(model, data, classify, self.scoring, self.n_jobs, deadline)
        with self._progress(most_trials(trials, families, scales)) as trials.advance:
            screen(trials, families, scales)
            fresh._publish(trials, X, known)
        kept = {name: value for name, value in vars(self).items() if "callback" in name}
        self.__dict__ = fresh.__dict__ | kept  # scikit-learn ends callbacks by what it left here
        if classify:
            self.classes_ = self.best_estimator_.classes_
        if held is not None:
            self._best_ensemble()._keep_held_out(self, *held)
        return self

    @contextmanager
    def _progress(self, most: int) -> Iterator[Callable[[], None]]:
        """A function to call after each trial, for callbacks; without any, a bar for who waits."""
        waits = on_own_terminal() and not getattr(self, "_skl_callbacks", None)
        told = self._init_callback_context(max_subtasks=most)
        told.call_on_fit_task_begin(estimator=self)
        with progress_bar("Searching", most, shown=waits, unit="trial", after=PATIENCE) as advance:

            def count() -> None:
                task = told.subcontext(task_name="trial")
                task.call_on_fit_task_begin(estimator=self)
                task.call_on_fit_task_end(estimator=self)
                if waits:
                    advance()

            yield count
        told.call_on_fit_task_end(estimator=self)

    def _publish(self, trials: Trials, X: Any, known: Indices) -> None:
        """The table of all trials, and the chosen candidate, fitted to all rows."""
        table = trials.table()
        best = self._choose(trials, table)
        chosen = trials.tried[best]
        behind = np.array([trials.difference(each, chosen) for each in trials.tried])
        table["difference"], table["se_difference"] = behind.T
        table["size"] = np.array([each.size(self.n_features_in_) for each in trials.tried])
        self.cv_results_, self.best_index_ = table, best
        self.best_params_ = table["params"][best]
        self.best_score_ = float(table["mean_test_score"][best])
        self.best_estimator_ = self._refit(trials, chosen, X, known)
        self.n_splits_ = len(trials.data.folds)

    def _choose(self, trials: Trials, table: dict[str, Any]) -> int:
        """The best of those that were tried on most folds, or the simplest within a standard error.

        The simplest is the one with the fewest components in all, then with the least diversity.
        """
        errors = np.array([trials.cost(each) for each in trials.tried])
        if np.isinf(errors).all():
            raise ValueError("scoring gave NaN for every candidate: there is nothing to choose by.")
        if np.isinf(errors).any():
            warn(
                f"{np.isinf(errors).sum()} of {len(errors)} candidates have the score NaN: they rank "
                "last.",
                UserWarning,
                stacklevel=5,
            )
        final = np.array([each in trials.finalists for each in trials.tried])
        if np.isfinite(errors[final]).any() and not trials.is_late:  # else the best so far
            errors[~final] = np.inf
        errors[table["n_folds"] < table["n_folds"][np.isfinite(errors)].max()] = np.inf
        best = int(np.argmin(errors))
        if self.rule == "best":
            return best
        good = np.flatnonzero(errors <= errors[best] + table["se_test_score"][best])
        simple = {  # a learner on X itself counts as the simplest
            place: (each.size(0), (each.sizes or {"diversity": 0.0})["diversity"])
            for place, each in enumerate(trials.tried)
        }
        return min(map(int, good), key=simple.__getitem__)

    def _refit(self, trials: Trials, best: Candidate, X: Any, known: Indices) -> Any:
        """The chosen candidate, fitted to all rows; a pipeline if the columns are standardised."""
        extractor = self._part("extractor")
        if best.sizes is None:
            chosen: Any = AllColumns()
        elif isinstance(extractor, FrozenEstimator):
            wanted = {name: best.sizes[name] for name in SIZES}
            chosen = FrozenEstimator(extractor.with_params(**settled(wanted)))
        else:
            chosen = clone(extractor).set_params(**best.sizes)
        model = self._ensemble(chosen, trials.member(best), trials.model.random_state)
        model.set_params(**trials.calibration(best))
        data, scaler = trials.data, None
        routed = model._route(data.weights, {})
        if isinstance(data, LazyFolds):
            extractor = model._new_extractor(two_generators(model.random_state)[0])
            extractor, scaler, features = data.whole(extractor, best.sizes, best.scaled)
            model._fit_to_features(features, data.y, data.weights, routed)
            model.extractor_ = extractor
            copy_columns(model, extractor)
        else:
            if best.scaled:
                scaler = make_scaler(X).fit(X, sample_weight=data.weights)
                X = scaler.transform(X)
            model = model._fitted(X, None, data.y, known, data.weights, routed)
        return model if scaler is None else Pipeline([("scale", scaler), ("model", model)])

    def _families(self, y: np.ndarray, n_features: int, weighted: bool) -> dict[str, Family]:
        """The families to try, by name; one without a name if one kind of member was given."""
        if isinstance(self.estimator, str):
            task = "classification" if is_classifier(self) else "regression"
            return default_families(task, y, n_features, weighted=weighted)
        if isinstance(self.estimator, Mapping):
            return {name: Family(each, grid) for name, (each, grid) in self.estimator.items()}
        member, extractor = self._part("estimator"), self._part("extractor")
        return {"": Family(member, n_modules=extractor.n_modules, fractions=(), diversities=DIVERSITIES)}

    def _scales(self, variances: Array, extractor: Any) -> list[bool]:
        """Whether to standardise the columns: as asked, or both where their deviations differ much."""
        if isinstance(extractor, FrozenEstimator):
            if self.scale is True:
                raise ValueError("scale must be 'auto' or False with a frozen extractor, got True.")
            return [False]
        if self.scale != "auto":
            return [bool(self.scale)]
        deviations = np.sqrt(variances)
        varying = deviations[deviations > 0.0]
        differ = bool(len(varying)) and bool(varying.max() > SPREAD * varying.min())
        return [False, True] if differ and not callable(self.scoring) else [False]

    def _best_ensemble(self) -> Any:
        """The chosen ensemble, without a scaler before it."""
        check_is_fitted(self)
        best = self.best_estimator_
        return best[-1] if isinstance(best, Pipeline) else best

    @property
    def extractor_(self) -> Any:
        """The fitted extractor of the chosen ensemble; it takes rows as scaled by a step before it."""
        return self._best_ensemble().extractor_

    @property
    def leaderboard_(self) -> Leaderboard:
        """The best candidate of each family on modules, and on X itself, the best first."""
        check_is_fitted(self)
        return Leaderboard.of_search(self.cv_results_, classify=is_classifier(self))

    def summary(self) -> str:
        """What was chosen, and whether modules are better than the same learner on X itself.

        Returns
        -------
        text : str
            Two sentences.
        """
        check_is_fitted(self)
        return self.leaderboard_.sentences(self.best_params_)

    def _check(self) -> None:
        if self.scale != "auto":
            check_flag("scale", self.scale)
        if self.time_budget is not None:
            check_positive("time_budget", self.time_budget)
        extractor, ensemble = self._part("extractor"), self._ensemble_class
        known = hasattr(extractor, "with_params") or trains_each(extractor)
        if isinstance(extractor, type) or not known:
            raise TypeError(
                "extractor must have a method with_params, which gives models for other diversities "
                "from one fit, as LinearModularAutoencoder has (or FrozenEstimator of a fitted one), or "
                f"fit_path, as ModularAutoencoder has, got {extractor!r}: use GridSearchCV for others."
            )
        for name, choices in {"rule": RULES, **ensemble._choices}.items():
            check_choice(name, getattr(self, name), choices)
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, ("auto",))
        elif not isinstance(self.estimator, Mapping):
            self._check_parts(*ensemble._kind)
        elif not self.estimator:
            raise ValueError("estimator must name at least one family, got an empty dict.")
        for name, pair in self.estimator.items() if isinstance(self.estimator, Mapping) else ():
            good = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)
            if not isinstance(name, str) or not good or not hasattr(pair[0], "get_params"):
                raise ValueError(
                    "estimator must be 'auto', a dict of name -> (estimator, grid), one estimator or a "
                    f"list of (name, estimator), got {name!r}: {pair!r}."
                )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def _key_figures(self) -> dict[str, str]:
        classify = is_classifier(self)
        what, text = ("Error", percent) if classify else ("R2", fixed)

        def level(name: str) -> str:
            mean, spread = (self.cv_results_[f"{kind}_{name}_error"] for kind in ("mean", "se"))
            error = mean[self.best_index_]
            return f"{text(error if classify else 1.0 - error)} ± {text(spread[self.best_index_])}"

        tried = counted(len(self.cv_results_["params"]), "candidate")
        chosen = ", ".join(f"{name} {value}" for name, value in self.best_params_.items())
        figures = {
            "Chosen": f"{chosen}; of {tried}",
            f"{what} of the ensemble": f"{level('ensemble')}, over {counted(self.n_splits_, 'fold')}",
            f"{what} of one member": f"{level('individual')}, on average",
        }
        return figures | self._best_ensemble()._key_figures()

    def _ensemble(self, extractor: Any, estimator: Any, random_state: Any) -> Any:
        """An ensemble with what was set here."""
        names = (*self._ensemble_class._choices, "missing_label", "n_jobs")
        given = {name: getattr(self, name) for name in names}
        return self._ensemble_class(extractor, estimator, random_state=random_state, **given)
