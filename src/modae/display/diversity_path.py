"""DiversityPathDisplay: errors of an ensemble and of its members against diversity."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from modae.display.style import BAND_OPACITY, BLUE, GREY, RED, open_frame, pyplot, single_axes
from modae.utils.text import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Baselines are all grey: the dashes tell them apart.
_DASHES = ("--", ":", "-.")

_BAND: dict[str, Any] = {"alpha": BAND_OPACITY, "linewidth": 0}


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

        def sorted_curve(name: str, given: Any) -> Any:
            curve = None if given is None else np.asarray(given, dtype=float)
            if curve is not None and curve.shape != order.shape:
                raise ValueError(
                    f"{name} must have one value for each diversity, {order.shape}, got {curve.shape}."
                )
            return None if curve is None else curve[order]

        self.diversities = values[order]
        self.ensemble_error = sorted_curve("ensemble_error", ensemble_error)
        self.individual_error = sorted_curve("individual_error", individual_error)
        self.ensemble_se = sorted_curve("ensemble_se", ensemble_se)
        self.individual_se = sorted_curve("individual_se", individual_se)
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
        ax: Axes | None = None,
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
        pyplot()
        check_is_fitted(search)
        results, place = search.cv_results_, search.best_index_
        params, ranks = results["params"], results["rank_test_score"]
        if "diversity" not in params[place]:  # a learner on X itself was chosen: the best one on modules
            on_modules = [i for i, each in enumerate(params) if "diversity" in each]
            if not on_modules:
                raise ValueError("search has tried no modules, so it has no errors against diversity.")
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
        return display.plot(ax)

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
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self._draw_curve("ensemble", self.ensemble_error, self.ensemble_se, BLUE)
        self._draw_curve("mean of its members", self.individual_error, self.individual_se, RED)
        for (name, (error, se)), dashes in zip(self.baseline.items(), cycle(_DASHES), strict=False):
            self.lines_.append(ax.axhline(error, color=GREY, linestyle=dashes, label=name))
            if se > 0.0:
                self.bands_.append(ax.axhspan(error - se, error + se, color=GREY, **_BAND))
        self.mark_ = None
        if self.chosen is not None:
            error = self.ensemble_error[self.diversities == self.chosen][:1]
            label = f"chosen diversity: {format_number(self.chosen, digits=3)}"
            look: dict[str, Any] = {"color": BLUE, "markersize": 8, "markeredgecolor": "white"}
            (self.mark_,) = ax.plot([self.chosen], error, "o", label=label, **look)
        ax.set(xlabel="diversity", ylabel="error")
        ax.set_ylim(bottom=0.0)
        ax.yaxis.set_major_formatter(lambda value, _: format_number(value, "%"))
        ax.legend(frameon=False, fontsize="small")
        open_frame(ax)
        return self

    def _draw_curve(self, name: str, error: np.ndarray, se: np.ndarray | None, colour: str) -> None:
        x = self.diversities
        # A single diversity has no line: the dot shows it.
        dot = "o" if len(error) == 1 else None
        self.lines_ += self.ax_.plot(x, error, color=colour, linewidth=2, marker=dot, label=name)
        if se is not None:
            self.bands_.append(self.ax_.fill_between(x, error - se, error + se, color=colour, **_BAND))


def _with_se(name: str, value: Any) -> tuple[float, float]:
    """An error and its standard error, 0 where it is not known."""
    numbers = np.ravel(value).tolist()
    if len(numbers) not in (1, 2):
        raise ValueError(
            f"baseline[{name!r}] must be an error, or a pair of error and standard error, got {value!r}."
        )
    return numbers[0], sum(numbers[1:])
