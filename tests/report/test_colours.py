"""Colours of lines and classes can be told apart by everybody, and are seen on their background."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab

# What people see who lack one kind of cones (Machado, Oliveira and Fernandes, 2009), for linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
FEWEST, CONTRAST = 13.0, 3.0


def asset(name):
    return files("modae.report").joinpath("assets", name).read_text(encoding="utf-8")


def linear(colour):
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def seen(colour, vision):
    """The colour in CIELAB, as it looks."""
    parts = np.clip(np.array(VISION[vision]) @ linear(colour), 0.0, 1.0)
    return rgb2lab(np.where(parts <= 0.0031308, 12.92 * parts, 1.055 * parts ** (1 / 2.4) - 0.055))


def palette(theme):
    (text,) = re.findall(rf"^const {theme.upper()} = \[(.*)\];$", asset("theme.js"), re.MULTILINE)
    return re.findall(r"#[0-9a-f]{6}", text)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_two_of_ten_colours_can_be_told_apart(theme, vision):
    colours = palette(theme)
    assert len(colours) == 10
    for one, other in combinations(colours, 2):
        assert deltaE_ciede2000(seen(one, vision), seen(other, vision)) > FEWEST, (one, other)


@pytest.mark.parametrize(("theme", "place"), [("light", 0), ("dark", 1)])
def test_each_colour_is_seen_on_its_background(theme, place):
    background = re.findall(r"--card: (#[0-9a-f]{6});", asset("page.css"))[place]
    weights = np.array([0.2126, 0.7152, 0.0722])
    for colour in palette(theme):
        dim, bright = sorted([weights @ linear(colour), weights @ linear(background)])
        assert (bright + 0.05) / (dim + 0.05) >= CONTRAST, colour
