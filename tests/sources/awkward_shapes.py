"""Awkward shapes, ranks and settings."""

import numpy as np

from modae import LinearModularAutoencoder
from sources.awkward_case import BASE, SETTINGS, right, wrong

ZERO = "a model without variance: loss 0, all codes 0"


def random(*shape):
    return np.random.default_rng(1).standard_normal(shape)


def with_constant_columns():
    X = BASE.copy()
    X[:, [1, 4]] = 0.1, -7e5
    return X


def constant_columns_are_ignored(model):
    return float(np.abs(model.decoders_[:, [1, 4]]).max()) < 1e-12


def no_variance(model):
    return model.total_variance_ == model.loss_ == 0.0 and not model.encoders_.any()


def gap_is_closed(model):
    return model.attainment_ == "attained"


def has_the_plain_loss(model):
    return abs(model.loss_ / LinearModularAutoencoder(**SETTINGS).fit(BASE).loss_ - 1.0) < 1e-9


def trailing(width):
    """Whether the loss is that of a PCA with so many components."""
    eigenvalues = np.linalg.eigvalsh(np.cov(BASE.T, bias=True))
    rest = float(eigenvalues[: len(eigenvalues) - width].sum())
    total = float(eigenvalues.sum())
    return lambda model: abs(model.loss_ - rest) < 1e-9 * total


SHAPES = [
    right("plain random numbers", lambda: BASE, "a model", plain=lambda: (BASE, None)),
    right(
        "a column that is constant",
        with_constant_columns,
        "it gets no weight in any module",
        holds=constant_columns_are_ignored,
    ),
    right(
        "a column that is 3.4e38 in every row, beside ordinary ones",
        lambda: np.c_[BASE, np.full(30, 3.4e38)],
        "the same loss as without it",
        holds=has_the_plain_loss,
    ),
    right("all rows equal", lambda: np.tile(BASE[0], (9, 1)), ZERO, holds=no_variance),
    right(
        "every entry 0.1, which no float is exactly",
        lambda: np.full((30, 8), 0.1),
        ZERO,
        holds=no_variance,
    ),
    right("every entry 0", lambda: np.zeros((30, 8)), ZERO, holds=no_variance),
    right("every entry 1e300", lambda: np.full((30, 8), 1e300), ZERO, holds=no_variance),
    right(
        "every entry the largest float",
        lambda: np.full((30, 8), np.finfo(np.float64).max),
        ZERO,
        holds=no_variance,
    ),
    right("every entry the smallest float", lambda: np.full((30, 8), 5e-324), ZERO, holds=no_variance),
    right(
        "every row three times",
        lambda: np.repeat(BASE, 3, axis=0),
        "the same model as every row once",
        plain=lambda: (BASE, None),
    ),
    right(
        "a column that is there twice",
        lambda: BASE[:, [0, 1, 2, 3, 4, 4]],
        "both copies have the same decoders",
        holds=lambda m: bool(np.abs(m.decoders_[:, 4] - m.decoders_[:, 5]).max() < 1e-9),
    ),
    right(
        "rank 5 in 8 columns",
        lambda: random(30, 5) @ random(5, 8),
        "5 principal axes, although the modules have room for 6",
        holds=lambda m: m.principal_axes_.shape == (5, 8),
    ),
    right(
        "rank 1, and 2 components in each module",
        lambda: np.outer(random(30), random(8)),
        "one component codes the data exactly, the other is always 0",
        holds=lambda m: m.loss_ < 1e-12 * m.total_variance_ and m.eigenvalues_[1] == 0.0,
    ),
    right("one row", lambda: BASE[:1], ZERO, holds=no_variance),
    right(
        "two rows",
        lambda: BASE[:2],
        "one principal axis, from one row to the other; loss 0",
        holds=lambda m: m.loss_ < 1e-12 * m.total_variance_ and m.eigenvalues_[1] == 0.0,
    ),
    right(
        "one column",
        lambda: BASE[:, :1],
        "every module codes it; loss 0",
        settings={"n_components": None},
        holds=lambda m: m.allocation_.tolist() == [1.0] and m.loss_ < 1e-12 * m.total_variance_,
    ),
    right(
        "one column and one module",
        lambda: BASE[:, :1],
        "the codes are the centred column",
        settings={"n_modules": 1, "n_components": 1},
        holds=lambda m: abs(float(m.encoders_[0, 0, 0]) - 1.0) < 1e-12,
    ),
    right(
        "one row and one column",
        lambda: BASE[:1, :1],
        ZERO,
        settings={"n_components": 1},
        holds=no_variance,
    ),
    right(
        "one module",
        lambda: BASE,
        "PCA with `n_components` components",
        settings={"n_modules": 1},
        holds=trailing(2),
    ),
    right(
        "more components in all modules together than the rank",
        lambda: random(30, 3) @ random(3, 8),
        "as many principal axes as the rank",
        holds=lambda m: m.eigenvalues_.shape == (3,),
    ),
    right(
        "more components in all modules together than columns",
        lambda: BASE,
        "as many principal axes as columns",
        settings={"n_modules": 7},
        holds=lambda m: m.eigenvalues_.shape == (8,),
    ),
    wrong(
        "more components in one module than columns",
        lambda: BASE,
        "`n_components` must be at most `n_features`",
        ValueError,
        r"^n_components must be at most n_features = 8, got 9\.$",
        settings={"n_components": 9},
    ),
    right(
        "fewer rows than columns",
        lambda: BASE[:5],
        "one principal axis fewer than rows",
        holds=lambda m: m.eigenvalues_.shape == (4,),
    ),
    right("as many rows as columns", lambda: BASE[:8], "a model"),
    right(
        "3 rows of 20,000 columns",
        lambda: np.floor(100 * random(3, 20_000)),
        "a model of rank 2, without a matrix of 20,000 x 20,000",
        holds=lambda m: m.eigenvalues_.shape == (2,),
    ),
    right(
        "200 modules for 8 columns",
        lambda: BASE,
        "the bound is reached",
        settings={"n_modules": 200, "n_components": 1},
        holds=gap_is_closed,
    ),
    right(
        "as many components in each module as columns",
        lambda: BASE,
        "loss 0",
        settings={"n_components": 8},
        holds=lambda m: abs(m.loss_) < 1e-12 * m.total_variance_,
    ),
    right(
        "a fraction of the variance that one axis has",
        lambda: BASE * np.array([50, 1, 1, 1, 1, 1, 1, 1]),
        "`n_components_` is 1",
        settings={"n_components": 0.5},
        holds=lambda m: m.n_components_ == 1,
    ),
    right(
        "a fraction of the variance of data without variance",
        lambda: np.ones((30, 8)),
        "`n_components_` is 1, and all codes are 0",
        settings={"n_components": 0.5},
        holds=lambda m: m.n_components_ == 1 and no_variance(m),
    ),
    right(
        "`spectrum='krylov'` for a small problem",
        lambda: BASE,
        "the loss of the exact spectrum",
        settings={"spectrum": "krylov"},
        holds=has_the_plain_loss,
    ),
    right(
        "`spectrum='krylov'` for data without variance",
        lambda: np.full((30, 8), 0.1),
        ZERO,
        settings={"spectrum": "krylov"},
        holds=no_variance,
    ),
    right(
        "diversity 1e-300",
        lambda: BASE,
        "the loss of a PCA with `n_components` components",
        settings={"diversity": 1e-300},
        holds=trailing(2),
    ),
    right(
        "diversity 1e-17",
        lambda: BASE,
        "the loss of a PCA with `n_components` components",
        settings={"diversity": 1e-17},
        holds=trailing(2),
    ),
    right(
        "diversity 1 - 1e-16",
        lambda: BASE,
        "the loss of one PCA with `n_modules * n_components` components",
        settings={"diversity": 1 - 1e-16},
        holds=trailing(6),
    ),
    right(
        "diversity 1",
        lambda: BASE,
        "the loss of one PCA with `n_modules * n_components` components",
        settings={"diversity": 1},
        holds=trailing(6),
    ),
]
