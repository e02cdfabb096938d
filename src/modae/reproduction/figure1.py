"""Figure 1, the architecture of a modular autoencoder, drawn from the definition in section 2.

Data go from left to right: one input, M encoders with H hidden units each, M decoders, M
reconstructions, and their mean, which the diversity term compares with each of them.
"""

from itertools import product
from typing import Any

from modae.reproduction.run import Finding, Setting
from modae.utils.extras import require

#: Circles in a layer of D features, and of H hidden units.
N_FEATURES, N_HIDDEN = 6, 2

#: Of the modules that are drawn; dots stand for those between 2 and M.
HEIGHTS = {"1": 3.2, "2": 0.2, "M": -3.9}

COLOURS = {"1": "#0072B2", "2": "#009E73", "M": "#D55E00"}
GREY = "#444444"

#: Where the layers stand, from left to right.
INPUT, HIDDEN, OUTPUT, MEAN = 0.0, 4.4, 8.8, 12.6

#: Above the layers, and above what lies between them.
WORDS = "input", "M encoders", "H hidden\nunits each", "M decoders", "M recon-\nstructions", "their mean"

PITCH, RADIUS = 0.36, 0.14


def run(setting: Setting) -> list[Finding]:
    """Write ``figure1.png`` and ``figure1.svg``."""
    setting.tell("Figure 1: drawing the architecture")
    setting.save_figure("figure1", draw(), dpi=200)
    return [Finding("figure1-architecture", True, "redrawn: figure1.png, figure1.svg")]


def draw() -> Any:
    """The picture, as a matplotlib figure that belongs to no window."""
    figure = require("matplotlib.figure", extra="plot", purpose="Figure 1").Figure(figsize=(9.0, 5.6))
    axes = figure.subplots()
    axes.set(xlim=(-1.9, 15.6), ylim=(-5.7, 5.6), aspect="equal")
    axes.set_axis_off()
    inputs, _ = (_layer(axes, place, 0.0, N_FEATURES, GREY) for place in (INPUT, MEAN))
    for name, height in HEIGHTS.items():
        _module(axes, name, height, inputs)
    for place in (HIDDEN, OUTPUT):
        axes.text(place, -2.15, r"$\vdots$", ha="center", va="center", size=18)
    places = (INPUT, (INPUT + HIDDEN) / 2, HIDDEN, (HIDDEN + OUTPUT) / 2, OUTPUT, MEAN)
    for place, word in zip(places, WORDS, strict=True):
        axes.text(place, 5.0, word, ha="center", va="center", color=GREY, size=10)
    x, math = r"$\mathbf{x}\in\mathbb{R}^D$", {"va": "center", "math_fontfamily": "stix"}
    axes.text(INPUT - 0.4, 0.0, x, ha="right", size=13, **math)
    mean = r"$\frac{1}{M}\sum_{i=1}^{M}\,\mathbf{A}_i\mathbf{B}_i\mathbf{x}$"
    axes.text(MEAN + 0.4, 0.0, mean, ha="left", size=14, **math)
    return figure


def _layer(axes: Any, place: float, height: float, count: int, colour: str) -> list[tuple[float, float]]:
    """Draw the circles of one layer, around a height, and say where they are."""
    from matplotlib.patches import Circle

    units = [(place, height + PITCH * (k - (count - 1) / 2)) for k in range(count)]
    for unit in units:
        axes.add_patch(Circle(unit, RADIUS, facecolor="white", edgecolor=colour, lw=1.4, zorder=2))
    return units


def _module(axes: Any, name: str, height: float, inputs: list[tuple[float, float]]) -> None:
    """One module: from the shared input to its hidden units, its reconstruction, and on to the mean."""
    colour = COLOURS[name]
    hidden = _layer(axes, HIDDEN, height, N_HIDDEN, colour)
    output = _layer(axes, OUTPUT, height, N_FEATURES, colour)
    for (x0, y0), (x1, y1) in [*product(inputs, hidden), *product(hidden, output)]:
        axes.plot([x0, x1], [y0, y1], color=colour, lw=0.6, alpha=0.45, zorder=1)
    start, end = (OUTPUT + 0.35, height), (MEAN - 0.4, 0.2 * height)
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.6})
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": colour, "lw": 0.8}
    centred: dict[str, Any] = {"ha": "center", "color": colour, "math_fontfamily": "stix"}
    for letter, place in (("B", (HIDDEN / 2, height / 2)), ("A", ((HIDDEN + OUTPUT) / 2, height))):
        matrix = rf"$\mathbf{{{letter}}}_{name}$"
        axes.text(*place, matrix, va="center", size=13, bbox=box, zorder=3, **centred)
    below = height - PITCH * N_FEATURES / 2 - 0.12
    product_text = rf"$\mathbf{{A}}_{name}\mathbf{{B}}_{name}\,\mathbf{{x}}$"
    axes.text(OUTPUT, below, product_text, va="top", size=12, **centred)
