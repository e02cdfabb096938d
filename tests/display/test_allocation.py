"""AllocationDisplay: shares as a heat map, variances beside it."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from modae import BaggingAutoencoder, LinearModularAutoencoder, ModularClassifier
from modae.display import AllocationDisplay

X, Y = load_digits(return_X_y=True)
SHARES = np.array([[0.5, 0.5, 1e-9], [1.0, 0.0, 0.0]])


@pytest.fixture(scope="module")
def model():
    return LinearModularAutoencoder(6, 3, random_state=0).fit(X)


def test_the_heat_map_holds_the_allocation_at_each_diversity(model):
    diversities = [0.0, 0.3, 0.6, 0.9]
    display = AllocationDisplay.from_estimator(model, diversities=diversities)
    drawn = display.mesh_.get_array().filled(0.0)
    assert drawn.shape == (18, 4)
    for column, diversity in enumerate(diversities):
        expected = model.with_diversity(diversity).allocation_
        np.testing.assert_allclose(drawn[:, column], expected, atol=1e-6)
    # Each module has 3 components to give.
    np.testing.assert_allclose(drawn.sum(axis=0), 3.0, atol=1e-6)


def test_nobody_is_white(model):
    display = AllocationDisplay.from_estimator(model, diversities=[0.0, 1.0])
    hidden = display.mesh_.get_array().mask
    assert hidden[:, 0].tolist() == [False] * 3 + [True] * 15
    assert not hidden[:, 1].any()


def test_the_spectrum_stands_beside_at_the_same_heights(model):
    display = AllocationDisplay.from_estimator(model, diversities=[0.5], n_shown=7)
    np.testing.assert_array_equal(display.spectrum_.get_xdata(), model.eigenvalues_[:7])
    np.testing.assert_array_equal(display.spectrum_.get_ydata(), np.arange(1, 8))
    assert display.axes_[0].get_xscale() == "log"
    assert [axes.get_ylim() for axes in display.axes_] == [(7.5, 0.5)] * 2
    assert display.mesh_.get_array().shape == (7, 1)
    # Cells are centred on the numbers of their components.
    np.testing.assert_array_equal(display.mesh_.get_coordinates()[:, 0, 1], np.arange(8) + 0.5)


def test_words_and_scales(model):
    display = AllocationDisplay.from_estimator(model, diversities=[0.2, 0.7])
    spectrum, shares = display.axes_
    assert (spectrum.get_xlabel(), spectrum.get_ylabel()) == ("variance", "principal component")
    assert shares.get_xlabel() == "diversity"
    assert display.colorbar_.ax.get_ylabel() == "share of the modules"
    assert display.mesh_.get_clim() == (0.0, 1.0)
    assert spectrum.get_yticks().tolist() == [1, 5, 10, 15]


def test_the_default_is_the_whole_path(model):
    display = AllocationDisplay.from_estimator(model)
    np.testing.assert_allclose(display.diversities, np.arange(51) / 50)


def test_the_extractor_of_an_ensemble_is_found(model):
    ensemble = ModularClassifier(LinearModularAutoencoder(6, 3, random_state=0)).fit(X, Y)
    inside = AllocationDisplay.from_estimator(ensemble, diversities=[0.6]).shares
    np.testing.assert_allclose(inside, [model.with_diversity(0.6).allocation_], atol=1e-12)


def test_diversities_in_any_order():
    display = AllocationDisplay(diversities=[0.8, 0.0], shares=SHARES, eigenvalues=[3, 2, 1]).plot()
    np.testing.assert_array_equal(display.mesh_.get_array().filled(0.0), [[1, 0.5], [0, 0.5], [0, 0]])


@pytest.mark.parametrize(
    ("centres", "borders"),
    [
        ([0.0, 0.5, 1.0], [-0.25, 0.25, 0.75, 1.25]),
        ([0.0, 0.1, 0.5], [-0.05, 0.05, 0.3, 0.7]),
        ([0.5], [0.45, 0.55]),
    ],
)
def test_cells_lie_around_their_diversities(centres, borders):
    shares = np.full((len(centres), 2), 0.5)
    mesh = AllocationDisplay(diversities=centres, shares=shares, eigenvalues=[2, 1]).plot().mesh_
    np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], borders)


@pytest.mark.parametrize("eigenvalues", [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
def test_variances_of_zero_have_no_place_on_a_logarithmic_scale(eigenvalues):
    display = AllocationDisplay(diversities=[0.1, 0.2], shares=SHARES, eigenvalues=eigenvalues).plot()
    display.figure_.canvas.draw()
    positive = np.array(eigenvalues) > 0
    np.testing.assert_array_equal(np.isfinite(display.spectrum_.get_xdata()), positive)


def test_what_does_not_fit_is_refused(model):
    with pytest.raises(ValueError, match=r"shares must have a row .* \(2, 2\), got \(2, 3\)"):
        AllocationDisplay(diversities=[0.1, 0.2], shares=SHARES, eigenvalues=[2, 1])
    with pytest.raises(TypeError, match=r"must have a diversity path, .* got BaggingAutoencoder"):
        AllocationDisplay.from_estimator(BaggingAutoencoder(2, 2, random_state=0).fit(X))
    with pytest.raises(ValueError, match="n_shown must be at least 1, got 0"):
        AllocationDisplay.from_estimator(model, diversities=[0.5], n_shown=0)
    with pytest.raises(ValueError, match=r"diversity must be a number in \[0, 1\], got 1.5"):
        AllocationDisplay.from_estimator(model, diversities=[1.5])
