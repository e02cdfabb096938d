"""Modules at the same time, in threads that share the cores instead of each using all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


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

    pools = ThreadpoolController()
    limit = _threads_of_each(jobs, pools)
    config = get_config()

    def attempt(*each: Any) -> tuple[Result | None, Exception | None]:
        # OpenMP counts its threads for each thread that uses it, BLAS for the process. Settings of
        # scikit-learn hold for a thread. And joblib would put a text of its own where the cause of an
        # error was.
        try:
            with config_context(**config), pools.limit(limits=limit, user_api="openmp"):
                return function(*each), None
        except Exception as error:
            return None, error

    with pools.limit(limits=limit):
        ends = Parallel(n_jobs=jobs, prefer="threads")(delayed(attempt)(*each) for each in arguments)
    for _, error in ends:
        if error is not None:
            raise error
    return [result for result, _ in ends]


def _threads_of_each(jobs: int, pools: ThreadpoolController) -> int:
    allowed = max((pool["num_threads"] for pool in pools.info()), default=1)
    return min(allowed, max(1, cpu_count() // jobs))
