"""The default member: exact nearest neighbour, by a tree in few dimensions, by products in many."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from modae.data.validation import FLOATS, refuse_masked, weights_of
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_choice

TREE_LIMIT = 20
"""Features up to which a tree is faster, see :func:`choose_backend`."""


def choose_backend(n_features: int) -> str:
    """The backend that "auto" stands for.

    ==========  =========  ==================================================================
    features    backend    why
    ==========  =========  ==================================================================
    1 to 20     "tree"     scipy's k-d tree: 2 to 70 times faster than products up to ten features,
                           and no slower, for the same number of cores, at twenty
    21 and up   "brute"    scikit-learn's blocked products: a tree visits most of its leaves there, and
                           is 5 times slower at fifty features and 48,000 rows
    ==========  =========  ==================================================================

    Both are exact. The number of rows moves the border little, so it is not in the table.
    """
    return "tree" if n_features <= TREE_LIMIT else "brute"


class NearestRow:
    """Index of the nearest of some rows. The tree is built on first use and left out of files."""

    def __init__(self, rows: Array, backend: str) -> None:
        self.rows = rows
        self.backend = choose_backend(rows.shape[1]) if backend == "auto" else backend
        self._tree: cKDTree | None = None

    def of(self, queries: Array, n_jobs: int | None) -> Indices:
        """The nearest row to each query, (n_queries,)."""
        if self.backend == "brute":
            # Products cancel far from 0, where distances are small beside the rows.
            centre = self.rows.mean(axis=0)
            return pairwise_distances_argmin(queries - centre, self.rows - centre)
        if self._tree is None:
            self._tree = cKDTree(self.rows)
        # Neighbours in turn: they visit the same leaves, which are then still in the cache.
        order = cKDTree(queries).indices
        nearest = np.empty(len(queries), dtype=np.intp)
        nearest[order] = self._tree.query(queries[order], workers=effective_n_jobs(n_jobs))[1]
        if len(nearest) and nearest.max() == len(self.rows):
            raise ValueError("X has entries so large that squares of distances overflow: scale it down.")
        return nearest

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tree": None}


class _NearestNeighbor(BaseEstimator):
    """What both estimators share. Abstract: a subclass says how targets are kept."""

    def __init__(self, *, backend: str = "auto", n_jobs: int | None = None) -> None:
        self.backend = backend
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 0 is not there; of the others each counts once, as repeating a row does not
            change what is nearest.

        Returns
        -------
        self
        """
        fresh = copy(self)  # a fit that fails leaves this model as it was
        refuse_masked("X", X)
        refuse_masked("y", y)
        X, y = fresh._validated(X, y)
        self.__dict__ = fresh._fit_checked(X, y, sample_weight).__dict__
        return self

    def _fit_checked(self, X: Array, y: np.ndarray, sample_weight: Any = None) -> Self:
        """Keep rows that are known to be finite floats."""
        check_choice("backend", self.backend, ("auto", "tree", "brute"))
        targets = self._targets(y)
        rows = X
        weights = None if sample_weight is None else weights_of(sample_weight, len(X))
        if weights is not None:
            if not weights.any():
                raise ValueError("sample_weight is zero for every row: there would be no data.")
            rows, targets = X[weights > 0.0], targets[weights > 0.0]
        self.n_features_in_ = X.shape[1]
        self.targets_ = targets
        # Copies: the caller may change his arrays.
        self.nearest_ = NearestRow(np.array(rows) if rows is X else rows, self.backend)
        return self

    def _nearest_targets(self, queries: Array) -> np.ndarray:
        nearest: np.ndarray = self.targets_[self.nearest_.of(queries, self.n_jobs)]
        return nearest

    def _queries(self, X: Any) -> Array:
        check_is_fitted(self)
        queries: Array = validate_data(self, X, reset=False, dtype=FLOATS)
        return queries

    @abstractmethod
    def _validated(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        """X as floats and y as it is kept."""

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """What is remembered of each row of y."""


class NearestNeighborClassifier(ClassifierMixin, _NearestNeighbor):
    """The label of the nearest training row.

    The same answers as ``KNeighborsClassifier(1)``, faster in few dimensions, and with
    ``sample_weight``. Where two rows are at exactly the same distance, it is not defined whose label is
    taken, but it is the same one in every call.

    Parameters
    ----------
    backend : {"auto", "tree", "brute"}, default="auto"
        How the nearest row is found; "auto" follows the table in
        :func:`modae.ensembles.neighbors.choose_backend`.
    n_jobs : int or None, default=None
        Threads of a query with a tree.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> from modae import NearestNeighborClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NearestNeighborClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.96
    """

    def predict(self, X: Any) -> np.ndarray:
        """Label of the nearest training row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._predict_checked(self._queries(X))

    def _predict_checked(self, X: Array) -> np.ndarray:
        return np.asarray(self.classes_[self._nearest_targets(X)])

    def predict_proba(self, X: Any) -> Array:
        """1 for the label of the nearest training row, 0 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._predict_proba_checked(self._queries(X))

    def _predict_proba_checked(self, X: Array) -> Array:
        return np.eye(len(self.classes_))[self._nearest_targets(X)]

    def _validated(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        X, y = validate_data(self, X, y, dtype=FLOATS)
        check_classification_targets(y)
        return X, y

    def _targets(self, y: np.ndarray) -> np.ndarray:
        self.classes_, labels = np.unique(y, return_inverse=True)
        return labels


class NearestNeighborRegressor(RegressorMixin, _NearestNeighbor):
    """The target of the nearest training row; several targets at once if y has columns.

    Parameters
    ----------
    backend : {"auto", "tree", "brute"}, default="auto"
    n_jobs : int or None, default=None

    See Also
    --------
    NearestNeighborClassifier : The same for labels.

    Examples
    --------
    >>> from modae import NearestNeighborRegressor
    >>> NearestNeighborRegressor().fit([[0.0], [1.0]], [5.0, 7.0]).predict([[0.9]])
    array([7.])
    """

    def predict(self, X: Any) -> Array:
        """Target of the nearest training row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._nearest_targets(self._queries(X))

    def _predict_checked(self, X: Array) -> Array:
        return self._nearest_targets(X)

    def _validated(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        return validate_data(self, X, y, dtype=FLOATS, multi_output=True, y_numeric=True)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return np.array(y, dtype=y.dtype if y.dtype.kind == "f" else np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
