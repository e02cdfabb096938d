import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csc_array, csr_array

from modae.data import rows as rows_module
from modae.data.moments import Moments, column_sums, moments_of_rows
from modae.data.rows import HOST
from oracles import moments_in_long_double
from strategies import data_sets


def assert_same_moments(left: Moments, right: Moments, rtol: float = 1e-12) -> None:
    size = np.abs(right.covariance).max()
    assert left.weight == right.weight
    np.testing.assert_allclose(left.mean, right.mean, rtol=rtol, atol=rtol * np.sqrt(size))
    np.testing.assert_allclose(left.covariance, right.covariance, rtol=0, atol=rtol * size)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 2e-6)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_are_those_of_numpy(dtype, rtol, order):
    rows = np.random.default_rng(0).normal(1.0, 2.0, (500, 4)).astype(dtype, order=order)
    moments = moments_of_rows(rows)
    expected = np.cov(rows.astype(np.float64), rowvar=False, bias=True)
    np.testing.assert_allclose(moments.covariance, expected, rtol=0, atol=rtol * expected.max())
    np.testing.assert_allclose(moments.mean, rows.astype(np.float64).mean(axis=0), rtol=rtol)
    assert moments.weight == 500
    assert moments.dtype == dtype
    assert moments.mean.dtype == moments.covariance.dtype == np.float64


@pytest.mark.parametrize("ratio", [0.0, 1.0, 3.0, 1e2, 1e4, 1e6, 1e8])
def test_columns_far_from_zero_keep_their_variance(ratio):
    rows = ratio + np.random.default_rng(1).standard_normal((2000, 3))
    mean, covariance = moments_in_long_double(rows)
    moments = moments_of_rows(rows)
    np.testing.assert_allclose(moments.covariance, covariance, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-14, atol=1e-14)


def test_columns_at_different_distances_keep_their_variance():
    rng = np.random.default_rng(2)
    rows = np.array([0.0, -1e8, 1e4, 7.0]) + rng.standard_normal((1000, 4)) * [1.0, 1.0, 1.0, 0.0]
    moments = moments_of_rows(rows)
    np.testing.assert_allclose(moments.covariance, moments_in_long_double(rows)[1], rtol=0, atol=1e-12)
    assert moments.mean[3] == 7.0
    assert not moments.covariance[3].any()


@pytest.mark.parametrize("ratio", [0.0, 3.0, 100.0, 1e4])
def test_single_precision_is_as_good_as_its_digits(ratio):
    rows = (ratio + np.random.default_rng(3).standard_normal((5000, 3))).astype(np.float32)
    mean, covariance = moments_in_long_double(rows)
    moments = moments_of_rows(rows)
    np.testing.assert_allclose(moments.covariance, covariance, rtol=0, atol=1e-5)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-6, atol=1e-6)


def test_long_sums_of_single_precision_are_added_in_double():
    block = np.full((200_000, 1), 0.1, dtype=np.float32)
    assert column_sums(block, np.ones(len(block)), HOST)[0] == pytest.approx(
        200_000 * float(np.float32(0.1)), rel=1e-12
    )


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("block_bytes", [1, 100, 1000])
def test_the_size_of_the_blocks_does_not_matter(monkeypatch, offset, block_bytes):
    rows = offset + np.random.default_rng(4).standard_normal((101, 3))
    whole = moments_of_rows(rows)
    monkeypatch.setattr(rows_module, "BLOCK_BYTES", block_bytes)
    assert_same_moments(moments_of_rows(rows), whole)


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_the_rows_are_left_alone(offset):
    rows = offset + np.random.default_rng(5).standard_normal((20, 3))
    before = rows.copy()
    moments_of_rows(rows)
    np.testing.assert_array_equal(rows, before)


@given(data_sets(), st.sampled_from([0.0, 1e4, 1e8]), st.data())
def test_any_split_equals_the_whole(rows, offset, data):
    rows = rows + offset
    cuts = data.draw(st.lists(st.integers(1, len(rows) - 1), unique=True).map(sorted))
    merged, *others = [moments_of_rows(part) for part in np.split(rows, cuts)]
    for other in others:
        merged = merged.merge(other)
    # A mean is stored to a relative precision, so the distance of two means to that of the offset.
    assert_same_moments(merged, moments_of_rows(rows), rtol=1e-12 + 1e-15 * offset)


@given(data_sets(), data_sets(), data_sets())
def test_merging_is_associative_and_commutative(first, second, third):
    width = min(part.shape[1] for part in (first, second, third))
    a, b, c = (moments_of_rows(part[:, :width]) for part in (first, second, third))
    assert_same_moments(a.merge(b).merge(c), a.merge(b.merge(c)))
    assert_same_moments(a.merge(b), b.merge(a))


def test_batches_with_distant_means_merge_exactly():
    rng = np.random.default_rng(6)
    near, far = rng.standard_normal((50, 3)), 1e6 + rng.standard_normal((70, 3))
    merged = moments_of_rows(near).merge(moments_of_rows(far))
    mean, covariance = moments_in_long_double(np.vstack([near, far]))
    np.testing.assert_allclose(merged.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(merged.covariance, covariance, rtol=1e-14)


def test_rows_one_at_a_time_equal_the_whole():
    rows = np.random.default_rng(7).standard_normal((40, 4)) + 100.0
    merged = moments_of_rows(rows[:1])
    assert not merged.covariance.any()
    for row in rows[1:]:
        merged = merged.merge(moments_of_rows(row[None]))
    assert_same_moments(merged, moments_of_rows(rows))


def test_a_merge_is_as_precise_as_its_worse_part():
    rows = np.ones((3, 2))
    double, single = moments_of_rows(rows), moments_of_rows(rows.astype(np.float32))
    assert double.merge(single).dtype == single.merge(double).dtype == np.float32
    assert double.merge(double).dtype == np.float64


@given(data_sets(), st.floats(0.01, 100.0), st.data())
def test_covariance_under_changes_of_the_rows(rows, factor, data):
    covariance = moments_of_rows(rows).covariance
    size = np.abs(covariance).max()

    def assert_covariance(changed, expected):
        np.testing.assert_allclose(
            moments_of_rows(changed).covariance, expected, rtol=0, atol=1e-12 * size
        )

    assert_covariance(rows[data.draw(st.permutations(range(len(rows))))], covariance)
    assert_covariance(np.vstack([rows, rows]), covariance)
    np.testing.assert_allclose(
        moments_of_rows(factor * rows).covariance,
        factor**2 * covariance,
        rtol=0,
        atol=1e-12 * factor**2 * size,
    )
    constant = np.linspace(-3.0, 3.0, rows.shape[1])
    assert_covariance(rows + constant, covariance)


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_integer_weights_are_repetitions(offset):
    rng = np.random.default_rng(8)
    rows, counts = offset + rng.standard_normal((30, 3)), rng.integers(1, 5, 30)
    weighted = moments_of_rows(rows, counts.astype(np.float64))
    assert_same_moments(weighted, moments_of_rows(np.repeat(rows, counts, axis=0)))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 30)], ids=["plain", "weighted"])
@pytest.mark.parametrize("layout", [csr_array, csc_array])
def test_sparse_rows_have_the_moments_of_dense_ones(weights, layout):
    rng = np.random.default_rng(9)
    rows = rng.standard_normal((30, 4)) * (rng.random((30, 4)) < 0.3)
    assert_same_moments(moments_of_rows(layout(rows), weights), moments_of_rows(rows, weights))


@pytest.mark.parametrize("exponent", [-900, -600, -400, 400])
def test_data_whose_squares_do_not_fit_are_measured_in_their_own_unit(exponent):
    rows = np.random.default_rng(10).standard_normal((30, 3))
    plain, extreme = moments_of_rows(rows), moments_of_rows(rows * 2.0**exponent)
    ratio = extreme.unit / 2.0**exponent
    np.testing.assert_allclose(extreme.covariance * ratio**2, plain.covariance, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(extreme.mean / 2.0**exponent, plain.mean, rtol=1e-12)


@pytest.mark.parametrize("exponent", [600, 900])
def test_data_whose_variance_is_no_float64_are_refused(exponent):
    rows = np.random.default_rng(10).standard_normal((30, 3)) * 2.0**exponent
    with pytest.raises(ValueError, match=r"X spreads over about \de\+\d+, and the square of that"):
        moments_of_rows(rows)
    with pytest.raises(ValueError, match=r"X spreads over about \de\+\d+, and the square of that"):
        moments_of_rows(rows[:1]).merge(moments_of_rows(rows[1:2]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_of_little_weight_may_be_far_away(kind):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((500, 3)) * [5, 2, 1]
    near, far = rows[1::2] + 1e8, rows[::2] - 1e8
    both = np.vstack([near, far])
    weights = np.repeat([1.0, 1e-18], 250)
    moments = moments_of_rows(kind(both), weights)
    exact = np.cov(near.T, bias=True) + 1e-18 * 4e16 * np.ones((3, 3))
    np.testing.assert_allclose(moments.covariance, exact, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_rows_do_not_push_tiny_variances_out_of_range(value):
    rows = np.random.default_rng(3).standard_normal((20, 3)) * 2.0**-520
    tiny, constant = moments_of_rows(rows), moments_of_rows(np.zeros((20, 3)))
    merged = tiny.merge(moments_of_rows(np.tile(tiny.mean, (20, 1)))) if value else tiny.merge(constant)
    exact = moments_of_rows(
        np.vstack([rows, np.tile(tiny.mean, (20, 1)) if value else np.zeros((20, 3))])
    )
    assert merged.unit < 1.0
    scale = (merged.unit / exact.unit) ** 2
    np.testing.assert_allclose(merged.covariance * scale, exact.covariance, rtol=1e-9, atol=1e-12)
