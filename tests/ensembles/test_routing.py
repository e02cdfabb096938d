"""Sample weights and other metadata: who gets them, with metadata routing off and on."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    NearestNeighborClassifier,
)


class Spy(ClassifierMixin, BaseEstimator):
    """Keeps what its fit was given."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.classes_ = np.unique(y)
        self.given_ = {"sample_weight": sample_weight, "groups": groups}
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class SpyModules(LinearModularAutoencoder):
    """Keeps the weights that its fit was given."""

    def fit(self, X, y=None, sample_weight=None):
        self.given_ = sample_weight
        return super().fit(X, y, sample_weight)


@pytest.fixture
def routing_on():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    return X, y, weights


def small(kind=LinearModularAutoencoder):
    return kind(3, 2, 0.6, random_state=0)


def sharp():
    return LogisticRegression(tol=1e-12, max_iter=10_000)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_a_whole_weight_is_a_repeated_row(iris, voting):
    X, y, weights = iris
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = ModularClassifier(small(), sharp(), voting=voting).fit(X, y, sample_weight=weights)
    longer = ModularClassifier(small(), sharp(), voting=voting).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.class_prior_, longer.class_prior_)
    np.testing.assert_allclose(weighted.predict_proba(X), longer.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(weighted.predict(X), longer.predict(X))
    plain = ModularClassifier(small(), sharp(), voting="soft").fit(X, y)
    soft = ModularClassifier(small(), sharp(), voting="soft").fit(X, y, sample_weight=weights)
    assert np.abs(plain.predict_proba(X) - soft.predict_proba(X)).max() > 1e-3


def test_a_weight_of_zero_is_a_row_that_is_not_there(iris):
    X, y, weights = iris
    kept = weights > 0
    zeros = ModularClassifier(small()).fit(X, y, sample_weight=kept.astype(float))
    fewer = ModularClassifier(small()).fit(X[kept], y[kept])
    np.testing.assert_array_equal(zeros.predict_members(X), fewer.predict_members(X))
    np.testing.assert_allclose(zeros.class_prior_, fewer.class_prior_)


def test_weights_of_the_regressor_are_repeated_rows(iris):
    X, y, weights = iris
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    model = ModularRegressor(small(), LinearRegression())
    weighted = model.fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(weighted, model.fit(X[repeated], y[repeated]).predict(X), atol=1e-8)
    assert np.abs(weighted - model.fit(X, y).predict(X)).max() > 1e-3


def test_the_prior_that_breaks_ties_is_weighted(iris):
    X, y, _ = iris
    weights = np.where(y == 2, 5.0, 1.0)
    model = ModularClassifier(small()).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.class_prior_, [50 / 350, 50 / 350, 250 / 350])


def test_weights_go_to_everybody_who_takes_them(iris):
    X, y, weights = iris
    model = ModularClassifier(small(SpyModules), Spy()).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.extractor_.given_, weights)
    for member in model.estimators_:
        np.testing.assert_array_equal(member.given_["sample_weight"], weights)
    bagged = ModularClassifier(BaggingAutoencoder(2, 2, random_state=0), Spy())
    assert bagged.fit(X, y, sample_weight=weights).estimators_[0].given_["sample_weight"] is not None
    frozen = ModularClassifier(FrozenEstimator(small().fit(X)), Spy())
    assert frozen.fit(X, y, sample_weight=weights).estimators_[0].given_["sample_weight"] is not None


@pytest.mark.parametrize("kind", [ModularClassifier, ModularClassifierCV])
def test_a_member_that_cannot_take_weights_is_named(iris, kind):
    X, y, weights = iris
    model = kind(small(), KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"sample_weight was given.*KNeighborsClassifier.*cannot"):
        model.fit(X, y, sample_weight=weights)
    members = [("a", LogisticRegression()), ("odd one", KNeighborsClassifier()), ("c", Spy())]
    with pytest.raises(ValueError, match=r"'odd one' \(KNeighborsClassifier\) cannot take it"):
        kind(small(), members).fit(X, y, sample_weight=weights)
    model.fit(X, y)  # without weights it is fine


@pytest.mark.parametrize("kind", [ModularClassifier, ModularRegressor])
def test_other_metadata_with_routing_off_are_refused(iris, kind):
    X, y, _ = iris
    with pytest.raises(TypeError, match=r"unexpected metadata \['groups'\].*enable_metadata_routing"):
        kind(small()).fit(X, y, groups=y)


@pytest.mark.parametrize("kind", [ModularClassifier, ModularRegressor, ModularClassifierCV])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "one number for each of the 150 rows|inconsistent numbers of samples"),
        (-np.ones(150), "not negative"),
        (np.full(150, np.nan), "finite"),
        (np.zeros(150), "zero for every row"),
    ],
)
def test_bad_weights_are_refused(iris, kind, weights, message):
    X, y, _ = iris
    with pytest.raises(ValueError, match=message):
        kind(small()).fit(X, y, sample_weight=weights)


def test_a_class_without_weight_is_kept_but_never_predicted(iris):
    X, y, _ = iris
    model = ModularClassifier(small()).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert not (model.predict(X) == 1).any()
    assert model.class_prior_[1] == 0


# --- metadata routing on


def test_requests_are_respected(iris, routing_on):
    X, y, weights = iris
    extractor = small(SpyModules).set_fit_request(sample_weight=False)
    member = Spy().set_fit_request(sample_weight=True, groups=True)
    model = ModularClassifier(extractor, member).fit(X, y, sample_weight=weights, groups=y)
    assert model.extractor_.given_ is None
    for each in model.estimators_:
        np.testing.assert_array_equal(each.given_["sample_weight"], weights)
        np.testing.assert_array_equal(each.given_["groups"], y)
    extractor.set_fit_request(sample_weight=True)
    member.set_fit_request(sample_weight=False, groups=False)
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.extractor_.given_, weights)
    assert model.estimators_[0].given_["sample_weight"] is None


def test_requests_of_named_members_are_their_own(iris, routing_on):
    X, y, weights = iris
    members = [
        ("a", Spy().set_fit_request(sample_weight=True, groups=False)),
        ("b", Spy().set_fit_request(sample_weight=False, groups=True)),
        ("c", Spy().set_fit_request(sample_weight="groups", groups=False)),
    ]
    extractor = small().set_fit_request(sample_weight=False)
    model = ModularClassifier(extractor, members).fit(X, y, sample_weight=weights, groups=y)
    a, b, c = (each.given_ for each in model.estimators_)
    assert a["sample_weight"] is not None
    assert a["groups"] is None
    assert b["sample_weight"] is None
    assert b["groups"] is not None
    np.testing.assert_array_equal(c["sample_weight"], y)  # an alias


def test_weights_that_nobody_asked_for_are_refused_not_ignored(iris, routing_on):
    X, y, weights = iris
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        ModularClassifier(small(), Spy()).fit(X, y, sample_weight=weights)
    unable = KNeighborsClassifier()
    refusing = small().set_fit_request(sample_weight=False)
    with pytest.raises(TypeError, match="sample_weight"):
        ModularClassifier(refusing, unable).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("kind", [ModularClassifier, ModularRegressor])
def test_unknown_metadata_are_refused(iris, routing_on, kind):
    X, y, _ = iris
    with pytest.raises(TypeError, match="colour"):
        kind(small()).fit(X, y, colour=y)


@pytest.mark.parametrize("kind", [ModularClassifier, ModularRegressor, ModularClassifierCV])
def test_the_default_parts_take_weights_with_routing_on_too(iris, routing_on, kind):
    """A part that the user never made cannot be asked to request weights."""
    X, y, weights = iris
    kept = weights > 0
    options = {"estimator": None, "diversities": [0.5], "cv": 2} if kind is ModularClassifierCV else {}
    weighted = kind(random_state=0, **options).fit(X, y, sample_weight=kept.astype(float))
    fewer = kind(random_state=0, **options).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.predict(X), fewer.predict(X))


def test_weights_pass_through_a_pipeline_and_a_search(iris, routing_on):
    X, y, weights = iris
    extractor = small().set_fit_request(sample_weight=True)
    member = sharp().set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    model = ModularClassifier(extractor, member, voting="soft")
    pipeline = make_pipeline(scaler, model)
    fitted = pipeline.fit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    by_hand = make_pipeline(StandardScaler(), ModularClassifier(small(), sharp(), voting="soft"))
    by_hand.fit(X[repeated], y[repeated])
    np.testing.assert_allclose(fitted.predict_proba(X), by_hand.predict_proba(X), atol=1e-6)
    model.set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"estimator__C": [0.1, 1.0]}, cv=3, error_score="raise")
    search.fit(X, y, sample_weight=weights)
    assert search.best_score_ > 0.8


def test_the_request_for_weighted_scores_is_respected(iris, routing_on):
    X, y, weights = iris
    extractor, member = small().set_fit_request(sample_weight=True), NearestNeighborClassifier()
    model = ModularClassifier(extractor, member.set_fit_request(sample_weight=True))
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    for requested in (True, False):
        model.set_score_request(sample_weight=requested)
        result = cross_validate(model, X, y, cv=folds, params={"sample_weight": weights})
        train, test = folds[0]
        model.fit(X[train], y[train], sample_weight=weights[train])
        given = {"sample_weight": weights[test]} if requested else {}
        assert result["test_score"][0] == pytest.approx(model.score(X[test], y[test], **given))


def test_an_extractor_that_takes_no_weights_still_works_with_routing_on(iris, routing_on):
    X, y, weights = iris
    member = Spy().set_fit_request(sample_weight=True)
    model = ModularClassifier(BaggingAutoencoder(2, 2, random_state=0), member)
    assert model.fit(X, y, sample_weight=weights).estimators_[1].given_["sample_weight"] is not None
