"""Every end of a command: one line and an exit code, and a traceback only if asked for."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from modae.cli.errors import BUG, CLOSED, ENVIRONMENT, INTERRUPTED, MISTAKE, Mistake, json_line, one_line

_STATE = {"debug": False}


def set_debug(asked: bool) -> None:
    """Remember --debug; typer calls it before the command."""
    _STATE["debug"] = asked


@contextmanager
def guard(as_json: bool = False) -> Iterator[None]:
    """Run a command; whatever it raises becomes one line on stderr and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except typer.Exit:
        raise
    except BaseException as error:
        if isinstance(error, (SystemExit, GeneratorExit)):
            raise
        code, text = verdict(error)
        if _STATE["debug"] and code != CLOSED:
            traceback.print_exc()
        _tell(code, text, as_json)
        raise typer.Exit(code) from None


def verdict(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and what to say."""
    from modae.files.errors import ModelFormatError

    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "Interrupted: nothing was written."
    if isinstance(error, BrokenPipeError) or getattr(error, "errno", None) == errno.EPIPE:
        return CLOSED, ""
    if isinstance(error, (Mistake, ModelFormatError)):
        return MISTAKE, one_line(error)
    if isinstance(error, ImportError):
        return ENVIRONMENT, _package(error)
    if isinstance(error, MemoryError):
        return ENVIRONMENT, "There is too little memory: close other programs, or give fewer columns."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return ENVIRONMENT, f"{where}{error.strerror or one_line(error)}."
    name, text = type(error).__name__, one_line(error)
    return (
        BUG,
        f"this is a bug in modae: {name}: {text} Run again with --debug and report what it prints.",
    )


def _package(error: ImportError) -> str:
    text = one_line(error)
    return text if "pip install" in text else f'{text}: pip install "modae[cli]"'


def _tell(code: int, text: str, as_json: bool) -> None:
    if code == CLOSED:
        # Python flushes stdout once more when it ends: let that go nowhere, silently.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    print(f"modae: {text}", file=sys.stderr)
    if as_json:
        print(json_line({"error": text, "exit_code": code}))


def run(app: Any, arguments: list[str] | None = None) -> int:
    """Run the application; mistakes in the options are one line too."""
    _STATE["debug"] = False
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(arguments, standalone_mode=False, prog_name="modae")
        return code if isinstance(code, int) else 0
    except Exception as error:
        if type(error).__name__ == "Abort":  # what becomes of Ctrl-C before a command begins
            raise KeyboardInterrupt from None
        if not hasattr(error, "format_message"):
            raise
        return _usage(error, as_json)


def _usage(error: Any, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return MISTAKE
    path = error.ctx.command_path if getattr(error, "ctx", None) is not None else "modae"
    text = one_line(error.format_message()).rstrip(".")
    _tell(MISTAKE, f"{text}; see '{path} --help'.", as_json)
    return MISTAKE
