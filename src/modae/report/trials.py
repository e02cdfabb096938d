"""How good the ensemble is at each diversity: cross-validated, beside what it should beat.

On each fold the steps and the modules are fitted to the training part once; the path gives the modules
for every diversity, and members are trained on each. Baselines are trained on the same parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from modae.data.validation import take_rows
from modae.ensembles.members import new_members
from modae.ensembles.search import Fold
from modae.linear.bagging import BaggingAutoencoder
from modae.report.subject import Subject
from modae.utils.arrays import Array
from modae.utils.parallel import in_threads
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
    told : ndarray of shape (n_diversities, n_rows)
        What the ensemble says of each row, when it was not trained on it.
    true : ndarray of shape (n_rows,)
    classify : bool
        Errors are shares of wrong rows; else roots of mean squares, in the unit of the target.
    given : float or None
        Error of the model as it was given, on all these rows, which it may have been fitted to.
    frozen : bool
        Whether the modules were used as they are, and not fitted again.
    """

    ensemble: Array
    individual: Array
    baselines: dict[str, Array]
    told: np.ndarray
    true: np.ndarray
    classify: bool
    given: float | None = None
    frozen: bool = False

    @property
    def n_folds(self) -> int:
        """How many folds there were."""
        return int(self.ensemble.shape[1])


def mean_and_error(values: Array) -> tuple[Any, Any]:
    """Mean over the folds, the last axis, and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


def why_no_trials(subject: Subject) -> str:
    """The reason for which nothing can be cross-validated, or nothing."""
    if subject.labels is None:
        return "No labels were given"
    if subject.n_shown < FEWEST_ROWS:
        return f"{counted(subject.n_shown, 'row')} are too few to cross-validate"
    if subject.parts.kind == "regress":
        return ""
    classes, counts = np.unique(subject.labels, return_counts=True)
    if len(classes) == 1:
        return f"All rows have the class {str(classes[0])!r}"
    if counts.min() == 1:
        rare = str(classes[counts.argmin()])
        return f"Class {rare!r} has one row, and cross-validation needs two (leave it out, or add rows)"
    return ""


def run_trials(subject: Subject, n_jobs: int | None, seed: int) -> Trials | None:
    """Cross-validate; None where that cannot be done."""
    if subject.parts.ensemble is None or why_no_trials(subject):
        return None
    with catch_warnings():
        filterwarnings("ignore", "All modules are equal")  # at diversity 0: the page shows it
        filterwarnings("ignore", "invalid value encountered", RuntimeWarning)  # PCA of constant columns
        return _run(subject, _splits(subject, seed), n_jobs)


def _run(subject: Subject, splits: Any, n_jobs: int | None) -> Trials:
    folds = [Fold(*pair) for pair in splits.split(np.zeros(subject.n_shown), subject.labels)]
    prepared = in_threads(_Prepared.of, [(subject, fold) for fold in folds], n_jobs)
    tasks = [(each, diversity) for diversity in subject.diversities for each in prepared]
    answers = np.empty(len(tasks), dtype=object)
    answers[:] = in_threads(_ask, tasks, n_jobs)
    table = answers.reshape(len(subject.diversities), len(folds))
    is_bagging = isinstance(subject.extractor, BaggingAutoencoder)
    names = [*_plain_sizes(prepared[0]), *([] if is_bagging else [BAGGING])]
    rivals = in_threads(_rival, [(each, name) for name in names for each in prepared], n_jobs)
    errors = np.reshape(rivals, (len(names), len(folds)))
    return Trials(
        ensemble=np.array([[answer.error for answer in row] for row in table]),
        individual=np.array([[answer.member_error for answer in row] for row in table]),
        baselines={_title(name): row for name, row in zip(names, errors, strict=True)},
        told=_joined(table, folds),
        true=np.asarray(subject.labels),
        classify=subject.parts.kind == "classify",
        given=prepared[0].measure(subject.labels, subject.parts.ensemble.predict(subject.rows)),
        frozen=_is_frozen(subject.parts),
    )


def _is_frozen(parts: Any) -> bool:
    return isinstance(parts.ensemble.extractor, FrozenEstimator)


def _splits(subject: Subject, seed: int) -> Any:
    """Five folds, fewer if a class has fewer rows."""
    if subject.parts.kind == "regress":
        return KFold(MOST_FOLDS, shuffle=True, random_state=seed)
    n_folds = min(MOST_FOLDS, int(np.unique(np.asarray(subject.labels), return_counts=True)[1].min()))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """One fold: rows after the steps, labels, and modules fitted to the training part."""

    train: Any
    test: Any
    y_train: np.ndarray
    y_test: np.ndarray
    extractor: Any
    ensemble: Any
    measure: Callable[[Any, Any], float]

    @classmethod
    def of(cls, subject: Subject, fold: Fold) -> _Prepared:
        parts, labels = subject.parts, subject.labels
        raw = [take_rows(subject.raw, getattr(fold, which)) for which in ("train", "test")]
        y_train, y_test = (
            np.asarray(take_rows(labels, getattr(fold, which))) for which in ("train", "test")
        )
        frozen = _is_frozen(parts)
        front = parts.front
        if front is not None and not frozen:  # frozen modules know the steps that they were fitted after
            front = clone(front).fit(raw[0], y_train)
        train, test = raw if front is None else map(front.transform, raw)
        extractor = parts.extractor if frozen else _unfitted(parts).fit(train, y_train)
        measure = wrong_share if parts.kind == "classify" else root_mean_square
        return cls(train, test, y_train, y_test, extractor, parts.ensemble, measure)

    def at(self, diversity: float) -> Any:
        """The ensemble on modules of this diversity, trained."""
        found = self.extractor
        modules = found.with_diversity(diversity) if hasattr(found, "path") else found
        return self._trained(FrozenEstimator(modules))

    def bagging(self) -> Any:
        """The ensemble on Bagging Autoencoders of the same size, trained."""
        size = self.extractor.n_modules, self.extractor.n_components_
        return self._trained(BaggingAutoencoder(*size, random_state=0))

    def _trained(self, extractor: Any) -> Any:
        params = self.ensemble.get_params(deep=False) | {"extractor": extractor, "n_jobs": None}
        calibrate = {"calibrate": None} if "calibrate" in params else {}  # intervals are not asked for
        return type(self.ensemble)(**params | calibrate).fit(self.train, self.y_train)

    def plain(self, width: int) -> Any:
        """One PCA and one member, trained."""
        members = new_members(self.ensemble._part("estimator"), len(self.ensemble.estimators_))
        reduce = TruncatedSVD if issparse(self.train) else PCA
        single = make_pipeline(reduce(width, random_state=0), members[0].estimator)
        return single.fit(self.train, self.y_train)


def _unfitted(parts: Any) -> Any:
    """The extractor as it was asked for; what it draws at random is fixed."""
    extractor = clone(parts.extractor)
    if extractor.get_params().get("random_state", 0) is None:
        extractor.set_params(random_state=0)
    return extractor


@dataclass(frozen=True, eq=False)
class _Answer:
    error: float
    member_error: float
    told: np.ndarray


def _ask(fold: _Prepared, diversity: float) -> _Answer:
    model = fold.at(diversity)
    told = np.asarray(model.predict(fold.test))
    members = np.asarray(model.predict_members(fold.test))
    each = [fold.measure(fold.y_test, member) for member in members]
    return _Answer(fold.measure(fold.y_test, told), float(np.mean(each)), told)


def _rival(fold: _Prepared, name: Any) -> float:
    model = fold.bagging() if name == BAGGING else fold.plain(name)
    return fold.measure(fold.y_test, np.asarray(model.predict(fold.test)))


def _plain_sizes(fold: _Prepared) -> list[int]:
    """As many components as one module has, and as all modules have together, as far as there are."""
    one, modules = int(fold.extractor.n_components_), int(fold.extractor.n_modules)
    height, width = fold.train.shape
    most = min(height - 1, width - issparse(fold.train))
    return sorted({max(1, min(size, most)) for size in (one, one * modules)})


def _title(name: Any) -> str:
    return name if name == BAGGING else f"one PCA with {counted(name, 'component')}"


def _joined(table: np.ndarray, folds: list[Fold]) -> np.ndarray:
    """Answers of the folds, in the order of the rows."""
    order = np.argsort(np.concatenate([fold.test for fold in folds]))
    return np.array([np.concatenate([answer.told for answer in row])[order] for row in table])


def wrong_share(true: Any, told: Any) -> float:
    """Share of the rows that are wrong."""
    return float(np.mean(np.asarray(true) != np.asarray(told)))


def root_mean_square(true: Any, told: Any) -> float:
    """Root of the mean squared error, in the unit of the target."""
    return float(np.sqrt(np.mean((np.asarray(true) - np.asarray(told)) ** 2)))
