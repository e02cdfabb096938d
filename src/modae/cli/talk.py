"""What people see: progress while a command works, and a report that explains itself at the end."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.text import Text

WIDTH = 80
INDENT = 13

#: A number of bytes that people can read.
size = partial(decimal, precision=0)


class Talk:
    """What a command says: progress on stderr, and a report on stdout, or on stderr if data are there.

    ``lines`` have a label in front, ``following`` is what to type next, ``data`` the same as both for
    machines.
    """

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, data_on_stdout: bool = False, **data: Any
    ) -> None:
        self.quiet, self.as_json, self.data = quiet, as_json, data
        self.lines: list[tuple[str, str]] = []
        self.following: list[str] = []
        self.errors = Console(stderr=True)
        self.out = self.errors if data_on_stdout else Console()

    def say(self, label: str, text: str, **data: Any) -> None:
        """A line; ``data`` goes into the JSON object."""
        self.lines.append((label, text))
        self.data.update(data)

    def note(self, *texts: str) -> None:
        """Things to know, each said once."""
        for text in texts:
            if text not in self.data.setdefault("notes", []):
                self.data["notes"].append(text)
                self.lines.append(("note", text))

    def next(self, command: str) -> None:
        """A command that makes sense now."""
        self.following.append(command)
        self.data.setdefault("next", []).append(command)

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A function to call with the number of rows that were done; a bar, or one plain line."""
        silent = self.quiet or self.as_json
        if silent or not self.errors.is_terminal:
            if not silent:
                plain(self.errors, f"{text} ...")
            yield lambda rows: None
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TimeElapsedColumn

        words = ("{task.description}", BarColumn(30), "{task.completed:,} rows", TimeElapsedColumn())
        with Progress(SpinnerColumn(), *words, console=self.errors, transient=True) as bar:
            task = bar.add_task(text, total=total)
            yield lambda rows: bar.advance(task, rows)

    def show(self) -> None:
        """The report as lines of at most 80 columns, or as one JSON object."""
        if self.as_json:
            sys.stdout.write(json.dumps(self.data) + "\n")
        elif not self.quiet:
            for line in self._rendered():
                self.out.print(line, soft_wrap=True, highlight=False)

    def _rendered(self) -> Iterator[Text]:
        """The lines of the report; text hangs in a column of its own."""
        for label, text in self.lines:
            head = Text(f"{label:<{INDENT}}", style="bold" if label else "")
            for piece in (piece for part in text.split("\n") for piece in _wrapped(part)):
                yield head + Text(piece)
                head = Text(" " * INDENT)
        head = Text(f"\n{'Next:':<{INDENT}}", style="bold")
        for command in self.following:
            yield head + Text(command, style="cyan")
            head = Text(" " * INDENT)


def plain(console: Console, text: str) -> None:
    """One line, however long: a path must not be cut, and brackets are no markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _wrapped(text: str) -> list[str]:
    """Wrapped, unless it is a row of a table, which begins with a space and was laid out by hand."""
    if text.startswith(" ") or not text:
        return [text.removeprefix(" ")]
    return textwrap.wrap(text, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
