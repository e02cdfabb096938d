import numpy as np
import pytest
from hypothesis import given

from modae.data.moments import moments_of_rows
from modae.data.spectrum import KeptRows, Spectrum, spectrum_of_gram, spectrum_of_moments
from oracles import moments_in_long_double, random_rotation, rows_with_spectrum
from strategies import data_sets, seeds


def by_rows(rows):
    return spectrum_of_gram(KeptRows(rows))


def by_moments(rows):
    return spectrum_of_moments(moments_of_rows(rows))


WIDE = [(5, 30), (2, 4), (6, 6), (1, 3)]
TALL = [(30, 5), (2, 1), (7, 6)]


def deficient_rows(n_rows, n_features, rank, rng):
    return rng.standard_normal((n_rows, rank)) @ rng.standard_normal((rank, n_features))


def covariance_of(spectrum):
    return spectrum.axes.T @ (spectrum.eigenvalues[:, None] * spectrum.axes)


@pytest.mark.parametrize(
    ("spectrum_by", "shape"),
    [(by_rows, shape) for shape in WIDE] + [(by_moments, shape) for shape in WIDE + TALL],
)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_axes_and_eigenvalues_make_up_the_covariance(spectrum_by, shape, offset):
    rows = offset + np.random.default_rng(0).standard_normal(shape)
    spectrum = spectrum_by(rows)
    _, expected = moments_in_long_double(rows)
    np.testing.assert_allclose(covariance_of(spectrum), expected, atol=1e-12 * np.trace(expected))
    np.testing.assert_allclose(spectrum.axes @ spectrum.axes.T, np.eye(len(spectrum.axes)), atol=1e-12)
    np.testing.assert_allclose(spectrum.mean, rows.mean(axis=0), rtol=1e-13, atol=1e-13)
    assert spectrum.total_variance == pytest.approx(np.trace(expected), rel=1e-12)
    assert np.all(np.diff(spectrum.eigenvalues) <= 0.0)


@given(data_sets(max_rows=5, max_columns=8))
def test_rows_and_moments_have_one_spectrum(rows):
    rows = rows[: rows.shape[1]]
    short, full = by_rows(rows), by_moments(rows)
    size = full.total_variance
    np.testing.assert_allclose(
        short.eigenvalues, full.eigenvalues[: len(rows)], rtol=0, atol=1e-13 * size
    )
    np.testing.assert_allclose(covariance_of(short), covariance_of(full), atol=1e-12 * size)
    assert short.rank == full.rank


@pytest.mark.parametrize("n_leading", [1, 3, 7])
def test_rows_and_moments_have_the_same_leading_subspaces(n_leading):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((20, 40)) * 0.8 ** np.arange(40)
    first = by_rows(rows).axes[:n_leading]
    second = by_moments(rows).axes[:n_leading]
    np.testing.assert_allclose(first.T @ first, second.T @ second, atol=1e-10)


def test_kept_rows_have_as_many_axes_as_rows():
    assert by_rows(np.random.default_rng(2).standard_normal((4, 9))).axes.shape == (4, 9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("spectrum_by", "shape"),
    [(by_rows, (10, 40)), (by_moments, (10, 40)), (by_moments, (40, 10))],
)
@pytest.mark.parametrize("rank", [1, 3, 7])
@pytest.mark.parametrize("offset", [0.0, 10.0])
def test_rank_is_seen_through_round_off(spectrum_by, dtype, shape, rank, offset):
    rows = offset + deficient_rows(*shape, rank, np.random.default_rng(rank))
    spectrum = spectrum_by(rows.astype(dtype))
    if dtype is np.float64 or spectrum_by is by_moments:
        assert spectrum.rank == rank
    # The Gram route works in float64, and sees that rounding the entries themselves adds rank.
    assert np.count_nonzero(spectrum.eigenvalues > 1e-10 * spectrum.eigenvalues[0]) == rank


@pytest.mark.parametrize(
    ("spectrum_by", "n_rows"),
    [(by_rows, 1), (by_rows, 3), (by_moments, 3), (by_moments, 8)],
)
@pytest.mark.parametrize("value", [0.0, 0.1, 1.5, 1e8])
def test_data_without_variance_have_rank_zero(spectrum_by, n_rows, value):
    spectrum = spectrum_by(np.full((n_rows, 5), value))
    assert spectrum.rank == 0
    assert not spectrum.eigenvalues.any()
    assert spectrum.total_variance == 0.0
    np.testing.assert_allclose(spectrum.mean, value, rtol=1e-15)


@pytest.mark.parametrize(
    ("rank", "n_modules", "n_components"), [(0, 2, 3), (1, 3, 5), (2, 1, 6), (3, 2, 2)]
)
@pytest.mark.parametrize(("spectrum_by", "n_rows"), [(by_rows, 4), (by_moments, 4), (by_moments, 20)])
def test_leading_axes_fill_a_module(spectrum_by, rank, n_modules, n_components, n_rows):
    rows = deficient_rows(n_rows, 6, rank, np.random.default_rng(3))
    spectrum = spectrum_by(rows)
    leading = spectrum.leading(n_modules, n_components)
    count = max(n_components, min(n_modules * n_components, rank))
    assert leading.axes.shape == (count, 6)
    np.testing.assert_allclose(leading.axes @ leading.axes.T, np.eye(count), atol=1e-12)
    np.testing.assert_array_equal(leading.eigenvalues[rank:], 0.0)
    np.testing.assert_array_equal(leading.eigenvalues[:rank], spectrum.eigenvalues[:rank][:count])
    old, new = spectrum.axes[: min(rank, count)], leading.axes[: min(rank, count)]
    np.testing.assert_allclose(np.abs(np.sum(old * new, axis=1)), 1.0, atol=1e-12)
    assert leading.total_variance == spectrum.total_variance
    assert leading.rank == min(rank, count)


def test_leading_axes_are_cut_at_the_components_of_all_modules():
    rows = np.random.default_rng(4).standard_normal((30, 8))
    spectrum = by_moments(rows)
    leading = spectrum.leading(2, 2)
    np.testing.assert_array_equal(leading.eigenvalues, spectrum.eigenvalues[:4])
    assert leading.total_variance > leading.eigenvalues.sum()


def test_the_largest_entry_of_each_leading_axis_is_positive():
    rows = np.random.default_rng(5).standard_normal((30, 8))
    axes = by_moments(rows).leading(4, 2).axes
    assert all(axis[np.abs(axis).argmax()] > 0.0 for axis in axes)


@given(seeds)
def test_rotating_the_data_rotates_the_axes(seed):
    rng = np.random.default_rng(seed)
    rows, rotation = rows_with_spectrum([5.0, 3.0, 1.0, 0.2], 12, rng), random_rotation(4, rng)
    before = by_moments(rows)
    after = by_moments(rows @ rotation)
    np.testing.assert_allclose(after.eigenvalues, before.eigenvalues, atol=1e-12)
    for old, new in zip(before.axes @ rotation, after.axes, strict=True):
        np.testing.assert_allclose(np.outer(new, new), np.outer(old, old), atol=1e-10)


@pytest.mark.parametrize(
    ("fraction", "count"),
    [(0.0, 1), (0.39, 1), (0.4, 2), (0.41, 2), (0.69, 2), (0.71, 3), (0.9, 4), (0.95, 4), (1.0, 4)],
)
def test_components_for_a_fraction_of_the_variance(fraction, count):
    spectrum = Spectrum(np.zeros(5), np.eye(5), np.array([4.0, 3.0, 2.0, 1.0, 0.0]), 10.0)
    assert spectrum.components_for(fraction) == count


def test_one_component_where_nothing_varies():
    assert Spectrum(np.zeros(2), np.eye(2), np.zeros(2), 0.0).components_for(0.9) == 1


@pytest.mark.parametrize("found_by", [by_rows, by_moments])
def test_an_exact_spectrum_hides_nothing(found_by):
    found = found_by(np.random.default_rng(0).standard_normal((6, 4)))
    assert found.hidden == 0.0
    assert found.slack <= 1e-12 * found.total_variance
