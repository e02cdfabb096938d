"""Arrays that stay on the workers of dask: the codes of each module, and what is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from dask.base import compute, persist
from dask.delayed import Delayed, delayed

from modae.data.placed_parts import Parts, Task
from modae.utils.parallel import in_one_thread


class DaskParts(Parts):
    """Parts of all rows, each in pieces, one for each chunk: nothing is computed until it is needed.

    Parameters
    ----------
    pieces : sequence of sequences of Delayed
        For each part, its arrays (rows of a chunk, columns) in the order of the rows.
    shared : mapping of str to Delayed
        Arguments of all functions: they travel to a worker once, not with each task.
    """

    def __init__(
        self, pieces: Sequence[Sequence[Delayed]], shared: dict[str, Delayed] | None = None
    ) -> None:
        self.pieces = pieces
        self.shared = shared or {}
        self._wholes: dict[int, Delayed] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    def run(
        self,
        tasks: Sequence[Task],
        n_jobs: int | None = None,
        advance: Callable[[], object] | None = None,
        **shared: Any,
    ) -> list[Any]:
        """``function(part, **shared)`` for each task, on the workers; only the answers come here."""
        given = self.shared | {name: opaque(value) for name, value in shared.items()}
        work = [
            opaque(partial(in_one_thread, function))(self._whole(place), **given)
            for place, function in tasks
        ]
        answers = list(compute(*work))
        if advance is not None:
            for _ in answers:
                advance()
        return answers

    def fold(self, states: Sequence[Any], step: Callable[..., Any], **shared: Any) -> list[Any]:
        """``state = step(state, piece, **shared)`` for each part over its pieces: the last states."""
        given = {name: opaque(value) for name, value in shared.items()}
        advance, work = opaque(partial(in_one_thread, step)), []
        for state, pieces in zip(map(opaque, states), self.pieces, strict=True):
            for piece in pieces:
                state = advance(state, piece, **given)
            work.append(state)
        return list(compute(*work))

    def derived(self, functions: Sequence[Callable[..., Any]]) -> DaskParts:
        """Parts that are ``function(part 0)`` for each function, computed on the workers."""
        return DaskParts([[opaque(each)(self._whole(0))] for each in functions])

    def keep(self, **shared: Any) -> DaskParts:
        """The same parts, whole, computed once and kept on the workers, with what all tasks need."""
        named = {name: opaque(value) for name, value in shared.items()}
        wholes = [self._whole(place) for place in range(len(self))]
        kept = persist(*wholes, *named.values())
        names = dict(zip(named, kept[len(wholes) :], strict=True))
        return DaskParts([[each] for each in kept[: len(wholes)]], self.shared | names)

    def _whole(self, place: int) -> Delayed:
        """All rows of a part in one array, on some worker; several tasks share it."""
        if place not in self._wholes:
            pieces = list(self.pieces[place])
            self._wholes[place] = pieces[0] if len(pieces) == 1 else delayed(_joined)(pieces)
        return self._wholes[place]


def opaque(value: Any) -> Any:
    """A value in the graph as it is: dask looks for its own objects in lists and dataclasses."""
    return delayed(value, traverse=False, pure=False)


def _joined(pieces: list[np.ndarray]) -> np.ndarray:
    """One array; what arrives from elsewhere may not be aligned, and would round differently."""
    return np.require(np.concatenate(pieces), requirements="A")
