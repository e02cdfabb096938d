"""Awkward types of numbers and containers: plain data in disguise, and what is no data."""

import tempfile
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl

from sources.awkward_case import BASE, SAME, right, same, wrong
from sources.awkward_shapes import ZERO, no_variance

NAMES = [f"c{place}" for place in range(8)]


def with_entry(value, dtype=np.float64):
    X = BASE.astype(dtype)
    X[3, 2] = value
    return X


def frame(**columns):
    """The plain data as a pandas frame with some of its columns replaced."""
    return pd.DataFrame(BASE, columns=NAMES).assign(**columns)


def mapped():
    with tempfile.TemporaryFile() as file:
        X = np.memmap(file, np.float64, mode="w+", shape=BASE.shape)
    X[:] = BASE
    return X


def masked(mask):
    return np.ma.MaskedArray(BASE, mask=mask)


def read_only():
    X = BASE.copy()
    X.flags.writeable = False
    return X


TYPES = [
    same("whole numbers, int64", lambda: BASE.astype(np.int64)),
    same("bytes, uint8", lambda: BASE.astype(np.uint8)),
    same("booleans", lambda: BASE > 10, lambda: (BASE > 10).astype(float)),
    same("float16", lambda: BASE.astype(np.float16)),
    same("float32", lambda: BASE.astype(np.float32), gives=f"{SAME}, to the precision of float32"),
    same("float32 with `upcast=True`", lambda: BASE.astype(np.float32), settings={"upcast": True}),
    same("longdouble", lambda: BASE.astype(np.longdouble)),
    same("floats with the other byte order", lambda: BASE.astype(BASE.dtype.newbyteorder())),
    same("an object array of numbers", lambda: BASE.astype(object)),
    same("decimals", lambda: np.vectorize(Decimal, otypes=[object])(BASE)),
    same("numbers as text", lambda: BASE.astype(int).astype(str)),
    same("an object array of numbers as text", lambda: BASE.astype(int).astype(str).astype(object)),
    wrong(
        "text", lambda: np.full((30, 8), "a"), "text is no number", ValueError, "could not convert|dtype"
    ),
    wrong(
        "complex numbers", lambda: BASE + 1j, "complex data are not supported", ValueError, "[Cc]omplex"
    ),
    wrong("NaN", lambda: with_entry(np.nan), "X contains NaN", ValueError, "Input X contains NaN"),
    wrong(
        "infinity",
        lambda: with_entry(np.inf),
        "X contains infinity",
        ValueError,
        "Input X contains infinity",
    ),
    wrong(
        "None among numbers",
        lambda: with_entry(None, object),
        "X contains NaN",
        ValueError,
        "contains NaN",
    ),
    wrong(
        "dates",
        lambda: BASE.astype("M8[s]"),
        "convert them to numbers first, such as days since a date",
        ValueError,
        "X holds dates or durations",
    ),
]

CONTAINERS = [
    same("a list of lists", BASE.tolist),
    same("a tuple of tuples", lambda: tuple(map(tuple, BASE.tolist()))),
    same("a list of arrays", lambda: list(BASE)),
    wrong(
        "rows of different lengths", lambda: [[1.0, 2.0], [3.0]], "not a matrix", ValueError, "inhomog"
    ),
    wrong("three axes", lambda: BASE[None], "X must have two axes", ValueError, "dim 3"),
    wrong("one axis", lambda: BASE[0], "X must have two axes", ValueError, "Expected 2D array, got 1D"),
    wrong(
        "a single number",
        lambda: 3.0,
        "X must have two axes",
        ValueError,
        "Expected 2D array, got scalar",
    ),
    wrong("no rows", lambda: BASE[:0], "X has no rows", ValueError, r"0 sample\(s\)"),
    wrong("no columns", lambda: BASE[:, :0], "X has no columns", ValueError, r"0 feature\(s\)"),
    same("a read-only array", read_only),
    same(
        "every second row and third column of a larger array",
        lambda: np.kron(BASE, np.eye(2, 3))[::2, ::3],
    ),
    same("Fortran order", lambda: np.asfortranarray(BASE)),
    same("negative strides", lambda: BASE[::-1, ::-1].copy()[::-1, ::-1]),
    right(
        "one row broadcast to many",
        lambda: np.broadcast_to(BASE[0], (30, 8)),
        ZERO,
        holds=no_variance,
    ),
    same("a memory map", mapped),
    same("a masked array without masked entries", lambda: masked(False)),
    wrong(
        "a masked array with masked entries",
        lambda: masked(BASE == 3),
        "a masked entry is a missing value",
        ValueError,
        "mask|missing|NaN",
    ),
    wrong(
        "`np.matrix`", lambda: BASE.view(np.matrix), "not supported; use an array", TypeError, "matrix"
    ),
    same("a pandas frame", frame),
    same("a pandas frame, Int64", lambda: frame().astype("Int64")),
    same("a pandas frame, Float64", lambda: frame().astype("Float64")),
    same(
        "a pandas frame, boolean",
        lambda: (frame() > 10).astype("boolean"),
        lambda: (BASE > 10).astype(float),
    ),
    same(
        "a pandas frame of int, float32 and float64",
        lambda: frame().astype({"c1": int, "c2": "float32"}),
    ),
    same("a pandas frame with sparse columns", lambda: frame().astype(pd.SparseDtype(float, 0.0))),
    same("a pandas frame with a category of numbers", lambda: frame().astype({"c1": "category"})),
    same("a pandas frame with whole numbers as names", lambda: pd.DataFrame(BASE)),
    wrong(
        "a pandas frame with names of different types",
        lambda: pd.DataFrame(BASE, columns=[0, *NAMES[1:]]),
        "column names must all be text, or none",
        TypeError,
        "[Ff]eature names",
    ),
    wrong(
        "a pandas frame with `pd.NA`",
        lambda: frame(c1=pd.array([pd.NA] * 30, "Int64")),
        "X contains NaN",
        ValueError,
        "contains NaN",
    ),
    wrong(
        "a pandas frame with a column of text",
        lambda: frame(c1="a"),
        "text is no number",
        ValueError,
        "could not convert string to float",
    ),
    wrong(
        "a pandas series",
        lambda: frame()["c1"],
        "X must have two axes",
        ValueError,
        "Expected.* 2-?[Dd]",
    ),
    same("a polars frame", lambda: pl.DataFrame(BASE, schema=NAMES)),
    same("a polars frame of whole numbers", lambda: pl.DataFrame(BASE.astype(int), schema=NAMES)),
    wrong(
        "a polars frame with nulls",
        lambda: pl.DataFrame({"a": [1.0, None, 2.0], "b": [1.0, 2.0, 3.0]}),
        "X contains NaN",
        ValueError,
        "contains NaN",
    ),
]
