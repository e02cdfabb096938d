"""ModularRegressorCV: members, sizes and diversity by cross-validation."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import MultiOutputMixin, RegressorMixin, is_regressor
from sklearn.callback import with_callbacks

from modae.data.validation import by_rows, targets_of
from modae.ensembles.neighbors import NearestNeighborRegressor
from modae.ensembles.regressor import AGGREGATES, ModularRegressor
from modae.ensembles.tuning import ModularSearch
from modae.utils.arrays import Array
from modae.utils.parameters import check_choice


class ModularRegressorCV(MultiOutputMixin, RegressorMixin, ModularSearch):
    """A :class:`ModularRegressor` whose members, sizes and diversity are chosen by cross-validation.

    It searches as :class:`ModularClassifierCV` does: nearest neighbours, SVMs, ridge regression and
    trees, on modules of several sizes and diversities, and on X itself.

    Parameters
    ----------
    extractor : estimator with ``with_params``, default=None
        None means :class:`LinearModularAutoencoder` as it comes.
    estimator : "auto", dict, regressor or list of (name, regressor), default="auto"
        "auto" tries several kinds of members; a dict ``name -> (regressor, grid)`` says which. One
        regressor, a list with one for each module, or None (nearest neighbours) are used as they are,
        and only sizes and diversity are searched.
    diversities, n_modules, n_components, cv, rule, scale, time_budget, n_jobs, random_state
        As in :class:`ModularClassifierCV`; without stratification.
    scoring : str, callable or None, default=None
        What is maximised; None means R^2.
    aggregate : {"mean", "median"}, default="mean"
        How the predictions of the members become one.

    Attributes
    ----------
    best_estimator_ : ModularRegressor, or Pipeline that ends in one
    best_params_, best_index_, best_score_, cv_results_, n_splits_
        As in :class:`ModularClassifierCV`; errors are 1 - R^2.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    Examples
    --------
    >>> from modae import ModularRegressorCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = ModularRegressorCV(random_state=0).fit(X[:300], y[:300])
    >>> search.predict(X[300:]).shape
    (142,)
    """

    _task = "regression"

    def __init__(
        self,
        extractor: Any = None,
        estimator: Any = "auto",
        *,
        diversities: Any = None,
        n_modules: Any = None,
        n_components: Any = None,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        scale: Any = "auto",
        time_budget: float | None = None,
        aggregate: str = "mean",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.extractor = extractor
        self.estimator = estimator
        self.diversities = diversities
        self.n_modules = n_modules
        self.n_components = n_components
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.scale = scale
        self.time_budget = time_budget
        self.aggregate = aggregate
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Try the candidates on the folds, and fit the chosen one to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            For the fits and for the scores.
        groups : array-like of shape (n_samples,), optional
            For a splitter that keeps groups together, such as ``GroupKFold``.

        Returns
        -------
        self
        """
        return self._search(X, y, sample_weight, groups)

    @by_rows()
    def predict(self, X: Any) -> Array:
        """Mean, or median, of the predictions of the members of the chosen ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._call("predict", X)

    @by_rows(axis=1)
    def predict_members(self, X: Any) -> Array:
        """Prediction of each member of the chosen ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        targets : ndarray of shape (n_modules, n_samples) or (n_modules, n_samples, n_targets)
        """
        return self._call("predict_members", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the chosen ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        return float(self._call("score", X, y, sample_weight))

    def member_scores(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """R^2 of each member of the chosen ensemble alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        scores : ndarray of shape (n_modules,)
        """
        return self._call("member_scores", X, y, sample_weight)

    def _ensemble(self, extractor: Any, estimator: Any, random_state: Any) -> ModularRegressor:
        return ModularRegressor(
            extractor,
            estimator,
            aggregate=self.aggregate,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    def _checked_targets(self, X: Any, y: Any) -> Array:
        return targets_of(X, y, self)

    def _check_kind(self) -> None:
        self._check_parts("regressor", is_regressor)

    def _check_vote(self) -> None:
        check_choice("aggregate", self.aggregate, AGGREGATES)

    @staticmethod
    def _default_member() -> NearestNeighborRegressor:
        return NearestNeighborRegressor()
