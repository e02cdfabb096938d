"""Tasks at the same time through joblib, in threads that share the cores instead of each using all.

A progress bar on the terminal counts them, if asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import starmap
from threading import Lock
from typing import Any, TypeVar, cast

from joblib import cpu_count, effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from modae.utils.extras import require

Result = TypeVar("Result")

#: Tasks of :func:`in_one_thread` in this process, and what lets BLAS go after the last one.
_COUNTING = Lock()
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
    jobs = min(effective_n_jobs(n_jobs), max(1, len(arguments)))
    if jobs == 1:
        return _counted(starmap(function, arguments), advance)
    pools = _pools(len(sys.modules))
    allowed = max((pool["num_threads"] for pool in pools.info()), default=1)
    limit = min(allowed, max(1, cpu_count() // jobs))
    tasks = (delayed(_limited)(function, each, limit) for each in arguments)
    with pools.limit(limits=limit):
        return _counted(Parallel(jobs, prefer="threads", return_as="generator")(tasks), advance)


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
def progress_bar(text: str, total: int | None, *, shown: bool) -> Iterator[Callable[..., None]]:
    """A function to call after each step, or with a number of steps; it draws a bar if ``shown``.

    The bar is on stderr. Where the total is not known, None, it only moves.
    """
    if not shown:
        yield lambda steps=1: None
        return
    require("rich", extra="cli", purpose="A progress bar")
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps=1: bar.advance(task, steps)
