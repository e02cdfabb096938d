"""Models beside each other: the same folds for all, and what the difference of two is worth."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import ensemble
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_consistent_length, column_or_1d

from modae.data.validation import take_rows
from modae.ensembles.base import require_in_memory
from modae.ensembles.folds import make_folds
from modae.ensembles.leaderboard import Leaderboard
from modae.ensembles.search import error_of, paired_difference
from modae.utils.parallel import run_parallel
from modae.utils.text import counted

#: Rows up to which an SVM is tuned, and columns times classes up to which trees are boosted: minutes.
TUNED_ROWS, BOOSTED = 2_000, 1_000


def compare(
    models: Mapping[str, Any], X: Any, y: Any, *, cv: Any = None, groups: Any = None, n_jobs: Any = None
) -> Leaderboard:
    """Cross-validate models on the same folds, and say how far each is behind the best.

    Every model predicts every test row once, so two models can be compared row by row: the standard
    error of such a paired difference is much smaller than those of the two errors.

    Parameters
    ----------
    models : mapping of str to estimator
        Unfitted classifiers, or regressors; copies are fitted.
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, splitter or iterable of (train, test), default=None
        Folds; None means 5, stratified for classifiers.
    groups : array-like of shape (n_samples,), optional
        For a splitter that keeps groups together.
    n_jobs : int or None, default=None
        Fits at the same time.

    Returns
    -------
    leaderboard : Leaderboard
        The best first: ``name``, ``error`` (share of wrong labels, or 1 - R^2) with ``se`` over the
        folds, ``difference`` to the best with ``se_difference`` over the rows, times; ``print`` it.

    Examples
    --------
    >>> from modae.metrics import compare
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> models = {"logistic": LogisticRegression(max_iter=500), "1-NN": KNeighborsClassifier(1)}
    >>> table = compare(models, *load_iris(return_X_y=True))
    >>> table["name"].tolist(), table["error"].round(3).tolist()
    (['logistic', '1-NN'], [0.027, 0.04])
    """
    require_in_memory(X, "cross-validation")
    classify = all(map(is_classifier, models.values()))
    if not models or not (classify or all(map(is_regressor, models.values()))):
        kinds = {name: type(model).__name__ for name, model in models.items()}
        raise ValueError(f"models must be classifiers, or regressors, and at least one, got {kinds}.")
    y = column_or_1d(y)
    check_consistent_length(X, y)
    folds = make_folds(cv, X, y, groups=groups, classes=classify)

    def trial(model: Any, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Losses of the test rows, and the times of a fit and of the predictions."""
        start = perf_counter()
        fitted = clone(model).fit(take_rows(X, train), y[train])
        between = perf_counter()
        answers = fitted.predict(take_rows(X, test))
        times = between - start, perf_counter() - between
        losses = answers != y[test] if classify else np.square(answers - y[test])
        return losses.astype(float), *times

    tasks = [(model, train, test) for model in models.values() for train, test in folds]
    found = run_parallel(trial, tasks, n_jobs)
    shape = len(models), len(folds)
    tested = [y[test] for *_, test in tasks]
    errors = np.reshape(
        [error_of(each[0], true, classify=classify) for each, true in zip(found, tested, strict=True)],
        shape,
    )
    rows = np.concatenate(tested[: len(folds)])
    losses = np.concatenate([each[0] for each in found]).reshape(len(models), -1)
    losses *= error_of(np.ones(len(rows)), rows, classify=classify)
    best = losses[errors.mean(axis=1).argmin()]
    times = np.reshape([each[1:] for each in found], (*shape, 2)).mean(axis=1)
    columns = {
        "name": list(models),
        "score": 1.0 - errors.mean(axis=1),
        "error": errors.mean(axis=1),
        "se": errors.std(axis=1) / np.sqrt(max(len(folds) - 1, 1)),
        "size": [np.shape(X)[1]] * len(models),
    }
    pairs = np.array([paired_difference(each, best) for each in losses])
    columns |= dict(zip(("difference", "se_difference"), pairs.T, strict=True))
    return Leaderboard.of(columns | dict(zip(("fit_time", "predict_time"), times.T, strict=True)))


def rivals(X: Any, y: Any, *, classify: bool, member: Any = None) -> dict[str, Any]:
    """What a model is to be compared with: strong methods as people use them, the SVM tuned.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        Only its size and kind matter: an SVM is for 2,000 rows at most, and gradient boosting for
        columns times classes up to 1,000, and not for sparse matrices.
    y : array-like of shape (n_samples,)
    classify : bool
        Whether y are labels.
    member : estimator, optional
        Of an ensemble on modules: one of it on a single PCA is a rival too.

    Returns
    -------
    models : dict of str to estimator

    Examples
    --------
    >>> from modae.metrics import rivals
    >>> from sklearn.datasets import load_iris
    >>> list(rivals(*load_iris(return_X_y=True), classify=True))
    ['random forest', 'extra trees', 'gradient boosting', 'SVM', 'logistic regression']
    """
    (n_rows, n_features), sparse = X.shape, issparse(X)

    def trees(name: str, **size: int) -> Any:
        kind = "Classifier" if classify else "Regressor"
        return getattr(ensemble, f"{name}{kind}")(**size, random_state=0)

    models: dict[str, Any] = {"random forest": trees("RandomForest", n_estimators=300)}
    models["extra trees"] = trees("ExtraTrees", n_estimators=300)
    n_trees = n_features * (len(np.unique(y)) if classify else 1)
    if n_trees <= BOOSTED and not sparse:
        models["gradient boosting"] = trees("HistGradientBoosting")
    scaler = StandardScaler(with_mean=not sparse)
    if n_rows <= TUNED_ROWS:
        kernel = make_pipeline(scaler, SVC() if classify else SVR())
        name = kernel.steps[-1][0]
        widths = [width / n_features for width in (0.3, 1.0, 3.0)]
        grid = {f"{name}__C": [1, 10, 100], f"{name}__gamma": widths}
        models["SVM"] = GridSearchCV(kernel, grid, cv=3)
    linear = LogisticRegression(max_iter=1000) if classify else Ridge()
    models["logistic regression" if classify else "ridge"] = make_pipeline(scaler, linear)
    if member is not None:
        size = max(1, min(n_features - sparse, n_rows // 2, 50))
        name = f"one PCA with {counted(size, 'component')}"
        models[name] = make_pipeline(PCA(size, random_state=0), member)
    return models
