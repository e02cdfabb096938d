"""Directories of the original text files."""

import os
from functools import partial

import numpy as np
import pytest

from modae.datasets import load_benchmark, sources
from modae.datasets.benchmarks import BENCHMARKS


def rows_of(n, n_classes=10, seed=0):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, size=(n, 784)) / 256
    return np.column_stack([pixels, rng.integers(n_classes, size=n)])


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    np.savetxt(path, rows, fmt="%.6f")
    return path


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_is_read_from_its_own_files(tmp_path, name):
    files, n_classes = BENCHMARKS[name].originals, len(BENCHMARKS[name].target_names)
    train, test = rows_of(5, n_classes), rows_of(4, n_classes, seed=1)
    write(tmp_path / files[0], train)
    write(tmp_path / "50k" / files[1], test)
    whole = load_benchmark(name, source=tmp_path)
    assert np.allclose(whole.data, train[:, :-1], atol=1e-6)
    assert np.array_equal(whole.target, train[:, -1])
    more = load_benchmark(name, 7, source=str(tmp_path), random_state=5)
    assert np.allclose(more.data, np.concatenate([train, test])[:7, :-1], atol=1e-6)
    fewer = load_benchmark(name, 2, source=tmp_path)
    assert np.array_equal(fewer.data, whole.data[:2])
    with pytest.raises(ValueError, match=r"at most 9, the number of rows in .* got 10"):
        load_benchmark(name, 10, source=tmp_path)


def test_the_names_of_the_original_files():
    assert [benchmark.originals[0] for benchmark in BENCHMARKS.values()] == [
        "mnist_train.amat",
        "mnist_all_rotation_normalized_float_train_valid.amat",
        "mnist_background_random_train.amat",
        "mnist_background_images_train.amat",
        "rectangles_train.amat",
        "convex_train.amat",
    ]


def test_the_test_file_is_needed_only_for_more_rows(tmp_path):
    write(tmp_path / "mnist_train.amat", rows_of(5))
    assert len(load_benchmark("basic", 5, source=tmp_path).data) == 5
    with pytest.raises(FileNotFoundError, match=r"mnist_test\.amat is needed for so many samples"):
        load_benchmark("basic", 6, source=tmp_path)


def no_parsing(*_):
    raise AssertionError("the text was read again")


def test_with_a_data_home_the_text_is_read_once(tmp_path, monkeypatch):
    text = write(tmp_path / "text" / "convex_train.amat", rows_of(6, 2))
    load = partial(load_benchmark, "convex", source=text.parent, data_home=tmp_path / "home")
    first = load()
    monkeypatch.setattr(sources, "_parsed", no_parsing)
    assert np.array_equal(load().data, first.data)
    assert np.array_equal(load(n_samples=2).data, first.data[:2])


def test_a_copy_of_a_few_rows_is_one_of_all(tmp_path, monkeypatch):
    text = write(tmp_path / "text" / "convex_train.amat", rows_of(6, 2))
    load = partial(load_benchmark, "convex", source=text.parent, data_home=tmp_path / "home")
    load(n_samples=2)
    monkeypatch.setattr(sources, "_parsed", no_parsing)
    assert len(load().data) == 6


def test_a_copy_of_another_text_is_made_again(tmp_path):
    text = write(tmp_path / "mnist_train.amat", rows_of(6))
    load = partial(load_benchmark, "basic", source=tmp_path, data_home=tmp_path / "home")
    load()
    write(text, rows_of(7, seed=1))  # another size
    assert len(load().data) == 7
    time = text.stat().st_mtime_ns
    write(text, rows_of(7, seed=2))  # the same size, later
    os.utime(text, ns=(time + 1, time + 1))
    assert np.allclose(load().data, rows_of(7, seed=2)[:, :-1], atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 torn"])
def test_a_copy_that_cannot_be_read_is_made_again(tmp_path, content):
    text = write(tmp_path / "text" / "mnist_train.amat", rows_of(3))
    (tmp_path / "mnist_train.amat.npz").write_bytes(content)
    assert len(load_benchmark("basic", source=text.parent, data_home=tmp_path).data) == 3
    with np.load(tmp_path / "mnist_train.amat.npz") as copy:
        assert len(copy["rows"]) == 3


def test_nothing_is_written_unless_data_home_is_given(tmp_path):
    text = write(tmp_path / "mnist_train.amat", rows_of(3))
    load_benchmark("basic", source=tmp_path)
    assert list(tmp_path.iterdir()) == [text]


def test_copies_go_to_data_home(tmp_path):
    text = write(tmp_path / "text" / "mnist_train.amat", rows_of(3))
    home = tmp_path / "new" / "home"
    load_benchmark("basic", source=text.parent, data_home=home)
    assert [path.name for path in home.iterdir()] == ["mnist_train.amat.npz"]
    assert list(text.parent.iterdir()) == [text]


def test_a_home_that_cannot_be_written_is_named(tmp_path):
    text = write(tmp_path / "mnist_train.amat", rows_of(3))
    with pytest.raises(OSError, match=r"could not be written .* as data_home"):
        load_benchmark("basic", source=tmp_path, data_home=text)


def line(values=784, label="3", value="0.5"):
    return " ".join([value] * values + [label])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"train\.amat: expected rows of 784 values and a label, found an empty file"),
        (["", " "], "found an empty file"),
        ([line(), line(783)], "row 2: expected 784 values and a label, found 784 columns"),
        ([line(), "", line(785)], "row 2: expected 784 values and a label, found 786 columns"),
        ([line(), line()[:900]], "row 2: expected 784 values and a label, found 225 columns"),
        (["0" * 200_000], "row 1: expected 784 values and a label, found 1 columns"),
        ([line(), line(value="ink")], "row 2: expected numbers, found something else: .*'ink'"),
        (["\x00\xff" * 50], "row 1: expected 784 values and a label"),
        ([line(), line(value="1.5")], r"row 2: expected values in \[0, 1\], found 1.5 in column 1"),
        ([line(value="-0.1")], r"row 1: expected values in \[0, 1\], found -0.1"),
        ([line(value="nan")], r"row 1: expected values in \[0, 1\], found nan"),
        ([line(label="10")], "whole numbers from 0 to 9 as labels, found 10.0"),
        ([line(label="2.5")], "whole numbers from 0 to 9 as labels, found 2.5"),
        ([line(label="-1")], "whole numbers from 0 to 9 as labels, found -1.0"),
        ([line(label="nan")], "whole numbers from 0 to 9 as labels, found nan"),
    ],
)
@pytest.mark.parametrize("home", [None, "."])
def test_a_damaged_file_is_named_and_nothing_is_kept(tmp_path, lines, message, home):
    text = tmp_path / "mnist_train.amat"
    text.write_text("\n".join(lines), encoding="latin-1")
    with pytest.raises(ValueError, match=message) as caught:
        load_benchmark("basic", source=tmp_path, data_home=home and tmp_path)
    assert str(text) in str(caught.value)
    assert list(tmp_path.iterdir()) == [text]


def test_the_row_of_a_late_fault_is_named(tmp_path):
    (tmp_path / "mnist_train.amat").write_text("\n".join([line()] * 7 + [line(value="2")]))
    with pytest.raises(ValueError, match="row 8: expected values in"):
        load_benchmark("basic", source=tmp_path)


def test_labels_of_two_classes(tmp_path):
    (tmp_path / "convex_train.amat").write_text(line(label="2"))
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 1 as labels, found 2\.0"):
        load_benchmark("convex", source=tmp_path)


def test_a_fault_beyond_the_rows_that_are_asked_for_is_not_met(tmp_path):
    (tmp_path / "mnist_train.amat").write_text("\n".join([line()] * 3 + [line(value="2")]))
    assert len(load_benchmark("basic", 3, source=tmp_path).data) == 3


def test_an_old_copy_survives_a_damaged_text(tmp_path):
    text, home = write(tmp_path / "mnist_train.amat", rows_of(3)), tmp_path / "home"
    load_benchmark("basic", source=tmp_path, data_home=home)
    before = (home / "mnist_train.amat.npz").read_bytes()
    text.write_text(line(3))
    with pytest.raises(ValueError, match="found 4 columns"):
        load_benchmark("basic", source=tmp_path, data_home=home)
    assert [(path.name, path.read_bytes()) for path in home.iterdir()] == [
        ("mnist_train.amat.npz", before)
    ]
