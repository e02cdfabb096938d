"""The folds of a search: the rows of each, and the modules of all candidates from one decomposition.

On a fold the rows are projected once to their principal scores, (n, K). The modules of every candidate
live in these K dimensions, so a candidate costs a product with K rows and its members. (Extractors that
are frozen or of another class, and scorers that are functions, see the rows themselves.)

Of rows that lie elsewhere, on the workers of dask or in files, only sums come here: see
:mod:`modae.ensembles.lazy_folds`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import call
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv

from modae.data.rows import centred_product
from modae.data.summary import DataSummary
from modae.data.validation import take_rows
from modae.ensembles.base import SIZES
from modae.ensembles.families import AllColumns, make_scaler
from modae.ensembles.members import module_features, seeds_for, two_generators
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.model import LinearModel, Settings
from modae.utils.arrays import Array
from modae.utils.parallel import run_parallel

#: Rows to train on and rows to test on.
Fold = tuple[np.ndarray, np.ndarray]

#: A fold, and whether its columns are standardised.
FoldKey = tuple[int, bool]

Sizes = dict[str, Any]


class FixedModules:
    """Encoders (M, H, K) as an extractor: of the first K columns of rows, minus ``mean`` if given."""

    def __init__(self, encoders: Array, mean: Array | None = None) -> None:
        self.encoders = encoders
        self.mean = mean

    def transform_modules(self, rows: Any) -> Array:
        """Codes of each module, (M, n, H)."""
        n_modules, _, width = self.encoders.shape
        flat = self.encoders.reshape(-1, width).T.astype(rows.dtype, copy=False)
        codes = rows[:, :width] @ flat if self.mean is None else centred_product(rows, self.mean, flat)
        return np.stack(np.hsplit(codes, n_modules))


class FoldData(NamedTuple):
    """Training and test rows of a fold, what belongs to them, and their principal scores, if known."""

    rows: tuple[Any, Any]
    y: tuple[np.ndarray, np.ndarray]
    weights: tuple[Array | None, Array | None]
    scores: tuple[Array, Array] | None = None

    def rows_for(self, modules: Any) -> tuple[Any, Any]:
        """What these modules take: scores, if they are made for them."""
        if self.scores is not None and isinstance(modules, FixedModules):
            return self.scores
        return self.rows

    def features(self, modules: Any) -> list[Any]:
        """Features of each module for the training and for the test rows."""
        ask = FixedModules.transform_modules if isinstance(modules, FixedModules) else module_features
        return [ask(modules, each) for each in self.rows_for(modules)]


#: The rows that a function is for, and the function.
FoldTask = tuple[FoldKey, Callable[[FoldData], Any]]


class FoldModules:
    """The modules of candidates on one fold, by their sizes; those of no sizes are the columns."""

    def __init__(self, columns: Any, make: Callable[[list[Sizes]], list[Any]]) -> None:
        self._make = make
        self._columns = columns
        self._known: dict[tuple[Any, ...], Any] = {}

    def solve(self, wanted: Sequence[Sizes | None]) -> None:
        """Find the modules of these sizes, unless they are known."""
        new = {_key(each): settled(each) for each in wanted if each and _key(each) not in self._known}
        if new:
            self._known.update(zip(new, self._make(list(new.values())), strict=True))

    def of(self, sizes: Sizes | None) -> Any:
        """Modules that were solved."""
        return self._columns if sizes is None else self._known[_key(sizes)]


@dataclass(eq=False, repr=False)
class FoldsInMemory:
    """Folds of rows in memory, each decomposed when it is first used.

    Parameters
    ----------
    X, y, weights
        All rows; weights may be None.
    folds : sequence of Fold
    extractor : estimator
        Of sizes with which one fit serves every candidate; or a frozen one.
    settings : Settings or None
        Those of the extractor, if candidates can work in principal scores.
    route : callable
        Weights -> what the parts of an ensemble get.
    unlabelled : ndarray of int
        Places of rows in no fold: scaler and extractor see them in every fold, as in the end.
    """

    X: Any
    y: np.ndarray
    weights: Array | None
    folds: Sequence[Fold]
    extractor: Any
    settings: Settings | None
    route: Callable[..., Any]
    unlabelled: np.ndarray

    def __post_init__(self) -> None:
        self.is_sparse = hasattr(self.X, "tocsr")
        self.known: dict[FoldKey, FoldModules] = {}  # of the folds that were used
        self._data: dict[FoldKey, FoldData] = {}

    def modules(self, key: FoldKey) -> FoldModules:
        """The modules of a fold; it is decomposed if it was not."""
        if key not in self.known:
            self._prepare(key)
        return self.known[key]

    def run(
        self, tasks: Sequence[FoldTask], n_jobs: int | None = None, advance: Any = None
    ) -> list[Any]:
        """``function(data of the fold)`` for each task."""
        calls = [(function, self._data[key]) for key, function in tasks]
        return run_parallel(call, calls, n_jobs, advance)

    def _prepare(self, key: FoldKey) -> None:
        place, scaled = key
        fold = self.folds[place]
        places = np.concatenate([fold[0], self.unlabelled])
        seen, test = take_rows(self.X, places), take_rows(self.X, fold[1])
        w = self.weights
        weights = (None, None) if w is None else (w[fold[0]], w[fold[1]])
        seen_weights = None if w is None else w[places]
        if scaled:
            scaler = make_scaler(seen).fit(seen, sample_weight=seen_weights)
            seen, test = scaler.transform(seen), scaler.transform(test)
        train = take_rows(seen, np.arange(len(fold[0]))) if len(self.unlabelled) else seen
        data = FoldData((train, test), (self.y[fold[0]], self.y[fold[1]]), weights)
        if self.settings is not None:  # a decomposition, and no modules yet
            now = self.settings
            summary, spectrum, width = DataSummary.of(seen, seen_weights).decomposed(
                now.n_modules, now.n_components, now.spectrum
            )
            mean, axes = spectrum.mean.astype(summary.dtype), spectrum.axes.T
            scores = centred_product(train, mean, axes), centred_product(test, mean, axes)
            data = data._replace(scores=scores)

            def make(sizes: list[Sizes]) -> list[Any]:
                model = LinearModel(replace(now, n_components=width), None, spectrum, mean.dtype)
                return [FixedModules(each.encoders) for each in model.solutions(sizes)]

        else:
            extractor, trains = self.extractor, trains_each(self.extractor)
            if not trains and not isinstance(extractor, FrozenEstimator):
                routed = self.route(seen_weights, {})["extractor"].fit
                labels = None if len(self.unlabelled) else data.y[0]
                extractor = clone(extractor).fit(seen, labels, **routed)

            def make(sizes: list[Sizes]) -> list[Any]:  # without the rotation
                known = [{name: each[name] for name in SIZES if name in each} for each in sizes]
                if trains:
                    return extractor.fit_path(seen, known)
                return [extractor.with_params(**each) for each in known]

        self._data[key] = data
        self.known[key] = FoldModules(AllColumns().fit(train), make)


def settled(sizes: Sizes) -> Sizes:
    """What to ask of a fitted extractor: a share of the variance was settled by its fit."""
    shared = isinstance(sizes["n_components"], float)
    return {name: value for name, value in sizes.items() if not (shared and name == "n_components")}


def _key(sizes: Sizes) -> tuple[Any, ...]:
    return tuple(sizes.values())


def make_folds(
    cv: Any, X: Any, y: Any, known: Any, weights: Any = None, groups: Any = None, *, classes: bool
) -> list[Fold]:
    """The folds of the rows whose targets are known, all that a splitter sees; pairs of (train, test)
    are places among all rows, and lose the others.

    A fold without a class to train on, or weight to test on, is an error.
    """
    if weights is not None and not np.any(weights):
        raise ValueError("sample_weight is zero for every row: there would be no data.")
    if len(known) < len(y):
        if np.iterable(cv) and not hasattr(cv, "split"):
            places = np.arange(len(y))
            cv = [[np.flatnonzero(np.isin(known, places[part])) for part in pair] for pair in cv]
        X, groups = take_rows(X, known), None if groups is None else take_rows(groups, known)
    splitter = check_cv(5 if cv is None else cv, y[known], classifier=classes)
    folds = [(known[train], known[test]) for train, test in splitter.split(X, y[known], groups)]
    if not folds:
        raise ValueError(f"cv must give at least one pair of training and test rows, got {cv!r}.")
    for number, (train, test) in enumerate(folds):
        missing = np.setdiff1d(y, y[train])
        if classes and len(missing):
            raise ValueError(
                f"class {missing.tolist()[0]!r} has no rows in the training part of fold {number}: use "
                "fewer or stratified folds (cv), or leave that class out."
            )
        if weights is not None and not np.any(weights[test]):
            raise ValueError(
                f"sample_weight is zero for every test row of fold {number}: use other folds (cv), or "
                "leave rows of weight 0 out."
            )
    return folds


def trains_each(extractor: Any) -> bool:
    """Whether an extractor trains for each candidate, with warm starts, as deep modules do."""
    return hasattr(extractor, "fit_path") and not isinstance(extractor, FrozenEstimator)


def largest_fit(
    extractor: Any, sizes: list[dict[str, Any]], n_features: int, seed: int | None
) -> tuple[Any, Settings | None]:
    """A copy of the extractor whose fit keeps as many principal axes as the largest candidate needs.

    One module with all of them: fitting that is a PCA and nothing more. Where the number of components
    is a share of the variance, only the fit can tell it. Its settings are for candidates that work in
    principal scores: None for extractors of other classes. A frozen one stays as it is.
    """
    if isinstance(extractor, FrozenEstimator):
        return extractor, None
    most = {"n_modules": max(each["n_modules"] for each in sizes)}
    known = not trains_each(extractor) and all(isinstance(each["n_components"], int) for each in sizes)
    if known:
        n_axes = max(each["n_modules"] * each["n_components"] for each in sizes)
        most = {"n_modules": 1, "n_components": min(n_axes, n_features)}
    seeds = seeds_for(extractor, two_generators(seed)[0])
    largest = clone(extractor).set_params(**seeds, **most)
    if type(extractor) is not LinearModularAutoencoder:
        return largest, None
    largest._check_parameters()
    settings = largest._settings(n_features)
    if known:  # the axes alone are wanted: one module would be filled up with others beyond the rank
        widest = max(each["n_components"] for each in sizes)
        settings = replace(settings, n_modules=-(-n_axes // widest), n_components=widest)
    return largest, settings
