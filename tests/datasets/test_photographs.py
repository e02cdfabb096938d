"""The photographs inside scikit-learn and scikit-image."""

import importlib.resources
import socket
import sys

import numpy as np
from sklearn.datasets import load_sample_image

from modae.datasets.digits import PHOTOGRAPHS, photographs


def test_they_are_natural_photographs_in_grey():
    assert len(photographs()) == 14
    for picture in photographs():
        assert picture.dtype == np.float32
        assert min(picture.shape) >= 300 or picture.shape == (300, 451)
        assert picture.min() >= 0
        assert picture.max() <= 1
        assert picture.std() > 0.05
        assert len(np.unique(picture)) > 100  # a drawing or a mask would have few


def test_grey_is_the_usual_luminance():
    colours = load_sample_image("china.jpg")
    expected = colours @ [0.299, 0.587, 0.114] / 255
    assert np.abs(photographs()[0] - expected).max() < 1 / 255


def test_every_named_file_is_in_its_package():
    for package, names in PHOTOGRAPHS.items():
        assert all((importlib.resources.files(package) / name).is_file() for name in names.split())


def test_reading_them_needs_neither_a_network_nor_the_downloader(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setattr(socket.socket, "connect", None)
    assert len(photographs.__wrapped__()) == 14
