"""A table that was surveyed and is ready to be fitted, in memory or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modae.cli.errors import Mistake
from modae.cli.options import FitOptions
from modae.cli.steps import Steps, through
from modae.cli.survey import Survey
from modae.cli.tables import BATCH_BYTES
from modae.cli.talk import Report, Talk
from modae.cli.targets import Target
from modae.ensembles.labels import stratified
from modae.sources.batches import open_batches


@dataclass(frozen=True, eq=False)
class Problem:
    """A table that was surveyed, the steps before the modules, and where to say what."""

    options: FitOptions
    found: Survey
    front: Steps
    target: Target | None
    talk: Talk
    report: Report

    def some_rows(self, most: int) -> tuple[Any, Target | None]:
        """At most so many rows in memory, after the steps, with their targets."""
        sample, target = self.found.sample, self.target
        rows = sample.rows
        places = sample.places
        if rows.shape[0] > most:
            classify = target is not None and target.classify
            labels = target.values[places] if target and classify else np.zeros(len(places))
            some = stratified(labels, most, self.options.seed)
            places, rows = places[some], rows.iloc[some] if hasattr(rows, "iloc") else rows[some]
        rows = through(self.front, rows)
        return rows, None if target is None else replace(target, values=target.values[places])

    @property
    def width(self) -> int:
        """Columns after the steps."""
        return through(self.front, self.found.sample.rows[:1]).shape[1]

    @contextmanager
    def all_rows(self, passes: int) -> Iterator[Any]:
        """All rows after the steps: in memory where they fit, else batches that are read again."""
        if self.found.sample.is_whole:
            with self.talk.stage("Fitting"):
                yield through(self.front, self.found.sample.rows)
            return
        self.report.note("Larger than 128 MB: the table was read again for the fit, batch by batch.")
        with self.talk.stage("Fitting", passes * self.found.n_rows) as advance:

            def fresh() -> Iterator[Any]:
                for batch in self.found.table.batches(self.found.wanted):
                    yield through(self.front, batch.rows)
                    advance(batch.rows.shape[0])

            yield open_batches(fresh, batch_size=max(1, BATCH_BYTES // (8 * self.width)))


def one_size(options: FitOptions, width: int) -> int:
    """Components of each module: as asked, or a third of the columns, at most 10."""
    sizes = check_sizes(options, width)
    return sizes[0] if sizes else max(1, min(10, width // 3))


def check_sizes(options: FitOptions, width: int) -> list[int]:
    """The sizes that were asked for, none larger than the number of columns."""
    sizes = options.sizes()
    if sizes and sizes[-1] > width:
        raise Mistake(
            f"--components {sizes[-1]}: there are {width} columns; give fewer, such as a third of them."
        )
    return sizes
