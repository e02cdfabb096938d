"""From errors of candidates on folds to a table and a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from modae.ensembles.folds import Candidate
from modae.utils.arrays import Array

RULES = ("best", "one_standard_error")


class Outcome(NamedTuple):
    """One candidate on one fold."""

    score: float
    ensemble_error: float
    individual_error: float


def results_table(
    candidates: Sequence[Candidate], outcomes: Sequence[Sequence[Outcome]]
) -> dict[str, Any]:
    """``cv_results_``: for each candidate, what came out on each fold, means and standard errors.

    Parameters
    ----------
    candidates : sequence of dict
    outcomes : sequence of sequence of Outcome
        For each candidate, one for each fold.
    """
    table: dict[str, Any] = {"params": [dict(candidate) for candidate in candidates]}
    for name in ("n_modules", "n_components", "diversity"):
        table[f"param_{name}"] = np.array([candidate[name] for candidate in candidates])
    values = np.array(outcomes, dtype=np.float64)  # (candidates, folds, 3)
    for place, name in enumerate(("test_score", "ensemble_error", "individual_error")):
        table |= _summary(name, values[:, :, place])
    table["std_test_score"] = values[:, :, 0].std(axis=1)
    table["rank_test_score"] = rankdata(-table["mean_test_score"], method="min").astype(np.int32)
    return table


def choose(table: dict[str, Any], rule: str) -> int:
    """The candidate with the best mean score, or the simplest one within a standard error of it.

    The simplest is the one with the fewest components in all, then with the least diversity.
    """
    best = int(np.argmax(table["mean_test_score"]))
    if rule == "best":
        return best
    enough = table["mean_test_score"][best] - table["se_test_score"][best]
    size = table["param_n_modules"] * table["param_n_components"]
    good = np.flatnonzero(table["mean_test_score"] >= enough)
    order = np.lexsort((table["param_diversity"][good], size[good]))
    return int(good[order[0]])


def _summary(name: str, values: Array) -> dict[str, Array]:
    """Each fold, the mean, and the standard error of the mean over the folds."""
    n_folds = values.shape[1]
    splits = {f"split{fold}_{name}": values[:, fold] for fold in range(n_folds)}
    spread = values.std(axis=1, ddof=1) if n_folds > 1 else np.zeros(len(values))
    return splits | {f"mean_{name}": values.mean(axis=1), f"se_{name}": spread / np.sqrt(n_folds)}
