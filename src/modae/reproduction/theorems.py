"""Every theorem, proposition and lemma of the paper as a check that runs, on small random problems.

A proof needs no experiment, but a paper can have slips, and so can a library that implements it. Each
check compares the statement with something computed another way and would fail if either were wrong.
"""

from __future__ import annotations

from modae.reproduction import theorems_algorithm, theorems_loss
from modae.reproduction.claims import Finding, claims
from modae.reproduction.run import Setting

CHECKS = [
    function
    for module in (theorems_loss, theorems_algorithm)
    for name, function in vars(module).items()
    if name.startswith("check_")
]
"""Every function whose name says so, in the order of the paper."""

QUICK, FULL = 6, 24
"""Random instances of each check."""


def run(setting: Setting) -> list[Finding]:
    """Run every check on a few instances, or on more of them at full scale.

    Examples
    --------
    One check by itself, on three instances:

    >>> from modae.reproduction.theorems_loss import check_two_forms
    >>> [finding.claim for finding in check_two_forms(3) if finding.holds]
    ['proposition1']
    """
    count = FULL if setting.full else QUICK
    setting.tell(f"Theorems: {len(claims('theorems'))} checks on {count} random instances each")
    return [finding for check in CHECKS for finding in check(count)]
