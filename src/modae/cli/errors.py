"""Every end of a command: one line and an exit code, and a traceback only if asked for."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Exit codes: a bug in modae, a mistake of the user, the disk or a missing package, Ctrl-C, and a reader
#: that went away (the code that a shell gives to a program that the signal SIGPIPE ended).
BUG, MISTAKE, ENVIRONMENT, INTERRUPTED, CLOSED = 1, 2, 3, 130, 141


class UserError(Exception):
    """Something that the user can put right: the message names the cause and the remedy in one line."""


def refuse_if(wrong: object, text: str) -> None:
    """Say what is wrong, if it is."""
    if wrong:
        raise UserError(text)


@contextmanager
def data_refused(label: str) -> Iterator[None]:
    """A ValueError of the library about the data is the user's to put right, in its own words."""
    try:
        yield
    except ValueError as error:
        text = one_line(error)
        raise UserError(text if label in text else f"{label}: {text}") from error


def one_line(error: BaseException | str) -> str:
    """A message without line breaks."""
    return " ".join(str(error).split())


@contextmanager
def guard(as_json: bool, debug: bool) -> Iterator[None]:
    """Run a command; whatever it raises becomes one line on stderr and an exit code."""
    import typer

    try:
        yield
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        code, text = _verdict(error)
        if debug and code != CLOSED:
            traceback.print_exc()
        _tell(code, text, as_json)
        raise typer.Exit(code) from None


def _verdict(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and what to say."""
    from modae.files.archive import ModelFormatError

    text = one_line(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, text or "Interrupted: nothing was written."
    if isinstance(error, BrokenPipeError) or getattr(error, "errno", None) == errno.EPIPE:
        return CLOSED, ""
    if isinstance(error, (UserError, ModelFormatError)):
        return MISTAKE, text
    if isinstance(error, ImportError):
        return ENVIRONMENT, text if "pip install" in text else f'{text}: pip install "modae[cli]"'
    if isinstance(error, MemoryError):
        if type(error) is MemoryError and text:  # a sentence of the library, with its remedy
            return ENVIRONMENT, text
        what = f" ({text.rstrip('.')})" if text else ""
        remedy = "close other programs, or give fewer columns."
        return ENVIRONMENT, f"There is too little memory{what}: {remedy}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return ENVIRONMENT, f"{where}{error.strerror or text.rstrip('.')}."
    advice = "Run again with --debug and report what it prints."
    return BUG, f"this is a bug in modae: {type(error).__name__}: {text} {advice}"


def _tell(code: int, text: str, as_json: bool) -> None:
    if code == CLOSED:
        # Python flushes stdout once more when it ends: let that go nowhere, silently.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    print(f"modae: {text}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": text, "exit_code": code}))


def run(app: Any, arguments: list[str] | None = None) -> int:
    """Run the application; mistakes in the options are one line too."""
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
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
        text = one_line(kind.format_message()).rstrip(".")
        _tell(MISTAKE, f"{text}; see '{path} --help'.", as_json)
        return MISTAKE
