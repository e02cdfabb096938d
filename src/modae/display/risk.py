"""Errors against the share of rows that are answered."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

import modae.display.style as style
from modae.metrics import risk_coverage_curve
from modae.utils.arrays import Array


class RiskCoverageDisplay:
    """Share of wrong answers against the share of rows that are answered, the surest first.

    At the right end every row is answered, and the risk is the error. The lower the curve is to the left
    of it, the better doubt tells errors apart: so many rows go to a person, and so few answers of the
    rest are wrong. It is judged on rows that the model was not trained on.

    Parameters
    ----------
    coverage, risk : array-like of shape (n_points,)
        As :func:`modae.metrics.risk_coverage_curve` gives them.
    name : str or None, default=None
        For the legend.

    Attributes
    ----------
    line_ : Line2D
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from modae import ModularClassifier
    >>> from modae.display import RiskCoverageDisplay
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ModularClassifier(random_state=0).fit(X[::2], y[::2])
    >>> display = RiskCoverageDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> bool(display.risk[len(display.risk) // 2] < display.risk[-1])
    True
    """

    def __init__(self, *, coverage: Any, risk: Any, name: str | None = None) -> None:
        self.coverage: Array = np.asarray(coverage, dtype=float)
        self.risk = style.shaped("risk", risk, self.coverage.shape, "as many points as coverage,")
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the curve of a classifier with probabilities; doubt is one minus the largest of them.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that it was not trained on.
        y : array-like of shape (n_samples,)
        name : str or None, default=None
            None means the name of its class.
        ax : Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        display : RiskCoverageDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba, got {type(estimator).__name__}: use "
                "from_predictions with a doubt of your own."
            )
        doubt = 1.0 - np.asarray(estimator.predict_proba(X)).max(axis=1)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, estimator.predict(X), doubt, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, doubt: Any, *, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the curve of predictions with their doubt.

        Parameters
        ----------
        y_true, y_pred, doubt : array-like of shape (n_samples,)
            As in :func:`modae.metrics.risk_coverage_curve`.
        name : str or None, default=None
        ax : Axes or None, default=None

        Returns
        -------
        display : RiskCoverageDisplay
        """
        coverage, risk = risk_coverage_curve(y_true, y_pred, doubt)
        return cls(coverage=coverage, risk=risk, name=name).plot(ax)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw, into new axes or into those given.

        Parameters
        ----------
        ax : Axes or None, default=None
        name : str or None, default=None
            Another name for the legend.
        **kwargs : dict
            For ``Axes.plot``.

        Returns
        -------
        self
        """
        ax = style.single_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        name, area = self.name if name is None else name, f"area {self.risk.mean():.3g}"
        look = {"label": area if name is None else f"{name} ({area})", **kwargs}
        (self.line_,) = ax.plot(self.coverage, self.risk, **look)
        ax.set(xlabel="share of the rows answered", ylabel="share of the answers wrong", xlim=(0.0, 1.0))
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False, loc="upper left")
        style.open_frame(ax)
        return self
