"""The paper's claims beside what was found: reproduced, differs, or cannot be checked."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

REPRODUCED, DIFFERS, UNCHECKED = "reproduced", "differs", "cannot be checked"


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
        """For JSON."""
        own = {"measured": self.measured, "verdict": self.verdict, "expected": self.expected}
        claim = asdict(self.claim)
        return {name: claim[name] for name in ("name", "part", "where", "paper", "check", "note")} | own


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
        if expected == UNCHECKED:
            verdicts.append(Verdict(claim, finding.measured if finding else "", UNCHECKED, expected))
        elif finding is None:
            raise ValueError(f"{part} has no finding for its claim {claim.name!r}")
        else:
            verdict = REPRODUCED if finding.holds else DIFFERS
            verdicts.append(Verdict(claim, finding.measured, verdict, expected))
    if found:
        raise ValueError(f"findings without a claim in expected.toml: {sorted(found)}")
    return verdicts


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many of each kind."""
    counted = Counter(verdict.verdict for verdict in verdicts)
    return {word: counted[word] for word in (REPRODUCED, DIFFERS, UNCHECKED)}
