"""LinearModularAutoencoder: the paper's model, solved with a certificate."""

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from modae.data.rows import Rows
from modae.data.summary import DataSummary
from modae.data.validation import copy_columns, gather, lazy_rows, summarised
from modae.linear.merging import merged_sums
from modae.linear.model import ROTATIONS, SOLVERS, LinearModel, Modules, Settings, resolved_components
from modae.linear.modules import CertifiedModules, LinearModules, fitted
from modae.utils.arrays import Array
from modae.utils.parallel import lock_for_forks
from modae.utils.parameters import (
    check_choice,
    check_components,
    check_count,
    check_diversity,
    check_flag,
)

#: Held while rows join those of an estimator, so that several threads may call ``partial_fit``.
_JOINING = lock_for_forks()


@dataclass(eq=False, repr=False)
class LinearModularAutoencoder(CertifiedModules, LinearModules):
    r"""A set of linear autoencoders trained together to be good and different.

    PCA gives one set of features. This gives ``n_modules`` sets of ``n_components`` features each,
    trained together so that the modules reconstruct the data well *and* disagree, which is what an
    ensemble of classifiers, one for each set, needs. With decoders :math:`A_i`, encoders :math:`B_i`
    and diversity :math:`\lambda` it minimises the mean over the data of

    .. math:: \frac1M\sum_i\|A_iB_ix-x\|^2
              -\lambda\,\frac1M\sum_i\Big\|A_iB_ix-\frac1M\sum_jA_jB_jx\Big\|^2 .

    ``diversity=0`` is PCA in every module, ``diversity=1`` one large PCA with
    ``n_modules * n_components`` components. In between, each principal component is looked at by a
    share of the modules (``allocation_``). The default solver finds the global optimum at the cost of
    one PCA and proves it: ``loss_`` is compared with ``lower_bound_``, which no modules can beat.

    Like PCA it depends on the scale of the features: standardise columns of different units first.

    Parameters
    ----------
    n_modules : int, default=30
        Number of modules, M.
    n_components : int, float or None, default=None
        Components of each module, H. None means 0.4 of the columns, 20 at most, and never all of them;
        a float in (0, 1) means as many as one module at diversity 0 needs to keep that fraction of the
        variance.
    diversity : float, default=0.8
        Weight of the disagreement of the modules, in [0, 1]; above 1 the loss has no minimum.
        The optimal loss never rises with it, so choose it by what the features are for, for example
        the cross-validated error of a classifier, not by ``score``. (The three defaults are those with
        the smallest error of nearest-neighbour ensembles over 34 data sets: ``benchmarks/sizes.py``.)
    rotation : {None, "random"}, default=None
        "random" turns the codes inside each module by a random rotation. Loss, certificate and
        reconstructions stay as they are; members that look at one column at a time, such as trees,
        differ more and err less. None keeps components by falling variance.
    solver : {"auto", "spectral", "backfitting", "gradient"}, default="auto"
        "spectral" is direct and certified, and what "auto" stands for. "backfitting" is Algorithm 1
        of the paper, "gradient" is batch gradient descent; both are there for comparison.
    spectrum : {"auto", "exact", "krylov"}, default="auto"
        How the principal axes are found. "exact" takes the eigenvectors of the smaller of the D x D
        covariance and the n x n Gram matrix. "krylov" never forms such a matrix and finds only the
        leading axes; ``lower_bound_`` stays a true bound, but a looser one. "auto" is exact up to 5,000
        rows or features, whichever is less, and for ``partial_fit``.
    upcast : bool, default=False
        Whether to compute in float64 even if X is float32. By default float32 stays float32: blocks
        are multiplied in float32 and summed in float64.
    tol : float, default=1e-9
        As a fraction of the variance: the gap that "spectral" tries to close further, the progress
        in one epoch at which the others stop.
    max_iter : int, default=2000
        Most epochs of "backfitting" and "gradient", most refinement steps of "spectral".
    random_state : int, RandomState instance or None, default=None
        Many sets of modules have the same, optimal, loss: this picks one. Pass an int for the same
        modules in every call.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    principal_axes_ : ndarray of shape (K, n_features)
        The principal axes that the modules use, by falling variance;
        K = min(n_modules * n_components, rank), at least n_components.
    eigenvalues_ : ndarray of shape (K,)
        Variances along them (divisor n).
    total_variance_ : float
        Of the data, all axes.
    allocation_ : ndarray of shape (K,)
        Share of the modules that look at each principal component; sums to ``n_components_``.
    encoders_ : ndarray of shape (n_modules, n_components, n_features)
    decoders_ : ndarray of shape (n_modules, n_features, n_components)
        Orthonormal columns. Components are ordered by the variance of their codes, with the largest
        entry (in principal axes) positive; modules by the variance they capture.
    loss_ : float
        Mean loss over the training rows: ``reconstruction_error_ - diversity * diversity_term_``.
    reconstruction_error_ : float
    diversity_term_ : float
    lower_bound_ : float
        No set of modules of this size has a smaller loss on these data.
    optimality_gap_ : float
        ``(loss_ - lower_bound_) / total_variance_``, 0 for data without variance.
    attainment_ : {"attained", "undecided"}
        Whether the bound is reached to 1e-9 of the variance (1e-5 in float32).
    certified_ : bool
        True if the bound is attained: it is proven that no modules of this size are better.
    explained_variance_ratio_ : ndarray of shape (n_modules,)
        Of each module alone: 1 - (its reconstruction error) / (total variance). It can be negative
        at high diversity, where single modules overshoot so that their mean is right.
    explained_variance_ratio_of_mean_ : float
        The same for the mean of the reconstructions.
    loss_history_ : ndarray
        Loss at the start and after each epoch; for "spectral", after each refinement.
    n_iter_ : int
    solver_ : str
        The solver that was used.
    n_components_ : int
        Components of each module.
    diversity_ : float
        The diversity that was fitted, whatever the parameter is now.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    See Also
    --------
    sklearn.decomposition.PCA : One set of features; the case ``diversity=0``.

    Notes
    -----
    ``score`` compares models at one diversity only: a grid search that maximises it over ``diversity``
    always picks 1.

    With scikit-learn's ``array_api_dispatch`` on, X may be a tensor on a device: products are made
    there, and answers are there. Fitted attributes are NumPy arrays in any case.

    References
    ----------
    H. Reeve and G. Brown, "Modular Autoencoders for Ensemble Feature Extraction", 2015.

    Examples
    --------
    >>> from modae import LinearModularAutoencoder
    >>> from sklearn.datasets import load_digits
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = LinearModularAutoencoder(5, 4, diversity=0.5, random_state=0).fit(X)
    >>> model.transform(X).shape, model.transform_modules(X).shape
    ((1797, 20), (5, 1797, 4))
    >>> model.attainment_, abs(model.optimality_gap_) < 1e-9
    ('attained', True)
    >>> [round(m.loss_) for m in model.path([0.1, 0.5, 0.9])]
    [616, 596, 360]
    """

    loss_ = fitted(lambda model: model.solution.loss)
    reconstruction_error_ = fitted(lambda model: model.solution.reconstruction_error)
    diversity_term_ = fitted(lambda model: model.solution.diversity_term)
    explained_variance_ratio_ = fitted(lambda model: model.explained_variance_ratio)
    explained_variance_ratio_of_mean_ = fitted(lambda model: model.explained_variance_ratio_of_mean)
    loss_history_ = fitted(lambda model: model.solution.loss_history)
    solver_ = fitted(lambda model: model.solution.solver)

    n_modules: int = 30
    n_components: int | float | None = None
    diversity: float = 0.8
    _: KW_ONLY
    rotation: str | None = None
    solver: str = "auto"
    spectrum: str = "auto"
    upcast: bool = False
    tol: float = 1e-9
    max_iter: int = 2000
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the modules to the rows of X, and forget all earlier data.

        The covariance of the data is kept, so that ``partial_fit`` can continue; of data with fewer rows
        than features, a copy of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same row twice, a weight of 0 a row that is not there.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform_modules(
        self, X: Any, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Fit to the rows of X, and give their codes of each module; X is validated once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        codes : ndarray of shape (n_modules, n_samples, n_components)
        """
        rows = self._fit(X, sample_weight)
        if rows is None or self.upcast:  # codes are in the precision of X
            return gather(self.transform_modules(X))
        return gather(self._model.modules.codes_by_module(rows))

    def _fit(self, X: Any, sample_weight: Any) -> Rows | None:
        """Fit, and give the validated rows, if they are in memory."""
        fresh = copy(self)  # a fit that fails leaves this model, and its columns, as they were
        summary, rows = fresh._summarise(X, sample_weight, reset=True)
        fresh._solve(summary)
        self.__dict__ = fresh.__dict__
        return rows

    def _solve(self, summary: DataSummary, seed: int | None = None) -> None:
        model = LinearModel(self._settings(self.n_features_in_, seed), summary).solved()
        model.warn_if_equal(stacklevel=4)
        model.warn_if_unfinished(stacklevel=4)
        self._model = model

    def _fit_summary(self, summary: DataSummary, like: Any, seed: int | None = None) -> Self:
        """Fit to what is known of some rows, with the number and names of the columns of ``like``."""
        copy_columns(self, like)
        self._check_parameters()
        self._solve(summary, seed)
        return self

    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows to those seen before: any batches, in any order, give the model of one ``fit``.

        The model is solved when it is next read, not here, so small batches cost little. A change of
        ``random_state`` between batches has no effect.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            One row or more.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        if not first and self._model.summary is None:
            raise ValueError(
                "partial_fit cannot continue this fit: the data were too large to keep a copy of, or "
                "the model comes from a file that holds no sums over the data. Start with partial_fit, "
                "and save with resumable=True."
            )
        fresh = copy(self)
        new, _ = fresh._summarise(X, sample_weight, reset=first)
        if new.n_pending >= fresh.n_features_in_:
            # Here, where the rows are: gathered with others they would be on the host.
            new = new.as_moments()
        with _JOINING:
            before = getattr(self, "_model", None)
            seed = None if before is None else before.settings.seed
            settings = fresh._settings(fresh.n_features_in_, seed)
            if settings.spectrum == "krylov":
                # Streams are summed exactly in any case; short ones are too short for Krylov.
                settings = replace(settings, spectrum="auto")
            seen = DataSummary() if before is None or before.summary is None else before.summary
            fresh._model = LinearModel(settings, seen.join(new), grows=True)
            self.__dict__ = fresh.__dict__
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One model of the rows of several: that of a fit to all of them together, without any row.

        For data that may not leave the place where they are: each site fits its own rows and saves the
        model with ``resumable=True``; such a file holds sums over the rows. Only these are joined.

        Parameters
        ----------
        models : sequence of LinearModularAutoencoder
            Fitted to the same columns, each to at least as many rows as columns. Parameters and seed
            are those of the first.

        Returns
        -------
        model : LinearModularAutoencoder

        Examples
        --------
        >>> from modae import LinearModularAutoencoder
        >>> from sklearn.datasets import load_digits
        >>> X, _ = load_digits(return_X_y=True)
        >>> sites = [LinearModularAutoencoder(5, 4, random_state=0).fit(X[k::3]) for k in range(3)]
        >>> together = LinearModularAutoencoder.merge(sites)
        >>> whole = LinearModularAutoencoder(5, 4, random_state=0).fit(X)
        >>> abs(together.loss_ - whole.loss_) < 1e-9 * whole.loss_
        True
        """
        total = merged_sums(models := list(models), cls)
        merged: Self = clone(models[0])
        return merged._fit_summary(total, models[0], models[0]._model.settings.seed)

    def with_params(
        self,
        *,
        n_modules: int | None = None,
        n_components: int | None = None,
        diversity: float | None = None,
    ) -> Self:
        """A new fitted estimator of another size or diversity, from the stored spectrum alone.

        It equals a fresh ``fit`` with the same ``random_state``. The fit keeps
        ``n_modules * n_components`` principal axes, so make the first fit the largest.

        Parameters
        ----------
        n_modules, n_components : int or None
        diversity : float or None
            None keeps what this estimator has.

        Returns
        -------
        estimator : LinearModularAutoencoder
        """
        check_is_fitted(self)
        check_count("n_modules", n_modules, optional=True)
        check_count("n_components", n_components, optional=True)
        if diversity is not None:
            check_diversity(diversity)
        given = {"n_modules": n_modules, "n_components": n_components, "diversity": diversity}
        return self._derived(**{name: value for name, value in given.items() if value is not None})

    def _derived(self, **changes: Any) -> Self:
        now = self._solved_model().settings
        # Parameters as they were at the fit, whatever was set since; a default or a share stays one.
        kept = self.n_components is None or isinstance(self.n_components, float)
        width = self.n_components if kept else now.n_components
        params = {"n_modules": now.n_modules, "n_components": width, "diversity": now.diversity}
        other = copy(self)
        other.__dict__ |= {**params, **changes}
        resolved_components(changes.get("n_components"), self.n_features_in_)
        other._model = self._model.with_settings(**changes).solved()
        other._model.warn_if_unfinished(stacklevel=3)
        return other

    def _check_parameters(self) -> None:
        Settings.check(self)
        check_components(self.n_components)
        check_choice("rotation", self.rotation, ROTATIONS)
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        check_choice("spectrum", self.spectrum, ("auto", "exact", "krylov"))
        check_flag("upcast", self.upcast)
        check_random_state(self.random_state)

    def _summarise(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[DataSummary, Rows | None]:
        """The summary of the rows, and the rows, if they are in memory.

        Names and number of the columns are kept if ``reset``, and compared if not.
        """
        self._check_parameters()
        lazy = lazy_rows(X)
        if lazy is not None and reset and (width := lazy.columns().shape[1]):
            resolved_components(self.n_components, width)  # said before the rows are read
        how = {"reset": reset, "upcast": self.upcast, "indexed": False}
        new, rows = summarised(X, self, DataSummary.of, sample_weight, **how)
        if new.is_empty and reset:
            raise ValueError("sample_weight is zero for every row: there would be no data.")
        return new, rows

    def _settings(self, n_features: int, seed: int | None = None) -> Settings:
        width = resolved_components(self.n_components, n_features)
        others = {"solver": self.solver, "spectrum": self.spectrum, "rotation": self.rotation}
        return Settings.of(self, width, seed, **others)

    def _modules(self) -> Modules:
        return self._solved_model().modules
