r"""ModularRegressor: a mean of regressors, each on the features of one module.

Its intervals are split-conformal: how far off were the predictions for rows that no member was trained
on? With residuals :math:`r_1\le\dots\le r_n` of n rows held out, the interval of half-width :math:`r_k`,
:math:`k=\lceil(n+1)c\rceil`, holds the target of a new row with probability of at least c, whatever the
model and the distribution, as long as the rows are exchangeable. The probability is over new rows and
over the rows held out; it is not promised for each region of the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin, is_regressor
from sklearn.metrics import r2_score

from modae.data.validation import by_rows, gather, targets_of
from modae.ensembles.base import ModularEnsemble
from modae.ensembles.conformal import checked_rank, require_held_out
from modae.ensembles.members import Member, stacked
from modae.ensembles.neighbors import NearestNeighborRegressor
from modae.utils.arrays import Array
from modae.utils.parameters import check_fraction
from modae.utils.text import counted

AGGREGATES: dict[str, Any] = {"mean": np.mean, "median": np.median}


@dataclass(eq=False, repr=False, kw_only=True)
class ModularRegressor(MultiOutputMixin, RegressorMixin, ModularEnsemble):
    """A mean of regressors, each trained on the features of one module.

    The same idea as :class:`ModularClassifier`. By the ambiguity decomposition the squared error of the
    mean is the mean squared error of the members minus their spread, so members that differ gain.

    Parameters
    ----------
    extractor : estimator with ``transform_modules``, default=None
        None means :class:`LinearModularAutoencoder` as it comes; ``FrozenEstimator(extractor)`` is used
        as it is.
    estimator : regressor or list of (name, regressor), default=None
        A copy is trained for each module; or one regressor for each module, with names. None means
        :class:`NearestNeighborRegressor`. (Linear regressors on linear modules give one linear model
        again: see :class:`LinearModularRegressor`.)
    n_modules, n_components, diversity : int, int or float, float; default=None
        Number and size of the modules, and how much they differ. None leaves it to the extractor; a
        value overrides that of a copy of it.
    aggregate : {"mean", "median"}, default="mean"
        How the predictions of the members become one.
    calibrate : float or None, default=None
        Share of the training rows to hold out for intervals, in (0, 1); the members are then trained on
        the rest, and ``predict_interval`` works; not with weights. None holds out nothing.
    missing_label : scalar, default=None
        What stands in y where the target of a row is not known, such as ``np.nan``; of several targets,
        one is enough. Such rows train the extractor, and nothing else, as in
        :class:`ModularClassifier`. None means that every row has a target.
    stream : bool, default=False
        Whether members learn chunk by chunk, by their ``partial_fit``, from data that are read in chunks
        (Dask, :func:`open_batches`): then not even the features of one module are ever in one place.
    n_jobs : int or None, default=None
        Members that are trained, or asked, at the same time.
    random_state : int, RandomState instance or None, default=None
        Gives a seed to every ``random_state`` that the extractor and the members leave at None, and
        draws the rows held out.

    Attributes
    ----------
    extractor_ : estimator
    estimators_ : list of regressors
        The fitted members, in the order of the modules.
    calibration_ : Calibration
        Sorted absolute residuals of the rows held out; only with ``calibrate``.
    n_modules_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    Examples
    --------
    >>> from modae import ModularRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ModularRegressor(estimator=KNeighborsRegressor(15), calibrate=0.25, random_state=0)
    >>> model = model.set_params(extractor__n_components=3).fit(X[:300], y[:300])
    >>> low, high = model.predict_interval(X[300:], coverage=0.9).T
    >>> print(f"{((low <= y[300:]) & (y[300:] <= high)).mean():.2f} of new rows are inside")
    0.96 of new rows are inside
    """

    aggregate: str = "mean"

    _kind = ("regressor", is_regressor)
    _choices: ClassVar[dict[str, Any]] = {"aggregate": AGGREGATES}
    _read_targets = staticmethod(targets_of)

    def _publish(self, extractor: Any, members: list[Member], y: Any, weights: Array | None) -> None:
        super()._publish(extractor, members, y, weights)
        self._target_shape = y.shape[1:]
        self.__dict__.pop("calibration_", None)  # of an earlier fit

    def _keep_held_out(self, model: Any, X: Any, y: Any) -> None:
        self.calibration_ = Calibration.of(model.predict(X), y)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean, or median, of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the spread of the members too.

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of the same shape, only if ``return_std``
            Standard deviation over the members. It says where they disagree; it is *not* calibrated, and
            not an error bar: use ``calibrate`` and ``predict_interval`` for that.
        """
        members = self.predict_members(X)
        prediction = AGGREGATES[self.aggregate](members, axis=0)
        return (prediction, members.std(axis=0)) if return_std else prediction

    @by_rows(axis=1)
    def predict_members(self, X: Any) -> Array:
        """Prediction of each member.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        targets : ndarray of shape (n_modules, n_samples) or (n_modules, n_samples, n_targets)
        """
        return _in_shape(self._ask("predict", self._features(X)), self._target_shape)

    @by_rows()
    def uncertainty(self, X: Any) -> Array:
        """Spread of the members: the standard deviation of their predictions.

        It says where they differ, so it can sort rows. It is *no error bar*: ``diversity`` moves it up
        and down, and what all members get wrong it cannot see. ``predict_interval`` gives intervals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        spread : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return np.asarray(self.predict_members(X).std(axis=0))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Intervals that hold the targets of a share of new rows, by split-conformal prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        coverage : float, default=0.9
            Share of new rows, in (0, 1), for each target by itself.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper end.
        """
        calibration: Calibration = require_held_out(self, "calibration_", "predict_interval")
        check_fraction("coverage", coverage)
        prediction, width = self.predict(X), calibration.half_width(float(coverage))
        half = width if prediction.ndim == 2 else width[0]
        return np.stack([prediction - half, prediction + half], axis=-1)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """R^2 of the mean, or median, of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        prediction, weights = gather(self.predict(X)), gather(sample_weight)
        return float(r2_score(gather(y), prediction, sample_weight=weights))

    def member_scores(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Array:
        """R^2 of each member alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        scores : ndarray of shape (n_modules,)
        """
        members, y, weights = gather(self.predict_members(X)), gather(y), gather(sample_weight)
        return np.array([r2_score(y, each, sample_weight=weights) for each in members])

    def _losses(self, features: Sequence[Array], y: Array) -> tuple[Array, Array, None]:
        """Squared error on each row, that of the members on average, and no decision functions."""
        answers = _in_shape(self._ask("predict", features), self._target_shape)
        errors = AGGREGATES[self.aggregate](answers, axis=0) - y
        axes = tuple(range(1, np.ndim(y)))
        each = np.square(answers - y).mean(axis=0)
        return np.square(errors).sum(axis=axes), each.sum(axis=axes), None

    def _key_figures(self) -> dict[str, str]:
        held = len(self.calibration_.residuals) if hasattr(self, "calibration_") else 0
        intervals = {"Intervals": f"from {counted(held, 'row')} held out"} if held else {}
        return super()._key_figures() | intervals

    @staticmethod
    def _default_member() -> NearestNeighborRegressor:
        return NearestNeighborRegressor()


def _in_shape(answers: Sequence[Any], target_shape: tuple[int, ...]) -> Array:
    """Answers of the members as one array, (M, n) or (M, n, n_targets).

    For one column of targets some regressors answer with a column, and some without.
    """
    return stacked([np.reshape(each, (len(each), *target_shape)) for each in answers])


@dataclass(frozen=True)
class Calibration:
    """Absolute residuals of held-out rows, sorted, for each target: (n, n_targets)."""

    residuals: Array

    @classmethod
    def of(cls, predictions: Array, targets: Array) -> Calibration:
        """Residuals of predictions, (n,) or (n, n_targets)."""
        residuals = np.abs(predictions - targets).reshape(len(targets), -1)
        return cls(np.sort(residuals, axis=0))

    def half_width(self, coverage: float) -> Array:
        """Half-width of intervals with this coverage, (n_targets,).

        Examples
        --------
        >>> import numpy as np
        >>> from modae.ensembles.regressor import Calibration
        >>> Calibration.of(np.zeros(9), np.arange(1.0, 10.0)).half_width(0.8)
        array([8.])
        """
        return self.residuals[checked_rank(coverage, len(self.residuals)) - 1]
