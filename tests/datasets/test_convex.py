"""Convex regions and others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull

from modae.datasets.shapes import (
    CONVEX_LEAST_PIXELS,
    PART_LEAST_PIXELS,
    half_planes,
    has_gap,
    intersections,
    make_convex,
    nonconvex_unions,
)


def gap_with_loops(region):
    """Is the point half-way between some two white pixels a black pixel?"""
    white = [tuple(pixel) for pixel in np.argwhere(region)]
    for a in white:
        for b in white:
            row, column = a[0] + b[0], a[1] + b[1]
            if row % 2 == 0 and column % 2 == 0 and not region[row // 2, column // 2]:
                return True
    return False


def is_convex(region):
    """Whether no black pixel is in the convex hull of the white ones, which do not lie on a line."""
    normals = ConvexHull(np.argwhere(region)).equations
    black = np.column_stack([np.argwhere(~region), np.ones(np.count_nonzero(~region))])
    return not (black @ normals.T <= 1e-9).all(axis=1).any()


@given(st.integers(1, 7).flatmap(lambda side: arrays(bool, (3, side, side + 1))))
def test_gaps_against_loops(regions):
    assert has_gap(regions).tolist() == [gap_with_loops(region) for region in regions]


def test_counting_pairs_is_exact_for_large_regions():
    regions = np.ones((785, 28, 28), dtype=bool)
    regions.reshape(785, -1)[np.arange(784), np.arange(784)] = False
    corners = [0, 27, 27 * 28, 783]  # the only pixels that are half-way between no two others
    assert np.flatnonzero(~has_gap(regions)).tolist() == [*corners, 784]


@pytest.fixture(scope="module")
def many():
    images, labels = make_convex(4000, np.random.RandomState(0))
    return images, labels


def test_the_classes_are_what_they_say(many):
    images, labels = many
    assert set(np.unique(images)) == {0, 1}
    assert images.dtype == np.float32
    assert not has_gap(images[labels == 1] == 1).any()
    assert has_gap(images[labels == 0] == 1).all()
    solid = [i for i in range(300) if np.linalg.matrix_rank(np.cov(np.argwhere(images[i]).T)) == 2]
    assert len(solid) > 250
    assert [is_convex(images[i] == 1) for i in solid] == (labels[solid] == 1).tolist()


def test_classes_are_balanced_in_number_and_in_white_area(many):
    images, labels = many
    area = images.sum(axis=(1, 2))
    assert labels.sum() == 2000
    assert make_convex(5, np.random.RandomState(0))[1].sum() in (2, 3)
    both = area[labels == 0].mean(), area[labels == 1].mean()
    assert max(both) / min(both) < 1.08
    assert area[labels == 1].min() >= CONVEX_LEAST_PIXELS
    assert area[labels == 0].min() >= PART_LEAST_PIXELS
    assert area.max() < 784


def test_the_number_of_half_planes_decides_the_size():
    rng = np.random.RandomState(0)
    few, many = (intersections(500, rate, 10, rng).sum(axis=(1, 2)) for rate in (0.9, 0.05))
    assert few.mean() > 300 > 100 > many.mean()
    assert many.min() >= 10


def test_half_planes_are_cut_by_lines_that_cross_the_image():
    planes = half_planes(2000, np.random.RandomState(0))
    assert abs(planes.mean() - 0.5) < 0.02
    assert np.abs(planes.mean(axis=0) - 0.5).max() < 0.05  # no pixel and no direction is preferred
    assert not has_gap(planes).any()
    assert not has_gap(~planes).any()


def test_unions_that_happen_to_be_convex_are_drawn_again():
    assert has_gap(nonconvex_unions(300, np.random.RandomState(3))).all()


def test_batches_are_drawn_from_one_stream():
    first = make_convex(1100, np.random.RandomState(7))
    again = make_convex(1100, np.random.RandomState(7))
    other = make_convex(1100, np.random.RandomState(8))
    assert np.array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0][:100], first[0][1000:])
