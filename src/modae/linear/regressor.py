"""LinearModularRegressor: linear maps of low rank, trained together, with a certificate."""

from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from modae.data.moments import largest_spread
from modae.data.rows import centred_product, weights_of
from modae.data.validation import rows_of, targets_of
from modae.linear.least_squares import LeastSquares, Maps, least_squares, maps_of
from modae.linear.model import DEFAULT_SOLVER, LinearModel, Modules, Settings, read_only
from modae.linear.modules import CertifiedModules
from modae.utils.arrays import Array
from modae.utils.parameters import check_count, check_non_negative


@dataclass(eq=False, repr=False)
class LinearModularRegressor(CertifiedModules, MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""A set of linear regressions of low rank trained together to be good and different.

    Each of ``n_modules`` modules predicts several targets from ``n_components`` linear features of X:
    a map :math:`C_i=A_iB_i` of rank H, which is a reduced-rank regression. They are trained together, so
    that each is good *and* they differ; the prediction is their mean. With diversity :math:`\lambda`
    they minimise the mean over the (centred) data of

    .. math:: \frac1M\sum_i\|C_ix-y\|^2-\lambda\,\frac1M\sum_i\Big\|C_ix-\frac1M\sum_jC_jx\Big\|^2 ,

    the loss of the modular regression network of Reeve and Brown (2015), whose gradient is Negative
    Correlation Learning. ``diversity=0`` is one reduced-rank regression, in every module;
    ``diversity=1`` with ``n_modules * n_components >= n_targets`` is ``LinearRegression``, or ``Ridge``,
    cut into pieces. The optimum is a modular autoencoder of the fitted values of least squares: it is
    found directly, and ``objective_`` is compared with ``lower_bound_``, which no modules can beat.

    The loss adds up squares over the targets: standardise targets of different units first. With one
    target, every module is the same least-squares prediction, whatever the diversity.

    Parameters
    ----------
    n_modules : int, default=10
        Number of modules, M.
    n_components : int or None, default=None
        Rank of each module, H. More than ``min(n_features, n_targets)`` is the same as that number:
        ``n_components_`` says what was used. None means half of it, rounded up, and at most 10: a module
        of full rank would be all of least squares, and all modules equal.
    diversity : float, default=0.5
        Weight of the disagreement of the modules, in [0, 1]; above 1 the loss has no minimum.
    alpha : float, default=0.0
        Ridge penalty: ``alpha / n * ((1 - diversity) * mean_i |C_i|^2 + diversity * |mean_i C_i|^2)``
        is added to the mean loss, with n the number of rows or the sum of their weights. It goes with
        the sum of squares over the rows, as in scikit-learn's ``Ridge``.
    tol : float, default=1e-9
        The gap to the lower bound, as a fraction of the variance, that is tried to be closed further.
    max_iter : int, default=2000
        Most refinement steps.
    random_state : int, RandomState instance or None, default=None
        Many sets of modules have the same, optimal, loss: this picks one.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features), or (n_features,) if y was 1-d
        Of the mean of the modules.
    intercept_ : ndarray of shape (n_targets,), or float if y was 1-d
    encoders_ : ndarray of shape (n_modules, n_components, n_features)
    decoders_ : ndarray of shape (n_modules, n_targets, n_components)
        Orthonormal columns. The order of modules and components is that of
        :class:`LinearModularAutoencoder`.
    feature_mean_ : ndarray of shape (n_features,)
    target_mean_ : ndarray of shape (n_targets,)
    principal_axes_ : ndarray of shape (K, n_targets)
        Of the fitted values of least squares: directions in the space of the targets.
    eigenvalues_ : ndarray of shape (K,)
        Variance along them that least squares explains (ridge: by which it lowers the objective).
    total_variance_ : float
        Of the targets, all of them added up, explained or not.
    allocation_ : ndarray of shape (K,)
        Share of the modules that predict along each principal axis; sums to ``n_components_``.
    loss_ : float
        Mean loss over the training rows: ``reconstruction_error_ - diversity * diversity_term_``.
    reconstruction_error_ : float
        Mean squared error of single modules, added up over the targets.
    diversity_term_ : float
        Mean squared distance of the predictions of single modules from their mean.
    objective_ : float
        What is minimised: ``loss_`` plus the penalty. The same as ``loss_`` if ``alpha=0``.
    lower_bound_ : float
        No set of modules of this size has a smaller ``objective_`` on these data.
    optimality_gap_ : float
        ``(objective_ - lower_bound_) / total_variance_``, 0 for targets without variance.
    attainment_ : {"attained", "undecided"}
        Whether the bound is reached.
    certified_ : bool
        True if it is: it is proven that no modules of this size are better.
    n_iter_ : int
    n_components_ : int
        Rank of each module.
    diversity_ : float
        The diversity that was fitted, whatever the parameter is now.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    LinearModularAutoencoder : The case y = X.
    sklearn.linear_model.LinearRegression : One map of full rank.

    References
    ----------
    H. Reeve and G. Brown, "Modular Autoencoders for Ensemble Feature Extraction", 2015.

    Examples
    --------
    The lower half of digits from their upper half:

    >>> from modae import LinearModularRegressor
    >>> from sklearn.datasets import load_digits
    >>> digits, _ = load_digits(return_X_y=True)
    >>> X, Y = digits[:, :32], digits[:, 32:]
    >>> model = LinearModularRegressor(n_modules=5, n_components=4, random_state=0).fit(X, Y)
    >>> model.predict(X).shape, model.predict_members(X).shape
    ((1797, 32), (5, 1797, 32))
    >>> model.attainment_, abs(model.optimality_gap_) < 1e-9
    ('attained', True)
    >>> [round(m.loss_, 1) for m in model.path([0.1, 0.5, 0.9])]
    [455.9, 453.6, 430.3]
    """

    n_modules: int = 10
    n_components: int | None = None
    diversity: float = 0.5
    _: KW_ONLY
    alpha: float = 0.0
    tol: float = 1e-9
    max_iter: int = 2000
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the modules.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same row twice, a weight of 0 a row that is not there.

        Returns
        -------
        self
        """
        Settings.check(self)
        check_count("n_components", self.n_components, optional=True)
        check_non_negative("alpha", self.alpha)
        fresh = copy(self)  # a fit that fails leaves this model as it was
        rows = rows_of(X, fresh, reset=True)
        targets, weights = targets_of(rows, y, self), weights_of(sample_weight, rows.shape[0])
        if weights is not None:
            if not weights.any():
                raise ValueError("sample_weight is zero for every row: there would be no data.")
            present = weights > 0.0
            rows, targets, weights = rows[present], targets[present], weights[present]
        table = targets.reshape(len(targets), -1)
        spread = largest_spread(table)
        if spread > 0.0 and not 1e-140 < spread < 1e140:
            raise ValueError(
                "y must spread over 1e-140 to 1e140, or its square may be no float64, got "
                f"{spread:.0e}: multiply y by a power of ten."
            )
        full_rank = min(rows.shape[1], table.shape[1])
        wanted = min(10, (full_rank + 1) // 2) if self.n_components is None else self.n_components
        width = min(int(wanted), full_rank)
        settings = Settings.of(self, width, solver=DEFAULT_SOLVER, spectrum="exact")
        base = least_squares(rows, table, weights, float(self.alpha))
        base = replace(base, spectrum=base.spectrum.leading(settings.n_modules, width))
        model = LinearModel(settings, spectrum=base.spectrum, dtype=rows.dtype).solved()
        fresh._publish(base, model, flat=targets.ndim == 1)
        fresh._warn_if_equal(stacklevel=2)
        model.warn_if_unfinished(stacklevel=2)
        self.__dict__ = fresh.__dict__
        return self

    def predict(self, X: Any) -> Array:
        """Mean of the predictions of the modules.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets), as y was in ``fit``
        """
        check_is_fitted(self)
        maps, rows = self._maps, rows_of(X, self)
        predictions = centred_product(rows, maps.row_mean, maps.mean.T)
        predictions += maps.target_mean.astype(rows.dtype, copy=False)
        return self._without_target_axis(predictions)

    def predict_members(self, X: Any) -> Array:
        """Prediction of each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_modules, n_samples) or (n_modules, n_samples, n_targets)
        """
        check_is_fitted(self)
        maps, rows = self._maps, rows_of(X, self)
        codes = Modules(maps.row_mean, maps.encoders, maps.decoders, 0.0).codes_by_module(rows)
        predictions = codes @ maps.decoders.astype(rows.dtype, copy=False).mT
        predictions += maps.target_mean.astype(rows.dtype, copy=False)
        return self._without_target_axis(predictions)

    def _derived(self, **changes: Any) -> Self:
        now = self._model.settings
        model = self._model.with_settings(**changes).solved()
        other = copy(self).set_params(n_modules=now.n_modules, **changes)
        if self.n_components is not None:
            other.set_params(n_components=now.n_components)  # as fitted, whatever was set since
        other._publish(self._base, model, flat=self._flat)
        model.warn_if_unfinished(stacklevel=3)
        return other

    def _publish(self, base: LeastSquares, model: LinearModel, *, flat: bool) -> None:
        """Fitted attributes, from least squares and a modular autoencoder of its fitted values."""
        solution, dtype = model.solution, model.dtype
        exact = maps_of(base, solution.decoders, solution.encoders)
        maps = Maps(*(read_only(part, dtype) for part in exact))
        penalty = exact.penalty(base.root_penalty)
        self._base, self._model, self._maps, self._flat = base, model, maps, flat
        self.coef_ = self._without_target_axis(maps.mean.T).T
        intercept = exact.target_mean - exact.mean @ exact.row_mean
        self.intercept_ = self._without_target_axis(read_only(intercept, dtype))
        self.encoders_, self.decoders_ = maps.encoders, maps.decoders
        self.feature_mean_, self.target_mean_ = maps.row_mean, maps.target_mean
        self.loss_ = solution.loss - float(penalty.ambiguity_loss(model.settings.diversity))
        self.reconstruction_error_ = solution.reconstruction_error - penalty.reconstruction
        self.diversity_term_ = solution.diversity_term - penalty.diversity
        self.objective_ = solution.loss

    def _without_target_axis(self, values: Array) -> Array:
        """Values for each target, the last axis, in the shape of y."""
        return values[..., 0][()] if self._flat else values  # [()] makes an array without axes a number

    def _warn_if_equal(self, stacklevel: int) -> None:
        """Say that modules which are all the same gain nothing, and why they are."""
        rank, width, reason = self._base.spectrum.rank, self.n_components_, ""
        if len(self.target_mean_) == 1:
            reason = (
                "With one target the linear model is degenerate: every module is the same least-squares "
                "prediction, whatever the diversity; use several targets, or ModularRegressor."
            )
        elif rank <= width:
            reason = (
                f"n_components={width} makes all modules equal: each holds all of the least-squares "
                f"prediction, which has rank {rank}; diversity matters for fewer components only."
            )
        elif self.diversity_ == 0.0:
            reason = "diversity=0 makes all modules equal: each is the same reduced-rank regression."
        if reason and self._model.settings.n_modules > 1:
            warn(reason, UserWarning, stacklevel=stacklevel + 1)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)
