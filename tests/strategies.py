"""Hypothesis strategies: spectra of many shapes, problems on them, small data sets, and models for them."""

from itertools import pairwise

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from modae.core.objective import Problem

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
