r"""What linear estimators share: codes, reconstructions and losses of rows; certificate and path.

Encoders are (M, H, D), decoders (M, D, H) with orthonormal columns; the mean (D,) is subtracted before
coding and added after. Answers are where the rows are.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from modae.data.rows import HOST, Rows, check_same_place, place_and_values, remember_place
from modae.data.validation import AcceptsRows, by_rows, codes_of, gather, rows_of
from modae.linear.model import LinearModel, Modules, read_only
from modae.linear.notebook import KeyFigures, modules_text, optimality
from modae.utils.arrays import Array
from modae.utils.parameters import check_diversity
from modae.utils.text import bounded_loss, percent


class ModularTransformer(AcceptsRows, TransformerMixin):
    """What extractors with modules share, linear or deep: the names of their codes, and a score.

    Abstract: a subclass says how many modules it has, of how many components, and what rows score.
    """

    def score(self, X: Any, y: object = None) -> float:
        """Mean of ``score_samples``: minus the loss. Compares models at one diversity only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        score : float
        """
        scores = gather(self.score_samples(X))
        if len(scores) == 0:
            raise ValueError("Found array with 0 sample(s): X has no rows to score.")
        return float(scores.mean())

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns of ``transform``: ``module0_0``, ``module0_1``, ...

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str objects
        """
        n_modules, n_components = self._shape()
        names = [f"module{i}_{h}" for i in range(n_modules) for h in range(n_components)]
        return np.array(names, dtype=object)

    def _codes(self, X: Any) -> Rows:
        """What ``transform`` returns, as it comes back: checked."""
        n_modules, n_components = self._shape()
        codes, width = codes_of(X), n_modules * n_components
        if codes.shape[1] != width:
            raise ValueError(
                f"X must have n_modules * n_components = {width} columns, as transform returns them, "
                f"got {codes.shape[1]}."
            )
        return codes

    def _key_figures(self) -> dict[str, str]:
        return super()._key_figures() | {"Modules": modules_text(self._shape())}

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """Minus the loss of each row."""

    @abstractmethod
    def _shape(self) -> tuple[int, ...]:
        """Number of fitted modules, and of components of each."""


class UnsolvedError(ValueError, AttributeError):
    """The data seen so far have no model yet, for the reason given; ``hasattr`` is False."""


def fitted(read: Callable[[Any], Any]) -> property:
    """A fitted attribute that is read from the model behind the estimator, and cannot be set."""

    def get(self: Any) -> Any:
        if "_model" not in vars(self):  # the check itself takes longer than reading
            check_is_fitted(self)
        try:
            return read(self._solved_model())
        except ValueError as reason:
            raise UnsolvedError(str(reason)) from reason

    return property(get)


class LinearModules(ModularTransformer, KeyFigures, BaseEstimator):
    """Codes and reconstructions by linear modules with orthonormal decoders.

    Abstract: a subclass says what its modules are.
    """

    _takes_tensors = True

    mean_ = fitted(lambda model: model.mean)
    encoders_ = fitted(lambda model: model.encoders)
    decoders_ = fitted(lambda model: model.decoders)

    @by_rows()
    def transform(self, X: Any) -> Array:
        """Codes of all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_modules * n_components)
        """
        modules, rows = self._modules_and_rows(X, "transform")
        return modules.codes(rows)

    @by_rows(axis=1)
    def transform_modules(self, X: Any) -> Array:
        """Codes of each module: the features for one member of an ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_modules, n_samples, n_components)
        """
        modules, rows = self._modules_and_rows(X, "transform_modules")
        return modules.codes_by_module(rows)

    @by_rows()
    def inverse_transform(self, X: Any) -> Array:
        """Mean reconstruction from the codes of all modules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_modules * n_components)
            What ``transform`` returns.

        Returns
        -------
        reconstruction : ndarray of shape (n_samples, n_features)
        """
        modules, codes = self._fitted_modules(), self._codes(X)
        place, values = place_and_values(codes)
        flat = np.hstack(list(modules.decoders)).astype(codes.dtype, copy=False) / len(modules.decoders)
        return values @ place.send(flat.T, codes.dtype) + place.send(modules.mean, codes.dtype)

    @by_rows(axis=1)
    def reconstruct_modules(self, X: Any) -> Array:
        """Reconstruction of X by each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        reconstructions : ndarray of shape (n_modules, n_samples, n_features)
        """
        modules, rows = self._modules_and_rows(X, "reconstruct_modules")
        place, _ = place_and_values(rows)
        decoders = place.send(modules.decoders.mT, rows.dtype)
        return modules.codes_by_module(rows) @ decoders + place.send(modules.mean, rows.dtype)

    @by_rows()
    def score_samples(self, X: Any) -> Array:
        """Minus the loss of each row, at this model's diversity: low for rows unlike the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        modules, rows = self._modules_and_rows(X, "score_samples")
        return -modules.losses(rows)

    def _fitted_modules(self) -> Modules:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # whose message is the one that people know
        return self._modules()

    def _modules_and_rows(self, X: Any, method: str) -> tuple[Modules, Rows]:
        modules = self._fitted_modules()
        check_same_place(self, X, method)
        return modules, rows_of(X, self)

    def __sklearn_array_api_convert__(self, converter: object) -> Self:
        """A copy that takes rows from anywhere: fitted attributes are on the host, and stay there."""
        free = copy(self)
        remember_place(free, HOST)
        return free

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _shape(self) -> tuple[int, ...]:
        return self._fitted_modules().encoders.shape[:2]

    def _solved_model(self) -> Any:
        return self._model

    def _modules(self) -> Modules:
        """The fitted modules: what ``fit`` left in ``_model``, unless a subclass has them elsewhere."""
        return self._solved_model()


class CertifiedModules(AcceptsRows, KeyFigures):
    """An estimator whose loss is compared with a lower bound: certificate, key figures, diversity path.

    Abstract: a subclass has a LinearModel once it is fitted, and says how another one is made.
    """

    principal_axes_ = fitted(lambda model: read_only(model.spectrum.axes, model.dtype))
    eigenvalues_ = fitted(lambda model: read_only(model.spectrum.eigenvalues * model.spectrum.unit**2))
    total_variance_ = fitted(lambda model: model.total_variance)
    allocation_ = fitted(lambda model: model.solution.shares)
    lower_bound_ = fitted(lambda model: model.solution.lower_bound)
    optimality_gap_ = fitted(lambda model: model.solution.gap)
    attainment_ = fitted(lambda model: model.solution.attainment)
    certified_ = fitted(lambda model: model.certified)
    n_iter_ = fitted(lambda model: model.solution.n_iter)
    n_components_ = fitted(lambda model: model.settings.n_components)
    diversity_ = fitted(lambda model: model.settings.diversity)

    _model: LinearModel

    def with_diversity(self, diversity: float) -> Self:
        """A new fitted estimator for another diversity, from the stored spectrum alone.

        It equals a fresh ``fit`` at that diversity with the same ``random_state``.

        Parameters
        ----------
        diversity : float

        Returns
        -------
        estimator : of the same class
        """
        check_is_fitted(self)
        check_diversity(diversity)
        return self._derived(diversity=diversity)

    def path(self, diversities: Iterable[float]) -> Iterator[Self]:
        """One fitted estimator for each diversity, in the order given, as ``with_diversity`` makes them.

        Parameters
        ----------
        diversities : iterable of float

        Returns
        -------
        estimators : iterator
            Each is solved when it is asked for.
        """
        check_is_fitted(self)
        if not isinstance(diversities, Iterable):
            raise ValueError(
                f"diversities must be a sequence of numbers, got {diversities!r}; for a single one use "
                "with_diversity."
            )
        values = list(diversities)
        for diversity in values:
            check_diversity(diversity)
        return (self.with_diversity(diversity) for diversity in values)

    @abstractmethod
    def _derived(self, **changes: Any) -> Self:
        """A fitted estimator with other settings on the same spectrum."""

    def _solved_model(self) -> LinearModel:
        model = self._model
        if not model.is_solved:
            model.solved().warn_if_unfinished(stacklevel=4)
        return model

    def _key_figures(self) -> dict[str, str]:
        model: Any = self
        if not self._model.is_solved:
            return {"Model": "solved when it is next read"}  # which is not now: it may take a while

        def explained(error: float) -> str:
            return percent(1.0 - error / model.total_variance_) if model.total_variance_ else "none"

        of_mean = model.reconstruction_error_ - model.diversity_term_
        loss, bound = bounded_loss(model)
        reached = getattr(model, "objective_", model.loss_)
        return {
            "Modules": modules_text(model.encoders_.shape),
            "Diversity": f"{model.diversity_:g}",
            "Loss" if reached == model.loss_ else "Loss and penalty": loss,
            "Lower bound": f"{bound}, which no modules can beat",
            "Optimality": optimality(model),
            "Variance explained": f"{explained(of_mean)} by the mean of the modules, "
            f"{explained(model.reconstruction_error_)} by one on average",
        }
