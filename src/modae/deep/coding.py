"""The transform side of a deep modular autoencoder: codes, reconstructions and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import check_array

from modae.data import rows_of
from modae.deep.base import DeepModules
from modae.linear.notebook import modules_text
from modae.utils.arrays import Array, apart, side_by_side


class CodingModules(TransformerMixin, DeepModules):
    """Codes and reconstructions by the network of a trained model.

    Abstract: a subclass says what its network is.
    """

    def transform(self, X: Any) -> Array:
        """Codes of all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_modules * n_components)
        """
        return side_by_side(self.transform_modules(X))

    def transform_modules(self, X: Any) -> Array:
        """Codes of each module: the features for one member of an ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_modules, n_samples, n_components)
        """
        return self._model().codes(rows_of(X, self))

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
        model = self._model()
        codes = check_array(X, dtype=[np.float64, np.float32])
        width = model.n_modules * model.n_components
        if codes.shape[1] != width:
            raise ValueError(
                f"X must have n_modules * n_components = {width} columns, as transform returns them, "
                f"got {codes.shape[1]}."
            )
        return model.scaling.undone(model.decoded(apart(codes, model.n_modules)), codes.dtype)

    def reconstruct_modules(self, X: Any) -> Array:
        """Reconstruction of X by each module alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        reconstructions : ndarray of shape (n_modules, n_samples, n_features)
        """
        model, rows = self._model(), rows_of(X, self)
        return model.scaling.undone(model.outputs(rows), rows.dtype)

    def score_samples(self, X: Any) -> Array:
        """Minus the loss of each row, at this model's diversity: low for rows unlike the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        model, rows = self._model(), rows_of(X, self)
        members, of_mean = model.losses(model.source(rows))
        scores: Array = model.objective.diversity * (members - of_mean) - members
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
        model = self._model()
        width = range(model.n_components)
        return np.array([f"module{i}_{h}" for i in range(model.n_modules) for h in width], dtype=object)

    def _key_figures(self) -> dict[str, str]:
        model = self._fitted.model
        return super()._key_figures() | {"Modules": modules_text((model.n_modules, model.n_components))}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
