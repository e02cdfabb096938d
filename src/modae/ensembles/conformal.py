r"""Rows held out of a fit, and what they promise: sets of classes, and which rows to leave to a person.

The score of a class is the probability of all classes that are likelier (adaptive prediction sets,
Romano, Sesia and Candes 2020, without their random number):

.. math:: s(x,c)=\sum_{k:\,p_k(x)>p_c(x)}p_k(x) .

The likeliest class has the score 0. With scores :math:`s_1\le\dots\le s_n` of the true classes of n rows
that no member was trained on, the set :math:`\{c:s(x,c)\le s_k\}`, :math:`k=\lceil(n+1)\,\gamma\rceil`,
holds the class of a new row with probability of at least :math:`\gamma`, whatever the model and the
distribution, as long as the rows are exchangeable; and it is never empty. The probability is over new
rows and over the rows held out. With one rank for each class, of its own rows, the same holds within
each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from modae.data.validation import require_in_memory, take_rows
from modae.ensembles.votes import SAME
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_fraction
from modae.utils.text import percent


def hold_out(model: Any, X: Any, y: np.ndarray, known: Indices, *metadata: Any) -> list[Any]:
    """Rows and targets to train on, where these are ``known``, and rows and targets held out.

    The share ``calibrate`` is drawn from the rows with a target; all others are to train on. Of labels,
    each class must have rows to train on.
    """
    check_fraction("calibrate", model.calibrate)
    require_in_memory(X, "fit with calibrate")
    if any(each is not None for each in metadata):
        raise ValueError("calibrate does not work with weights or other metadata: leave one out.")
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    train, held = train_test_split(known, test_size=float(model.calibrate), random_state=seed)
    strange = np.setdiff1d(y[held], y[train]).tolist() if is_classifier(model) else []
    if strange:
        raise ValueError(
            f"calibrate={model.calibrate} leaves no row of class {strange[0]!r} to train on: lower "
            "calibrate, leave this class out, or change random_state."
        )
    seen = np.concatenate([train, np.setdiff1d(np.arange(len(y)), known)])
    return [take_rows(X, seen), y[seen], np.arange(len(train)), take_rows(X, held), y[held]]


def require_held_out(model: Any, name: str, method: str) -> Any:
    """What a model knows of rows held out, an attribute that only some fits leave behind."""
    check_is_fitted(model)
    if not hasattr(model, name):
        raise ValueError(
            f"{method} needs rows that no member was trained on: fit with calibrate, for example "
            "calibrate=0.25."
        )
    return getattr(model, name)


def rank_of(coverage: float, count: int) -> int:
    """Which of the sorted scores of rows held out is large enough; more than there are, if none is."""
    return int(np.ceil((count + 1) * coverage * (1.0 - 1e-15)))


def checked_rank(coverage: float, count: int) -> int:
    """The same; too few rows are refused."""
    rank = rank_of(coverage, count)
    if rank > count:
        needed = int(np.ceil(coverage / (1.0 - coverage)))
        raise ValueError(
            f"coverage={coverage} needs at least {needed} rows held out, got {count}: raise calibrate "
            "or lower the coverage."
        )
    return rank


def mass_above(probabilities: Array) -> Array:
    """Probability of all classes that are likelier than each class, (n, n_classes).

    Examples
    --------
    >>> from modae.ensembles.conformal import mass_above
    >>> import numpy as np
    >>> mass_above(np.array([[0.25, 0.5, 0.25], [0.0, 0.75, 0.25]])).tolist()
    [[0.5, 0.0, 0.5], [1.0, 0.0, 0.75]]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    falling = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(falling, axis=1) - falling
    # Of classes that tie, each has the mass before the first of them.
    before[:, 1:][falling[:, :-1] - falling[:, 1:] <= SAME] = 0.0
    above = np.empty_like(before)
    np.put_along_axis(above, order, np.maximum.accumulate(before, axis=1), axis=1)
    return above


def doubts_of(probabilities: Array) -> Array:
    """One minus the largest probability of each row: of all scores tried, the best to find errors by."""
    return 1.0 - probabilities.max(axis=1)


@dataclass(frozen=True)
class HeldOut:
    """What an ensemble said of rows that no member was trained on, (n_held,) each.

    Parameters
    ----------
    scores : ndarray of float
        Probability of the classes that are likelier than the true one.
    labels : ndarray of int
        Places of the true classes in ``classes_``.
    doubts : ndarray of float
        One minus the largest probability.
    wrong : ndarray of bool
        Whether the prediction is wrong.
    """

    scores: Array
    labels: Indices
    doubts: Array
    wrong: np.ndarray

    @classmethod
    def of(cls, model: Any, X: Any, y: np.ndarray) -> HeldOut:
        """Ask a fitted model."""
        labels = np.searchsorted(model.classes_, y)
        shares, wrong = model.predict_proba(X), np.asarray(model.predict(X) != y)
        return cls(mass_above(shares)[np.arange(len(y)), labels], labels, doubts_of(shares), wrong)

    def thresholds(self, coverage: float, per_class: bool, n_classes: int) -> Array:
        """The largest score that a class in the set may have, for each class, (n_classes,).

        A class of which too few rows were held out is in every set: nothing is known against it.
        """
        if not per_class:
            rank = checked_rank(coverage, len(self.scores))
            return np.full(n_classes, np.sort(self.scores)[rank - 1])
        own = (np.sort(self.scores[self.labels == place]) for place in range(n_classes))
        ranked = ((scores, rank_of(coverage, len(scores))) for scores in own)
        return np.array([s[rank - 1] if rank <= len(s) else np.inf for s, rank in ranked])

    def most_doubt(self, coverage: float) -> float:
        """The doubt up to which this share of the rows is answered."""
        return float(np.sort(self.doubts)[checked_rank(coverage, len(self.doubts)) - 1])

    def risk(self, coverage: float = 1.0) -> float:
        """Share of wrong answers among the rows held out that are answered at this coverage.

        Parameters
        ----------
        coverage : float, default=1.0
            Share of the rows that are answered, those with the largest probability; 1 means all.

        Returns
        -------
        risk : float
        """
        if coverage == 1.0:
            return float(self.wrong.mean())
        check_fraction("coverage", coverage)
        return float(self.wrong[self.doubts <= self.most_doubt(coverage) + SAME].mean())

    def __str__(self) -> str:
        told = f"{len(self.wrong):,} rows held out: {percent(self.risk())} wrong"
        few = rank_of(0.9, len(self.wrong)) > len(self.wrong)
        return told if few else f"{told}, {percent(self.risk(0.9))} at 90 % coverage"
