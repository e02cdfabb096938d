"""A colour for each class: densities along features of modules, and regions of a classifier."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

import modae.display.style as style
from modae.ensembles.members import module_features
from modae.ensembles.parts import take_apart
from modae.utils.arrays import Array
from modae.utils.parameters import check_count

#: Values of a class within this fraction of the range of the feature are drawn as one peak so wide.
_FINEST = 0.02

#: How far curves go beyond the data, as a fraction of their range.
_MARGIN = 0.15


class ModuleDensityDisplay:
    """Density of each class along features of single modules.

    Each panel is one feature of one module: a projection of the data on a line. Where the curves of two
    classes lie apart, this feature tells them apart. Diverse modules separate different classes.

    Parameters
    ----------
    grids : array-like of shape (n_components, n_modules, n_points)
        Values of the feature at which the densities of a panel are known.
    densities : array-like of shape (n_components, n_modules, n_classes, n_points)
    classes : sequence of length n_classes
        Names of the classes.
    modules, components : sequence of int
        Numbers of the modules and of the components that are shown.

    Attributes
    ----------
    lines_ : list of Line2D
        One for each class in each panel, panel by panel.
    legend_ : Legend
    axes_ : ndarray of Axes of shape (n_components, n_modules)
    figure_ : Figure

    Examples
    --------
    >>> from modae import LinearModularAutoencoder
    >>> from modae.display import ModuleDensityDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearModularAutoencoder(5, 2, random_state=0).fit(X)
    >>> display = ModuleDensityDisplay.from_estimator(model, X, y, modules=[0, 3])
    >>> display.densities.shape  # components, modules, classes, points
    (1, 2, 3, 200)
    """

    def __init__(
        self, *, grids: Any, densities: Any, classes: Any, modules: Any, components: Any
    ) -> None:
        self.classes, self.modules, self.components = list(classes), list(modules), list(components)
        panels, points = (len(self.components), len(self.modules)), np.shape(grids)[-1:]
        self.grids = style.shaped("grids", grids, (*panels, *points))
        self.densities = style.shaped("densities", densities, (*panels, len(self.classes), *points))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        modules: int | Sequence[int] | None = None,
        component: int | Sequence[int] = 0,
        n_points: int = 200,
        ax: Any = None,
    ) -> Self:
        """Draw kernel densities of the classes along chosen features.

        Parameters
        ----------
        estimator : fitted estimator with ``transform_modules``
            Or an ensemble on one, as a fitted ``ModularClassifier``, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        modules : int, sequence of int, or None, default=None
            None means the first three, one column of panels for each.
        component : int or sequence of int, default=0
            Which component of these modules; several make several rows of panels.
        n_points : int, default=200
            Points of each curve.
        ax : Figure, sequence of Axes, or None, default=None
            As in :meth:`plot`.

        Returns
        -------
        display : ModuleDensityDisplay
        """
        style.pyplot()
        check_count("n_points", n_points, minimum=2)
        parts, labels = take_apart(estimator), column_or_1d(y)
        features = module_features(parts.extractor, parts.prepare(X))
        check_consistent_length(features[0], labels)
        wanted = range(min(3, len(features))) if modules is None else modules
        columns = style.chosen_indices("modules", wanted, len(features))
        rows = style.chosen_indices("component", component, min(each.shape[1] for each in features))
        classes = np.unique(labels)
        shown = [np.asarray(features[module]) for module in columns]
        panels = [[feature_densities(x[:, h], labels, classes, n_points) for x in shown] for h in rows]
        display = cls(
            grids=[[grid for grid, _ in row] for row in panels],
            densities=[[curves for _, curves in row] for row in panels],
            classes=classes,
            modules=columns,
            components=rows,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, into new axes or into those given.

        Parameters
        ----------
        ax : Figure, Axes, sequence of Axes, or None, default=None
            Where to put the axes, or these: one for each panel, row by row.

        Returns
        -------
        self
        """
        shape = (len(self.components), len(self.modules))
        self.axes_ = style.axes_grid(ax, shape, (1.0 + 2.4 * shape[1], 0.4 + 1.9 * shape[0]))
        self.figure_ = self.axes_[0, 0].figure
        self.lines_: list[Any] = []
        colours = style.class_colours(len(self.classes))
        for (row, column), panel in np.ndenumerate(self.axes_):
            grid = self.grids[row, column]
            curves = zip(self.classes, self.densities[row, column], colours, strict=True)
            for name, curve, colour in curves:
                self.lines_ += panel.plot(grid, curve, color=colour, linewidth=1.5, label=str(name))
                panel.fill_between(grid, curve, color=colour, alpha=style.BAND_OPACITY, linewidth=0)
            panel.set_xlabel(f"component {self.components[row]}")
            panel.set_ylim(bottom=0.0)
            panel.set_yticks([])  # only where densities lie high or low matters
            style.open_frame(panel)
        for panel, module in zip(self.axes_[0], self.modules, strict=True):
            panel.set_title(f"module {module}", fontsize="medium")
        for panel in self.axes_[:, 0]:
            panel.set_ylabel("density")
        self.legend_ = style.class_legend(self.axes_[0, -1])
        return self


def feature_densities(
    values: Array, labels: np.ndarray, classes: np.ndarray, n_points: int
) -> tuple[Array, Array]:
    """Points along one feature, and the density of each class there, (classes, points)."""
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    # A constant feature has no range: its size serves, or 1 if that is smaller.
    span = high - low if high - low > max(1e-9 * size, 1e-100) else max(size, 1.0)
    grid = np.linspace(low - _MARGIN * span, high + _MARGIN * span, n_points)
    curves = []
    for name in classes:
        own, finest = values[labels == name], _FINEST * span
        if np.ptp(own) < finest:  # values in one place have no spread to scale a kernel by: a fine peak
            own = own.mean() + finest * np.array([-1.0, 1.0])
        curves.append(gaussian_kde(own)(grid))
    return grid, np.array(curves)


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
            known = self.classes.tolist()
            raise ValueError(f"y must have only classes in {known}, got {unknown.tolist()} too.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 200, ax: Any = None
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
        style.pyplot()
        from matplotlib.figure import Figure
        from sklearn.inspection import DecisionBoundaryDisplay

        check_is_fitted(estimator)
        if np.ndim(X) != 2 or np.shape(X)[1] != 2:
            raise ValueError(f"X must have two features, shape (n_samples, 2), got {np.shape(X)}.")
        sides = np.ptp(np.asarray(X), axis=0)
        first, second = getattr(X, "columns", ("first feature", "second feature"))
        boundary = DecisionBoundaryDisplay.from_estimator(
            estimator,
            X,
            grid_resolution=grid_resolution,
            # Room around the points: a tenth of the shorter side of their box that is not 0.
            eps=0.1 * float(min(sides[sides > 0.0], default=10.0)),
            response_method="predict",
            # With a class of interest scikit-learn leaves the colours to us; predictions stay the same.
            class_of_interest=estimator.classes_[0],
            plot_method="pcolormesh",
            xlabel=str(first),
            ylabel=str(second),
            ax=Figure().subplots(),  # nobody sees it: scikit-learn draws as it computes
        )
        return cls(boundary=boundary, X=X, y=y, classes=estimator.classes_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, into new axes or into those given.

        Parameters
        ----------
        ax : Axes or None, default=None

        Returns
        -------
        self
        """
        ax = style.single_axes(ax)
        from matplotlib.colors import ListedColormap

        self.ax_, self.figure_ = ax, ax.figure
        colours = style.class_colours(len(self.classes))
        scale = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": len(colours) - 0.5}
        look = {"alpha": style.BAND_OPACITY, "edgecolors": "none", "rasterized": True, "zorder": 0}
        self.boundary.plot(plot_method="pcolormesh", ax=ax, **scale, **look)
        self.surface_ = self.boundary.surface_
        dots = {"s": 18, "edgecolor": "white", "linewidth": 0.5}
        self.points_ = [
            ax.scatter(*self.X[self.y == name].T, color=colour, label=str(name), **dots)
            for name, colour in zip(self.classes, colours, strict=True)
        ]
        self.legend_ = style.class_legend(ax)
        return self
