"""Rows without a label: they train the extractor, and nothing else."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import modae
from modae import (
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    ModularRegressorCV,
)
from modae.metrics import compare

X, LABELS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
KNOWN = np.sort(RNG.permutation(150)[:60])
REST = np.setdiff1d(np.arange(150), KNOWN)
WEIGHTS = RNG.uniform(0.5, 2.0, 150)
EXTRACTOR = LinearModularAutoencoder(4, 2, 0.7, random_state=0)
NUMBERS = load_diabetes(return_X_y=True)


def marked(labels, mark):
    """Labels with a mark where they are not known."""
    found = np.array(labels, dtype=object)
    found[REST] = mark
    return found


def same_extractor(one, other):
    np.testing.assert_allclose(one.encoders_, other.encoders_, atol=1e-12)
    np.testing.assert_allclose(one.mean_, other.mean_, atol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("member", [None, LogisticRegression(max_iter=500)], ids=["knn", "logistic"])
def test_the_extractor_sees_all_rows_and_members_those_with_a_label(member, weights):
    y = LABELS.astype(float)
    y[REST] = np.nan
    model = ModularClassifier(EXTRACTOR, member, missing_label=np.nan, random_state=0)
    model.fit(X, y, sample_weight=weights)
    extractor = clone(EXTRACTOR).fit(X, sample_weight=weights)
    same_extractor(model.extractor_, extractor)
    by_hand = ModularClassifier(FrozenEstimator(extractor), member, random_state=0)
    by_hand.fit(X[KNOWN], LABELS[KNOWN], None if weights is None else weights[KNOWN])
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(X))
    np.testing.assert_allclose(model.class_prior_, by_hand.class_prior_)
    alone = ModularClassifier(EXTRACTOR, member, random_state=0).fit(X[KNOWN], LABELS[KNOWN])
    assert np.abs(alone.extractor_.mean_ - extractor.mean_).max() > 1e-3


MARKED = {
    "nan": (np.where(np.isin(np.arange(150), KNOWN), LABELS, np.nan), np.nan),
    "-1": (np.where(np.isin(np.arange(150), KNOWN), LABELS, -1), -1),
    "None": (marked(LABELS, None), np.nan),
    "a list": (marked(LABELS, None).tolist(), np.nan),
    "pandas": (pd.Series(marked(LABELS, None)).astype("Int64"), np.nan),
    "objects of pandas": (pd.Series(marked(LABELS, None)), np.nan),
    "strings": (marked([f"k{label}" for label in LABELS], ""), ""),
    "strings of pandas": (pd.Series(marked([f"k{label}" for label in LABELS], None)), np.nan),
    "booleans": (marked(LABELS > 0, None), np.nan),
}


@pytest.mark.parametrize("kind", MARKED)
def test_marks_of_every_kind(kind):
    y, mark = MARKED[kind]
    model = ModularClassifier(EXTRACTOR, missing_label=mark, random_state=0).fit(X, y)
    known = [y[place] for place in KNOWN]
    assert set(model.classes_.tolist()) == set(known)
    assert model.classes_.dtype.kind == ("U" if "strings" in kind else np.array(known).dtype.kind)
    assert all(len(member.targets_) == 60 for member in model.estimators_)


def test_without_a_mark_every_label_counts():
    y = MARKED["-1"][0]
    assert ModularClassifier(EXTRACTOR).fit(X, y).classes_.tolist() == [-1, 0, 1, 2]
    with pytest.raises(ValueError, match="contains NaN"):
        ModularClassifier(EXTRACTOR).fit(X, MARKED["nan"][0])
    all_known = ModularClassifier(EXTRACTOR, missing_label=-1, random_state=0).fit(X, LABELS)
    plain = ModularClassifier(EXTRACTOR, random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(all_known.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [ModularClassifier(), ModularClassifierCV(), ModularRegressor(), ModularRegressorCV()],
    ids=lambda model: type(model).__name__,
)
def test_all_missing_is_an_error(model):
    with pytest.raises(ValueError, match=r"at least one row, but missing_label=nan stands in all 150"):
        model.set_params(missing_label=np.nan).fit(X, np.full(150, np.nan))


@pytest.mark.parametrize("search", [False, True])
def test_lazy_rows_are_refused(search):
    model = ModularClassifierCV() if search else ModularClassifier()
    with pytest.raises(TypeError, match="missing_label picks single rows, so X must be in memory"):
        model.set_params(missing_label=-1).fit(modae.open_batches(X), LABELS)


def test_held_out_rows_have_labels():
    y, mark = MARKED["-1"]
    model = ModularClassifier(EXTRACTOR, missing_label=mark, calibrate=0.5, random_state=0).fit(X, y)
    assert len(model.held_out_.wrong) == 30
    assert all(len(member.targets_) == 30 for member in model.estimators_)
    assert -1 not in model.classes_
    search = ModularClassifierCV(EXTRACTOR, None, missing_label=mark, calibrate=0.5, cv=3, scale=False)
    search.set_params(random_state=0, diversities=[0.7], n_modules=4, n_components=2).fit(X, y)
    assert len(search.best_estimator_.held_out_.wrong) == 30
    assert {len(member.targets_) for member in search.best_estimator_.estimators_} == {30}
    data, target = NUMBERS
    numbers = target.copy()
    numbers[100:] = np.nan
    regressor = ModularRegressor(missing_label=np.nan, calibrate=0.4, random_state=0).fit(data, numbers)
    assert len(regressor.calibration_.residuals) == 40


@pytest.mark.parametrize("several", [False, True])
def test_numbers(several):
    data, target = NUMBERS
    y = np.column_stack([target, target**2]) if several else target.copy()
    y[200:, ...] = np.nan
    if several:
        y[150:200, 1] = np.nan
    n_known = 150 if several else 200
    model = ModularRegressor(missing_label=np.nan, random_state=0).fit(data, y)
    by_hand = ModularRegressor(FrozenEstimator(model.extractor_), random_state=0)
    by_hand.fit(data[:n_known], y[:n_known])
    np.testing.assert_allclose(model.predict(data), by_hand.predict(data))


class Recorder(TransformerMixin, BaseEstimator):
    """An extractor that remembers what it was fitted to."""

    def fit(self, X, y=None):
        self.shape_, self.y_ = np.shape(X), y
        return self

    def transform_modules(self, X):
        return np.stack([np.asarray(X)[:, :2], np.asarray(X)[:, 2:]])


def test_an_extractor_of_others_gets_all_rows_and_no_labels():
    model = ModularClassifier(Recorder(), missing_label=-1).fit(X, MARKED["-1"][0])
    assert (model.extractor_.shape_, model.extractor_.y_) == ((150, 4), None)
    model.fit(pd.DataFrame(X, columns=list("abcd")), MARKED["-1"][0])
    assert model.feature_names_in_.tolist() == list("abcd")


def by_hand_search(params, folds, scale, y=LABELS):
    """Errors on folds of the known rows; scaler and extractor see their training rows and all others."""
    errors = []
    for train, test in folds:
        seen = np.concatenate([KNOWN[train], REST])
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(X[seen])
        extractor = clone(EXTRACTOR).set_params(**params).fit(scaler.transform(X[seen]))
        vote = ModularClassifier(FrozenEstimator(extractor), random_state=0)
        vote.fit(scaler.transform(X[KNOWN[train]]), y[KNOWN[train]])
        errors.append(1.0 - vote.score(scaler.transform(X[KNOWN[test]]), y[KNOWN[test]]))
    return np.array(errors)


@pytest.mark.parametrize("scale", [False, True])
def test_a_search_is_that_by_hand(scale):
    y, mark = MARKED["-1"]
    search = ModularClassifierCV(EXTRACTOR, None, missing_label=mark, scale=scale, cv=3, random_state=0)
    search.set_params(n_modules=4, n_components=2, diversities=[0.3, 0.9]).fit(X, y)
    folds = list(StratifiedKFold(3).split(X[KNOWN], LABELS[KNOWN]))
    for place, params in enumerate(search.cv_results_["params"]):
        sizes = {name: params[name] for name in ("n_modules", "n_components", "diversity")}
        expected = by_hand_search(sizes, folds, scale)
        found = [search.cv_results_[f"split{k}_ensemble_error"][place] for k in range(3)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    best = search.best_estimator_
    rows = best[0].transform(X) if isinstance(best, Pipeline) else X
    ensemble = best[-1] if isinstance(best, Pipeline) else best
    chosen = {name: search.best_params_[name] for name in ("n_modules", "n_components", "diversity")}
    same_extractor(ensemble.extractor_, clone(EXTRACTOR).set_params(**chosen).fit(rows))
    assert all(len(member.targets_) == 60 for member in ensemble.estimators_)
    again = clone(best).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_given_folds_are_places_among_all_rows():
    y, mark = MARKED["-1"]
    options = {"missing_label": mark, "scale": False, "random_state": 0, "diversities": [0.7]}
    model = ModularClassifierCV(EXTRACTOR, None, **options)
    pairs = list(KFold(3, shuffle=True, random_state=1).split(X))
    masks = [tuple(np.isin(np.arange(150), part) for part in pair) for pair in pairs]
    fold_of = np.empty(150, dtype=int)
    for number, (_, test) in enumerate(pairs):
        fold_of[test] = number
    scores = [
        clone(model).set_params(cv=cv).fit(X, y).cv_results_["split0_ensemble_error"]
        for cv in (pairs, masks, PredefinedSplit(fold_of[KNOWN]))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_groups_and_weights_are_those_of_all_rows():
    from sklearn.model_selection import GroupKFold

    y, mark = MARKED["-1"]
    search = ModularClassifierCV(EXTRACTOR, None, missing_label=mark, cv=GroupKFold(3), scale=False)
    search.set_params(diversities=[0.7], random_state=0)
    search.fit(X, y, sample_weight=WEIGHTS, groups=np.arange(150) % 7)
    same_extractor(search.extractor_, clone(EXTRACTOR).fit(X, sample_weight=WEIGHTS))
    with pytest.raises(ValueError, match="groups"):
        clone(search).fit(X, y)


def test_metadata_routing_gives_members_their_rows():
    y, mark = MARKED["-1"]
    with sklearn.config_context(enable_metadata_routing=True):
        member = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        extractor = clone(EXTRACTOR).set_fit_request(sample_weight=True)
        model = ModularClassifier(extractor, member, missing_label=mark).fit(X, y, sample_weight=WEIGHTS)
    plain = ModularClassifier(EXTRACTOR, LogisticRegression(max_iter=500), missing_label=mark)
    plain.fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))


def test_a_temperature_is_found_on_rows_with_a_label():
    y, mark = MARKED["-1"]
    model = ModularClassifier(EXTRACTOR, SVC(), calibration="cv", missing_label=mark, random_state=0)
    model.fit(X, y, sample_weight=WEIGHTS)
    by_hand = ModularClassifier(FrozenEstimator(model.extractor_), SVC(), calibration="cv")
    by_hand.set_params(random_state=0).fit(X[KNOWN], LABELS[KNOWN], sample_weight=WEIGHTS[KNOWN])
    assert model.temperature_ == pytest.approx(by_hand.temperature_)


def test_members_that_stream():
    from sklearn.linear_model import SGDClassifier

    member = SGDClassifier(random_state=0)
    model = ModularClassifier(EXTRACTOR, member, stream=True, missing_label=-1, random_state=0)
    model.fit(X, MARKED["-1"][0])
    by_hand = ModularClassifier(FrozenEstimator(model.extractor_), member, stream=True, random_state=0)
    by_hand.fit(X[KNOWN], LABELS[KNOWN])
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(X))


@pytest.mark.parametrize("mark", [np.nan, -1, ""])
def test_files_keep_the_mark(tmp_path, mark):
    y = marked([f"k{label}" for label in LABELS] if mark == "" else LABELS, mark)
    model = ModularClassifier(EXTRACTOR, missing_label=mark, random_state=0).fit(X, y)
    modae.save(model, tmp_path / "m.modae")
    loaded = modae.load(tmp_path / "m.modae")
    np.testing.assert_array_equal(loaded.missing_label, mark)
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict_proba(X), model.predict_proba(X))


def test_other_models_are_compared_on_the_same_folds():
    y, mark = MARKED["-1"]
    ours = ModularClassifier(EXTRACTOR, missing_label=mark, random_state=0)
    models = {"ours": ours, "scaled": Pipeline([("scale", StandardScaler()), ("model", ours)])}
    models["logistic"] = LogisticRegression(max_iter=500)
    table = compare(models, X, y, missing_label=mark, cv=StratifiedKFold(3))
    errors = dict(zip(table["name"], table["error"], strict=True))
    folds = list(StratifiedKFold(3).split(X[KNOWN], LABELS[KNOWN]))
    sizes = {"n_modules": 4, "n_components": 2, "diversity": 0.7}
    assert errors["ours"] == pytest.approx(by_hand_search(sizes, folds, False).mean())
    assert errors["scaled"] == pytest.approx(by_hand_search(sizes, folds, True).mean())
    plain = compare({"logistic": models["logistic"]}, X[KNOWN], LABELS[KNOWN], cv=StratifiedKFold(3))
    assert errors["logistic"] == pytest.approx(plain["error"][0])
    numbers = np.where(np.isin(np.arange(150), KNOWN), X[:, 0], np.nan)
    assert compare({"ridge": Ridge()}, X, numbers, missing_label=np.nan)["score"][0] > 0.9
