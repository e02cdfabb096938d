"""What is saved comes back: the same model to the last bit, whatever it was fitted on."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import modae
from files import parts
from files.parts import assert_round_trip, assert_same, copy_of
from modae import (
    LinearModularAutoencoder,
    ModularClassifierCV,
    ModularRegressorCV,
    NearestNeighborClassifier,
)
from modae.data.moments import moments_of_rows
from modae.data.spectrum import KeptRows
from modae.data.summary import DataSummary
from modae.ensembles.families import AllColumns

KINDS = list(parts.unfitted())
FORMS = list(parts.inputs())
LINEAR = ["autoencoder", "bagging", "classifier", "regressor", "search"]


@pytest.mark.parametrize("kind", KINDS)
def test_unfitted(kind):
    assert_round_trip(parts.unfitted()[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_defaults(kind):
    assert_round_trip(type(parts.unfitted()[kind])())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_fitted_on_every_form_of_data(kind, form):
    features = parts.inputs()[form]
    if sparse.issparse(features) and kind.startswith("nearest"):
        features = features.toarray()  # nearest neighbours take dense rows
    assert_round_trip(parts.fitted(parts.unfitted()[kind], features), features[:9])


@pytest.mark.parametrize("name", parts.CLASSIFIERS)
def test_classifier_members(name):
    assert_round_trip(
        parts.classifier(parts.CLASSIFIERS[name]).fit(parts.X, parts.LABELS), parts.rows(9, seed=1)
    )


@pytest.mark.parametrize("name", parts.REGRESSORS)
def test_regressor_members(name):
    model = parts.regressor(parts.REGRESSORS[name], calibrate=0.25)
    assert_round_trip(model.fit(parts.X, parts.TARGET), parts.rows(9, seed=1))


@pytest.mark.parametrize("names", [list("bac"), [3, 1, 2], [True, False, False], [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("member", ["nearest", "logistic", "forest"])
def test_labels(names, member):
    labels = np.asarray(names)[parts.LABELS]
    model = parts.classifier(parts.CLASSIFIERS[member]).fit(parts.X, labels)
    assert_round_trip(model, parts.X[:9])
    if isinstance(names[0], str):
        objects = parts.classifier(parts.CLASSIFIERS[member]).fit(parts.X, labels.astype(object))
        assert_round_trip(objects, parts.X[:9])


@pytest.mark.parametrize("name", ["nearest", "knn", "ridge", "forest"])
def test_several_targets(name):
    model = parts.regressor(parts.REGRESSORS[name], calibrate=0.25).fit(parts.X, parts.TARGETS)
    assert_round_trip(model, parts.X[:9])


def test_one_target_of_the_linear_regressor():
    with pytest.warns(UserWarning, match="degenerate"):
        model = modae.LinearModularRegressor(2, 1, random_state=0).fit(parts.X, parts.TARGET)
    loaded = assert_round_trip(model, parts.X[:9])
    assert type(loaded.intercept_) is type(model.intercept_)


@pytest.mark.filterwarnings("ignore:metadata on a dtype:UserWarning")  # of copied dates, by NumPy 2.0
@pytest.mark.parametrize("dtype", ["M8[D]", "M8[ns]", "m8[s]", "U1", "U300"])
def test_labels_that_are_dates_or_text(dtype):
    labels = np.array([10, 20, 30]).astype(dtype)[parts.LABELS]
    for member in ("nearest", "logistic"):
        model = parts.classifier(parts.CLASSIFIERS[member]).fit(parts.X, labels)
        assert_round_trip(model, parts.X[:9])


@pytest.mark.parametrize(
    "value",
    [
        range(2, 4), (2, 3), [2, 3], {2, 3}, frozenset({2}), {"a": 1, 2: (3,)}, np.int8(2), np.str_("a"),
        np.datetime64("2020-01-01"), np.dtype("f4"), np.array(["a", "bc"]), 1e300, float("inf"), None,
        np.arange(3)[::-1], slice(1, 2), np.float64, sparse.csc_array(np.eye(2)),
    ],
    ids=repr,
)  # fmt: skip
def test_parameters_come_back_as_they_were(value):
    trusted = [np.float64] if value is np.float64 else []
    model = copy_of(ModularClassifierCV(estimator=None, n_modules=value), trusted=trusted)
    if not isinstance(value, slice):
        assert_same(value, model.n_modules)
    assert repr(model.n_modules) == repr(value)


SEARCHES = {
    "classes": (ModularClassifierCV(cv=2, random_state=0), parts.LABELS),
    "classes, scaled": (ModularClassifierCV(cv=2, scale=True, random_state=0), parts.LABELS),
    "targets": (ModularRegressorCV(cv=2, random_state=0), parts.TARGET),
    "targets, scaled": (ModularRegressorCV(cv=2, scale=True, random_state=0), parts.TARGETS[:, 0]),
    "families": (
        ModularClassifierCV(
            estimator={
                "tree": (DecisionTreeClassifier(), {"max_depth": [1, 2]}),
                "svm": (SVC(), {"C": [1.0], "kernel": ["linear"]}),
            },
            cv=3,
            random_state=0,
        ),
        np.array(list("abc"))[parts.LABELS],
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_over_families(name):
    """Tables with NaN where a candidate was not tried; the best may be a pipeline, or all columns."""
    search, y = SEARCHES[name]
    assert_round_trip(search)
    assert_round_trip(clone(search).fit(parts.X, y), parts.rows(9, seed=1))


@pytest.mark.parametrize("form", ["dense", "pandas"])
def test_the_learner_on_all_columns(form):
    features = parts.inputs()[form]
    for extractor in (AllColumns(), AllColumns().fit(features)):
        assert_round_trip(extractor)
    model = modae.ModularClassifier(AllColumns(), LogisticRegression()).fit(features, parts.LABELS)
    assert_round_trip(model, features[:9])


@pytest.mark.parametrize("voting", ["auto", "hard", "soft", "decision"])
@pytest.mark.parametrize("calibration", [None, "cv", 2.0])
def test_votings(voting, calibration):
    member = LogisticRegression()
    model = parts.classifier(member, voting=voting, calibration=calibration, n_modules=3)
    assert_round_trip(model.fit(parts.X, parts.LABELS), parts.X[:9])


@pytest.mark.parametrize("kind", ["autoencoder", "bagging"])
def test_rotations(kind):
    assert_round_trip(parts.unfitted()[kind].set_params(rotation="random").fit(parts.X), parts.X[:9])


def test_a_search_over_a_range_of_sizes():
    search = ModularClassifierCV(parts.extractor(), None, n_modules=range(2, 4), diversities=[0.5], cv=2)
    assert_round_trip(search.fit(parts.X, parts.LABELS), parts.X[:9])


def test_unknown_private_attributes_do_not_matter():
    """A later scikit-learn may keep more on an estimator."""
    model, member = parts.extractor().fit(parts.X), LogisticRegression()
    model._sklearn_news = member._sklearn_news = "news"
    assert_same(model.transform(parts.X), copy_of(model).transform(parts.X))
    around = parts.classifier(member).fit(parts.X, parts.LABELS)
    around.estimators_[0]._sklearn_news = np.arange(3)
    assert_same(around.predict(parts.X), copy_of(around).predict(parts.X))


def test_attributes_of_ones_own_come_back():
    for model in (parts.extractor(), parts.extractor().fit(parts.X)):
        model.note = {"mine": np.arange(3)}
        assert_same(model.note, copy_of(model).note)


def test_steps_of_a_pipeline_that_pass_everything_through(tmp_path):
    model = Pipeline([("none", None), ("codes", parts.extractor()), ("all", "passthrough")])
    for fitted in (False, True):
        modae.save(model.fit(parts.X) if fitted else model, tmp_path / "model.modae")
        told = modae.describe(tmp_path / "model.modae")["summary"]
        assert told["fitted"] == fitted
        assert told["steps"] == [["codes", "LinearModularAutoencoder"]]
    assert told["model"]["modules"] == 2
    assert_same(model.transform(parts.X), copy_of(model).transform(parts.X))


def test_weights():
    weights = np.arange(len(parts.X)) % 3
    assert_round_trip(parts.extractor().fit(parts.X, sample_weight=weights), parts.X[:9])
    model = parts.classifier(LogisticRegression()).fit(parts.X, parts.LABELS, sample_weight=weights)
    assert_round_trip(model, parts.X[:9])


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "backfitting", "tol": 1e-4},
        {"solver": "gradient", "tol": 1e-3},
        {"spectrum": "krylov", "n_modules": 3},
        {"spectrum": "exact", "upcast": True},
        {"n_components": 0.5},
        {"n_components": None},
        {"diversity": 1.0},
        {"n_modules": 1},
        {"random_state": None},
        {"n_components": np.int64(2), "diversity": np.float32(0.5)},
    ],
    ids=str,
)
def test_parameters_of_the_autoencoder(params):
    assert_round_trip(parts.extractor(**params).fit(parts.X.astype(np.float32)), parts.X[:9])


def test_random_generators_stand_where_they_stood():
    model = parts.extractor(random_state=np.random.RandomState(3)).fit(parts.X)
    assert copy_of(model).random_state.randint(10**6) == model.random_state.randint(10**6)
    for bits in ("PCG64", "MT19937"):
        unfitted = parts.extractor(random_state=np.random.Generator(getattr(np.random, bits)(5)))
        unfitted.random_state.normal()
        loaded = assert_round_trip(unfitted)
        assert loaded.random_state.normal() == unfitted.random_state.normal()


def test_constant_data():
    assert_round_trip(parts.extractor().fit(np.ones((5, 8))), parts.X[:9])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_scales(scale):
    assert_round_trip(parts.extractor().fit(parts.X * scale), parts.X[:3] * scale)


STREAMED = {
    "dense": parts.rows(20, 12),
    "float32": parts.rows(20, 12).astype(np.float32),
    "sparse": sparse.csr_array(np.where(np.abs(parts.rows(20, 12)) > 0.7, parts.rows(20, 12), 0.0)),
}


@pytest.mark.parametrize("form", STREAMED)
@pytest.mark.parametrize("seen", [1, 2, 3])
@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
def test_mid_stream(form, seen, read):
    """Five rows of twelve features at a time: rows are kept, become moments, are kept again."""
    batches = [STREAMED[form][start : start + 5] for start in range(0, 20, 5)]
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    model = parts.extractor()
    for batch in batches[:seen]:
        model.partial_fit(batch, sample_weight=weights)
    if read:
        model.transform(batches[0])
    loaded = copy_of(model, resumable=True)
    assert parts.bytes_of(loaded, resumable=True) == parts.bytes_of(model, resumable=True)
    for batch in batches[seen:]:
        model.partial_fit(batch, sample_weight=weights)
        loaded.partial_fit(batch, sample_weight=weights)
    assert_same(model, loaded)
    assert_same(model.transform(batches[0]), loaded.transform(batches[0]))


def test_a_stream_of_one_row():
    model = parts.extractor(random_state=7).partial_fit(parts.X[:1])
    loaded = copy_of(model, resumable=True)
    assert_same(model.partial_fit(parts.X), loaded.partial_fit(parts.X))


def test_fit_then_partial_fit_goes_on_after_loading():
    for features in (parts.X, parts.X[:5]):
        model = parts.extractor(n_modules=1).fit(features)
        loaded = copy_of(model, resumable=True)
        assert_same(model.partial_fit(parts.rows(9, seed=4)), loaded.partial_fit(parts.rows(9, seed=4)))


def test_without_being_asked_a_file_holds_no_sums():
    wide = parts.rows(100, 60)
    for model in (parts.extractor().fit(wide), parts.extractor().partial_fit(wide)):
        with pytest.raises(ValueError, match="resumable=True"):
            assert_round_trip(model, wide).partial_fit(wide)
        assert len(parts.bytes_of(model)) < 8 * 60**2 < len(parts.bytes_of(model, resumable=True))


def test_moments_and_streams_are_files_too():
    moments = moments_of_rows(parts.X, np.ones(len(parts.X)))
    assert_same(vars(moments), vars(copy_of(moments)))
    stream = DataSummary(moments).join(DataSummary(pending=(KeptRows(parts.X[:3], np.ones(3)),)))
    loaded = copy_of(stream)
    assert_same(vars(stream.moments), vars(loaded.moments))
    assert_same(vars(stream.pending[0]), vars(loaded.pending[0]))
    assert_same(vars(copy_of(DataSummary())), vars(DataSummary()))


def test_diversities_of_a_loaded_model():
    for model in (parts.extractor().fit(parts.X), parts.fitted(parts.unfitted()["linear-regressor"])):
        loaded = copy_of(model)
        assert_same(model.with_diversity(0.9), loaded.with_diversity(0.9))
        assert_same(list(model.path([0.1, 0.7])), list(loaded.path([0.1, 0.7])))
    smaller = parts.extractor().fit(parts.X)
    assert_same(smaller.with_params(n_modules=1), copy_of(smaller).with_params(n_modules=1))


def test_a_changed_parameter_after_the_fit():
    model = parts.extractor().fit(parts.X).set_params(n_modules=7, diversity=0.1)
    assert_round_trip(model, parts.X[:9])


def test_named_members():
    members = [("near", NearestNeighborClassifier()), ("tree", DecisionTreeClassifier(max_depth=2))]
    model = parts.classifier(members).fit(parts.X, parts.LABELS)
    loaded = assert_round_trip(model, parts.X[:9])
    assert loaded.get_params()["tree__max_depth"] == 2


def test_frozen_extractor_is_one_object_in_the_file():
    frozen = FrozenEstimator(parts.extractor().fit(parts.X))
    model = modae.ModularClassifier(frozen, random_state=0).fit(parts.X, parts.LABELS)
    loaded = assert_round_trip(model, parts.X[:9])
    shared = model.extractor_.estimator is model.extractor.estimator
    assert (loaded.extractor_.estimator is loaded.extractor.estimator) == shared


def test_pipeline_around_and_inside():
    inside = parts.classifier(make_pipeline(StandardScaler(), LogisticRegression()))
    around = make_pipeline(StandardScaler(), inside).fit(parts.X, parts.LABELS)
    loaded = copy_of(around)
    assert_same(around, loaded)
    assert_same(around.predict_proba(parts.X[:9]), loaded.predict_proba(parts.X[:9]))
    assert_round_trip(around)


def test_grid_search_around():
    grid = {"extractor__diversity": [0.2, 0.8], "voting": ["hard", "soft"]}
    search = GridSearchCV(parts.classifier(), grid, cv=2).fit(parts.X, parts.LABELS)
    loaded = assert_round_trip(search)
    assert_same(search.predict(parts.X[:9]), loaded.predict(parts.X[:9]))


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_search_with_a_splitter_and_members(scoring):
    search = ModularClassifierCV(
        parts.extractor(),
        LogisticRegression(),
        diversities=np.array([0.2, 0.7]),
        n_components=[1, 2],
        cv=StratifiedKFold(3, shuffle=True, random_state=1),
        scoring=scoring,
        rule="one_standard_error",
        random_state=0,
    )
    assert_round_trip(search)
    assert_round_trip(search.fit(parts.X, np.array(list("abc"))[parts.LABELS]), parts.X[:9])


def test_metadata_requests():
    with config_context(enable_metadata_routing=True):
        extractor = parts.extractor().set_fit_request(sample_weight=True)
        member = NearestNeighborClassifier().set_fit_request(sample_weight="w")
        model = modae.ModularClassifier(extractor, member, random_state=0)
        loaded = assert_round_trip(model)
        asked = [str(each.get_metadata_routing()) for each in (model, loaded)]
        assert asked[0] == asked[1]
        weights = np.ones(len(parts.X))
        for each in (model, loaded):
            each.fit(parts.X, parts.LABELS, sample_weight=weights, w=weights)
        assert_same(model, loaded)


def test_metadata_requests_of_a_member_of_scikit_learn():
    with config_context(enable_metadata_routing=True):
        member = LogisticRegression().set_fit_request(sample_weight=True)
        model = modae.ModularClassifier(parts.extractor(), member).fit(parts.X, parts.LABELS)
        loaded = copy_of(model)
        for one, other in zip(model.estimators_, loaded.estimators_, strict=True):
            asked = [each.get_metadata_routing().fit.requests for each in (one, other)]
            assert asked[0] == asked[1] == {"sample_weight": True}
        assert_same(model.predict(parts.X), loaded.predict(parts.X))


def test_a_search_over_estimators_keeps_its_masks():
    grid = [{"estimator": [LogisticRegression(), None]}, {"extractor__diversity": [0.2]}]
    search = GridSearchCV(parts.classifier(), grid, cv=2).fit(parts.X, parts.LABELS)
    loaded = copy_of(search)
    one, other = (each.cv_results_["param_estimator"] for each in (search, loaded))
    np.testing.assert_array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
    assert_same(search.predict(parts.X[:9]), loaded.predict(parts.X[:9]))


def test_output_in_frames():
    model = parts.extractor().set_output(transform="pandas").fit(parts.inputs()["pandas"])
    loaded = copy_of(model)
    one, other = model.transform(parts.inputs()["pandas"]), loaded.transform(parts.inputs()["pandas"])
    assert type(one) is type(other)
    assert one.equals(other)
    assert parts.bytes_of(loaded) == parts.bytes_of(model)


@pytest.mark.parametrize("kind", KINDS)
def test_saving_changes_nothing(kind):
    model = parts.fitted(parts.unfitted()[kind])
    first = parts.bytes_of(model)  # which may compute what is computed on first read
    before = pickle.dumps(model)
    assert parts.bytes_of(model) == first
    assert pickle.dumps(model) == before


class Own(LinearModularAutoencoder):
    """A user's own class."""


def test_own_classes_only_if_trusted():
    model = Own(2, 2, random_state=0).fit(parts.X)
    with pytest.raises(modae.ModelFormatError, match=r"trusted=\['.*Own'\]"):
        copy_of(model)
    assert_same(model, copy_of(model, trusted=[Own]))


def test_no_rows_of_a_finished_fit(tmp_path):
    wide = parts.rows(10, 30)
    frame = sparse.csr_array(wide)
    for model in (parts.extractor(), modae.BaggingAutoencoder(3, 2, random_state=0)):
        for features in (wide, frame, wide.astype(np.float32)):
            _check_no_rows(model.fit(features), wide, tmp_path / "model")
    _check_no_rows(
        parts.classifier(LogisticRegression()).fit(wide, parts.LABELS[:10]), wide, tmp_path / "model"
    )


def _check_no_rows(model, wide, path):
    modae.save(model, path)
    content = path.read_bytes()
    for dtype in (np.float64, np.float32):
        assert not any(row.astype(dtype)[:4].tobytes() in content for row in wide)
    assert modae.describe(path)["holds_rows"] is False
    assert modae.describe(path)["notes"] == []


def _holds_rows(model, path, **options):
    modae.save(model, path, **options)
    description = modae.describe(path)
    assert len(description["notes"]) == description["holds_rows"]
    return description["holds_rows"]


def test_files_say_whether_they_hold_rows(tmp_path):
    path = tmp_path / "model"
    wide = parts.rows(10, 30)
    assert not _holds_rows(parts.extractor().partial_fit(wide), path)
    assert _holds_rows(parts.extractor().partial_fit(wide), path, resumable=True)
    assert wide[0].tobytes() in path.read_bytes()
    assert not _holds_rows(parts.extractor().partial_fit(parts.X), path)
    assert not _holds_rows(parts.extractor().fit(parts.X), path)
    assert _holds_rows(NearestNeighborClassifier().fit(parts.X, parts.LABELS), path)
    for name in ("nearest", "knn", "knn-tree", "svm", "svm-linear"):
        assert _holds_rows(parts.classifier(parts.CLASSIFIERS[name]).fit(parts.X, parts.LABELS), path), (
            name
        )
    for name in ("logistic", "forest", "boosting", "hist-boosting"):
        assert not _holds_rows(
            parts.classifier(parts.CLASSIFIERS[name]).fit(parts.X, parts.LABELS), path
        ), name
    for name in ("knn", "svm"):
        assert _holds_rows(parts.regressor(parts.REGRESSORS[name]).fit(parts.X, parts.TARGET), path), (
            name
        )
    around = make_pipeline(StandardScaler(), parts.classifier()).fit(parts.X, parts.LABELS)
    assert _holds_rows(around, path)


def test_describe(tmp_path):
    path = tmp_path / "model"
    modae.save(parts.extractor().fit(parts.X), path)
    description = modae.describe(path)
    assert description["class"] == "LinearModularAutoencoder"
    assert description["modae"] == modae.__version__
    assert description["bytes"] == path.stat().st_size
    assert description["libraries"]["numpy"] == np.__version__


def test_describe_has_a_summary(tmp_path):
    path = tmp_path / "model"
    model = parts.classifier(LogisticRegression())
    around = make_pipeline(StandardScaler(), model).fit(parts.inputs()["pandas"], parts.LABELS)
    around.table_ = {"target": "kind", "rows": 48, "score": np.float64(0.5)}
    modae.save(around, path)
    summary = modae.describe(path)["summary"]
    extractor = around[-1].extractor_
    assert summary.pop("model") == {
        "modules": 2,
        "components": 2,
        "diversity": 0.8,
        "member": "LogisticRegression",
        "certificate": {
            name: getattr(extractor, f"{name}_")
            for name in (
                "loss", "lower_bound", "optimality_gap", "total_variance", "attainment", "certified",
            )
        },
    }  # fmt: skip
    assert summary == {
        "steps": [["standardscaler", "StandardScaler"], ["modularclassifier", "ModularClassifier"]],
        "fitted": True,
        "n_features": 8,
        "feature_names": [f"column {i}" for i in range(8)],
        "predicts": True,
        "classes": ["0", "1", "2"],
        "notes": {"target": "kind", "rows": 48, "score": 0.5},
    }
    for unfitted in (make_pipeline(StandardScaler(), LogisticRegression()), parts.extractor()):
        modae.save(unfitted, path)
        assert modae.describe(path)["summary"]["fitted"] is False
    assert modae.describe(path)["summary"]["model"] == {}


def test_describe_reads_little_and_imports_less(tmp_path):
    modae.save(parts.classifier(LogisticRegression()).fit(parts.X, parts.LABELS), tmp_path / "model")
    heavy = ["sklearn", "scipy", "skops", "safetensors", "torch", "pandas", "numpy"]
    script = (
        "import sys, modae\n"
        f"assert modae.describe({str(tmp_path / 'model')!r})['class'] == 'ModularClassifier'\n"
        f"assert not set(sys.modules) & set({heavy}), set(sys.modules) & set({heavy})\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
