"""Members are trained where the chunks are: neither rows nor features come here."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    open_batches,
)
from sources_dask.parts import (
    FRAME,
    X,
    Y,
    chunked,
    holds_data,
    models_in,
    no_task_may_run,
    with_unknown_rows,
)

TRAIN, TEST = slice(0, 600), slice(600, 900)


def rows(cut, kind="array"):
    frame = dd.from_pandas(FRAME[cut], npartitions=3)
    return {"array": chunked(rows=X[cut]), "frame": frame, "unknown": frame.to_dask_array()}[kind]


def labels(cut):
    return dd.from_pandas(FRAME.assign(label=Y)["label"][cut], npartitions=2)


def classifier(**options):
    ensemble = ModularClassifier(random_state=0, **options)
    return ensemble.set_params(extractor__n_components=5, extractor__n_modules=4)


@pytest.fixture(scope="module")
def in_memory():
    return classifier().fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("kind", ["array", "frame", "unknown"])
def test_a_classifier_on_chunks(kind, in_memory):
    lazy = classifier().fit(rows(TRAIN, kind), labels(TRAIN))
    new = rows(TEST, kind)
    with dask.config.set(scheduler=no_task_may_run):
        predicted, shares, votes = lazy.predict(new), lazy.predict_proba(new), lazy.predict_members(new)
        doubt = lazy.disagreement(new)
    assert predicted.dtype == Y.dtype
    np.testing.assert_array_equal(predicted.compute(), in_memory.predict(X[TEST]))
    np.testing.assert_array_equal(shares.compute(), in_memory.predict_proba(X[TEST]))
    np.testing.assert_array_equal(votes.compute(), in_memory.predict_members(X[TEST]))
    np.testing.assert_array_equal(doubt.compute(), in_memory.disagreement(X[TEST]))
    for y in (Y[TEST], labels(TEST)):
        assert lazy.score(new, y) == in_memory.score(X[TEST], Y[TEST])
        np.testing.assert_array_equal(
            lazy.member_scores(new, y), in_memory.member_scores(X[TEST], Y[TEST])
        )


def test_words_as_labels():
    words = np.array(["no", "yes"])[Y % 2]
    lazy = classifier().fit(rows(TRAIN), da.from_array(words[TRAIN], chunks=100))
    assert lazy.predict(rows(TEST)).dtype == words.dtype
    assert lazy.score(rows(TEST), words[TEST]) > 0.8


def test_weights_reach_extractor_and_members():
    weights = 1.0 + np.arange(len(Y)) % 3
    member = GaussianNB()
    plain = classifier(estimator=member).fit(X[TRAIN], Y[TRAIN], sample_weight=weights[TRAIN])
    lazy = classifier(estimator=member)
    lazy.fit(rows(TRAIN), labels(TRAIN), sample_weight=da.from_array(weights[TRAIN], chunks=70))
    np.testing.assert_allclose(lazy.class_prior_, plain.class_prior_)
    np.testing.assert_allclose(
        lazy.predict_proba(rows(TEST)).compute(), plain.predict_proba(X[TEST]), atol=1e-3
    )
    heavy = da.from_array(weights[TEST], chunks=50)
    assert lazy.score(rows(TEST), Y[TEST], heavy) == plain.score(X[TEST], Y[TEST], weights[TEST])
    np.testing.assert_allclose(
        lazy.member_scores(rows(TEST), Y[TEST], heavy),
        plain.member_scores(X[TEST], Y[TEST], weights[TEST]),
    )


def test_neither_rows_nor_features_are_gathered():
    largest = []

    def watching(graph, keys, **options):
        results = dask.get(graph, keys, **options)
        largest.extend(np.size(block) for block in dask.core.flatten([results], container=list))
        return results

    wide = da.tile(chunked((100, 64), X[:300]), (1, 10))
    with dask.config.set(scheduler=watching):
        classifier().set_params(extractor__n_components=2).fit(wide, Y[:300])
    assert max(largest) <= 4, "more came here than sums and members"


def streamed(data):
    member = SGDClassifier(loss="log_loss", random_state=0)
    return classifier(estimator=member, stream=True).fit(data, Y[TRAIN])


def test_members_can_learn_chunk_by_chunk():
    lazy = streamed(rows(TRAIN))
    np.testing.assert_array_equal(streamed(rows(TRAIN, "frame")).classes_, lazy.classes_)
    batches = streamed(open_batches(X[TRAIN], batch_size=300))
    features = lazy.extractor_.transform_modules(X[TRAIN])
    for codes, member, other in zip(features, lazy.estimators_, batches.estimators_, strict=True):
        oracle = SGDClassifier(loss="log_loss", random_state=0)
        oracle.partial_fit(codes[:300], Y[:300], classes=np.unique(Y)).partial_fit(
            codes[300:], Y[300:600]
        )
        np.testing.assert_allclose(member.coef_, oracle.coef_, rtol=1e-6)
        np.testing.assert_allclose(other.coef_, oracle.coef_, rtol=1e-6)
    assert lazy.score(rows(TEST), Y[TEST]) > 0.3


def test_weights_are_cut_into_chunks_too():
    weights = 1.0 + np.arange(600) % 3
    member = GaussianNB()
    lazy = classifier(estimator=member, stream=True).fit(rows(TRAIN), Y[TRAIN], sample_weight=weights)
    plain = classifier(estimator=member).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    for one, other in zip(lazy.estimators_, plain.estimators_, strict=True):
        np.testing.assert_allclose(one.theta_, other.theta_, atol=1e-8)
        np.testing.assert_allclose(one.class_prior_, other.class_prior_)


def test_what_streaming_refuses():
    with pytest.raises(ValueError, match="needs members with partial_fit, and module 0"):
        classifier(stream=True).fit(rows(TRAIN), Y[TRAIN])
    with pytest.raises(ValueError, match="stream must be True or False"):
        classifier(stream="yes").fit(rows(TRAIN), Y[TRAIN])
    frame, more = rows(TRAIN, "unknown"), np.append(Y[TRAIN], 0)
    with pytest.raises(ValueError, match="one entry for each of the 600 rows"):
        classifier(estimator=GaussianNB(), stream=True).fit(frame, more)
    with pytest.raises(ValueError, match="calibration='cv' holds rows out"):
        classifier(estimator=SVC(), calibration="cv").fit(rows(TRAIN), Y[TRAIN])


def test_a_regressor_learns_chunk_by_chunk():
    target = X @ np.random.default_rng(0).standard_normal(64)
    model = ModularRegressor(estimator=SGDRegressor(random_state=0), stream=True, random_state=0)
    lazy = model.fit(rows(TRAIN), target[TRAIN] / target.std())
    assert np.isfinite(lazy.predict(X[TEST])).all()
    assert all(member.t_ > 600 for member in lazy.estimators_), "a member missed a chunk"


def test_a_frozen_extractor_is_light_too(in_memory):
    extractor = LinearModularAutoencoder(4, 5, random_state=0).fit(X)
    frozen = ModularClassifier(FrozenEstimator(extractor)).fit(rows(TRAIN), Y[TRAIN])
    (light,) = models_in(frozen.predict(rows(TEST)))
    assert not holds_data(light.extractor_.estimator)
    assert holds_data(frozen.extractor_.estimator)


@pytest.mark.parametrize("kind", ["array", "unknown"])
def test_as_many_labels_as_rows(kind):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier().fit(rows(TRAIN, kind), Y[:599])


def test_a_regressor_on_chunks():
    target = X @ np.random.default_rng(0).standard_normal((64, 2))
    plain = ModularRegressor(random_state=0).fit(X[TRAIN], target[TRAIN])
    lazy = ModularRegressor(random_state=0).fit(rows(TRAIN), da.from_array(target[TRAIN], chunks=200))
    new, known = rows(TEST), da.from_array(target[TEST], chunks=70)
    with dask.config.set(scheduler=no_task_may_run):
        prediction, spread = lazy.predict(new, return_std=True)
    expected, expected_spread = plain.predict(X[TEST], return_std=True)
    np.testing.assert_allclose(prediction.compute(), expected)
    np.testing.assert_allclose(spread.compute(), expected_spread)
    assert lazy.score(new, known) == pytest.approx(plain.score(X[TEST], target[TEST]))
    np.testing.assert_allclose(
        lazy.member_scores(new, known), plain.member_scores(X[TEST], target[TEST])
    )
    with pytest.raises(TypeError, match="calibrate picks single rows"):
        ModularRegressor(calibrate=0.2).fit(rows(TRAIN), target[TRAIN])


def test_a_search_in_memory_answers_for_lazy_rows():
    search = ModularClassifierCV(
        estimator=None, diversities=[0.5], n_components=[5], cv=2, random_state=0
    )
    search.fit(X[TRAIN], Y[TRAIN])
    new = with_unknown_rows(rows(TEST))
    np.testing.assert_array_equal(search.predict(new).compute(), search.predict(X[TEST]))
    assert search.score(new, Y[TEST]) == search.score(X[TEST], Y[TEST])
