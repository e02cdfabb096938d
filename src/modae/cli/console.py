"""What people see of a command: progress while it works, a report at the end, or an error.

Every end has an exit code, and a traceback only if asked for.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from shutil import get_terminal_size
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import typer
from rich.filesize import decimal

from modae.utils.atomic import LITTER_PREFIX
from modae.utils.text import bounded_loss, closeness, counted, format_number

if TYPE_CHECKING:
    from modae.ensembles.leaderboard import Leaderboard

#: Exit codes: a bug in modae, a mistake of the user, the disk or a missing package, Ctrl-C, and a reader
#: that went away (the code that a shell gives to a program that the signal SIGPIPE ended).
BUG, MISTAKE, ENVIRONMENT, INTERRUPTED, CLOSED = 1, 2, 3, 130, 141

#: What writing fails with where there is no room.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

#: The words of the command that runs.
TYPED: ContextVar[list[str]] = ContextVar("TYPED", default=[])  # noqa: B039  (it is not changed)

WIDTH = 80
INDENT = 13

#: Of lines that are wrapped: names of files and columns stay whole.
WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}

#: The model that a command is about, among others.
THIS = "this model"

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
        from rich.console import Console

        self.quiet, self.as_json, self.data = quiet, as_json, data
        self.lines: list[tuple[str, str]] = []
        self.following: list[str] = []
        self.errors = Console(stderr=True)
        self.out = self.errors if data_on_stdout else Console()

    def say(self, label: str, text: str, *, first: bool = False, **data: Any) -> None:
        """A line, after the others or as the ``first`` one; ``data`` goes into the JSON object."""
        self.lines.insert(0 if first else len(self.lines), (label, text))
        self.data.update(data)

    def note(self, *texts: str) -> None:
        """Things to know, each said once."""
        for text in texts:
            if text not in self.data.setdefault("notes", []):
                self.data["notes"].append(text)
                self.lines.append(("note", text))

    def next(self, *commands: str) -> None:
        """Commands that make sense now; the first ones first."""
        self.following += [each for each in commands if each not in self.following]
        self.data["next"] = self.following

    def stage(self, text: str, total: int | None = None, unit: str = "row") -> Any:
        """For ``with``: a function to call with the number of steps that were done."""
        from modae.utils.parallel import progress_bar

        return progress_bar(text, total, shown=not (self.quiet or self.as_json), unit=unit)

    def table(self, board: Leaderboard, name: str) -> None:
        """Lines that are shown as they are; for JSON, a dict for each model under a name."""
        columns = (column.tolist() for column in board.values())
        found: Any = [dict(zip(board, row, strict=True)) for row in zip(*columns, strict=True)]
        self.say("", textwrap.indent(str(board), " "), **{name: found})

    @contextmanager
    def watch(self, text: str, search: Any) -> Iterator[None]:
        """Say how far a search is, through a callback of scikit-learn."""
        with self.stage(text, unit="trial") as advance:
            told = dict.fromkeys(("on_fit_task_begin", "teardown"), lambda estimator, context: None)
            told["setup"] = lambda estimator, context: advance(0, context.max_subtasks)
            told["on_fit_task_end"] = lambda estimator, context: advance(int(bool(context.parent)))
            search.set_callbacks(SimpleNamespace(**told))
            yield

    def show(self) -> None:
        """The report as lines of at most 80 columns, or as one JSON object.

        Text hangs in a column of its own; a row of a table, which begins with a space, is not wrapped.
        """
        if self.as_json:
            sys.stdout.write(json.dumps(self.data) + "\n")
        if self.as_json or self.quiet:
            return
        from rich.text import Text

        def show_lines(label: str, lines: list[str], style: str = "") -> None:
            for place, line in enumerate(lines):
                head = Text(f"{'' if place else label:<{INDENT}}", style="bold")
                self.out.print(head + Text(line, style=style), soft_wrap=True, highlight=False)

        wrapper = textwrap.TextWrapper(WIDTH - INDENT, **WHOLE_WORDS)
        for label, text in self.lines:
            lines: list[str] = []
            for part in text.split("\n"):
                lines += [part[1:]] if part[:1] in ("", " ") else wrapper.wrap(part)
            show_lines(label, lines)
        if self.following:
            self.out.print()
            show_lines("Next:", "\n".join(self.following).split("\n"), "cyan")


def plain(console: Any, text: str) -> None:
    """One line, however long: a path must not be cut, and brackets are no markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def say_others(table: Leaderboard, text: str, talk: Talk, *, plain: bool = False) -> str | None:
    """A model, under the name THIS, among others; whether it is worth using comes first.

    ``plain`` is as in ``Leaderboard.verdict``.

    If it is not, the name of what is better is returned: a way to it is the first thing to type.
    """
    talk.say("others", text)
    talk.table(table, "others")
    scores = dict(zip(table["name"], table["score"].tolist(), strict=True))
    verdict = table.verdict(THIS, plain=plain)
    if "rmse" in table:
        off = table["rmse"][list(scores).index(THIS)]
        verdict += f" Off by {format_number(off, digits=3)} (root mean square)."
    other = next(name for name in scores if name != THIS)
    facts = {"score": scores[THIS], "baseline": other, "baseline_score": scores[other]}
    talk.say("verdict", verdict, first=True, verdict=verdict, **facts)
    return table.better_than(THIS)


def say_modules(model: dict[str, Any], talk: Talk) -> None:
    """How many modules of what size, what votes on them, and how good they are among all possible ones.

    The numbers are those in the header of a file.
    """
    if {"modules", "components"} <= set(model):
        names = ("modules", "components", "diversity")
        sizes: dict[str, Any] = {name: model.get(name) for name in names}
        text = f"{model['modules']} modules of {counted(model['components'], 'component')}"
        text += "" if sizes["diversity"] is None else f", diversity {sizes['diversity']:g}"
        text += f", a {model['member']} on each" if model.get("member") else ""
        talk.say("model", f"{text}.", **sizes)
    certificate = model.get("certificate")
    if certificate:
        fitted = SimpleNamespace(**{f"{name}_": value for name, value in certificate.items()})
        talk.data |= {name: certificate[name] for name in ("loss", "lower_bound", "optimality_gap")}
        loss, bound = bounded_loss(fitted)
        if loss != "0":  # where modules keep all of the variance, any would
            text = f"loss {loss}, no modules reach less than {bound}: {closeness(fitted)}."
            talk.say("certificate", text)


class UserError(Exception):
    """Something that the user can put right: the message names the cause and the remedy.

    It may have lines: the first says what is wrong, the others are details and what to do. ``add`` are
    options that help, each as a list of words: the command is then said again with them.
    """

    def __init__(self, text: str, add: Iterable[list[str]] = ()) -> None:
        super().__init__(text)
        self.add = add


def refuse_if(wrong: object, text: str) -> None:
    """Say what is wrong, if it is."""
    if wrong:
        raise UserError(text)


def one_line(error: BaseException | str) -> str:
    """A message without line breaks."""
    return " ".join(str(error).split())


@contextmanager
def guard(typed: Mapping[str, Any]) -> Iterator[None]:
    """Run a command with these options; what it raises becomes a message on stderr and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        code, text = _verdict(error, typed)
        if typed["debug"] and code != CLOSED:
            traceback.print_exc()
        _tell(code, text, typed.get("as_json", False), _again(getattr(error, "add", ())))
        raise typer.Exit(code) from None


def _again(options: Iterable[list[str]]) -> str:
    """The command that runs, with these options too; nothing if it has them all."""
    given, new = list(TYPED.get()), []
    for option in options:
        if option in (given[i : i + len(option)] for i in range(len(given))):
            continue
        new += option
        for flag in ("--decimal", "--thousands"):  # a mark has one meaning: the new one
            place = given.index(flag) if flag in given[:-1] and flag != option[0] else 0
            if place and given[place + 1] == option[-1]:
                del given[place : place + 2]
    return shlex.join(["modae", *given, *new]) if new else ""


def _verdict(error: BaseException, typed: Mapping[str, Any]) -> tuple[int, str]:
    """The exit code for an error, and what to say.

    A ValueError of the library, where there are data, is about them: the user's to put right.
    """
    from modae.files.archive import ModelFormatError

    text = one_line(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, text or "Interrupted: nothing was written."
    if isinstance(error, BrokenPipeError) or getattr(error, "errno", None) == errno.EPIPE:
        return CLOSED, ""
    if isinstance(error, (UserError, ModelFormatError)):
        return MISTAKE, str(error)
    if isinstance(error, ValueError) and "data" in typed:
        label = "standard input" if typed["data"] == "-" else typed["data"]
        return MISTAKE, text if label in text else f"{label}: {text}"
    if isinstance(error, ImportError):
        return ENVIRONMENT, text if "pip install" in text else f'{text}: pip install "modae[cli]"'
    if isinstance(error, MemoryError):
        if type(error) is MemoryError and text:  # a sentence of the library, with its remedy
            return ENVIRONMENT, text
        what = f" ({text.rstrip('.')})" if text else ""
        remedy = "close other programs, or give fewer columns."
        return ENVIRONMENT, f"There is too little memory{what}: {remedy}"
    if isinstance(error, OSError):
        where = error.filename
        # A full disk has no name of its own, and a temporary file has one that says nothing.
        if error.errno in FULL or LITTER_PREFIX in str(where):
            where = typed.get("out")
        return ENVIRONMENT, f"{f'{where}: ' if where else ''}{error.strerror or text.rstrip('.')}."
    advice = "Run again with --debug and report what it prints."
    return BUG, f"this is a bug in modae: {type(error).__name__}: {text} {advice}"


def _tell(code: int, text: str, as_json: bool, command: str = "") -> None:
    """What is wrong, wrapped, and on a line of its own, to be copied whole, what to type instead."""
    if code == CLOSED:
        # Python flushes stdout once more when it ends: let that go nowhere, silently.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    if as_json:
        whole = one_line(text) + (f" Type: {command}" if command else "")
        print(f"modae: {whole}", file=sys.stderr)
        print(json.dumps({"error": whole, "exit_code": code}))
        return
    how: Any = {"width": get_terminal_size().columns, "subsequent_indent": "    ", **WHOLE_WORDS}
    lines = f"modae: {text}\nType:" if command else f"modae: {text}"
    lines = lines.replace("pip install ", "pip\0install\0").replace("\n", "\n  ")
    told = [textwrap.fill(line, **how).replace("\0", " ") for line in lines.split("\n")]
    print(*told, *[f"  {command}"] * bool(command), sep="\n", file=sys.stderr)


def run(app: Any, arguments: list[str] | None = None) -> int:
    """Run the application; mistakes in the options are messages too."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    TYPED.set(given)
    try:
        return int(app(arguments, standalone_mode=False, prog_name="modae") or 0)
    except Exception as error:
        kind: Any = error
        if type(error).__name__ == "Abort":  # what becomes of Ctrl-C before a command begins
            raise KeyboardInterrupt from None
        if type(error).__name__ == "NoArgsIsHelpError":
            kind.show()
            return MISTAKE
        if not hasattr(error, "format_message"):
            raise
        path = kind.ctx.command_path if getattr(error, "ctx", None) is not None else "modae"
        text, add = one_line(kind.format_message()).rstrip("."), []
        if type(error).__name__ == "MissingParameter" and kind.param.opts[-1][0] == "-":
            add = [[kind.param.opts[-1], kind.param.metavar]]
        _tell(MISTAKE, f"{text}; see '{path} --help'.", as_json, _again(add))
        return MISTAKE
