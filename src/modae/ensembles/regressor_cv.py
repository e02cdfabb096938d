"""ModularRegressorCV: members, sizes and diversity by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from sklearn.base import MultiOutputMixin, RegressorMixin

from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.tuning import ModularSearch, of_best


@dataclass(eq=False, repr=False)
class ModularRegressorCV(MultiOutputMixin, RegressorMixin, ModularSearch):
    """A :class:`ModularRegressor` whose members, sizes and diversity are chosen by cross-validation.

    It searches as :class:`ModularClassifierCV` does: nearest neighbours, SVMs, ridge regression and
    trees, on modules of several sizes and diversities, and on X itself.

    Parameters
    ----------
    extractor : estimator with ``with_params`` or ``fit_path``, default=None
        None means :class:`LinearModularAutoencoder` as it comes.
    estimator : "auto", dict, regressor or list of (name, regressor), default="auto"
        "auto" tries several kinds of members; a dict ``name -> (regressor, grid)`` says which. One
        regressor, a list with one for each module, or None (nearest neighbours) are used as they are,
        and only sizes and diversity are searched.
    diversities, n_modules, n_components, cv, rule, scale, time_budget, missing_label
        As in :class:`ModularClassifierCV`; without stratification.
    n_jobs, random_state
        As in :class:`ModularClassifierCV`.
    scoring : str, callable or None, default=None
        What is maximised; None means R^2.
    calibrate : float or None, default=None
        Share of the rows to hold out of the whole search, in (0, 1), for ``predict_interval``; not with
        weights or groups.
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

    _ensemble_class = ModularRegressor

    _: KW_ONLY
    aggregate: str = "mean"

    predict = of_best(ModularRegressor, "predict")
    predict_members = of_best(ModularRegressor, "predict_members", axis=1)
    predict_interval = of_best(ModularRegressor, "predict_interval")
    uncertainty = of_best(ModularRegressor, "uncertainty")
    score = ModularRegressor.score
    member_scores = ModularRegressor.member_scores
