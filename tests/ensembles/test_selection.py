"""From scores to a choice, with every number worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.datasets import load_digits

from modae import LinearModularAutoencoder, ModularClassifierCV
from modae.ensembles.search import Candidate, Outcome, Trials

CANDIDATES = [
    {"n_modules": modules, "n_components": width, "diversity": diversity}
    for modules, width, diversity in [(2, 6, 0.1), (2, 6, 0.9), (3, 2, 0.5), (3, 2, 0.2), (5, 5, 0.5)]
]


def trials(scores):
    found = {
        Candidate("", None, sizes=sizes): {
            fold: Outcome(score, 1 - score, 1.5 * (1 - score), 0.1, 0.1, None, None)
            for fold, score in enumerate(row)
        }
        for sizes, row in zip(CANDIDATES, scores, strict=False)
    }
    data = SimpleNamespace(folds=[()] * len(scores[0]), y=None, weights=None)
    nothing = dict.fromkeys(["model", "scoring", "n_jobs"])
    return Trials(**nothing, data=data, classify=True, outcomes=found)


def table(scores):
    return trials(scores).table()


def choose(scores, rule):
    return ModularClassifierCV(rule=rule)._choose(trials(scores), table(scores))


def test_means_standard_errors_and_ranks():
    results = table([[0.5, 0.7, 0.9], [0.8, 0.8, 0.8], [0.6, 0.7, 0.8], [0.9, 0.9, 0.6]])
    np.testing.assert_allclose(results["mean_test_score"], [0.7, 0.8, 0.7, 0.8])
    np.testing.assert_allclose(
        results["std_test_score"], np.sqrt([0.08 / 3, 0, 0.02 / 3, 0.02]), atol=1e-9
    )
    np.testing.assert_allclose(
        results["se_test_score"], np.sqrt([0.04 / 3, 0, 0.01 / 3, 0.03 / 3]), atol=1e-9
    )
    np.testing.assert_allclose(results["mean_ensemble_error"], [0.3, 0.2, 0.3, 0.2])
    np.testing.assert_allclose(results["mean_individual_error"], [0.45, 0.3, 0.45, 0.3])
    np.testing.assert_allclose(results["se_individual_error"], 1.5 * results["se_test_score"], atol=1e-9)
    np.testing.assert_array_equal(results["split2_test_score"], [0.9, 0.8, 0.8, 0.6])
    np.testing.assert_array_equal(results["param_n_modules"], [2, 2, 3, 3])
    np.testing.assert_array_equal(results["param_diversity"], [0.1, 0.9, 0.5, 0.2])
    assert results["params"] == CANDIDATES[:4]


def test_candidates_with_equal_scores_share_a_rank():
    results = table([[0.5, 0.5], [0.75, 0.75], [0.75, 0.75], [1.0, 1.0]])
    assert results["rank_test_score"].tolist() == [4, 2, 2, 1]


def test_the_best_mean_score_wins_and_of_equals_the_first():
    assert choose([[0.5, 0.5], [0.75, 0.75], [0.75, 0.75], [0.25, 0.25]], "best") == 1


def test_one_standard_error_takes_the_smallest_then_the_least_diverse():
    # Best is the last, 0.9 with a standard error of 0.1: from 0.8 on a candidate is good enough.
    scores = [[0.81, 0.81], [0.85, 0.85], [0.82, 0.82], [0.83, 0.83], [0.8, 1.0]]
    assert choose(scores, "best") == 4
    assert choose(scores, "one_standard_error") == 3  # size 6, diversity 0.2
    scores[3] = [0.79, 0.79]
    assert choose(scores, "one_standard_error") == 2  # size 6, diversity 0.5
    scores[2] = [0.79, 0.79]
    assert choose(scores, "one_standard_error") == 0  # size 12, diversity 0.1
    scores[0] = scores[1] = [0.79, 0.79]
    assert choose(scores, "one_standard_error") == 4


def test_without_spread_only_equals_are_within_a_standard_error():
    scores = [[0.5, 0.5], [0.75, 0.75], [0.5, 0.5], [0.5, 0.5], [0.75, 0.75]]
    assert choose(scores, "one_standard_error") == 1


def test_one_fold_has_no_standard_error():
    scores = [[0.5], [0.75]]
    assert table(scores)["se_test_score"].tolist() == [0.0, 0.0]
    assert choose(scores, "one_standard_error") == 1


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_the_rules_on_a_real_search(rule):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    search = ModularClassifierCV(
        LinearModularAutoencoder(3, 4),
        estimator=None,
        diversities=[0.5, 0.6, 0.7],
        n_modules=[3, 4],
        cv=4,
        rule=rule,
        scale=False,
        random_state=0,
    ).fit(X, y)
    results = search.cv_results_
    folds = np.array([results[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(results["mean_test_score"], folds.mean(axis=0))
    np.testing.assert_allclose(results["se_test_score"], sem(folds, axis=0))
    best = folds.mean(axis=0).argmax()
    if rule == "best":
        assert search.best_index_ == best
    else:
        good = folds.mean(axis=0) >= folds.mean(axis=0)[best] - sem(folds, axis=0)[best]
        keys = [(p["n_modules"] * p["n_components"], p["diversity"]) for p in results["params"]]
        assert search.best_index_ == min(np.flatnonzero(good), key=lambda place: keys[place])
        assert search.best_index_ != best  # otherwise this case tells nothing
    assert search.best_params_ == results["params"][search.best_index_]
    assert search.best_score_ == results["mean_test_score"][search.best_index_]
    extractor = search.best_estimator_.extractor_
    assert extractor.diversity == search.best_params_["diversity"]
    assert extractor.n_modules == search.best_params_["n_modules"]
