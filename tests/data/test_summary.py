"""The summary that grows: exact, persistent, and honest about memory."""

import numpy as np
import pytest
from scipy import sparse

from modae.data import summary as core_stream
from modae.data.moments import moments_of_rows
from modae.data.spectrum import KeptRows
from modae.data.summary import DataSummary, choose_route, gathered

X = np.random.default_rng(0).standard_normal((40, 8)) * 0.8 ** np.arange(8) + 3.0


def stream_of(rows, weights=None):
    return DataSummary(pending=(KeptRows(rows, weights),))


def assert_same_spectrum(stream, rows):
    width = rows.shape[1]
    spectrum, expected = (each.decomposed(1, width)[1] for each in (stream, stream_of(rows)))
    np.testing.assert_allclose(spectrum.mean, expected.mean, atol=1e-13)
    assert spectrum.rank == expected.rank
    eigenvalues = spectrum.eigenvalues[: spectrum.rank]
    np.testing.assert_allclose(eigenvalues, expected.eigenvalues[: expected.rank], atol=1e-13)
    assert spectrum.total_variance == pytest.approx(expected.total_variance, rel=1e-13)


def test_rows_are_kept_until_there_are_as_many_as_features():
    stream = DataSummary()
    for count, row in enumerate(X[:7], 1):
        stream = stream.join(stream_of(row[None]))
        assert stream.n_pending == count
        assert stream.moments is None
    stream = stream.join(stream_of(X[7:8]))
    assert stream.n_pending == 0
    assert stream.moments.weight == 8


@pytest.mark.parametrize("sizes", [(40,), (1,) * 40, (7, 1, 32), (8, 8, 8, 16), (3, 37), (39, 1)])
def test_any_batches_give_the_same_spectrum(sizes):
    stream = DataSummary()
    for batch in np.split(X, np.cumsum(sizes)[:-1]):
        stream = stream.join(stream_of(batch))
    assert_same_spectrum(stream, X)


def test_sparse_and_dense_batches_mix():
    stream = DataSummary()
    for place, batch in enumerate(np.split(X, [2, 5, 6, 20])):
        stream = stream.join(stream_of(sparse.csr_array(batch) if place % 2 else batch))
    assert_same_spectrum(stream, X)


def test_weighted_and_plain_batches_mix():
    stream = stream_of(X[:3]).join(stream_of(X[3:5], np.array([2.0, 3.0])))
    assert_same_spectrum(stream, X[[0, 1, 2, 3, 3, 4, 4, 4]])


def test_moments_join_rows_on_either_side():
    moments = DataSummary(moments_of_rows(X[:20]))
    assert_same_spectrum(moments.join(stream_of(X[20:])), X)
    assert_same_spectrum(stream_of(X[20:]).join(moments), X)
    assert_same_spectrum(moments.join(DataSummary(moments_of_rows(X[20:]))), X)


def test_joining_leaves_both_streams_as_they_were():
    one, other = stream_of(X[:3]), stream_of(X[3:5])
    one.join(other)
    assert (one.n_pending, other.n_pending) == (3, 2)


def test_pending_rows_are_copies():
    batch = X[:3].copy()
    stream = DataSummary().join(stream_of(batch))
    batch[:] = np.nan
    assert_same_spectrum(stream, X[:3])


def test_an_empty_stream_changes_nothing():
    assert DataSummary().is_empty
    assert_same_spectrum(DataSummary().join(stream_of(X)), X)
    assert_same_spectrum(stream_of(X).join(DataSummary()), X)


def test_a_matrix_over_the_limit_is_refused_with_its_size_and_a_remedy(monkeypatch):
    monkeypatch.setattr(core_stream, "MEMORY_LIMIT", 500)
    stream = DataSummary()
    for row in X[:7]:
        stream = stream.join(stream_of(row[None]))
    with pytest.raises(MemoryError, match=r"8 x 8 numbers: 0.0 GB, over the limit .* spectrum='krylov'"):
        stream.join(stream_of(X[7:8]))


def test_data_over_the_limit_are_not_copied(monkeypatch):
    assert stream_of(X).owned().n_pending == 40
    monkeypatch.setattr(core_stream, "MEMORY_LIMIT", 100)
    assert stream_of(X).owned() is None


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_axes", "method", "route"),
    [
        (100, 20, 10, "auto", "covariance"),
        (20, 20, 10, "auto", "covariance"),
        (19, 20, 10, "auto", "gram"),
        (10**6, 5_000, 100, "auto", "covariance"),
        (10**6, 5_001, 100, "auto", "krylov"),
        (10**6, 5_001, 2_000, "auto", "covariance"),
        (10**6, 5_001, None, "auto", "covariance"),
        (5_000, 10**6, 100, "auto", "gram"),
        (5_001, 10**6, 100, "auto", "krylov"),
        (10**5, 6_000, 100, "exact", "covariance"),
        (6_000, 10**5, 100, "exact", "gram"),
        (100, 20, 10, "krylov", "krylov"),
    ],
)
def test_the_route_to_a_spectrum(n_rows, n_features, n_axes, method, route):
    assert choose_route(n_rows, n_features, n_axes, method) == route


@pytest.mark.parametrize("n_axes", [20, None])
def test_krylov_needs_fewer_axes_than_there_are(n_axes):
    with pytest.raises(ValueError, match="needs an integer n_components"):
        choose_route(100, 20, n_axes, "krylov")


def test_exact_spectra_of_huge_sides_are_refused():
    with pytest.raises(MemoryError, match=r"100,000 x 100,000 numbers: 80.0 GB"):
        choose_route(10**6, 10**5, 100, "exact")


def test_gathering_keeps_sparsity():
    parts = (KeptRows(sparse.csr_matrix(X[:3])), KeptRows(X[3:5]))
    assert sparse.issparse(gathered(parts).rows)
    np.testing.assert_array_equal(gathered(parts).rows.toarray(), X[:5])


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 41.0)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_variances_of_rows_are_those_of_their_moments(kind, weights):
    kept, summed = stream_of(kind(X), weights), stream_of(X, weights).as_moments()
    assert kept.moments is None
    assert not summed.pending
    expected = np.cov(X.T, aweights=weights, ddof=0).diagonal()
    np.testing.assert_allclose(kept.variances, expected, rtol=1e-12)
    np.testing.assert_allclose(summed.variances, expected, rtol=1e-12)


@pytest.mark.parametrize("kept", [True, False])
def test_a_standardised_summary_is_that_of_standardised_rows(kept):
    mean, factors = X.mean(axis=0), 1.0 / X.std(axis=0)
    summary = stream_of(X) if kept else stream_of(X).as_moments()
    moved = summary.standardised(mean, factors)
    assert (moved.moments is None) == kept
    np.testing.assert_allclose(moved.variances, 1.0, rtol=1e-12)
    assert_same_spectrum(moved, (X - mean) * factors)
