"""Arrays with the same rows, such as the codes of each module, and work on each where it lies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from operator import call
from typing import Any

from modae.utils.parallel import run_parallel

#: The place of a part, and a function of it and of what is shared.
Task = tuple[int, Callable[..., Any]]


class Parts(ABC):
    """Parts in this process, or elsewhere."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of parts."""

    @abstractmethod
    def run(
        self,
        tasks: Sequence[Task],
        n_jobs: int | None = None,
        advance: Callable[[], object] | None = None,
        **shared: Any,
    ) -> list[Any]:
        """``function(part, **shared)`` for each task, where the part is; ``advance()`` after each."""

    @abstractmethod
    def derived(self, functions: Sequence[Callable[..., Any]]) -> Parts:
        """Parts that are ``function(part 0)``, one for each function."""

    @abstractmethod
    def keep(self, **shared: Any) -> Parts:
        """The same parts, computed and kept for many tasks, with arguments that all of these need."""


class HeldParts(Parts):
    """Parts in memory."""

    def __init__(self, arrays: Sequence[Any], **shared: Any) -> None:
        self.arrays = arrays
        self.shared = shared

    def __len__(self) -> int:
        return len(self.arrays)

    def run(
        self,
        tasks: Sequence[Task],
        n_jobs: int | None = None,
        advance: Callable[[], object] | None = None,
        **shared: Any,
    ) -> list[Any]:
        """Several at a time, by joblib."""
        given = self.shared | shared
        calls = [(partial(function, **given), self.arrays[place]) for place, function in tasks]
        return run_parallel(call, calls, n_jobs, advance)

    def derived(self, functions: Sequence[Callable[..., Any]]) -> HeldParts:
        """Computed at once."""
        return HeldParts([function(self.arrays[0]) for function in functions])

    def keep(self, **shared: Any) -> HeldParts:
        """They are here."""
        return HeldParts(self.arrays, **self.shared, **shared)
