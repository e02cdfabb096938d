r"""Bootstrap samples as weights that know nothing of each other.

A bootstrap sample of n rows gives each row a count. Multinomial counts, n draws from n rows, depend on
all rows at once. Poisson counts of mean 1 are their limit and are independent, so the count of a row
can be a pure function of (seed, module, index of the row): any chunking of the data, any order of the
modules and any number of workers gives the same sample. A counter-based generator (Philox) makes it so:
the index of the row is the counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, factorial

import numpy as np
from numpy.typing import NDArray

from modae.data.rows import Rows
from modae.data.spectrum import KeptRows
from modae.data.summary import DataSummary

#: Distribution of a Poisson count of mean 1; beyond 17 lies less than 1e-16.
_CUMULATED = np.cumsum([exp(-1.0) / factorial(k) for k in range(18)])

#: Numbers that Philox makes from one value of its counter.
_PER_COUNTER = 4


def bootstrap_counts(seed: int, module: int, start: int, stop: int) -> NDArray[np.int64]:
    """Counts of the rows ``start`` to ``stop - 1`` in the bootstrap sample of one module.

    Examples
    --------
    >>> from modae.data.bootstrap import bootstrap_counts
    >>> bootstrap_counts(seed=2, module=3, start=0, stop=8).tolist()
    [2, 4, 1, 1, 2, 1, 1, 2]
    >>> bootstrap_counts(seed=2, module=3, start=5, stop=8).tolist()
    [1, 1, 2]
    """
    first, skip = divmod(start, _PER_COUNTER)
    generator = np.random.Philox(key=[seed, module], counter=first)
    raw = generator.random_raw(skip + stop - start)[skip:]
    uniform = (raw >> np.uint64(11)) * 2.0**-53
    return np.searchsorted(_CUMULATED, uniform, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Resamples:
    """A stream of all rows, and one of the bootstrap sample of each module: they grow together."""

    whole: DataSummary
    samples: tuple[DataSummary, ...]

    @classmethod
    def of(cls, rows: Rows, seed: int, n_modules: int, start: int = 0) -> Resamples:
        """Resamples of rows of which the first has index ``start``: the rows, with counts as weights."""
        samples = []
        for module in range(n_modules):
            counts = bootstrap_counts(seed, module, start, start + rows.shape[0]).astype(np.float64)
            # The rows themselves, not copies: a count of 0 is a row that is not there.
            samples.append(DataSummary(pending=(KeptRows(rows, counts),) if counts.any() else ()))
        return cls(DataSummary.of(rows), tuple(samples))

    def join(self, other: Resamples) -> Resamples:
        """Resamples of all rows of both."""
        pairs = zip(self.samples, other.samples, strict=True)
        return Resamples(self.whole.join(other.whole), tuple(one.join(two) for one, two in pairs))

    def of_module(self, module: int) -> DataSummary:
        """The sample of a module. One that draws no row at all takes every row once."""
        sample = self.samples[module]
        return self.whole if sample.is_empty else sample
