"""ModuleDensityDisplay: class densities along single features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import same_color
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.datasets import load_iris

from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV
from modae.display import ModuleDensityDisplay
from modae.display.classes import feature_densities
from modae.display.style import PALETTE

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]


@pytest.fixture(scope="module")
def model():
    return LinearModularAutoencoder(5, 2, 0.8, random_state=0).fit(X)


def kernel_density(values, grid):
    """Mean of Gaussians around the values, of Scott's width, by the definition."""
    width = values.std(ddof=1) * len(values) ** (-1 / 5)
    return np.mean([norm.pdf(grid, value, width) for value in values], axis=0)


def test_each_curve_is_the_kernel_density_of_one_class(model):
    display = ModuleDensityDisplay.from_estimator(model, X, Y, modules=[3, 1], component=[1, 0])
    features = model.transform_modules(X)
    lines = iter(display.lines_)
    for component in (1, 0):
        for module in (3, 1):
            for label in range(3):
                grid, curve = next(lines).get_xydata().T
                values = features[module, label == Y, component]
                np.testing.assert_allclose(curve, kernel_density(values, grid), atol=1e-12)
    assert next(lines, None) is None


def test_labels_titles_legend_and_colours(model):
    display = ModuleDensityDisplay.from_estimator(model, X, NAMES, modules=[4, 0], component=1)
    assert display.axes_.shape == (1, 2)
    assert [axes.get_title() for axes in display.axes_[0]] == ["module 4", "module 0"]
    assert [axes.get_xlabel() for axes in display.axes_[0]] == ["component 1"] * 2
    assert display.axes_[0, 0].get_ylabel() == "density"
    assert display.legend_.get_title().get_text() == "class"
    assert [entry.get_text() for entry in display.legend_.get_texts()] == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    for line, colour in zip(display.lines_, PALETTE[:3] * 2, strict=True):
        assert same_color(line.get_color(), colour)


def test_the_first_three_modules_are_shown_or_as_many_as_there_are(model):
    assert ModuleDensityDisplay.from_estimator(model, X, Y).modules == [0, 1, 2]
    small = LinearModularAutoencoder(2, 1, random_state=0).fit(X)
    assert ModuleDensityDisplay.from_estimator(small, X, Y).modules == [0, 1]


def test_the_extractor_of_an_ensemble_or_of_a_search_is_found(model):
    ensemble = ModularClassifier(LinearModularAutoencoder(5, 2, 0.8, random_state=0)).fit(X, Y)
    search = ModularClassifierCV(ensemble.extractor, None, diversities=[0.8], cv=2).fit(X, Y)
    expected = ModuleDensityDisplay.from_estimator(model, X, Y)
    for estimator in (ensemble, search):
        found = ModuleDensityDisplay.from_estimator(estimator, X, Y)
        np.testing.assert_allclose(found.densities, expected.densities, atol=1e-12)


DEGENERATE = {
    "all rows the same": (np.full(6, 2.5), [0, 0, 0, 1, 1, 1]),
    "all rows 0": (np.zeros(6), [0, 0, 0, 1, 1, 1]),
    "all rows huge and the same": (np.full(6, 1e20), [0, 0, 0, 1, 1, 1]),
    "round-off apart": (1e6 + 1e-10 * np.arange(6), [0, 0, 0, 1, 1, 1]),
    "one row": (np.array([3.0]), [0]),
    "a class of one row": (np.array([0.0, 1.0, 2.0, 5.0]), [0, 0, 0, 1]),
    "a constant class": (np.array([0.0, 1.0, 2.0, 5.0, 5.0]), [0, 0, 0, 1, 1]),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_where_there_is_no_spread_a_peak_is_drawn(name):
    values, labels = DEGENERATE[name][0], np.array(DEGENERATE[name][1])
    classes = np.unique(labels)
    grid, curves = feature_densities(values, labels, classes, 400)
    for label, curve in zip(classes, curves, strict=True):
        own = values[labels == label]
        assert 0.9 < trapezoid(curve, grid) < 1.001  # the rest is beyond the borders
        if np.ptp(own) <= 1e-9 * np.abs(own).max():
            assert abs(grid[curve.argmax()] - own[0]) <= grid[1] - grid[0]


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12),
    labels=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_every_feature_has_finite_densities(values, labels):
    labels = np.array(labels[: len(values)])
    grid, curves = feature_densities(np.array(values), labels, np.unique(labels), 50)
    assert (np.diff(grid) > 0).all()
    assert np.isfinite(curves).all()
    assert (curves >= 0).all()


def test_constant_data_and_single_rows_are_drawn():
    constant = np.ones((8, 3))
    model = LinearModularAutoencoder(2, 2, random_state=0).fit(constant)
    for n_rows in (8, 1):
        labels = np.arange(n_rows) % 2
        display = ModuleDensityDisplay.from_estimator(model, constant[:n_rows], labels)
        assert np.isfinite(display.densities).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"modules": [5]}, "modules must be at most 4, got 5"),
        ({"modules": -1}, "modules must be at least 0, got -1"),
        ({"modules": []}, "modules must not be empty"),
        ({"component": 2}, "component must be at most 1, got 2"),
        ({"component": 0.5}, "component must be an integer of at least 0, got 0.5"),
        ({"n_points": 1}, "n_points must be at least 2, got 1"),
    ],
)
def test_what_is_not_there_is_refused(model, wrong, message):
    with pytest.raises(ValueError, match=message):
        ModuleDensityDisplay.from_estimator(model, X, Y, **wrong)


def test_shapes_must_agree(model):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ModuleDensityDisplay.from_estimator(model, X, Y[1:])
    panel = {"grids": np.zeros((1, 1, 9)), "modules": [0], "components": [0], "classes": ["a", "b"]}
    with pytest.raises(
        ValueError, match=r"densities must have shape \(1, 1, 2, 9\), got \(1, 1, 3, 9\)"
    ):
        ModuleDensityDisplay(densities=np.zeros((1, 1, 3, 9)), **panel)
