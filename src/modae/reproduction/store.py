"""Results on disk: a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modae import __version__
from modae.display.style import pyplot
from modae.utils.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_json(path: Path, content: Any) -> None:
    """Write numbers and words, whole or not at all."""
    with atomic_write(path, "w") as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.write("\n")


def save_text(path: Path, content: str) -> None:
    """Write words, whole or not at all."""
    with atomic_write(path, "w") as file:
        file.write(content)


def measured_folder(out: Path) -> Path:
    """Where a run keeps what it has measured so far."""
    return out / "measured"


def remembered(path: Path, question: dict[str, Any], answer: Callable[[], Any]) -> Any:
    """The answer to a question, from the file at ``path`` if that has it, else computed and kept there.

    The file holds the question too (all that the answer depends on, and the version of the library): an
    answer to another question is not taken. A file that cannot be read counts as none.
    """
    question = {**question, "modae": __version__}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["question"] == question:
            return kept["answer"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    content = {"question": question, "answer": answer()}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_json(path, content)
    return json.loads(json.dumps(content["answer"]))


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture as PNG and as SVG, and close it."""
    for suffix in (".png", ".svg"):
        with atomic_write(path.with_suffix(suffix)) as file:
            figure.savefig(file, format=suffix[1:], dpi=150, bbox_inches="tight")
    pyplot().close(figure)
