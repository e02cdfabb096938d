"""A failed fit changes nothing, and an ensemble that cannot gain says so."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.svm import SVC

from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV, ModularRegressor

X, y = load_iris(return_X_y=True)


def test_after_a_failed_first_fit_there_is_nothing_to_predict_with():
    model = ModularClassifier(LinearModularAutoencoder(3, 2), SVC(), voting="soft")
    with pytest.raises(ValueError, match="predict_proba"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_failed_second_fit_leaves_the_first_one_whole():
    model = ModularClassifier(LinearModularAutoencoder(3, 2, random_state=0), LogisticRegression())
    before = model.fit(X / 10, y).predict_proba(X)
    model.set_params(estimator=LogisticRegression(C=-1))
    with pytest.raises(ValueError, match="module 0"):
        model.fit(-4.0 * X, y[::-1])
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (LinearModularAutoencoder(n_components=4), (X, y)),
        (ModularClassifier(n_components=4), (X, y)),
        (ModularRegressor(n_components=10), load_diabetes(return_X_y=True)),
        (ModularClassifierCV(estimator=None, n_components=4, diversities=[0.5]), (X, y)),
    ],
)
def test_modules_that_see_everything_are_equal_and_a_warning_says_so(model, data):
    width = data[0].shape[1]
    with pytest.warns(UserWarning, match=f"n_components is {width} for {width} columns; lower it"):
        model.fit(*data)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_modules", [1, 4])
def test_modules_that_differ_or_are_alone_do_not_warn(n_modules):
    width = 4 if n_modules == 1 else 2
    ModularClassifier(LinearModularAutoencoder(n_modules, width, 0.9)).fit(X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_the_default_has_modules_that_differ(load):
    rows, labels = load(return_X_y=True)
    shares = ModularClassifier(random_state=0).fit(rows, labels).extractor_.allocation_
    assert np.any((shares > 0.01) & (shares < 0.99))


def test_groups_stay_together():
    groups = np.arange(len(y)) % 6
    folds = list(GroupKFold(3).split(X, y, groups))
    options = {"n_components": 2, "diversities": [0.4, 0.8], "random_state": 0}
    search = ModularClassifierCV(estimator=None, cv=GroupKFold(3), **options).fit(X, y, groups=groups)
    by_hand = ModularClassifierCV(estimator=None, cv=folds, **options).fit(X, y)
    for fold in range(3):
        name = f"split{fold}_test_score"
        np.testing.assert_array_equal(search.cv_results_[name], by_hand.cv_results_[name])


def test_one_diversity_is_no_path():
    model = LinearModularAutoencoder(2, 2).fit(X)
    with pytest.raises(ValueError, match=r"got 0\.5; for a single one use with_diversity"):
        model.path(0.5)
