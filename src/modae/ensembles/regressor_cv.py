"""ModularRegressorCV: members, sizes and diversity by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin, is_regressor
from sklearn.callback import with_callbacks

from modae.data.validation import targets_of
from modae.ensembles.neighbors import NearestNeighborRegressor
from modae.ensembles.regressor import AGGREGATES, ModularRegressor
from modae.ensembles.tuning import ModularSearch, of_best


@dataclass(eq=False, repr=False)
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
    best_params_, best_index_, best_score_, cv_results_, extractor_, leaderboard_, n_splits_
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

    _task: ClassVar[str] = "regression"
    _kind = ("regressor", is_regressor)
    _choices: ClassVar[dict[str, Any]] = {"aggregate": AGGREGATES}
    _read_targets = staticmethod(targets_of)

    _: KW_ONLY
    aggregate: str = "mean"

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
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

    predict = of_best(ModularRegressor, "predict")
    predict_members = of_best(ModularRegressor, "predict_members", axis=1)
    uncertainty = of_best(ModularRegressor, "uncertainty")
    score = ModularRegressor.score
    member_scores = ModularRegressor.member_scores

    def _ensemble(self, extractor: Any, estimator: Any, random_state: Any) -> ModularRegressor:
        return ModularRegressor(
            extractor,
            estimator,
            aggregate=self.aggregate,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    @staticmethod
    def _default_member() -> NearestNeighborRegressor:
        return NearestNeighborRegressor()
