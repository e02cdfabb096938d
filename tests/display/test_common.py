"""What holds for every display: draw into what is given, draw again, leave the rest alone."""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modae import LinearModularAutoencoder, ModularClassifier, ModularClassifierCV
from modae.display import (
    AllocationDisplay,
    DecisionRegionDisplay,
    DiversityPathDisplay,
    ModuleDensityDisplay,
    ReconstructionDisplay,
    RiskCoverageDisplay,
)
from modae.display.style import PALETTE, class_colours

RNG = np.random.default_rng(0)
PLANE, LABELS = RNG.standard_normal((40, 2)), np.repeat([0, 1], 20)
IMAGES = RNG.standard_normal((40, 9))


def extractor():
    return LinearModularAutoencoder(4, 2, random_state=0).fit(IMAGES)


FROM_ESTIMATOR = {
    "path": lambda ax: DiversityPathDisplay.from_estimator(
        ModularClassifierCV(
            None, None, diversities=[0.2, 0.5], n_components=[2], cv=2, random_state=0
        ).fit(IMAGES, LABELS),
        ax=ax,
    ),
    "allocation": lambda ax: AllocationDisplay.from_estimator(
        extractor(), diversities=[0.0, 0.5], ax=ax
    ),
    "densities": lambda ax: ModuleDensityDisplay.from_estimator(
        extractor(), IMAGES, LABELS, modules=[0, 1], ax=ax
    ),
    "reconstruction": lambda ax: ReconstructionDisplay.from_estimator(extractor(), IMAGES, ax=ax),
    "regions": lambda ax: DecisionRegionDisplay.from_estimator(
        GaussianNB().fit(PLANE, LABELS), PLANE, LABELS, grid_resolution=10, ax=ax
    ),
    "risk": lambda ax: RiskCoverageDisplay.from_estimator(
        GaussianNB().fit(PLANE, LABELS), PLANE, LABELS, ax=ax
    ),
}
N_AXES = {"path": 1, "allocation": 2, "densities": 2, "reconstruction": 1, "regions": 1, "risk": 1}
every_display = pytest.mark.parametrize("name", FROM_ESTIMATOR)


def axes_in(figure, name):
    """As many axes as the display needs, in a figure that pyplot does not know."""
    return figure.subplots(1, N_AXES[name])


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


@every_display
def test_a_new_figure_is_made_where_no_axes_are_given(name):
    before = plt.get_fignums()
    display = FROM_ESTIMATOR[name](None)
    assert len(plt.get_fignums()) == len(before) + 1
    assert display.figure_.number in plt.get_fignums()


@every_display
def test_given_axes_are_used_and_nothing_else_is_touched(name):
    plt.figure()
    settings, figures, current = dict(plt.rcParams), plt.get_fignums(), plt.gcf()
    figure = Figure(layout="constrained")
    axes = axes_in(figure, name)
    display = FROM_ESTIMATOR[name](axes)
    used = display.axes_ if N_AXES[name] > 1 else [display.ax_]
    assert list(np.ravel(used)) == list(np.ravel(axes))
    assert display.figure_ is figure
    assert all(each.has_data() for each in np.ravel(axes))
    assert dict(plt.rcParams) == settings
    assert plt.get_fignums() == figures
    assert plt.gcf() is current


@every_display
def test_one_display_draws_the_same_picture_again(name):
    display = FROM_ESTIMATOR[name](None)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    np.testing.assert_array_equal(pixels(display.figure_), pixels(first))


@pytest.mark.parametrize("name", [name for name, count in N_AXES.items() if count == 1])
def test_one_axes_means_one_axes(name):
    with pytest.raises(ValueError, match="ax must be one matplotlib Axes or None, got list"):
        FROM_ESTIMATOR[name]([plt.subplots()[1]])


@pytest.mark.parametrize("name", [name for name, count in N_AXES.items() if count > 1])
def test_several_axes_are_counted_or_made_in_a_figure(name):
    with pytest.raises(ValueError, match=r"ax must be 2 matplotlib Axes .* got 1: Axes"):
        FROM_ESTIMATOR[name](plt.subplots()[1])
    with pytest.raises(ValueError, match="got 2: Axes, str_"):
        FROM_ESTIMATOR[name](np.array([plt.subplots()[1], np.str_("x")], dtype=object))
    figure = Figure()
    for part in (figure, *Figure().subfigures(1, 1, squeeze=False).ravel()):
        assert FROM_ESTIMATOR[name](part).figure_ is part


@every_display
def test_without_matplotlib_the_message_says_how_to_install_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'without matplotlib.*: pip install "modae\[plot\]"'):
        FROM_ESTIMATOR[name](None)


def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, modae.display; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


UNFITTED = {
    DiversityPathDisplay: (ModularClassifierCV(),),
    AllocationDisplay: (LinearModularAutoencoder(),),
    ModuleDensityDisplay: (ModularClassifier(), IMAGES, LABELS),
    ReconstructionDisplay: (LinearModularAutoencoder(), IMAGES),
    DecisionRegionDisplay: (GaussianNB(), PLANE, LABELS),
}


@pytest.mark.parametrize("display", UNFITTED)
def test_unfitted_estimators_are_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(*UNFITTED[display])


def test_a_pipeline_is_drawn_as_its_modules_see_the_rows():
    scaler = StandardScaler().fit(7.0 + 3.0 * IMAGES)
    scaled = scaler.transform(IMAGES)
    modules = LinearModularAutoencoder(4, 2, 0.5, random_state=0)
    pipeline = make_pipeline(StandardScaler(), modules).fit(7.0 + 3.0 * IMAGES)
    alone = modules.fit(pipeline[0].transform(7.0 + 3.0 * IMAGES))
    densities = [
        ModuleDensityDisplay.from_estimator(model, rows, LABELS).densities
        for model, rows in ((pipeline, IMAGES), (alone, scaled))
    ]
    np.testing.assert_allclose(*densities)
    pictures = [
        ReconstructionDisplay.from_estimator(model, rows).reconstructions
        for model, rows in ((pipeline, IMAGES), (alone, scaled))
    ]
    np.testing.assert_allclose(*pictures)
    shares = [AllocationDisplay.from_estimator(model).shares for model in (pipeline, alone)]
    np.testing.assert_allclose(*shares)


def test_every_class_has_its_own_colour():
    assert class_colours(3) == list(PALETTE[:3])
    for n_classes in (1, 10, 11, 40):
        assert len({tuple(colour) for colour in class_colours(n_classes)}) == n_classes


def test_the_pictures_of_the_documentation_are_small():
    images = Path(__file__).parents[2] / "docs" / "images"
    sizes = [picture.stat().st_size for picture in images.glob("display-*.png")]
    assert len(sizes) == len(FROM_ESTIMATOR)
    assert max(sizes) < 120_000
