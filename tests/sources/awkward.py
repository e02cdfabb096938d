"""The table of awkward inputs: sparse rows and rows after ``fit`` here, the rest beside it.

``CASES`` is the whole table, by section: the tests run it, and docs/inputs.md shows it.
"""

import numpy as np
import polars as pl
from scipy import sparse

from sources.awkward_case import BASE, SAME, right, same, wrong
from sources.awkward_shapes import SHAPES, ZERO, no_variance, random
from sources.awkward_sizes import SIZES
from sources.awkward_types import CONTAINERS, NAMES, TYPES, frame, with_entry
from sources.awkward_weights import COUNTS, WEIGHTS

SPARSE = np.where(BASE % 3 == 0, BASE, 0.0)


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
            f"sparse rows times {scale}",
            lambda scale=scale: sparse.csr_array(SPARSE * float(scale)),
            lambda: SPARSE,
            gives="the same modules; losses times the square",
            scale=float(scale),
        )
        for scale in ("1e-150", "1e150")
    ),
    same(
        "sparse rows with column means 1e4 times the standard deviation",
        lambda: sparse.csr_array(BASE + 1e6),
        lambda: BASE,
        gives="the same model as centred data",
    ),
    same(
        "sparse rows with such means, fewer than columns",
        lambda: sparse.csr_array(BASE[:5] + 1e6),
        lambda: BASE[:5],
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

CODES = "the same codes"

LATER = [
    same(
        "`fit` in float64, `transform` in float32",
        lambda: BASE,
        new=lambda: BASE.astype(np.float32),
        gives="codes in float32",
    ),
    same(
        "`fit` in float32, `transform` in float64",
        lambda: BASE.astype(np.float32),
        new=lambda: BASE,
        gives="codes in float64",
    ),
    same(
        "`fit` with sparse rows, `transform` with dense ones",
        lambda: sparse.csr_array(SPARSE),
        lambda: SPARSE,
        new=lambda: SPARSE,
        gives=CODES,
    ),
    same(
        "`fit` with dense rows, `transform` with sparse ones",
        lambda: SPARSE,
        lambda: SPARSE,
        new=lambda: sparse.csr_array(SPARSE),
        gives=CODES,
    ),
    same(
        "`fit` with a pandas frame, `transform` with a polars frame",
        frame,
        new=lambda: pl.DataFrame(BASE, schema=NAMES),
        gives=CODES,
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
