"""Turned digits, digits on noise, digits on photographs."""

from math import cos, floor, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from modae.datasets.digits import LOWEST_DEVIATION, on_noise, on_photographs, rotated


def pixel(image, row, column):
    inside = 0 <= row < len(image) and 0 <= column < len(image)
    return image[row, column] if inside else 0.0


def turned_pixel_by_pixel(image, angle):
    """The definition, with loops: look back along the rotation, and interpolate in two directions."""
    side = len(image)
    centre = (side - 1) / 2
    result = np.zeros_like(image)
    for row in range(side):
        for column in range(side):
            down, right = row - centre, column - centre
            y = cos(angle) * down + sin(angle) * right + centre
            x = cos(angle) * right - sin(angle) * down + centre
            top, left = floor(y), floor(x)
            result[row, column] = sum(
                (1 - abs(y - r)) * (1 - abs(x - c)) * pixel(image, r, c)
                for r in (top, top + 1)
                for c in (left, left + 1)
            )
    return result


@pytest.mark.parametrize("angle", [0.3, 1.7, 3.9, 5.5])
def test_rotation_against_loops(angle):
    image = np.random.default_rng(0).random((9, 9))
    assert np.allclose(rotated(image[None], np.array([angle]))[0], turned_pixel_by_pixel(image, angle))


@pytest.mark.parametrize("quarters", range(4))
def test_quarter_turns_are_exact_and_anticlockwise(quarters):
    images = np.random.default_rng(0).random((3, 28, 28)).astype(np.float32)
    turned = rotated(images, np.full(3, quarters * np.pi / 2))
    assert np.allclose(turned, np.rot90(images, quarters, axes=(1, 2)), atol=1e-5)


@given(st.integers(0, 2**31), st.floats(0, 6.28))
def test_rotation_is_linear_and_makes_nothing_brighter(seed, angle):
    first, second = np.random.default_rng(seed).random((2, 1, 8, 8))
    angles = np.array([angle])
    both = rotated(first + 2 * second, angles)
    assert np.allclose(both, rotated(first, angles) + 2 * rotated(second, angles))
    assert both.max() <= (first + 2 * second).max() + 1e-12


def test_images_do_not_mix_and_batches_do_not_matter():
    rng = np.random.default_rng(0)
    images, angles = rng.random((1203, 5, 5)).astype(np.float32), rng.uniform(0, 6, 1203)
    whole = rotated(images, angles)
    for index in (0, 999, 1000, 1202):
        alone = rotated(images[index : index + 1], angles[index : index + 1])[0]
        assert np.array_equal(whole[index], alone)


def test_the_digit_stays_on_top_of_uniform_noise():
    images = np.zeros((400, 28, 28), dtype=np.float32)
    images[:, 10:18, 10:18] = 0.75
    noisy = on_noise(images, np.random.RandomState(0))
    assert (noisy >= images).all()
    background = noisy[images == 0]
    values, counts = np.unique((background * 255).round(), return_counts=True)
    assert np.array_equal(values, np.arange(256))
    assert np.allclose(background, (background * 255).round() / 255)
    assert abs(background.mean() - 0.5) < 0.003
    assert counts.std() / counts.mean() < 0.05
    assert abs(np.corrcoef(noisy[:, 0, 0], noisy[:, 0, 1])[0, 1]) < 0.2


def test_backgrounds_are_patches_of_the_photographs():
    rng = np.random.default_rng(0)
    pictures = [rng.random((30, 33)).astype(np.float32), rng.random((31, 29)).astype(np.float32)]
    found = on_photographs(np.zeros((300, 28, 28), np.float32), pictures, np.random.RandomState(0))
    windows = [sliding_window_view(picture, (28, 28)).reshape(-1, 784) for picture in pictures]
    seen = {tuple(window[:3]) for window in found.reshape(-1, 784)}
    known = {tuple(window[:3]) for window in np.concatenate(windows)}
    assert seen == known  # every place of both, and no other


def test_flat_patches_are_refused():
    flat = np.full((60, 60), 0.5, dtype=np.float32)
    half = flat.copy()
    half[:, 30:] = np.random.default_rng(0).random((60, 30))
    found = on_photographs(np.zeros((200, 28, 28), np.float32), [flat, half], np.random.RandomState(0))
    assert (found.std(axis=(1, 2)) >= LOWEST_DEVIATION).all()


def test_the_digit_stays_on_top_of_a_photograph():
    images = np.zeros((50, 28, 28), dtype=np.float32)
    images[:, 5:9] = 0.6
    picture = np.random.default_rng(0).random((28, 28)).astype(np.float32)
    found = on_photographs(images, [picture], np.random.RandomState(0))
    assert np.array_equal(found, np.maximum(images, picture))
