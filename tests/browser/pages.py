"""The pages that the browser opens: a name, and a function that writes the page to a file."""

from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae import LinearModularAutoencoder, ModularClassifier, ModularRegressor
from modae.report import build
from modae.report.page import render
from report import example_facts
from reproduction.made_page import made_page

STOPS = [0.0, 0.3, 1.0]
"""Few, because each takes time; the model's own is added."""


def written(facts):
    """A function that writes the page of these facts."""
    return lambda file: file.write_text(render(facts()), encoding="utf-8")


def digits(file):
    """Images with labels."""
    X, y = (array[:400] for array in load_digits(return_X_y=True))
    model = ModularClassifier(LinearModularAutoencoder(6, 4, 0.7, random_state=0)).fit(X, y)
    build(model, X, y, diversities=STOPS).save(file)


def wine(file):
    """A table with named columns and three classes."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    modules = LinearModularAutoencoder(5, 3, 0.65, random_state=0)
    model = make_pipeline(StandardScaler(), ModularClassifier(modules)).fit(X, y)
    build(model, X, y, diversities=STOPS).save(file)


def diabetes(file):
    """A table with numbers to predict."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ModularRegressor(LinearModularAutoencoder(4, 2, 0.6, random_state=0)).fit(X, y)
    build(model, X, y, diversities=STOPS).save(file)


def new_rows(file):
    """Images that the model was not fitted to."""
    X, y = load_digits(return_X_y=True)
    model = ModularClassifier(LinearModularAutoencoder(6, 4, 0.7, random_state=0)).fit(X[:400], y[:400])
    build(model, X[400:900], y[400:900], diversities=STOPS, rows="new", rivals=False).save(file)


def features(file):
    """Modules alone, without labels."""
    X = load_digits().data[:400]
    build(LinearModularAutoencoder(5, 6, 0.8, random_state=0).fit(X), X, diversities=STOPS).save(file)


def reproduction(file):
    """Several data sets, and a table of claims."""
    made_page(["basic", "background_images", "convex"], 200).save(file)


PAGES = [
    ("everything", written(example_facts.facts)),
    ("single", written(example_facts.single)),
    ("hostile", written(example_facts.hostile)),
    ("digits", digits),
    ("wine", wine),
    ("diabetes", diabetes),
    ("new_rows", new_rows),
    ("features", features),
    ("reproduction", reproduction),
]
