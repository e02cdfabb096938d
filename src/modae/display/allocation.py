"""AllocationDisplay: which modules look at which principal component."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from modae.display.style import BLUE, axes_grid, open_frame, pyplot
from modae.ensembles.parts import take_apart
from modae.utils.arrays import Array
from modae.utils.parameters import check_count
from modae.utils.text import format_number

#: Smaller shares are round-off, and left white.
_NOBODY = 1e-6


class AllocationDisplay:
    r"""Share of the modules on each principal component, against diversity.

    At diversity 0 all modules look at the same leading components; with diversity they spread over more
    and more of them, as water does when it is poured over steps: where a component is shared, its share
    :math:`p_k` satisfies :math:`1-\lambda+\lambda p_k=c\sqrt{w_k}`, with one water level :math:`c`. The
    variances :math:`w_k` are drawn beside.

    Parameters
    ----------
    diversities : array-like of shape (n,)
        In any order.
    shares : array-like of shape (n, K)
        ``allocation_`` at each diversity.
    eigenvalues : array-like of shape (K,)
        Variances along the principal axes.

    Attributes
    ----------
    spectrum_ : Line2D
        Variance of each component; components are counted from 1, downwards.
    mesh_ : QuadMesh
        Shares: a row for each component, a column for each diversity; masked, so white, where no
        module looks.
    colorbar_ : Colorbar
    axes_ : ndarray of two Axes
        That of the variances and that of the shares.
    figure_ : Figure

    Examples
    --------
    >>> from modae import LinearModularAutoencoder
    >>> from modae.display import AllocationDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = LinearModularAutoencoder(5, 2, random_state=0).fit(load_iris().data)
    >>> display = AllocationDisplay.from_estimator(model, diversities=[0.0, 0.5, 1.0])
    >>> display.shares[0]  # PCA with two components, in every module
    array([1., 1., 0., 0.])
    """

    def __init__(self, *, diversities: ArrayLike, shares: ArrayLike, eigenvalues: ArrayLike) -> None:
        values = np.asarray(diversities, dtype=float)
        order = np.argsort(values)
        self.diversities = values[order]
        self.eigenvalues = np.asarray(eigenvalues, dtype=float)
        table, wanted = np.asarray(shares, dtype=float), (len(values), len(self.eigenvalues))
        if table.shape != wanted:
            raise ValueError(
                "shares must have a row for each diversity and a column for each eigenvalue, "
                f"{wanted}, got {table.shape}."
            )
        self.shares = table[order]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        diversities: Iterable[float] | None = None,
        n_shown: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw the path of a fitted autoencoder.

        Parameters
        ----------
        estimator : fitted LinearModularAutoencoder
            Or an ensemble on one, a search for one, or a pipeline that ends in one.
        diversities : iterable of float, default=None
            None means 0, 0.02, ..., 1.
        n_shown : int, default=30
            Most principal components that are drawn.
        ax : Figure, sequence of two Axes, or None, default=None
            As in :meth:`plot`.

        Returns
        -------
        display : AllocationDisplay
        """
        pyplot()
        extractor = take_apart(estimator).extractor
        if not hasattr(extractor, "path"):
            raise TypeError(
                "estimator must have a diversity path, as LinearModularAutoencoder does, got "
                f"{extractor!r}."
            )
        values = np.linspace(0.0, 1.0, 51) if diversities is None else np.array(list(diversities))
        shares = [model.allocation_ for model in extractor.path(values.tolist())]
        display = cls(diversities=values, shares=shares, eigenvalues=extractor.eigenvalues_)
        return display.plot(ax, n_shown=n_shown)

    def plot(self, ax: Any = None, *, n_shown: int = 30) -> Self:
        """Draw, into new axes or into those given.

        Parameters
        ----------
        ax : Figure, sequence of two Axes, or None, default=None
            Where to put two axes, or these: the first for the variances, the second for the shares.
        n_shown : int, default=30
            Most principal components that are drawn.

        Returns
        -------
        self
        """
        from matplotlib.ticker import MaxNLocator

        check_count("n_shown", n_shown)
        n_shown = min(n_shown, len(self.eigenvalues))
        widths = {"width_ratios": (1, 3)}
        self.axes_ = axes_grid(ax, (1, 2), size=(6.4, 3.6), sharey=True, gridspec_kw=widths).ravel()
        left, right = self.axes_
        self.figure_ = left.figure
        self._draw_spectrum(left, self.eigenvalues[:n_shown])
        locator = MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True)
        ticks = np.asarray(locator.tick_values(0, n_shown))
        left.set_yticks(np.maximum(ticks[ticks <= n_shown], 1))  # 1 and round numbers
        edges = _edges(self.diversities), np.arange(n_shown + 1) + 0.5
        shares = np.ma.masked_less(self.shares[:, :n_shown].T, _NOBODY)
        look: dict[str, Any] = {"cmap": "viridis_r", "vmin": 0.0, "vmax": 1.0, "rasterized": True}
        self.mesh_ = right.pcolormesh(*edges, shares, **look)
        right.set(xlabel="diversity")
        self.colorbar_ = self.figure_.colorbar(self.mesh_, ax=right, label="share of the modules")
        for axes in self.axes_:
            axes.set_ylim(n_shown + 0.5, 0.5)
        return self

    def _draw_spectrum(self, ax: Any, variances: Array) -> None:
        from matplotlib.ticker import FuncFormatter, NullLocator

        # A logarithmic scale has no place for 0.
        visible = np.where(variances > 0.0, variances, np.nan)
        components = np.arange(1, len(variances) + 1)
        (self.spectrum_,) = ax.plot(visible, components, "o-", color=BLUE, markersize=3, linewidth=1)
        if (variances > 0.0).any():
            # Two numbers on the narrow axis: powers of ten overlap there, or none lies between them.
            ax.set_xscale("log")
            ax.set_xticks(sorted({float(np.nanmin(visible)), float(np.nanmax(visible))}))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value, digits=3)))
            ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlabel="variance", ylabel="principal component")
        open_frame(ax)


def _edges(centres: Array) -> Array:
    """Borders between cells around the given centres, half a step beyond the first and the last."""
    steps = np.diff(centres) if len(centres) > 1 else np.array([0.1])
    inner = centres[:-1] + np.diff(centres) / 2
    return np.concatenate([[centres[0] - steps[0] / 2], inner, [centres[-1] + steps[-1] / 2]])
