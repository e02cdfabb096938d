"""What can go wrong for a person at the terminal, and the exit codes that say so to a script."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

BUG, MISTAKE, ENVIRONMENT, INTERRUPTED, CLOSED = 1, 2, 3, 130, 141
"""Exit codes: a bug in modae, a mistake of the user, the disk or a missing package, Ctrl-C, and a reader
that went away (the code that a shell gives to a program that the signal SIGPIPE ended)."""


class Mistake(Exception):  # noqa: N818  (it is what it is)
    """Something that the user can put right: the message names the cause and the remedy in one line."""


@contextmanager
def data_refused(label: str) -> Iterator[None]:
    """An estimator's ValueError about the data is the user's to put right, in its own words."""
    try:
        yield
    except ValueError as error:
        raise Mistake(f"{label}: {one_line(error)}") from error


def one_line(error: BaseException | str) -> str:
    """A message without line breaks."""
    return " ".join(str(error).split())


def json_line(data: object) -> str:
    """One JSON object; letters that standard output does not have are escaped as JSON wants it."""
    text = json.dumps(data, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(data)
    return text


def listed(words: Iterable[object], most: int = 5) -> str:
    """Some names, and how many more there are."""
    quoted = [repr(str(word)) for word in words]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest} more" if rest > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name, or the first few."""
    known = list(known)
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {listed(known)}."
