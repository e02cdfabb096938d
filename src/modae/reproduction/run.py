"""All parts in order; each is remembered when it is done, so that a run can go on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from modae import __version__
from modae.datasets import load_benchmark
from modae.reproduction.findings import Finding, Setting
from modae.reproduction.store import measured_folder, remembered, save_json
from modae.reproduction.verdicts import Verdict, compare


@dataclass(frozen=True)
class Part:
    """One part of the paper: a module with ``run(setting)``.

    Parameters
    ----------
    about : str
        What it is, in a few words.
    files : tuple of str
        What it leaves in the folder; if one is missing it is run again.
    digits : bool
        Whether it needs digits from the source.
    """

    about: str
    files: tuple[str, ...] = ()
    digits: bool = False


def _pictures(name: str) -> tuple[str, ...]:
    return f"{name}.png", f"{name}.svg"


PARTS = {
    "theorems": Part("theorems, propositions and lemmas as checks that run"),
    "figure1": Part("the architecture, redrawn", _pictures("figure1")),
    "table1": Part("Algorithm 1, gradient descent, the spectral solver", ("table1.txt", "table1.json")),
    "figure2": Part(
        "error against diversity on six data sets",
        (*_pictures("figure2"), "figure2.txt", "figure2.json"),
        digits=True,
    ),
    "section51": Part("three clusters in the plane", (*_pictures("section51"), "section51.json")),
    "section52": Part(
        "individual errors and distance correlations",
        (*_pictures("section52"), "section52.json"),
        digits=True,
    ),
    "transfer": Part("one extractor, two tasks", ("transfer.json",), digits=True),
}
"""What can be reproduced, in the order of the paper."""

SWEEPS = ("figure2", "section52")
"""Parts that share measurements of their own, see :mod:`modae.reproduction.sweep`."""


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
        forget(chosen, setting)
    verdicts = [
        verdict
        for name in chosen
        for verdict in compare(name, _findings(name, setting), full=setting.full)
    ]
    suffix = f"-{'-'.join(chosen)}" if names else ""
    save_json(
        setting.out / f"results{suffix}.json",
        {
            "modae": __version__,
            "scale": "full" if setting.full else "quick",
            "claims": [verdict.as_dict() for verdict in verdicts],
        },
    )
    return verdicts


def check_source(names: Sequence[str], setting: Setting) -> None:
    """One digit from the source, before hours of work that would end with its error."""
    if any(PARTS[name].digits for name in names):
        load_benchmark("basic", 1, source=setting.source, random_state=0)


def forget(names: Sequence[str], setting: Setting) -> None:
    """Remove what was measured for these parts, and nothing else."""
    for name in names:
        _memory(name, setting).unlink(missing_ok=True)
        if name in SWEEPS:
            for path in measured_folder(setting.out).glob("sweep-*.json"):
                path.unlink()


def _memory(name: str, setting: Setting) -> Path:
    return measured_folder(setting.out) / f"part-{name}.json"


def _findings(name: str, setting: Setting) -> list[Finding]:
    """Of one part, from the disk if it was run before with the same setting and its files are there."""
    question = {"part": name, "full": setting.full, "source": str(setting.source)}

    def answer() -> list[dict[str, object]]:
        findings = import_module(f"modae.reproduction.{name}").run(setting)
        return [{**asdict(finding), "holds": bool(finding.holds)} for finding in findings]

    if not all((setting.out / file).is_file() for file in PARTS[name].files):
        _memory(name, setting).unlink(missing_ok=True)
    kept = remembered(_memory(name, setting), question, answer)
    return [Finding(**finding) for finding in kept]
