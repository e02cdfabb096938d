"""Models beside each other: the same folds for all, and what the difference of two is worth."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import ensemble
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_consistent_length, column_or_1d

from modae.data.validation import known_targets, require_in_memory, take_rows
from modae.ensembles.folds import make_folds
from modae.ensembles.leaderboard import Leaderboard
from modae.ensembles.search import error_of, paired_difference
from modae.utils.parallel import run_parallel

#: Rows, and rows times columns, up to which an SVM is tuned, and columns times classes up to which trees
#: are boosted: minutes.
TUNED_ROWS, TUNED_NUMBERS, BOOSTED = 2_000, 2_000_000, 1_000

#: Of tables with so many times more columns than rows, the best columns are a rival, so many.
WIDE, BEST_COLUMNS = 2, 50

#: Of the kernel of an SVM: gamma in units of 1 / (columns * variance).
WIDTHS = (0.3, 1.0, 3.0)

#: Differences of errors below it are none: models that are the same add up numbers in another order.
ROUND_OFF = 1e-9


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    missing_label: Any = None,
    n_jobs: Any = None,
    advance: Callable[[], object] | None = None,
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
    missing_label : scalar, default=None
        What marks rows without a label in y, as in :class:`modae.ModularClassifier`. They are in no
        fold; models with this parameter are trained on them too, in every fold.
    n_jobs : int or None, default=None
        Fits at the same time.
    advance : callable, optional
        Called when a model was fitted to one fold, and judged.

    Returns
    -------
    leaderboard : Leaderboard
        The best first: ``name``, ``error`` (share of wrong labels, or 1 - R^2) with ``se`` over the
        folds (over the rows, if there is one fold), ``difference`` to the best with ``se_difference``
        over the rows, times; of regressors ``rmse`` too, root mean square errors in the units of y, the
        mean over the folds. ``print`` it.

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
    marked = y
    y, known = known_targets(X, y, missing_label, lambda _, targets: column_or_1d(targets))
    check_consistent_length(X, y)
    folds = make_folds(cv, X, y, known, groups=groups, classes=classify)
    unlabelled = np.setdiff1d(np.arange(len(y)), known)

    def trial(model: Any, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        """Losses of the test rows, the error, and the times of a fit and of the predictions."""
        targets, params = y[train], model.get_params().items()
        marks = any(name.endswith("missing_label") and value is not None for name, value in params)
        if len(unlabelled) and marks:  # it takes rows without a label
            train = np.concatenate([train, unlabelled])
            targets = take_rows(marked, train)
        start = perf_counter()
        fitted = clone(model).fit(take_rows(X, train), targets)
        between = perf_counter()
        answers = fitted.predict(take_rows(X, test))
        times = between - start, perf_counter() - between
        losses = (answers != y[test] if classify else np.square(answers - y[test])).astype(float)
        return losses, error_of(losses, y[test], classify=classify), *times

    tasks = [(model, train, test) for model in models.values() for train, test in folds]
    rows_of_losses, *numbers = zip(*run_parallel(trial, tasks, n_jobs, advance), strict=True)
    errors, fit_times, predict_times = np.reshape(numbers, (3, len(models), len(folds)))
    losses = np.concatenate(rows_of_losses).reshape(len(models), -1)
    # In the unit of the error, and such that their mean is the mean error over the folds.
    sizes = [len(test) for _, test in folds]
    units = [error_of(np.ones(len(test)), y[test], classify=classify) for _, test in folds]
    losses *= np.repeat(np.divide(units, sizes), sizes) * sum(sizes) / len(folds)
    best = losses[errors.mean(axis=1).argmin()]
    apart = np.array([paired_difference(each, best) for each in losses])
    difference, its_error = np.where(np.abs(apart) < ROUND_OFF, 0.0, apart).T
    by_rows = [paired_difference(each, 0.0 * each)[1] for each in losses]
    by_folds = errors.std(axis=1) / np.sqrt(max(len(folds) - 1, 1))
    columns = {
        "name": list(models),
        "score": 1.0 - errors.mean(axis=1),
        "error": errors.mean(axis=1),
        "se": by_folds if len(folds) > 1 else by_rows,
        "size": [np.shape(X)[1]] * len(models),
        "difference": difference,
        "se_difference": its_error,
        "fit_time": fit_times.mean(axis=1),
        "predict_time": predict_times.mean(axis=1),
    }
    if not classify:
        columns["rmse"] = np.sqrt(errors / units).mean(axis=1)
    return Leaderboard.of(columns, classify=classify)


def rivals(X: Any, y: Any, *, classify: bool, member: Any = None) -> dict[str, Any]:
    """What a model is to be compared with: strong methods as people use them, the SVM tuned.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        Only its size, kind and scale matter. An SVM is for 2,000 rows and 2 million numbers at most, and
        gradient boosting for columns times classes up to 1,000, and not for sparse matrices. If columns
        are at least twice as many as rows, a linear model on the 50 columns with the largest F
        statistics is a rival too.
    y : array-like of shape (n_samples,)
    classify : bool
        Whether y are labels.
    member : estimator, optional
        Of an ensemble on modules: one of it on all columns, and on PCAs with half and with a fifth
        as many components, 50 at most, are rivals too.

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
    if n_rows <= TUNED_ROWS and n_rows * n_features <= TUNED_NUMBERS:
        kernel = Pipeline([("scale", scaler), ("svm", SVC() if classify else SVR())])
        grid = [{"svm__C": [1, 10, 100], "svm__gamma": [width / n_features for width in WIDTHS]}]
        if not sparse:  # pixels, for one, are better left as they are
            unit = n_features * (float(np.var(np.asarray(X, dtype=np.float64))) or 1.0)
            as_they_are = {"scale": ["passthrough"], "svm__gamma": [width / unit for width in WIDTHS]}
            grid.append({**as_they_are, "svm__C": [10]})
        models["SVM"] = GridSearchCV(kernel, grid, cv=3)
    linear = LogisticRegression(max_iter=1000) if classify else Ridge()
    models["logistic regression" if classify else "ridge"] = make_pipeline(scaler, linear)
    if n_features >= WIDE * n_rows:
        best = SelectKBest(f_classif if classify else f_regression, k=min(BEST_COLUMNS, n_features))
        models[f"best {best.k} columns"] = make_pipeline(scaler, best, linear)
    if member is not None:
        models["member on columns"] = member
        for size in sorted({max(1, min(n_features // part, n_rows // 2, 50)) for part in (2, 5)}):
            models[f"member on PCA({size})"] = make_pipeline(PCA(size, random_state=0), member)
    return models
