"""A search over members, sizes and diversity by cross-validation: what both searches share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from time import perf_counter
from typing import Any, Self
from warnings import warn

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, indexable

from modae.data import rows_of, weights_of
from modae.ensembles.base import EnsembleParameters
from modae.ensembles.families import AllColumns, Family, default_families
from modae.ensembles.members import as_seed
from modae.ensembles.search import Candidate, Trials, make_folds
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.model import resolved_components
from modae.utils.parameters import check_choice, check_count, check_diversity, check_positive
from modae.utils.text import counted, percent

DIVERSITIES = tuple(round(0.1 * step, 1) for step in range(11))
"""Candidates for one kind of member where none are given: 0, 0.1, ..., 1."""

RULES = ("best", "one_standard_error")

SCREEN_FOLDS, FEW_MODULES, FINALISTS = 2, 8, 2
"""Sizes and diversity are screened on two folds with few modules; the best two of a family race."""

SPREAD = 10.0
"""Columns are standardised if their deviations differ by more than this factor."""


class ModularSearch(EnsembleParameters):
    """What both searches share. Abstract: a subclass says what its ensemble and its targets are.

    Left alone (``estimator="auto"``), a search goes from many cheap trials to few dear ones:

    1. the own parameters of each family of members, on X itself, on two folds;
    2. sizes and diversity of the modules for these, with few modules, on two folds;
    3. for each family the best learner on X itself and the best two sizes, with all modules, in a race
       over all folds: whatever is clearly worse than the best so far is dropped.
    """

    _task: str

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        """Try the candidates, and fit the chosen one to all rows."""
        start = perf_counter()
        self._check_search()
        extractor = self._part("extractor")
        fresh = copy(self)  # a fit that fails leaves this model as it was
        rows = rows_of(X, fresh, reset=True)  # what is wrong with X is said here, and not by a fold
        y = self._checked_targets(X, y)
        weights = weights_of(sample_weight, len(y))
        X, groups = indexable(X, groups)
        families = self._families(len(y))
        sizes = {name: self._sizes(family, rows.shape[1]) for name, family in families.items()}
        folds = make_folds(self.cv, X, y, weights, groups, classes=self._task == "classification")
        # Frozen extractors and functions that score may look at names of columns.
        plain = type(extractor) is LinearModularAutoencoder and not callable(self.scoring)
        trials = Trials(
            model=self._ensemble(self.extractor, None, as_seed(self.random_state)),
            folds=folds,
            X=rows if plain else X,
            y=y,
            weights=weights,
            scaled=self._is_scaled(rows, extractor),
            largest=_largest([each for group in sizes.values() for each in group], rows.shape[1]),
            scoring=self.scoring,
            n_jobs=self.n_jobs,
            deadline=None if self.time_budget is None else start + float(self.time_budget),
        )
        if "" in families:
            only = [Candidate("", families[""].member, {}, each) for each in sizes[""]]
            trials.run(only, range(len(folds)))
        else:
            self._screen(trials, families, sizes)
        table = trials.table()
        best = self._choose(trials, table)
        chosen = trials.tried[best]
        fresh.cv_results_, fresh.best_index_, fresh.best_params_ = table, best, chosen.all_params
        fresh.best_score_ = float(table["mean_test_score"][best])
        fresh.best_estimator_ = self._refit(trials, chosen, X, sample_weight)
        fresh.n_splits_ = len(folds)
        self.__dict__ = fresh.__dict__
        return self

    def _screen(
        self, trials: Trials, families: Mapping[str, Family], sizes: Mapping[str, list[dict[str, Any]]]
    ) -> None:
        """Own parameters, then sizes and diversity, then a race of the best."""
        folds = range(min(SCREEN_FOLDS, len(trials.folds)))
        plain = {
            name: [Candidate(name, family.on_columns(own), own) for own in family.variants()]
            for name, family in families.items()
        }
        trials.run([each for group in plain.values() for each in group], folds)
        best = {name: min(group, key=trials.error) for name, group in plain.items()}
        members = {
            name: clone(family.member).set_params(**best[name].params)
            for name, family in families.items()
        }
        small = {
            name: [
                Candidate(name, members[name], best[name].params, {**each, "n_modules": few})
                for each in group
                for few in [min(each["n_modules"], FEW_MODULES)]
            ]
            for name, group in sizes.items()
        }
        trials.run([each for group in small.values() for each in group], folds)
        finalists = list(best.values())
        for name, group in small.items():
            errors = [trials.error(each) for each in group]
            finalists += [
                Candidate(name, members[name], best[name].params, sizes[name][place])
                for place in np.argsort(errors, kind="stable")[:FINALISTS]
            ]
        trials.race(finalists)

    def _choose(self, trials: Trials, table: dict[str, Any]) -> int:
        """The best of those that were tried on most folds, or the simplest within a standard error.

        The simplest is the one with the fewest components in all, then with the least diversity.
        """
        errors = np.array([trials.error(each) for each in trials.tried])
        if np.isinf(errors).all():
            raise ValueError("scoring gave NaN for every candidate: there is nothing to choose by.")
        if np.isinf(errors).any():
            warn(
                f"{np.isinf(errors).sum()} of {len(errors)} candidates have the score NaN: they rank "
                "last.",
                UserWarning,
                stacklevel=5,
            )
        errors[table["n_folds"] < table["n_folds"].max()] = np.inf
        best = int(np.argmin(errors))
        if self.rule == "best":
            return best
        good = np.flatnonzero(errors <= errors[best] + table["se_test_score"][best])
        simple = []
        for place in good:
            sizes = trials.tried[place].sizes
            size = 0 if sizes is None else sizes["n_modules"] * sizes["n_components"]
            simple.append((size, 0.0 if sizes is None else sizes["diversity"]))
        return int(good[min(range(len(good)), key=simple.__getitem__)])

    def _refit(self, trials: Trials, best: Candidate, X: Any, sample_weight: Any) -> Any:
        """The chosen candidate, fitted to all rows; a pipeline if the columns are standardised."""
        extractor = self._part("extractor")
        if best.sizes is None:
            chosen: Any = AllColumns()
        elif isinstance(extractor, FrozenEstimator):
            chosen = FrozenEstimator(extractor.with_params(**_settled(best.sizes)))
        else:
            chosen = clone(extractor).set_params(**best.sizes)
        model = self._ensemble(chosen, best.estimator, trials.model.random_state)
        self._calibrate(model, trials, best)
        if not trials.scaled:
            return model.fit(X, trials.y, sample_weight)
        scaler = StandardScaler(with_mean=not hasattr(X, "tocsr")).fit(X, sample_weight=trials.weights)
        model.fit(scaler.transform(X), trials.y, sample_weight)
        return Pipeline([("scale", scaler), ("model", model)])

    def _families(self, n_rows: int) -> dict[str, Family]:
        """The families to try, by name; one without a name if one kind of member was given."""
        if isinstance(self.estimator, str):
            return default_families(self._task, n_rows)
        if isinstance(self.estimator, Mapping):
            return {name: Family(each, grid, each) for name, (each, grid) in self.estimator.items()}
        member, extractor = self._part("estimator"), self._part("extractor")
        return {"": Family(member, {}, member, extractor.n_modules, (), DIVERSITIES)}

    def _sizes(self, family: Family, n_features: int) -> list[dict[str, Any]]:
        """Candidates for the modules of a family, small ones first."""
        if not family.diversities:
            return []
        extractor = self._part("extractor")
        widths = family.widths(n_features)
        if self.n_components is not None:
            widths = _several(self.n_components)
            for width in widths:
                check_count("n_components", width)
                resolved_components(width, n_features)
        elif not widths or isinstance(extractor, FrozenEstimator):
            own = getattr(extractor, "n_components_", None)
            widths = [own or resolved_components(extractor.n_components, n_features)]
        frozen = isinstance(extractor, FrozenEstimator)
        counts = extractor.n_modules if frozen else family.n_modules
        counts = _several(counts if self.n_modules is None else self.n_modules)
        diversities = _several(family.diversities if self.diversities is None else self.diversities)
        if not (counts and widths and diversities):
            raise ValueError("diversities, n_modules and n_components must not be empty.")
        for count in counts:
            check_count("n_modules", count)
        for diversity in diversities:
            check_diversity(diversity)
        turned = {"rotation": family.rotation} if family.shares and family.rotation else {}
        return [
            {
                "n_modules": int(count),
                "n_components": width if isinstance(width, float) else int(width),
                "diversity": float(diversity),
                **turned,
            }
            for count in counts
            for width in widths
            for diversity in diversities
        ]

    def _is_scaled(self, rows: Any, extractor: Any) -> bool:
        """Whether columns are standardised: if asked, or if their deviations differ much."""
        if isinstance(extractor, FrozenEstimator):
            if self.scale is True:
                raise ValueError("scale must be 'auto' or False with a frozen extractor, got True.")
            return False
        if self.scale != "auto":
            return bool(self.scale)
        deviations = np.sqrt(StandardScaler(with_mean=False).fit(rows).var_)
        varying = deviations[deviations > 0.0]
        return bool(len(varying)) and bool(varying.max() > SPREAD * varying.min())

    def _check_search(self) -> None:
        check_choice("rule", self.rule, RULES)
        check_choice("scale", self.scale, ("auto", True, False))
        if self.time_budget is not None:
            check_positive("time_budget", self.time_budget)
        extractor = self._part("extractor")
        if isinstance(extractor, type) or not hasattr(extractor, "with_params"):
            raise TypeError(
                "extractor must have a method with_params, which gives models for other diversities "
                "from one fit, as LinearModularAutoencoder does (or FrozenEstimator of a fitted one), "
                f"got {extractor!r}: use GridSearchCV over an ensemble for others."
            )
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, ("auto",))
        elif isinstance(self.estimator, Mapping):
            self._check_families()
        else:
            self._check_kind()

    def _check_families(self) -> None:
        """Pairs of an estimator and a grid of its parameters, by name."""
        for name, pair in self.estimator.items():
            good = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)
            if not isinstance(name, str) or not good or not hasattr(pair[0], "get_params"):
                raise ValueError(
                    "estimator must be 'auto', a dict of name -> (estimator, grid), one estimator or a "
                    f"list of (name, estimator), got {name!r}: {pair!r}."
                )
        if not self.estimator:
            raise ValueError("estimator must name at least one family, got an empty dict.")

    def _call(self, method: str, X: Any, *args: Any) -> Any:
        """A method of the chosen ensemble, for rows that are not standardised yet."""
        check_is_fitted(self)
        best = self.best_estimator_
        if isinstance(best, Pipeline):
            X, best = best[:-1].transform(X), best[-1]
        return getattr(best, method)(X, *args)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def _key_figures(self) -> dict[str, str]:
        def error(name: str) -> str:
            mean, spread = (self.cv_results_[f"{kind}_{name}_error"] for kind in ("mean", "se"))
            return f"{percent(mean[self.best_index_])} ± {percent(spread[self.best_index_])}"

        tried = counted(len(self.cv_results_["params"]), "candidate")
        chosen = ", ".join(f"{name} {value}" for name, value in self.best_params_.items())
        figures = {
            "Chosen": f"{chosen}; of {tried}",
            "Error of the ensemble": f"{error('ensemble')}, over {counted(self.n_splits_, 'fold')}",
            "Error of one member": f"{error('individual')}, on average",
        }
        best = self.best_estimator_
        return figures | (best[-1] if isinstance(best, Pipeline) else best)._key_figures()

    @abstractmethod
    def _ensemble(self, extractor: Any, estimator: Any, random_state: Any) -> Any:
        """An ensemble with what was set here."""

    @abstractmethod
    def _check_kind(self) -> None:
        """Whether members are classifiers, or regressors."""

    @abstractmethod
    def _checked_targets(self, X: Any, y: Any) -> np.ndarray:
        """Labels or targets, one for each row."""

    def _calibrate(self, model: Any, trials: Trials, best: Candidate) -> None:
        """Set what only rows held out can tell."""


def _largest(sizes: list[dict[str, Any]], n_features: int) -> dict[str, int]:
    """Sizes with which a fit keeps as many principal axes as the largest candidate needs.

    One module with all of them: fitting that is a PCA and nothing more. Where the number of components
    is a share of the variance, only the fit can tell it.
    """
    if all(isinstance(each["n_components"], int) for each in sizes):
        n_axes = max(each["n_modules"] * each["n_components"] for each in sizes)
        return {"n_modules": 1, "n_components": min(n_axes, n_features)}
    return {"n_modules": max(each["n_modules"] for each in sizes)}


def _settled(sizes: dict[str, Any]) -> dict[str, Any]:
    """What to ask of a fitted extractor: a share of the variance was settled by its fit."""
    return {
        name: value
        for name, value in sizes.items()
        if name != "rotation" and not (name == "n_components" and isinstance(value, float))
    }


def _several(sizes: Any) -> list[Any]:
    return list(sizes) if np.iterable(sizes) else [sizes]
