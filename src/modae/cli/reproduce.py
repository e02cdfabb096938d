"""``modae reproduce``: progress while it runs, then the table of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from modae.reproduction.findings import Setting
from modae.reproduction.run import PARTS, reproduce
from modae.reproduction.verdicts import DIFFERS, REPRODUCED, Verdict, summary

MISTAKE, ENVIRONMENT, INTERRUPTED = 2, 3, 130
"""Exit codes."""

COLOURS = {REPRODUCED: "green", DIFFERS: "yellow"}

PRINTED = ("table1.txt", "figure2.txt")
"""Tables that parts wrote, shown before the verdicts."""


def reproduce_command(
    names: Sequence[str], *, full: bool, out: Path, source: str, jobs: int, fresh: bool
) -> int:
    """Run, print, and return the exit code: 1 if a claim that was reproduced stopped holding."""
    errors, console = Console(stderr=True), Console()
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        errors.print(f"There is no part {unknown[0]!r}. Parts are: {', '.join(PARTS)}.", markup=False)
        return MISTAKE
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        errors.print(f"The folder {out} cannot be made: {error.strerror}.", markup=False)
        return ENVIRONMENT
    start = perf_counter()
    try:
        verdicts = _run(names, full, out, source, jobs, fresh, errors)
    except KeyboardInterrupt:
        errors.print("\nInterrupted. The same command goes on where this one stopped.")
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        errors.print(str(error), markup=False)
        return MISTAKE if isinstance(error, ValueError) else ENVIRONMENT
    show(verdicts, names, out, console)
    console.print(f"{perf_counter() - start:.0f} s. Pictures and numbers are in {out}/", markup=False)
    return int(any(verdict.stopped_holding for verdict in verdicts))


def _run(
    names: Sequence[str],
    full: bool,
    out: Path,
    source: str,
    jobs: int,
    fresh: bool,
    errors: Console,
) -> list[Verdict]:
    """Run with a status line on a terminal, and with one line for each step elsewhere."""
    if not errors.is_terminal:
        setting = Setting(out, full, source, jobs, lambda text: errors.print(text, markup=False))
        return reproduce(names, setting, fresh=fresh)
    with errors.status("Starting") as status:
        setting = Setting(out, full, source, jobs, lambda text: status.update(escape(text)))
        return reproduce(names, setting, fresh=fresh)


def show(verdicts: Sequence[Verdict], names: Sequence[str], out: Path, console: Console) -> None:
    """The parts' own tables, the verdicts, and a summary."""
    for name in PRINTED:
        wanted = not names or Path(name).stem in names
        if wanted and (out / name).is_file():
            console.print((out / name).read_text(encoding="utf-8"), markup=False, highlight=False)
    console.print(verdict_table(verdicts))
    for verdict in verdicts:
        if verdict.stopped_holding:
            console.print(
                f"[bold red]{verdict.claim.name} was reproduced before, and is not now.[/]",
                highlight=False,
            )
    console.print(f"{len(verdicts)} claims: {summary(verdicts)}.", highlight=False)


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """The paper's words, the rule, our value and the verdict."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=False, pad_edge=False, padding=(0, 1, 1, 0))
    table.add_column("the paper", ratio=5)
    table.add_column("checked here", ratio=5)
    table.add_column("verdict", ratio=2)
    for verdict in verdicts:
        claim = verdict.claim
        note = f"\n[dim]{escape(claim.note)}[/]" if claim.note else ""
        table.add_row(
            f"[bold]{escape(claim.where)}[/]\n{escape(claim.paper)}",
            f"[dim]{escape(claim.check)}[/]\n{escape(verdict.measured)}{note}",
            f"[{COLOURS.get(verdict.verdict, 'default')}]{verdict.verdict}[/]",
        )
    return table
