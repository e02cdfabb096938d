"""Members of other libraries: they come back as they were, and only what is trusted is made."""

import re
import sys
from importlib import import_module
from io import BytesIO

import numpy as np
import pytest
import sklearn
from benchmarks.damaged_files import entries_of, zipped
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

import modae
from files import parts
from files.parts import assert_same, bytes_of, copy_of
from modae.cli.fitting import MEMBERS, make_member
from modae.files.foreign import trusted_names
from modae.utils.extras import MissingExtraError

X, LABELS = parts.X, parts.LABELS
NAMES = np.array(["blue", "green", "red"])[LABELS]
BINNED = np.column_stack([X[:, :3], np.round(np.abs(X[:, 3]))])

ESTIMATORS = {
    "knn kd": KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=7),
    "knn ball": KNeighborsClassifier(3, algorithm="ball_tree", metric="manhattan"),
    "knn minkowski": KNeighborsClassifier(3, algorithm="kd_tree", p=3),
    "knn brute": KNeighborsClassifier(3, algorithm="brute"),
    "svm": SVC(kernel="poly"),
    "liblinear": LinearSVC(),
    "sgd": SGDClassifier(random_state=0),
    "extra trees": ExtraTreesClassifier(3, random_state=0),
    "categories": HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=3, categorical_features=[3]
    ),
    "mlp": MLPClassifier((4,), tol=1e-2, max_iter=500, random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), PolynomialFeatures(2), FunctionTransformer(np.tanh), SVC()
    ),
    "sigmoid": CalibratedClassifierCV(GaussianNB(), cv=2),
    "columns": make_pipeline(
        make_column_transformer(
            (StandardScaler(), [0, 1]), (OneHotEncoder(handle_unknown="ignore"), [3])
        ),
        LogisticRegression(max_iter=500),
    ),
    "voting": VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression(max_iter=500))]),
    "search": GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": [1, 3]},
        cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0),
        scoring=["accuracy", "f1_macro", "neg_log_loss"],
        refit="accuracy",
    ),
}


def assert_equal_answers(model, again, rows):
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(rows), getattr(model, method)(rows))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_comes_back(name):
    model = ESTIMATORS[name].fit(BINNED, NAMES)
    again = copy_of(model)
    assert_equal_answers(model, again, BINNED[::2] + 0.1)
    if name != "categories":  # whose functools.partial has an empty dict afterwards, and None before
        assert bytes_of(again) == bytes_of(model)


@pytest.mark.parametrize(
    ("name", "classify"),
    [
        (name, classify)
        for name, pair in MEMBERS.items()
        for classify in (True, False)
        if pair[not classify] is not None
    ],
)
def test_members_of_the_command_line_need_no_trust(name, classify):
    make = parts.classifier if classify else parts.regressor
    model = make(make_member(name, classify)).fit(X, LABELS if classify else parts.TARGET)
    np.testing.assert_array_equal(copy_of(model).predict(X), model.predict(X))


@pytest.mark.parametrize("rows", [csr_array, csr_matrix])
def test_sparse_support_vectors_come_back(rows):
    model = SVC().fit(rows(X), LABELS)
    again = copy_of(model)
    assert type(again.support_vectors_) is type(model.support_vectors_)
    assert_equal_answers(model, again, rows(np.maximum(X, 0.0)))


def test_a_parameter_may_have_the_name_of_what_skops_calls_a_file():
    around = make_pipeline(StandardScaler().fit(X), FunctionTransformer(kw_args={"file": "1.npy"}))
    again = copy_of(around)
    np.testing.assert_array_equal(again[0].mean_, around[0].mean_)
    assert again[1].kw_args == {"file": "1.npy"}


def test_search_trees_are_built_again_and_not_stored():
    rows = np.random.default_rng(0).normal(size=(2000, 3))
    model = NearestNeighbors(algorithm="kd_tree", leaf_size=1).fit(rows)
    assert len(bytes_of(model)) < 1.3 * rows.nbytes
    for one, other in zip(
        model.kneighbors(rows[:50]), copy_of(model).kneighbors(rows[:50]), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_ours_inside_and_around():
    ours = parts.extractor()
    search = GridSearchCV(
        make_pipeline(ours, GaussianNB()), {"linearmodularautoencoder__diversity": [0.2, 0.8]}, cv=2
    )
    for model in (
        search,
        make_pipeline(StandardScaler(), parts.classifier(make_pipeline(StandardScaler(), SVC()))),
        make_pipeline(make_column_transformer((ours, [0, 1, 2, 3]), remainder="drop"), GaussianNB()),
        make_pipeline(FrozenEstimator(parts.extractor().fit(X)), GaussianNB()),
    ):
        model.fit(X, LABELS)
        again = copy_of(model)
        assert_equal_answers(model, again, X)
        assert bytes_of(again) == bytes_of(model)


def test_shared_objects_stay_shared():
    scaler = StandardScaler().fit(X)
    around = copy_of(make_pipeline(FrozenEstimator(scaler), FrozenEstimator(scaler)))
    assert around[0].estimator is around[1].estimator


def test_requests_for_metadata_and_output_survive():
    with sklearn.config_context(enable_metadata_routing=True):
        ours = parts.extractor().set_fit_request(sample_weight=True).set_output(transform="pandas")
        scaler = StandardScaler().set_fit_request(sample_weight=False).set_output(transform="pandas")
        member = LogisticRegression().set_fit_request(sample_weight="w")
        around = make_pipeline(scaler, ours, member.set_score_request(sample_weight=False))
        again = copy_of(around)
        for one, other in zip(around, again, strict=True):
            assert repr(one.get_metadata_routing()) == repr(other.get_metadata_routing())
        again.fit(X, LABELS, sample_weight=np.ones(len(X)), w=np.arange(len(X)) + 1.0)
    assert list(again[:-1].transform(X).columns) == list(again[1].get_feature_names_out())


@pytest.mark.parametrize("name", ["extra trees", "pipeline", "search", "knn kd"])
def test_saving_changes_nothing(name):
    model = ESTIMATORS[name].fit(BINNED, NAMES)
    before = bytes_of(model)
    answers = model.predict(BINNED)
    assert bytes_of(model) == before
    np.testing.assert_array_equal(model.predict(BINNED), answers)


class Stump(ClassifierMixin, BaseEstimator):
    """A user's own class."""

    def fit(self, X, y):
        self.classes_, self.inner_ = np.unique(y), LogisticRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_a_users_class_needs_the_users_word():
    model = parts.classifier(Stump()).fit(X, LABELS)
    with pytest.raises(modae.ModelFormatError, match=rf"trusted=\['{Stump.__module__}.Stump'\]"):
        copy_of(model)
    for trusted in ([Stump], [f"{Stump.__module__}.Stump"]):
        assert_same(model.predict(X), copy_of(model, trusted=trusted).predict(X))


@pytest.mark.parametrize("bad", ["package.Class", None, 3, [3], ["Class"], ["a b.c"], [None], True])
def test_trusted_is_a_list_of_names_or_classes(bad, tmp_path):
    with pytest.raises(TypeError, match="trusted must be"):
        modae.load(tmp_path / "nothing", trusted=bad)


@pytest.mark.parametrize("name", sorted(trusted_names()))
def test_trusted_names_exist(name):
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(import_module(module), attribute))


def renamed(model, path, old, new):
    """The file of a model whose members name another class."""
    modae.save(model, path)
    entries = entries_of(path.read_bytes())
    for name in [name for name in entries if name.startswith("members/")]:
        inner = entries_of(entries[name])
        inner["schema.json"] = inner["schema.json"].replace(old, new)
        entries[name] = zipped(inner)
    path.write_bytes(zipped(entries))
    return path


def test_code_in_a_member_is_not_run(tmp_path):
    model = make_pipeline(FunctionTransformer(np.tanh)).fit(X)
    # Where NumPy says that its functions are depends on its version.
    (schema,) = re.findall(rb'"__class__":"tanh","__module__":"[\w.]+"', parts.bytes_of(model))
    for module, function in (("os", "system"), ("builtins", "eval")):
        other = f'"__class__":"{function}","__module__":"{module}"'.encode()
        path = renamed(model, tmp_path / "file", schema, other)
        with pytest.raises(modae.ModelFormatError, match=f"{module}.{function}"):
            modae.load(path)


def test_a_class_that_this_scikit_learn_does_not_have_is_no_damage(tmp_path):
    path = renamed(make_pipeline(StandardScaler()), tmp_path / "file", b"StandardScaler", b"NewerScaler")
    with pytest.raises(modae.ModelFormatError, match="installed version of its library") as refusal:
        modae.load(path, trusted=["sklearn.preprocessing._data.NewerScaler"])
    assert "damaged" not in str(refusal.value)


def test_a_package_that_is_missing_is_no_damage(tmp_path):
    old = b"sklearn.preprocessing._data"
    path = renamed(make_pipeline(StandardScaler()), tmp_path / "file", old, b"nowhere.scalers")
    with pytest.raises(MissingExtraError, match="pip install nowhere"):
        modae.load(path, trusted=["nowhere.scalers.StandardScaler"])


def test_memory_that_is_missing_is_no_damage(tmp_path, monkeypatch):
    modae.save(make_pipeline(StandardScaler()), tmp_path / "file")

    def full(*args, **options):
        raise MemoryError("no room")

    monkeypatch.setattr("skops.io.loads", full)
    with pytest.raises(MemoryError, match="no room"):
        modae.load(tmp_path / "file")


def test_what_could_not_be_loaded_is_refused_at_once(tmp_path):
    class Inner(BaseEstimator):
        pass

    for bad, text in [
        (FunctionTransformer(lambda rows: rows), "lambda"),
        (Inner(), "Inner"),
        (LogisticRegression(class_weight={False: 1, True: 2}), "the key False"),
    ]:
        with pytest.raises(TypeError, match=f"cannot be saved.*{text}"):
            modae.save(make_pipeline(bad), tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


FORESTS = {
    "forest": lambda: RandomForestClassifier(3, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=3, categorical_features=[3]
    ),
}


def with_nodes(model, path, change):
    """The file of a model in which somebody has changed the nodes of the last tree."""
    modae.save(model, path)
    entries = entries_of(path.read_bytes())
    inner = entries_of(entries["members/0.skops"])
    [name] = [
        name
        for name, content in inner.items()
        if (name.endswith("npy") and b"is_leaf" in content[:800]) or b"left_child" in content[:800]
    ][-1:]
    nodes = np.load(BytesIO(inner[name]))
    change(nodes)
    inner[name] = inner[name][: -nodes.nbytes] + nodes.tobytes()
    path.write_bytes(zipped(entries | {"members/0.skops": zipped(inner)}))
    return path


@pytest.mark.parametrize("name", FORESTS)
def test_branches_of_trees_stay_inside(name, tmp_path):
    model = FORESTS[name]().fit(BINNED, NAMES)
    children = ("left", "right") if name == "histogram" else ("left_child", "right_child")
    column = "feature_idx" if name == "histogram" else "feature"
    wrong = [(field, value) for field in children for value in (-5, 0, 10**6)]
    for field, value in [*wrong, (column, -5), (column, 4)]:

        def change(nodes, field=field, value=value):
            nodes[field][0] = np.array(value).astype(nodes[field].dtype)

        with pytest.raises(modae.ModelFormatError, match="tree"):
            modae.load(with_nodes(model, tmp_path / "file", change))


def test_trees_read_only_columns_that_are_checked(tmp_path):
    for name in FORESTS:
        model = FORESTS[name]().fit(BINNED, NAMES)
        model.n_features_in_ = 1
        modae.save(model, tmp_path / "file")
        with pytest.raises(modae.ModelFormatError, match="column"):
            modae.load(tmp_path / "file")
        del model.n_features_in_
        modae.save(model, tmp_path / "file")
        with pytest.raises(modae.ModelFormatError, match="column"):
            modae.load(tmp_path / "file")


def test_a_category_of_a_tree_stays_inside(tmp_path):
    def change(nodes):
        nodes["is_categorical"][0], nodes["bitset_idx"][0] = 1, 10**6

    model = FORESTS["histogram"]().fit(BINNED, NAMES)
    with pytest.raises(modae.ModelFormatError, match="category"):
        modae.load(with_nodes(model, tmp_path / "file", change))


def test_skops_that_is_missing_has_a_remedy(tmp_path, monkeypatch):
    modae.save(parts.extractor().fit(X), tmp_path / "ours")
    modae.save(parts.classifier(LogisticRegression()).fit(X, LABELS), tmp_path / "file")
    for module in ("skops", "skops.io"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "modae.files.foreign", raising=False)
    assert modae.load(tmp_path / "ours").n_modules == 2
    with pytest.raises(ImportError, match=r'pip install "modae\[io\]"'):
        modae.load(tmp_path / "file")
