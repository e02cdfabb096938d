"""All parts in order; each is remembered when it is done, so that a run can go on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from shutil import rmtree

from modae import __version__
from modae.reproduction.findings import Finding, Setting
from modae.reproduction.store import remembered, save_json
from modae.reproduction.verdicts import Verdict, compare

PARTS = {
    "theorems": "theorems, propositions and lemmas as checks that run",
    "figure1": "the architecture, redrawn",
    "table1": "Algorithm 1, gradient descent and the spectral solver",
    "figure2": "error against diversity on six data sets",
    "section51": "three clusters in the plane",
    "section52": "individual errors and distance correlations",
    "transfer": "one extractor, two tasks",
}
"""What can be reproduced, in the order of the paper; each is a module with ``run(setting)``."""


def reproduce(names: Sequence[str], setting: Setting, *, fresh: bool = False) -> list[Verdict]:
    """Run some parts, or all of them, and write ``results.json``.

    Parameters
    ----------
    names : sequence of str
        Of :data:`PARTS`; empty means all.
    setting : Setting
    fresh : bool
        Forget what an earlier run in the same folder measured.

    Returns
    -------
    verdicts : list of Verdict
    """
    measured = setting.out / "measured"
    if fresh and measured.is_dir():
        rmtree(measured)
    verdicts = [
        verdict
        for name in (names or PARTS)
        for verdict in compare(name, _findings(name, setting), full=setting.full)
    ]
    save_json(
        setting.out / "results.json",
        {
            "modae": __version__,
            "scale": "full" if setting.full else "quick",
            "claims": [verdict.as_dict() for verdict in verdicts],
        },
    )
    return verdicts


def _findings(name: str, setting: Setting) -> list[Finding]:
    """Of one part, from the disk if it was run before with the same setting."""
    question = {"part": name, "full": setting.full, "source": str(setting.source)}

    def answer() -> list[dict[str, object]]:
        findings = import_module(f"modae.reproduction.{name}").run(setting)
        return [{**asdict(finding), "holds": bool(finding.holds)} for finding in findings]

    kept = remembered(setting.out / "measured" / f"part-{name}.json", question, answer)
    return [Finding(**finding) for finding in kept]
