"""Which way to a spectrum: one table of rows, columns, axes and method."""

from functools import partial

import numpy as np
import pytest

from modae.data import summary as core_stream
from modae.data.spectrum import KeptRows
from modae.data.summary import EXACT_LIMIT, MEMORY_LIMIT, DataSummary, choose_route

LONG = 10**6
LARGEST_SIDE = int((MEMORY_LIMIT / 8) ** 0.5)

TABLE = [
    # rows, columns, axes, method, route
    # Small: the smaller side decides, a tie goes to the covariance.
    (100, 20, 10, "auto", "covariance"),
    (20, 20, 10, "auto", "covariance"),
    (19, 20, 10, "auto", "gram"),
    (2, 1, 1, "auto", "covariance"),
    (1, 5, 2, "auto", "gram"),
    # More axes than there are: exact routes do not mind.
    (100, 20, 500, "auto", "covariance"),
    (20, 100, 500, "auto", "gram"),
    # Around the limit on the smaller side, whichever it is.
    (LONG, EXACT_LIMIT, 100, "auto", "covariance"),
    (LONG, EXACT_LIMIT + 1, 100, "auto", "krylov"),
    (EXACT_LIMIT, LONG, 100, "auto", "gram"),
    (EXACT_LIMIT + 1, LONG, 100, "auto", "krylov"),
    (EXACT_LIMIT + 1, EXACT_LIMIT + 1, 100, "auto", "krylov"),
    # Above it, an iteration pays only for few axes, and only if their number is known.
    (LONG, 10_000, 2_000, "auto", "krylov"),
    (LONG, 10_000, 2_001, "auto", "covariance"),
    (10_000, LONG, 2_000, "auto", "krylov"),
    (10_000, LONG, 2_001, "auto", "gram"),
    (LONG, 10_000, None, "auto", "covariance"),
    (10_000, LONG, None, "auto", "gram"),
    # Large: only the iteration is left.
    (100_000, 50_000, 100, "auto", "krylov"),
    (50_000, LONG, 100, "auto", "krylov"),
    # A matrix that does not fit is refused, as long as it would be needed.
    (LONG, LARGEST_SIDE, 5_000, "auto", "covariance"),
    (LONG, LARGEST_SIDE + 1, 5_000, "auto", MemoryError),
    (LARGEST_SIDE + 1, LONG, 5_000, "auto", MemoryError),
    (100_000, 50_000, 10_001, "auto", MemoryError),
    (100_000, 50_000, None, "auto", MemoryError),
    # "exact" means exact, or an error.
    (100, 20, 10, "exact", "covariance"),
    (20, 100, 10, "exact", "gram"),
    (100_000, 6_000, 100, "exact", "covariance"),
    (6_000, 100_000, 100, "exact", "gram"),
    (LONG, LARGEST_SIDE, None, "exact", "covariance"),
    (LONG, LARGEST_SIDE + 1, 1, "exact", MemoryError),
    (LARGEST_SIDE + 1, LONG, 1, "exact", MemoryError),
    # "krylov" means the iteration, however small the data, if there is something left to leave out.
    (100, 20, 19, "krylov", "krylov"),
    (100, 20, 20, "krylov", ValueError),
    (20, 100, 19, "krylov", "krylov"),
    (20, 100, 20, "krylov", ValueError),
    (100, 20, None, "krylov", ValueError),
    (LONG, LONG, None, "krylov", ValueError),
    (LONG, LONG, 100, "krylov", "krylov"),
]


@pytest.mark.parametrize(("n_rows", "n_features", "n_axes", "method", "route"), TABLE)
def test_the_table_of_routes(n_rows, n_features, n_axes, method, route):
    if isinstance(route, str):
        assert choose_route(n_rows, n_features, n_axes, method) == route
        return
    with pytest.raises(route, match=r"spectrum='(exact|krylov)'"):
        choose_route(n_rows, n_features, n_axes, method)


def test_a_refusal_names_the_size_and_the_remedy():
    with pytest.raises(MemoryError, match=r"50,000 x 50,000 numbers: 20.0 GB.*spectrum='krylov'"):
        choose_route(100_000, 50_000, None)
    with pytest.raises(ValueError, match=r"n_modules \* n_components < 20; use spectrum='exact'"):
        choose_route(100, 20, 20, "krylov")


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
@pytest.mark.parametrize("method", ["auto", "exact", "krylov"])
def test_the_route_is_the_one_that_is_taken(monkeypatch, shape, method):
    X = np.random.default_rng(0).standard_normal(shape)
    functions = {
        "covariance": "spectrum_of_moments",
        "gram": "spectrum_of_gram",
        "krylov": "spectrum_by_krylov",
    }
    taken = []

    def noted(function, route, *given):
        taken.append(route)
        return function(*given)

    for route, name in functions.items():
        monkeypatch.setattr(core_stream, name, partial(noted, getattr(core_stream, name), route))
    DataSummary(pending=(KeptRows(X),)).decomposed(1, 3, method)
    assert taken == [choose_route(*shape, 3, method)]
