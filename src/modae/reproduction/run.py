"""All parts in order; each is remembered when it is done, so that a run can go on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modae import __version__
from modae.datasets import load_benchmark
from modae.display.style import pyplot
from modae.reproduction.claims import Finding, Verdict, compare
from modae.utils.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS: dict[str, tuple[str, ...]] = {
    "theorems": (),
    "figure1": ("figure1.png", "figure1.svg"),
    "table1": ("table1.txt", "table1.json"),
    "figure2": ("figure2.png", "figure2.svg", "figure2.txt", "figure2.json"),
    "section51": ("section51.png", "section51.svg", "section51.json"),
    "section52": ("section52.png", "section52.svg", "section52.json"),
    "transfer": ("transfer.json",),
}
"""What can be reproduced, in the order of the paper, and the files that each part leaves in the folder;
if one is missing the part is run again. A part is a module of this folder with ``run(setting)``."""

NEED_DIGITS = ("figure2", "section52", "transfer")
SHARE_SWEEPS = ("figure2", "section52")
"""Parts that share measurements, see :func:`modae.reproduction.figure2.sweeps`."""


@dataclass(frozen=True)
class Setting:
    """How a part is run: quick or at the paper's scale, with which digits, and where files go.

    Files are written whole or not at all.

    Parameters
    ----------
    out : Path
        Folder for pictures and numbers; it exists.
    full : bool
        The paper's scale instead of small samples.
    source : str
        Where digits come from, as ``modae.datasets.load_benchmark`` takes it.
    n_jobs : int
        Cores to use.
    tell : callable
        Takes one short sentence about what is being done now.
    """

    out: Path
    full: bool = False
    source: str = "embedded"
    n_jobs: int = -1
    tell: Callable[[str], None] = lambda sentence: None

    @property
    def measured_folder(self) -> Path:
        """Where a run keeps what it has measured so far."""
        return self.out / "measured"

    def save_text(self, name: str, text: str) -> None:
        """Write a file of text."""
        with atomic_write(self.out / name, "w") as file:
            file.write(text)

    def save_json(self, name: str, content: Any) -> None:
        """Write numbers and strings."""
        self.save_text(name, json.dumps(content, indent=1, allow_nan=False) + "\n")

    def save_figure(self, name: str, figure: Figure, dpi: int = 150) -> None:
        """Write a picture as PNG and as SVG, the same file for the same picture, and close it."""
        from matplotlib import rc_context

        for suffix, metadata in ((".png", None), (".svg", {"Date": None})):
            with atomic_write(self.out / (name + suffix)) as file, rc_context({"svg.hashsalt": "modae"}):
                figure.savefig(file, format=suffix[1:], dpi=dpi, bbox_inches="tight", metadata=metadata)
        pyplot().close(figure)

    def remembered(self, name: str, question: dict[str, Any], answer: Callable[[], Any]) -> Any:
        """The answer to a question, from the file of that name if it has it, else computed and kept.

        The file holds the question too (all that the answer depends on, and the version of the
        library): an answer to another question is not taken. A file that cannot be read counts as none.
        """
        question = {**question, "modae": __version__}
        try:
            kept = json.loads((self.measured_folder / f"{name}.json").read_text(encoding="utf-8"))
            if kept["question"] == question:
                return kept["answer"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        content = {"question": question, "answer": answer()}
        self.measured_folder.mkdir(parents=True, exist_ok=True)
        self.save_json(f"measured/{name}.json", content)
        return json.loads(json.dumps(content["answer"]))


def reproduce(names: Sequence[str], setting: Setting, *, fresh: bool = False) -> list[Verdict]:
    """Run some parts, or all of them, and write ``results.json``.

    Parameters
    ----------
    names : sequence of str
        Of :data:`PARTS`; empty means all. The results of some go to ``results-{names}.json``.
    setting : Setting
    fresh : bool
        Forget what an earlier run in the same folder measured for these parts.

    Returns
    -------
    verdicts : list of Verdict
    """
    chosen = list(dict.fromkeys(names or PARTS))
    check_source(chosen, setting)
    if fresh:
        _forget(chosen, setting)
    verdicts = []
    for name in chosen:
        verdicts += compare(name, _findings(name, setting), full=setting.full)
    results = {
        "modae": __version__,
        "scale": "full" if setting.full else "quick",
        "claims": [verdict.as_dict() for verdict in verdicts],
    }
    setting.save_json(f"results-{'-'.join(chosen)}.json" if names else "results.json", results)
    return verdicts


def check_source(names: Sequence[str], setting: Setting) -> None:
    """One digit from the source, before hours of work that would end with its error."""
    if set(names) & set(NEED_DIGITS):
        load_benchmark("basic", 1, source=setting.source, random_state=0)


def _forget(names: Sequence[str], setting: Setting) -> None:
    """Remove what was measured for these parts, and nothing else."""
    patterns = [f"part-{name}.json" for name in names]
    if set(names) & set(SHARE_SWEEPS):
        patterns.append("sweep-*.json")
    for pattern in patterns:
        for path in setting.measured_folder.glob(pattern):
            path.unlink()


def _findings(name: str, setting: Setting) -> list[Finding]:
    """Of one part, from the disk if it was run before with the same setting and its files are there."""

    def answer() -> list[tuple[str, bool, str]]:
        findings = import_module(f"modae.reproduction.{name}").run(setting)
        return [(finding.claim, bool(finding.holds), finding.measured) for finding in findings]

    if not all((setting.out / file).is_file() for file in PARTS[name]):
        (setting.measured_folder / f"part-{name}.json").unlink(missing_ok=True)
    question = {"part": name, "full": setting.full, "source": str(setting.source)}
    return [Finding(*kept) for kept in setting.remembered(f"part-{name}", question, answer)]
