"""Layouts of the linear estimators and of what is behind them: moments, spectrum, solution, modules.

Sizes: D features, T targets, M modules, H components, K principal axes, N rows.
"""

from modae.core.objective import ATTAINED, UNDECIDED, Solution
from modae.data.moments import Moments
from modae.data.spectrum import KeptRows, Spectrum
from modae.data.summary import DataSummary
from modae.files import rules
from modae.files.archive import require
from modae.files.rules import Layout, Rule, choice, count, maybe, number, numbers, record
from modae.linear.autoencoder import LinearModularAutoencoder
from modae.linear.bagging import BaggedAxes, BaggingAutoencoder
from modae.linear.least_squares import LeastSquares
from modae.linear.model import ROTATIONS, SOLVERS, LinearModel, Settings
from modae.linear.regressor import LinearModularRegressor

ROUND_OFF = 1e-5  # by how much a share may be outside of 0 to 1


RECORDS: dict[type, dict[str, Rule]] = {
    Moments: {
        "weight": number(above=0.0),
        "shift": numbers("D"),
        "offset": numbers("D"),
        "covariance": numbers("D", "D"),
        "dtype": rules.precision,
        "unit": number(above=0.0),
        "cancelled": number(0.0),
    },
    DataSummary: {"moments": maybe(record(Moments)), "pending": rules.each(record(KeptRows, D="D"))},
    Settings: {
        "n_modules": count("M"),
        "n_components": count("H"),
        "diversity": number(0.0, 1.0),
        "solver": choice("auto", *SOLVERS),
        "spectrum": choice("auto", "exact", "krylov"),
        "tol": number(0.0),
        "max_iter": count(),
        "seed": count(minimum=0),
        "rotation": choice(*ROTATIONS),
    },
    Spectrum: {
        "mean": numbers("D"),
        "axes": numbers("K", "D"),
        "eigenvalues": numbers("K", within=number(0.0), order=-1),
        "total_variance": number(0.0),
        "unit": number(above=0.0),
        "hidden": number(0.0),
        "slack": number(0.0),
    },
    Solution: {
        "decoders": numbers("M", "U", "H"),
        "encoders": numbers("M", "H", "U"),
        "shares": numbers("K", within=number(-ROUND_OFF, 1.0 + ROUND_OFF)),
        "loss": number(),
        "reconstruction_error": number(),
        "diversity_term": number(),
        "lower_bound": number(0.0),
        "gap": number(),
        "attainment": choice(ATTAINED, UNDECIDED),
        "loss_history": numbers(None),
        "n_iter": count(),
        "converged": rules.flag,
        "solver": choice(*SOLVERS),
    },
    BaggedAxes: {
        "mean": numbers("D"),
        "encoders": numbers("M", "H", "D"),
        "decoders": numbers("M", "D", "H"),
        "eigenvalues": numbers("M", "H", within=number(0.0)),
    },
    LeastSquares: {
        "row_mean": numbers("D"),
        "coefficients": numbers("T", "D"),
        "spectrum": record(Spectrum, D="T", K="K"),
        "root_penalty": number(0.0),
    },
}

SIZES = {"modules": "n_modules", "components": "n_components_"}
CERTIFICATE = (
    "loss", "objective", "lower_bound", "optimality_gap", "total_variance", "attainment", "certified",
)  # fmt: skip
ATTRIBUTES = {name: f"{name}_" for name in CERTIFICATE}
CERTIFIED = {**SIZES, "diversity": "diversity_", "certificate": ATTRIBUTES}

LAYOUTS = (
    *(Layout(cls, fields) for cls, fields in RECORDS.items()),
    Layout(
        KeptRows,
        {"rows": rules.rows, "weights": maybe(numbers("N", within=number(0.0)))},
        holds_rows=True,
    ),
    Layout(
        LinearModel,
        {
            "mean": numbers("D"),  # first: reading it solves a model that is not solved yet
            "encoders": numbers("M", "H", "D"),
            "decoders": numbers("M", "D", "H"),
            "dtype": rules.precision,
            "grows": rules.flag,
            "summary": maybe(record(DataSummary)),
            "_settings": record(Settings),
            "_spectrum": record(Spectrum),
            "_solution": record(Solution),
        },
        resumable={"summary"},
    ),
    Layout(BaggingAutoencoder, {"_model": record(BaggedAxes)}, summary=SIZES),
    Layout(
        LinearModularAutoencoder,
        {"_model": record(LinearModel)},
        summary={
            "modules": "n_modules",
            "components": "_model._settings.n_components",
            "diversity": "_model._settings.diversity",
            "certificate": {
                "loss": "_model._solution.loss",
                "lower_bound": "_model._solution.lower_bound",
                "optimality_gap": "_model._solution.gap",
                "total_variance": "_model.total_variance",
                "attainment": "_model._solution.attainment",
                "certified": "_model.certified",
            },
        },
    ),
    Layout(
        LinearModularRegressor,
        {
            "_base": record(LeastSquares),
            "_model": record(LinearModel, D="T", K="K", M="M", H="H"),
            "_flat": rules.flag,
        },
        agree=lambda model: require(
            not model._flat or len(model._base.coefficients) == 1, "several targets are not flat"
        ),
        finish=lambda model: model._publish(model._base, model._model, flat=model._flat),
        summary=CERTIFIED,
    ),
)
