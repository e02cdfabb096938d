"""The searches left alone: several kinds of members, on modules and on X itself."""

import pickle
from functools import partial
from itertools import count
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressorCV,
)
from modae.ensembles.families import Family, default_families

FAMILIES = {"neighbors", "svm", "linear", "trees"}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    search = ModularClassifierCV(cv=3, random_state=0).fit(X[::2], y[::2])
    return X, y, search


def test_every_family_is_tried_and_the_best_is_refitted(wine):
    X, y, search = wine
    results = search.cv_results_
    assert set(results["param_family"]) == FAMILIES
    assert search.best_params_ == results["params"][search.best_index_]
    finalists = results["n_folds"] == 3
    assert results["mean_test_score"][finalists].max() == search.best_score_
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.score(X[1::2], y[1::2]) > 0.9


def test_columns_of_wine_are_standardised(wine):
    """Alcohol is near 13 and proline near 750: without scales, neighbours are wrong on a quarter."""
    _, _, search = wine
    assert isinstance(search.best_estimator_, Pipeline)
    assert search.best_params_["scale"]


def test_kernels_are_tried_at_multiples_of_the_usual_width(wine):
    X, _, search = wine
    on_columns = [
        each
        for each in search.cv_results_["params"]
        if each["family"] == "svm" and each.get("scale") and "n_modules" not in each
    ]
    gammas = sorted({each["gamma"] * X.shape[1] for each in on_columns})  # the variance is 1
    np.testing.assert_allclose(gammas, [0.1, 0.3, 1.0, 3.0])


def test_widths_and_diversities_that_are_tried_by_default(wine):
    _, _, search = wine
    tried = {name: set() for name in FAMILIES}
    for each in search.cv_results_["params"]:
        if "n_modules" in each:
            tried[each["family"]].add((each["n_components"], each["diversity"]))
    expected = {  # of 13 columns; linear models are tried on these alone
        "neighbors": {(width, diversity) for width in (3, 5, 9) for diversity in (0.5, 0.8, 0.95, 1.0)},
        "svm": {(width, diversity) for width in (5, 9) for diversity in (0.8, 1.0)},
        "trees": {(9, 0.8), (9, 1.0)},
        "linear": set(),
    }
    assert tried == expected


def test_the_leaderboard_has_modules_and_plain_learners_of_each_family(wine):
    _, _, search = wine
    board = search.leaderboard_
    names = set(board["name"])
    assert {f"{family} on columns" for family in FAMILIES} <= names
    assert {"neighbors on modules", "svm on modules", "trees on modules"} <= names
    assert len({len(column) for column in board.values()}) == 1
    assert (np.diff(board["score"]) <= 0.0).all()
    lines = str(board).splitlines()
    assert len(lines) == len(names) + 1
    assert max(map(len, lines)) <= 100
    text = search.summary()
    assert text.startswith("Chosen: ")
    assert text.count(". ") == 1


def test_copies_and_pickles(wine):
    X, y, search = wine
    again = clone(search).set_params(n_jobs=2).fit(X[::2], y[::2])
    assert again.best_params_ == search.best_params_
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    restored = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(restored.predict(X), search.predict(X))


def test_families_of_ones_own():
    X, y = load_iris(return_X_y=True)
    families = {
        "bayes": (GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
        "tree": (DecisionTreeClassifier(), {}),
    }
    search = ModularClassifierCV(
        estimator=families, n_modules=5, diversities=[0.8], cv=3, random_state=0
    )
    search.fit(X, y)
    results = search.cv_results_
    assert set(results["param_family"]) == {"bayes", "tree"}
    assert {params.get("var_smoothing") for params in results["params"]} == {None, 1e-9, 1e-2}
    turned = {params["family"] for params in results["params"] if params.get("rotation") == "random"}
    assert turned == {"tree"}


@pytest.mark.parametrize(
    "families",
    [{}, {"bayes": GaussianNB()}, {"bayes": (GaussianNB(), [])}, {"bayes": (GaussianNB, {})}, "best"],
)
def test_families_that_make_no_sense(families):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match="estimator"):
        ModularClassifierCV(estimator=families).fit(X, y)


def test_what_is_completed_in_the_time_is_used():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 30)), rng.integers(3, size=400)
    start = perf_counter()
    whole = ModularClassifierCV(cv=3, random_state=0).fit(X, y)
    took = perf_counter() - start
    short = ModularClassifierCV(cv=3, time_budget=min(0.05, took / 10), random_state=0).fit(X, y)
    assert len(short.cv_results_["params"]) < len(whole.cv_results_["params"])
    assert short.predict(X).shape == (400,)
    with pytest.raises(ValueError, match="time_budget must be a finite number above 0"):
        ModularClassifierCV(time_budget=0).fit(X, y)


def test_once_the_time_is_over_no_modules_are_made_for_further_folds(monkeypatch):
    made, extractor = [], LinearModularAutoencoder

    class Slow(extractor):
        def with_params(self, **sizes):
            made.append(sizes)
            return extractor.with_params(self, **sizes)

    for module in ("search", "tuning"):  # a clock on which modules take a second, and all else nothing
        monkeypatch.setattr(f"modae.ensembles.{module}.time", lambda: float(len(made)))
    X, y = load_iris(return_X_y=True)
    ModularClassifierCV(Slow(), cv=5, time_budget=0.5, random_state=0).fit(X, y)
    assert 0 < len(made) == len({tuple(each.values()) for each in made})


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("estimator", [None, "auto"])
def test_a_budget_that_is_over_before_the_first_trial_pays_for_one_fold(load, estimator, monkeypatch):
    for module in ("search", "tuning"):  # a clock on which every reading takes a second
        monkeypatch.setattr(f"modae.ensembles.{module}.time", partial(next, count(0.0)))
    X, y = load(return_X_y=True)
    options = {"diversities": [0.3, 0.7], "cv": 3, "time_budget": 0.5, "random_state": 0}
    search = ModularClassifierCV(estimator=estimator, **options).fit(X, y)
    assert (search.cv_results_["n_folds"] == 1).all()
    assert np.isfinite(search.best_score_)
    assert search.score(X, y) > 0.6


def test_sparse_rows_names_weights_and_groups():
    X, y = load_iris(return_X_y=True)
    options = {"cv": 3, "n_modules": 3, "random_state": 0}
    fitted = ModularClassifierCV(**options).fit(sparse.csr_array(X), y)
    assert fitted.score(sparse.csr_array(X), y) > 0.9
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = ModularClassifierCV(**options).fit(frame, y)
    assert named.feature_names_in_.tolist() == list("abcd")
    assert named.predict(frame).shape == (150,)
    groups = np.arange(150) % 7
    options["cv"] = GroupKFold(3)
    weighted = ModularClassifierCV(**options).fit(X, y, np.ones(150), groups=groups)
    plain = ModularClassifierCV(**options).fit(X, y, groups=groups)
    np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))


def test_weights_with_routing_on():
    X, y = load_iris(return_X_y=True)
    options = {"cv": 3, "n_modules": 3, "random_state": 0}
    expected = ModularClassifierCV(**options).fit(X, y, np.ones(150)).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = ModularClassifierCV(**options).fit(X, y, sample_weight=np.ones(150))
        np.testing.assert_array_equal(routed.predict_proba(X), expected)


def test_a_frozen_extractor_is_never_scaled():
    from sklearn.frozen import FrozenEstimator

    X, y = load_wine(return_X_y=True)
    frozen = FrozenEstimator(LinearModularAutoencoder(4, 3, random_state=0).fit(X))
    search = ModularClassifierCV(frozen, random_state=0, cv=3).fit(X, y)
    assert "scale" not in search.best_params_
    with pytest.raises(ValueError, match="scale must be 'auto' or False with a frozen extractor"):
        ModularClassifierCV(frozen, scale=True).fit(X, y)


def test_svm_members_vote_by_decision_functions_with_a_temperature():
    X, y = load_digits(return_X_y=True)
    for classes in (3, 2):
        rows, labels = X[y < classes], y[y < classes]
        rows = rows + np.random.default_rng(0).normal(0, 15.0, rows.shape)
        model = ModularClassifier(estimator=SVC(), n_modules=4, n_components=2, random_state=0)
        plain = clone(model).fit(rows[::2], labels[::2])
        tuned = clone(model).set_params(calibration="cv").fit(rows[::2], labels[::2])
        assert plain.voting_ == "decision"
        assert plain.temperature_ == 1.0
        assert tuned.temperature_ > 0.0
        for each in (plain, tuned):
            shares, decisions = each.predict_proba(rows), each.decision_function(rows)
            np.testing.assert_allclose(shares.sum(axis=1), 1.0)
            winners = each.classes_[shares.argmax(axis=1)]
            np.testing.assert_array_equal(each.predict(rows), winners)
            by_decision = decisions > 0 if classes == 2 else decisions.argmax(axis=1)
            np.testing.assert_array_equal(each.predict(rows), each.classes_[by_decision.astype(int)])
        losses = [log_loss(labels[1::2], each.predict_proba(rows[1::2])) for each in (plain, tuned)]
        assert losses[1] < losses[0]


def test_an_svm_that_decides_between_pairs_of_classes_has_one_vote():
    X, y = load_iris(return_X_y=True)
    pairs = SVC(decision_function_shape="ovo")
    assert ModularClassifier(estimator=pairs, n_modules=3, n_components=2).fit(X, y).voting_ == "hard"
    with pytest.raises(ValueError, match=r"voting=.decision. needs one number for each class.*ovr"):
        ModularClassifier(estimator=pairs, voting="decision", n_components=2).fit(X, y)


def test_sizes_of_the_ensemble_override_a_copy_of_the_extractor():
    X, y = load_iris(return_X_y=True)
    extractor = LinearModularAutoencoder(4, 2, 0.5, random_state=0)
    model = ModularClassifier(extractor, n_modules=3, diversity=0.9, n_components=1).fit(X, y)
    assert (model.n_modules_, model.extractor_.diversity_, model.extractor_.n_components_) == (3, 0.9, 1)
    assert extractor.n_modules == 4
    from sklearn.frozen import FrozenEstimator

    with pytest.raises(ValueError, match="n_modules cannot be set on FrozenEstimator"):
        ModularClassifier(FrozenEstimator(extractor.fit(X)), n_modules=3).fit(X, y)


def test_widths_are_shares_and_never_all_columns():
    family = Family(GaussianNB(), fractions=(0.2, 0.4, 1.0))
    assert family.widths(1) == [1]
    assert family.widths(2) == [1]
    assert family.widths(10) == [2, 4, 9]
    assert family.widths(1000) == [10, 20, 50]


def test_large_data_get_an_approximate_kernel():
    y = np.arange(5_001) % 2
    assert isinstance(default_families("classification", y[1:], 4)["svm"].member, SVC)
    assert isinstance(default_families("classification", y, 4)["svm"].member, Pipeline)
    assert Family(LogisticRegression()).rotation is None
    assert default_families("classification", y, 4)["trees"].rotation == "random"


def test_trees_compare_all_of_few_columns_and_some_of_many():
    for n_features, most in {4: 1.0, 30: 1.0, 120: 0.25}.items():
        family = default_families("regression", np.arange(50.0), n_features)["trees"]
        assert family.grid == {"max_features": ["sqrt", most]}


def test_regression_left_alone():
    X, y = make_friedman1(200, noise=0.5, random_state=0)
    search = ModularRegressorCV(cv=3, random_state=0).fit(X[:150], y[:150])
    assert set(search.cv_results_["param_family"]) == FAMILIES
    assert search.score(X[150:], y[150:]) > 0.75
    assert "R2" in search.summary()
    assert search.leaderboard_["error"][0] == pytest.approx(1.0 - search.best_score_)
    assert search.predict_members(X).ndim == 2


def test_targets_of_other_units_give_the_same_choice():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    one = ModularRegressorCV(cv=3, random_state=0).fit(X, y)
    other = ModularRegressorCV(cv=3, random_state=0).fit(X, 1000.0 * y)
    assert one.best_params_["family"] == other.best_params_["family"]
    np.testing.assert_allclose(other.predict(X), 1000.0 * one.predict(X), rtol=1e-3)


def test_several_targets_are_for_all_but_svms():
    X, y = make_friedman1(80, random_state=0)
    search = ModularRegressorCV(cv=3, random_state=0).fit(X, np.c_[y, -y])
    assert set(search.cv_results_["param_family"]) == FAMILIES - {"svm"}
    assert search.predict(X).shape == (80, 2)


def test_a_regression_is_decided_by_all_rows_and_not_by_small_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    y[:8] = 0.01 * rng.standard_normal(8)  # R^2 on a fold of these is a large negative number
    families = {"linear": (Ridge(), {"alpha": [1e-3, 1e6]})}
    folds = list(KFold(5).split(X))
    options = {"estimator": families, "n_components": 1, "diversities": [0.5], "cv": folds}
    search = ModularRegressorCV(**options, random_state=0).fit(X, y)
    assert search.best_params_["alpha"] == 1e-3
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
