"""The transform side that all linear modular extractors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from modae.core.arrays import Array, apart, side_by_side, swap
from modae.core.objective import row_terms
from modae.core.rows import Rows, centred_product, centred_squares
from modae.inputs import by_rows, rows_of


class Modules(NamedTuple):
    """What all methods below need, read once in each call: another thread may fit in between."""

    mean: Array
    encoders: Array
    decoders: Array
    diversity: float

    def encode(self, rows: Rows) -> Array:
        """Codes of all modules side by side, (n, M*H)."""
        flat = self.encoders.reshape(-1, self.encoders.shape[2])
        return centred_product(rows, self.mean, flat.T)


class LinearModules(TransformerMixin, BaseEstimator):
    """Codes and reconstructions by linear modules with orthonormal decoders.

    Abstract: a subclass says what its modules are.
    """

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
        modules = self._fitted_modules()
        return modules.encode(rows_of(X, self))

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
        modules = self._fitted_modules()
        return apart(modules.encode(rows_of(X, self)), len(modules.encoders))

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
        modules = self._fitted_modules()
        codes = check_array(X, dtype=[np.float64, np.float32])
        decoders = side_by_side(modules.decoders).astype(codes.dtype, copy=False)
        if codes.shape[1] != decoders.shape[1]:
            raise ValueError(
                f"X must have n_modules * n_components = {decoders.shape[1]} columns, as transform "
                f"returns them, got {codes.shape[1]}."
            )
        reconstruction: Array = codes @ (decoders / len(modules.decoders)).T
        reconstruction += modules.mean.astype(codes.dtype, copy=False)
        return reconstruction

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
        modules = self._fitted_modules()
        codes = apart(modules.encode(rows_of(X, self)), len(modules.encoders))
        reconstructions = codes @ swap(modules.decoders.astype(codes.dtype, copy=False))
        reconstructions += modules.mean.astype(codes.dtype, copy=False)
        return reconstructions

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
        modules = self._fitted_modules()
        rows = rows_of(X, self)
        squares = centred_squares(rows, modules.mean)
        matches = centred_product(rows, modules.mean, side_by_side(modules.decoders))
        terms = row_terms(squares, modules.encode(rows), matches, modules.decoders)
        scores: Array = -np.asarray(terms.ambiguity_loss(modules.diversity))
        return scores

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
        return float(self.score_samples(X).mean())

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns of ``transform``: ``module0_0``, ``module0_1``, ...

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str objects
        """
        n_modules, width, _ = self._fitted_modules().encoders.shape
        names = [f"module{i}_{h}" for i in range(n_modules) for h in range(width)]
        return np.array(names, dtype=object)

    def _fitted_modules(self) -> Modules:
        check_is_fitted(self)
        return self._modules()

    @abstractmethod
    def _modules(self) -> Modules:
        """The fitted modules."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags
