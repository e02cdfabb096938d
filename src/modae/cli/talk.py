"""What people see: progress while a command works, and a report that explains itself at the end."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

WIDTH = 80
INDENT = 13


@dataclass
class CommandReport:
    """What a command did: lines with a label in front, what to type next, and the same as data."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    following: list[str] = field(default_factory=list)

    def say(self, label: str, text: str, **data: Any) -> None:
        """A line; ``data`` goes into the JSON object."""
        self.lines.append((label, text))
        self.data.update(data)

    def note(self, text: str) -> None:
        """Something to know, said once."""
        if text not in self.data.setdefault("notes", []):
            self.data["notes"].append(text)
            self.lines.append(("note", text))

    def next(self, command: str) -> None:
        """A command that makes sense now."""
        self.following.append(command)
        self.data.setdefault("next", []).append(command)


class Talk:
    """Where to say what: progress on stderr, the report on stdout, or on stderr if data are there."""

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, data_on_stdout: bool = False
    ) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.errors = Console(stderr=True)
        self.out = self.errors if data_on_stdout else Console()

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A function to call with the number of rows that were done; a bar, or one plain line."""
        silent = self.quiet or self.as_json
        if silent or not self.errors.is_terminal:
            if not silent:
                plain(self.errors, f"{text} ...")
            yield lambda rows: None
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30))
        rows_done = TextColumn("{task.completed:,} rows")
        with Progress(
            *columns, rows_done, TimeElapsedColumn(), console=self.errors, transient=True
        ) as bar:
            task = bar.add_task(text, total=total)
            yield lambda rows: bar.advance(task, rows)

    def show(self, report: CommandReport) -> None:
        """The report as lines of at most 80 columns, or as one JSON object."""
        if self.as_json:
            sys.stdout.write(json.dumps(report.data) + "\n")
        elif not self.quiet:
            for line in rendered(report):
                self.out.print(line, soft_wrap=True, highlight=False)


def plain(console: Console, text: str) -> None:
    """One line, however long: a path must not be cut, and brackets are no markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def rendered(report: CommandReport) -> list[Text]:
    """The lines of a report; text hangs in a column of its own."""
    lines = []
    for label, text in report.lines:
        wrapped = [piece for part in text.split("\n") for piece in _wrapped(part)]
        head = Text(f"{label:<{INDENT}}", style="bold" if label else "")
        lines.append(head + Text(wrapped[0]))
        lines.extend(Text(" " * INDENT + piece) for piece in wrapped[1:])
    if report.following:
        lines.append(Text())
        starts = ["Next:", *[""] * (len(report.following) - 1)]
        for start, command in zip(starts, report.following, strict=True):
            lines.append(Text(f"{start:<{INDENT}}", style="bold") + Text(command, style="cyan"))
    return lines


def _wrapped(text: str) -> list[str]:
    """Wrapped, unless it is a row of a table, which begins with a space and was laid out by hand."""
    if text.startswith(" ") or not text:
        return [text.removeprefix(" ")]
    return textwrap.wrap(text, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)


def size(n_bytes: float) -> str:
    """A size that people can read."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"
