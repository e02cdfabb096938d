"""What can go wrong, and the one sentence that says so."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ensembles.parts import ColumnModules, Failing
from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
)
from modae.ensembles.members import MemberError

ENSEMBLES = [ModularClassifier, ModularRegressor, ModularClassifierCV]
X, y = load_iris(return_X_y=True)


def assert_refused(model, message, rows=X, labels=y, kind=ValueError):
    """The error, whose message is short and has no line breaks."""
    with pytest.raises(kind, match=message) as caught:
        model.fit(rows, labels)
    assert "\n" not in str(caught.value)
    return caught.value


def two():
    return LinearModularAutoencoder(2, 2, random_state=0)


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("count", [1, 3])
def test_different_member_counts(kind, count):
    member = Ridge() if kind is ModularRegressor else GaussianNB()
    members = [(f"m{k}", member) for k in range(count)]
    assert_refused(kind(two(), members), f"one member for each of the 2 modules.*got {count}: change")


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_an_empty_list_of_members(kind):
    assert_refused(kind(two(), []), "estimator must")


@pytest.mark.parametrize("kind", [ModularClassifier, ModularRegressor])
@pytest.mark.parametrize("extractor", [PCA(2), GaussianNB(), FrozenEstimator(PCA(2).fit(X))])
def test_an_extractor_without_transform_modules(kind, extractor):
    error = assert_refused(
        kind(extractor), "extractor must have a method transform_modules", kind=TypeError
    )
    assert repr(extractor) in str(error)


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("extractor", [5, "linear", LinearModularAutoencoder])
def test_an_extractor_that_is_no_estimator(kind, extractor):
    assert_refused(kind(extractor), "extractor must", kind=TypeError)


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("member", [5, "linear", LogisticRegression, object()])
def test_a_member_that_is_no_estimator(kind, member):
    assert_refused(kind(two(), member), "estimator must", kind=(TypeError, ValueError))


@pytest.mark.parametrize("extractor", [PCA(2), BaggingAutoencoder(2, 2)])
def test_an_extractor_without_a_path_cannot_be_searched(extractor):
    assert_refused(
        ModularClassifierCV(extractor, estimator=None), "with_params.*GridSearchCV", kind=TypeError
    )


class Ragged(ColumnModules):
    """Gives another number of rows for each module."""

    def transform_modules(self, X):
        return [X[: 10 * k + 10] for k in range(3)]


class Flat(ColumnModules):
    """Gives vectors."""

    def transform_modules(self, X):
        return np.asarray(X).T


class Nothing(ColumnModules):
    """Gives no module at all."""

    def transform_modules(self, X):
        return []


@pytest.mark.parametrize("kind", [Ragged, Flat, Nothing])
def test_features_that_are_not_one_matrix_for_each_module(kind):
    message = f"transform_modules of {kind.__name__} must return one 2-d array for each module"
    assert_refused(ModularClassifier(kind()), message)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_member_that_fails_in_fit(n_jobs):
    members = [("good", GaussianNB()), ("bad", Failing())]
    model = ModularClassifier(two(), members, n_jobs=n_jobs)
    message = r"module 1 \('bad', Failing\) failed in fit: ZeroDivisionError: no luck today"
    error = assert_refused(model, message, kind=MemberError)
    if n_jobs is None:  # joblib puts the trace of a worker in its place
        assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_member_that_fails_in_predict(n_jobs):
    members = [("good", GaussianNB()), ("bad", Failing("predict"))]
    model = ModularClassifier(two(), members, n_jobs=n_jobs).fit(X, y)
    message = r"module 1 \('bad', Failing\) failed in predict: FloatingPointError: not now"
    for method in (model.predict, model.predict_proba, model.predict_members, model.disagreement):
        with pytest.raises(MemberError, match=message) as caught:
            method(X)
        if n_jobs is None:
            assert isinstance(caught.value.__cause__, FloatingPointError)


def test_a_member_that_fails_for_all_modules_names_its_class():
    message = r"module 0 \(Failing\) failed in fit"
    error = assert_refused(ModularClassifier(two(), Failing()), message, kind=MemberError)
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_a_member_that_fails_in_a_search():
    model = ModularClassifierCV(two(), Failing(), diversities=[0.5], cv=2)
    assert_refused(model, "failed in fit: ZeroDivisionError: no luck today")


@pytest.mark.parametrize("kind", [ModularClassifier, ModularClassifierCV])
def test_a_regressor_does_not_vote(kind):
    """Its numbers are no labels, and must not be read as the labels next to them."""
    assert_refused(kind(two(), Ridge()), "classifier")


class Stranger(GaussianNB):
    """Predicts a label that is not in y."""

    def predict(self, X):
        return np.full(len(X), 1.5)


def test_a_vote_for_a_class_that_does_not_exist():
    model = ModularClassifier(two(), Stranger(), voting="hard").fit(X, y)
    with pytest.raises(ValueError, match=r"module 0 \(Stranger\).*1\.5"):
        model.predict(X)


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize(
    "names",
    [("same", "same"), ("a__b", "c"), ("extractor", "c"), ("random_state", "c"), ("estimator", "c")],
)
def test_names_that_cannot_be_parameters(kind, names):
    members = [(name, DecisionTreeClassifier()) for name in names]
    assert_refused(kind(two(), members), f"names of members must differ.*got '{names[0]}'")


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize(
    "members", [[GaussianNB(), GaussianNB()], [("a", 1), ("b", 2)], [(1, GaussianNB())]]
)
def test_lists_that_are_not_pairs(kind, members):
    assert_refused(kind(two(), members), "estimator must be one estimator or a list of")


@pytest.mark.parametrize("kind", [ModularClassifier, ModularClassifierCV])
def test_soft_voting_without_probabilities(kind):
    message = r"voting='soft' needs members with predict_proba, and module 0 \(LinearSVC\) has none"
    assert_refused(kind(two(), LinearSVC(), voting="soft"), message)
    named = [("bayes", GaussianNB()), ("svm", LinearSVC())]
    assert_refused(kind(two(), named, voting="soft"), r"module 1 \('svm', LinearSVC\) has none")


@pytest.mark.parametrize(
    ("kind", "parameter", "value"),
    [
        (ModularClassifier, "voting", "loud"),
        (ModularClassifier, "voting", None),
        (ModularClassifier, "tie_break", "coin"),
        (ModularClassifierCV, "voting", "loud"),
        (ModularClassifierCV, "tie_break", "coin"),
        (ModularClassifierCV, "rule", "worst"),
        (ModularRegressor, "aggregate", "mode"),
    ],
)
def test_words_that_are_not_choices(kind, parameter, value):
    message = rf"^{parameter} must be one of .*, got {re.escape(repr(value))}\.$"
    assert_refused(kind(two(), **{parameter: value}), message)


@pytest.mark.parametrize("value", [["hard"], {"a": 1}])
def test_choices_of_odd_types_are_refused_in_the_same_words(value):
    assert_refused(ModularClassifier(two(), voting=value), "voting must be one of")


@pytest.mark.parametrize("name", ["diversities", "n_modules", "n_components"])
def test_empty_candidates(name):
    assert_refused(
        ModularClassifierCV(two(), estimator=None, **{name: []}),
        "diversities, n_modules and n_components must not",
    )


@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan, "0.5", None])
def test_diversities_outside_their_range(value):
    assert_refused(
        ModularClassifierCV(two(), estimator=None, diversities=[0.5, value]),
        r"diversity must be a number in \[0, 1\]",
    )


@pytest.mark.parametrize("value", [0.5, 1.5])
def test_one_diversity_instead_of_several(value):
    """A number works, as it does for the sizes, or is refused in a sentence that names the parameter."""
    model = ModularClassifierCV(two(), estimator=None, diversities=value, cv=2)
    if value > 1:
        assert_refused(model, "diversit")
    else:
        assert model.fit(X, y).best_params_["diversity"] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_modules", [0]),
        ("n_modules", [2.5]),
        ("n_modules", ["3"]),
        ("n_modules", [True]),
        ("n_components", [0]),
        ("n_components", [5]),
        ("n_components", [1.5]),
        ("n_components", ["2"]),
    ],
)
def test_sizes_that_are_not_sizes(name, value):
    assert_refused(
        ModularClassifierCV(two(), estimator=None, cv=2, diversities=[0.5], **{name: value}),
        f"{name} must be",
    )


def test_a_class_missing_in_a_fold():
    labels = y.copy()
    labels[0] = 7
    message = "^class 7 has no rows in the training part of fold 0: use fewer or stratified folds"
    assert_refused(
        ModularClassifierCV(two(), estimator=None, cv=[(np.arange(1, 150), np.arange(1))]),
        message,
        labels=labels,
    )


def test_a_class_missing_in_a_fold_is_named_as_it_is():
    labels = np.array(["a", "b", "c"])[y]
    folds = [(np.arange(150), np.arange(150)), (np.arange(100), np.arange(100, 150))]
    assert_refused(
        ModularClassifierCV(two(), estimator=None, cv=folds),
        "class 'c' has no rows.*fold 1",
        labels=labels,
    )


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none(kind, bad):
    rows = X.copy()
    rows[3, 1] = bad
    message = "X contains (NaN|infinity)"
    with pytest.raises(ValueError, match=message):
        kind(two()).fit(rows, y)
    labels = y.astype(float)
    labels[3] = bad
    with pytest.raises(ValueError, match=r"y contains (NaN|infinity)"):
        kind(two()).fit(X, labels)


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_lengths_that_differ(kind):
    assert_refused(kind(two()), "inconsistent numbers of samples", labels=y[:-1])


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_no_labels(kind):
    assert_refused(kind(two()), f"{kind.__name__} requires y to be passed", labels=None)


@pytest.mark.parametrize("kind", [ModularClassifier, ModularClassifierCV])
def test_targets_that_are_not_labels(kind):
    with pytest.raises(ValueError, match="continuous"):
        kind(two()).fit(X, X[:, 0] + 0.123)
    with pytest.raises(ValueError, match=r"1d|multi"):
        kind(two()).fit(X, np.eye(3, dtype=int)[y])


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_new_rows_with_other_columns(kind):
    options = {"diversities": [0.5], "cv": 2} if kind is ModularClassifierCV else {}
    model = kind(two(), **options).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.predict(X[:, :3])


def test_member_scores_with_too_few_labels():
    model = ModularClassifier(two()).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.member_scores(X, y[:-1])


def test_a_frozen_member_that_knows_other_classes():
    member = FrozenEstimator(GaussianNB().fit(X[:, :2], y + 5))
    assert_refused(
        ModularClassifier(ColumnModules(2), member), "module 0 .*knows classes .*fit it to the same"
    )
