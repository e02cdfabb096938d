"""How sure the model is, as the page says it: training rows out of fold, new rows by itself."""

import base64
import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from modae import LinearModularAutoencoder, ModularClassifier, ModularRegressor, report
from modae.metrics import risk_coverage_curve
from modae.utils.text import fixed, format_number, percent

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)  # those of the report


def facts_of(model, X, y=None, **options):
    return report.build(model, X, y, diversities=[], rivals=False, **options).facts


def column(chart, name):
    return [row[chart["columns"].index(name)] for row in chart["rows"]]


def groups(probability, right):
    """Mean probability, share of right rows and number of rows in each tenth, row by row."""
    tenths = {}
    for share, is_right in zip(probability, right, strict=True):
        tenths.setdefault(min(int(10 * share + 1e-9), 9), []).append((share, is_right))
    return [(*np.mean(tenths[key], axis=0), len(tenths[key])) for key in sorted(tenths)]


@pytest.fixture(scope="module")
def soft(wine):
    """Members with graded probabilities, which are never equal."""
    modules = LinearModularAutoencoder(4, 2, 0.7, random_state=0)
    vote = ModularClassifier(modules, LogisticRegression(max_iter=500), random_state=0)
    return make_pipeline(StandardScaler(), vote).fit(*wine)


@pytest.fixture(scope="module")
def halves(wine):
    """Every other row to fit, the others are new."""
    X, y = wine
    modules = LinearModularAutoencoder(4, 2, 0.7, random_state=0)
    model = make_pipeline(StandardScaler(), ModularClassifier(modules, random_state=0))
    return model.fit(X[::2], y[::2]), X[1::2], y[1::2]


@pytest.mark.parametrize("name", ["wine_model", "soft"])
def test_probabilities_of_training_rows_are_out_of_fold(name, wine, section_of, request):
    model = request.getfixturevalue(name)
    X, y = wine
    shares = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
    told = cross_val_predict(model, X, y, cv=FOLDS)
    calibration, risk = section_of(facts_of(model, X, y), "trust")["charts"]
    wanted = groups(shares.max(axis=1), told == y)
    found = zip(calibration["x"], calibration["lines"][0]["values"], calibration["counts"], strict=True)
    assert np.allclose(list(found), wanted, atol=1e-5)
    coverage, wrong = risk_coverage_curve(y, told, 1.0 - shares.max(axis=1))
    place = np.searchsorted(coverage, np.array(risk["x"]) - 1e-6)
    assert np.allclose(risk["lines"][0]["values"], wrong[place], atol=1e-5)


def test_the_sentence_has_the_share_wrong_at_each_coverage(soft, wine, section_of):
    X, y = wine
    shares = cross_val_predict(soft, X, y, cv=FOLDS, method="predict_proba")
    wrong = cross_val_predict(soft, X, y, cv=FOLDS) != y
    first = wrong[np.argsort(-shares.max(axis=1), kind="stable")]
    _, risk = section_of(facts_of(soft, X, y), "trust")["charts"]
    n_answered = int(np.ceil(0.9 * len(y)))
    assert risk["summary"].startswith(f"{percent(wrong.mean())} of all predictions are wrong")
    assert f"at 90% coverage {percent(first[:n_answered].mean())}" in risk["summary"]


def test_new_rows_are_judged_by_the_model_itself(halves, section_of):
    model, X, y = halves
    facts = facts_of(model, X, y, rows="new")
    calibration, risk = section_of(facts, "trust")["charts"]
    shares, right = model.predict_proba(X).max(axis=1), model.predict(X) == y
    assert np.allclose(calibration["x"], [share for share, *_ in groups(shares, right)], atol=1e-5)
    assert risk["lines"][0]["values"][-1] == pytest.approx(1.0 - model.score(X, y), abs=1e-5)
    confusion, _ = section_of(facts, "predictions")["charts"]
    assert confusion["fixed"]
    (shown,) = confusion["values"]
    every = [np.mean(model.predict(X)[y == name] == name) for name in confusion["rows"]]
    assert np.allclose(np.diagonal(shown), every, atol=1e-5)


def test_the_headline_is_the_error_on_new_rows_and_cross_validated_on_training_rows(halves, wine):
    model, X, y = halves
    error = percent(1.0 - model.score(X, y))
    first, second, *_ = facts_of(model, X, y, rows="new")["numbers"]
    assert first["value"] == error
    assert "this model" in first["label"]
    assert "cross-validated" in second["label"]
    assert "models like this one" in second["text"]
    train, y_train = wine[0][::2], wine[1][::2]
    first, *_ = facts_of(model, train, y_train)["numbers"]
    again = np.mean(cross_val_predict(model, train, y_train, cv=FOLDS) != y_train)
    assert first["value"] == percent(again)  # the folds are of nearly equal size
    assert first["value"] != percent(1.0 - model.score(train, y_train))
    assert "cross-validated" in first["label"]


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_the_verdict_on_new_rows_is_that_of_the_model_itself(halves, section_of, monkeypatch, task):
    model, X, y = halves
    y = np.roll(y, 5)  # many are wrong
    others = {"linear": make_pipeline(StandardScaler(), LogisticRegression())}
    if task == "numbers":
        y = X["alcohol"].to_numpy()
        model = ModularRegressor(LinearModularAutoencoder(3, 2, random_state=0)).fit(X[:40], y[:40])
        others = {"linear": make_pipeline(StandardScaler(), Ridge())}
    monkeypatch.setattr("modae.report.errors.rivals", lambda *data, **options: others)
    facts = report.build(model, X, y, diversities=[], rows="new").facts
    own, among = facts["numbers"][0]["value"], facts["numbers"][1]
    if task == "classes":
        assert own == percent(1.0 - model.score(X, y))
        assert facts["verdict"] == f"This model is wrong on {own} of these rows, which are new to it."
    else:
        assert own == format_number(root_mean_squared_error(y, model.predict(X)), digits=3)
        score = f"R2 {fixed(model.score(X, y))}"
        assert facts["verdict"].startswith(f"This model is off by {own} (root mean square, {score}) on")
        assert facts["numbers"][0]["label"].endswith(score)
    assert facts["summary"][0] == facts["verdict"]
    sentences = " ".join(facts["summary"])
    assert sentences.count(own) == 1
    assert among["value"] != own
    assert among["value"] not in sentences  # it is that of other models
    assert "The strongest of 1 other method is linear, with " in among["text"]
    strongest, n_rows = facts["numbers"][2:]
    assert strongest["label"].endswith("error of the strongest other method")
    assert strongest["text"] == "It is linear, trained on the same folds."
    assert n_rows == {"value": str(len(y)), "label": "rows", "text": ""}
    found = section_of(facts, "rivals")
    assert found["text"].startswith("These are cross-validated errors of models like this one")
    assert "this model" not in found["charts"][0]["names"]


def test_too_few_new_rows_to_cross_validate_have_an_error_too(halves):
    model, X, y = halves
    facts = facts_of(model, X[:4], y[:4], rows="new")
    assert facts["verdict"].startswith(
        f"This model is wrong on {percent(1.0 - model.score(X[:4], y[:4]))}"
    )
    assert "so nothing is cross-validated" in facts["summary"][3]


def test_the_least_certain_rows_come_first_with_their_label_and_columns(halves, section_of):
    model, X, y = halves
    (table,) = section_of(facts_of(model, X, y, rows="new"), "uncertain")["charts"]
    places = np.argsort(-model[-1].uncertainty(model[:-1].transform(X))[:, 0], kind="stable")[:12]
    told = model.predict(X)[places]
    assert column(table, "row") == [str(place + 1) for place in places]
    assert column(table, "true class") == list(y[places])
    assert column(table, "predicted class") == list(told)
    shares = np.sort(model.predict_proba(X)[places], axis=1)
    assert column(table, "probability") == [percent(each) for each in shares[:, -1]]
    assert column(table, "result") == list(np.where(told == y[places], "right", "wrong"))
    assert table["columns"][table["class_column"]] == "result"
    assert column(table, "proline") == [format_number(each) for each in X["proline"].iloc[places]]
    assert f"{np.sum(told != y[places])} of their predictions are wrong" in table["summary"]


def test_the_next_likeliest_class_is_not_the_predicted_one(soft, wine, section_of):
    (table,) = section_of(facts_of(soft, *wine, rows="new"), "uncertain")["charts"]
    places = [int(row) - 1 for row in column(table, "row")]
    order = np.argsort(-soft.predict_proba(wine[0].iloc[places]), axis=1)
    assert column(table, "predicted class") == list(soft.classes_[order[:, 0]])
    assert column(table, "next likeliest") == list(soft.classes_[order[:, 1]])


def test_training_rows_are_uncertain_to_models_that_did_not_see_them(wine_model, wine, section_of):
    X, y = wine
    uncertainty = np.zeros(len(y))
    for train, test in FOLDS.split(X, y):
        again = clone(wine_model).fit(X.iloc[train], y[train])
        uncertainty[test] = again[-1].uncertainty(again[:-1].transform(X.iloc[test]))[:, 0]
    found = section_of(facts_of(wine_model, X, y), "uncertain")
    places = [int(row) - 1 for row in column(found["charts"][0], "row")]
    assert np.array_equal(places, np.argsort(-uncertainty, kind="stable")[:12])
    assert "fitted without the row" in found["text"]


def test_rows_of_a_draw_have_their_place_in_the_whole_table(wine_model, wine, section_of):
    X, y = wine
    (table,) = section_of(facts_of(wine_model, X, y, n_samples=60), "uncertain")["charts"]
    places = [int(row) - 1 for row in column(table, "row")]
    assert max(places) > 60
    assert column(table, "ash") == [format_number(each) for each in X["ash"].iloc[places]]
    assert column(table, "true class") == list(y[places])


def test_rows_that_are_images_are_shown_as_images(section_of):
    X, y = load_digits(return_X_y=True)
    model = ModularClassifier(LinearModularAutoencoder(5, 4, random_state=0), random_state=0)
    facts = facts_of(model.fit(X[:300], y[:300]), X[300:600], y[300:600], rows="new")
    (cards,) = section_of(facts, "uncertain")["charts"]
    assert cards["kind"] == "cards"
    assert cards["invert"]
    for row, image in zip(column(cards, "row"), cards["images"], strict=True):
        grey = np.asarray(Image.open(io.BytesIO(base64.b64decode(image))), dtype=float)
        assert np.abs(grey / 255 - X[300:600][int(row) - 1].reshape(8, 8) / 16).max() < 0.02


def test_members_of_a_regressor_that_differ_are_shown(section_of):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ModularRegressor(LinearModularAutoencoder(4, 3, 0.7, random_state=0), random_state=0)
    facts = facts_of(model.fit(X[:300], y[:300]), X[300:], y[300:], rows="new")
    found = section_of(facts, "uncertain")
    (table,) = found["charts"]
    spread = model.uncertainty(X[300:])
    places = np.argsort(-spread, kind="stable")[:12]
    assert column(table, "row") == [str(place + 1) for place in places]
    assert column(table, "spread") == [format_number(each) for each in spread[places]]
    assert column(table, "true value") == [format_number(each) for each in y[300:].iloc[places]]
    assert "no error bar" in found["text"]
    assert "trust" not in {each["id"] for each in facts["studies"][0]["sections"]}
    error = np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2))
    assert facts["numbers"][0]["value"] == format_number(error, digits=3)


def test_new_rows_without_labels_still_say_where_to_look(halves, section_of):
    model, X, _ = halves
    (table,) = section_of(facts_of(model, X, rows="new"), "uncertain")["charts"]
    assert table["columns"][:4] == ["row", "predicted class", "probability", "next likeliest"]
    names = [each["id"] for each in facts_of(model, X)["studies"][0]["sections"]]
    assert "uncertain" not in names  # it may have been fitted to them


def test_classes_that_no_new_row_has_are_no_reason_to_fail(halves, section_of):
    model, X, y = halves
    y = np.where(y == "west", "south", y)
    assert "west" in model.predict(X)
    confusion, by_class = section_of(facts_of(model, X, y, rows="new"), "predictions")["charts"]
    assert confusion["rows"] == ["north", "south"]
    right = [np.mean(model.predict(X)[y == name] == name) for name in confusion["rows"]]
    assert np.allclose(by_class["values"][0], 1.0 - np.array(right), atol=1e-5)


def test_probabilities_out_of_fold_have_the_temperature_of_the_model(wine, section_of):
    X, y = wine
    vote = ModularClassifier(None, SVC(), n_modules=3, n_components=2, diversity=0.5, random_state=0)
    model = make_pipeline(StandardScaler(), vote)
    said = []
    for temperature in (1.0, 0.1):
        fitted = model.set_params(modularclassifier__calibration=temperature).fit(X, y)
        said.append(np.mean(section_of(facts_of(fitted, X, y), "trust")["charts"][0]["x"]))
    assert said[1] > said[0]  # a low temperature is a sure model


def test_strings_and_wide_or_sparse_rows_are_shown_as_they_were_given(wine, section_of):
    X, y = wine
    kinds = pd.DataFrame({"kind": np.where(X["ash"] > 2.3, "much", "little"), "place": y})
    encoder = OneHotEncoder(sparse_output=False)
    modules = LinearModularAutoencoder(2, 2, random_state=0)
    model = make_pipeline(encoder, ModularClassifier(modules, random_state=0)).fit(kinds, y)
    (table,) = section_of(facts_of(model, kinds, y, rows="new"), "uncertain")["charts"]
    assert set(column(table, "kind")) <= {"much", "little"}
    wide = csr_array(np.hstack([np.asarray(X)] * 3))
    model = ModularClassifier(modules, random_state=0).fit(wide, y)
    (table,) = section_of(facts_of(model, wide, y), "uncertain")["charts"]
    assert table["columns"][-1] == "column 23"
    assert "The first 24 of 39 columns are shown" in table["summary"]
