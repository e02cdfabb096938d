"""The default member: exact nearest neighbours, by a tree in few dimensions, by products in many."""

from abc import abstractmethod
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, is_regressor
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from modae.data.rows import HOST, refuse_masked, weights_of
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_choice, check_count

BACKENDS = ("auto", "tree", "brute")

#: Features up to which a tree is faster for few rows, see :func:`choose_backend`.
TREE_LIMIT = 8

#: Distances held at a time, in one buffer that stays in the cache.
BLOCK = 1 << 20

#: So many neighbours are found faster one after the other than by a partition of all distances.
FEW = 16


def choose_backend(backend: str, n_features: int, n_rows: int) -> str:
    """The backend, or the one that "auto" stands for: a k-d tree in few dimensions, products in many.

    ====================  ==========================  ==============================================
    rows                  a tree up to                why
    ====================  ==========================  ==============================================
    fewer than 20,000     8 features                  the time of products hardly grows with the
    fewer than 40,000     10 features                 features, but with the rows; a tree visits few
    more                  12 features                 of its leaves, and more in each dimension
    ====================  ==========================  ==============================================

    Both are exact. Measured on codes of digits with 10 features, 2,000 queries: tree 24 and products 16
    ms for 10,000 rows, 41 and 46 ms for 30,000.
    """
    if backend != "auto":
        return backend
    limit = TREE_LIMIT + 2 * (n_rows >= 20_000) + 2 * (n_rows >= 40_000)
    return "tree" if n_features <= limit else "brute"


class NearestRows:
    """Indices of the nearest of some rows. What a query needs is made on first use, and not stored."""

    def __init__(self, rows: Array, backend: str) -> None:
        self.rows = rows
        self.backend = choose_backend(backend, rows.shape[1], len(rows))
        self._tree: cKDTree | None = None

    def of(self, queries: Array, count: int, n_jobs: int | None) -> Indices:
        """The nearest rows to each query, the nearest first, (n_queries, count)."""
        if self.backend == "brute":
            return nearest_by_products(self.rows, queries, count)
        if self._tree is None:
            # Cut in the middle, not at the median: half the time to build, and no slower to ask.
            self._tree = cKDTree(self.rows, leafsize=24, balanced_tree=False)
        # Neighbours in turn: they visit the same leaves, which are then still in the cache.
        order = cKDTree(queries).indices
        threads, usual = get_active_backend(prefer="threads")
        workers = threads.effective_n_jobs(usual if n_jobs is None else n_jobs)
        nearest, ranks = np.empty((len(queries), count), dtype=np.intp), list(range(1, count + 1))
        nearest[order] = self._tree.query(queries[order], k=ranks, workers=workers)[1]
        if nearest.size and nearest.max() == len(self.rows):
            raise ValueError("X has entries so large that squares of distances overflow: scale it down.")
        return nearest

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tree": None}


def nearest_by_products(rows: Array, queries: Array, count: int) -> Indices:
    r"""The nearest rows to each query, exactly, from products in float32.

    :math:`|q-f|^2=|q|^2+|f|^2-2\langle q,f\rangle`, around the mean of the rows and in units of the
    largest entry, has an error below :math:`4(d+8)\,\epsilon\,(|q|+\max|f|)^2` in float32. Every row
    within twice that of the best ones is compared again in float64: they alone, as a rule.
    """
    centre = rows.mean(axis=0, dtype=np.float64)
    rows, queries = rows - centre, queries - centre
    unit = max(np.abs(rows).max(), np.abs(queries).max(initial=0.0)) or 1.0
    if not np.isfinite(unit):
        raise ValueError("X has entries so large that distances overflow: scale it down.")
    near, asked = ((each / unit).astype(np.float32) for each in (rows, queries))
    squares = np.einsum("nd,nd->n", near, near)
    lengths = np.sqrt(np.einsum("nd,nd->n", asked, asked)) + np.sqrt(squares.max())
    doubt = 8.0 * (rows.shape[1] + 8) * np.finfo(np.float32).eps * lengths**2
    # |f|^2 is one more product, with 1: cheaper than to add it afterwards.
    turned = np.ascontiguousarray(np.column_stack([-2.0 * near, squares]).T)
    asked = np.column_stack([asked, np.ones(len(asked), np.float32)])
    nearest = np.empty((len(asked), count), dtype=np.intp)
    last = np.empty(len(asked), dtype=np.float32)  # the distance of the last of them
    clear = np.zeros(len(asked), dtype=bool)
    height = min(len(asked), max(1, BLOCK // len(near)))
    buffer = np.empty((height, len(near)), dtype=np.float32)
    for start in range(0, len(asked), height or 1):
        cut = slice(start, min(start + height, len(asked)))
        places = np.arange(cut.stop - cut.start)
        distances = np.matmul(asked[cut], turned, out=buffer[: len(places)])
        if count > FEW:
            last[cut] = np.partition(distances, count - 1)[:, count - 1]
            continue
        for rank in range(count):  # the best, one after the other, and the next
            nearest[cut, rank] = found = distances.argmin(axis=1)
            last[cut] = distances[places, found]
            distances[places, found] = np.inf
        clear[cut] = distances.min(axis=1) > last[cut] + doubt[cut]
    if count > 1:
        sure = np.flatnonzero(clear)
        exact = np.square(queries[sure, None] - rows[nearest[sure]]).sum(axis=2)
        order = exact.argsort(axis=1, kind="stable")
        nearest[sure] = np.take_along_axis(nearest[sure], order, axis=1)
    unclear = np.flatnonzero(~clear)
    for start in range(0, len(unclear), height):
        these = unclear[start : start + height]
        within = asked[these] @ turned <= (last + doubt)[these, None]
        query, row = np.divmod(np.flatnonzero(within), len(near))  # nonzero of two axes takes far longer
        exact = np.square(queries[these[query]] - rows[row]).sum(axis=1)
        row = row[np.lexsort((exact, query))]
        starts = np.searchsorted(query, np.arange(len(these)))
        nearest[these] = row[starts[:, None] + np.arange(count)]
    return nearest


@dataclass(eq=False, repr=False)
class NearestNeighbor(BaseEstimator):
    """What both estimators share. Abstract: a subclass says how targets are kept."""

    n_neighbors: int = 1
    _: KW_ONLY
    backend: str = "auto"
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 0 is not there. A row of weight 2 is two neighbours at the same distance.

        Returns
        -------
        self
        """
        fresh = copy(self)  # a fit that fails leaves this model as it was
        refuse_masked("X", X)
        refuse_masked("y", y)
        self.check_parameters()
        numbers = is_regressor(self)
        how = {"dtype": HOST.float_types(), "multi_output": numbers, "y_numeric": numbers}
        X, y = validate_data(fresh, X, y, **how)
        if not numbers:
            check_classification_targets(y)
        self.__dict__ = fresh._fit_checked(X, y, weights_of(sample_weight, len(X))).__dict__
        return self

    def check_parameters(self) -> None:
        """Refuse what cannot work. An ensemble does so once, not for each of its members."""
        check_count("n_neighbors", self.n_neighbors)
        check_choice("backend", self.backend, BACKENDS)

    def _fit_checked(self, X: Array, y: np.ndarray, sample_weight: Array | None = None) -> Self:
        """Keep rows that are known to be finite floats, with weights that are known to be numbers."""
        targets, weights = self._targets(y), sample_weight
        if weights is None:
            rows = np.array(X)  # a copy: the caller may change his array
        else:
            if not weights.any():
                raise ValueError("sample_weight is zero for every row: there would be no data.")
            present = weights > 0.0
            rows, targets, weights = X[present], targets[present], weights[present]
        self.n_features_in_ = X.shape[1]
        self.targets_, self.weights_ = targets, weights
        self.nearest_ = NearestRows(rows, self.backend)
        return self

    def _neighbors(self, queries: Array) -> tuple[np.ndarray, Array]:
        """Targets of the neighbours of each query, the nearest first, and their shares in the answer."""
        count = min(int(self.n_neighbors), len(self.targets_))
        places = self.nearest_.of(queries, count, self.n_jobs)
        shares = np.ones(places.shape)
        if self.weights_ is not None:
            # So many rows as their weight says, until n_neighbors are there.
            reached = np.cumsum(self.weights_[places], axis=1)
            shares = np.diff(np.minimum(reached, self.n_neighbors), axis=1, prepend=0.0)
        return self.targets_[places], shares / shares.sum(axis=1, keepdims=True)

    def _queries(self, X: Any) -> Array:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=HOST.float_types())

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """What is remembered of each row of y."""


class NearestNeighborClassifier(ClassifierMixin, NearestNeighbor):
    """The label of the nearest training row, or of most of the nearest ones.

    The same answers as ``KNeighborsClassifier``, faster, and with ``sample_weight``. Where two rows are
    at exactly the same distance, it is not defined whose label is taken, but it is the same one in every
    call.

    Parameters
    ----------
    n_neighbors : int, default=1
        Rows that vote.
    backend : {"auto", "tree", "brute"}, default="auto"
        How the nearest rows are found; "auto" follows the table in
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
        """Label of most of the neighbours; of labels that tie, the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._predict_checked(self._queries(X))

    def _predict_checked(self, X: Array) -> np.ndarray:
        return np.asarray(self.classes_[self._predict_proba_checked(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """Shares of the neighbours with each label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._predict_proba_checked(self._queries(X))

    def _predict_proba_checked(self, X: Array) -> Array:
        labels, shares = self._neighbors(X)
        probabilities = np.zeros((len(labels), len(self.classes_)))
        if labels.shape[1] == 1:
            probabilities[np.arange(len(labels)), labels[:, 0]] = 1.0
            return probabilities
        np.add.at(probabilities, (np.arange(len(labels))[:, None], labels), shares)
        return probabilities

    def _targets(self, y: np.ndarray) -> np.ndarray:
        self.classes_, labels = np.unique(y, return_inverse=True)
        return labels


class NearestNeighborRegressor(MultiOutputMixin, RegressorMixin, NearestNeighbor):
    """The mean target of the nearest training rows; several targets at once if y has columns.

    Parameters
    ----------
    n_neighbors : int, default=1
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
        """Mean target of the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._predict_checked(self._queries(X))

    def _predict_checked(self, X: Array) -> Array:
        targets, shares = self._neighbors(X)
        return np.einsum("nk,nk...->n...", shares, targets)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return np.array(y, dtype=y.dtype if y.dtype.kind == "f" else np.float64)
