"""Modules at the same time, in threads that share the cores instead of each using all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")


def in_threads(
    function: Callable[..., Result], arguments: Sequence[Sequence[Any]], n_jobs: int | None
) -> list[Result]:
    """``[function(*each) for each in arguments]``, ``n_jobs`` at a time and in order.

    Threads, because what is slow here (products, trees, solvers) releases the interpreter's lock and
    the data need no copies. While several run, BLAS and OpenMP get the cores that are left for each.
    """
    jobs = min(effective_n_jobs(n_jobs), max(1, len(arguments)))
    share = threadpool_limits(max(1, cpu_count() // jobs)) if jobs > 1 else nullcontext()
    with share:
        tasks = (delayed(function)(*each) for each in arguments)
        return list(Parallel(n_jobs=jobs, prefer="threads")(tasks))
