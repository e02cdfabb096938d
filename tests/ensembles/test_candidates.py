"""Candidates of a search that stand apart: plain learners, both scales, rows without a label."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from modae import ModularClassifierCV

X, y = load_wine(return_X_y=True)
TREE = {"tree": (DecisionTreeClassifier(random_state=0), {})}
SMALL = {"n_modules": 2, "n_components": 2, "diversities": [0.5], "cv": 3, "random_state": 0}


def test_plain_learners_are_scored_on_the_columns_and_not_on_principal_scores():
    results = ModularClassifierCV(estimator=TREE, scoring="accuracy", **SMALL).fit(X, y).cv_results_
    plain = np.array(["n_modules" not in params for params in results["params"]])
    assert plain.any()
    np.testing.assert_allclose(results["mean_test_score"], 1.0 - results["mean_ensemble_error"])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_both_scales_are_tried_where_deviations_differ_whatever_the_unit(unit):
    even = np.column_stack([unit * X[:, :2], np.full(len(X), 3.0)])  # one does not vary: it says nothing
    for rows, scales in ((unit * X, {False, True}), (even, {False})):
        search = ModularClassifierCV(estimator=TREE, **SMALL).fit(rows, y)
        assert {params.get("scale", False) for params in search.cv_results_["params"]} == scales


@pytest.mark.parametrize("cv", [3, None])
def test_rows_without_a_label_are_in_no_fold(cv):
    some = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    search = ModularClassifierCV(estimator=TREE, missing_label=-1, **(SMALL | {"cv": cv})).fit(X, some)
    assert search.classes_.tolist() == [0, 1, 2]
    assert search.n_splits_ == (cv or 5)
