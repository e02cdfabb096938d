"""How good the ensemble is at each diversity: cross-validated, beside what it should beat.

In each fold the steps and the modules are fitted once; the path gives the modules for every diversity,
and members are trained on each. Baselines are trained on the same folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self
from warnings import catch_warnings, filterwarnings

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from modae.linear.bagging import BaggingAutoencoder
from modae.report.subject import Subject
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel
from modae.utils.text import counted

MOST_FOLDS = 5

FEWEST_ROWS = 10

BAGGING = "Bagging Autoencoders"


@dataclass(frozen=True, eq=False)
class Trials:
    """Errors on rows that were not trained on.

    Parameters
    ----------
    ensemble, individual : ndarray of shape (n_diversities, n_folds)
        Error of the ensemble, and mean error of its members.
    baselines : dict of str to ndarray of shape (n_folds,)
    predictions : ndarray of shape (n_diversities, n_rows)
        Of the ensemble, for each row when it was not trained on it.
    labels : ndarray of shape (n_rows,)
    classify : bool
        Errors are shares of wrong rows; else roots of mean squares, in the unit of the target.
    error_of_model : float or None
        Of the fitted model itself on all these rows, which it may have been fitted to.
    frozen : bool
        Whether the modules were used as they are, and not fitted again.
    """

    ensemble: Array
    individual: Array
    baselines: dict[str, Array]
    predictions: np.ndarray
    labels: np.ndarray
    classify: bool
    error_of_model: float | None = None
    frozen: bool = False


def mean_and_error(values: Array) -> tuple[Any, Any]:
    """Mean over the folds, the last axis, and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


def why_no_trials(subject: Subject) -> str:
    """The reason for which nothing can be cross-validated, or nothing."""
    if subject.labels is None:
        return "No labels were given"
    if subject.n_shown < FEWEST_ROWS:
        return f"{counted(subject.n_shown, 'row')} are too few to cross-validate"
    if subject.parts.task == "regression":
        return ""
    classes, counts = np.unique(subject.labels, return_counts=True)
    if len(classes) == 1:
        return f"All rows have the class {str(classes[0])!r}"
    if counts.min() == 1:
        rare = str(classes[counts.argmin()])
        return f"Class {rare!r} has one row, and cross-validation needs two (leave it out, or add rows)"
    return ""


class EnsembleOnPath(BaseEstimator):
    """One ensemble for each diversity, all on modules from a single fit.

    Parameters
    ----------
    ensemble : ensemble
    extractor : extractor
        A frozen one is used as it is.
    diversities : list of float
    n_jobs : int or None
        Diversities at the same time.
    """

    def __init__(self, ensemble: Any, extractor: Any, diversities: Any, n_jobs: Any = None) -> None:
        self.ensemble = ensemble
        self.extractor = extractor
        self.diversities = diversities
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the modules once, and members for each diversity."""
        extractor = clone(self.extractor).fit(X, y)
        modules = [extractor]
        if hasattr(extractor, "path"):
            modules = [extractor.with_diversity(value) for value in self.diversities]

        def fitted(each: Any) -> Any:
            return clone(self.ensemble).set_params(extractor=FrozenEstimator(each)).fit(X, y)

        self.ensembles_ = run_parallel(fitted, [(each,) for each in modules], self.n_jobs)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """What each ensemble says, first, and each of its members: (n_samples, n_diversities, 1 + M)."""

        def predicted(model: Any) -> np.ndarray:
            return np.vstack([np.asarray(model.predict(X))[None], model.predict_members(X)]).T

        return np.stack(
            run_parallel(predicted, [(each,) for each in self.ensembles_], self.n_jobs), axis=1
        )


def run_trials(subject: Subject, n_jobs: int | None, seed: int) -> Trials | None:
    """Cross-validate; None where that cannot be done."""
    parts, labels = subject.parts, subject.labels
    if parts.ensemble is None or labels is None or why_no_trials(subject):
        return None
    classify, frozen = (
        parts.task == "classification",
        isinstance(parts.ensemble.extractor, FrozenEstimator),
    )
    # Frozen modules know the steps that they were fitted after.
    steps = [FrozenEstimator(step) if frozen else step for step in parts.steps]
    folds = list(_splitter(classify, labels, seed).split(np.zeros(len(labels)), labels))

    def errors(predictions: np.ndarray) -> Array:
        """Of each fold, the first axis."""
        true = labels.reshape(-1, *[1] * (predictions.ndim - 1))
        losses = predictions != true if classify else (predictions - true) ** 2
        means = np.array([losses[test].mean(axis=0) for _, test in folds])
        return means if classify else np.sqrt(means)

    def predictions_of(model: Any) -> np.ndarray:
        return np.asarray(cross_val_predict(make_pipeline(*steps, model), subject.raw, labels, cv=folds))

    ensemble = clone(parts.ensemble).set_params(n_jobs=None)
    if "calibrate" in ensemble.get_params(deep=False):
        ensemble.set_params(calibrate=None)  # intervals are not asked for
    extractor = FrozenEstimator(parts.extractor) if frozen else _unfitted(parts)
    on_path = EnsembleOnPath(ensemble, extractor, subject.diversities, n_jobs)
    baselines = _baselines(subject, ensemble, n_fitted=min(len(train) for train, _ in folds))
    with catch_warnings():
        filterwarnings("ignore", "All modules are equal")  # at diversity 0: the page shows it
        filterwarnings("ignore", "invalid value encountered", RuntimeWarning)  # PCA of constant columns
        predictions = predictions_of(on_path)
        found = run_parallel(predictions_of, [(model,) for model in baselines.values()], n_jobs)
    both = errors(predictions)
    own = parts.ensemble.predict(subject.rows)
    wrong = np.mean(own != labels) if classify else np.sqrt(np.mean((own - labels) ** 2))
    return Trials(
        ensemble=both[:, :, 0].T,
        individual=both[:, :, 1:].mean(axis=-1).T,
        baselines={name: errors(each) for name, each in zip(baselines, found, strict=True)},
        predictions=predictions[:, :, 0].T,
        labels=labels,
        classify=classify,
        error_of_model=float(wrong),
        frozen=frozen,
    )


def _splitter(classify: bool, labels: np.ndarray, seed: int) -> Any:
    """Five folds, fewer if a class has fewer rows."""
    if not classify:
        return KFold(MOST_FOLDS, shuffle=True, random_state=seed)
    rarest = int(np.unique(labels, return_counts=True)[1].min())
    return StratifiedKFold(min(MOST_FOLDS, rarest), shuffle=True, random_state=seed)


def _unfitted(parts: Any) -> Any:
    """The extractor as it was fitted; what it draws at random is fixed."""
    extractor = clone(parts.extractor)
    params = extractor.get_params()
    if params.get("random_state", 0) is None:
        extractor.set_params(random_state=0)
    return extractor.set_params(diversity=parts.diversity) if "diversity" in params else extractor


def _baselines(subject: Subject, ensemble: Any, n_fitted: int) -> dict[str, Any]:
    """One PCA as wide as one module, one as wide as all together, as far as that goes, and Bagging."""
    n_modules, width = subject.n_modules, subject.n_components
    sparse = issparse(subject.rows)
    most = min(n_fitted - 1, subject.rows.shape[1] - sparse)
    member = clone(subject.parts.ensemble.estimators_[0])
    reduce = TruncatedSVD if sparse else PCA
    models: dict[str, Any] = {
        f"one PCA with {counted(size, 'component')}": make_pipeline(reduce(size, random_state=0), member)
        for size in sorted({max(1, min(size, most)) for size in (width, width * n_modules)})
    }
    if not isinstance(subject.parts.extractor, BaggingAutoencoder):
        bagging = BaggingAutoencoder(n_modules, width, random_state=0)
        models[BAGGING] = clone(ensemble).set_params(extractor=bagging)
    return models
