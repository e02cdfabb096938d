"""The table of awkward inputs: sparse rows, weights and rows after ``fit`` here, the rest in two files.

``CASES`` is the whole table, by section: the tests run it, and docs/inputs.md shows it.
"""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from inputs.awkward_case import BASE, SAME, right, same, wrong
from inputs.awkward_numbers import SHAPES, SIZES, ZERO, no_variance, random
from inputs.awkward_types import CONTAINERS, NAMES, TYPES, frame, with_entry

SPARSE = np.where(BASE % 3 == 0, BASE, 0.0)
COUNTS = np.random.default_rng(2).integers(1, 4, 30)
PRESENT = np.arange(30) % 3 != 1


def not_canonical(X):
    """CSR with each entry stored in two halves, and in no order."""
    rows, columns = (np.concatenate([part, part[::-1]]) for part in np.nonzero(X))
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    return sparse.csr_array((X[rows, columns][order] / 2, columns[order], starts), X.shape)


def explicit_zeros():
    X = sparse.csr_array(np.where(BASE == 0.0, 1.0, BASE))
    X.data[:] = SPARSE.ravel()
    return X


def wide_index():
    X = sparse.csr_array(SPARSE)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def with_hole():
    X = SPARSE.copy()
    X[4], X[:, 5] = 0.0, 0.0
    return X


def huge_where_absent():
    return np.where(PRESENT[:, None], BASE, 1e300)


def weighted(name, weights, plain, gives, rows=lambda: BASE, **more):
    return right(name, rows, gives, weights=weights, plain=plain, **more)


def bad_weights(name, weights, gives, message):
    return wrong(name, lambda: BASE, gives, ValueError, message, weights=weights)


SPARSE_ROWS = [
    *(
        same(
            f"a sparse {kind} in {form.upper()} form",
            lambda form=form, kind=kind: getattr(sparse, f"{form}_{kind}")(SPARSE),
            lambda: SPARSE,
        )
        for kind in ("matrix", "array")
        for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
    ),
    same("sparse rows with zeros that are stored", explicit_zeros, lambda: SPARSE),
    same(
        "sparse rows with entries in two parts, unsorted", lambda: not_canonical(SPARSE), lambda: SPARSE
    ),
    same("sparse rows with 64-bit indices", wide_index, lambda: SPARSE),
    same(
        "sparse rows, one of them and one column empty", lambda: sparse.csr_array(with_hole()), with_hole
    ),
    right("sparse rows, all empty", lambda: sparse.csr_array((30, 8)), ZERO, holds=no_variance),
    right(
        "sparse rows, all equal 0.1",
        lambda: sparse.csr_array(np.full((100, 8), 0.1)),
        ZERO,
        holds=no_variance,
    ),
    same(
        "sparse float32",
        lambda: sparse.csr_array(SPARSE.astype(np.float32)),
        lambda: SPARSE,
        gives=f"{SAME}, to the precision of float32",
    ),
    same("sparse whole numbers", lambda: sparse.csr_array(SPARSE.astype(int)), lambda: SPARSE),
    same("sparse rows, fewer than columns", lambda: sparse.csr_array(SPARSE[:5]), lambda: SPARSE[:5]),
    right(
        "3 sparse rows of 20,000 columns",
        lambda: sparse.csr_array(np.floor(random(3, 20_000))),
        "a model of rank 2, without a matrix of 20,000 x 20,000",
        holds=lambda m: m.eigenvalues_.shape == (2,),
    ),
    *(
        same(
            f"sparse rows times {scale:.0e}",
            lambda scale=scale: sparse.csr_array(SPARSE * scale),
            lambda: SPARSE,
            gives="the same modules; losses times the square",
            scale=scale,
        )
        for scale in (1e-150, 1e150)
    ),
    same(
        "sparse rows with column means 1e+04 times the standard deviation",
        lambda: sparse.csr_array(BASE + 1e6),
        lambda: BASE,
        gives="the same model as centred data",
    ),
    right(
        "sparse rows with whole-number weights",
        lambda: sparse.csr_array(SPARSE),
        "the same model as rows that are repeated",
        weights=lambda: COUNTS,
        plain=lambda: (np.repeat(SPARSE, COUNTS, axis=0), None),
    ),
    wrong(
        "sparse rows with NaN",
        lambda: sparse.csr_array(with_entry(np.nan)),
        "X contains NaN",
        ValueError,
        "contains NaN",
    ),
]

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
            f"weights near {size:.0e}{kind}",
            lambda size=size: COUNTS * size,
            lambda: (np.repeat(BASE, COUNTS, axis=0), None),
            "only the ratios of the weights matter",
            lambda dtype=dtype: BASE.astype(dtype),
        )
        for size in (5e-324, 1e-300, 1e-100, 1e100, 1e300)
        for kind, dtype in (("", np.float64), (", float32 rows", np.float32))
    ),
    weighted(
        "weights near 1e-300, fewer rows than columns",
        lambda: COUNTS[:5] * 1e-300,
        lambda: (BASE[:5], COUNTS[:5]),
        "only the ratios of the weights matter",
        lambda: BASE[:5],
    ),
    bad_weights("weights all 0", lambda: np.zeros(30), "there would be no data", "zero for every row"),
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
    bad_weights("text as weights", lambda: ["a"] * 30, "text is no number", "could not convert string"),
]

LATER = [
    same("`fit` in float64, `transform` in float32", lambda: BASE, new=lambda: BASE.astype(np.float32)),
    same("`fit` in float32, `transform` in float64", lambda: BASE.astype(np.float32), new=lambda: BASE),
    same(
        "`fit` with sparse rows, `transform` with dense ones",
        lambda: sparse.csr_array(SPARSE),
        lambda: SPARSE,
        new=lambda: SPARSE,
    ),
    same(
        "`fit` with dense rows, `transform` with sparse ones",
        lambda: SPARSE,
        lambda: SPARSE,
        new=lambda: sparse.csr_array(SPARSE),
    ),
    same(
        "`fit` with a pandas frame, `transform` with a polars frame",
        frame,
        new=lambda: pl.DataFrame(BASE, schema=NAMES),
    ),
    wrong(
        "columns in another order at `transform`",
        frame,
        "the names must be those of `fit`, in the same order",
        ValueError,
        "feature names should match",
        new=lambda: frame()[NAMES[::-1]],
    ),
    wrong(
        "fewer columns at `transform`",
        lambda: BASE,
        "the number of columns must be that of `fit`",
        ValueError,
        "X has 7 features, but LinearModularAutoencoder is expecting 8 features",
        new=lambda: BASE[:, :7],
    ),
    wrong(
        "NaN at `transform`",
        lambda: BASE,
        "X contains NaN",
        ValueError,
        "contains NaN",
        new=lambda: with_entry(np.nan),
    ),
]

CASES = {
    "Shape, rank and settings": SHAPES,
    "Very large, very small, far from zero": SIZES,
    "Types of numbers": TYPES,
    "Containers": CONTAINERS,
    "Sparse rows": SPARSE_ROWS,
    "Weights": WEIGHTS,
    "Rows after `fit`": LATER,
}
