"""Spectra of wide data, and a bound that stays true when they are inexact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from modae.core.objective import Problem
from modae.core.spectral import solve_spectral
from modae.data import krylov
from modae.data import rows as core_rows
from modae.data.krylov import (
    BlockLanczos,
    CentredData,
    equal_values,
    leading_basis,
    spectrum_by_krylov,
    spectrum_in_basis,
)
from modae.data.moments import moments_of_rows
from modae.data.spectrum import KeptRows, spectrum_of_gram, spectrum_of_moments

rng = np.random.default_rng(0)
DECAYING = rng.standard_normal((120, 90)) * 0.85 ** np.arange(90) + 1.0
FLAT = sparse.random_array((400, 300), density=0.02, rng=1, data_sampler=rng.standard_normal)


def projector(axes):
    return axes.T @ axes


def problem(spectrum, M=4, H=3, diversity=0.6, closed=1e-9):
    kept, total = spectrum.leading(M, H), spectrum.total_variance or 1.0
    return Problem(
        kept.eigenvalues / total,
        kept.total_variance / total,
        M,
        H,
        diversity,
        hidden=kept.hidden / total,
        slack=kept.slack / total,
        closed=closed,
    )


def rows_with(eigenvalues, n_rows=320, n_features=240, shift=1.0):
    """Rows whose covariance has exactly these eigenvalues, to round-off, with random axes."""
    random = np.random.default_rng(len(eigenvalues))
    scores = random.standard_normal((n_rows, len(eigenvalues)))
    scores = np.linalg.qr(scores - scores.mean(axis=0))[0] * np.sqrt(n_rows * eigenvalues)
    axes = np.linalg.qr(random.standard_normal((n_features, len(eigenvalues))))[0]
    return scores @ axes.T + shift


@pytest.fixture
def short_basis(monkeypatch):
    """A basis so short that even small problems need restarts."""
    monkeypatch.setattr(krylov, "ROOM", 48)
    monkeypatch.setattr(krylov, "WIDTH", 8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_route_equals_the_covariance_route(kind, weighted):
    rows = DECAYING[:40]
    weights = rng.random(40) + 0.1 if weighted else None
    wide_one = spectrum_of_gram(KeptRows(kind(rows), weights))
    exact = spectrum_of_moments(moments_of_rows(rows, weights))
    assert wide_one.rank == exact.rank == 39
    np.testing.assert_allclose(wide_one.eigenvalues[:39], exact.eigenvalues[:39], atol=1e-13)
    np.testing.assert_allclose(projector(wide_one.axes[:5]), projector(exact.axes[:5]), atol=1e-9)
    assert wide_one.total_variance == pytest.approx(exact.total_variance, rel=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("turned", [False, True])
def test_krylov_finds_the_leading_axes(kind, turned, short_basis):
    rows = rows_with(0.85 ** np.arange(200))
    rows = rows.T if turned else rows
    found = spectrum_by_krylov(KeptRows(kind(rows)), 10)
    exact = spectrum_of_moments(moments_of_rows(rows))
    assert found.axes.shape == (30, rows.shape[1])
    np.testing.assert_allclose(found.eigenvalues[:10], exact.eigenvalues[:10], rtol=1e-10)
    np.testing.assert_allclose(projector(found.axes[:10]), projector(exact.axes[:10]), atol=1e-8)
    assert found.total_variance == pytest.approx(exact.total_variance, rel=1e-12)
    assert found.hidden > 0.0
    assert found.slack < 1e-9 * found.total_variance


def test_the_account_of_what_a_basis_misses_is_right():
    found = spectrum_in_basis(CentredData.of(KeptRows(DECAYING)), rng.standard_normal((90, 15)))
    covariance = np.cov(DECAYING.T, bias=True)
    Q = found.axes.T
    np.testing.assert_allclose(np.diag(Q.T @ covariance @ Q), found.eigenvalues, atol=1e-12)
    residual = covariance @ Q - Q @ (Q.T @ covariance @ Q)
    assert found.slack == pytest.approx(np.linalg.norm(residual, "nuc"))
    assert found.hidden == pytest.approx(np.trace(covariance) - found.eigenvalues.sum())


@pytest.mark.parametrize("diversity", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_on_a_flat_sparse_spectrum_the_naive_bound_fails_and_ours_does_not(diversity):
    exact = problem(spectrum_of_moments(moments_of_rows(FLAT.tocsr())), diversity=diversity)
    optimum = solve_spectral(exact, np.random.default_rng(0)).loss
    # One product with a random matrix: a usual first step, and a poor basis when nothing decays.
    data = CentredData.of(KeptRows(FLAT.tocsr()))
    basis = data.covariance_times(np.random.default_rng(1).standard_normal((300, 12)))
    found = problem(spectrum_in_basis(data, basis), diversity=diversity)
    naive = Problem(found.eigenvalues, found.total_variance, 4, 3, diversity)
    assert naive.lower_bound > optimum
    assert found.lower_bound <= optimum
    assert not found.is_exact


def test_modules_on_an_inexact_spectrum_are_certified_only_if_the_gap_closes():
    poor = problem(
        spectrum_in_basis(CentredData.of(KeptRows(FLAT.tocsr())), rng.standard_normal((300, 12)))
    )
    assert solve_spectral(poor, np.random.default_rng(0)).attainment == "undecided"
    low_rank = DECAYING[:, :6] @ rng.standard_normal((6, 90))
    good = problem(spectrum_by_krylov(KeptRows(low_rank), 12))
    assert solve_spectral(good, np.random.default_rng(0)).attainment == "attained"


def test_an_unfinished_iteration_is_used_and_accounted_for(monkeypatch, short_basis):
    monkeypatch.setattr(krylov, "PATIENCE", 1)
    rows = rows_with(np.arange(1, 201) ** -0.2)
    found, exact = spectrum_by_krylov(KeptRows(rows), 10), spectrum_of_moments(moments_of_rows(rows))
    assert len(found.eigenvalues) == 30
    assert found.slack > 1e-4 * found.total_variance
    assert problem(found).lower_bound <= solve_spectral(problem(exact), np.random.default_rng(0)).loss


POWERS = np.arange(1.0, 201.0)
SPECTRA = {
    "1/k": 1.0 / POWERS,
    "1/sqrt(k)": POWERS**-0.5,
    "exponential": 0.7**POWERS,
    "slow exponential": 0.97**POWERS,
    "flat": np.ones(200),
    "equal ones first": np.r_[np.ones(40), 0.3 * 0.9 ** POWERS[:150]],
    "steps": np.repeat([1.0, 0.5, 0.25, 0.01], [7, 20, 30, 140]),
    "equal ones at the cut": np.r_[0.9 ** np.arange(8.0), np.full(30, 0.3), 0.01 / POWERS[:150]],
    "rank below the axes": np.array([3.0, 1.0, 1.0, 0.2, 0.1]),
    "one axis": np.array([1.0]),
}


AT_ALL_SCALES = ["1/k", "rank below the axes"]


@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, 1.0) for name in SPECTRA] + [(n, s) for n in AT_ALL_SCALES for s in (1e-140, 1e140)],
)
def test_the_loss_is_the_exact_one_and_the_bound_is_true(name, scale, short_basis):
    found = problem(spectrum_by_krylov(KeptRows(rows_with(SPECTRA[name]) * scale), 12))
    exact = problem(spectrum_of_moments(moments_of_rows(rows_with(SPECTRA[name]))))
    assert_honest(found, exact, 1e-9, round_off=1e-12)


@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, 1.0) for name in SPECTRA] + [(n, s) for n in AT_ALL_SCALES for s in (1e-18, 1e18)],
)
def test_the_same_in_float32(name, scale, short_basis):
    rows = rows_with(SPECTRA[name]).astype(np.float32)
    found = spectrum_by_krylov(KeptRows(rows * np.float32(scale)), 12)
    exact = spectrum_of_moments(moments_of_rows(rows.astype(np.float64)))
    assert_honest(problem(found, closed=1e-5), problem(exact), 1e-5, round_off=1e-6)


@pytest.mark.parametrize("name", ["1/k", "flat", "steps", "one axis"])
def test_the_same_with_weights(name, short_basis):
    rows = rows_with(SPECTRA[name])
    weights = np.random.default_rng(0).integers(1, 4, len(rows))
    found = problem(spectrum_by_krylov(KeptRows(rows, weights.astype(float)), 12))
    exact = problem(spectrum_of_moments(moments_of_rows(np.repeat(rows, weights, axis=0))))
    assert_honest(found, exact, 1e-9, round_off=1e-12)


def assert_honest(found, exact, accuracy, round_off):
    """The loss of the exact spectrum; a bound below it; and "attained" only where it is."""
    solution = solve_spectral(found, np.random.default_rng(0))
    optimum = solve_spectral(exact, np.random.default_rng(0)).loss
    assert solution.loss == pytest.approx(optimum, rel=accuracy, abs=round_off)
    assert found.lower_bound <= optimum + round_off
    if solution.attainment == "attained":
        assert solution.loss <= optimum + 1.01 * found.closed


def test_where_little_is_hidden_the_bound_is_attained(short_basis):
    for name in ("exponential", "rank below the axes", "one axis"):
        found = problem(spectrum_by_krylov(KeptRows(rows_with(SPECTRA[name])), 12))
        assert solve_spectral(found, np.random.default_rng(0)).attainment == "attained"


@given(
    values=st.lists(st.sampled_from([1.0, 0.9, 0.5, 0.1, 1e-3, 1e-7, 0.0]), min_size=1, max_size=150),
    diversity=st.floats(0.0, 1.0),
)
def test_no_spectrum_makes_the_bound_false(values, diversity):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(krylov, "ROOM", 32)
        patch.setattr(krylov, "WIDTH", 4)
        rows = rows_with(np.array(values), 180, 170)
        found = problem(spectrum_by_krylov(KeptRows(rows), 12), diversity=diversity)
    exact = problem(spectrum_of_moments(moments_of_rows(rows)), diversity=diversity)
    optimum = solve_spectral(exact, np.random.default_rng(0)).loss
    assert found.lower_bound <= optimum + 1e-12


def test_equal_values_are_counted():
    assert equal_values(np.array([3.0, 2.0, 2.0, 2.0 - 1e-9, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])) == 3
    assert equal_values(np.array([1.0, 1e-17, 1e-17, -1e-17])) == 1


def test_noise_without_a_leading_part_takes_bounded_time(monkeypatch, short_basis):
    counted = []
    times = CentredData.covariance_times

    def counting(data, block):
        counted.append(block.shape[1])
        return times(data, block)

    monkeypatch.setattr(CentredData, "covariance_times", counting)
    leading_basis(CentredData.of(KeptRows(FLAT.tocsr())), 12)
    assert sum(counted) <= krylov.PATIENCE * 32 + 4 * krylov.WIDTH
    assert set(counted) == {krylov.WIDTH}


def test_a_basis_that_would_hold_everything_is_everything():
    for rows in (DECAYING, DECAYING.T):
        found = spectrum_by_krylov(KeptRows(rows), 10)
        exact = spectrum_of_moments(moments_of_rows(rows))
        count = min(len(found.eigenvalues), 80)
        np.testing.assert_allclose(found.eigenvalues[:count], exact.eigenvalues[:count], atol=1e-13)
        assert found.hidden + found.slack < 1e-12 * found.total_variance


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_products_equal_those_of_the_matrices(kind, weighted, dtype, accuracy, monkeypatch):
    monkeypatch.setattr(core_rows, "BLOCK_BYTES", 7 * 8 * DECAYING.shape[1])
    rows = np.where(DECAYING > 1.1, DECAYING, 0.0).astype(dtype)
    weights = np.random.default_rng(0).random(len(rows)) + 0.1 if weighted else None
    data = CentredData.of(KeptRows(kind(rows), weights))
    shares = np.full(len(rows), 1 / len(rows)) if weights is None else weights / weights.sum()
    centred = np.sqrt(shares)[:, None] * (rows.astype(float) - shares @ rows.astype(float))
    block, tall = rng.standard_normal((90, 19)), rng.standard_normal((120, 19))
    np.testing.assert_allclose(data.covariance_times(block), centred.T @ centred @ block, atol=accuracy)
    np.testing.assert_allclose(data.gram_times(tall), centred @ centred.T @ tall, atol=accuracy)
    np.testing.assert_allclose(data.axes_from(tall), centred.T @ tall, atol=accuracy)
    assert data.total_variance == pytest.approx(np.trace(centred.T @ centred), rel=accuracy)
    assert data.covariance_times(block).dtype == data.gram_times(tall).dtype == np.float64


@pytest.mark.parametrize("shape", [(400, 300), (300, 400)])
def test_the_number_of_threads_does_not_change_a_bit(shape, monkeypatch):
    rows = KeptRows(sparse.random_array(shape, density=0.05, rng=0, format="csr"))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(krylov, "effective_jobs", lambda _, threads=threads: threads)
        found.append(CentredData.of(rows).smaller_times(np.random.default_rng(0).random((300, 37))))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("values", [np.linspace(1.0, 2.0, 100) ** 8, np.ones(100), np.eye(100)[0]])
def test_lanczos_keeps_its_relation_and_an_orthonormal_basis(values):
    iteration = BlockLanczos(lambda block: values[:, None] * block, 100, 4, 40, np.random.default_rng(0))
    for _ in range(3):
        while not iteration.is_full:
            iteration.grow()
        ritz = iteration.ritz()
        vectors = iteration.vectors(ritz, iteration.size)
        residuals = values[:, None] * vectors - vectors * ritz.values
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(iteration.size), atol=1e-13)
        lengths = np.linalg.norm(ritz.residuals, axis=0)
        np.testing.assert_allclose(np.linalg.norm(residuals, axis=0), lengths, atol=1e-11)
        iteration.restart(ritz, 20)
    np.testing.assert_allclose(ritz.values[0], values.max(), rtol=1e-9)


def test_the_gram_route_finds_no_more_axes_than_are_wanted():
    rows = sparse.random_array((60, 4000), density=0.01, rng=0, format="csr")
    few = spectrum_of_gram(KeptRows(rows), 7)
    every = spectrum_of_gram(KeptRows(rows))
    assert few.axes.shape == (7, 4000)
    np.testing.assert_allclose(few.eigenvalues, every.eigenvalues[:7], rtol=1e-12)
    np.testing.assert_allclose(
        few.axes @ every.axes[:7].T, np.diag(np.diag(few.axes @ every.axes[:7].T)), atol=1e-8
    )
    assert few.total_variance == every.total_variance


def test_what_is_dropped_as_round_off_is_no_part_of_the_bound():
    rows = rng.standard_normal((300, 100)) * np.r_[1.0, np.full(99, 1e-4)]
    single = problem(spectrum_of_moments(moments_of_rows(rows.astype(np.float32))), 10, 10, 1.0)
    double = problem(spectrum_of_moments(moments_of_rows(rows)), 10, 10, 1.0)
    optimum = solve_spectral(double, np.random.default_rng(0)).loss
    assert single.lower_bound <= optimum + 1e-12
    assert len(single.eigenvalues) < len(double.eigenvalues)
