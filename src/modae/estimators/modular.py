"""The transform side that all linear modular extractors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from modae.core.arrays import Array, apart, side_by_side, swap
from modae.core.objective import row_terms
from modae.core.rows import Rows, centred_product, centred_squares
from modae.inputs import rows_of


class LinearModules(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes and reconstructions by linear modules with orthonormal decoders.

    Abstract: a subclass publishes ``mean_`` (D,), ``encoders_`` (M, H, D) and ``decoders_`` (M, D, H),
    and says which diversity its loss has.
    """

    mean_: Array
    encoders_: Array
    decoders_: Array

    def transform(self, X: Any) -> Array:
        """Codes of all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_modules * n_components)
        """
        return self._encode(self._rows(X))

    def transform_modules(self, X: Any) -> Array:
        """Codes of each module: the features for one member of an ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_modules, n_samples, n_components)
        """
        return apart(self._encode(self._rows(X)), len(self.encoders_))

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
        check_is_fitted(self)
        codes = check_array(X, dtype=[np.float64, np.float32])
        decoders = side_by_side(self.decoders_).astype(codes.dtype, copy=False)
        if codes.shape[1] != decoders.shape[1]:
            raise ValueError(
                f"X must have n_modules * n_components = {decoders.shape[1]} columns, as transform "
                f"returns them, got {codes.shape[1]}."
            )
        reconstruction: Array = codes @ (decoders / len(self.decoders_)).T
        reconstruction += self.mean_.astype(codes.dtype, copy=False)
        return reconstruction

    def reconstruct_modules(self, X: Any) -> Array:
        """Reconstruction of X by each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        reconstructions : ndarray of shape (n_modules, n_samples, n_features)
        """
        codes = apart(self._encode(self._rows(X)), len(self.encoders_))
        reconstructions = codes @ swap(self.decoders_.astype(codes.dtype, copy=False))
        reconstructions += self.mean_.astype(codes.dtype, copy=False)
        return reconstructions

    def score_samples(self, X: Any) -> Array:
        """Minus the loss of each row, at this model's diversity: low for rows unlike the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        rows = self._rows(X)
        decoders = self.decoders_.astype(rows.dtype, copy=False)
        matches = centred_product(rows, self.mean_, side_by_side(decoders))
        terms = row_terms(centred_squares(rows, self.mean_), self._encode(rows), matches, decoders)
        scores: Array = -np.asarray(terms.loss(self._loss_diversity()))
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
        check_is_fitted(self)
        n_modules, width, _ = self.encoders_.shape
        names = [f"module{i}_{h}" for i in range(n_modules) for h in range(width)]
        return np.array(names, dtype=object)

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return rows_of(X, self)

    def _encode(self, rows: Rows) -> Array:
        encoders = self.encoders_.reshape(-1, self.encoders_.shape[2])
        return centred_product(rows, self.mean_, encoders.T)

    @abstractmethod
    def _loss_diversity(self) -> float:
        """The diversity in the loss that ``score_samples`` reports."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags
