"""Time of the default search: ``python -m benchmarks.search``.

Against five folds of a random forest of 300 trees, with the same ``n_jobs``; and how a search with a
time budget ends: after the budget, and the longest single trial.
"""

import warnings

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

from benchmarks.timing import Ratio, report, seconds
from modae import ModularClassifierCV

BUDGET = 30.0


def made(n_rows, n_columns):
    return make_classification(
        n_rows, n_columns, n_informative=10, n_redundant=5, n_classes=3, random_state=0
    )


def against_forest(n_rows, n_columns, limit):
    X, y = made(n_rows, n_columns)
    forest = seconds(lambda: cross_val_score(RandomForestClassifier(300, random_state=0), X, y))
    search = seconds(lambda: ModularClassifierCV(random_state=0).fit(X, y))
    return Ratio(f"search / forest, {n_rows:,} x {n_columns}", search, forest, limit)


def with_budget():
    """The time beyond the budget against the longest trial, which is allowed."""
    search = ModularClassifierCV(time_budget=BUDGET, random_state=0)
    beyond = seconds(lambda: search.fit(*made(5_000, 100))) - BUDGET
    results = search.cv_results_
    longest = max(results["mean_fit_time"] + results["mean_score_time"])
    return Ratio("beyond a budget of 30 s / longest trial, 5,000 x 100", beyond, longest, 1.0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    report([against_forest(1_500, 30, 6.0), against_forest(5_000, 100, 10.0), with_budget()])
