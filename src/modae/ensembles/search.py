"""All candidates on all folds: one decomposition for each fold, then members for each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer

from modae.ensembles.classifier import ModularClassifier
from modae.ensembles.composition import two_generators
from modae.ensembles.folds import Candidate, Fold, changes, fit_for_all
from modae.ensembles.selection import Outcome
from modae.utils.parallel import in_threads
from modae.utils.progress import progress_bar


@dataclass(frozen=True, eq=False)
class Search:
    """What is to be tried, on what, and how it is judged.

    Parameters
    ----------
    model : ModularClassifier
        All but the extractor is the same for all candidates.
    candidates : sequence of dict
    folds : sequence of Fold
    X, y, weights
        All rows; weights may be None.
    scoring : as in ``GridSearchCV``
    n_jobs : int or None
    verbose : bool
    """

    model: ModularClassifier
    candidates: Sequence[Candidate]
    folds: Sequence[Fold]
    X: Any
    y: np.ndarray
    weights: Any
    scoring: Any
    n_jobs: int | None
    verbose: bool

    def run(self) -> list[list[Outcome]]:
        """For each candidate, its outcome on each fold."""
        with progress_bar("folds", len(self.folds), shown=self.verbose) as advance:
            decompose = _counted(self._extractor, advance)
            extractors = in_threads(decompose, [(fold,) for fold in self.folds], self.n_jobs)
        pairs = list(zip(self.folds, extractors, strict=True))
        tasks = [(candidate, *pair) for candidate in self.candidates for pair in pairs]
        with progress_bar("candidates", len(tasks), shown=self.verbose) as advance:
            outcomes = in_threads(_counted(self._outcome, advance), tasks, self.n_jobs)
        starts = range(0, len(tasks), len(pairs))
        return [outcomes[start : start + len(pairs)] for start in starts]

    def _extractor(self, fold: Fold) -> Any:
        """Fitted to the training part of a fold, for every candidate."""
        weights = fold.part(self.weights, "train")
        params = self.model._route(weights, {})["extractor"].fit
        for_extractor, _ = two_generators(self.model.random_state)
        rows, labels = fold.part(self.X, "train"), fold.part(self.y, "train")
        part = self.model._part("extractor")
        return fit_for_all(part, self.candidates, rows, labels, params, for_extractor)

    def _outcome(self, candidate: Candidate, fold: Fold, extractor: Any) -> Outcome:
        """Members for one candidate, trained and tested on one fold."""
        model = self._with_extractor(FrozenEstimator(extractor.with_params(**changes(candidate))))
        rows, labels, weights = (fold.part(each, "train") for each in (self.X, self.y, self.weights))
        # As the extractor and the members of the model asked for them: a frozen one asks for nothing.
        model._fit_routed(rows, labels, weights, self.model._route(weights, {}))
        rows, labels, weights = (fold.part(each, "test") for each in (self.X, self.y, self.weights))
        ensemble, individual = model._accuracies(rows, labels, weights)
        score = ensemble if self.scoring is None else self._score(model, rows, labels, weights)
        return Outcome(score, 1.0 - ensemble, 1.0 - individual)

    def _with_extractor(self, extractor: Any) -> ModularClassifier:
        params = {**self.model.get_params(deep=False), "extractor": extractor, "n_jobs": None}
        return ModularClassifier(**params)

    def _score(self, model: ModularClassifier, rows: Any, labels: np.ndarray, weights: Any) -> float:
        scorer = get_scorer(self.scoring)
        if weights is None:
            return float(scorer(model, rows, labels))
        try:
            return float(scorer(model, rows, labels, sample_weight=weights))
        except TypeError as error:
            raise TypeError(
                f"scoring={self.scoring!r} cannot be used with sample_weight: it must take an argument "
                f"sample_weight ({error})."
            ) from error


def _counted(function: Any, advance: Any) -> Any:
    """The function, which tells the progress bar when it is done."""

    def counted(*arguments: Any) -> Any:
        result = function(*arguments)
        advance()
        return result

    return counted
