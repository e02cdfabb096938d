"""ReconstructionDisplay: originals, modules and their mean in one grid."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits, load_iris
from sklearn.frozen import FrozenEstimator

from modae import LinearModularAutoencoder, ModularClassifier
from modae.display import ReconstructionDisplay

X, Y = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    return LinearModularAutoencoder(6, 4, 0.8, random_state=0).fit(X)


def tiles(display):
    """The images in the grid, (rows, columns, height, width), cut out where the mask is not."""
    canvas = display.image_.get_array()
    mask = np.ma.getmaskarray(canvas)
    rows = np.flatnonzero(~mask.all(axis=1))
    columns = np.flatnonzero(~mask.all(axis=0))
    _, height, width = display.originals.shape
    inside = canvas[np.ix_(rows, columns)]
    assert not np.ma.getmaskarray(inside).any()
    return inside.data.reshape(-1, height, len(columns) // width, width).swapaxes(1, 2)


def test_the_grid_holds_original_modules_and_mean(model):
    display = ReconstructionDisplay.from_estimator(model, X, n_rows=3, modules=[5, 0])
    grid = tiles(display)
    assert grid.shape == (3, 4, 8, 8)
    every = model.reconstruct_modules(X[:3])
    mean = model.inverse_transform(model.transform(X[:3]))
    for column, expected in enumerate([X[:3], every[5], every[0], mean]):
        np.testing.assert_allclose(grid[:, column], expected.reshape(3, 8, 8), atol=1e-12)


def test_columns_are_labelled_at_their_centres(model):
    display = ReconstructionDisplay.from_estimator(model, X, n_rows=2, modules=[5, 0])
    names = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert names == ["original", "module 5", "module 0", "mean"]
    shown = ~np.ma.getmaskarray(display.image_.get_array()).all(axis=0)
    centres = np.flatnonzero(shown).reshape(4, 8).mean(axis=1)
    np.testing.assert_array_equal(display.ax_.get_xticks(), centres)
    assert len(display.ax_.get_yticks()) == 0


def test_one_scale_of_grey_that_of_the_originals(model):
    display = ReconstructionDisplay.from_estimator(model, X, n_rows=5)
    assert display.image_.get_clim() == (X[:5].min(), X[:5].max())
    assert display.image_.get_cmap().name == "gray_r"
    assert display.plot(cmap="gray").image_.get_cmap().name == "gray"


def test_the_first_four_modules_are_shown_or_as_many_as_there_are(model):
    assert ReconstructionDisplay.from_estimator(model, X).modules == [0, 1, 2, 3]
    small = LinearModularAutoencoder(2, 3, random_state=0).fit(X)
    display = ReconstructionDisplay.from_estimator(small, X[:2])
    assert (display.modules, len(display.originals)) == ([0, 1], 2)


@pytest.mark.parametrize("kind", [csr_array, pd.DataFrame, np.ndarray.tolist])
def test_every_kind_of_rows(model, kind):
    expected = ReconstructionDisplay.from_estimator(model, X)
    fitted = LinearModularAutoencoder(6, 4, 0.8, random_state=0).fit(kind(X))
    display = ReconstructionDisplay.from_estimator(fitted, kind(X[:9]))
    np.testing.assert_allclose(display.reconstructions, expected.reconstructions, atol=1e-8)
    np.testing.assert_array_equal(display.originals, expected.originals)


def test_the_extractor_of_an_ensemble_and_a_frozen_one(model):
    ensemble = ModularClassifier(FrozenEstimator(model)).fit(X[:100], Y[:100])
    for estimator in (ensemble, FrozenEstimator(model)):
        display = ReconstructionDisplay.from_estimator(estimator, X, n_rows=1)
        np.testing.assert_array_equal(
            display.reconstructions.reshape(4, 1, 64), model.reconstruct_modules(X[:1])[:4]
        )


def test_images_need_not_be_square(model):
    display = ReconstructionDisplay.from_estimator(model, X, image_shape=(4, 16), n_rows=2)
    np.testing.assert_array_equal(tiles(display)[:, 0], X[:2].reshape(2, 4, 16))
    iris = load_iris().data[:, :3]
    fitted = LinearModularAutoencoder(2, 1, random_state=0).fit(iris)
    with pytest.raises(ValueError, match=r"image_shape must be given .* 3 features are not a square"):
        ReconstructionDisplay.from_estimator(fitted, iris)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"image_shape": (8, 9)}, r"with a product of 64, .* got \(8, 9\)"),
        ({"image_shape": 64}, r"image_shape must be \(height, width\) .* got 64"),
        ({"image_shape": (-8, -8)}, r"image_shape must be .* got \(-8, -8\)"),
        ({"image_shape": (8.0, 8.0)}, r"image_shape must be .* got \(8.0, 8.0\)"),
        ({"n_rows": 0}, "n_rows must be at least 1, got 0"),
        ({"modules": 6}, "modules must be at most 5, got 6"),
    ],
)
def test_what_does_not_fit_is_refused(model, wrong, message):
    with pytest.raises(ValueError, match=message):
        ReconstructionDisplay.from_estimator(model, X, **wrong)


class Features(BaseEstimator):
    """Modules without a way back."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform_modules(self, X):
        return [X]


def test_an_extractor_that_cannot_reconstruct_is_named():
    with pytest.raises(TypeError, match=r"must have a method reconstruct_modules, .* got Features"):
        ReconstructionDisplay.from_estimator(Features().fit(X), X)


def test_shapes_must_agree():
    images = np.zeros((2, 3, 3))
    with pytest.raises(ValueError, match=r"means must have shape \(2, 3, 3\), got \(1, 3, 3\)"):
        ReconstructionDisplay(
            originals=images, reconstructions=images[None], means=images[:1], modules=[0]
        )
    with pytest.raises(
        ValueError, match=r"originals must have shape \(n, height, width\), got \(3, 3\)"
    ):
        ReconstructionDisplay(originals=images[0], reconstructions=[], means=images, modules=[])
