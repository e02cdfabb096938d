"""How much memory a piece of work needs on top of its data, measured in a fresh process.

Only anonymous memory counts (``RssAnon`` in ``/proc``): arrays are there, files that are merely mapped
into memory are not. The parent looks at the child from outside, so that long calls which hold the
interpreter cannot hide a peak. Linux only.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import format_exc
from typing import Any

INTERVAL = 0.002
"""Seconds between two looks: time enough to fill about 10 MB."""


def anonymous_bytes(process: int | str = "self") -> int:
    """Anonymous memory of a process that is in use now."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/{process}/status has no line RssAnon: the process ended, or this is no Linux.")


def peak_growth(function: Callable[..., object], prepare: Callable[[], Any] | None = None) -> int:
    """Most bytes of anonymous memory during a call, less what was there before it.

    Parameters
    ----------
    function : callable
        Runs once in a fresh process, so it must be picklable: a function of a module, or a
        ``functools.partial`` of one. What it allocates counts, its result too.
    prepare : callable, optional
        Runs before it in the same process and is not counted; ``function`` then gets its result. Make
        large data here, or the copy that the new process gets would be all that is measured.

    Returns
    -------
    growth : int

    Raises
    ------
    RuntimeError
        If the work fails, with its traceback; or if the process dies.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from benchmarks.memory import peak_growth
    >>> round(peak_growth(partial(np.ones, 10_000_000)) / 1e6)  # doctest: +SKIP
    80
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_work, args=(theirs, function, prepare), daemon=True)
    child.start()
    theirs.close()
    try:
        return _watch(ours, child.pid)
    finally:
        ours.close()
        child.join()


def _watch(ours: Connection, child: int | None) -> int:
    """In the parent: note the memory before, let the child go, look until it is done."""
    _answer(ours)
    before = peak = anonymous_bytes(str(child))
    ours.send("go")
    while not ours.poll(INTERVAL):
        with suppress(OSError):  # it may have died just now: the answer below will say so
            peak = max(peak, anonymous_bytes(str(child)))
    _answer(ours)
    return max(peak, anonymous_bytes(str(child))) - before


def _answer(ours: Connection) -> None:
    """Wait for a word of the child; a traceback instead of one is an error here."""
    try:
        failure = ours.recv()
    except EOFError:
        raise RuntimeError("the process that was measured died: too little memory?") from None
    if failure:
        raise RuntimeError(f"the work that was measured failed:\n{failure}")


def _work(
    theirs: Connection, function: Callable[..., object], prepare: Callable[[], Any] | None
) -> None:
    """In the child. The result is kept until the parent has looked for the last time."""
    try:
        given = () if prepare is None else (prepare(),)
        _return_free_memory()
        theirs.send("")
        theirs.recv()
        result = function(*given)
        theirs.send("")
        theirs.poll(None)  # the parent closes its end
        del result
    except EOFError:
        return
    except BaseException:
        theirs.send(format_exc())


def _return_free_memory() -> None:
    """Give what ``prepare`` left behind back to the system, or the work would find its memory there."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
