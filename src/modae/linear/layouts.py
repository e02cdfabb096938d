"""Layouts of the linear estimators and of what is behind them: moments, spectrum, solution, modules.

Sizes: D features, T targets, M modules, H components, K principal axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.core.solution import ATTAINED, NOT_ATTAINABLE, UNDECIDED, Solution
from modae.data.moments import Moments
from modae.data.namespaces import MEMORY
from modae.data.rows import KeptRows
from modae.data.spectrum import Spectrum
from modae.data.summary import Stream
from modae.files.rules import (
    Choice,
    Count,
    Each,
    Floats,
    Layout,
    Maybe,
    Number,
    Record,
    Rows,
    Sizes,
    flag,
    precision,
    require,
)
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggingAutoencoder, BaggingModel, FittedBagging
from modae.linear.least_squares import LeastSquares, Maps
from modae.linear.model import SOLVERS, Fitted, LinearModel, Settings
from modae.linear.modules import Modules
from modae.linear.regressor import FittedRegression, LinearModularRegressor, RegressionModel

ROUND_OFF = 1e-5
"""By how much a share may be outside of 0 to 1."""


def feature_names(value: Any, sizes: Sizes) -> None:
    """One name for each of D features."""
    named = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object
    require(named and all(isinstance(name, str) for name in value), "must be an array of words")
    Count("D")(len(value), sizes)


def components(value: Any, sizes: Sizes) -> None:
    """H, or a share of the variance that decides it later."""
    if isinstance(value, float):
        Number(above=0.0, maximum=1.0)(value, sizes)
    else:
        Count("H")(value, sizes)


def known_features() -> dict[str, Any]:
    """What every fitted estimator knows of its columns."""
    return {"n_features_in_": Count("D"), "feature_names_in_": feature_names}


OPTIONAL_NAMES = frozenset({"feature_names_in_"})

MOMENTS = Layout(
    "modae.core.Moments",
    Moments,
    {
        "weight": Number(above=0.0),
        "shift": Floats("D"),
        "offset": Floats("D"),
        "covariance": Floats("D", "D"),
        "dtype": precision,
        "unit": Number(above=0.0),
        "cancelled": Number(minimum=0.0),
    },
)

KEPT_ROWS = Layout(
    "modae.core.KeptRows",
    KeptRows,
    {"rows": Rows("D"), "weights": Maybe(Floats(None, minimum=0.0))},
    agree=lambda kept: require(
        kept.weights is None or len(kept.weights) == kept.rows.shape[0], "one weight for each row"
    ),
)

STREAM = Layout(
    "modae.core.Stream",
    Stream,
    {"moments": Maybe(Record(MOMENTS)), "pending": Each(Record(KEPT_ROWS))},
)

SETTINGS = Layout(
    "modae.Settings",
    Settings,
    {
        "n_modules": Count("M"),
        "n_components": components,
        "diversity": Number(minimum=0.0, maximum=1.0),
        "solver": Choice(("auto", *SOLVERS)),
        "spectrum": Choice(("auto", "exact", "krylov")),
        "tol": Number(minimum=0.0),
        "max_iter": Count(),
        "seed": Count(minimum=0),
    },
)

SPECTRUM = Layout(
    "modae.core.Spectrum",
    Spectrum,
    {
        "mean": Floats("D"),
        "axes": Floats("K", "D"),
        "eigenvalues": Floats("K", minimum=0.0, falling=True),
        "total_variance": Number(minimum=0.0),
        "unit": Number(above=0.0),
        "hidden": Number(minimum=0.0),
        "slack": Number(minimum=0.0),
    },
)


def _make_solution(cls: type[Solution], **state: Any) -> Solution:
    """The modules in principal axes are not stored: those in the axes of the data are."""
    none = np.empty((0, 0, 0))
    return cls(decoders=none, encoders=none, **state)


SOLUTION = Layout(
    "modae.core.Solution",
    Solution,
    {
        "shares": Floats("K", minimum=-ROUND_OFF, maximum=1.0 + ROUND_OFF),
        "loss": Number(),
        "reconstruction_error": Number(),
        "diversity_term": Number(),
        "lower_bound": Number(minimum=0.0),
        "gap": Number(),
        "attainment": Choice((ATTAINED, NOT_ATTAINABLE, UNDECIDED)),
        "loss_history": Floats(None),
        "n_iter": Count(),
        "converged": flag,
        "solver": Choice(tuple(SOLVERS)),
    },
    make=_make_solution,
)


def _make_tuple(cls: Any, **state: Any) -> Any:
    return cls(**state)


MODULES = Layout(
    "modae.Modules",
    Modules,
    {
        "mean": Floats("D"),
        "encoders": Floats("M", "H", "D"),
        "decoders": Floats("M", "D", "H"),
        "diversity": Number(minimum=0.0, maximum=1.0),
    },
    make=_make_tuple,
)

LINEAR_MODEL = Layout(
    "modae.LinearModel",
    LinearModel,
    {
        "settings": Record(SETTINGS),
        "spectrum": Record(SPECTRUM),
        "dtype": precision,
        "total_variance": Number(minimum=0.0),
        "eigenvalues": Floats("K", minimum=0.0, falling=True),
        "solution": Record(SOLUTION),
        "modules": Record(MODULES),
        "explained_variance_ratio": Floats("M"),
    },
)


def _take_fitted(fitted: Fitted) -> dict[str, Any]:
    """Rows of a finished fit stay out of files; those of a stream are what it continues from."""
    state = fitted.__getstate__()
    stream = state["stream"]
    finished = state["model"] is not None and not fitted.grows
    return state | {"stream": None if finished and stream is not None and stream.pending else stream}


def _make_fitted(cls: type[Fitted], **state: Any) -> Fitted:
    """Refuse rows in a finished fit: :func:`_take_fitted` hides them, and so from the rules too."""
    stream, finished = state["stream"], state["model"] is not None and not state["grows"]
    require(stream is None or type(stream) is Stream, "a stream must be a modae.core.Stream")
    require(not finished or stream is None or stream.pending == (), "a finished fit must have no rows")
    return cls(**state)


FITTED = Layout(
    "modae.Fitted",
    Fitted,
    {
        "stream": Maybe(Record(STREAM)),
        "settings": Record(SETTINGS, {"M": "M"}),  # H may be a share here, and a number in the model
        "model": Maybe(Record(LINEAR_MODEL)),
        "grows": flag,
    },
    agree=lambda fitted: require(
        fitted._model is not None or (fitted.stream is not None and not fitted.stream.is_empty),
        "there is neither a model nor data",
    ),
    take=_take_fitted,
    make=_make_fitted,
)

AUTOENCODER = Layout(
    "modae.LinearModularAutoencoder",
    LinearModularAutoencoder,
    {**known_features(), "_fitted": Record(FITTED)},
    optional=OPTIONAL_NAMES,
    covers=frozenset({MEMORY}),
)


def _make_bagging(estimator: Any, **state: Any) -> None:
    """The fitted attributes are read from one model."""
    modules = Modules(
        state.pop("mean_", None),
        state.pop("encoders_", None),
        state.pop("decoders_", None),
        diversity=0.0,
    )
    model = BaggingModel(modules, state.pop("eigenvalues_", None), state.pop("n_components_", None))
    vars(estimator).update(state, _fitted=FittedBagging(model))


BAGGING = Layout(
    "modae.BaggingAutoencoder",
    BaggingAutoencoder,
    {
        **known_features(),
        "n_components_": Count("H"),
        "mean_": Floats("D"),
        "encoders_": Floats("M", "H", "D"),
        "decoders_": Floats("M", "D", "H"),
        "eigenvalues_": Floats("M", "H", minimum=0.0),
    },
    optional=OPTIONAL_NAMES,
    make=_make_bagging,
    covers=frozenset({"_fitted", MEMORY}),
)

LEAST_SQUARES = Layout(
    "modae.core.LeastSquares",
    LeastSquares,
    {
        "row_mean": Floats("D"),
        "coefficients": Floats("T", "D"),
        "spectrum": Record(SPECTRUM, {"D": "T", "K": "K"}),
        "root_penalty": Number(minimum=0.0),
    },
)

MAPS = Layout(
    "modae.core.Maps",
    Maps,
    {
        "row_mean": Floats("D"),
        "target_mean": Floats("T"),
        "decoders": Floats("M", "T", "H"),
        "encoders": Floats("M", "H", "D"),
        "mean": Floats("T", "D"),
    },
    make=_make_tuple,
)


def _regression_agrees(model: RegressionModel) -> None:
    """Coefficients and intercept in the shape of y."""
    targets, features = model.maps.mean.shape
    flat = (features,), ()
    full = (targets, features), (targets,)
    shapes = np.shape(model.coef), np.shape(model.intercept)
    require(shapes == (flat if model.flat else full), f"coefficients have shapes {shapes}")
    require(targets == 1 or not model.flat, "several targets are not flat")
    finite = np.isfinite(model.coef).all() and np.isfinite(model.intercept).all()
    require(finite, "coefficients must be finite")


def coefficients(value: Any, sizes: Sizes) -> None:
    """Floats of any shape, which :func:`_regression_agrees` looks at."""
    numeric = isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == "f"
    require(numeric, f"must be floats, got {type(value).__name__}")


REGRESSION_MODEL = Layout(
    "modae.RegressionModel",
    RegressionModel,
    {
        "base": Record(LEAST_SQUARES),
        "fitted_values": Record(LINEAR_MODEL, {"D": "T", "K": "K", "M": "M", "H": "H"}),
        "flat": flag,
        "settings": Record(SETTINGS),
        "maps": Record(MAPS),
        "coef": coefficients,
        "intercept": coefficients,
        "loss": Number(),
        "reconstruction_error": Number(),
        "diversity_term": Number(),
    },
    agree=_regression_agrees,
)

FITTED_REGRESSION = Layout(
    "modae.FittedRegression", FittedRegression, {"model": Record(REGRESSION_MODEL)}, make=_make_tuple
)

REGRESSOR = Layout(
    "modae.LinearModularRegressor",
    LinearModularRegressor,
    {**known_features(), "_fitted": Record(FITTED_REGRESSION)},
    optional=OPTIONAL_NAMES,
)

LAYOUTS = (
    MOMENTS, KEPT_ROWS, STREAM, SETTINGS, SPECTRUM, SOLUTION, MODULES, LINEAR_MODEL, FITTED, AUTOENCODER,
    BAGGING, LEAST_SQUARES, MAPS, REGRESSION_MODEL, FITTED_REGRESSION, REGRESSOR,
)  # fmt: skip
