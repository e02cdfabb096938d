"""ModularOutlierDetector: rows unlike those of the training, by their neighbours and what is left."""

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, indexable

from modae.data.validation import by_rows, copy_columns, gather, require_in_memory, take_rows
from modae.ensembles.members import as_seed, seeds_for
from modae.ensembles.neighbors import NearestRows
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.notebook import KeyFigures
from modae.utils.arrays import Array
from modae.utils.parameters import is_number
from modae.utils.text import counted

#: Squared distances and residuals below this share of the variance of the codes count as nothing.
NOTHING = 1e-8

#: Folds for scores of rows that the modules were not fitted to.
FOLDS = 5

#: Share of usual new rows that "auto" calls outliers.
FALSE_ALARMS = 0.05


@dataclass(eq=False, repr=False)
class ModularOutlierDetector(OutlierMixin, KeyFigures, BaseEstimator):
    r"""Rows unlike those of the training: far from each of them, or outside what the modules can show.

    With the codes :math:`z_i(x)` of the modules, a row has a distance to the nearest training row, over
    all modules together, and a residual, which is its loss (the error of the mean reconstruction, at
    diversity 1):

    .. math:: d^2(x)=\min_r\sum_i\|z_i(x)-z_i(x_r)\|^2,\qquad
              \text{score}(x)=-\tfrac12\log d^2(x)-\tfrac12\log r(x) .

    Neither part alone does as well. At diversity 1 the codes give small principal components more weight
    than rows do, so the distance sees what the nearest row in the space of X does not. A row that is
    itself in the training data is compared with the others.

    Like PCA it depends on the scale of the columns: put a ``StandardScaler`` before it where units
    differ. It holds the codes of all training rows.

    Parameters
    ----------
    extractor : estimator with ``transform`` and ``score_samples``, default=None
        None means :class:`LinearModularAutoencoder` with 30 modules and diversity 1. A copy is fitted.
    contamination : "auto" or float, default="auto"
        Share of the training rows that are outliers, in (0, 0.5]: so many of them are called so. "auto"
        calls a row an outlier if its p-value is at most 0.05.
    n_jobs : int or None, default=None
        Threads that look for neighbours, if the codes have few columns.
    random_state : int, RandomState instance or None, default=None
        For the extractor, and for the folds of the p-values.

    Attributes
    ----------
    extractor_ : estimator
        The fitted extractor.
    reference_scores_ : ndarray of shape (n_samples,)
        Sorted scores of the training rows, each by modules and rows of other folds: what new rows that
        are like them score.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names.

    Examples
    --------
    >>> from modae import ModularOutlierDetector
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> detector = ModularOutlierDetector(random_state=0).fit(X[y < 8][:1000])
    >>> strangers, usual = X[y >= 8], X[y < 8][1000:]  # eights and nines were never there
    >>> bool((detector.predict(strangers) == -1).mean() > 5 * (detector.predict(usual) == -1).mean())
    True
    """

    extractor: Any = None
    _: KW_ONLY
    contamination: Any = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the modules, and keep the codes of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        share = self.contamination
        if share != "auto" and not (is_number(share) and 0.0 < share <= 0.5):
            raise ValueError(f"contamination must be 'auto' or a number in (0, 0.5], got {share!r}.")
        extractor = self._part()
        if isinstance(extractor, type) or not all(
            hasattr(extractor, name) for name in ("transform", "score_samples")
        ):
            raise TypeError(
                "extractor must have transform and score_samples, as LinearModularAutoencoder and "
                f"BaggingAutoencoder do, got {extractor!r}."
            )
        require_in_memory(X, "fit of ModularOutlierDetector")
        seed = as_seed(self.random_state)
        fresh = copy(self)._fit_modules(X, seed)  # a fit that fails leaves this model as it was
        n_rows, (X,) = len(fresh._nearest.rows), indexable(X)
        folds = KFold(min(FOLDS, n_rows), shuffle=True, random_state=seed)
        fold_scores = [
            copy(self)._fit_modules(take_rows(X, train), seed)._scores(take_rows(X, test))
            for train, test in folds.split(np.empty((n_rows, 0)))
        ]
        fresh.reference_scores_ = np.sort(np.concatenate(fold_scores))
        if share == "auto":
            rank = int(FALSE_ALARMS * (n_rows + 1)) - 1  # the last one whose p-value is small enough
            lowest = fresh.reference_scores_
            fresh.offset_ = float(lowest[rank] if rank >= 0 else np.nextafter(lowest[0], -np.inf))
        else:
            fresh.offset_ = float(np.percentile(fresh._scores(X), 100.0 * float(share)))
        self.__dict__ = fresh.__dict__
        return self

    @by_rows()
    def score_samples(self, X: Any) -> Array:
        """How usual each row is: high for rows like those of the training.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._scores(X)

    @by_rows()
    def decision_function(self, X: Any) -> Array:
        """``score_samples`` minus ``offset_``: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    @by_rows()
    def predict(self, X: Any) -> np.ndarray:
        """-1 for outliers, 1 for usual rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    @by_rows()
    def p_values(self, X: Any) -> Array:
        """Share of usual rows that score as low: small for outliers, spread evenly for usual rows.

        With the scores of n training rows by modules and rows of other folds, (1 + those not above) /
        (n + 1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p_values : ndarray of shape (n_samples,)
        """
        scores, known = self.score_samples(X), self.reference_scores_
        return (1.0 + np.searchsorted(known, scores, side="right")) / (1.0 + len(known))

    def _part(self) -> Any:
        return LinearModularAutoencoder(30, diversity=1.0) if self.extractor is None else self.extractor

    def _fit_modules(self, X: Any, seed: int | None) -> Self:
        """Modules, the codes of the rows, and how much these vary."""
        extractor = clone(self._part())
        rng = None if seed is None else check_random_state(seed)
        self.extractor_ = extractor.set_params(**seeds_for(extractor, rng)).fit(X)
        copy_columns(self, self.extractor_)
        codes = np.asarray(gather(self.extractor_.transform(X)))
        if len(codes) < 2:
            raise ValueError("X must have at least 2 rows, to compare them, got n_samples = 1.")
        self._nearest = NearestRows(codes, "auto")
        self._variance = float(codes.var(axis=0, dtype=np.float64).sum()) or 1.0
        return self

    def _scores(self, X: Any) -> Array:
        codes = np.asarray(gather(self.extractor_.transform(X)))
        places = self._nearest.of(codes, min(2, len(self._nearest.rows)), self.n_jobs)
        squares = np.square(codes[:, None] - self._nearest.rows[places], dtype=np.float64).sum(axis=2)
        # A row that is there itself is compared with the others: its own distance is round-off.
        lengths = np.square(codes, dtype=np.float64).sum(axis=1)
        itself = squares[:, 0] <= (64.0 * np.finfo(codes.dtype).eps) ** 2 * (lengths + self._variance)
        nearest = np.where(itself, squares[:, -1], squares[:, 0])
        left = -np.asarray(gather(self.extractor_.score_samples(X)), dtype=np.float64)
        parts = np.maximum([nearest, left], 0.0) / self._variance
        return -0.5 * np.log(parts + NOTHING).sum(axis=0)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "offset_")

    def _key_figures(self) -> dict[str, str]:
        of_extractor = getattr(self.extractor_, "_key_figures", dict)
        return {"Compares with": counted(len(self._nearest.rows), "row")} | of_extractor()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        extractor = self._part()
        if hasattr(extractor, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(extractor).input_tags.sparse
        return tags
