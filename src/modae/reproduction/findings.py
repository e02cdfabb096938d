"""What a part of the reproduction finds out, and what it is run with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Finding:
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
    holds: bool
    measured: str


def _silence(_: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Setting:
    """How a part is run: quick or at the paper's scale, with which digits, and where files go.

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
    tell: Callable[[str], None] = field(default=_silence)
