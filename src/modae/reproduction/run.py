"""The paper's claims beside what was found, and the parts that find it, run in order.

Each part is remembered when it is done, so that a run can go on where it stopped.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modae import __version__
from modae.datasets import load_benchmark
from modae.display.style import pyplot
from modae.utils.atomic import atomic_write

REPRODUCED, DIFFERS, UNCHECKED = "reproduced", "differs", "cannot be checked"

#: What can be reproduced, in the order of the paper, and the files that each part leaves in the folder;
#: if one is missing the part is run again. A part is a module of this folder with ``run(setting)``.
PARTS: dict[str, tuple[str, ...]] = {
    "theorems": (),
    "figure1": ("figure1.png", "figure1.svg"),
    "table1": ("table1.txt", "table1.json"),
    "figure2": ("figure2.png", "figure2.svg", "figure2.txt", "figure2.json"),
    "section51": ("section51.png", "section51.svg", "section51.json"),
    "section52": ("section52.png", "section52.svg", "section52.json"),
    "transfer": ("transfer.json",),
}


# --- claims ------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """The answer to one claim of the paper.

    Parameters
    ----------
    claim : str
        Its name in ``expected.toml``, which holds the paper's words and the rule of the check.
    holds : bool
        Whether the rule came out.
    measured : str
        Our value, in words and figures, on one line.
    """

    claim: str
    holds: bool | np.bool_
    measured: str


@dataclass(frozen=True)
class Claim:
    """One claim as ``expected.toml`` has it: the paper's words, the rule of the check, and the verdict.

    ``quick`` is the verdict on small samples, where it is not the same.
    """

    name: str
    part: str
    where: str
    paper: str
    check: str
    verdict: str
    note: str = ""
    quick: str = ""

    def expected(self, full: bool) -> str:
        """The verdict that the check should come to."""
        return self.verdict if full else self.quick or self.verdict


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and what that says."""

    claim: Claim
    measured: str
    verdict: str
    expected: str

    @property
    def stopped_holding(self) -> bool:
        """Whether something that was reproduced is not any more."""
        return self.expected == REPRODUCED and self.verdict != REPRODUCED

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the claim, with the verdict that was found and the one that was expected."""
        return asdict(self.claim) | {k: v for k, v in vars(self).items() if k != "claim"}


def claims(part: str | None = None) -> list[Claim]:
    """All claims, or those of one part, in the order of the file."""
    text = files("modae.reproduction").joinpath("expected.toml").read_text(encoding="utf-8")
    known = [Claim(name=name, **fields) for name, fields in tomllib.loads(text).items()]
    return [claim for claim in known if part in (None, claim.part)]


def compare(part: str, findings: Iterable[Finding], *, full: bool) -> list[Verdict]:
    """What the findings of one part say of its claims.

    Every finding must have a claim, and every claim that can be checked a finding.
    """
    found = {finding.claim: finding for finding in findings}
    verdicts = []
    for claim in claims(part):
        finding, expected = found.pop(claim.name, None), claim.expected(full)
        if finding is None and expected != UNCHECKED:
            raise ValueError(f"{part} has no finding for its claim {claim.name!r}")
        verdict = REPRODUCED if finding is not None and finding.holds else DIFFERS
        verdict = UNCHECKED if expected == UNCHECKED else verdict
        verdicts.append(Verdict(claim, finding.measured if finding else "", verdict, expected))
    if found:
        raise ValueError(f"findings without a claim in expected.toml: {sorted(found)}")
    return verdicts


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many of each kind."""
    words = [verdict.verdict for verdict in verdicts]
    return {word: words.count(word) for word in (REPRODUCED, DIFFERS, UNCHECKED)}


# --- parts -------------------------------------------------------------------------------------------


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

    def check_source(self, names: Iterable[str]) -> None:
        """One digit from the source, before hours of work that would end with its error."""
        if {"figure2", "section52", "transfer"} & set(names):
            load_benchmark("basic", 1, source=self.source, random_state=0)

    def save_text(self, name: str, text: str) -> None:
        """Write a file of text."""
        with atomic_write(self.out / name, "w") as file:
            file.write(text)

    def save_json(self, name: str, content: Any) -> None:
        """Write numbers and strings, as every reader of JSON takes them."""
        self.save_text(name, json.dumps(plain(content), indent=1) + "\n")

    def save_figure(self, name: str, figure: Any, dpi: int = 150) -> None:
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
        content = plain({"question": question, "answer": answer()})
        self.measured_folder.mkdir(parents=True, exist_ok=True)
        self.save_json(f"measured/{name}.json", content)
        return content["answer"]


def plain(content: Any) -> Any:
    """What JSON has for it: lists for arrays, strings as keys, and None for what is not finite."""

    def from_numpy(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return value.tolist()
        raise TypeError(f"{value!r} is not JSON serializable")

    return json.loads(json.dumps(content, default=from_numpy), parse_constant=lambda name: None)


def reproduce(names: Sequence[str], setting: Setting, *, fresh: bool = False) -> list[Verdict]:
    """Run some parts, or all of them, and write ``results.json``.

    Parameters
    ----------
    names : sequence of str
        Of :data:`PARTS`; empty means all. The results of some go to ``results-{names}.json``.
    setting : Setting
    fresh : bool
        Forget what an earlier run in the same folder measured for these parts, and nothing else.

    Returns
    -------
    verdicts : list of Verdict
    """
    chosen, verdicts = list(dict.fromkeys(names or PARTS)), []
    setting.check_source(chosen)
    if fresh and {"figure2", "section52"} & set(chosen):
        for path in setting.measured_folder.glob("sweep-*.json"):  # which these two parts share
            path.unlink()
    for name in chosen:
        if fresh or not all((setting.out / file).is_file() for file in PARTS[name]):
            (setting.measured_folder / f"part-{name}.json").unlink(missing_ok=True)
        question = {"part": name, "full": setting.full, "source": str(setting.source)}
        find = import_module(f"modae.reproduction.{name}").run
        found = setting.remembered(f"part-{name}", question, partial(find, setting))
        verdicts += compare(name, [Finding(*kept) for kept in found], full=setting.full)
    results = {
        "modae": __version__,
        "scale": "full" if setting.full else "quick",
        "claims": [verdict.as_dict() for verdict in verdicts],
    }
    setting.save_json(f"results-{'-'.join(chosen)}.json" if names else "results.json", results)
    return verdicts
