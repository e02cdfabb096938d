"""Objects that are not ours come back as they were."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

from modae import LinearModularAutoencoder
from modae.files.errors import ModelFormatError, UntrustedError
from modae.files.foreign import dump_foreign, load_foreign, try_member
from modae.files.foreign_blob import names_in, write_blob

X, y = load_iris(return_X_y=True)
X, y = X[::3].copy(), y[::3].copy()
NAMES = np.array(["blue", "green", "red"])[y]
QUERIES = np.random.default_rng(0).normal(3.0, 2.0, size=(40, 4))
BINNED = np.column_stack([X[:, :3], np.round(X[:, 3] * 2)])

CLASSIFIERS = {
    "knn auto": KNeighborsClassifier(3),
    "knn kd": KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=7),
    "knn ball": KNeighborsClassifier(3, algorithm="ball_tree", metric="manhattan"),
    "knn brute": KNeighborsClassifier(3, algorithm="brute"),
    "logistic": LogisticRegression(max_iter=500),
    "linear svm": SVC(kernel="linear"),
    "rbf svm": SVC(),
    "poly svm": SVC(kernel="poly"),
    "liblinear": LinearSVC(),
    "sgd": SGDClassifier(random_state=0),
    "forest": RandomForestClassifier(5, random_state=0, oob_score=False),
    "extra trees": ExtraTreesClassifier(5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3),
    "categories": HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=3, categorical_features=[3]
    ),
    "mlp": MLPClassifier((4,), tol=1e-2, max_iter=500, random_state=0),
    "gaussian": GaussianNB(),
    "counts": MultinomialNB(alpha=0.5),
    "lda": LinearDiscriminantAnalysis(),
    "qda": QuadraticDiscriminantAnalysis(),
    "gp": GaussianProcessClassifier(random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), PolynomialFeatures(2), FunctionTransformer(np.tanh), SVC()
    ),
    "sigmoid": CalibratedClassifierCV(GaussianNB(), cv=2),
    "isotonic": CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2),
    "columns": make_pipeline(
        make_column_transformer(
            (StandardScaler(), [0, 1]), (OneHotEncoder(handle_unknown="ignore"), [3])
        ),
        LogisticRegression(max_iter=500),
    ),
    "voting": VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression(max_iter=500))]),
    "search": GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=2),
}
REGRESSORS = {
    "knn": KNeighborsRegressor(3),
    "ridge": Ridge(),
    "svr": SVR(),
    "forest": RandomForestRegressor(5, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=3, random_state=0),
    "histogram": HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3),
}


class Stump(ClassifierMixin, BaseEstimator):
    """A user's own class."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, self.tree_of_rows_ = np.unique(y), cKDTree(X)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[self.tree_of_rows_.query(X)[1] % len(self.classes_)]


STUMP = f"{Stump.__module__}.Stump"


def is_ours(node: Any) -> bool:
    return isinstance(node, LinearModularAutoencoder)


def round_trip(obj: Any, trusted: frozenset[str] = frozenset()) -> Any:
    kept: list[Any] = []

    def keep(node: Any) -> int:
        kept.append(node)
        return len(kept) - 1

    return load_foreign(
        dump_foreign(obj, is_ours=is_ours, keep=keep), restore=kept.__getitem__, trusted=trusted
    )


def assert_equal(model: Any, again: Any, queries: Any) -> None:
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(
                getattr(again, method)(queries), getattr(model, method)(queries)
            )


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_comes_back(name: str) -> None:
    model = CLASSIFIERS[name].fit(BINNED, NAMES)
    assert_equal(model, round_trip(model), np.abs(QUERIES))


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_comes_back(name: str) -> None:
    model = REGRESSORS[name].fit(X, X @ [1.0, -1.0, 2.0, 0.5])
    assert_equal(model, round_trip(model), QUERIES)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("rows", [csr_array, csr_matrix])
def test_sparse_support_vectors_come_back(kernel: str, rows: Any) -> None:
    model = SVC(kernel=kernel).fit(rows(X), y)
    again = round_trip(model)
    assert type(again.support_vectors_) is type(model.support_vectors_)
    assert_equal(model, again, rows(np.maximum(QUERIES, 0.0)))


def test_other_estimators_come_back() -> None:
    np.testing.assert_array_equal(
        round_trip(OneClassSVM().fit(X)).score_samples(QUERIES),
        OneClassSVM().fit(X).score_samples(QUERIES),
    )
    neighbours = NearestNeighbors(n_neighbors=2, algorithm="ball_tree").fit(X)
    for one, other in zip(
        neighbours.kneighbors(QUERIES), round_trip(neighbours).kneighbors(QUERIES), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    splits, again = (
        RepeatedKFold(n_splits=2, random_state=0),
        round_trip(RepeatedKFold(n_splits=2, random_state=0)),
    )
    for one, other in zip(splits.split(X), again.split(X), strict=True):
        np.testing.assert_array_equal(one[0], other[0])


def test_many_labels_at_once_come_back() -> None:
    both = np.column_stack([y, (X[:, 0] > 5.8).astype(int)])
    for model in (KNeighborsClassifier(2), RandomForestClassifier(3, random_state=0)):
        model.fit(X, both)
        np.testing.assert_array_equal(round_trip(model).predict(QUERIES), model.predict(QUERIES))


def test_a_column_without_values_may_be_nan() -> None:
    gaps = X.copy()
    gaps[:, 1] = np.nan
    model = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(gaps)
    np.testing.assert_array_equal(round_trip(model).transform(gaps), model.transform(gaps))


def test_unfitted_and_plain_objects_come_back() -> None:
    assert repr(round_trip(GridSearchCV(SVC(), {"C": [1, 2]}))) == repr(
        GridSearchCV(SVC(), {"C": [1, 2]})
    )
    plain = {"a": (1, 2.5, None), "b": [True, "word"], "c": {1, 2}}
    assert round_trip(plain) == plain


def test_random_numbers_go_on_where_they_were() -> None:
    random, generator = np.random.RandomState(0), np.random.default_rng(0)
    random.normal(size=3)
    generator.integers(5, size=3, dtype=np.int32)
    again = round_trip([random, generator])
    np.testing.assert_array_equal(again[0].normal(size=5), random.normal(size=5))
    np.testing.assert_array_equal(again[1].normal(size=5), generator.normal(size=5))
    assert again[1].spawn(1)[0].integers(10**9) == generator.spawn(1)[0].integers(10**9)


OURS = LinearModularAutoencoder(n_modules=2, n_components=2, random_state=0).fit(X)


@pytest.mark.parametrize(
    "around",
    [
        make_pipeline(StandardScaler(), OURS, GaussianNB()),
        make_pipeline(FrozenEstimator(OURS), GaussianNB()),
        [OURS, (OURS, {"a": OURS})],
        np.array([OURS, None], dtype=object),
    ],
    ids=["pipeline", "frozen", "containers", "array"],
)
def test_what_is_ours_is_handed_over(around: Any) -> None:
    asked: list[int] = []

    def keep(node: Any) -> int:
        assert node is OURS
        return 17

    def restore(index: int) -> Any:
        asked.append(index)
        return OURS

    blob = dump_foreign(around, is_ours=is_ours, keep=keep)
    again = load_foreign(blob, restore=restore, trusted=frozenset())
    assert set(asked) == {17}
    assert pickle.dumps(again) == pickle.dumps(around)


def test_ours_inside_a_search() -> None:
    ours = LinearModularAutoencoder(n_modules=2, n_components=2, random_state=0)
    search = GridSearchCV(
        make_pipeline(ours, GaussianNB()), {"linearmodularautoencoder__diversity": [0.2, 0.8]}, cv=2
    )
    search.fit(X, y)
    again = round_trip(search)
    assert_equal(search, again, QUERIES)
    assert repr(again.cv_results_["params"]) == repr(search.cv_results_["params"])


def test_shared_references_stay_shared() -> None:
    scaler = StandardScaler().fit(X)
    again = round_trip([scaler, {"b": scaler}, OURS, (OURS,), scaler.mean_])
    assert again[0] is again[1]["b"]
    assert again[2] is again[3][0]
    assert again[4] is again[0].mean_
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, y)
    tree = round_trip(model)
    np.testing.assert_array_equal(np.asarray(tree._tree.data), tree._fit_X)


@pytest.mark.parametrize("name", ["knn kd", "forest", "histogram", "mlp", "pipeline", "search"])
def test_saving_changes_nothing_and_gives_the_same_bytes(name: str) -> None:
    model = CLASSIFIERS[name].fit(BINNED, NAMES)
    before = pickle.dumps(model)
    blob = dump_foreign(model, is_ours=is_ours, keep=lambda node: 0)
    assert pickle.dumps(model) == before
    assert dump_foreign(model, is_ours=is_ours, keep=lambda node: 0) == blob


def test_a_function_of_numpy_has_its_public_name() -> None:
    assert names_in(write_blob(np.tanh)) == {"numpy.tanh"}


def test_a_search_tree_is_not_in_the_file() -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 3))
    model = KNeighborsClassifier(algorithm="kd_tree", leaf_size=1).fit(rows, rows[:, 0] > 0)
    blob = dump_foreign(model, is_ours=is_ours, keep=lambda node: 0)
    assert len(blob) < 1.2 * (rows.nbytes + model._y.nbytes) < len(pickle.dumps(model))


def test_a_users_class_needs_the_users_word() -> None:
    model = Stump().fit(X, y)
    with pytest.raises(UntrustedError, match=rf'trusted=\["{STUMP}"\]'):
        round_trip(model)
    again = round_trip(model, frozenset({STUMP}))
    np.testing.assert_array_equal(again.predict(QUERIES), model.predict(QUERIES))


def test_known_classes_inside_a_users_class_are_still_looked_at() -> None:
    model = Stump().fit(X, y)
    model.inner_ = LogisticRegression(max_iter=500).fit(X, y)
    model.gap_ = np.array([np.nan])  # the user's own business
    assert np.isnan(round_trip(model, frozenset({STUMP})).gap_).all()
    model.inner_.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"LogisticRegression\.coef_"):
        dump_foreign(model, is_ours=is_ours, keep=lambda node: 0)


def test_what_could_not_be_loaded_is_refused_at_once() -> None:
    class Inner(BaseEstimator):
        pass

    looped: list[Any] = []
    looped.append(looped)
    for bad, word in [
        (FunctionTransformer(lambda rows: rows), r"FunctionTransformer\.func.*lambda"),
        (Inner(), "Inner.*top of the module"),
        (make_pipeline(StandardScaler(), memory="somewhere"), "memory"),
        ({False: 1}, "not be the same"),
        (looped, "refer to themselves"),
        (csr_array(X).tocoo(), "tocsr"),
        (iter([1]), "list_iterator"),
    ]:
        with pytest.raises((TypeError, ValueError), match=word):
            dump_foreign(bad, is_ours=is_ours, keep=lambda node: 0)


def test_a_model_with_nan_is_refused_at_once() -> None:
    model = LogisticRegression(max_iter=500).fit(X, y)
    model.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"LogisticRegression\.coef_"):
        dump_foreign(model, is_ours=is_ours, keep=lambda node: 0)


def test_a_member_is_tried_with_one_row() -> None:
    model = LogisticRegression(max_iter=500).fit(X, y)
    try_member(model, 4, np.float32)
    with pytest.raises(ModelFormatError, match="predict of LogisticRegression"):
        try_member(model, 3)
