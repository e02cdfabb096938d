"""Pictures against diversity: errors of an ensemble, and which modules look at which component."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

import modae.display.style as style
from modae.ensembles.parts import take_apart
from modae.utils.parameters import check_count
from modae.utils.text import format_number

#: Baselines are all grey: the dashes tell them apart.
_DASHES = ("--", ":", "-.")

_BAND = {"alpha": style.BAND_OPACITY, "linewidth": 0}

#: Smaller shares are round-off, and left white.
_NOBODY = 1e-6


class DiversityPathDisplay:
    """Error of the ensemble, and of its members alone, against diversity.

    The picture of the trade-off: with diversity the members get worse one by one, while their vote gets
    better, up to a point. Bands are one standard error to each side.

    Parameters
    ----------
    diversities : array-like of shape (n,)
        In any order.
    ensemble_error, individual_error : array-like of shape (n,)
        Fractions, of the ensemble and of its members on average.
    ensemble_se, individual_se : array-like of shape (n,), default=None
        Their standard errors; None draws no band.
    baseline : mapping of str to float or (float, float), default=None
        Names of other models with their error, or with their error and its standard error.
    chosen : float, default=None
        The diversity to mark, one of ``diversities``.

    Attributes
    ----------
    lines_ : list of Line2D
        Ensemble, members, and the baselines in their order.
    bands_ : list of artists
        One standard error around those lines that have one.
    mark_ : Line2D or None
        The chosen diversity on the curve of the ensemble.
    ax_ : Axes
    figure_ : Figure

    See Also
    --------
    DiversityPathDisplay.from_estimator : Draws the results of a ``ModularClassifierCV``.

    Examples
    --------
    >>> from modae.display import DiversityPathDisplay
    >>> display = DiversityPathDisplay(
    ...     diversities=[0.0, 0.5, 1.0],
    ...     ensemble_error=[0.10, 0.05, 0.08],
    ...     individual_error=[0.10, 0.15, 0.40],
    ...     baseline={"random forest": (0.07, 0.01)},
    ...     chosen=0.5,
    ... )
    >>> drawn = display.plot()
    >>> [line.get_label() for line in drawn.lines_]
    ['ensemble', 'mean of its members', 'random forest']
    """

    measure = "error", "%"  # and its unit

    def __init__(
        self,
        *,
        diversities: ArrayLike,
        ensemble_error: ArrayLike,
        individual_error: ArrayLike,
        ensemble_se: ArrayLike | None = None,
        individual_se: ArrayLike | None = None,
        baseline: Mapping[str, Any] | None = None,
        chosen: float | None = None,
    ) -> None:
        values = np.asarray(diversities, dtype=float)
        order = np.argsort(values)

        def curve(name: str, given: Any) -> Any:
            rule = "one value for each diversity,"
            return None if given is None else style.shaped(name, given, order.shape, rule)[order]

        self.diversities = values[order]
        self.ensemble_error = curve("ensemble_error", ensemble_error)
        self.individual_error = curve("individual_error", individual_error)
        self.ensemble_se = curve("ensemble_se", ensemble_se)
        self.individual_se = curve("individual_se", individual_se)
        self.baseline = {name: _with_se(name, value) for name, value in (baseline or {}).items()}
        if chosen is not None and chosen not in values:
            raise ValueError(f"chosen must be one of the diversities {values.tolist()}, got {chosen!r}.")
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        baseline: Mapping[str, Any] | None = None,
        n_modules: int | None = None,
        n_components: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a search over diversity has found.

        Parameters
        ----------
        search : fitted ModularClassifierCV
        baseline : mapping of str to float or (float, float), default=None
            Names of other models with their error, or with their error and its standard error.
        n_modules, n_components : int or None, default=None
            Which of the sizes that were tried to show; None means the chosen one, or that of the best
            candidate with modules if the search chose a learner on X itself. The chosen diversity is
            marked where its size is shown.
        ax : Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        display : DiversityPathDisplay

        Examples
        --------
        >>> from modae import ModularClassifierCV
        >>> from modae.display import DiversityPathDisplay
        >>> from sklearn.datasets import load_iris
        >>> search = ModularClassifierCV(
        ...     estimator=None, n_components=2, diversities=[0.1, 0.5, 0.9], random_state=0
        ... ).fit(*load_iris(return_X_y=True))
        >>> display = DiversityPathDisplay.from_estimator(search, baseline={"one tree": 0.05})
        >>> display.diversities
        array([0.1, 0.5, 0.9])
        """
        check_is_fitted(search)
        results, place = search.cv_results_, search.best_index_
        params, ranks = results["params"], results["rank_test_score"]
        on_modules = [i for i, each in enumerate(params) if "diversity" in each]
        if not on_modules:
            raise ValueError("search has tried no modules, so it has no errors against diversity.")
        if place not in on_modules:  # a learner on X itself was chosen: the best one on modules
            place = min(on_modules, key=ranks.__getitem__)
        wanted = {name: value for name, value in params[place].items() if name != "diversity"}
        for name, asked in (("n_modules", n_modules), ("n_components", n_components)):
            tried = np.unique([each[name] for each in params if name in each])
            if asked is not None and asked not in tried:
                raise ValueError(f"{name} must be one of those tried, {tried}, got {asked!r}.")
            wanted[name] = wanted[name] if asked is None else asked
        shown = np.array(["diversity" in each and wanted.items() <= each.items() for each in params])
        if not shown.any():
            raise ValueError(f"n_modules and n_components must be tried together, got {wanted}.")
        display = cls(
            diversities=[each["diversity"] for each in np.asarray(params)[shown]],
            ensemble_error=results["mean_ensemble_error"][shown],
            individual_error=results["mean_individual_error"][shown],
            ensemble_se=results["se_ensemble_error"][shown],
            individual_se=results["se_individual_error"][shown],
            baseline=baseline,
            chosen=search.best_params_["diversity"] if shown[search.best_index_] else None,
        )
        if isinstance(search, RegressorMixin):
            display.measure = "1 \N{MINUS SIGN} R²", ""
        return display.plot(ax)

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
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        x, dot = self.diversities, "o" if len(self.diversities) == 1 else None  # one has no line
        for name, error, se, colour in (
            ("ensemble", self.ensemble_error, self.ensemble_se, style.BLUE),
            ("mean of its members", self.individual_error, self.individual_se, style.RED),
        ):
            self.lines_ += ax.plot(x, error, color=colour, linewidth=2, marker=dot, label=name)
            if se is not None:
                self.bands_.append(ax.fill_between(x, error - se, error + se, color=colour, **_BAND))
        for (name, (error, se)), dashes in zip(self.baseline.items(), cycle(_DASHES), strict=False):
            self.lines_.append(ax.axhline(error, color=style.GREY, linestyle=dashes, label=name))
            if se > 0.0:
                self.bands_.append(ax.axhspan(error - se, error + se, color=style.GREY, **_BAND))
        self.mark_ = None
        if self.chosen is not None:
            error = self.ensemble_error[self.diversities == self.chosen][:1]
            label = f"chosen diversity: {format_number(self.chosen, digits=3)}"
            look = {"color": style.BLUE, "markersize": 8, "markeredgecolor": "white"}
            (self.mark_,) = ax.plot([self.chosen], error, "o", label=label, **look)
        ax.set(xlabel="diversity", ylabel=self.measure[0])
        ax.set_ylim(bottom=0.0)
        ax.yaxis.set_major_formatter(lambda value, _: format_number(value, self.measure[1]))
        ax.legend(frameon=False, fontsize="small")
        style.open_frame(ax)
        return self


def _with_se(name: str, value: Any) -> tuple[float, float]:
    """An error and its standard error, 0 where it is not known."""
    numbers = np.ravel(value).tolist()
    if len(numbers) not in (1, 2):
        raise ValueError(
            f"baseline[{name!r}] must be an error, or a pair of error and standard error, got {value!r}."
        )
    return numbers[0], sum(numbers[1:])


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
        rule = "a row for each diversity and a column for each eigenvalue,"
        self.shares = style.shaped("shares", shares, (len(values), len(self.eigenvalues)), rule)[order]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, diversities: Any = None, n_shown: int = 30, ax: Any = None
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
        style.pyplot()
        extractor = take_apart(estimator).extractor
        if not hasattr(extractor, "path"):
            raise TypeError(
                f"estimator must have a diversity path, as LinearModularAutoencoder, got {extractor!r}."
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
        self.axes_ = style.axes_grid(ax, (1, 2), (6.4, 3.6), sharey=True, gridspec_kw=widths).ravel()
        left, right = self.axes_
        self.figure_ = left.figure
        # A logarithmic scale has no place for 0.
        variances = np.where(self.eigenvalues > 0.0, self.eigenvalues, np.nan)[:n_shown]
        components = np.arange(1, n_shown + 1)
        (self.spectrum_,) = left.plot(variances, components, "o-", color=style.BLUE, ms=3, lw=1)
        if np.isfinite(variances).any():
            # Two numbers on the narrow axis: powers of ten overlap there, or none lies between them.
            left.set_xscale("log")
            ends = sorted({float(np.nanmin(variances)), float(np.nanmax(variances))})
            left.set_xticks(ends, [format_number(value, digits=3) for value in ends])
            left.minorticks_off()
        left.set(xlabel="variance", ylabel="principal component")
        style.open_frame(left)
        locator = MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True)
        ticks = np.asarray(locator.tick_values(0, n_shown))
        left.set_yticks(np.maximum(ticks[ticks <= n_shown], 1))  # 1 and round numbers
        # Borders are half-way between neighbours; those beyond the ends are as far as the next ones.
        x = self.diversities
        x = np.pad(x, 1, "reflect", reflect_type="odd") if len(x) > 1 else x + np.array([-0.1, 0.0, 0.1])
        edges = (x[1:] + x[:-1]) / 2.0, np.arange(n_shown + 1) + 0.5
        shares = np.ma.masked_less(self.shares[:, :n_shown].T, _NOBODY)
        look = {"cmap": "viridis_r", "vmin": 0.0, "vmax": 1.0, "rasterized": True}
        self.mesh_ = right.pcolormesh(*edges, shares, **look)
        right.set(xlabel="diversity")
        self.colorbar_ = self.figure_.colorbar(self.mesh_, ax=right, label="share of the modules")
        for axes in self.axes_:
            axes.set_ylim(n_shown + 0.5, 0.5)
        return self
