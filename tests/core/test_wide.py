"""Spectra of wide data, and a bound that stays true when they are inexact."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence

from modae.core import krylov
from modae.core.gram import spectrum_of_gram
from modae.core.krylov import CentredData, spectrum_by_krylov, spectrum_in_basis
from modae.core.moments import moments_of_rows
from modae.core.rows import KeptRows
from modae.core.solution import Problem
from modae.core.spectral import solve_spectral
from modae.core.spectrum import spectrum_of_moments

rng = np.random.default_rng(0)
DECAYING = rng.standard_normal((120, 90)) * 0.85 ** np.arange(90) + 1.0
FLAT = sparse.random_array((400, 300), density=0.02, rng=1, data_sampler=rng.standard_normal)


def projector(axes):
    return axes.T @ axes


def problem(spectrum, M=4, H=3, diversity=0.6):
    kept = spectrum.leading(M, H)
    return Problem(
        kept.eigenvalues, kept.total_variance, M, H, diversity, hidden=kept.hidden, slack=kept.slack
    )


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
def test_krylov_finds_the_leading_axes(kind):
    found = spectrum_by_krylov(KeptRows(kind(DECAYING)), 10)
    exact = spectrum_of_moments(moments_of_rows(DECAYING))
    np.testing.assert_allclose(found.eigenvalues[:10], exact.eigenvalues[:10], rtol=1e-10)
    np.testing.assert_allclose(projector(found.axes[:10]), projector(exact.axes[:10]), atol=1e-8)
    assert found.total_variance == pytest.approx(exact.total_variance, rel=1e-12)
    assert found.hidden > 0.0
    assert found.slack < 1e-8 * found.total_variance


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


def test_an_unfinished_iteration_is_used_and_accounted_for(monkeypatch):
    def give_up(operator, k, **_):
        vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((90, k - 3)))[0]
        raise ArpackNoConvergence("no convergence", np.zeros(k - 3), vectors)

    monkeypatch.setattr(krylov, "eigsh", give_up)
    found = spectrum_by_krylov(KeptRows(DECAYING), 10)
    assert len(found.eigenvalues) == 30
    assert found.slack > 0.0
    exact = problem(spectrum_of_moments(moments_of_rows(DECAYING)))
    assert problem(found).lower_bound <= exact.lower_bound


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
