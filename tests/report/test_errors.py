"""Errors of the report are those of a cross-validation written out by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularRegressor,
    NearestNeighborClassifier,
    report,
)
from modae.report import errors as errors_module
from modae.utils.text import format_number, percent

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def errors_of(model, data):
    return 1.0 - cross_val_score(model, *data, cv=FOLDS)


@pytest.fixture(scope="module")
def chart(wine_facts, section_of):
    return section_of(wine_facts, "errors")["charts"][0]


def lines_of(chart):
    return {line["name"]: line for line in chart["lines"]}


@pytest.mark.filterwarnings("ignore:diversity=0 makes all modules equal")
def test_each_point_is_a_whole_pipeline_fitted_again_without_the_fold(
    chart, wine_facts, wine_model, wine
):
    for place, diversity in enumerate(wine_facts["diversities"]):
        again = clone(wine_model).set_params(modularclassifier__extractor__diversity=diversity)
        errors = errors_of(again, wine)
        line = lines_of(chart)["the ensemble"]
        assert line["values"][place] == pytest.approx(errors.mean(), rel=1e-3)
        assert line["error"][place] == pytest.approx(errors.std(ddof=1) / np.sqrt(5), rel=1e-3)


def test_the_other_line_is_the_mean_of_the_members(chart, wine_facts, wine_model, wine):
    X, y = wine
    place = wine_facts["start"]
    shares = []
    for train, test in FOLDS.split(X, y):
        again = clone(wine_model).fit(X.iloc[train], y[train])
        told = again[-1].predict_members(again[:-1].transform(X.iloc[test]))
        shares.append(np.mean(told != y[test]))
    line = lines_of(chart)["one member, on average"]
    assert line["values"][place] == pytest.approx(np.mean(shares), rel=1e-3)


def test_members_alone_are_the_ensemble_at_diversity_zero(chart):
    ensemble, alone = (line["values"][0] for line in chart["lines"])
    assert ensemble == alone


def test_the_baselines_are_pca_of_both_sizes_and_bagging(chart, wine):
    levels = {level["name"]: level["value"] for level in chart["levels"]}
    member = NearestNeighborClassifier()
    bagging = ModularClassifier(BaggingAutoencoder(5, 3, random_state=0))
    wanted = {
        "member on PCA(3)": make_pipeline(StandardScaler(), PCA(3), member),
        "member on PCA(13)": make_pipeline(StandardScaler(), PCA(13), member),
        "Bagging Autoencoders": make_pipeline(StandardScaler(), bagging),
    }
    assert set(levels) == set(wanted)
    for name, model in wanted.items():
        assert levels[name] == pytest.approx(errors_of(model, wine).mean(), rel=1e-3)


def test_the_confusion_matrix_counts_rows_that_were_not_trained_on(
    wine_facts, section_of, wine_model, wine
):
    chart = section_of(wine_facts, "predictions")["charts"][0]
    told = cross_val_predict(wine_model, *wine, cv=FOLDS)
    counts = confusion_matrix(wine[1], told)
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert np.allclose(chart["values"][wine_facts["start"]], shares, atol=1e-3)
    assert chart["rows"] == chart["columns"] == ["north", "south", "west"]


def test_the_model_itself_is_judged_too(wine_facts, wine_model, wine):
    error = 1.0 - wine_model.score(*wine)
    assert f"The model itself is wrong on {percent(error)} of these rows" in wine_facts["summary"][2]


def test_the_sentences_and_numbers_on_top_are_those_of_the_curve(chart, wine_facts):
    error = lines_of(chart)["the ensemble"]["values"][wine_facts["start"]]
    assert wine_facts["numbers"][0]["value"] == percent(error)
    assert wine_facts["numbers"][0]["label"] == "cross-validated error"
    assert percent(error) in wine_facts["live"][wine_facts["start"]]


def test_the_slider_starts_at_the_diversity_of_the_model(wine_facts):
    assert wine_facts["diversities"] == [0.0, 0.4, 0.7, 1.0]
    assert wine_facts["diversities"][wine_facts["start"]] == 0.7
    assert "this model" in wine_facts["live"][wine_facts["start"]]


def test_regressors_are_judged_in_the_unit_of_the_target(diabetes_facts, section_of):
    chart = section_of(diabetes_facts, "errors")["charts"][0]
    assert chart["unit"] == ""
    assert 40 < min(lines_of(chart)["the ensemble"]["values"]) < 80
    scatter = section_of(diabetes_facts, "predictions")["charts"][0]
    assert scatter["kind"] == "scatter"
    assert np.shape(scatter["y"]) == (len(diabetes_facts["diversities"]), len(scatter["x"]))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_other_methods_are_judged_on_the_same_folds(task, wine, wine_model, section_of, monkeypatch):
    few = {"linear": make_pipeline(StandardScaler(), LogisticRegression()), "prior": DummyClassifier()}
    X, y = wine
    model = wine_model
    if task == "regression":
        few = {"linear": make_pipeline(StandardScaler(), Ridge()), "mean": DummyRegressor()}
        y = X["alcohol"].to_numpy()
        model = ModularRegressor(LinearModularAutoencoder(3, 2, random_state=0)).fit(X, y)
    monkeypatch.setattr("modae.report.errors.rivals", lambda X, y, classify, member: few)
    facts = report.build(model, X, y, diversities=[0.0]).facts
    found = section_of(facts, "rivals")
    (chart,) = found["charts"]
    assert chart["names"][0] == "linear"
    assert set(chart["names"]) == {"this model", *few}
    beside, _, off = facts["verdict"].partition(" Off by ")
    assert found["text"].startswith(beside)
    assert bool(off) == (task == "regression")
    assert "linear" in facts["verdict"]
    assert facts["summary"][0] == facts["verdict"]
    (errors,) = chart["values"]  # whatever the diversity
    assert chart["names"][chart["own"]] == "this model"
    ends = [
        value + sign * off for value, off in zip(errors, chart["error"], strict=True) for sign in (-1, 1)
    ]
    assert chart["range"][0] < min(ends) < max(ends) < chart["range"][1]
    assert len(facts["numbers"]) <= 4
    strongest = next(name for name in chart["names"] if name != "this model")
    assert facts["numbers"][1]["text"].startswith(f"It is {strongest},")
    if task == "classification":
        other = errors[chart["names"].index(strongest)]
        assert facts["numbers"][1]["value"] == percent(other)
    else:
        folds = KFold(5, shuffle=True, random_state=0).split(X)
        off = [
            np.sqrt(np.mean((few[strongest].fit(X.iloc[a], y[a]).predict(X.iloc[b]) - y[b]) ** 2))
            for a, b in folds
        ]
        assert facts["numbers"][1]["value"] == format_number(np.mean(off), digits=3)
    assert errors == sorted(errors, reverse=task == "regression")  # R2, the best first
    if task == "classification":
        place = facts["start"]
        errors = section_of(facts, "errors")["charts"][0]["lines"][0]["values"]
        ours = chart["values"][0][chart["names"].index("this model")]
        assert ours == pytest.approx(errors[place], abs=1e-4)


def test_members_on_pcas_have_the_same_sizes_in_both_charts(wine, wine_model, section_of, monkeypatch):
    whole = errors_module.rivals

    def on_pcas(*data, **options):
        return {name: model for name, model in whole(*data, **options).items() if "PCA" in name}

    monkeypatch.setattr(errors_module, "rivals", on_pcas)
    facts = report.build(wine_model, *wine, diversities=[0.0]).facts
    (chart,) = section_of(facts, "rivals")["charts"]
    levels = {each["name"]: each["value"] for each in section_of(facts, "errors")["charts"][0]["levels"]}
    named = {name for name in levels if "PCA" in name}
    assert named == {name for name in chart["names"] if "PCA" in name}
    for name in named:
        assert chart["values"][0][chart["names"].index(name)] == pytest.approx(levels[name], abs=1e-5)


def test_the_same_member_on_all_columns_is_a_rival_too(wine, wine_model, section_of, monkeypatch):
    kept, as_good = "member on columns", "member on PCA(13)"  # of 13 columns
    whole = errors_module.rivals
    monkeypatch.setattr(
        errors_module, "rivals", lambda *data, **options: {kept: whole(*data, **options)[kept]}
    )
    facts = report.build(wine_model, *wine, diversities=[0.0]).facts
    (chart,) = section_of(facts, "rivals")["charts"]
    levels = {each["name"]: each["value"] for each in section_of(facts, "errors")["charts"][0]["levels"]}
    assert chart["values"][0][chart["names"].index(kept)] == pytest.approx(levels[as_good], abs=1e-5)
