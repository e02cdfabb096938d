"""Models on the same folds: errors as scikit-learn finds them, and differences of paired rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from modae import ModularClassifier
from modae.ensembles.leaderboard import Leaderboard
from modae.metrics import compare, rivals

X, y = load_iris(return_X_y=True)


def test_errors_and_differences_by_hand():
    models = {"prior": DummyClassifier(), "nearest": KNeighborsClassifier(1)}
    table = compare(models, X, y, n_jobs=2)
    assert table["name"].tolist() == ["nearest", "prior"]
    for name, error, se in zip(table["name"], table["error"], table["se"], strict=True):
        scores = cross_val_score(models[name], X, y)
        assert error == pytest.approx(1.0 - scores.mean())
        assert se == pytest.approx(scores.std(ddof=1) / np.sqrt(5))
    wrong = [cross_val_predict(model, X, y) != y for model in models.values()]
    apart = wrong[0].astype(float) - wrong[1]
    assert table["difference"][1] == pytest.approx(apart.mean())
    assert table["se_difference"][1] == pytest.approx(apart.std(ddof=1) / np.sqrt(len(y)), rel=1e-2)
    assert table["difference"][0] == table["se_difference"][0] == 0.0
    assert "nearest" in str(table)


def test_regression_by_one_minus_r2():
    data, target = load_diabetes(return_X_y=True)
    folds = KFold(4, shuffle=True, random_state=0)
    table = compare({"weak": Ridge(1000.0), "ridge": Ridge()}, data, target, cv=folds)
    assert table["name"].tolist() == ["ridge", "weak"]
    expected = 1.0 - cross_val_score(Ridge(), data, target, cv=folds).mean()
    assert table["error"][0] == pytest.approx(expected)
    assert table["difference"][1] > table["se_difference"][1] > 0.0


def test_groups_stay_together():
    groups = np.arange(len(y)) % 6
    table = compare({"nearest": KNeighborsClassifier(1)}, X, y, cv=GroupKFold(3), groups=groups)
    scores = cross_val_score(KNeighborsClassifier(1), X, y, cv=GroupKFold(3), groups=groups)
    assert table["score"][0] == pytest.approx(scores.mean())


@pytest.mark.parametrize("models", [{}, {"one": SVC(), "other": Ridge()}, {"clusters": KMeans()}])
def test_models_of_other_kinds_are_refused(models):
    with pytest.raises(ValueError, match="models must be classifiers, or regressors"):
        compare(models, X, y)


def test_one_label_for_each_row():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare({"nearest": KNeighborsClassifier(1)}, X, y[:-1])


@pytest.mark.parametrize("classify", [True, False])
def test_rivals_are_fitted_and_compared(classify):
    target = y if classify else X[:, 0] + y
    member = KNeighborsClassifier(1) if classify else None
    models = rivals(X, target, classify=classify, member=member)
    for model in models.values():
        if hasattr(model, "n_estimators"):
            model.set_params(n_estimators=10)
    table = compare(models, X, target, cv=KFold(3, shuffle=True, random_state=0))
    assert set(table["name"]) == set(models)
    assert (table["error"] < 0.5).all()


def test_differences_of_round_off_are_none():
    turned = make_pipeline(PCA(4), Ridge())
    table = compare({"here": Ridge(), "there": turned}, X, X[:, 0] + y)
    assert np.ptp(table["error"]) < 1e-9
    assert table["difference"].tolist() == [0.0, 0.0]
    assert table["se_difference"].tolist() == [0.0, 0.0]
    assert table.better_than("here") is None
    assert table.better_than("there") is None
    assert table.verdict("here").endswith("(equal).")


def test_rivals_that_would_take_minutes_are_left_out():
    few, many = np.zeros((2_000, 3)), np.zeros((2_001, 3))
    assert "SVM" in rivals(few, np.arange(2_000) % 2, classify=True)
    assert "SVM" not in rivals(many, np.arange(2_001) % 2, classify=True)
    assert "gradient boosting" not in rivals(many, np.arange(2_001) % 400, classify=True)
    assert "gradient boosting" in rivals(many, np.arange(2_001) % 400, classify=False)


def test_an_svm_on_many_columns_would_take_minutes_too():
    labels = np.arange(200) % 2
    assert "SVM" in rivals(np.zeros((200, 10_000)), labels, classify=True)
    assert "SVM" not in rivals(np.zeros((200, 10_001)), labels, classify=True)


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_where_columns_are_many_a_few_of_them_are_a_rival(classify, kind):
    rng = np.random.default_rng(0)
    hidden = np.arange(60) % 2 + 0.1 * rng.standard_normal(60)
    rows = rng.standard_normal((60, 2_000))
    rows[:, :40] += 1.5 * hidden[:, None]
    target = hidden > 0.5 if classify else hidden
    models = rivals(kind(rows), target, classify=classify)
    best = {"best": models["best 50 columns"]}
    assert compare(best, kind(rows), target, cv=KFold(3))["error"] < 0.5
    # The columns are chosen in each fold: of noise nothing is learnt.
    noise = rng.permutation(target)
    assert compare(best, kind(rows), noise, cv=KFold(3))["error"] > (0.3 if classify else 1.0)


def test_of_a_table_that_is_hardly_wide_no_columns_are_chosen():
    assert "best 50 columns" not in rivals(np.zeros((60, 119)), np.arange(60) % 2, classify=True)
    assert "best 50 columns" in rivals(np.zeros((60, 120)), np.arange(60) % 2, classify=True)
    assert "best 8 columns" in rivals(np.zeros((4, 8)), np.arange(4) % 2, classify=True)


def test_rivals_of_sparse_rows():
    rows = csr_array(X)
    models = rivals(rows, y, classify=True, member=KNeighborsClassifier(1))
    some = {name: models[name] for name in ("SVM", "logistic regression", "member on PCA(2)")}
    assert (compare(some, rows, y, cv=3)["error"] < 0.2).all()


def test_our_own_models_are_models_like_others():
    table = compare({"modae": ModularClassifier(random_state=0), "prior": DummyClassifier()}, X, y)
    assert table["name"][0] == "modae"


def test_logistic_regression_and_a_frame_with_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    names = compare({"logistic": LogisticRegression(max_iter=500)}, frame, y)["name"]
    assert names.tolist() == ["logistic"]


def table(own, other, spread):
    columns = {"name": ["own", "other"], "error": np.array([own, other]), "se": np.zeros(2)}
    best = min(own, other)
    columns |= {
        "difference": columns["error"] - best,
        "se_difference": (columns["error"] > best) * spread,
    }
    columns |= {name: np.ones(2) for name in ("fit_time", "predict_time", "size")}
    return Leaderboard.of(columns | {"score": 1.0 - columns["error"]})


@pytest.mark.parametrize(
    ("own", "other", "spread", "words"),
    [
        (
            0.1,
            0.2,
            0.01,
            "Worth using, the best of 2 methods: error 10.0%, other 20.0% (worse by 10.0% ± 1.0%).",
        ),
        (
            0.1,
            0.2,
            0.06,
            "Perhaps the best of 2 methods: error 10.0%, other 20.0% (worse by 10.0% ± 6.0%), but on so "
            "few rows the difference is not clear.",
        ),
        (
            0.2,
            0.1,
            0.06,
            "Perhaps not the best choice for these data: error 20.0%, other 10.0% (better by 10.0% ± "
            "6.0%), but on so few rows the difference is not clear.",
        ),
        (
            0.1,
            0.2,
            0.11,
            "About as good as the strongest of 1 other method: "
            "error 10.0%, other 20.0% (worse by 10.0% ± 11.0%).",
        ),
        (
            0.2,
            0.1,
            0.11,
            "About as good as the strongest of 1 other method: "
            "error 20.0%, other 10.0% (better by 10.0% ± 11.0%).",
        ),
        (
            0.104,
            0.1,
            0.003,
            "About as good as the strongest of 1 other method: "
            "error 10.4%, other 10.0% (better by 0.4% ± 0.3%).",
        ),
        (
            0.2,
            0.1,
            0.01,
            "Not the best choice for these data: error 20.0%, other 10.0% (better by 10.0% ± 1.0%).",
        ),
        (0.1, 0.1, 0.0, "About as good as the strongest"),
    ],
)
def test_a_verdict_is_about_the_strongest_of_the_others(own, other, spread, words):
    board = table(own, other, spread)
    assert board.verdict("own").startswith(words)
    assert board.better_than("own") == ("other" if "ot the best choice" in words else None)


def test_regression_is_shown_as_r2_and_never_in_percent():
    data, target = load_diabetes(return_X_y=True)
    board = compare({"weak": Ridge(1000.0), "ridge": Ridge()}, data, target)
    said = f"{board}\n{board.verdict('weak')}"
    assert "%" not in said
    assert f"R2 {board['score'][1]:.3f}, ridge {board['score'][0]:.3f}" in said
    assert f"(better by {round(board['score'][0], 3) - round(board['score'][1], 3):.3f}" in said


@pytest.mark.parametrize("measure", ["R2", "error"])
def test_a_difference_agrees_with_the_rounded_numbers(measure):
    board = table(0.0584, 0.0526, 0.002)  # by 0.0058, but rounded they are 0.942 and 0.947
    board.measure = measure
    shown = {
        "R2": "R2 0.942, other 0.947 (better by 0.005",
        "error": "error 5.8%, other 5.3% (better by 0.5%",
    }
    assert shown[measure] in board.verdict("own")
    assert shown[measure].rpartition(" ")[2] + " ±" in str(board)
    board["difference"][1] = 0.03  # of other folds
    assert {"R2": "0.030 ±", "error": "3.0% ±"}[measure] in str(board)


def test_regressors_have_the_root_mean_square_error_in_units_of_the_target():
    data, target = load_diabetes(return_X_y=True)
    folds = list(KFold(4, shuffle=True, random_state=0).split(data))
    board = compare({"ridge": Ridge()}, data, target, cv=folds)
    off = [
        np.sqrt(np.mean((Ridge().fit(data[a], target[a]).predict(data[b]) - target[b]) ** 2))
        for a, b in folds
    ]
    assert board["rmse"][0] == pytest.approx(np.mean(off))
    assert "rmse" not in compare({"prior": DummyClassifier()}, X, y)


@pytest.mark.parametrize(
    ("own", "other", "spread", "words"),
    [
        (0.1, 0.2, 0.01, "Modules do not help on these data: this is one learner on all columns. Worth"),
        (
            0.1,
            0.1,
            0.01,
            "Modules do not help on these data, and plain scikit-learn does as well. About",
        ),
        (0.2, 0.1, 0.01, "Modules do not help on these data, and plain scikit-learn does as well. Not"),
    ],
)
def test_a_verdict_on_one_learner_says_first_that_modules_do_not_help(own, other, spread, words):
    board = table(own, other, spread)
    assert board.verdict("own", plain=True).startswith(words)
    assert board.verdict("own", plain=True).endswith(board.verdict("own"))


def test_one_fold_has_a_standard_error_over_its_rows():
    fold = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    board = compare({"prior": DummyClassifier()}, X, y, cv=fold)
    error = board["error"][0]
    assert board["se"][0] == pytest.approx(np.sqrt(error * (1 - error) / 74))


@pytest.mark.parametrize("target", [y, X[:, 0]], ids=["classes", "numbers"])
def test_what_a_model_is_behind_is_the_difference_of_the_errors(target):
    classes = target is y
    models = rivals(X, target, classify=classes)
    some = {name: models[name] for name in list(models)[3:]}
    folds = KFold(7, shuffle=True, random_state=0)  # of unequal sizes
    board = compare(some, X, target, cv=folds)
    np.testing.assert_allclose(board["difference"], board["error"] - board["error"][0], atol=1e-12)
    scores = cross_val_score(some[board["name"][0]], X, target, cv=folds)
    assert board["score"][0] == pytest.approx(scores.mean())
