"""Everything seen so far, in the smallest exact form: the summary of the data behind a model.

Rows are kept as they are while there are fewer of them than features. Then they become moments, D x D,
and later rows are gathered until there are D of them again, so that one-row batches cost little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from modae.data.krylov import spectrum_by_krylov
from modae.data.moments import Moments, moments_of_rows
from modae.data.rows import Rows, mean_row, on_host
from modae.data.spectrum import KeptRows, Spectrum, spectrum_of_gram, spectrum_of_moments
from modae.utils.arrays import Array, Precision

#: Most bytes for a D x D or n x n matrix, or for kept rows: 2 GiB, that is D = 16,384.
MEMORY_LIMIT = 1 << 31

#: Up to this many rows or features, whichever is less, "auto" finds the exact spectrum.
EXACT_LIMIT = 5_000


@dataclass(frozen=True, eq=False)
class DataSummary:
    """A summary that grows: adding rows gives a new one and leaves the old as it was.

    ``pending`` are rows not yet in ``moments``; there are fewer than D of them, except in a summary
    that is made of all the rows at once for a method that needs no moments.
    """

    moments: Moments | None = None
    pending: tuple[KeptRows, ...] = ()

    @classmethod
    def of(cls, rows: Rows, weights: Array | None = None, start: int = 0) -> DataSummary:
        """A summary of these rows, kept as they are, without those of weight 0."""
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        return cls(pending=(KeptRows(rows, weights),) if rows.shape[0] else ())

    @property
    def dtype(self) -> Precision:
        """The lowest precision among the rows seen."""
        seen = [kept.rows.dtype for kept in self.pending]
        seen += [] if self.moments is None else [self.moments.dtype]
        return min(seen, key=lambda dtype: dtype.itemsize)

    @property
    def is_empty(self) -> bool:
        """Whether no row has been seen."""
        return self.moments is None and not self.pending

    @property
    def n_pending(self) -> int:
        """Rows that are kept as they are."""
        return sum(kept.rows.shape[0] for kept in self.pending)

    def join(self, other: DataSummary) -> DataSummary:
        """One summary of all rows of both. Rows that stay pending are copied: a caller may reuse his."""
        longer = DataSummary(_merged(self.moments, other.moments), (*self.pending, *other.pending))
        if longer.n_pending and longer.n_pending >= longer.pending[0].rows.shape[1]:
            return longer.as_moments()
        require_bytes(sum(part.nbytes for part in longer.pending), "keeping the rows takes")
        return replace(longer, pending=(*self.pending, *(part.copy() for part in other.pending)))

    def as_moments(self) -> DataSummary:
        """The same summary with no row pending."""
        if not self.pending:
            return self
        kept = gathered(self.pending)
        require_room(kept.rows.shape[1], "a sum over the rows")
        moments = replace(moments_of_rows(kept.rows, kept.weights), dtype=self.dtype)
        return DataSummary(_merged(self.moments, moments))

    def owned(self) -> DataSummary | None:
        """The same summary without references to a caller's arrays; None if a copy is too large."""
        if sum(part.nbytes for part in self.pending) > MEMORY_LIMIT:
            return None
        return replace(self, pending=tuple(part.copy() for part in self.pending))

    @property
    def mean(self) -> Array:
        """Mean of all rows."""
        if self.moments is None:
            kept = gathered(self.pending)
            return mean_row(kept.rows, kept.weights)
        moments = self.as_moments().moments
        assert moments is not None
        return moments.mean

    @property
    def weight(self) -> float:
        """Number of rows, or the sum of their weights."""
        kept = [
            part.rows.shape[0] if part.weights is None else part.weights.sum() for part in self.pending
        ]
        return float(sum(kept)) + (0.0 if self.moments is None else self.moments.weight)

    @property
    def variances(self) -> Array:
        """Variance of each column."""
        if self.moments is None:
            kept = gathered(self.pending)
            rows = kept.rows.toarray() if sparse.issparse(kept.rows) else on_host(kept.rows)
            return kept.shares @ np.square(rows - mean_row(kept.rows, kept.weights))
        moments = self.as_moments().moments
        assert moments is not None
        return np.diag(moments.covariance) * moments.unit**2

    def standardised(self, mean: Array, factors: Array) -> DataSummary:
        """A summary of the rows minus the mean, with each column multiplied by a factor."""
        pending = tuple(
            replace(part, rows=((on_host(part.rows) - mean) * factors).astype(part.rows.dtype))
            for part in self.pending
        )
        moments = self.moments
        if moments is not None:
            roots = moments.unit * factors
            moments = replace(
                moments,
                shift=(moments.shift - mean) * factors,
                offset=moments.offset * factors,
                covariance=moments.covariance * np.outer(roots, roots),
                unit=1.0,
                cancelled=0.0,
            )
        return DataSummary(moments, pending)

    def decomposed(
        self, n_modules: int, n_components: int | float, method: str = "auto"
    ) -> tuple[DataSummary, Spectrum, int]:
        """The axes that M modules of H components can use, and H: a share of the variance decides it.

        They are found by the route that :func:`choose_route` names.

        Returns
        -------
        summary : DataSummary
            With moments in place of rows, if they were made on the way.
        spectrum : Spectrum
        n_components : int
        """
        n_axes = n_modules * n_components if isinstance(n_components, int) else None
        ready, route = self, "covariance"
        if self.moments is None:
            route = choose_route(self.n_pending, self.pending[0].rows.shape[1], n_axes, method)
            ready = self.as_moments() if route == "covariance" else self
        if route == "covariance":
            moments = ready.as_moments().moments
            assert moments is not None
            whole = spectrum_of_moments(moments, n_axes)
        else:
            kept = gathered(self.pending)
            kept = KeptRows(on_host(kept.rows), kept.weights)
            if route == "gram" or n_axes is None:
                whole = spectrum_of_gram(kept, n_axes)
            else:
                whole = spectrum_by_krylov(kept, n_axes)
        width = n_components if isinstance(n_components, int) else whole.components_for(n_components)
        return ready, whole.leading(n_modules, width), width


def choose_route(n_rows: int, n_features: int, n_axes: int | None, method: str = "auto") -> str:
    """How to find the spectrum of a matrix of rows: "covariance", "gram" or "krylov".

    The smaller side decides between the two exact routes. "auto" leaves them for "krylov" when that
    side is above ``EXACT_LIMIT`` and at least five times as long as the number of axes wanted.
    """
    side = min(n_rows, n_features)
    few = n_axes is not None and 5 * n_axes <= side
    if method == "krylov" or (method == "auto" and side > EXACT_LIMIT and few):
        if n_axes is None or n_axes >= side:
            raise ValueError(
                "spectrum='krylov' finds fewer axes than there are rows and features: it needs an "
                f"integer n_components with n_modules * n_components < {side}; use spectrum='exact'."
            )
        return "krylov"
    require_room(side, "spectrum='exact'")
    return "gram" if n_rows < n_features else "covariance"


REMEDY = (
    "Give all rows to fit at once with spectrum='krylov', which needs no such memory, or reduce the "
    "number of features first."
)


def require_room(side: int, what: str, remedy: str = REMEDY) -> None:
    """Refuse a square matrix of float64 that would not fit."""
    require_bytes(8 * side * side, f"{what} needs a matrix of {side:,} x {side:,} numbers:", remedy)


def require_bytes(needed: int, what: str, remedy: str = REMEDY) -> None:
    """Refuse what would not fit, and say what to do instead."""
    limit = f"over the limit of {MEMORY_LIMIT / 1e9:.1f} GB"
    if needed > MEMORY_LIMIT:
        raise MemoryError(f"{what} {needed / 1e9:.1f} GB, {limit}. {remedy}")


def gathered(parts: tuple[KeptRows, ...]) -> KeptRows:
    """Several sets of rows as one; sparse if any of them is."""
    if len(parts) == 1:
        return parts[0]
    blocks: list[Any] = [on_host(part.rows) for part in parts]
    if any(sparse.issparse(block) for block in blocks):
        rows = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
    else:
        rows = np.concatenate(blocks)
    if all(part.weights is None for part in parts):
        return KeptRows(rows)
    ones = (np.ones(part.rows.shape[0]) if part.weights is None else part.weights for part in parts)
    return KeptRows(rows, np.concatenate(list(ones)))


def _merged(one: Moments | None, other: Moments | None) -> Moments | None:
    if one is None or other is None:
        return one or other
    return one.merge(other)
