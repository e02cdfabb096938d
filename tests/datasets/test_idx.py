"""Directories of IDX files."""

import gzip

import numpy as np
import pytest

from modae.datasets import load_benchmark
from modae.datasets.sources import read_idx, read_idx_digits


def idx_bytes(array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return header + array.astype(np.uint8).tobytes()


def some_digits(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(256, size=(n, 28, 28)), rng.integers(10, size=n)


def write(directory, part, images, labels, form="{part}-{content}-idx{n}-ubyte"):
    for content, array in (("images", images), ("labels", labels)):
        path = directory / form.format(part=part, content=content, n=array.ndim)
        raw = idx_bytes(array)
        path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


FORMS = [
    "{part}-{content}-idx{n}-ubyte",
    "{part}-{content}-idx{n}-ubyte.gz",
    "{part}-{content}.idx{n}-ubyte",
    "{part}-{content}.idx{n}-ubyte.gz",
]


@pytest.mark.parametrize("form", FORMS)
def test_both_parts_under_every_name(tmp_path, form):
    train, test = some_digits(6), some_digits(4, seed=1)
    write(tmp_path, "train", *train, form)
    write(tmp_path, "t10k", *test, form)
    digits = read_idx_digits(tmp_path)
    assert np.array_equal(digits.images, np.concatenate([train[0], test[0]]))
    assert np.array_equal(digits.labels, np.concatenate([train[1], test[1]]))


def test_one_part_is_enough_and_packing_is_seen_in_the_bytes(tmp_path):
    images, labels = some_digits(6)
    write(tmp_path, "t10k", images, labels)
    path = tmp_path / "t10k-labels-idx1-ubyte"
    path.write_bytes(gzip.compress(path.read_bytes()))  # packed, with a name that does not say so
    assert np.array_equal(read_idx_digits(tmp_path).labels, labels)


def test_a_benchmark_takes_each_digit_once(tmp_path):
    images, labels = some_digits(9)
    write(tmp_path, "train", images, labels)
    found = load_benchmark("basic", source=tmp_path, random_state=0)
    rows = [row.tobytes() for row in (found.images * 255).round().astype(np.uint8)]
    own = {image.astype(np.uint8).tobytes(): label for image, label in zip(images, labels, strict=True)}
    assert sorted(rows) == sorted(own)
    assert [own[row] for row in rows] == found.target.tolist()
    with pytest.raises(ValueError, match=r"at most 9, the number of digits in .* got 10"):
        load_benchmark("basic", 10, source=str(tmp_path))


def test_shapes_need_no_digits_but_a_real_directory(tmp_path):
    write(tmp_path, "train", *some_digits(2))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"never read")
    assert load_benchmark("rectangles", 20, source=tmp_path, random_state=0).data.shape == (20, 784)


IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
GOOD = idx_bytes(some_digits(5)[0])


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (IMAGES, b"", "begins with the bytes 00 00 08 03, found an empty file"),
        (IMAGES, b"\x00\x00\x08\x01" + GOOD[4:], "begins with the bytes 00 00 08 03, found 00 00 08 01"),
        (IMAGES, GOOD[:9], "expected a header of 16 bytes, found 9 bytes"),
        (
            IMAGES,
            GOOD[:-1],
            r"expected 3936 bytes for the shape \(5, 28, 28\) in its header, found 3935",
        ),
        (IMAGES, GOOD + b"x", r"expected 3936 bytes .* found 3937"),
        (IMAGES, gzip.compress(GOOD, mtime=0)[:-9], "expected a whole gzip file, found a broken one"),
        (IMAGES, gzip.compress(GOOD, mtime=0) + b"x", "expected a whole gzip file, found a broken one"),
        (IMAGES, gzip.compress(GOOD, mtime=0)[:30] + b"\xff" * 40, "expected a whole gzip file"),
        (IMAGES, idx_bytes(np.zeros((5, 28, 27))), r"images of 28 x 28 .* found shape \(28, 27\)"),
        (LABELS, idx_bytes(np.array([1, 2, 3, 4, 10])), "whole numbers from 0 to 9 as labels, found 10"),
        (LABELS, idx_bytes(np.zeros(4)), "expected a label for each of 5 images, found 4"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, file, content, message):
    write(tmp_path, "train", *some_digits(5))
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx_digits(tmp_path)
    assert str(tmp_path / "train-") in str(caught.value)


@pytest.mark.parametrize(
    ("gone", "named"), [(IMAGES, "train-images-idx3"), (LABELS, "train-labels.idx1")]
)
def test_a_missing_half_is_named(tmp_path, gone, named):
    write(tmp_path, "train", *some_digits(5))
    (tmp_path / gone).unlink()
    with pytest.raises(FileNotFoundError, match=f"one of the two files of train .*{named}"):
        load_benchmark("basic", source=tmp_path)


def test_a_header_that_promises_more_than_any_memory_has(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12)
    with pytest.raises(ValueError, match="expected 79228162458924105385300197391 bytes"):
        read_idx(path, 3)
