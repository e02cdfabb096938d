"""ReconstructionDisplay: images, and what each module makes of them."""

from collections.abc import Sequence
from math import isqrt
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

import modae.display.style as style
from modae.ensembles.parts import take_apart
from modae.utils.parameters import check_count

#: Colour between images: their own background may be white.
_BETWEEN = "#e4e4e4"


class ReconstructionDisplay:
    """Images, their reconstructions by single modules, and the mean of all modules.

    One row for each image. Single modules see different parts of it; their mean puts these together.
    All images have one scale of grey, from the least to the largest value of the originals; what lies
    outside is drawn as its end.

    Parameters
    ----------
    originals : array-like of shape (n, height, width)
    reconstructions : array-like of shape (n_shown, n, height, width)
        By the modules that are shown.
    means : array-like of shape (n, height, width)
        Mean reconstruction by all modules, shown or not.
    modules : sequence of int
        Numbers of the modules that are shown.

    Attributes
    ----------
    image_ : AxesImage
        All images side by side, masked between them.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from modae import LinearModularAutoencoder
    >>> from modae.display import ReconstructionDisplay
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> model = LinearModularAutoencoder(10, 5, 0.7, random_state=0).fit(X)
    >>> display = ReconstructionDisplay.from_estimator(model, X[:5])
    >>> [label.get_text() for label in display.ax_.get_xticklabels()]
    ['original', 'module 0', 'module 1', 'module 2', 'module 3', 'mean']
    """

    def __init__(self, *, originals: Any, reconstructions: Any, means: Any, modules: Any) -> None:
        self.originals = np.asarray(originals, dtype=float)
        self.modules = list(modules)
        images = self.originals.shape
        if len(images) != 3:
            raise ValueError(f"originals must have shape (n, height, width), got {images}.")
        by_module = (len(self.modules), *images)
        self.reconstructions = style.shaped("reconstructions", reconstructions, by_module)
        self.means = style.shaped("means", means, images)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        image_shape: tuple[int, int] | None = None,
        n_rows: int = 4,
        modules: int | Sequence[int] | None = None,
        cmap: str = "gray_r",
        ax: Any = None,
    ) -> Self:
        """Draw the first rows of X and what the modules make of them.

        Parameters
        ----------
        estimator : fitted estimator with ``reconstruct_modules``
            Or an ensemble on one, or a pipeline that ends in one: then the images are those that the
            modules see, after the steps before them.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        image_shape : (int, int), default=None
            Height and width of the image that a row is; None means a square.
        n_rows : int, default=4
            Most rows that are drawn.
        modules : int, sequence of int, or None, default=None
            None means the first four.
        cmap : str or Colormap, default="gray_r"
            Large values dark, as ink on paper; ``"gray"`` suits photographs.
        ax : Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        display : ReconstructionDisplay
        """
        check_count("n_rows", n_rows)
        parts = take_apart(estimator)
        extractor = parts.extractor
        if not hasattr(extractor, "reconstruct_modules"):
            raise TypeError(
                "estimator must have a method reconstruct_modules, as LinearModularAutoencoder does, "
                f"got {extractor!r}."
            )
        rows = parts.prepare(X[:n_rows])
        originals = rows.toarray() if issparse(rows) else np.asarray(rows)
        shape = (len(originals), *image_sides(image_shape, originals.shape[1]))
        every = np.asarray(extractor.reconstruct_modules(rows))
        wanted = range(min(4, len(every))) if modules is None else modules
        shown = style.chosen_indices("modules", wanted, len(every))
        display = cls(
            originals=originals.reshape(shape),
            reconstructions=every[shown].reshape(-1, *shape),
            means=every.mean(axis=0).reshape(shape),
            modules=shown,
        )
        return display.plot(ax, cmap=cmap)

    def plot(self, ax: Any = None, *, cmap: str = "gray_r") -> Self:
        """Draw, into new axes or into those given.

        Parameters
        ----------
        ax : Axes or None, default=None
        cmap : str or Colormap, default="gray_r"

        Returns
        -------
        self
        """
        columns = np.stack([self.originals, *self.reconstructions, self.means])
        n_columns, n_rows, height, width = columns.shape
        # The modules stand apart from the originals on their left and the means on their right.
        gap = max(1, width // 8)
        left = np.arange(n_columns) * (width + gap)
        left[1:] += gap
        left[-1] += gap
        top = np.arange(n_rows) * (height + gap)
        canvas = np.full((top[-1] + height, left[-1] + width), np.nan)  # matplotlib masks what is NaN
        for column, row in np.ndindex(n_columns, n_rows):
            y, x = top[row], left[column]
            canvas[y : y + height, x : x + width] = columns[column, row]
        inches = 0.8 / width  # about as wide as the label of a column
        ax = style.single_axes(ax, size=(canvas.shape[1] * inches, canvas.shape[0] * inches + 0.3))
        self.ax_, self.figure_ = ax, ax.figure
        ends = {"vmin": self.originals.min(), "vmax": self.originals.max()}
        self.image_ = ax.imshow(canvas, cmap=cmap, interpolation="nearest", **ends)
        names = ["original", *(f"module {module}" for module in self.modules), "mean"]
        ax.xaxis.tick_top()
        ax.set_xticks(left + (width - 1) / 2, names, fontsize="small")
        ax.tick_params(length=0)
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
        ax.set_facecolor(_BETWEEN)
        return self


def image_sides(image_shape: Any, n_features: int) -> tuple[int, int]:
    """Height and width: as given, or of a square."""
    if image_shape is None:
        side = isqrt(n_features)
        if side * side != n_features:
            raise ValueError(
                f"image_shape must be given as (height, width): {n_features} features are not a square."
            )
        return side, side
    shape = tuple(np.ravel(image_shape).tolist())
    is_size = len(shape) == 2 and all(isinstance(side, int) and side > 0 for side in shape)
    if not is_size or shape[0] * shape[1] != n_features:
        raise ValueError(
            f"image_shape must be (height, width) with a product of {n_features}, the number of "
            f"features, got {image_shape!r}."
        )
    return shape
