"""Hypothesis strategies: spectra and problems on them, small data sets with models, votes, tables."""

from itertools import pairwise

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

from modae.core.objective import Problem
from modae.sources.cells import is_number_text

# For properties of which one example takes long: a fifth of the examples that the profile asks for.
costly = settings(max_examples=max(5, settings.default.max_examples // 5))

seeds = st.integers(0, 2**32 - 1)

diversities = st.one_of(
    st.sampled_from([0.0, 1e-12, 1e-6, 0.5, 0.9, 0.999, 1.0]),
    st.floats(0.01, 0.99, allow_subnormal=False),
)


@st.composite
def spectra(draw, size):
    """``size`` falling positive eigenvalues: geometric, power law, plateau, ties, scattered."""
    k = np.arange(size)
    shape = draw(st.sampled_from(["geometric", "power", "plateau", "ties", "scattered"]))
    if shape == "geometric":
        return draw(st.floats(0.1, 1.0)) ** k
    if shape == "power":
        return (k + 1.0) ** -draw(st.floats(0.0, 4.0))
    if shape == "plateau":
        return np.where(k < draw(st.integers(1, size)), 1.0, draw(st.floats(1e-6, 1.0)))
    if shape == "ties":
        levels = draw(st.lists(st.sampled_from([1.0, 0.5, 0.1, 1e-3]), min_size=size, max_size=size))
        return np.sort(levels)[::-1].copy()
    exponents = draw(st.lists(st.floats(-8.0, 0.0), min_size=size, max_size=size))
    return 10.0 ** np.sort(exponents)[::-1]


@st.composite
def problems(draw, max_modules=5, max_components=4, diversity=diversities):
    """Problems of every kind: full or deficient rank, with and without variance in further axes."""
    M, H = draw(st.integers(1, max_modules)), draw(st.integers(1, max_components))
    rank = draw(st.one_of(st.just(M * H), st.integers(1, M * H)))
    eigenvalues = np.zeros(max(rank, H))
    eigenvalues[:rank] = draw(spectra(rank))
    beyond = draw(st.sampled_from([0.0, 0.5])) * eigenvalues[-1]
    return Problem(eigenvalues, float(eigenvalues.sum() + beyond), M, H, draw(diversity))


@st.composite
def data_sets(draw, max_rows=12, max_columns=5):
    """Centre-free Gaussian rows (n, D) with columns of different size."""
    n_rows, n_columns = draw(st.integers(2, max_rows)), draw(st.integers(1, max_columns))
    rng = np.random.default_rng(draw(seeds))
    sizes = 10.0 ** rng.uniform(-1.0, 1.0, n_columns)
    return rng.standard_normal((n_rows, n_columns)) * sizes + rng.uniform(-5.0, 5.0, n_columns)


@st.composite
def fits(draw, max_rows=12, max_columns=5, diversity=diversities):
    """Rows, and parameters of a LinearModularAutoencoder that suit them."""
    rows = draw(data_sets(max_rows, max_columns))
    return rows, {
        "n_modules": draw(st.integers(1, 4)),
        "n_components": draw(st.integers(1, min(3, rows.shape[1]))),
        "diversity": draw(diversity),
        "random_state": draw(st.integers(0, 9)),
    }


@st.composite
def splits(draw, n_rows):
    """Slices that cut so many rows into parts, none of them empty."""
    cuts = draw(st.sets(st.integers(1, n_rows - 1), max_size=5)) if n_rows > 1 else set()
    ends = [0, *sorted(cuts), n_rows]
    return [slice(start, stop) for start, stop in pairwise(ends)]


@st.composite
def vote_tables(draw, max_members=7, max_classes=5):
    """Votes (n, M) as class indices, and how many classes there are."""
    n_members, n_classes = draw(st.integers(1, max_members)), draw(st.integers(2, max_classes))
    rng = np.random.default_rng(draw(seeds))
    return rng.integers(0, n_classes, (draw(st.integers(1, 20)), n_members)), n_classes


@st.composite
def open_votes(draw):
    """For each row and member a vote and probabilities that need not agree; coarse, so that they tie."""
    n_members, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(seeds))
    n_rows = draw(st.integers(1, 15))
    votes = rng.integers(0, n_classes, (n_rows, n_members, 1))
    weights = rng.integers(1, 4, (n_rows, n_members, n_classes)).astype(float)
    probabilities = weights / weights.sum(axis=2, keepdims=True)
    X = np.concatenate([votes, probabilities], axis=2).reshape(n_rows, -1)
    return X, votes[:, :, 0], probabilities, n_classes


#: Names of columns as people type them, and as programs do. Numbers are no names.
name_letters = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n,;\t\"'")
column_names = st.text(name_letters, min_size=1, max_size=6).filter(
    lambda name: name.strip() == name and not is_number_text(name)
)

#: Words in cells: with letters at both ends they stand neither for a number nor for nothing.
words = st.text('abcäß日 ,;"\n#-', min_size=1, max_size=6).map(lambda word: f"w{word}w")

cells = {
    "number": st.floats(-1e6, 1e6, allow_subnormal=False),
    "whole": st.integers(-(10**6), 10**6),
    "truth": st.booleans(),
    "word": words,
}


@st.composite
def tables(draw, max_rows=12, max_columns=4, missing=True):
    """A frame of columns with names of any kind; in words and numbers a value may be missing."""
    n_rows = draw(st.integers(4, max_rows))
    names = draw(st.lists(column_names, min_size=1, max_size=max_columns, unique=True))
    table = {}
    for name in names:
        kind = draw(st.sampled_from(sorted(cells)))
        column = draw(st.lists(cells[kind], min_size=n_rows, max_size=n_rows))
        if missing:
            gone = draw(st.sets(st.integers(1, n_rows - 1), max_size=2))  # one value is always there
            column = [None if row in gone else value for row, value in enumerate(column)]
        table[name] = pd.Series(column, dtype=object)
    return pd.DataFrame(table)
