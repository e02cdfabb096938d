"""What a notebook shows of a fitted model: scikit-learn's diagram, and a table of its key figures."""

import pickle
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from modae import (
    BaggingAutoencoder,
    LinearModularAutoencoder,
    LinearModularRegressor,
    ModularClassifier,
    ModularClassifierCV,
    ModularRegressor,
)
from modae.linear.notebook import figures_html, optimality
from modae.utils.text import closeness

X, Y = load_digits(return_X_y=True)
X, Y = X[:200], Y[:200]


class Table(HTMLParser):
    """Heads and cells of the figures, the text of the caption, and all ids of a page."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.texts, self._open, self._inside = (
            [],
            {"th": [], "td": [], "caption": []},
            None,
            False,
        )
        self.feed(page)
        self.figures = dict(zip(self.texts["th"], self.texts["td"], strict=True))

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag == "table":
            self._inside = dict(attrs).get("class") == "modae-figures"
        if self._inside and tag in self.texts:
            self._open = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        if tag == self._open:
            self._open = None

    def handle_data(self, data):
        if self._open:
            self.texts[self._open][-1] += data


def shown(estimator):
    page = estimator._repr_mimebundle_()["text/html"]
    # Ids of scikit-learn are counted up, so two calls differ in them only.
    assert len(page) == pytest.approx(len(estimator._repr_html_()), abs=100)
    return Table(page).figures


@pytest.fixture(scope="module")
def linear():
    return LinearModularAutoencoder(5, 4, random_state=0).fit(X)


def test_a_certified_autoencoder_shows_its_certificate(linear):
    # The slow obvious way: reconstruct the data.
    variance = X.var(axis=0).sum()
    of_mean = ((X - linear.inverse_transform(linear.transform(X))) ** 2).sum(axis=1).mean()
    of_one = ((X - linear.reconstruct_modules(X)) ** 2).sum(axis=2).mean()
    assert shown(linear) == {
        "Modules": "5 of 4 components",
        "Diversity": "0.8",
        "Loss": f"{-linear.score(X):.6g}",
        "Lower bound": f"{linear.lower_bound_:.6g}, which no modules can beat",
        "Optimality": "the optimum: the bound is attained",
        "Variance explained": f"{100 * (1 - of_mean / variance):.1f}% by the mean of the modules, "
        f"{100 * (1 - of_one / variance):.1f}% by one on average",
    }


def test_figures_are_those_of_the_fit_whatever_was_set_since(linear):
    changed = pickle.loads(pickle.dumps(linear)).set_params(n_modules=99, n_components=7, diversity=0.9)
    assert shown(changed) == shown(linear)


@pytest.mark.parametrize(
    ("attainment", "words"),
    [
        ("attained", "the optimum: the bound is attained"),
        ("undecided", "gap 2.0e-03 of the variance: whether the bound can be reached is not known"),
    ],
)
def test_every_attainment_has_words(attainment, words):
    class Model:
        attainment_, optimality_gap_ = attainment, 2e-3

    assert optimality(Model) == words
    assert words.startswith(closeness(Model))


@pytest.mark.filterwarnings("ignore:diversity=0")
def test_data_without_variance_are_shown():
    model = LinearModularAutoencoder(2, 1, random_state=0).fit(np.ones((5, 3)))
    assert shown(model)["Loss"] == "0"
    assert shown(model)["Variance explained"].startswith("none")


def test_figures_of_a_stream_do_not_solve_it():
    model = LinearModularAutoencoder(5, 4, random_state=0).partial_fit(X)
    assert Table(figures_html(model)).figures == {"Model": "solved when it is next read"}
    assert not model._model.is_solved
    assert model.attainment_ == "attained"
    assert Table(figures_html(model)).figures["Diversity"] == "0.8"


def test_bagging_shows_its_sizes():
    assert shown(BaggingAutoencoder(3, 2, random_state=0).fit(X)) == {"Modules": "3 of 2 components"}


@pytest.mark.parametrize(("alpha", "label"), [(0.0, "Loss"), (5.0, "Loss and penalty")])
def test_a_regression_shows_what_was_minimised(alpha, label):
    model = LinearModularRegressor(3, 4, 0.7, alpha=alpha, random_state=0).fit(X[:, :32], X[:, 32:])
    figures, targets = shown(model), X[:, 32:]
    error = ((targets - model.predict(X[:, :32])) ** 2).sum(axis=1).mean()
    assert figures[label] == f"{model.objective_:.6g}"
    assert figures["Variance explained"].startswith(
        f"{100 * (1 - error / targets.var(axis=0).sum()):.1f}%"
    )


def test_an_ensemble_shows_members_and_the_figures_of_its_extractor(linear):
    members = [(f"{name}", KNeighborsClassifier(3)) for name in "abcde"]
    figures = shown(ModularClassifier(FrozenEstimator(linear), members).fit(X, Y))
    assert figures == {
        "Classes": "10",
        "Members": "5 x KNeighborsClassifier",
        "Extractor": "FrozenEstimator",
        **shown(linear),
    }


def test_a_regressor_shows_the_rows_held_out():
    extractor = LinearModularAutoencoder(2, 3, random_state=0)
    model = ModularRegressor(extractor, KNeighborsRegressor(), calibrate=0.25, random_state=0)
    assert shown(model.fit(X, Y))["Intervals"] == "from 50 rows held out"
    assert "Intervals" not in shown(model.set_params(calibrate=None).fit(X, Y))


def test_a_search_shows_what_it_chose_and_what_that_costs():
    search = ModularClassifierCV(
        estimator=None, diversities=[0.5, 0.9], n_components=3, scale=False, cv=3, random_state=0
    ).fit(X, Y)
    results, best, figures = search.cv_results_, search.best_index_, shown(search)
    assert figures["Chosen"].endswith(f"diversity {search.best_params_['diversity']}; of 2 candidates")
    for label, name in (("Error of the ensemble", "ensemble"), ("Error of one member", "individual")):
        errors = [results[f"split{fold}_{name}_error"][best] for fold in range(3)]
        spread = np.std(errors, ddof=1) / np.sqrt(3)
        assert figures[label].startswith(f"{100 * np.mean(errors):.1f}% ± {100 * spread:.1f}%")
    assert figures["Error of the ensemble"].endswith("over 3 folds")
    assert figures["Members"] == "30 x NearestNeighborClassifier"


@pytest.mark.parametrize(
    "estimator",
    [LinearModularAutoencoder(), BaggingAutoencoder(), ModularClassifierCV(), ModularRegressor()],
)
def test_without_a_fit_all_is_as_in_scikit_learn(estimator):
    assert "modae-figures" not in estimator._repr_html_()
    assert figures_html(estimator) == ""


def test_text_stays_text(linear):
    with config_context(display="text"):
        assert not hasattr(linear, "_repr_html_")
        assert linear._repr_mimebundle_() == {"text/plain": repr(linear)}


def test_the_diagram_stays_and_ids_are_unique(linear):
    page = linear._repr_html_() + linear._repr_html_()
    assert "sk-top-container" in page
    table = Table(page)
    assert len(set(table.ids)) == len(table.ids)
    assert table.texts["caption"] == ["Key figures of this LinearModularAutoencoder"] * 2


def test_a_pipeline_has_the_diagram_of_its_steps(linear):
    page = estimator_html_repr(make_pipeline(StandardScaler(), linear))
    assert "LinearModularAutoencoder" in page
    assert "modae-figures" not in page


def test_what_others_named_is_escaped(linear):
    class Hostile(LinearModularAutoencoder):
        def _key_figures(self):
            return {"<b>": "<script>&"}

    Hostile.__name__ = "<i>"
    table = figures_html(Hostile(2, 1, random_state=0).fit(X))
    assert "<b>" not in table
    assert "<script>" not in table
    assert "<i>" not in table
    assert Table(table).figures == {"<b>": "<script>&"}


def test_a_model_taken_apart_is_shown_without_figures(linear):
    ensemble = ModularClassifier(FrozenEstimator(linear)).fit(X, Y)
    del ensemble.extractor_
    assert figures_html(ensemble) == ""
    bare = LinearModularAutoencoder()
    bare._model = object()
    assert figures_html(bare) == ""


def test_showing_changes_nothing(linear):
    before = pickle.dumps(linear)
    linear._repr_html_()
    assert pickle.dumps(linear) == before
    assert clone(linear).get_params() == linear.get_params()
