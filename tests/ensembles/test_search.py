"""ModularClassifierCV as an estimator: results, folds, weights, labels, progress."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.svm import LinearSVC

from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV

DIVERSITIES = [0.2, 0.6, 0.95]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:180], y[:180]


def test_the_chosen_ensemble_is_fitted_to_all_rows(digits):
    X, y = digits
    forest = RandomForestClassifier(3)
    search = ModularClassifierCV(
        LinearModularAutoencoder(3, 4),
        forest,
        scale=False,
        diversities=DIVERSITIES,
        cv=FOLDS,
        random_state=3,
    ).fit(X, y)
    expected = ModularClassifier(LinearModularAutoencoder(3, 4), forest, random_state=3)
    expected.set_params(extractor__diversity=search.best_params_["diversity"]).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), expected.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), expected.predict_proba(X))
    assert search.classes_.tolist() == list(range(10))
    assert search.n_splits_ == 3


def test_errors_of_the_ensemble_and_of_its_members(digits):
    X, y = digits
    extractor = LinearModularAutoencoder(3, 4, random_state=0)
    search = ModularClassifierCV(
        extractor, scale=False, estimator=None, diversities=[0.3, 0.8], cv=FOLDS
    ).fit(X, y)
    for place, diversity in enumerate([0.3, 0.8]):
        for fold, (train, test) in enumerate(FOLDS.split(X, y)):
            model = ModularClassifier(clone(extractor).set_params(diversity=diversity))
            model.fit(X[train], y[train])
            results = search.cv_results_
            ensemble = results[f"split{fold}_ensemble_error"][place]
            individual = results[f"split{fold}_individual_error"][place]
            assert ensemble == pytest.approx(1 - model.score(X[test], y[test]))
            assert individual == pytest.approx(1 - model.member_scores(X[test], y[test]).mean())


def test_folds_that_can_be_read_only_once(digits):
    X, y = digits
    expected = ModularClassifierCV(
        scale=False, estimator=None, diversities=DIVERSITIES, cv=FOLDS, random_state=0
    ).fit(X, y)
    once = ModularClassifierCV(
        scale=False, estimator=None, diversities=DIVERSITIES, cv=FOLDS.split(X, y), random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(
        once.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_candidates_that_can_be_read_only_once(digits):
    X, y = digits
    search = ModularClassifierCV(
        scale=False,
        estimator=None,
        diversities=iter([0.3, 0.8]),
        n_modules=iter([2, 3]),
        n_components=iter([2]),
        cv=2,
    )
    assert len(search.fit(X, y).cv_results_["params"]) == 4


def test_boolean_masks_and_lists_as_folds(digits):
    X, y = digits
    mask = np.arange(len(y)) % 2 == 0
    by_index = [(np.flatnonzero(mask), np.flatnonzero(~mask))]
    options = {"diversities": [0.5], "random_state": 0}
    expected = (
        ModularClassifierCV(scale=False, estimator=None, cv=by_index, **options)
        .fit(X, y)
        .cv_results_["mean_test_score"]
    )
    for folds in ([(mask, ~mask)], [tuple(part.tolist() for part in by_index[0])]):
        result = (
            ModularClassifierCV(scale=False, estimator=None, cv=folds, **options)
            .fit(X, y)
            .cv_results_["mean_test_score"]
        )
        np.testing.assert_array_equal(result, expected)


def test_random_folds_are_the_same_for_all_candidates(digits):
    X, y = digits
    search = ModularClassifierCV(
        LinearModularAutoencoder(2, 3),
        scale=False,
        estimator=None,
        diversities=[0.5, 0.5],
        cv=ShuffleSplit(3),
        random_state=0,
    ).fit(X, y)
    first, second = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)]).T
    np.testing.assert_array_equal(first, second)


def test_a_random_state_that_is_a_generator_is_the_same_for_all_candidates(digits):
    X, y = digits
    search = ModularClassifierCV(
        LinearModularAutoencoder(2, 3),
        RandomForestClassifier(2),
        scale=False,
        diversities=[0.5, 0.5],
        cv=FOLDS,
        random_state=np.random.RandomState(0),
    ).fit(X, y)
    first, second = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)]).T
    np.testing.assert_array_equal(first, second)


def test_weights_in_fits_and_in_scores(digits):
    X, y = digits
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    extractor = LinearModularAutoencoder(3, 4, random_state=0)
    folds = list(FOLDS.split(X, y))
    for scoring in (None, "accuracy"):
        search = ModularClassifierCV(
            extractor, scale=False, estimator=None, diversities=[0.7], cv=folds, scoring=scoring
        )
        search.fit(X, y, sample_weight=weights)
        for fold, (train, test) in enumerate(folds):
            model = ModularClassifier(clone(extractor).set_params(diversity=0.7))
            model.fit(X[train], y[train], sample_weight=weights[train])
            expected = model.score(X[test], y[test], sample_weight=weights[test])
            assert search.cv_results_[f"split{fold}_test_score"][0] == pytest.approx(expected, abs=1e-14)
        final = ModularClassifier(clone(extractor).set_params(diversity=0.7))
        final.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(search.predict(X), final.predict(X))


def test_weights_with_a_scoring_function_that_takes_none(digits):
    """As in GridSearchCV it is asked without them, or the error names the parameter to change."""
    X, y = digits
    search = ModularClassifierCV(
        scale=False,
        estimator=None,
        diversities=[0.5],
        cv=2,
        scoring=lambda model, X, y: model.score(X, y),
    )
    message = "scoring"
    try:
        search.fit(X, y, sample_weight=np.ones(len(y)))
    except (TypeError, ValueError) as error:
        message = str(error)
    assert message.startswith("scoring")


def test_a_fold_whose_test_rows_all_weigh_nothing(digits):
    X, y = digits
    folds = list(FOLDS.split(X, y))
    weights = np.ones(len(y))
    weights[folds[1][1]] = 0.0
    with pytest.raises(ValueError, match="sample_weight"):
        ModularClassifierCV(scale=False, estimator=None, diversities=[0.5], cv=folds).fit(
            X, y, sample_weight=weights
        )


def test_the_decision_function_follows_the_members(digits):
    X, y = digits
    assert not hasattr(ModularClassifierCV(), "decision_function")
    linear = LinearSVC()
    search = ModularClassifierCV(
        LinearModularAutoencoder(2, 3), linear, scale=False, diversities=[0.5], cv=2
    )
    assert hasattr(search, "decision_function")
    scores = search.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(scores, search.best_estimator_.decision_function(X))


def test_progress_is_told_to_callbacks_and_nothing_is_printed(digits, capfd):
    X, y = digits
    options = {"estimator": None, "diversities": [0.5], "cv": 2, "scale": False, "random_state": 0}
    silent = ModularClassifierCV(**options).fit(X, y)
    counter = CountTasks()
    told = ModularClassifierCV(n_jobs=2, **options).set_callbacks(counter).fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert counter.names == ["trial", "trial", "fit", "teardown"]
    np.testing.assert_array_equal(silent.predict(X), told.predict(X))


class CountTasks:
    """A callback of scikit-learn that remembers the tasks that ended."""

    def __init__(self):
        self.names = []

    def setup(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)

    def teardown(self, estimator, context):
        self.names.append("teardown")


def test_string_labels(digits):
    X, y = digits
    words = np.array([f"digit {k}" for k in range(10)])
    options = {"diversities": DIVERSITIES, "cv": FOLDS, "random_state": 0}
    numbers, strings = (
        ModularClassifierCV(scale=False, estimator=None, **options).fit(X, labels)
        for labels in (y, words[y])
    )
    np.testing.assert_array_equal(
        numbers.cv_results_["mean_test_score"], strings.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(strings.predict(X), words[numbers.predict(X)])


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError, match="ModularClassifierCV"):
        getattr(ModularClassifierCV(), method)(np.zeros((2, 3)))


@pytest.mark.filterwarnings("ignore:diversity=0 makes all modules equal:UserWarning")
def test_the_default_candidates(digits):
    X, y = digits
    search = ModularClassifierCV(
        LinearModularAutoencoder(2, 3), scale=False, estimator=None, cv=2, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["param_diversity"], np.linspace(0, 1, 11))
    assert set(search.cv_results_["param_n_modules"]) == {2}
    assert set(search.cv_results_["param_n_components"]) == {3}
