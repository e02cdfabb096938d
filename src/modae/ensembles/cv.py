"""ModularClassifierCV and ModularRegressorCV: members, sizes and diversity by cross-validation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.regressor import ModularRegressor
from modae.ensembles.tuning import ModularSearch, of_best


def _decides(search: Any) -> bool:
    """Whether the chosen ensemble votes by decision functions, or will."""
    if hasattr(search, "best_estimator_"):
        return hasattr(search.best_estimator_, "decision_function")
    if isinstance(search.estimator, (str, Mapping)):
        return False  # only the search can tell
    return hasattr(search._ensemble(search.extractor, search.estimator, None), "decision_function")


@dataclass(eq=False, repr=False, kw_only=True)
class ModularClassifierCV(ClassifierMixin, ModularSearch):
    """A :class:`ModularClassifier` whose members, sizes and diversity are chosen by cross-validation.

    Left alone it tries nearest neighbours, SVMs, linear models and trees as members, modules of several
    sizes and diversities for each, and each of these learners on X itself: an ensemble is chosen only
    where it is better. It starts with few folds and few modules for many candidates, and lets the best
    race over all folds. On each fold one decomposition serves every candidate.

    Parameters
    ----------
    extractor : estimator with ``with_params`` or ``fit_path``, default=None
        None means :class:`LinearModularAutoencoder` as it comes. ``FrozenEstimator`` of a fitted one is
        never fitted again: candidates come from its spectrum, so they can have no more components in all
        than it kept. A :class:`modae.deep.ModularAutoencoder` is trained for each candidate: one
        diversity after the other, each from the weights of the last.
    estimator : "auto", dict, classifier or list of (name, classifier), default="auto"
        "auto" tries several kinds of members. A dict ``name -> (classifier, grid)`` says which, and
        which of their own parameters are tuned. One classifier, a list with one for each module, or None
        (nearest neighbours) are used as they are, and only sizes and diversity are searched: then all
        candidates are tried on all folds.
    diversities : sequence of float, default=None
        Candidates; None means 0.5, 0.8, 0.95 and 1, or, for one kind of member, 0, 0.1, ..., 1.
    n_modules, n_components : int or sequence of int, default=None
        Candidates for the sizes; None leaves them to the search, or, for one kind of member, to the
        extractor.
    cv : int, splitter or iterable of (train, test), default=None
        Folds; None means 5, stratified.
    scoring : str, callable or None, default=None
        What is maximised, as in ``GridSearchCV``; None means accuracy.
    rule : {"best", "one_standard_error"}, default="best"
        Take the candidate with the best mean score (of equal ones the first), or the simplest one
        (fewest components in all, then least diversity) that is within one standard error of it.
    scale : {"auto", True, False}, default="auto"
        Whether to standardise the columns, inside each fold; ``best_estimator_`` is then a pipeline.
        "auto" tries both if their deviations differ by more than ten times, and takes what predicts
        better. Sparse columns are not centred.
    time_budget : float or None, default=None
        Seconds after which no new trial begins; the best so far is then fitted to all rows. Results with
        a budget depend on the speed of the machine.
    voting, tie_break : str
        As in :class:`ModularClassifier`.
    calibrate : float or None, default=None
        Share of the rows to hold out of the whole search, in (0, 1), for ``predict_set`` and
        ``abstain``; not with weights or groups.
    missing_label : scalar, default=None
        What stands in y where the label of a row is not known, as in :class:`ModularClassifier`. Such
        rows are in no fold and never tested; the extractor (and the scaler) sees all of them beside the
        training rows of each fold, as it does in the end.
    n_jobs : int or None, default=None
        Candidates that are tried at the same time, in threads. The results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        As in :class:`ModularClassifier`; the same for all candidates.

    Attributes
    ----------
    best_estimator_ : ModularClassifier, or Pipeline that ends in one
        Fitted to all rows with the chosen parameters.
    best_params_ : dict
        ``n_modules``, ``n_components`` and ``diversity``; if several kinds of members were tried, their
        ``family`` and own parameters, and no sizes where the learner on X itself was the best.
    best_index_ : int
    best_score_ : float
        Mean score of the chosen candidate.
    cv_results_ : dict of arrays
        For each candidate ``params``, ``param_...``, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``, ``n_folds`` on which it was tried, ``size`` (features that all members see),
        ``difference`` to the error of the chosen one and ``se_difference`` (of paired rows); and, as
        ``split{k}_...``, ``mean_...`` and ``se_...`` (standard error over the folds), ``test_score``,
        ``ensemble_error``, ``individual_error`` (the mean error of single members), ``fit_time`` and
        ``score_time``.
    extractor_ : estimator
        The fitted extractor of the chosen ensemble. If ``best_estimator_`` is a pipeline, it takes rows
        that the first step has scaled; where the learner on X itself was the best, it gives X back.
    leaderboard_ : Leaderboard
        The best candidate of each family, on modules and on X itself; ``print`` shows it as a table.
    classes_ : ndarray of shape (n_classes,)
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    Examples
    --------
    >>> from modae import ModularClassifierCV, NearestNeighborClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> search = ModularClassifierCV(estimator=NearestNeighborClassifier(), n_components=5, scale=False)
    >>> search = search.set_params(random_state=0).fit(X[:1000], y[:1000])
    >>> search.best_params_["diversity"], round(search.score(X[1000:], y[1000:]), 2)
    (0.8, 0.95)
    """

    _ensemble_class = ModularClassifier

    voting: str = "auto"
    tie_break: str = "probability"

    predict = of_best(ModularClassifier, "predict")
    predict_proba = of_best(ModularClassifier, "predict_proba")
    decision_function = available_if(_decides)(of_best(ModularClassifier, "decision_function"))
    predict_members = of_best(ModularClassifier, "predict_members", axis=1)
    predict_proba_members = of_best(ModularClassifier, "predict_proba_members", axis=1)
    uncertainty = of_best(ModularClassifier, "uncertainty")
    disagreement = of_best(ModularClassifier, "disagreement")
    predict_set = of_best(ModularClassifier, "predict_set")
    abstain = of_best(ModularClassifier, "abstain")
    score = ModularClassifier.score
    member_scores = ModularClassifier.member_scores


@dataclass(eq=False, repr=False, kw_only=True)
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

    aggregate: str = "mean"

    predict = of_best(ModularRegressor, "predict")
    predict_members = of_best(ModularRegressor, "predict_members", axis=1)
    predict_interval = of_best(ModularRegressor, "predict_interval")
    uncertainty = of_best(ModularRegressor, "uncertainty")
    score = ModularRegressor.score
    member_scores = ModularRegressor.member_scores
