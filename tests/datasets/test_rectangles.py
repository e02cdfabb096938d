"""Outlines of rectangles."""

import numpy as np
import pytest

from modae.datasets.shapes import LEAST_DIFFERENCE, make_rectangles, outlines


def drawn_with_loops(top, left, height, width):
    image = np.zeros((28, 28), dtype=np.float32)
    for row in range(top, top + height):
        image[row, left] = image[row, left + width - 1] = 1
    for column in range(left, left + width):
        image[top, column] = image[top + height - 1, column] = 1
    return image


def measured(image):
    """Upper left pixel, height and width of what is white."""
    rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
    return rows[0], columns[0], np.ptp(rows) + 1, np.ptp(columns) + 1


@pytest.mark.parametrize(
    "box", [(0, 0, 28, 28), (0, 0, 28, 1), (27, 3, 1, 20), (5, 6, 2, 9), (3, 20, 10, 8), (9, 9, 1, 1)]
)
def test_outlines_against_loops(box):
    found = outlines(*(np.array([number]) for number in box))
    assert np.array_equal(found[0], drawn_with_loops(*box))


@pytest.fixture(scope="module")
def many():
    images, tall = make_rectangles(10_000, np.random.RandomState(0))
    return images, tall, np.array([measured(image) for image in images])


def test_every_image_is_an_outline_of_its_class(many):
    images, tall, boxes = many
    for image, box in zip(images[:300], boxes[:300], strict=True):
        assert np.array_equal(image, drawn_with_loops(*box))
    assert np.array_equal(tall == 1, boxes[:, 2] > boxes[:, 3])
    assert np.abs(boxes[:, 2] - boxes[:, 3]).min() == LEAST_DIFFERENCE
    assert images.dtype == np.float32


def test_classes_are_balanced(many):
    assert many[1].sum() == 5_000
    assert make_rectangles(7, np.random.RandomState(0))[1].sum() in (3, 4)


def test_all_allowed_sizes_are_equally_likely(many):
    sizes = many[2][:, 2:]
    allowed = {(h, w) for h in range(1, 29) for w in range(1, 29) if abs(h - w) >= LEAST_DIFFERENCE}
    found, counts = np.unique(sizes, axis=0, return_counts=True)
    assert {tuple(size) for size in found.tolist()} == allowed
    chi_square = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert chi_square < len(allowed) + 4 * np.sqrt(2 * len(allowed))


def test_positions_are_uniform_where_the_rectangle_fits(many):
    top, left, height, width = many[2].T
    for first, length in ((top, height), (left, width)):
        room = 28 - length
        assert (first[room == 0] == 0).all()
        share = (first[room > 0] + 0.5) / (room[room > 0] + 1)
        assert abs(share.mean() - 0.5) < 0.01
        assert np.array_equal(np.unique(first[room == 5]), np.arange(6))
