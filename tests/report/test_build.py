"""What a page holds for every kind of model and data, and what is refused."""

import json
import re
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
    report,
)
from modae.ensembles.families import AllColumns
from modae.utils.text import percent

build = partial(report.build, rivals=False)  # they take longer than all the rest

STOPS = [0.0, 1.0]
SUPERVISED = {"errors", "predictions", "trust", "uncertain", "densities"}


def names_of(facts):
    return [section["id"] for section in facts["studies"][0]["sections"]]


def test_a_classifier_has_all_sections(wine_facts):
    judged = ["errors", "predictions", "trust", "uncertain"]
    inside = ["allocation", "columns", "likeness", "densities", "loss"]
    assert names_of(wine_facts) == judged + inside
    assert [number["label"] for number in wine_facts["numbers"]] == ["cross-validated error", "rows"]
    assert "no modules of this size reach less than" in wine_facts["studies"][0]["sections"][-1]["text"]


def test_pictures_that_say_nothing_are_left_out(wine):
    X, _ = wine
    all_columns = LinearModularAutoencoder(3, X.shape[1], diversity=0.5, random_state=0)
    found = names_of(build(all_columns.fit(X), X, diversities=[0.0]).facts)
    assert "columns" not in found
    assert "allocation" not in found
    small = LinearModularAutoencoder(3, 2, diversity=0.5, random_state=0).fit(X)
    some = names_of(build(small, X, diversities=[0.0, 1.0]).facts)
    assert {"columns", "allocation"} <= set(some)


def test_modules_alone_have_the_same_page_without_the_parts_of_the_labels(digit_facts):
    assert names_of(digit_facts) == ["allocation", "reconstructions", "columns", "likeness", "loss"]
    assert len(digit_facts["numbers"]) == 3


def test_labels_colour_the_densities_of_modules_alone(digit_modules, digits):
    facts = build(digit_modules, *digits, diversities=STOPS).facts
    assert SUPERVISED & set(names_of(facts)) == {"densities"}


def test_every_chart_says_what_it_shows_at_every_diversity(wine_facts, digit_facts, diabetes_facts):
    for facts in (wine_facts, digit_facts, diabetes_facts):
        for section in facts["studies"][0]["sections"]:
            for chart in section["charts"]:
                same = section["id"] in {"trust", "uncertain"}  # whatever the diversity
                assert isinstance(chart["summary"], str if same else list)
                assert same or len(chart["summary"]) == len(facts["diversities"])
                assert all(chart["summary"])


def test_facts_are_plain_and_small(wine_facts, digit_facts, diabetes_facts):
    for facts in (wine_facts, digit_facts, diabetes_facts):
        assert len(json.dumps(facts, allow_nan=False)) < 300_000


def test_an_ensemble_without_labels_says_that_it_has_none(wine_model, wine):
    facts = build(wine_model, wine[0], diversities=STOPS).facts
    assert not SUPERVISED & set(names_of(facts))
    assert any("No labels were given" in sentence for sentence in facts["summary"])


def test_a_class_with_one_row_is_no_reason_to_fail(wine_model, wine):
    X, y = wine
    rows = np.flatnonzero((y != "north") | (np.arange(len(y)) == 0))
    facts = build(wine_model, X.iloc[rows], y[rows], diversities=STOPS).facts
    assert "errors" not in names_of(facts)
    assert any("Class 'north' has one row" in sentence for sentence in facts["summary"])


def test_one_class_is_no_reason_to_fail(wine_model, wine):
    X, y = wine
    facts = build(wine_model, X[y == "west"], y[y == "west"], diversities=STOPS).facts
    assert "errors" not in names_of(facts)
    assert any("All rows have the class 'west'" in sentence for sentence in facts["summary"])


def test_modules_without_a_path_have_one_diversity(digits):
    facts = build(BaggingAutoencoder(4, 3, random_state=0).fit(digits[0]), *digits).facts
    assert len(facts["diversities"]) == len(facts["live"]) == 1
    assert "allocation" not in names_of(facts)
    assert "iversity" not in facts["live"][0]


def test_errors_of_a_model_without_a_path_are_bars(digits, section_of):
    model = ModularClassifier(BaggingAutoencoder(4, 3, random_state=0)).fit(*digits)
    facts = build(model, *digits).facts
    (chart,) = section_of(facts, "errors")["charts"]
    assert chart["kind"] == "bars"
    assert "Bagging Autoencoders" not in chart["names"]  # it is that itself
    assert [number["label"] for number in facts["numbers"]] == ["cross-validated error", "rows"]


def test_the_error_of_the_model_itself_is_on_the_page(wine):
    X, y = wine
    wrong = np.roll(y, 60)
    model = ModularClassifier(LinearModularAutoencoder(3, 2, random_state=0)).fit(X, wrong)
    facts = build(model, X, y, diversities=[0.0]).facts
    error = 1.0 - model.score(X, y)
    assert error > 0.5
    assert f"The model itself is wrong on {percent(error)} of these rows" in facts["summary"][2]


def test_mistakes_of_classes_that_are_not_shown_are_not_hidden(section_of):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(np.arange(20), 30), np.repeat(np.arange(20, 25), 10)])
    X = np.where(y < 20, 10.0 * y, 1000.0)[:, None] + rng.standard_normal((len(y), 12))
    model = ModularClassifier(LinearModularAutoencoder(3, 2, random_state=0)).fit(X, y)
    answers = section_of(build(model, X, y, diversities=[0.5]).facts, "predictions")
    assert "There are no mistakes" not in answers["charts"][0]["summary"][0]
    assert "predictions of others are not in the table" in answers["text"]


def test_a_draw_keeps_rows_of_rare_classes(wine_model, wine):
    X, y = wine
    others = np.flatnonzero(y != "north")
    rows = np.concatenate([np.flatnonzero(y == "north")[:6], others, others])
    facts = build(wine_model, X.iloc[rows], y[rows], diversities=[0.0], n_samples=60).facts
    assert "3 classes" in facts["summary"][1]
    assert "errors" in names_of(facts)


def test_frozen_modules_are_said_to_have_seen_the_rows(wine, section_of):
    frozen = FrozenEstimator(LinearModularAutoencoder(3, 2, random_state=0).fit(wine[0]))
    facts = build(ModularClassifier(frozen).fit(*wine), *wine, diversities=[0.0]).facts
    assert "frozen" in section_of(facts, "errors")["text"]


def test_searches_frozen_modules_and_lists_of_members_are_taken_apart(wine):
    X, y = wine
    modules = LinearModularAutoencoder(3, 2, 0.5, random_state=0)
    pipeline = make_pipeline(StandardScaler(), ModularClassifier(modules))
    grid = {"modularclassifier__extractor__diversity": [0.3, 0.6]}
    members = [
        ("tree", DecisionTreeClassifier(random_state=0)),
        ("one", LogisticRegression()),
        ("two", LogisticRegression()),
    ]
    scaled = StandardScaler().fit(X)
    frozen = FrozenEstimator(modules.fit(scaled.transform(X)))
    models = [
        GridSearchCV(pipeline, grid, cv=2).fit(X, y),
        make_pipeline(StandardScaler(), ModularClassifierCV(modules, None, diversities=[0.4], cv=2)).fit(
            X, y
        ),
        make_pipeline(StandardScaler(), ModularClassifier(modules, members, voting="soft")).fit(X, y),
        make_pipeline(scaled, ModularClassifier(frozen)).fit(X, y),
    ]
    for model in models:
        facts = build(model, X, y, diversities=[0.0]).facts
        assert "errors" in names_of(facts)
        assert len(facts["studies"][0]["sections"][0]["charts"][0]["levels"]) == 3


def test_sizes_of_the_ensemble_and_votes_by_decision_functions_are_judged_too(wine):
    X, y = wine
    sizes = {"n_modules": 3, "n_components": 2, "diversity": 0.5}
    vote = ModularClassifier(None, SVC(), **sizes, calibration="cv", random_state=0)
    facts = build(make_pipeline(StandardScaler(), vote).fit(X, y), X, y, diversities=[0.0]).facts
    assert "errors" in names_of(facts)
    assert facts["diversities"] == [0.0, 0.5]
    assert "3 modules of 2 components each" in facts["summary"][0]


def test_sparse_rows_and_frames_without_names_work(wine):
    X, y = wine
    rows = csr_array(np.asarray(X))
    model = ModularClassifier(LinearModularAutoencoder(3, 2, random_state=0)).fit(rows, y)
    facts = build(model, rows, y, diversities=STOPS).facts
    chart = next(s for s in facts["studies"][0]["sections"] if s["id"] == "columns")["charts"][0]
    assert "column 12" in chart["rows"]


@pytest.mark.parametrize("names", [True, False])
def test_steps_that_name_no_columns_are_no_reason_to_fail(wine, section_of, names):
    X = wine[0] if names else wine[0].to_numpy()
    logarithm = FunctionTransformer(lambda rows: np.log1p(np.asarray(rows)))
    model = make_pipeline(logarithm, LinearModularAutoencoder(3, 2, random_state=0)).fit(X)
    (chart,) = section_of(build(model, X, diversities=STOPS).facts, "columns")["charts"]
    assert set(chart["rows"]) == (set(X.columns) if names else {f"column {k}" for k in range(13)})


def test_rows_are_drawn_at_random_and_it_says_so(wine_model, wine):
    facts = build(wine_model, *wine, diversities=STOPS, n_samples=100).facts
    assert "178 rows" in facts["summary"][1]
    assert "100 of them, drawn at random" in facts["summary"][1]


def test_the_same_call_gives_the_same_page(wine_model, wine):
    first, second = (build(wine_model, *wine, diversities=STOPS, n_samples=90).facts for _ in range(2))
    assert first == second


def test_jobs_do_not_change_the_page(wine_model, wine):
    first, second = (build(wine_model, *wine, diversities=[0.0], n_jobs=jobs).facts for jobs in (1, 2))
    assert first == second


def test_a_page_is_written_whole_and_replaces_the_old_one(digit_modules, digits, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    report = build(digit_modules, digits[0], diversities=STOPS, title="Seven <b>& one")
    assert report.save(path) == path
    assert path.read_text(encoding="utf-8") == report.html
    assert "<title>Seven &lt;b&gt;&amp; one</title>" in report.html
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_report_is_short_as_text_and_a_frame_in_a_notebook(digit_modules, digits):
    report = build(digit_modules, digits[0], diversities=[0.0], title='"Digits" & <others>')
    assert len(repr(report)) < 200
    assert "'\"Digits\" & <others>': Features without labels, 400 rows" in repr(report)
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs)))
    parser.feed(report._repr_html_())
    ((tag, attributes),) = found  # nothing of the page is outside its frame
    assert tag == "iframe"
    assert attributes["title"] == '"Digits" & <others>'
    assert attributes["sandbox"] == "allow-scripts"  # not the rights of the notebook
    assert attributes["srcdoc"] == report.html


def test_names_of_columns_are_never_markup(wine):
    X = wine[0]
    hostile = pd.DataFrame(X.to_numpy(), columns=[f"</script><b>{name}" for name in X.columns])
    model = LinearModularAutoencoder(3, 2, random_state=0).fit(hostile)
    assert "</script><b>" not in build(model, hostile, diversities=STOPS).html


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"image_shape": (3, 5)}, "image_shape must be"),
        ({"image_shape": "large"}, "image_shape must be"),
        ({"n_samples": 2}, "n_samples must be"),
        ({"diversities": [0.5, 1.5]}, "diversity must be"),
        ({"diversities": 0.5}, "diversities must be a sequence"),
        ({"y": [1, 2]}, "inconsistent numbers of samples"),
        ({"y": [np.nan] * 400}, "y has no value in row 1"),
        ({"y": np.zeros((400, 2))}, "target; make one for each"),
    ],
)
def test_what_is_wrong_is_said(digit_modules, digits, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(digit_modules, digits[0], **change)


def test_rows_are_needed(digit_modules, digits):
    sentence = r"X must have at least one row, got the shape \(0, 64\): give the rows"
    with pytest.raises(ValueError, match=sentence):
        build(digit_modules, digits[0][:0])


def test_a_lazy_frame_is_refused_with_the_remedy(digit_modules, digits):
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(digits[0]).lazy()
    with pytest.raises(TypeError, match=r"X must be in memory .* LazyFrame: give X.collect\(\)"):
        build(digit_modules, lazy)
    with pytest.raises(TypeError, match=r"y must be in memory .* LazyFrame: give y.collect\(\)"):
        build(digit_modules, digits[0], lazy)


def test_the_diversity_is_that_of_the_fit_whatever_the_parameter_is_now(wine):
    model = LinearModularAutoencoder(3, 2, diversity=0.7, random_state=0).fit(wine[0])
    facts = build(model.set_params(diversity=0.2), wine[0], diversities=[0.0]).facts
    assert facts["diversities"] == [0.0, 0.7]
    assert "diversity 0.7" in facts["summary"][0]
    assert facts["live"][1].startswith("Diversity 0.7 (this model)")


def test_rows_of_a_polars_frame_are_looked_at(wine):
    polars = pytest.importorskip("polars")
    X, y = polars.from_pandas(wine[0]), wine[1]
    model = make_pipeline(StandardScaler(), ModularClassifier(LinearModularAutoencoder(3, 2, 0.5)))
    facts = build(model.fit(X, y), X, y, diversities=[0.5], n_samples=90).facts
    assert "errors" in names_of(facts)


class Halves(TransformerMixin, BaseEstimator):
    """Somebody else's modules: the columns in two halves, the second wider."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform_modules(self, X):
        X = np.asarray(X)
        return [X[:, :3], X[:, 3:]]


def test_foreign_modules_have_a_page(wine):
    facts = build(ModularClassifier(Halves()).fit(*wine), *wine).facts
    assert {"errors", "columns", "densities", "predictions", "uncertain"} <= set(names_of(facts))
    assert "2 modules of 10 components" in facts["summary"][0]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_label_is_named(wine_model, wine, missing):
    y = wine[1].astype(object)
    y[4] = missing
    with pytest.raises(ValueError, match="y has no value in row 5"):
        build(wine_model, wine[0], y)


def test_a_class_that_the_model_does_not_know_is_refused(wine_model, wine):
    with pytest.raises(ValueError, match="'green', which the model does not know: its classes are"):
        build(wine_model, wine[0], np.where(wine[1] == "west", "green", wine[1]))


def test_other_columns_are_refused_before_the_work(wine_model, wine, monkeypatch):
    monkeypatch.setattr("modae.report.errors.run_trials", lambda *_: pytest.fail("worked for nothing"))
    with pytest.raises(ValueError, match="feature names"):
        build(wine_model, wine[0].rename(columns={"ash": "dust"}), wine[1])


def test_models_without_modules_are_refused(digits):
    with pytest.raises(TypeError, match=r"model must be fitted modules .* got PCA"):
        build(PCA(3).fit(digits[0]), digits[0])


def test_a_title_is_a_string(digit_modules, digits):
    with pytest.raises(TypeError, match="title must be a string"):
        build(digit_modules, digits[0], title=5)


def test_a_float32_certificate_does_not_contradict_itself(wine):
    X = wine[0].to_numpy(dtype=np.float32)
    model = LinearModularAutoencoder(4, 2, diversity=0.5, random_state=0).fit(X)
    number = build(model, X, diversities=[0.0]).facts["numbers"][-1]
    loss, bound = re.search(r"loss ([\d.]+), lower bound ([\d.]+)", number["text"]).groups()
    assert loss == bound or "equal within round-off" in number["text"]
    assert number["value"] == "0%"


def test_one_learner_on_all_columns_has_no_modules_to_show(wine):
    X, y = wine
    families = {"linear": (LogisticRegression(), {"C": [0.1]})}
    search = ModularClassifierCV(estimator=families, n_components=1, diversities=[0.5], cv=3, scale=True)
    model = search.fit(X, y).best_estimator_
    assert "n_modules" not in search.best_params_
    facts = build(model, X, y).facts
    assert "One LogisticRegression on all columns" in facts["summary"][0]
    assert set(names_of(facts)) == SUPERVISED - {"errors"}


def said_by(facts):
    """All words above the charts, and those of the sections."""
    told = [*facts["summary"], *facts["live"], *facts["footer"]]
    told += [text for number in facts["numbers"] for text in number.values()]
    told += [section["text"] for section in facts["studies"][0]["sections"]]
    return " ".join(told)


@pytest.mark.parametrize("rows", ["training", "new"])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_one_learner_is_no_ensemble_and_no_rival_of_itself(wine, section_of, monkeypatch, task, rows):
    X, y = wine
    model = ModularClassifier(AllColumns(), LogisticRegression())
    if task == "numbers":
        model, y = ModularRegressor(AllColumns(), Ridge()), X["alcohol"].to_numpy()
    monkeypatch.setattr("modae.report.errors.rivals", few_rivals)
    model = make_pipeline(StandardScaler(), model).fit(X, y)
    facts = report.build(model, X, y, rows=rows).facts
    said = said_by(facts)
    assert not re.search("ensemble|member|vote|PCA|odules (vote|come)|module 0", said), said
    (chart,) = section_of(facts, "rivals")["charts"]
    assert not [name for name in chart["names"] if "member" in name]
    assert "equal" in said  # the same learner is among the few rivals
    assert not re.search(r"\de\W\d\d", said)
    assert not {"errors", "columns"} & set(names_of(facts))
    assert ("uncertain" in names_of(facts)) == (task == "classes")  # one member has no spread


def few_rivals(X, y, *, classify, member):
    own = LogisticRegression() if classify else Ridge()
    return {"the same": own} if member is None else {"member on columns": member}


def test_one_module_is_its_own_member(wine):
    model = ModularClassifier(LinearModularAutoencoder(1, 3, random_state=0), random_state=0)
    facts = build(model.fit(*wine), *wine).facts
    assert len(facts["diversities"]) == 1
    assert "member alone" not in said_by(facts)
    assert facts["numbers"][0]["text"].startswith("One member on PCA(3)")
    assert facts["numbers"][0]["text"].endswith("; equal.")


@pytest.mark.parametrize(
    ("rows", "end"),
    [
        (None, "says little if it was fitted to them."),
        ("training", "says little: it was fitted to them."),
        (0.5, "says little: it was fitted to 89 of them (50.0%)."),
    ],
)
def test_what_is_known_of_the_rows_is_said(wine_model, wine, rows, end):
    facts = build(wine_model, *wine, rows=rows, diversities=[0.0]).facts
    assert facts["summary"][2].endswith(end)


@pytest.mark.parametrize("rows", ["old", 1.5, 0.0, 3])
def test_nonsense_about_the_rows_is_refused(wine_model, wine, rows):
    with pytest.raises(ValueError, match="rows must be"):
        build(wine_model, *wine, rows=rows)


@pytest.mark.parametrize("shape", ["frame", "array", "gaps", "polars"])
@pytest.mark.parametrize("steps", ["none", "scaled", "another column first"])
def test_classes_along_one_column_are_in_the_units_of_the_table(wine, section_of, shape, steps):
    X, y = wine
    rows = {"frame": X, "array": X.to_numpy(), "gaps": X.copy(), "polars": pl.DataFrame(X)}[shape]
    if shape == "gaps":
        rows.iloc[::7, :] = np.nan
    front = [SimpleImputer()] if shape == "gaps" else []
    front += [] if steps == "none" else [StandardScaler()]
    if steps == "another column first":
        front = [*front, FunctionTransformer(lambda table: np.asarray(table)[:, ::-1] ** 3)]
    model = make_pipeline(*front, ModularClassifier(AllColumns(), LogisticRegression(max_iter=10**6)))
    facts = build(model.fit(rows, y), rows, y).facts
    (chart,) = section_of(facts, "densities")["charts"]
    ((panel,),) = [chart["panels"]]
    if steps == "another column first":
        assert chart["x_label"] == "value of the column, as the steps before the model made it"
        return
    assert chart["x_label"] == "value of the column"
    name = panel["title"]
    column = X[name] if name in X else X.iloc[:, int(re.sub(r"\D", "", name))]
    low, high = panel["grid"][0][0], panel["grid"][0][-1]
    assert low < column.min() < column.max() < high
    assert high - low < 2 * (column.max() - column.min())
