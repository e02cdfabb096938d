"""Awkward weights of the rows."""

import numpy as np
import pandas as pd

from sources.awkward_case import BASE, right, wrong

COUNTS = np.random.default_rng(2).integers(1, 4, 30)
PRESENT = np.arange(30) % 3 != 1


def huge_where_absent():
    return np.where(PRESENT[:, None], BASE, 1e300)


def weighted(name, weights, plain, gives, rows=lambda: BASE, **more):
    return right(name, rows, gives, weights=weights, plain=plain, **more)


def bad_weights(name, weights, gives, message):
    return wrong(name, lambda: BASE, gives, ValueError, message, weights=weights)


WEIGHTS = [
    weighted("weights all 1", lambda: np.ones(30), lambda: (BASE, None), "the same model as no weights"),
    weighted("one number as weight", lambda: 2.5, lambda: (BASE, None), "the same model as no weights"),
    weighted(
        "whole numbers as weights",
        lambda: COUNTS,
        lambda: (np.repeat(BASE, COUNTS, axis=0), None),
        "the same model as rows that are repeated",
    ),
    weighted(
        "weights in a list",
        lambda: COUNTS.tolist(),
        lambda: (BASE, COUNTS),
        "the same model as weights in an array",
    ),
    weighted(
        "weights in a pandas series with an index of its own",
        lambda: pd.Series(COUNTS, index=range(30, 0, -1)),
        lambda: (BASE, COUNTS),
        "they count in the order in which they stand",
    ),
    weighted(
        "whole numbers as weights, float32 rows",
        lambda: COUNTS,
        lambda: (np.repeat(BASE, COUNTS, axis=0), None),
        "the same model as rows that are repeated, to the precision of float32",
        lambda: BASE.astype(np.float32),
    ),
    *(
        weighted(
            f"weights {zero}, and rows of weight 0",
            weights,
            lambda: (BASE[PRESENT], None),
            "the same model as without those rows",
        )
        for zero, weights in (("1", lambda: PRESENT.astype(float)), ("True", lambda: PRESENT))
    ),
    weighted(
        "rows of weight 0 with entries of 1e300",
        lambda: PRESENT.astype(float),
        lambda: (BASE[PRESENT], None),
        "the same model as without those rows",
        huge_where_absent,
    ),
    *(
        weighted(
            f"weights near {size}{kind}",
            lambda size=size: COUNTS * float(size),
            lambda: (np.repeat(BASE, COUNTS, axis=0), None),
            "only the ratios of the weights matter",
            lambda dtype=dtype: BASE.astype(dtype),
        )
        for size in ("5e-324", "1e-300", "1e-100", "1e100", "1e300")
        for kind, dtype in (("", np.float64), (", float32 rows", np.float32))
    ),
    weighted(
        "weights near 1e-300, fewer rows than columns",
        lambda: COUNTS[:5] * 1e-300,
        lambda: (BASE[:5], COUNTS[:5]),
        "only the ratios of the weights matter",
        lambda: BASE[:5],
    ),
    bad_weights(
        "weights all 0",
        lambda: np.zeros(30),
        "there would be no data",
        r"^sample_weight is zero for every row: there would be no data\.$",
    ),
    bad_weights(
        "a negative weight",
        lambda: np.where(PRESENT, 1.0, -1.0),
        "weights must not be negative",
        r"^sample_weight must be finite and not negative, got -1\.0\.$",
    ),
    bad_weights(
        "a weight that is NaN",
        lambda: np.where(PRESENT, 1.0, np.nan),
        "weights must be finite",
        r"^sample_weight must be finite and not negative, got nan\.$",
    ),
    bad_weights(
        "a weight that is infinite",
        lambda: np.where(PRESENT, 1.0, np.inf),
        "weights must be finite",
        r"^sample_weight must be finite and not negative, got inf\.$",
    ),
    bad_weights(
        "too few weights",
        lambda: np.ones(29),
        "there must be one weight for each row",
        r"^sample_weight must have one number for each of the 30 rows of X, got shape \(29,\)\.$",
    ),
    bad_weights(
        "weights with two axes",
        lambda: np.ones((30, 1)),
        "there must be one weight for each row",
        r"^sample_weight must have one number for each of the 30 rows of X, got shape \(30, 1\)\.$",
    ),
    bad_weights(
        "text as weights", lambda: ["a"] * 30, "text is no number", "sample_weight must be numbers, got"
    ),
]
