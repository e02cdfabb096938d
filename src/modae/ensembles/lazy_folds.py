"""Folds of rows that lie elsewhere: on the workers of dask, or in files. The data are read twice.

1. Rows that train on the same folds make a cell; k folds of a splitter are k cells. One tree of sums
   gives the moments of all cells, and the training moments of a fold are those of its cells, merged.
   (Nothing is ever subtracted, so no digits are lost.) Standardising columns scales their moments.
2. What candidates can see of a row is kept where the rows are: its columns, or, if the leading axes of
   all folds together are fewer, its coordinates in these. Every trial is a function of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from modae.data.placed_parts import Parts
from modae.data.rows import centred_product
from modae.data.summary import DataSummary
from modae.data.validation import AcceptsRows, LazyRows, RowwiseCall, copy_columns, rows_of
from modae.ensembles.families import AllColumns
from modae.ensembles.folds import FixedModules, Fold, FoldData, FoldKey, FoldModules, FoldTask, Sizes
from modae.linear.model import LinearModel, Settings
from modae.utils.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class CellSummaries:
    """A summary of the rows of each cell, and how many rows there are in all."""

    cells: dict[int, DataSummary]
    n_rows: int = 0
    is_sparse: bool = False

    @classmethod
    def of(cls, cell_of: Indices, rows: Any, weights: Array | None, start: int) -> CellSummaries:
        """Summaries of some rows, the first of which has the index ``start``."""
        n_rows, found = rows.shape[0], {}
        places = cell_of[start : start + n_rows]
        if len(places) < n_rows:
            raise ValueError(f"y must have one entry for each row of X, got {len(cell_of)}: X has more.")
        for cell in np.unique(places):
            chosen = places == cell
            own = None if weights is None else weights[chosen]
            found[int(cell)] = DataSummary.of(rows[chosen], own)
        return cls(found, n_rows, issparse(rows))

    def join(self, other: CellSummaries) -> CellSummaries:
        """Summaries of all rows of both."""
        names = sorted(self.cells.keys() | other.cells.keys())
        empty = DataSummary()
        joined = {name: self.cells.get(name, empty).join(other.cells.get(name, empty)) for name in names}
        sparse = self.is_sparse or other.is_sparse
        return CellSummaries(joined, self.n_rows + other.n_rows, sparse)

    def merged(self, names: Sequence[int]) -> DataSummary:
        """One summary of all rows of some cells."""
        return reduce(DataSummary.join, (self.cells[name] for name in names), DataSummary())


def cells_of(folds: Sequence[Fold], n_rows: int) -> tuple[Indices, list[list[int]]]:
    """The cell of each row, and the cells that each fold trains on."""
    trains = np.zeros((n_rows, len(folds)), dtype=bool)
    for place, (train, _) in enumerate(folds):
        if len(np.unique(train)) < len(train):
            raise ValueError(
                f"fold {place} names a row twice: with lazy data use sample_weight instead."
            )
        trains[train, place] = True
    kinds, cell_of = np.unique(trains, axis=0, return_inverse=True)
    return cell_of.reshape(-1), [np.flatnonzero(column).tolist() for column in kinds.T]


class KeptColumns(AcceptsRows, BaseEstimator):
    """One module: rows as they are, or their coordinates in the rows of ``basis`` around ``centre``."""

    def __init__(self, centre: Array | None = None, basis: Array | None = None) -> None:
        self.centre, self.basis = centre, basis

    def transform_modules(self, X: Any) -> Array:
        """What is kept of the rows, (1, n, K)."""
        rows = rows_of(X, self)
        if self.basis is not None and self.centre is not None:
            return centred_product(rows, self.centre, self.basis.T)[None]
        return (rows.toarray() if issparse(rows) else rows)[None]


class LazyFolds:
    """Folds of lazy rows: sums of them here, and what candidates see of them where they are.

    Parameters
    ----------
    lazy : LazyRows
    y, weights
        Of all rows; weights may be None.
    folds : sequence of Fold
    extractor : LinearModularAutoencoder
        Number and names of the columns are set on it.
    settings : Settings or None
        Those of the extractor; None if candidates must see single rows, which is refused.
    """

    is_sparse = False  # learners see dense rows

    def __init__(
        self,
        lazy: LazyRows,
        y: np.ndarray,
        weights: Array | None,
        folds: Sequence[Fold],
        extractor: Any,
        settings: Settings | None,
    ) -> None:
        if settings is None:
            raise TypeError(
                "a search on lazy data needs a LinearModularAutoencoder that is not frozen, and a "
                f"scoring by name, got {extractor!r}: use a sample of the rows in memory for others."
            )
        cell_of, train_cells = cells_of(folds, len(y))
        how = {"reset": True, "upcast": extractor.upcast, "indexed": True}
        cells = lazy.reduce(extractor, partial(CellSummaries.of, cell_of), weights, **how)
        if cells.n_rows < len(y):
            raise ValueError(
                f"y must have one entry for each row of X, got {len(y)} for {cells.n_rows} rows."
            )
        self._has_sparse = bool(cells.is_sparse)
        self.summary: DataSummary = cells.merged(sorted(cells.cells))
        self._summaries = dict(enumerate(cells.merged(names) for names in train_cells))
        self._summaries[WHOLE] = self.summary
        self._lazy, self._extractor, self._settings = lazy, extractor, settings
        self.y, self.weights, self.folds = y, weights, list(folds)

    def prepare(self, scales: list[bool], *, columns: bool) -> None:
        """Decompose all folds, and keep what candidates see: all columns if they may ask for them."""
        if self._has_sparse and scales[-1]:
            if scales[0]:
                raise ValueError("scale=True needs dense rows, got sparse chunks: use scale=False.")
            del scales[1:]  # what is standardised is not sparse
        self._scaled = {
            (place, scaled): Standardised.of(self._summaries[place], scaled)
            for place in sorted(self._summaries)
            for scaled in scales
        }
        models = {key: LinearModel(self._settings, each.summary) for key, each in self._scaled.items()}
        axes = np.concatenate(
            [models[key].spectrum.axes * each.factors for key, each in self._scaled.items()]
        )
        centre, basis = None, None
        if not columns and len(axes) < axes.shape[1]:
            centre, basis = self.summary.mean, np.linalg.qr(axes.T)[0].T
        self.known: dict[FoldKey, FoldModules] = {
            key: self._modules_of(models[key], each, centre, basis) for key, each in self._scaled.items()
        }
        kept = KeptColumns(centre, basis)
        copy_columns(kept, self._extractor)
        call = RowwiseCall(kept, "transform_modules", axis=1)
        shared = {"y": self.y, "weights": self.weights, "folds": self.folds}
        self._kept: Parts = self._lazy.parts(call).keep(**shared)

    def _modules_of(
        self, model: LinearModel, how: Standardised, centre: Array | None, basis: Array | None
    ) -> FoldModules:
        """Modules of a fold as products with what is kept of the rows."""
        mean, axes = how.mean, model.spectrum.axes * how.factors
        if centre is not None and basis is not None:
            mean, axes = (mean - centre) @ basis.T, axes @ basis.T

        def make(sizes: list[Sizes]) -> list[Any]:
            encoders = [each.encoders for each in model.solutions(sizes)]
            return [FixedModules(each @ axes[: each.shape[2]], mean) for each in encoders]

        columns: Any = AllColumns().fit(self._lazy.columns())
        if how.is_scaled and basis is None:
            columns = FixedModules(np.diag(how.factors)[None], mean)
        return FoldModules(columns, make)

    def modules(self, key: FoldKey) -> FoldModules:
        """The modules of a fold."""
        return self.known[key]

    def run(
        self, tasks: Sequence[FoldTask], n_jobs: int | None = None, advance: Any = None
    ) -> list[Any]:
        """``function(data of the fold)`` for each task, where the rows are."""
        work = [(0, partial(_on_fold, place, function)) for (place, _), function in tasks]
        return self._kept.run(work, n_jobs, advance)

    def whole(self, extractor: Any, sizes: Sizes | None, scaled: bool) -> tuple[Any, Any, Parts]:
        """The extractor fitted to all rows, a scaler or None, and the features of each module."""
        how = self._scaled[WHOLE, scaled]
        if sizes is None:
            extractor = extractor.fit(self._lazy.columns())
        else:
            extractor = extractor._fit_summary(how.summary, self._extractor)
        solved = self.modules((WHOLE, scaled))
        solved.solve([sizes])
        modules = solved.of(sizes)
        one_by_one = [modules]
        if isinstance(modules, FixedModules):
            one_by_one = [FixedModules(each[None], modules.mean) for each in modules.encoders]
        features = self._kept.derived([partial(_codes, each) for each in one_by_one])
        return extractor, how.scaler(self._extractor) if scaled else None, features


#: The place of all rows, beside the folds.
WHOLE = -1


@dataclass(frozen=True, eq=False)
class Standardised:
    """A summary of rows whose columns are multiplied by ``factors``: 1 / deviation, or 1."""

    summary: DataSummary
    factors: Array
    mean: Array
    is_scaled: bool

    @classmethod
    def of(cls, summary: DataSummary, scaled: bool) -> Standardised:
        """Of rows as they are if not ``scaled``; columns that never vary are never scaled."""
        mean = summary.mean
        if not scaled:
            return cls(summary, np.ones(len(mean)), mean, False)
        deviations = np.sqrt(summary.variances)
        factors = 1.0 / np.where(deviations > 0.0, deviations, 1.0)
        return cls(summary.standardised(mean, factors), factors, mean, True)

    def scaler(self, like: Any) -> StandardScaler:
        """The scaler that a fit to the rows would give, with the columns of another estimator."""
        scaler = StandardScaler()
        scaler.scale_, scaler.mean_ = 1.0 / self.factors, self.mean
        scaler.var_, scaler.n_samples_seen_ = scaler.scale_**2, self.summary.weight
        copy_columns(scaler, like)
        return scaler


def _on_fold(place: int, function: Any, kept: Array, y: Any, weights: Any, folds: Any) -> Any:
    """What a trial does where the rows are."""
    pairs = [
        (values, values) if values is None else tuple(values[rows] for rows in folds[place])
        for values in (kept, y, weights)
    ]
    return function(FoldData(*pairs))


def _codes(modules: Any, kept: Array) -> Array:
    """Features of one module."""
    return modules.transform_modules(kept)[0]
