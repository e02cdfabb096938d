r"""The covariance of rows as an operator: products with blocks of vectors, and no matrix D x D or n x n.

With shares :math:`s` of the rows and :math:`C=\mathrm{diag}(\sqrt s)\,(X-\mathbf 1\mu^T)` the covariance
is :math:`C^TC` and the Gram matrix :math:`CC^T`. They have the same non-zero eigenvalues, so an
iteration may use the smaller one: :math:`C^T` takes its vectors to principal axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse

from modae.data.moments import largest_spread, unit_of
from modae.data.rows import Rows, centred_squares, mean_row, row_blocks, shifted_blocks
from modae.data.spectrum import KeptRows
from modae.utils.arrays import Array

#: Columns of a block that sparse rows are multiplied with at once: few enough to stay in the cache of
#: a processor. The pieces are the same for any number of threads, so the result is too.
PIECE = 8


@dataclass(frozen=True, eq=False)
class CentredData:
    """Rows in their unit, with mean and shares: covariance and Gram matrix as operators.

    Products are made in the precision of the rows and answered in float64. Dense rows are shifted block
    by block and the blocks summed in float64; sparse rows stay sparse, and use all processors.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.data.covariance import CentredData
    >>> from modae.data.spectrum import KeptRows
    >>> data = CentredData.of(KeptRows(np.array([[1.0, 5.0], [3.0, 5.0]])))
    >>> data.covariance_times(np.array([[1.0], [1.0]])).tolist(), data.total_variance
    ([[1.0], [0.0]], 1.0)
    """

    rows: Rows
    mean: Array
    shares: Array
    unit: float

    @classmethod
    def of(cls, kept: KeptRows) -> CentredData:
        """The rows as they are, unless their squares would not fit in their precision."""
        unit = unit_of(largest_spread(kept.rows), kept.rows.dtype)
        rows = kept.rows if unit == 1.0 else kept.rows / unit
        return cls(rows, mean_row(rows, kept.weights), kept.shares, unit)

    @cached_property
    def total_variance(self) -> float:
        """Trace of the covariance; 0 if all rows are equal to round-off."""
        total = float(self.shares @ centred_squares(self.rows, self.mean))
        noise = 4.0 * float(np.finfo(self.rows.dtype).eps) * float(np.linalg.norm(self.mean))
        return total if total > noise**2 else 0.0

    @property
    def is_wide(self) -> bool:
        """Whether there are fewer rows than features, so that the Gram matrix is the smaller one."""
        return bool(self.rows.shape[0] < self.rows.shape[1])

    def smaller_times(self, block: Array) -> Array:
        """The smaller of the two matrices times a block of vectors."""
        return self.gram_times(block) if self.is_wide else self.covariance_times(block)

    def covariance_times(self, block: Array) -> Array:
        """The covariance times a block of vectors (D, k)."""
        if issparse(self.rows):
            return self._adjoint_of_sparse(self.shares[:, None] * self._sparse_times(block))
        # Each block of rows is shifted once for both products.
        total = np.zeros((self.rows.shape[1], block.shape[1]))
        block, shares = self._as_rows(block), self._as_rows(self.shares)[:, None]
        for cut, rows in zip(row_blocks(self.rows), self._shifted(), strict=True):
            total += rows.T @ (shares[cut] * (rows @ block))
        return total

    def gram_times(self, block: Array) -> Array:
        """The Gram matrix times a block of vectors (n, k)."""
        axes = self.axes_from(block)
        roots = np.sqrt(self.shares)[:, None]
        if issparse(self.rows):
            return roots * self._sparse_times(axes)
        axes = self._as_rows(axes)
        product: Array = roots * np.concatenate([rows @ axes for rows in self._shifted()])
        return product

    def axes_from(self, block: Array) -> Array:
        """From vectors of the Gram matrix (n, k) to those of the covariance (D, k), of other length."""
        block = np.sqrt(self.shares)[:, None] * block
        if issparse(self.rows):
            return self._adjoint_of_sparse(block)
        total = np.zeros((self.rows.shape[1], block.shape[1]))
        block = self._as_rows(block)
        for cut, rows in zip(row_blocks(self.rows), self._shifted(), strict=True):
            total += rows.T @ block[cut]
        return total

    def _shifted(self) -> Iterator[Array]:
        return shifted_blocks(self.rows, self._as_rows(self.mean))

    def _as_rows(self, values: Array) -> Array:
        """In the precision of the rows."""
        return values.astype(self.rows.dtype, copy=False)

    def _sparse_times(self, block: Array) -> Array:
        """Centred sparse rows times a block (D, k)."""
        product = in_pieces(lambda piece: self.rows @ piece, self._as_rows(block))
        product -= self.mean @ block
        return product

    def _adjoint_of_sparse(self, block: Array) -> Array:
        """The transpose of the centred sparse rows times a block (n, k)."""
        turned = self.rows.T
        product = in_pieces(lambda piece: turned @ piece, self._as_rows(block))
        product -= np.outer(self.mean, block.sum(axis=0))
        return product


def in_pieces(multiply: Callable[[Array], Array], block: Array) -> Array:
    """The product with a block (a, k), some columns at a time in threads of their own, in float64.

    Products of scipy's sparse matrices let other threads run.
    """
    pieces = [
        np.ascontiguousarray(block[:, cut : cut + PIECE]) for cut in range(0, block.shape[1], PIECE)
    ]
    # One inside a worker of joblib: as many threads as cores in each would only get in their way.
    with ThreadPoolExecutor(effective_n_jobs(-1)) as pool:
        parts = list(pool.map(multiply, pieces))
    return np.concatenate(parts, axis=1, dtype=np.float64)
