from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae import LinearModularAutoencoder, ModularClassifier, ModularRegressor, report

build = partial(report.build, rivals=False)  # they take longer than all the rest

STOPS = [0.0, 0.4, 1.0]


@pytest.fixture(scope="session")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, np.array(["north", "south", "west"])[y]


@pytest.fixture(scope="session")
def wine_model(wine):
    modules = LinearModularAutoencoder(5, 3, 0.7, random_state=0)
    return make_pipeline(StandardScaler(), ModularClassifier(modules)).fit(*wine)


@pytest.fixture(scope="session")
def wine_facts(wine_model, wine):
    return build(wine_model, *wine, diversities=STOPS).facts


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


@pytest.fixture(scope="session")
def digit_modules(digits):
    return LinearModularAutoencoder(6, 4, 0.7, random_state=0).fit(digits[0])


@pytest.fixture(scope="session")
def digit_facts(digit_modules, digits):
    return build(digit_modules, digits[0], diversities=STOPS).facts


@pytest.fixture(scope="session")
def diabetes_facts():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    modules = LinearModularAutoencoder(4, 3, 0.7, random_state=0)
    model = ModularRegressor(modules, KNeighborsRegressor(15), calibrate=0.25, random_state=0)
    return build(model.fit(X, y), X, y, diversities=STOPS).facts


@pytest.fixture(scope="session")
def section_of():
    def find(facts, name):
        (found,) = [each for each in facts["studies"][0]["sections"] if each["id"] == name]
        return found

    return find
