"""``modae reproduce``: progress while it runs, then the table of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from modae.cli.errors import UserError
from modae.cli.tables import check_output
from modae.cli.talk import plain
from modae.report.page import require_plotly
from modae.reproduction.page import make_page
from modae.reproduction.run import DIFFERS, PARTS, REPRODUCED, Setting, Verdict, counts, reproduce

COLOURS = {REPRODUCED: "green", DIFFERS: "yellow"}

PRINTED = ("table1.txt", "figure2.txt")
"""Tables that parts wrote, shown before the verdicts."""


def reproduce_command(
    names: Sequence[str],
    *,
    full: bool,
    out: Path,
    source: str,
    jobs: int,
    fresh: bool,
    page: str | None = None,
) -> int:
    """Run, print, and return the exit code: 1 if a claim that was reproduced stopped holding."""
    console, start = Console(), perf_counter()
    setting = Setting(out, full, source, jobs)
    unknown = [name for name in names if name not in PARTS]
    if jobs == 0:
        raise UserError("--jobs must not be 0: give a number of cores, or -1 for all.")
    if unknown:
        raise UserError(f"There is no part {unknown[0]!r}. Parts are: {', '.join(PARTS)}.")
    try:
        setting.check_source(names or PARTS)
    except (ValueError, FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"--source {source}: {error}") from error
    except (OSError, ImportError):
        pass  # not a mistake: said when the work begins
    if page is not None:
        check_output(page, (".html", ".htm"), option="--report")
        require_plotly()
    setting.measured_folder.mkdir(parents=True, exist_ok=True)
    try:
        verdicts = run(names, setting, fresh, page, Console(stderr=True))
    except KeyboardInterrupt:
        again = "The same command, without --fresh," if fresh else "The same command"
        raise KeyboardInterrupt(f"Interrupted. {again} goes on where this one stopped.") from None
    show(verdicts, names, out, console)
    plain(console, f"{perf_counter() - start:.0f} s. Pictures and numbers are in {out}/")
    if page is not None:
        plain(console, f"The page is {page}: open it in a browser; it needs no network.")
    return int(any(verdict.stopped_holding for verdict in verdicts))


def run(
    names: Sequence[str], setting: Setting, fresh: bool, page: str | None, errors: Console
) -> list[Verdict]:
    """Run with a status line on a terminal, and with one line for each step elsewhere."""
    with errors.status("Starting") if errors.is_terminal else nullcontext() as status:
        tell = partial(plain, errors) if status is None else lambda text: status.update(escape(text))
        told = replace(setting, tell=tell)
        verdicts = reproduce(names, told, fresh=fresh)
        if page is not None:
            make_page(verdicts, told).save(page)
    return verdicts


def show(verdicts: Sequence[Verdict], names: Sequence[str], out: Path, console: Console) -> None:
    """The parts' own tables, the verdicts, and once more what differs."""
    for name in PRINTED:
        wanted = not names or Path(name).stem in names
        if wanted and (out / name).is_file():
            console.print((out / name).read_text(encoding="utf-8"), markup=False, highlight=False)
    console.print(verdict_table(verdicts))
    for verdict in verdicts:
        if verdict.stopped_holding:
            plain(console, f"{verdict.claim.name} was reproduced before, and is not now.")
        elif verdict.verdict == DIFFERS:
            plain(console, f"{verdict.claim.name} differs.")
    counted = ", ".join(f"{word}: {count}" for word, count in counts(verdicts).items())
    plain(console, f"Claims: {len(verdicts)}. {counted}.")


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """The paper's words, the rule, our value and the verdict."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=False, pad_edge=False, padding=(0, 1, 1, 0))
    table.add_column("the paper", ratio=5)
    table.add_column("checked here", ratio=5)
    table.add_column("verdict", ratio=2)
    for verdict in verdicts:
        claim = verdict.claim
        found = f"\n[bold]Found:[/] {escape(verdict.measured)}" if verdict.measured else ""
        note = f"\n[dim]Note: {escape(claim.note)}[/]" if claim.note else ""
        table.add_row(
            f"[bold]{escape(claim.where)}[/] [dim]({claim.name})[/]\n{escape(claim.paper)}",
            f"[dim]Rule: {escape(claim.check)}[/]{found}{note}",
            f"[{COLOURS.get(verdict.verdict, 'default')}]{verdict.verdict}[/]",
        )
    return table
