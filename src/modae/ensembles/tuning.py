"""ModularClassifierCV: the diversity, and the sizes if asked, by cross-validation."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, indexable

from modae.data import rows_of, weights_of
from modae.ensembles.base import EnsembleParameters, require_in_memory
from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.labels import TIE_BREAKS, VOTINGS, check_labels
from modae.ensembles.members import as_seed, require_members
from modae.ensembles.neighbors import NearestNeighborClassifier
from modae.ensembles.search import (
    RULES,
    Search,
    choose,
    integer_overrides,
    make_candidates,
    make_folds,
    results_table,
)
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice
from modae.utils.text import counted, percent

DIVERSITIES = tuple(round(0.1 * step, 1) for step in range(11))
"""Candidates where none are given: 0, 0.1, ..., 1."""


def _best_has(method: str, search: Any) -> bool:
    return hasattr(getattr(search, "best_estimator_", None) or search._model(None, None), method)


class ModularClassifierCV(ClassifierMixin, EnsembleParameters):
    """A :class:`ModularClassifier` whose diversity is chosen by cross-validation.

    Diversity is what makes the ensemble better than its members, and how much is best depends on the
    data. On each fold one decomposition serves every candidate, whatever its diversity and its sizes, so
    the search costs little more than training the members.

    Parameters
    ----------
    extractor : estimator with ``with_params``, default=None
        None means :class:`LinearModularAutoencoder` as it comes. ``FrozenEstimator`` of a fitted one is
        never fitted again: candidates come from its spectrum, so they can have no more components in all
        than it kept.
    estimator : classifier or list of (name, classifier), default=None
        The members, as in :class:`ModularClassifier`.
    diversities : sequence of float, default=None
        Candidates; None means 0, 0.1, ..., 1.
    n_modules, n_components : int or sequence of int, default=None
        Candidates for the sizes; None keeps those of the extractor.
    cv : int, splitter or iterable of (train, test), default=None
        Folds; None means 5, stratified.
    scoring : str, callable or None, default=None
        What is maximised, as in ``GridSearchCV``; None means accuracy.
    rule : {"best", "one_standard_error"}, default="best"
        Take the candidate with the best mean score (of equal ones the first: fewest modules, then fewest
        components, then least diversity, in the order given), or the simplest one (fewest components in
        all, then least diversity) that is within one standard error of it.
    voting, tie_break : str
        As in :class:`ModularClassifier`.
    n_jobs : int or None, default=None
        Candidates that are tried at the same time, in threads.
    random_state : int, RandomState instance or None, default=None
        As in :class:`ModularClassifier`; the same for all candidates.
    verbose : bool, default=False
        Whether to show a progress bar (needs ``rich``).

    Attributes
    ----------
    best_estimator_ : ModularClassifier
        Fitted to all rows with the chosen parameters.
    best_params_ : dict
        Its ``n_modules``, ``n_components`` and ``diversity``.
    best_index_ : int
    best_score_ : float
        Mean score of the chosen candidate.
    cv_results_ : dict of arrays
        For each candidate ``params``, ``param_...``, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``; and, as ``split{k}_...``, ``mean_...`` and ``se_...`` (standard error over
        the folds), ``test_score``, ``ensemble_error`` and ``individual_error``, the mean error of single
        members.
    classes_ : ndarray of shape (n_classes,)
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    Examples
    --------
    >>> from modae import ModularClassifierCV
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> search = ModularClassifierCV(n_components=[5], random_state=0).fit(X[:1000], y[:1000])
    >>> search.best_params_["diversity"], round(search.score(X[1000:], y[1000:]), 2)
    (0.6, 0.9)
    """

    def __init__(
        self,
        extractor: Any = None,
        estimator: Any = None,
        *,
        diversities: Any = None,
        n_modules: Any = None,
        n_components: Any = None,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        voting: str = "hard",
        tie_break: str = "probability",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.extractor = extractor
        self.estimator = estimator
        self.diversities = diversities
        self.n_modules = n_modules
        self.n_components = n_components
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.voting = voting
        self.tie_break = tie_break
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Try all candidates on all folds, and fit the chosen one to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            For the fits, as in :class:`ModularClassifier`, and for the scores.
        groups : array-like of shape (n_samples,), optional
            For a splitter that keeps groups together, such as ``GroupKFold``.

        Returns
        -------
        self
        """
        check_choice("rule", self.rule, RULES)
        check_choice("voting", self.voting, VOTINGS)
        check_choice("tie_break", self.tie_break, TIE_BREAKS)
        self._check_names()
        extractor = self._part("extractor")
        require_with_params(extractor)
        require_members(self._named_parts(), "classifier", is_classifier)
        require_in_memory(X, "cross-validation")
        fresh = copy(self)  # a fit that fails leaves this model as it was
        rows = rows_of(X, fresh, reset=True)  # what is wrong with X is said here, and not by a fold
        y = check_labels(self, X, y)
        weights = weights_of(sample_weight, len(y))
        X, groups = indexable(X, groups)
        diversities = DIVERSITIES if self.diversities is None else self.diversities
        candidates = make_candidates(
            extractor, fresh.n_features_in_, diversities, self.n_modules, self.n_components
        )
        folds = make_folds(self.cv, X, y, weights, groups)
        # Frozen extractors and functions that score may look at names of columns.
        plain = type(extractor) is LinearModularAutoencoder and not callable(self.scoring)
        seed = as_seed(self.random_state)
        search = Search(
            model=self._model(self.extractor, seed),
            candidates=candidates,
            folds=folds,
            X=rows if plain else X,
            y=y,
            weights=weights,
            scoring=self.scoring,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
        table = results_table(candidates, search.run())
        best = choose(table, self.rule)
        overrides = candidates[best]
        if isinstance(extractor, FrozenEstimator):
            chosen = FrozenEstimator(extractor.with_params(**integer_overrides(overrides)))
        else:
            chosen = clone(extractor).set_params(**overrides)
        model = self._model(chosen, seed).fit(X, y, sample_weight)
        fresh.cv_results_, fresh.best_index_, fresh.best_params_ = table, best, dict(overrides)
        fresh.best_score_ = float(table["mean_test_score"][best])
        fresh.best_estimator_, fresh.classes_, fresh.n_splits_ = model, model.classes_, len(folds)
        self.__dict__ = fresh.__dict__
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label that wins the vote of the chosen ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Shares of the votes, or mean probabilities, of the chosen ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._best().predict_proba(X)

    @available_if(partial(_best_has, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Mean of the members' decision functions, if all members have one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return self._best().decision_function(X)

    def predict_members(self, X: Any) -> np.ndarray:
        """Label that each member of the chosen ensemble predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_modules, n_samples)
        """
        return self._best().predict_members(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the vote of the chosen ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        return self._best().score(X, y, sample_weight)

    def member_scores(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Accuracy of each member of the chosen ensemble alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        scores : ndarray of shape (n_modules,)
        """
        return self._best().member_scores(X, y, sample_weight)

    def disagreement(self, X: Any) -> Array:
        """Chance that two members of the chosen ensemble predict different labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        disagreement : ndarray of shape (n_samples,)
        """
        return self._best().disagreement(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def _best(self) -> ModularClassifier:
        check_is_fitted(self)
        best: ModularClassifier = self.best_estimator_
        return best

    def _model(self, extractor: Any, random_state: Any) -> ModularClassifier:
        return ModularClassifier(
            extractor,
            self.estimator,
            voting=self.voting,
            tie_break=self.tie_break,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    def _key_figures(self) -> dict[str, str]:
        def error(name: str) -> str:
            mean, spread = (self.cv_results_[f"{kind}_{name}_error"] for kind in ("mean", "se"))
            return f"{percent(mean[self.best_index_])} ± {percent(spread[self.best_index_])}"

        tried = counted(len(self.cv_results_["params"]), "candidate")
        figures = {
            "Chosen diversity": f"{self.best_params_['diversity']:g}, of {tried}",
            "Error of the vote": f"{error('ensemble')}, over {counted(self.n_splits_, 'fold')}",
            "Error of one member": f"{error('individual')}, on average",
        }
        return figures | self.best_estimator_._key_figures()

    @staticmethod
    def _default_member() -> NearestNeighborClassifier:
        return NearestNeighborClassifier()


def require_with_params(extractor: Any) -> None:
    """An extractor whose one fit serves every candidate."""
    if isinstance(extractor, type) or not hasattr(extractor, "with_params"):
        raise TypeError(
            "extractor must have a method with_params, which gives models for other diversities from "
            "one fit, as LinearModularAutoencoder does (or FrozenEstimator of a fitted one), got "
            f"{extractor!r}: use GridSearchCV over ModularClassifier for others."
        )
