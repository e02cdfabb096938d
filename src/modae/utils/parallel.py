"""Modules at the same time, in threads that share the cores instead of each using all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache
from threading import Event, Lock
from time import perf_counter
from typing import Any, TypeVar

from joblib import cpu_count, effective_n_jobs
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

SMALL = 0.01
"""Seconds. A task that takes less is not worth a thread of its own."""


def in_threads(
    function: Callable[..., Result], arguments: Sequence[Sequence[Any]], n_jobs: int | None
) -> list[Result]:
    """``[function(*each) for each in arguments]``, ``n_jobs`` at a time and in order.

    Threads, because what is slow here (products, trees, solvers) releases the interpreter's lock and
    the data need no copies. While several run, BLAS and OpenMP get the cores that are left for each,
    and never more than the caller allows.
    """
    jobs = min(effective_n_jobs(n_jobs), max(1, len(arguments)))
    if jobs == 1:
        return [function(*each) for each in arguments]

    pools = _pools(len(sys.modules))
    limit = _threads_of_each(jobs, pools)
    config = get_config()
    small, turn = Event(), Lock()

    def task(each: Sequence[Any]) -> Result:
        # OpenMP counts its threads for each thread that uses it, BLAS for the process. Settings of
        # scikit-learn hold for a thread. Small tasks are mostly Python, and would only fight for the
        # interpreter's lock: they take turns.
        with config_context(**config), pools.limit(limits=limit, user_api="openmp"):
            with turn if small.is_set() else nullcontext():
                start = perf_counter()
                result = function(*each)
            if perf_counter() - start < SMALL:
                small.set()
            return result

    with pools.limit(limits=limit), ThreadPoolExecutor(jobs) as executor:
        return list(executor.map(task, arguments))


@lru_cache(maxsize=1)
def _pools(n_modules: int) -> ThreadpoolController:
    """The pools of threads in this process. Looking for them takes long; imports may bring new ones."""
    return ThreadpoolController()


def _threads_of_each(jobs: int, pools: ThreadpoolController) -> int:
    allowed = max((pool["num_threads"] for pool in pools.info()), default=1)
    return min(allowed, max(1, cpu_count() // jobs))
