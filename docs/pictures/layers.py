"""The picture of docs/architecture.md: ``python docs/pictures/layers.py`` writes docs/images/layers.svg.

Order and dependencies come from tests/test_layers.py, sentences from the docstrings, and who uses whom
from the import statements. tests/test_docs.py fails when the picture is not what this script draws.
"""

import ast
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from modae.utils.atomic import atomic_write  # noqa: E402
from test_layers import FILES, LAYERS, imports  # noqa: E402

TARGET = ROOT / "docs" / "images" / "layers.svg"
ROW, WIDTH, TOP = 46, 1080, 34
TEXT = 180  # where sentences begin: right of the longest name
FONT = "font-family='DejaVu Sans, Helvetica, Arial, sans-serif'"


def layer_of(name):
    return name.partition(".")[0]


def layers():
    """The layers, in the order in which they build on each other; the package itself is left out."""
    return [layer for layer in LAYERS if layer.isalpha()]


def sentence(layer):
    """The first line of the layer's docstring."""
    docstring = ast.get_docstring(ast.parse(FILES[layer].read_text(encoding="utf-8")))
    return docstring.partition("\n")[0].replace("``", "")


def uses(layer):
    """The other layers that its files import from."""
    found = set()
    for name in FILES:
        if layer_of(name) == layer and name:
            found |= {part.split(".")[1] for part in imports(FILES[name]) if part.startswith("modae.")}
    return [other for other in layers() if other in found - {layer}]


def text(x, y, words, *, size=12, weight="normal", fill="#222222", anchor="start"):
    return (
        f"<text x='{x}' y='{y}' font-size='{size}' font-weight='{weight}' fill='{fill}'"
        f" text-anchor='{anchor}' {FONT}>"
        f"{escape(words)}</text>"
    )


def row(place, layer):
    """One layer: its name, its sentence, whom it uses, and which packages it may import."""
    y = TOP + place * ROW
    shade = "#e8f1fa" if layer == "core" else "#f6f6f6"
    packages = ", ".join(sorted(LAYERS[layer][1])) or "nothing"
    below = ", ".join(uses(layer)) or "no other layer"
    return [
        f"<rect x='40' y='{y}' width='{WIDTH - 50}' height='{ROW - 6}' rx='5'"
        f" fill='{shade}' stroke='#bbbbbb'/>",
        text(52, y + 25, layer, size=14, weight="bold", fill="#0b4f8a"),
        text(TEXT, y + 17, sentence(layer)),
        text(TEXT, y + 33, f"uses {below}", size=10.5, fill="#555555"),
        text(WIDTH - 20, y + 33, packages, size=10.5, fill="#8a3b00", anchor="end"),
    ]


def drawing():
    """The whole picture as SVG."""
    names = layers()
    height = TOP + len(names) * ROW + 10
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' role='img'>",
        "<title>The layers of modae, from the mathematics to the command line</title>",
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
        text(40, 22, "A layer imports only from the layers above it.", weight="bold"),
        text(WIDTH - 20, 22, "packages it may import", size=10.5, fill="#8a3b00", anchor="end"),
        f"<path d='M20 {TOP} V{height - 24}' stroke='#0b4f8a' stroke-width='3'/>",
        f"<path d='M12 {height - 28} L20 {height - 12} L28 {height - 28} Z' fill='#0b4f8a'/>",
    ]
    for place, layer in enumerate(names):
        lines += row(place, layer)
    return "\n".join([*lines, "</svg>", ""])


def main():
    with atomic_write(TARGET, "w") as file:
        file.write(drawing())
    print(f"docs/images/{TARGET.name}: {len(layers())} layers")


if __name__ == "__main__":
    main()
