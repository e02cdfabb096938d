"""ModularClassifierCV against GridSearchCV over ModularClassifier: the same score everywhere."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from ensembles.parts import CountingModules
from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV, ModularRegressorCV

DIVERSITIES = [0.2, 0.6, 0.95]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:180], y[:180]


def both(digits, extractor, estimator, grid, rows=None, **params):
    """A fitted search of each kind, with the same candidates, folds and seeds."""
    X, y = digits
    rows = X if rows is None else rows
    scoring = params.pop("scoring", None)
    ours = ModularClassifierCV(
        extractor, estimator, cv=FOLDS, scoring=scoring, scale=False, **params, **grid
    )
    names = {"diversities": "diversity"}
    nested = {f"extractor__{names.get(name, name)}": values for name, values in grid.items()}
    model = ModularClassifier(extractor, estimator, **params)
    theirs = GridSearchCV(model, nested, cv=FOLDS, scoring=scoring, error_score="raise")
    return ours.fit(rows, y), theirs.fit(rows, y)


def assert_same_scores(ours, theirs):
    """Equality to round-off for each candidate and fold, whatever the order of the candidates."""
    table = {}
    for place, params in enumerate(theirs.cv_results_["params"]):
        key = frozenset((name.removeprefix("extractor__"), value) for name, value in params.items())
        table[key] = [theirs.cv_results_[f"split{fold}_test_score"][place] for fold in range(3)]
    assert len(ours.cv_results_["params"]) == len(table)
    names = {name for key in table for name, _ in key}
    for place, params in enumerate(ours.cv_results_["params"]):
        key = frozenset((name, value) for name, value in params.items() if name in names)
        scores = [ours.cv_results_[f"split{fold}_test_score"][place] for fold in range(3)]
        assert scores == pytest.approx(table[key], rel=1e-12)


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize(
    "estimator",
    [None, RandomForestClassifier(2), GaussianNB()],
    ids=["default", "forest", "bayes"],
)
def test_same_scores_over_diversity_and_both_sizes(digits, estimator, voting):
    grid = {"diversities": [0.2, 0.8], "n_modules": [2, 4], "n_components": [2, 5]}
    extractor = LinearModularAutoencoder()
    ours, theirs = both(digits, extractor, estimator, grid, voting=voting, random_state=0)
    assert_same_scores(ours, theirs)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)


@pytest.mark.parametrize(
    "extractor",
    [
        LinearModularAutoencoder(3, 4, random_state=5),
        LinearModularAutoencoder(3, 0.5, random_state=5),
        LinearModularAutoencoder(3, 4, solver="backfitting", max_iter=20, tol=1e-2, random_state=5),
        LinearModularAutoencoder(3, 30, random_state=5),
    ],
    ids=["fixed seed", "share of the variance", "backfitting", "more units than features"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_scores_for_other_extractors(digits, extractor):
    ours, theirs = both(digits, extractor, None, {"diversities": DIVERSITIES}, random_state=1)
    assert_same_scores(ours, theirs)


def test_same_scores_over_modules_with_a_share_of_the_variance(digits):
    extractor = LinearModularAutoencoder(3, 0.5)
    grid = {"diversities": [0.3, 0.8], "n_modules": [2, 4]}
    assert_same_scores(*both(digits, extractor, None, grid, random_state=1))


def test_a_fold_where_the_share_of_the_variance_needs_another_number_of_components():
    """Each fold resolves the share by itself, as a fresh fit there would."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 6))
    X[:30, 0] *= 6.0
    y = (X[:, 0] > 0).astype(int)
    folds = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(60, 90))]
    widths = {LinearModularAutoencoder(2, 0.6).fit(X[train]).n_components_ for train, _ in folds}
    assert len(widths) == 2  # otherwise this tests nothing
    extractor = LinearModularAutoencoder(2, 0.6, random_state=0)
    search = ModularClassifierCV(
        extractor, scale=False, estimator=None, diversities=[0.3, 0.8], cv=folds
    ).fit(X, y)
    for place, diversity in enumerate([0.3, 0.8]):
        for fold, (train, test) in enumerate(folds):
            model = ModularClassifier(clone(extractor).set_params(diversity=diversity))
            score = model.fit(X[train], y[train]).score(X[test], y[test])
            assert search.cv_results_[f"split{fold}_test_score"][place] == pytest.approx(score)


@pytest.mark.parametrize("kind", [sparse.csr_array, pd.DataFrame, np.float32])
def test_same_scores_for_other_kinds_of_rows(digits, kind):
    X, _ = digits
    rows = kind(X)
    if isinstance(rows, pd.DataFrame):
        rows.columns = [f"pixel {k}" for k in range(64)]
    grid = {"diversities": [0.3, 0.8], "n_components": [2, 4]}
    ours, theirs = both(digits, LinearModularAutoencoder(3), None, grid, rows=rows, random_state=0)
    assert_same_scores(ours, theirs)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


def test_polars_frames(digits):
    X, y = digits
    frame = pl.DataFrame({f"pixel {k}": column for k, column in enumerate(X.T)})
    search = ModularClassifierCV(scale=False, estimator=None, diversities=[0.5], cv=2, random_state=0)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(search.fit(frame, y).cv_results_["mean_test_score"], expected)
    assert search.feature_names_in_[0] == "pixel 0"


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "neg_log_loss", make_scorer(f1_score, average="macro")]
)
def test_same_scores_for_another_scoring(digits, scoring):
    grid = {"diversities": [0.3, 0.8]}
    extractor = LinearModularAutoencoder(3, 4, random_state=0)
    assert_same_scores(*both(digits, extractor, GaussianNB(), grid, voting="soft", scoring=scoring))


def test_a_scoring_function_of_the_model_itself(digits):
    def one_minus_doubt(model, rows, labels):
        return 1.0 - model.disagreement(rows).mean()

    grid = {"diversities": [0.3, 0.8]}
    assert_same_scores(
        *both(
            digits, LinearModularAutoencoder(3, 4, random_state=0), None, grid, scoring=one_minus_doubt
        )
    )


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_jobs_change_nothing(digits, n_jobs):
    X, y = digits
    options = {"diversities": DIVERSITIES, "n_modules": [2, 3], "cv": FOLDS, "random_state": 0}
    forest = RandomForestClassifier(2)
    one = ModularClassifierCV(scale=False, estimator=forest, **options).fit(X, y)
    many = ModularClassifierCV(scale=False, estimator=forest, n_jobs=n_jobs, **options).fit(X, y)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], many.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.predict(X), many.predict(X))


def test_a_frozen_extractor_serves_all_candidates_without_a_fit(digits):
    X, y = digits
    extractor = CountingModules(4, 6, 0.5, random_state=0).fit(X)
    before = CountingModules.fits
    grid = {"n_modules": [2, 4], "n_components": [3, 6]}
    search = ModularClassifierCV(
        FrozenEstimator(extractor),
        scale=False,
        estimator=None,
        diversities=DIVERSITIES,
        cv=FOLDS,
        **grid,
    )
    search.fit(X, y)
    assert CountingModules.fits == before
    for place, params in enumerate(search.cv_results_["params"]):
        frozen = FrozenEstimator(extractor.with_params(**params))
        for fold, (train, test) in enumerate(FOLDS.split(X, y)):
            model = ModularClassifier(frozen).fit(X[train], y[train])
            score = search.cv_results_[f"split{fold}_test_score"][place]
            assert score == pytest.approx(model.score(X[test], y[test]))
    best = extractor.with_params(**search.best_params_)
    np.testing.assert_array_equal(
        search.best_estimator_.extractor_.transform_modules(X), best.transform_modules(X)
    )


def test_a_frozen_extractor_keeps_its_own_sizes_by_default(digits):
    X, y = digits
    extractor = LinearModularAutoencoder(3, 0.5, random_state=0).fit(X)
    search = ModularClassifierCV(
        FrozenEstimator(extractor), scale=False, estimator=None, diversities=[0.4], cv=2
    ).fit(X, y)
    expected = {"n_modules": 3, "n_components": extractor.n_components_, "diversity": 0.4}
    assert search.best_params_ == expected


def test_a_frozen_extractor_that_is_too_small_for_a_candidate(digits):
    X, y = digits
    extractor = LinearModularAutoencoder(2, 3, random_state=0).fit(X)
    search = ModularClassifierCV(
        FrozenEstimator(extractor), scale=False, estimator=None, n_modules=[2, 5], cv=2
    )
    with pytest.raises(ValueError, match=r"at most 6, the number of principal axes.*5 \* 3"):
        search.fit(X, y)


def test_one_fit_for_each_fold_and_one_for_the_end(digits):
    X, y = digits
    before = CountingModules.fits
    search = ModularClassifierCV(
        CountingModules(3, 4),
        scale=False,
        estimator=None,
        diversities=DIVERSITIES,
        n_modules=[2, 3],
        cv=FOLDS,
    )
    search.fit(X, y)
    assert CountingModules.fits - before == 3 + 1


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("search", [ModularClassifierCV, ModularRegressorCV])
def test_the_extractor_is_that_of_the_chosen_ensemble(digits, search, scale):
    X, y = digits
    model = search(None, None, n_modules=3, n_components=4, diversities=[0.5], cv=2, scale=scale)
    assert not hasattr(model, "extractor_")
    model.set_params(random_state=0).fit(X, y)
    columns = StandardScaler().fit_transform(X) if scale else X
    expected = LinearModularAutoencoder(3, 4, diversity=0.5).fit(columns).lower_bound_
    assert model.extractor_.lower_bound_ == pytest.approx(expected)
    assert model.extractor_.transform_modules(columns).shape == (3, len(X), 4)
