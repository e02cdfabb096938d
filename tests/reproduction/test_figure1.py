"""Figure 1: everything in the definition is in the picture."""

import sys
from xml.etree import ElementTree as ET

import pytest
from matplotlib.patches import Circle

from modae.reproduction import figure1
from modae.reproduction.run import Setting


@pytest.fixture(scope="module")
def axes():
    return figure1.draw().axes[0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders and findings of two runs."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "other")]
    return [(folder, figure1.run(Setting(folder))) for folder in folders]


def test_both_files_are_written(runs):
    folder, (finding,) = runs[0]
    assert finding.claim == "figure1-architecture"
    assert (folder / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(folder / "figure1.svg").getroot().tag.endswith("svg")
    assert sorted(path.name for path in folder.iterdir()) == ["figure1.png", "figure1.svg"]


@pytest.mark.parametrize("name", ["figure1.png", "figure1.svg"])
def test_the_same_picture_is_the_same_file(runs, name):
    (one, _), (other, _) = runs
    assert (one / name).read_bytes() == (other / name).read_bytes()


def test_units_of_all_layers(axes):
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    columns = {place: [c for c in circles if c.center[0] == place] for place in _places()}
    modules = len(figure1.HEIGHTS)
    assert [len(units) for units in columns.values()] == [
        figure1.N_FEATURES,
        modules * figure1.N_HIDDEN,
        modules * figure1.N_FEATURES,
        figure1.N_FEATURES,
    ]
    centres = [circle.center for circle in circles]
    assert len(set(centres)) == len(centres)


def _places():
    return figure1.INPUT, figure1.HIDDEN, figure1.OUTPUT, figure1.MEAN


def test_layers_are_fully_connected(axes):
    per_module = 2 * figure1.N_FEATURES * figure1.N_HIDDEN
    assert len(axes.lines) == per_module * len(figure1.HEIGHTS)
    ends = [tuple(line.get_xdata()) for line in axes.lines]
    assert set(ends) == {(figure1.INPUT, figure1.HIDDEN), (figure1.HIDDEN, figure1.OUTPUT)}


def test_each_matrix_is_named_and_each_reconstruction_leads_to_the_mean(axes):
    words = [text.get_text() for text in axes.texts]
    for name in figure1.HEIGHTS:
        for letter in "AB":
            assert rf"$\mathbf{{{letter}}}_{name}$" in words
    assert sum(text.arrow_patch is not None for text in axes.texts if hasattr(text, "arrow_patch")) == 3
    assert {"input", "M encoders", "M decoders", "their mean"} <= set(words)


def test_no_two_texts_overlap(axes):
    figure = axes.figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "modae\[plot\]"'):
        figure1.draw()
