r"""What fitted linear modules make of rows: codes, reconstructions, losses; all extractors share it.

Encoders are (M, H, D), decoders (M, D, H) with orthonormal columns; the mean (D,) is subtracted before
coding and added after. Answers are where the rows are.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from modae.data.rows import (
    Rows,
    by_module,
    centred_product,
    centred_squares,
    check_same_place,
    place_and_values,
    remember_place,
    same_place,
    unwrap,
)
from modae.data.validation import AcceptsAnyRows, by_rows, codes_of, gather, rows_of
from modae.linear.notebook import KeyFigures, modules_text
from modae.utils.arrays import Array


class Modules(NamedTuple):
    """What the methods below need, read once in each call: another thread may fit in between.

    Encoders are (M, H, D), decoders (M, D, H) with orthonormal columns.
    """

    mean: Array
    encoders: Array
    decoders: Array
    diversity: float


class LinearModules(KeyFigures, AcceptsAnyRows, TransformerMixin, BaseEstimator):
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
        modules, rows = self._modules_and_rows(X, "transform")
        return unwrap(encode(rows, modules.mean, modules.encoders))

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
        return codes_by_module(rows, modules)

    def fit_transform_modules(self, X: Any, y: object = None, **fit_params: Any) -> Array:
        """Fit to the rows of X, and give their codes of each module; X is validated once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        **fit_params : dict
            For ``fit``.

        Returns
        -------
        codes : ndarray of shape (n_modules, n_samples, n_components)
        """
        return gather(self.fit(X, y, **fit_params).transform_modules(X))

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
        codes = codes_of(X)
        width = modules.encoders.shape[0] * modules.encoders.shape[1]
        if codes.shape[1] != width:
            raise ValueError(
                f"X must have n_modules * n_components = {width} columns, as transform returns them, "
                f"got {codes.shape[1]}."
            )
        return unwrap(mean_reconstruction(codes, modules.mean, modules.decoders))

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
        codes = encode(rows, modules.mean, modules.encoders)
        return unwrap(reconstructions(codes, modules.mean, modules.decoders))

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
        return -unwrap(row_losses(rows, *modules))

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
        n_modules, width, _ = self._fitted_modules().encoders.shape
        names = [f"module{i}_{h}" for i in range(n_modules) for h in range(width)]
        return np.array(names, dtype=object)

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
        remember_place(free, None)
        return free

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _key_figures(self) -> dict[str, str]:
        return {"Modules": modules_text(self._modules().encoders.shape)}

    @abstractmethod
    def _modules(self) -> Modules:
        """The fitted modules."""


def encode(rows: Rows, mean: Array, encoders: Array) -> Any:
    """Codes of all modules side by side, (n, M*H), in the precision of the rows."""
    return centred_product(rows, mean, encoders.reshape(-1, encoders.shape[2]).T)


def codes_by_module(rows: Rows, modules: Modules) -> Any:
    """Codes of each module, (M, n, H), where the rows are."""
    return unwrap(by_module(encode(rows, modules.mean, modules.encoders), len(modules.encoders)))


def mean_reconstruction(codes: Rows, mean: Array, decoders: Array) -> Any:
    """Mean of what the modules make of their codes, (n, D)."""
    place, values = place_and_values(codes)
    flat = np.hstack(list(decoders)).astype(codes.dtype, copy=False) / len(decoders)
    there = values @ place.send(flat.T, codes.dtype) + place.send(mean, codes.dtype)
    return same_place(codes, there)


def reconstructions(codes: Rows, mean: Array, decoders: Array) -> Any:
    """What each module makes of its codes, (M, n, D)."""
    place, values = place_and_values(by_module(codes, len(decoders)))
    decoded = values @ place.send(decoders.mT, codes.dtype) + place.send(mean, codes.dtype)
    return same_place(codes, decoded)


def row_losses(rows: Rows, mean: Array, encoders: Array, decoders: Array, diversity: float) -> Any:
    r"""Loss of each row, (n,), in float64 and without the reconstructions: orthonormal decoders only.

    :math:`\|A_iz_i-x\|^2=\|x\|^2+\langle z_i,\,z_i-2A_i^Tx\rangle`, and with
    :math:`A=[A_1\dots A_M]` the error of the mean is
    :math:`\|x\|^2-\frac2M\langle z,A^Tx\rangle+\frac1{M^2}\langle z,A^TAz\rangle`.
    """
    n_modules, flat = len(decoders), np.hstack(list(decoders))
    place, codes = place_and_values(encode(rows, mean, encoders))
    matches = place_and_values(centred_product(rows, mean, flat))[1]
    squares = place_and_values(centred_squares(rows, mean))[1]
    codes, matches = (place.cast(each, place.precise) for each in (codes, matches))
    flat = flat.astype(np.float64)
    overlap = place.xp.vecdot(codes, matches) * (2.0 / n_modules)
    own = place.xp.vecdot(codes, codes) / n_modules
    together = place.xp.vecdot(codes @ place.send(flat.T @ flat, place.precise), codes) / n_modules**2
    reconstruction = place.xp.clip(squares + own - overlap, min=0.0)
    error_of_mean = place.xp.clip(squares + together - overlap, min=0.0)
    return same_place(rows, (1.0 - diversity) * reconstruction + diversity * error_of_mean)
