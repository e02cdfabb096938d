"""Distance correlation against dcor, against the definition, and against its own invariances."""

import tracemalloc

import dcor
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modae.metrics import correlations as module
from modae.metrics import distance_correlation_matrix
from modae.metrics.correlations import jackknifed_correlations
from oracles import random_rotation
from strategies import seeds

KINDS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "ties": lambda rng, shape: np.round(rng.standard_normal(shape)),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "repeated rows": lambda rng, shape: rng.standard_normal(shape)[rng.integers(0, shape[0], shape[0])],
    "constant": lambda rng, shape: np.full(shape, 0.1),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "far from zero": lambda rng, shape: 1e6 + rng.standard_normal(shape),
}


def case(seed):
    """Two samples of 2 to 200 rows and 1 to 20 columns; every third pair is dependent."""
    rng = np.random.default_rng(seed)
    n_rows = rng.integers(2, 201 if seed % 4 else 10)
    kinds = rng.choice(list(KINDS), 2)
    X, Y = (KINDS[kind](rng, (n_rows, rng.integers(1, 21))) for kind in kinds)
    return (X, Y + np.tanh(X[:, :1])) if seed % 3 == 0 else (X, Y)


def correlation(X, Y, *, unbiased=False):
    return distance_correlation_matrix([X, Y], unbiased=unbiased)[0, 1]


def centred_by_loops(X, unbiased):
    """The definition, entry by entry."""
    n = len(X)
    a = [[np.sqrt(sum((X[r] - X[s]) ** 2)) for s in range(n)] for r in range(n)]
    row, total = [sum(a[r]) for r in range(n)], sum(map(sum, a))
    if unbiased:
        centred = [
            [a[r][s] - (row[r] + row[s]) / (n - 2) + total / ((n - 1) * (n - 2)) for s in range(n)]
            for r in range(n)
        ]
        return np.array([[0.0 if r == s else centred[r][s] for s in range(n)] for r in range(n)])
    return np.array(
        [[a[r][s] - (row[r] + row[s]) / n + total / n**2 for s in range(n)] for r in range(n)]
    )


def unbiased_by_dcor(X, Y):
    """The squared correlation; 0 where a variance is 0: there dcor divides round-off by round-off."""
    stats, biased = dcor.u_distance_stats_sqr(X, Y), dcor.distance_stats_sqr(X, Y)
    vanishes = (
        stats.variance_x <= 1e-13 * biased.variance_x or stats.variance_y <= 1e-13 * biased.variance_y
    )
    return 0.0 if vanishes else float(dcor.u_distance_correlation_sqr(X, Y))


@pytest.mark.parametrize("seed", range(200))
def test_it_equals_dcor(seed):
    X, Y = case(seed)
    assert correlation(X, Y) == pytest.approx(float(dcor.distance_correlation(X, Y)), abs=1e-10)
    if len(X) >= 4:
        expected = unbiased_by_dcor(X, Y)
        assert correlation(X, Y, unbiased=True) == pytest.approx(expected, abs=1e-10)


def test_the_cases_hold_what_they_promise():
    cases = [case(seed) for seed in range(200)]
    values = np.array([correlation(X, Y) for X, Y in cases])
    assert {X.shape[1] for X, _ in cases} | {Y.shape[1] for _, Y in cases} == set(range(1, 21))
    assert min(len(X) for X, _ in cases) == 2
    assert max(len(X) for X, _ in cases) > 190
    assert (values == 0.0).sum() > 10
    assert ((values > 0.05) & (values < 0.99)).sum() > 100


@pytest.mark.parametrize("unbiased", [False, True])
def test_it_is_the_cosine_of_centred_distances(unbiased):
    rng = np.random.default_rng(0)
    samples = [rng.standard_normal((9, width)) for width in (1, 3, 40)]
    centred = [centred_by_loops(X, unbiased) for X in samples]
    for i in range(3):
        for j in range(3):
            cosine = np.sum(centred[i] * centred[j])
            cosine /= np.sqrt(np.sum(centred[i] ** 2) * np.sum(centred[j] ** 2))
            found = distance_correlation_matrix(samples, unbiased=unbiased)[i, j]
            assert found == pytest.approx(cosine if unbiased else np.sqrt(cosine), abs=1e-13)


def test_it_is_more_exact_than_the_formula_without_centring():
    """dcor in extended precision is the judge: one far row costs digits in a formula of raw sums."""
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((2, 50, 3))
    X[0] += 1e5
    wide = [sample.astype(np.longdouble) for sample in (X, Y)]
    exact = float(dcor.u_distance_correlation_sqr(*wide, method="naive"))
    ours = abs(correlation(X, Y, unbiased=True) - exact)
    theirs = abs(float(dcor.u_distance_correlation_sqr(X, Y)) - exact)
    assert ours < 1e-9 < theirs


@pytest.mark.parametrize("unbiased", [False, True])
def test_blocks_do_not_change_the_result(monkeypatch, unbiased):
    samples = list(np.random.default_rng(2).standard_normal((3, 50, 4)))
    whole = distance_correlation_matrix(samples, unbiased=unbiased)
    jackknifed = jackknifed_correlations(samples)
    for n_bytes in (1, 8 * 50 * 3 * 7):  # one row at a time; seven rows, with a rest
        monkeypatch.setattr(module, "BLOCK_BYTES", n_bytes)
        found = distance_correlation_matrix(samples, unbiased=unbiased)
        np.testing.assert_allclose(found, whole, rtol=0, atol=1e-13)
        for part, expected in zip(jackknifed_correlations(samples), jackknifed, strict=True):
            np.testing.assert_allclose(part, expected, rtol=0, atol=1e-13)


def test_memory_does_not_grow_with_the_square_of_the_rows():
    samples = list(np.random.default_rng(3).standard_normal((3, 2500, 2)))
    tracemalloc.start()
    distance_correlation_matrix(samples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 2500**2  # half of one distance matrix


@pytest.mark.parametrize("width", [1, 4])
def test_leaving_a_row_out_is_leaving_it_out(width):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((12, width))
    samples = [X, np.round(X[:, :1]), X**2 + rng.standard_normal((12, width))]
    whole, without = jackknifed_correlations(samples)
    np.testing.assert_allclose(whole, distance_correlation_matrix(samples), atol=1e-13)
    expected = [
        distance_correlation_matrix([np.delete(sample, r, axis=0) for sample in samples])
        for r in range(12)
    ]
    np.testing.assert_allclose(without, expected, atol=1e-12)


@pytest.mark.parametrize("n_rows", [*range(5, 30), 127, 255, 383])
def test_without_the_only_different_row_a_sample_is_constant(n_rows):
    X, Y = np.zeros((n_rows, 1)), np.random.default_rng(n_rows).standard_normal((n_rows, 1))
    X[2] = 0.3
    _, without = jackknifed_correlations([X, Y])
    assert without[2, 0, 1] == without[2, 0, 0] == 0.0
    assert (np.delete(without[:, 0, 1], 2) > 0.0).all()


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 5e-324])
def test_a_constant_has_no_correlation(value, unbiased):
    X, constant = np.random.default_rng(5).standard_normal((7, 2)), np.full((7, 3), value)
    found = distance_correlation_matrix([X, constant], unbiased=unbiased)
    np.testing.assert_array_equal(found, [[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    "sample", [0.1 * np.eye(7), 0.3 * np.eye(7)[:, :1]], ids=["equidistant", "one off"]
)
def test_samples_without_unbiased_variance_have_no_unbiased_correlation(sample):
    X = np.random.default_rng(6).standard_normal((7, 2))
    found = distance_correlation_matrix([X, sample], unbiased=True)
    np.testing.assert_array_equal(found, [[1.0, 0.0], [0.0, 0.0]])
    assert distance_correlation_matrix([X, sample])[0, 1] > 0.1


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_no_scale_overflows_or_vanishes(scale):
    X, Y = np.random.default_rng(7).integers(-9, 10, (2, 30, 3)).astype(float)
    assert correlation(scale * X, Y) == pytest.approx(
        correlation(X, Y), abs=1e-3 if scale < 1e-300 else 1e-13
    )


def test_float32_is_computed_in_float64():
    X, Y = np.random.default_rng(8).standard_normal((2, 40, 3)).astype(np.float32)
    assert correlation(X, Y) == correlation(X.astype(np.float64), Y.astype(np.float64))


@given(seeds, st.booleans(), st.floats(1e-3, 1e3))
def test_invariances(seed, unbiased, factor):
    X, Y = case(seed)
    n_rows, width = X.shape
    if n_rows < 4 or (X[0] == X).all():  # a constant that was rotated varies by round-off
        return
    rng = np.random.default_rng(seed)
    expected = correlation(X, Y, unbiased=unbiased)
    moved = factor * (X @ random_rotation(width, rng)) + rng.standard_normal(width)
    close = {"rel": 0.0, "abs": 1e-6}
    assert correlation(moved, Y, unbiased=unbiased) == pytest.approx(expected, **close)
    assert correlation(Y, X, unbiased=unbiased) == pytest.approx(expected, abs=1e-14)
    order = rng.permutation(n_rows)
    assert correlation(X[order], Y[order], unbiased=unbiased) == pytest.approx(expected, abs=1e-12)
    padded = np.hstack([X, np.full((n_rows, 2), 3.0)])
    assert correlation(padded, Y, unbiased=unbiased) == pytest.approx(expected, abs=1e-12)


@given(seeds)
def test_ranges(seed):
    rng = np.random.default_rng(seed)
    samples = [KINDS[kind](rng, (10, 2)) for kind in KINDS]
    roots = distance_correlation_matrix(samples)
    assert ((roots >= 0.0) & (roots <= 1.0)).all()
    np.testing.assert_array_equal(roots, roots.T)
    assert set(np.diagonal(roots)) == {0.0, 1.0}
    assert np.linalg.eigvalsh(roots**2).min() > -1e-12  # a Gram matrix
    assert np.abs(distance_correlation_matrix(samples, unbiased=True)).max() <= 1.0
