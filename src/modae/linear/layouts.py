"""Layouts of the linear estimators and of what is behind them: moments, spectrum, solution, modules.

Sizes: D features, T targets, M modules, H components, K principal axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from modae.core.objective import ATTAINED, NOT_ATTAINABLE, UNDECIDED, Solution
from modae.data.moments import Moments
from modae.data.spectrum import KeptRows, Spectrum
from modae.data.summary import DataSummary
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
from modae.linear.bagging import BaggedAxes, BaggingAutoencoder
from modae.linear.least_squares import LeastSquares
from modae.linear.model import SOLVERS, LinearModel, Settings
from modae.linear.regressor import LinearModularRegressor

ROUND_OFF = 1e-5  # by how much a share may be outside of 0 to 1


def feature_names(value: Any, sizes: Sizes) -> None:
    """One name for each of D features."""
    named = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object
    require(named and all(isinstance(name, str) for name in value), "must be an array of strings")
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
    holds_rows=True,
    agree=lambda kept: require(
        kept.weights is None or len(kept.weights) == kept.rows.shape[0], "one weight for each row"
    ),
)

STREAM = Layout(
    "modae.DataSummary",
    DataSummary,
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


SOLUTION = Layout(
    "modae.core.Solution",
    Solution,
    {
        "decoders": Floats("M", "U", "H"),
        "encoders": Floats("M", "H", "U"),
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
)


def _take_model(model: LinearModel, resumable: bool) -> dict[str, Any]:
    names = ("settings", "spectrum", "dtype", "solution", "mean", "encoders", "decoders", "grows")
    solved = model.solved()
    return {name: getattr(solved, name) for name in names} | {"summary": model.summary}


def _make_model(cls: type[LinearModel], **state: Any) -> LinearModel:
    """A solved model; its arrays are those of the file, not computed again."""
    model = cls.__new__(cls)
    hidden = {f"_{name}": state.pop(name) for name in ("settings", "spectrum", "solution")}
    require(type(hidden["_solution"]) is Solution, "a model must have a modae.core.Solution")
    model.__setstate__(state | hidden)
    return model


LINEAR_MODEL = Layout(
    "modae.LinearModel",
    LinearModel,
    {
        "settings": Record(SETTINGS),
        "spectrum": Record(SPECTRUM),
        "dtype": precision,
        "solution": Record(SOLUTION),
        "mean": Floats("D"),
        "encoders": Floats("M", "H", "D"),
        "decoders": Floats("M", "D", "H"),
        "grows": flag,
        "summary": Maybe(Record(STREAM)),
    },
    take=_take_model,
    make=_make_model,
)

CERTIFICATE = (
    "loss", "objective", "lower_bound", "optimality_gap", "total_variance", "attainment", "certified",
)  # fmt: skip


def summary(model: Any) -> dict[str, Any]:
    """Sizes and diversity of fitted modules, and how good they are among all possible ones."""
    told = {"modules": model.n_modules}
    if hasattr(model, "n_components_"):
        told["components"] = model.n_components_
    if hasattr(model, "diversity_"):
        told["diversity"] = model.diversity_
    if hasattr(model, "attainment_"):
        known = [name for name in CERTIFICATE if hasattr(model, f"{name}_")]
        told["certificate"] = {name: getattr(model, f"{name}_") for name in known}
    return told


def _take_autoencoder(estimator: Any, resumable: bool) -> dict[str, Any]:
    """With the sums of the data only if ``partial_fit`` shall go on: they are D x D."""
    held = vars(estimator)
    model = held["_model"] if resumable else held["_model"].without_data()
    return {name: held[name] for name in known_features() if name in held} | {"_model": model}


AUTOENCODER = Layout(
    "modae.LinearModularAutoencoder",
    LinearModularAutoencoder,
    {**known_features(), "_model": Record(LINEAR_MODEL)},
    optional=OPTIONAL_NAMES,
    take=_take_autoencoder,
    summary=summary,
)


def _make_bagging(estimator: Any, **state: Any) -> None:
    arrays = [state.pop(f"{name}_", None) for name in BaggedAxes._fields]
    vars(estimator).update(state, _model=BaggedAxes(*arrays))


BAGGING = Layout(
    "modae.BaggingAutoencoder",
    BaggingAutoencoder,
    {
        **known_features(),
        "mean_": Floats("D"),
        "encoders_": Floats("M", "H", "D"),
        "decoders_": Floats("M", "D", "H"),
        "eigenvalues_": Floats("M", "H", minimum=0.0),
    },
    optional=OPTIONAL_NAMES,
    make=_make_bagging,
    summary=summary,
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


def _make_regressor(estimator: Any, **state: Any) -> None:
    base, model, flat = (state.pop(name) for name in ("_base", "_model", "_flat"))
    vars(estimator).update(state)
    Record(LEAST_SQUARES)(base, {})  # before anything is computed with it
    Record(LINEAR_MODEL)(model, {})
    require(not flat or len(base.coefficients) == 1, "several targets are not flat")
    estimator._publish(base, model, flat=bool(flat))


REGRESSOR = Layout(
    "modae.LinearModularRegressor",
    LinearModularRegressor,
    {
        **known_features(),
        "_base": Record(LEAST_SQUARES),
        "_model": Record(LINEAR_MODEL, {"D": "T", "K": "K"}),
        "_flat": flag,
    },
    optional=OPTIONAL_NAMES,
    make=_make_regressor,
    summary=summary,
)

LAYOUTS = (
    MOMENTS, KEPT_ROWS, STREAM, SETTINGS, SPECTRUM, SOLUTION, LINEAR_MODEL, AUTOENCODER, BAGGING,
    LEAST_SQUARES, REGRESSOR,
)  # fmt: skip
