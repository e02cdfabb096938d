"""DecisionRegionDisplay: who wins where, with the points on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from modae.display.style import BAND_OPACITY, class_colours, class_legend, pyplot, single_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class DecisionRegionDisplay:
    """Regions of the plane in which a classifier predicts each class, and the points.

    The regions are those of scikit-learn's :class:`~sklearn.inspection.DecisionBoundaryDisplay`; here
    regions, points and legend have the same colours, with two classes as with many, and also where a
    class is never predicted.

    Parameters
    ----------
    boundary : DecisionBoundaryDisplay
        Its ``response`` is the number of the predicted class, from 0.
    X : array-like of shape (n_samples, 2)
        The points.
    y : array-like of shape (n_samples,)
        Their labels.
    classes : ndarray of shape (n_classes,)
        Names of the classes, in the order of their numbers.

    Attributes
    ----------
    surface_ : QuadMesh
        The regions.
    points_ : list of PathCollection
        The points of each class.
    legend_ : Legend
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from modae import ModularClassifier
    >>> from modae.display import DecisionRegionDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ModularClassifier(random_state=0).set_params(extractor__n_components=1)
    >>> display = DecisionRegionDisplay.from_estimator(model.fit(X[:, :2], y), X[:, :2], y)
    >>> [entry.get_text() for entry in display.legend_.get_texts()]
    ['0', '1', '2']
    """

    def __init__(self, *, boundary: Any, X: Any, y: Any, classes: Any) -> None:
        self.boundary = boundary
        self.X, self.y, self.classes = np.asarray(X), column_or_1d(y), np.asarray(classes)
        check_consistent_length(self.X, self.y)
        unknown = np.setdiff1d(self.y, self.classes)
        if len(unknown):
            raise ValueError(
                f"y must have only classes that the estimator knows, {self.classes.tolist()}, got "
                f"{unknown.tolist()} too."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        grid_resolution: int = 200,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the regions of a classifier of two features.

        Parameters
        ----------
        estimator : fitted classifier
        X : {array-like, dataframe} of shape (n_samples, 2)
            The points to draw.
        y : array-like of shape (n_samples,)
            Their labels.
        grid_resolution : int, default=200
            Points in each direction at which the classifier is asked.
        ax : Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        display : DecisionRegionDisplay
        """
        pyplot()
        from matplotlib.figure import Figure
        from sklearn.inspection import DecisionBoundaryDisplay

        check_is_fitted(estimator)
        if np.ndim(X) != 2 or np.shape(X)[1] != 2:
            raise ValueError(f"X must have two features, shape (n_samples, 2), got {np.shape(X)}.")
        first, second = getattr(X, "columns", ("first feature", "second feature"))
        boundary = DecisionBoundaryDisplay.from_estimator(
            estimator,
            X,
            grid_resolution=grid_resolution,
            eps=_margin(np.asarray(X)),
            response_method="predict",
            # With a class of interest scikit-learn leaves the colours to us; predictions stay the same.
            class_of_interest=estimator.classes_[0],
            plot_method="pcolormesh",
            xlabel=str(first),
            ylabel=str(second),
            ax=Figure().subplots(),  # nobody sees it: scikit-learn draws as it computes
        )
        return cls(boundary=boundary, X=X, y=y, classes=estimator.classes_).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw, into new axes or into those given.

        Parameters
        ----------
        ax : Axes or None, default=None

        Returns
        -------
        self
        """
        ax = single_axes(ax)
        from matplotlib.colors import ListedColormap

        self.ax_, self.figure_ = ax, ax.figure
        colours = class_colours(len(self.classes))
        self.boundary.plot(
            plot_method="pcolormesh",
            ax=ax,
            cmap=ListedColormap(colours),
            vmin=-0.5,
            vmax=len(colours) - 0.5,
            alpha=BAND_OPACITY,
            edgecolors="none",
            rasterized=True,
            zorder=0,
        )
        self.surface_ = self.boundary.surface_
        self.points_ = []
        for name, colour in zip(self.classes, colours, strict=True):
            look = {"color": colour, "s": 18, "edgecolor": "white", "linewidth": 0.5}
            self.points_.append(ax.scatter(*self.X[self.y == name].T, label=str(name), **look))
        self.legend_ = class_legend(ax)
        return self


def _margin(points: np.ndarray) -> float:
    """Room around the points: a tenth of the shorter side of their box that is not 0."""
    sides = np.ptp(points, axis=0)
    return 0.1 * float(min(sides[sides > 0.0], default=10.0))
