"""Facts for a page with every kind of chart, made up so that each diversity looks different."""

import numpy as np
from sklearn.datasets import load_digits

from modae.report.features import encoded

DIVERSITIES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0]
START = 8
HOSTILE = "</script><b>x & y</b> <img src=x onerror=alert(1)> ${title} %{x}"
"""A name that would do harm, or vanish, wherever it were read as anything but text."""

N = len(DIVERSITIES)
MODULES = [f"module {number}" for number in range(6)]
FEATURES = [
    "mean radius",
    "mean texture",
    "worst concave points",
    "fractal dimension error",
    "compactness",
]


def per_diversity(function):
    """The values of a function at every diversity, rounded, as lists."""
    return np.round([function(value) for value in DIVERSITIES], 4).tolist()


def at_each(text):
    return [f"{text} at diversity {value}." for value in DIVERSITIES]


def curves():
    vote = per_diversity(lambda d: 0.062 + 0.16 * (d - 0.72) ** 2)
    single = per_diversity(lambda d: 0.11 + 0.3 * d**3)
    single[2] = None
    return {
        "kind": "curves",
        "title": "Error on rows that were held out",
        "summary": at_each("Errors of the vote and of single modules"),
        "y_label": "error",
        "unit": "%",
        "lines": [
            {"name": "vote of all modules", "values": vote, "error": [0.008] * N},
            {"name": "mean of single modules", "values": single, "error": None},
        ],
        "levels": [
            {"name": "member on PCA(8)", "value": 0.108, "error": 0.006},
            {"name": "bagging", "value": 0.094, "error": None},
        ],
        "mark": START,
    }


def loss_curves():
    return curves() | {
        "title": "Loss and its parts",
        "y_label": "part of the variance",
        "unit": "",
        "levels": [],
        "mark": None,
        "lines": [
            {
                "name": "reconstruction of the mean",
                "values": per_diversity(lambda d: 0.3 - 0.2 * d),
                "error": None,
            },
            {
                "name": "mean of the modules",
                "values": per_diversity(lambda d: 0.3 + 0.5 * d**2),
                "error": None,
            },
            {
                "name": "ambiguity",
                "values": per_diversity(lambda d: 0.2 * d + 0.5 * d**2),
                "error": None,
            },
        ],
    }


def path_map():
    rows = [f"axis {number}" for number in range(1, 25)]
    values = [per_diversity(lambda d, r=r: np.clip(1.3 - 0.1 * r * (1.2 - d), 0, 1)) for r in range(24)]
    return {
        "kind": "map",
        "title": "Who sees which principal axis",
        "summary": at_each("Share of the modules that see an axis"),
        "y_label": "principal axis",
        "rows": rows,
        "values": values,
        "unit": "%",
        "range": [0.0, 1.0],
        "reverse": True,
    }


def bars(names=MODULES):
    places = np.arange(len(names))
    return {
        "kind": "bars",
        "title": "How often a module is right where the vote is wrong",
        "summary": at_each("Shares of the modules"),
        "x_label": "module",
        "y_label": "share of rows",
        "unit": "%",
        "names": list(names),
        "values": per_diversity(lambda d: 0.5 + 0.4 * np.cos(places + 4 * d)),
        "range": [0.0, 1.0],
    }


def matrix(rows=MODULES, columns=MODULES, **changes):
    i, j = np.indices((len(rows), len(columns)))
    base = {
        "kind": "matrix",
        "title": "Distance correlation between modules",
        "summary": at_each("Distance correlation of each pair of modules"),
        "x_label": "module",
        "y_label": "module",
        "columns": list(columns),
        "rows": list(rows),
        "values": per_diversity(
            lambda d: np.where(i == j, 1.0, (1 - 0.8 * d) * np.exp(-0.2 * abs(i - j)))
        ),
        "unit": "",
        "range": [0.0, 1.0],
        "show_values": True,
        "aim": None,
        "square": True,
    }
    return base | changes


def densities(classes=("setosa", "versicolor", "virginica")):
    grid = np.linspace(-4, 4, 81)

    def bumps(d, panel):
        centres = [
            (k - 1) * (0.4 + 1.8 * d) * (1 if (k + panel) % 2 else 0.5) for k in range(len(classes))
        ]
        return [np.exp(-2 * (grid - centre) ** 2) for centre in centres]

    panels = [
        {
            "title": f"module {panel}, feature 2",
            "grid": per_diversity(lambda d: grid),
            "curves": per_diversity(lambda d, panel=panel: bumps(d, panel)),
        }
        for panel in range(3)
    ]
    return {
        "kind": "densities",
        "title": "What a module sees of each class",
        "summary": at_each("Densities of the classes along the first feature of three modules"),
        "x_label": "first feature of the module",
        "classes": list(classes),
        "panels": panels,
    }


def images():
    digits = load_digits().images[[7, 18, 29]]

    def row(digit, d):
        blurred = [
            np.roll(digit, step, axis=1) * (1 - 0.6 * d) + digit.mean() * d for step in (0, 1, -1, 2)
        ]
        pictures = [digit, *blurred, (digit + np.mean(blurred, axis=0) * d) / (1 + d)]
        return [encoded(picture, 0.0, 16.0) for picture in pictures]

    drawn = [[row(digit, value) for digit in digits] for value in DIVERSITIES]
    for each in drawn:
        each[2][3] = ""
    return {
        "kind": "images",
        "title": "What each module remembers of a row",
        "summary": at_each("Reconstructions by four modules and their mean"),
        "columns": ["original", "module 0", "module 1", "module 2", "module 3", "mean"],
        "rows": ["7", "8", "9"],
        "images": drawn,
        "invert": True,
    }


def scatter():
    rng = np.random.default_rng(0)
    x, noise = rng.uniform(0, 300, 150), rng.normal(size=150)
    return {
        "kind": "scatter",
        "title": "Predicted against true",
        "summary": at_each("Predictions against the truth"),
        "x_label": "true",
        "y_label": "predicted",
        "x": np.round(x, 1).tolist(),
        "y": per_diversity(lambda d: 150 + (x - 150) * (0.5 + 0.4 * d) + 20 * (1.3 - d) * noise),
        "range": [-20.0, 320.0],
        "diagonal": "equal",
    }


def calibration():
    """Lines against an axis of their own: the slider does not move them."""
    return {
        "kind": "curves",
        "title": "Calibration",
        "summary": "The mean probability is 81.0%, and 84.2% of the predictions are right.",
        "unit": "%",
        "x": [0.25, 0.45, 0.75, 0.95],
        "x_label": "probability of the predicted class",
        "y_label": "right predictions",
        "x_range": [0.0, 1.0],
        "y_range": [0.0, 1.0],
        "lines": [
            {
                "name": "right predictions",
                "values": [0.3, 0.55, 0.8, 0.99],
                "error": [0.1, 0.06, 0.03, 0.004],
            }
        ],
        "levels": [],
        "counts": [20, 60, 200, 1200],
        "diagonal": "probabilities that are right",
    }


def cards():
    digits = load_digits()
    chosen = [5, 8, 15, 27]
    results = ["wrong", "right", "right", "wrong"]
    said = [[str(k), result, "5", "9", "40.0%"] for k, result in zip(chosen, results, strict=True)]
    return {
        "kind": "cards",
        "title": "Rows",
        "summary": "4 of 1,797 rows, the least certain first. 2 of their predictions are wrong.",
        "columns": ["row", "result", "true class", "predicted class", "probability"],
        "rows": said,
        "class_column": 1,
        "images": [encoded(digits.images[k], 0.0, 16.0) for k in chosen],
        "invert": True,
    }


def rivals():
    """Bars that are the same at every diversity."""
    return bars(["SVM", "this model", "random forest"]) | {
        "title": "Error of each method",
        "summary": "Time of one fit: SVM 0.1 s, this model 0.2 s, random forest 0.9 s.",
        "values": [[0.021, 0.034, 0.05]],
        "range": [0.0, 0.06],
        "fixed": True,
    }


def table():
    return {
        "kind": "table",
        "title": "What the paper says and what was found",
        "summary": "Three claims: two reproduced, one not.",
        "columns": ["claim", "paper", "here", "verdict"],
        "rows": [
            ["Diverse modules beat one PCA", "4.6 points", "4.4 points", "reproduced"],
            ["The best diversity is below 1", "0.7", "0.75", "reproduced"],
            ["Bagging is worse on every data set", "7 of 7", "5 of 7", "not reproduced"],
        ],
        "class_column": 3,
    }


def section(name, title, *charts):
    text = (
        "A modular autoencoder trades the error of single modules against their diversity. Here is how."
    )
    return {"id": name, "title": title, "text": text, "charts": list(charts)}


def study(name, *sections, live=None):
    found = {
        "name": name,
        "text": f"About {name}: 1,797 rows of 64 features.",
        "sections": list(sections),
    }
    return found if live is None else found | {"live": live}


def digits_study():
    return study(
        "Digits",
        section("errors", "How diversity changes the error", curves(), loss_curves()),
        section("rivals", "Comparison with other methods", rivals()),
        section("trust", "Can the probabilities be trusted?", calibration(), confusion()),
        section("uncertain", "Least certain rows", cards()),
        section("axes", "Which axes the modules share", path_map()),
        section("modules", "How alike the modules are", matrix(), bars(), matrix(aim="diagonal")),
        section("classes", "What the modules see", densities()),
        section("pictures", "What the modules remember", images()),
    )


def confusion():
    names = [str(digit) for digit in range(10)]
    changes = {
        "title": "True and predicted class",
        "x_label": "predicted class",
        "y_label": "true class",
        "aim": "diagonal",
        "show_values": True,
        "said": True,
    }
    return matrix(names, names, unit="%", **changes)


def table_study():
    return study(
        "Named columns",
        section(
            "weights",
            "What each module looks at",
            matrix(MODULES, FEATURES, square=False),
            bars(FEATURES),
        ),
        section("truth", "Predictions", scatter()),
        live=[f"Diversity {value}, another data set." for value in DIVERSITIES],
    )


def facts(**changes):
    """A page with two studies, an overview and every kind of chart."""
    base = {
        "title": "Six modules look at digits",
        "subtitle": "ModularClassifier, 6 modules of 8 components, diversity 0.75",
        "summary": [
            "Six small autoencoders look at 1,797 rows.",
            "Together they err less than each one alone.",
        ],
        "numbers": [
            {
                "value": "6.2%",
                "label": "error of the vote",
                "text": "One member on PCA(8): 10.8%.",
            },
            {
                "value": "0.41",
                "label": "mean distance correlation",
                "text": "between two modules; 1 at diversity 0",
            },
            {
                "value": "92%",
                "label": "of the variance is seen",
                "text": "PCA with 8 components: 67%",
            },
        ],
        "diversities": DIVERSITIES,
        "start": START,
        "live": [
            f"Diversity {value}: the vote errs in {6 + 10 * abs(value - 0.75):.1f}% of the rows, "
            f"a single module in {11 + 20 * value:.1f}%."
            for value in DIVERSITIES
        ],
        "overview": [section("panels", "Error on two data sets", curves(), loss_curves())],
        "studies": [digits_study(), table_study()],
        "closing": [section("claims", "What the paper claims", table())],
        "footer": [
            "Made with modae 0.1 from digits.csv.",
            "The held-out rows were not used for fitting.",
        ],
    }
    return base | changes


def at_one_diversity(value, n=N):
    """The same facts with only the first diversity: lists of length n keep their first entry."""
    if isinstance(value, dict) and value.get("kind") == "cards":
        return value
    if isinstance(value, dict):
        return {
            key: each[:1]
            if key in {"live", "diversities", "summary", "images"} and isinstance(each, list)
            else at_one_diversity(each, n)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [at_one_diversity(each, n) for each in (value[:1] if len(value) == n else value)]
    return value


def single():
    """A model without a path: one diversity, one study, no slider."""
    return at_one_diversity(facts(studies=[digits_study()])) | {"start": 0}


def hostile():
    """Names and texts that must appear as they are."""
    names = [HOSTILE, "a<br>b", "&lt;i&gt;", "x\u2028y"]
    lines = [{"name": name, "values": [0.1 * k] * N, "error": None} for k, name in enumerate(names, 1)]
    charts = (
        curves() | {"title": HOSTILE, "lines": lines, "y_label": HOSTILE},
        matrix(names, names, x_label=HOSTILE, y_label=HOSTILE),
        bars(names),
        densities(names),
        table() | {"rows": [[HOSTILE] * 4], "class_column": 1},
    )
    named = section("hostile", HOSTILE, *charts)
    return facts(
        title=HOSTILE,
        subtitle=HOSTILE,
        summary=[HOSTILE],
        studies=[study(HOSTILE, named), study("b", named)],
    )
