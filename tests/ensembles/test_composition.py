"""Parts of an ensemble: nested parameters, defaults, names, copies, prefit extractors."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensembles.parts import CountingModules
from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    NearestNeighborClassifier,
    NearestNeighborRegressor,
)

ENSEMBLES = [ModularClassifier, ModularRegressor, ModularClassifierCV]
routing = pytest.mark.parametrize("routed", [False, True], ids=["routing off", "routing on"])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def named():
    return [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(random_state=0))]


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_parameters_of_default_parts_can_be_read_and_set(kind):
    model = kind(estimator=None)
    params = model.get_params()
    assert params["extractor"] is None
    assert params["estimator"] is None
    assert params["extractor__diversity"] == LinearModularAutoencoder().diversity
    assert params["estimator__backend"] == "auto"
    model.set_params(extractor__diversity=0.9, estimator__backend="brute")
    assert model.get_params()["extractor__diversity"] == 0.9
    assert model.extractor.diversity == 0.9
    assert model.estimator.backend == "brute"
    assert kind().get_params()["extractor__diversity"] == LinearModularAutoencoder().diversity


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_shallow_parameters_are_those_of_the_constructor(kind):
    assert set(kind().get_params(deep=False)) == set(kind._get_param_names())


def test_the_default_members_are_nearest_neighbours(digits):
    X, y = digits
    assert type(ModularClassifier().fit(X, y).estimators_[9]) is NearestNeighborClassifier
    assert type(ModularRegressor().fit(X, y).estimators_[9]) is NearestNeighborRegressor
    assert type(ModularClassifier().fit(X, y).extractor_) is LinearModularAutoencoder


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_a_part_and_its_parameter_can_be_set_together(kind):
    for params in (
        {"extractor": LinearModularAutoencoder(3), "extractor__diversity": 0.25},
        {"extractor__diversity": 0.25, "extractor": LinearModularAutoencoder(3)},
    ):
        model = kind().set_params(**params)
        assert (model.extractor.n_modules, model.extractor.diversity) == (3, 0.25)


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("name", ["extractor__size", "estimator__size", "size", "bayes", "bayes__size"])
def test_unknown_parameters_are_refused(kind, name):
    with pytest.raises(ValueError, match="Invalid parameter"):
        kind(estimator=None).set_params(**{name: 1})


def test_members_of_a_list_by_name():
    model = ModularClassifier(LinearModularAutoencoder(2), named())
    assert model.get_params()["tree__max_depth"] is None
    model.set_params(tree__max_depth=3, bayes__var_smoothing=0.1)
    assert model.get_params()["tree__max_depth"] == 3
    other = LogisticRegression(C=3.0)
    model.set_params(bayes=other)
    assert model.estimator[0] == ("bayes", other)
    assert model.get_params()["bayes__C"] == 3.0
    model.set_params(bayes=GaussianNB(), bayes__var_smoothing=0.5)
    assert model.get_params()["bayes__var_smoothing"] == 0.5


def test_replacing_a_named_member_leaves_the_callers_list_alone():
    members = named()
    before = list(members)
    ModularClassifier(LinearModularAutoencoder(2), members).set_params(tree=GaussianNB())
    assert members == before


def test_a_clone_shares_no_part_with_its_original(digits):
    X, y = digits
    model = ModularClassifier(LinearModularAutoencoder(2, 3), named(), voting="soft", n_jobs=2)
    copy = clone(model)
    assert copy.extractor is not model.extractor
    copy.set_params(tree__max_depth=1, extractor__diversity=0.0)
    assert model.get_params()["tree__max_depth"] is None
    assert model.extractor.diversity == 0.8
    assert not hasattr(clone(model.fit(X, y)), "classes_")


def snapshot(*objects):
    return [(sorted(vars(each)), {k: repr(v) for k, v in each.get_params().items()}) for each in objects]


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("kind", ENSEMBLES)
def test_the_callers_objects_are_never_changed(digits, kind, random_state):
    X, y = digits
    X_before, y_before = X.copy(), y.copy()
    extractor = LinearModularAutoencoder(2, 3, 0.4)
    regress = kind is ModularRegressor
    member = RandomForestRegressor(2) if regress else RandomForestClassifier(2)
    near = NearestNeighborRegressor() if regress else NearestNeighborClassifier()
    options = {"diversities": [0.3, 0.6], "cv": 2} if kind is ModularClassifierCV else {}
    members = [("forest", member), ("near", near)]
    for estimator in (member, members):
        model = kind(extractor, estimator, random_state=random_state, **options)
        before = snapshot(extractor, member, members[1][1], model)
        model.fit(X, y).predict(X)
        after = snapshot(extractor, member, members[1][1])
        assert after == before[:3]
        assert model.extractor is extractor
        assert model.estimator is estimator
        assert {k: repr(v) for k, v in model.get_params().items()} == before[3][1]
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


@pytest.mark.parametrize("kind", [ModularClassifier, ModularClassifierCV])
def test_a_fitted_extractor_that_is_not_frozen_is_fitted_again_as_a_copy(digits, kind):
    X, y = digits
    extractor = LinearModularAutoencoder(3, 4, 0.5, random_state=0).fit(X[:50])
    loss = extractor.loss_
    options = {"diversities": [0.5], "cv": 2, "scale": False} if kind is ModularClassifierCV else {}
    model = kind(extractor, None, **options).fit(X, y)
    best = model.best_estimator_ if kind is ModularClassifierCV else model
    assert extractor.loss_ == loss
    assert best.extractor_.loss_ != loss


def test_a_frozen_extractor_is_used_as_it_is(digits):
    X, y = digits
    extractor = CountingModules(4, 5, 0.6, random_state=0).fit(X)
    before = CountingModules.fits
    model = ModularClassifier(FrozenEstimator(extractor)).fit(X[:60], y[:60])
    assert CountingModules.fits == before
    np.testing.assert_array_equal(model.extractor_.transform_modules(X), extractor.transform_modules(X))
    codes = extractor.transform_modules(X)
    members = [NearestNeighborClassifier().fit(each[:60], y[:60]).predict(each) for each in codes]
    np.testing.assert_array_equal(model.predict_members(X), members)


def test_an_unfitted_frozen_extractor_is_refused(digits):
    with pytest.raises(NotFittedError):
        ModularClassifier(FrozenEstimator(LinearModularAutoencoder(2))).fit(*digits)


@pytest.mark.slow
@routing
def test_a_grid_search_never_fits_a_frozen_extractor(digits, routed):
    X, y = digits
    extractor = CountingModules(3, 4, 0.6, random_state=0).fit(X)
    before = CountingModules.fits
    with sklearn.config_context(enable_metadata_routing=routed):
        model = ModularClassifier(FrozenEstimator(extractor), LogisticRegression(max_iter=2000))
        search = GridSearchCV(model, {"estimator__C": [0.01, 1.0]}, cv=2, error_score="raise").fit(X, y)
        pipeline = make_pipeline(clone(search.best_estimator_))
        cross_val_score(pipeline, X, y, cv=2, error_score="raise")
        ModularClassifierCV(
            FrozenEstimator(extractor), estimator=None, diversities=[0.2, 0.7], cv=2
        ).fit(X, y)
    assert CountingModules.fits == before
    counted = GridSearchCV(
        ModularClassifier(clone(extractor)), {"voting": ["hard", "soft"]}, cv=2, error_score="raise"
    )
    counted.fit(X, y)
    assert CountingModules.fits == before + 5  # the counter does count: 2 x 2 and the final fit


@routing
@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (ModularClassifier(), {"extractor__diversity": [0.2, 0.8], "estimator__backend": ["tree"]}),
        (
            ModularClassifier(estimator=LogisticRegression(max_iter=5000)),
            {"estimator__C": [1e-3, 1.0], "extractor__n_modules": [2]},
        ),
        (
            ModularClassifier(LinearModularAutoencoder(2, 5), named()),
            {"tree__max_depth": [1, 6], "tree": [DecisionTreeClassifier(random_state=1)]},
        ),
        (ModularClassifier(BaggingAutoencoder(2, 5)), {"extractor__n_components": [3, 5]}),
        (ModularRegressor(), {"extractor__diversity": [0.2, 0.8], "aggregate": ["mean", "median"]}),
    ],
    ids=["defaults", "member", "names", "bagging", "regressor"],
)
def test_inside_a_pipeline_inside_a_grid_search(digits, model, grid, routed):
    X, y = digits
    step = type(model).__name__.lower()
    inner = {f"{step}__{name}": values for name, values in grid.items()}
    with sklearn.config_context(enable_metadata_routing=routed):
        pipeline = make_pipeline(StandardScaler(), model.set_params(random_state=0))
        search = GridSearchCV(pipeline, inner, cv=2, error_score="raise").fit(X, y)
        assert search.best_score_ > 0.3
        assert search.best_estimator_.score(X, y) > 0.5
    if "tree__max_depth" in grid:  # the parameter arrives at its member
        depth = search.best_params_[f"{step}__tree__max_depth"]
        assert search.best_estimator_[-1].estimators_[1].get_depth() == depth
    if "estimator__C" in grid:
        scores = search.cv_results_["mean_test_score"]
        assert scores[0] < scores[1]


@routing
def test_the_search_estimator_inside_a_pipeline(digits, routed):
    X, y = digits
    with sklearn.config_context(enable_metadata_routing=routed):
        search = ModularClassifierCV(
            estimator=None, diversities=[0.3, 0.7], cv=2, n_components=4, random_state=0
        )
        pipeline = make_pipeline(StandardScaler(), search).fit(X, y)
        assert pipeline.score(X, y) > 0.8


def test_the_random_state_seeds_all_that_is_left_open(digits):
    X, y = digits
    forest = RandomForestClassifier(2)
    first = ModularClassifier(LinearModularAutoencoder(3, 4), forest, random_state=0).fit(X, y)
    again = ModularClassifier(LinearModularAutoencoder(3, 4), forest, random_state=0).fit(X, y)
    other = ModularClassifier(LinearModularAutoencoder(3, 4), forest, random_state=1).fit(X, y)
    np.testing.assert_array_equal(first.predict_members(X), again.predict_members(X))
    assert (first.predict_members(X) != other.predict_members(X)).any()
    seeds = [member.random_state for member in first.estimators_]
    assert len(set(seeds)) == 3  # members do not share their luck
    fixed = LinearModularAutoencoder(3, 4, random_state=7)
    kept = ModularClassifier(fixed, RandomForestClassifier(2, random_state=5), random_state=0)
    kept.fit(X, y)
    assert kept.extractor_.random_state == 7
    assert [member.random_state for member in kept.estimators_] == [5, 5, 5]


def test_nested_random_states_are_seeded_too(digits):
    X, y = digits
    nested = make_pipeline(StandardScaler(), RandomForestClassifier(2))
    model = ModularClassifier(LinearModularAutoencoder(2, 4), nested, random_state=0)
    labels = [clone(model).fit(X, y).predict_members(X) for _ in range(2)]
    np.testing.assert_array_equal(*labels)


def test_the_seeds_of_a_frozen_extractor_are_left_alone(digits):
    X, y = digits
    extractor = LinearModularAutoencoder(3, 4).fit(X)
    ModularClassifier(FrozenEstimator(extractor), random_state=0).fit(X, y)
    assert extractor.random_state is None


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_a_pickle_answers_the_same(digits, kind):
    X, y = digits
    options = {"diversities": [0.5], "cv": 2, "scale": False} if kind is ModularClassifierCV else {}
    model = kind(LinearModularAutoencoder(2, 4), random_state=0, **options).fit(X, y)
    before = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), before)
    unfitted = pickle.loads(pickle.dumps(kind()))
    assert unfitted.get_params()["extractor__diversity"] == 0.8


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_parameters_changed_after_fit_wait_for_the_next_fit(digits, kind):
    X, y = digits
    options = {"diversities": [0.5], "cv": 2, "scale": False} if kind is ModularClassifierCV else {}
    model = kind(LinearModularAutoencoder(2, 4), random_state=0, **options).fit(X, y)
    before = model.predict(X)
    model.set_params(extractor__diversity=0.1, extractor__n_modules=5)
    np.testing.assert_array_equal(model.predict(X), before)
