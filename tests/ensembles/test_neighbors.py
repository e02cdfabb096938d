"""The default member: the same answers as scikit-learn's 1-nearest-neighbour, by either backend."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from modae import LinearModularAutoencoder, NearestNeighborClassifier, NearestNeighborRegressor
from modae.ensembles.neighbors import TREE_LIMIT, choose_backend


def data(n_features, seed=0, n_classes=4):
    rng = np.random.default_rng(seed)
    X, Q = rng.standard_normal((150, n_features)), rng.standard_normal((60, n_features))
    return X, rng.integers(0, n_classes, 150), Q


def nearest_by_loops(X, Q):
    return np.array([min(range(len(X)), key=lambda k: ((X[k] - q) ** 2).sum()) for q in Q])


@pytest.mark.parametrize("backend", ["auto", "tree", "brute"])
@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 10, 15, 16, 20, 21, 25, 40])
def test_same_as_scikit_learn_and_as_a_loop(n_features, backend):
    X, y, Q = data(n_features, seed=n_features)
    ours = NearestNeighborClassifier(backend=backend).fit(X, y)
    theirs = KNeighborsClassifier(1).fit(X, y)
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    np.testing.assert_array_equal(ours.predict(Q), y[nearest_by_loops(X, Q)])
    np.testing.assert_array_equal(ours.predict_proba(Q), theirs.predict_proba(Q))


@pytest.mark.parametrize("backend", ["tree", "brute"])
@pytest.mark.parametrize("width", [2, 10, 20])
def test_same_as_scikit_learn_on_features_of_digits(width, backend):
    X, y = load_digits(return_X_y=True)
    codes = LinearModularAutoencoder(3, width, 0.6, random_state=0).fit(X[:900]).transform_modules(X)
    for each in codes:
        ours = NearestNeighborClassifier(backend=backend).fit(each[:900], y[:900])
        theirs = KNeighborsClassifier(1).fit(each[:900], y[:900])
        np.testing.assert_array_equal(ours.predict(each[900:]), theirs.predict(each[900:]))


@pytest.mark.parametrize("backend", ["tree", "brute"])
@pytest.mark.parametrize("shape", [(150,), (150, 3)])
def test_the_regressor_is_the_same_as_scikit_learn(shape, backend):
    X, _, Q = data(6)
    y = np.random.default_rng(1).standard_normal(shape)
    expected = KNeighborsRegressor(1).fit(X, y).predict(Q)
    ours = NearestNeighborRegressor(backend=backend).fit(X, y).predict(Q)
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("backend", ["tree", "brute"])
def test_duplicates_with_equal_labels_change_nothing(backend):
    X, y, Q = data(4)
    doubled = NearestNeighborClassifier(backend=backend).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    expected = KNeighborsClassifier(1).fit(X, y).predict(Q)
    np.testing.assert_array_equal(doubled.predict(Q), expected)
    np.testing.assert_array_equal(doubled.predict(X), y)


@pytest.mark.parametrize("backend", ["tree", "brute"])
def test_a_distance_tie_has_the_same_answer_in_every_call_and_every_split_of_the_queries(backend):
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    model = NearestNeighborClassifier(backend=backend).fit(X, [0, 1, 2, 3])
    together = model.predict([[1.0, 1.0]] * 50)
    assert len(set(together)) == 1
    assert model.predict([[1.0, 1.0]])[0] == together[0]
    assert pickle.loads(pickle.dumps(model)).predict([[1.0, 1.0]])[0] == together[0]


@pytest.mark.parametrize("backend", ["tree", "brute"])
@pytest.mark.parametrize("kind", [NearestNeighborClassifier, NearestNeighborRegressor])
def test_a_weight_of_zero_is_a_row_that_is_not_there(kind, backend):
    X, y, Q = data(3)
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    kept = weights > 0
    weighted = kind(backend=backend).fit(X, y, sample_weight=weights)
    removed = kind(backend=backend).fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.predict(Q), removed.predict(Q))
    assert (weighted.predict(X[~kept]) != y[~kept]).any()


def test_a_class_whose_rows_all_weigh_nothing_is_still_a_class():
    X, y, Q = data(3)
    model = NearestNeighborClassifier().fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.predict_proba(Q).shape == (60, 4)
    assert not (model.predict(Q) == 2).any()


def test_weights_that_are_all_zero_are_refused():
    X, y, _ = data(3)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        NearestNeighborClassifier().fit(X, y, sample_weight=np.zeros(len(y)))


def test_a_file_holds_no_tree_and_answers_the_same():
    X, y, Q = data(3)
    model = NearestNeighborClassifier().fit(X, y)
    unused = pickle.dumps(model)
    before = model.predict(Q)
    used = pickle.dumps(model)
    assert len(used) == len(unused)
    np.testing.assert_array_equal(pickle.loads(used).predict(Q), before)


@pytest.mark.parametrize(("n_rows", "limit"), [(100, 8), (19_999, 8), (20_000, 10), (40_000, 12)])
def test_the_table_of_backends_at_its_limits(n_rows, limit):
    assert choose_backend("auto", 1, n_rows) == choose_backend("auto", limit, n_rows) == "tree"
    assert choose_backend("auto", limit + 1, n_rows) == choose_backend("auto", 784, n_rows) == "brute"
    assert f"{limit} features" in choose_backend.__doc__


def test_few_rows_follow_the_table():
    for width, backend in ((TREE_LIMIT, "tree"), (TREE_LIMIT + 1, "brute")):
        X, y, _ = data(width)
        assert NearestNeighborClassifier().fit(X, y).nearest_.backend == backend


@pytest.mark.parametrize("backend", ["tree", "brute"])
def test_threads_and_single_precision_change_nothing(backend):
    X, y, Q = data(4)
    one = NearestNeighborClassifier(backend=backend).fit(X, y).predict(Q)
    many = NearestNeighborClassifier(backend=backend, n_jobs=2).fit(X, y).predict(Q)
    np.testing.assert_array_equal(one, many)
    single = NearestNeighborClassifier(backend=backend).fit(X.astype(np.float32), y)
    theirs = KNeighborsClassifier(1).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(
        single.predict(Q.astype(np.float32)), theirs.predict(Q.astype(np.float32))
    )


@pytest.mark.parametrize("backend", ["tree", "brute"])
@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
def test_exact_far_from_the_origin(backend, offset):
    """Products of large numbers lose the digits of small distances."""
    X, y, Q = data(3)
    model = NearestNeighborClassifier(backend=backend).fit(X + offset, y)
    rows, queries = X + offset, Q + offset
    np.testing.assert_array_equal(model.predict(queries), y[nearest_by_loops(rows, queries)])


@pytest.mark.parametrize("word", ["trees", None, 3])
def test_another_backend_is_refused(word):
    with pytest.raises(ValueError, match="backend must be one of 'auto', 'tree', 'brute', got"):
        NearestNeighborClassifier(backend=word).fit([[0.0], [1.0]], [0, 1])


def test_distances_that_overflow_are_refused():
    model = NearestNeighborClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="overflow"):
        model.predict([[1e200]])


@pytest.mark.parametrize("backend", ["tree", "brute"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_several_neighbours_answer_as_in_scikit_learn(backend, count):
    rng = np.random.default_rng(3)
    X, Q = rng.standard_normal((200, 12)), rng.standard_normal((50, 12))
    y = rng.integers(4, size=200)
    ours = NearestNeighborClassifier(count, backend=backend).fit(X, y)
    theirs = KNeighborsClassifier(count).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q))
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    targets = rng.standard_normal((200, 2))
    ours = NearestNeighborRegressor(count, backend=backend).fit(X, targets)
    theirs = KNeighborsRegressor(count).fit(X, targets)
    np.testing.assert_allclose(ours.predict(Q), theirs.predict(Q))


@pytest.mark.parametrize("count", [1, 3, 5])
def test_weights_are_repetitions(count):
    rng = np.random.default_rng(4)
    X, Q, y = rng.standard_normal((60, 3)), rng.standard_normal((40, 3)), rng.integers(3, size=60)
    weights = rng.integers(4, size=60)
    weighted = NearestNeighborClassifier(count).fit(X, y, sample_weight=weights)
    repeated = NearestNeighborClassifier(count).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q))


@pytest.mark.parametrize("n_features", [2, 10, 30])
@pytest.mark.parametrize("backend", ["tree", "brute"])
def test_rows_of_two_far_clusters_find_themselves(n_features, backend):
    """Products alone would lose distances of 1 beside lengths of 1e8."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, n_features))
    X[200:] += 1e8
    numbers = np.arange(400.0)
    model = NearestNeighborRegressor(backend=backend).fit(X, numbers)
    np.testing.assert_array_equal(model.predict(X), numbers)


def test_more_neighbours_than_rows_are_all_rows():
    model = NearestNeighborRegressor(5).fit([[0.0], [1.0]], [5.0, 7.0])
    assert model.predict([[0.9]]) == [6.0]
