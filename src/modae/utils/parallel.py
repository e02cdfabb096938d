"""Tasks at the same time through joblib, in threads that share the cores instead of each using all.

A progress bar on the terminal counts them, if asked for.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import starmap
from multiprocessing import current_process
from shutil import get_terminal_size
from threading import Event, Lock, Thread, current_thread, main_thread
from time import monotonic
from typing import Any, TypeVar, cast
from weakref import WeakSet

from joblib import cpu_count
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

#: Seconds between two lines of progress where there is no terminal: the first ones, and at most.
LINES_APART, MOST_APART = 10.0, 60.0

#: The part of the steps that must be done before the time of the others is guessed from it: rows are
#: alike, and so are steps of training, while the last trials of a search take longest.
ENOUGH = {"row": 0.1, "step": 0.1, "trial": 0.8, "fit": 0.8}

_LOCKS: WeakSet[Any] = WeakSet()
if hasattr(os, "register_at_fork"):
    # A thread that held a lock at the fork is not in the child, which would wait for it for ever.
    os.register_at_fork(after_in_child=lambda: [lock._at_fork_reinit() for lock in _LOCKS])


def lock_for_forks(kind: Callable[[], Any] = Lock) -> Any:
    """A new lock that is free in the child of a fork, whoever held it in the parent."""
    lock = kind()
    _LOCKS.add(lock)
    return lock


#: Tasks of :func:`in_one_thread` in this process, and what lets BLAS go after the last one.
_COUNTING = lock_for_forks()
_running, _limiter = 0, cast(Any, None)


def run_parallel(
    function: Callable[..., Result],
    arguments: Sequence[Sequence[Any]],
    n_jobs: int | None,
    advance: Callable[[], object] | None = None,
) -> list[Result]:
    """``[function(*each) for each in arguments]``, ``n_jobs`` at a time and in order.

    Threads, unless ``joblib.parallel_config(backend=...)`` says otherwise: what is slow here (products,
    trees, solvers) releases the interpreter's lock, and threads need no copies of the data. While
    several run, BLAS and OpenMP get the cores that are left for each, and never more than the caller
    allows. ``advance`` is called, in this process, when a task is done.
    """
    jobs = min(effective_jobs(n_jobs), max(1, len(arguments)))
    if jobs == 1:
        return _counted(starmap(function, arguments), advance)
    pools = _pools(len(sys.modules))
    allowed = max((pool["num_threads"] for pool in pools.info()), default=1)
    limit = min(allowed, max(1, cpu_count() // jobs))
    tasks = (delayed(_limited)(function, each, limit) for each in arguments)
    with pools.limit(limits=limit):
        return _counted(Parallel(jobs, prefer="threads", return_as="generator")(tasks), advance)


def effective_jobs(n_jobs: int | None) -> int:
    """How many tasks :func:`run_parallel` has at a time.

    ``joblib.effective_n_jobs`` asks about processes, and warns in a process that may not start any.
    """
    backend, usual = get_active_backend(prefer="threads")
    return int(backend.effective_n_jobs(usual if n_jobs is None else n_jobs))


def _counted(results: Iterable[Result], advance: Callable[[], object] | None) -> list[Result]:
    done = []
    for result in results:
        done.append(result)
        if advance is not None:
            advance()
    return done


def _limited(function: Callable[..., Result], arguments: Sequence[Any], limit: int) -> Result:
    """The result of a task. BLAS counts threads for the process, OpenMP for each thread that uses it."""
    with _pools(len(sys.modules)).limit(limits=limit, user_api="openmp"):
        return function(*arguments)


def in_one_thread(function: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """The result of a task on a worker: the workers are the parallelism, and share the cores.

    BLAS counts threads for the process, where several tasks may run: the first one limits it, and the
    last one to end lets it go.
    """
    global _running, _limiter
    pools = _pools(len(sys.modules))
    with _COUNTING:
        _running += 1
        if _running == 1:
            _limiter = pools.limit(limits=1, user_api="blas")
    try:
        with pools.limit(limits=1, user_api="openmp"):
            return function(*arguments, **options)
    finally:
        with _COUNTING:
            _running -= 1
            if _running == 0:
                _limiter.restore_original_limits()


@lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """The pools of threads in this process. Looking for them takes long; imports may bring new ones."""
    return ThreadpoolController()


@contextmanager
def progress_bar(
    text: str, total: int | None = None, *, shown: bool = True, unit: str = "step", after: float = 0.0
) -> Iterator[Callable[..., None]]:
    """A function to call after each step, or with a number of them, and with a total once it is known.

    On a terminal one line of stderr is written over and over, and gone in the end; elsewhere, in a
    notebook or in a pipe, lines are written now and then: at first often, later each minute, also while
    one long step is under way. The first ``after`` seconds are silent.
    """
    shown = shown and sys.stderr is not None
    terminal = shown and sys.stderr.isatty()
    start, done, latest, over, counting = monotonic(), 0, 0.0, Event(), lock_for_forks()

    def write(line: str) -> None:
        width = get_terminal_size().columns - 1
        print(f"\r{line[:width]:<{width}}\r" if terminal else f"{line}\n", end="", file=sys.stderr)

    def advance(steps: int = 1, expected: int | None = None) -> None:
        nonlocal total, done, latest
        with counting:
            total, done, time = expected or total, done + steps, monotonic() - start
            apart = 0.1 if terminal else min(max(LINES_APART, latest / 4.0), MOST_APART)
            if shown and time >= max(after, latest + apart):
                latest = time
                write(f"{text}: {how_far(done, total, unit, time)}")

    def beat() -> None:
        while not over.wait(LINES_APART):
            advance(0)

    if shown and not after:
        write(f"{text} ...")
    heart = Thread(target=beat, name="heartbeat", daemon=True)
    if shown:
        heart.start()
    try:
        yield advance
    finally:
        over.set()
        if shown:
            heart.join()
        if terminal:
            write("")


def on_own_terminal() -> bool:
    """Whether somebody may be waiting: a terminal, and neither a worker nor a thread of many."""
    alone = current_thread() is main_thread() and current_process().name == "MainProcess"
    return alone and sys.stderr is not None and sys.stderr.isatty()


def how_far(done: int, total: int | None, unit: str, seconds: float) -> str:
    """What share of how many steps is done, and about how long the others take, or how long it took.

    Nothing is said of the others until ``ENOUGH`` of the steps are done.

    Examples
    --------
    >>> from modae.utils.parallel import how_far
    >>> how_far(500, 2000, "row", 4.0), how_far(500, None, "row", 200.0)
    ('25%, 500 of 2,000 rows, about 10 s left', '500 rows, 3 min so far')
    """
    left = total is not None and ENOUGH[unit] * total <= done < total
    known = f"{done:,} {unit}s, " * bool(done)
    if total and done:
        known = f"{done / total:.0%}, {done:,} of {total:,} {unit}s, "
        seconds *= total / done - 1.0 if left else 1.0
    size = "s" if seconds < 120.0 else "min" if seconds < 7200.0 else "h"
    time = seconds / {"s": 1.0, "min": 60.0, "h": 3600.0}[size]
    about = max(time, 1.0) if time < 10.0 else 5.0 * round(time / 5.0)
    return f"{known}about {about:.0f} {size} left" if left else f"{known}{time:.0f} {size} so far"
