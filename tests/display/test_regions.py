"""DecisionRegionDisplay: regions and points in the same colours."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color, to_rgba
from sklearn.dummy import DummyClassifier
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.naive_bayes import GaussianNB

from modae import LinearModularAutoencoder, ModularClassifier
from modae.datasets import make_gaussian_mixture
from modae.display import DecisionRegionDisplay
from modae.display.style import PALETTE

CENTRES = np.array([[-2.0, -1.0], [2.0, -1.0], [0.0, 2.0]])
X, Y = make_gaussian_mixture(90, means=CENTRES, standard_deviation=0.5, random_state=0)
NAMES = np.array(["amber", "blue", "coral"])[Y]


def fitted(X=X, y=NAMES):
    extractor = LinearModularAutoencoder(3, 1, 0.9)
    return ModularClassifier(extractor, GaussianNB(), random_state=0).fit(X, y)


def drawn(estimator, X=X, y=NAMES):
    return DecisionRegionDisplay.from_estimator(estimator, X, y, grid_resolution=25)


def region_colours(display):
    """Colour of each cell as it is drawn."""
    return display.surface_.to_rgba(display.surface_.get_array())


def test_each_cell_has_the_colour_of_the_class_predicted_there():
    model = fitted()
    display = drawn(model)
    cells = np.c_[display.boundary.xx0.ravel(), display.boundary.xx1.ravel()]
    numbers = np.searchsorted(model.classes_, model.predict(cells))
    expected = np.array([to_rgba(colour) for colour in PALETTE])[numbers]
    found = region_colours(display).reshape(-1, 4)
    np.testing.assert_allclose(found[:, :3], expected[:, :3])
    assert len(np.unique(numbers)) == 3


def test_the_points_of_each_class_in_its_colour():
    display = drawn(fitted())
    assert isinstance(display.boundary, DecisionBoundaryDisplay)
    for number, points in enumerate(display.points_):
        np.testing.assert_array_equal(points.get_offsets(), X[number == Y])
        assert same_color(points.get_facecolor()[0], PALETTE[number])
        assert points.get_zorder() > display.surface_.get_zorder()


def test_legend_and_labels():
    display = drawn(fitted())
    assert display.legend_.get_title().get_text() == "class"
    assert [entry.get_text() for entry in display.legend_.get_texts()] == ["amber", "blue", "coral"]
    assert display.ax_.get_xlabel() == "first feature"
    assert display.ax_.get_ylabel() == "second feature"


def test_columns_of_a_table_name_the_axes():
    table = pd.DataFrame(X, columns=["length", "width"])
    display = drawn(fitted(table), table)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")


def test_two_classes_have_the_colours_of_the_first_two():
    two = Y < 2
    display = drawn(GaussianNB().fit(X[two], Y[two]), X[two], Y[two])
    colours = {tuple(colour) for colour in region_colours(display).reshape(-1, 4)[:, :3]}
    assert colours == {to_rgba(PALETTE[0])[:3], to_rgba(PALETTE[1])[:3]}


def test_a_class_that_is_never_predicted_changes_no_colour():
    always = DummyClassifier(strategy="constant", constant="blue").fit(X, NAMES)
    colours = region_colours(drawn(always)).reshape(-1, 4)[:, :3]
    np.testing.assert_allclose(colours, np.broadcast_to(to_rgba(PALETTE[1])[:3], colours.shape))


def test_a_single_class_is_one_region():
    one = GaussianNB().fit(X, np.zeros(len(X), dtype=int))
    display = drawn(one, X, np.zeros(len(X), dtype=int))
    assert set(np.ravel(display.surface_.get_array())) == {0}


def test_some_of_the_classes_among_the_points_keep_their_colours():
    only = Y == 2
    display = drawn(fitted(), X[only], NAMES[only])
    assert [len(points.get_offsets()) for points in display.points_] == [0, 0, only.sum()]
    assert same_color(display.points_[2].get_facecolor()[0], PALETTE[2])


@pytest.mark.parametrize(
    ("points", "margin"),
    [
        ([[0, 0], [1, 50]], 0.1),
        ([[0, 7], [20, 7]], 2.0),
        ([[3, 3], [3, 3]], 1.0),
    ],
)
def test_there_is_room_around_the_points(points, margin):
    model = DummyClassifier().fit(points, [0, 0])
    boundary = drawn(model, np.array(points, dtype=float), [0, 0]).boundary
    for grid, column in ((boundary.xx0, 0), (boundary.xx1, 1)):
        assert np.min(points, axis=0)[column] - grid.min() == pytest.approx(margin)
        assert grid.max() - np.max(points, axis=0)[column] == pytest.approx(margin)


def test_what_does_not_fit_is_refused():
    model = fitted()
    with pytest.raises(ValueError, match=r"X must have two features, .* got \(90, 3\)"):
        drawn(model, np.c_[X, X[:, 0]])
    with pytest.raises(ValueError, match=r"y must have only classes .* got \['green'\] too"):
        drawn(model, X[:2], ["green", "blue"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        drawn(model, X, NAMES[1:])
