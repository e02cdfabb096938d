"""Arrays with the same rows, such as the codes of each module, and work on each where it lies."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import call as called
from typing import Any

from modae.utils.parallel import run_parallel

#: The place of a part, and a function of it and of what is shared.
Task = tuple[int, Callable[..., Any]]


class Parts:
    """Arrays with the same rows, such as the codes of each module, and work on each where it lies.

    Here they lie in this process; those of data elsewhere are a subclass.
    """

    def __init__(self, arrays: Sequence[Any], shared: dict[str, Any] | None = None) -> None:
        self.arrays, self.shared = arrays, shared or {}

    def __len__(self) -> int:
        return len(self.arrays)

    def run(
        self, tasks: Sequence[Task], n_jobs: int | None = None, advance: Any = None, **shared: Any
    ) -> list[Any]:
        """``function(part, **shared)`` for each task, where the part is; ``advance()`` after each."""
        given = self.shared | shared
        calls = [(partial(function, **given), self.arrays[place]) for place, function in tasks]
        return run_parallel(called, calls, n_jobs, advance)

    def derived(self, functions: Sequence[Callable[..., Any]]) -> "Parts":
        """Parts that are ``function(part 0)``, one for each function."""
        return Parts([function(self.arrays[0]) for function in functions])

    def keep(self, **shared: Any) -> "Parts":
        """The same parts, computed and kept for many tasks, with arguments that all of these need."""
        return Parts(self.arrays, self.shared | shared)
