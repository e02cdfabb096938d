r"""The leading part of the spectrum of data too wide and too long for an exact one.

A Krylov method finds the leading axes from products with the rows alone. It is not exact, so it
says by how much: let Q be the axes found, :math:`\Theta` their eigenvalues, :math:`R=\Sigma Q-Q\Theta`,
and :math:`\tau=\mathrm{tr}\,\Sigma-\mathrm{tr}\,\Theta`. In the basis of Q and its complement

.. math:: \Sigma=\begin{pmatrix}\Theta&\cdot\\\cdot&\Sigma_{22}\end{pmatrix}+(RQ^T+QR^T),\qquad
          \Sigma_{22}\succeq0,\quad \mathrm{tr}\,\Sigma_{22}=\tau .

For any :math:`0\preceq F\preceq I` the second part adds at most the nuclear norm of R to
:math:`\mathrm{tr}(\Sigma F)` (the *slack*); the best captured variance is convex in the spectrum, so
among all spectra of :math:`\Sigma_{22}` the worst case is one eigenvalue :math:`\tau` (the *hidden*
variance). Eigenvalues raised in this way give a true lower bound, however badly the iteration converged.

With shares :math:`s` of the rows and :math:`C=\mathrm{diag}(\sqrt s)\,(X-\mathbf 1\mu^T)` the covariance
is :math:`C^TC` and the Gram matrix :math:`CC^T`, with the same non-zero eigenvalues; :math:`C^T` takes
vectors of the second to principal axes. Blocks of vectors are multiplied with the smaller one,
which is never formed.

The iteration is block Lanczos with thick restarts. Its basis Q grows by one block at a time: the image
of the last block, made orthogonal to all of Q. Then :math:`AQ=QT+PE`, where A is the smaller matrix and
P the block to come, and the *Ritz pairs* :math:`(\theta,Qs)`, from the eigenpairs
:math:`(\theta,s)` of the small T, have the residual :math:`PEs`: known before P is multiplied. When the
basis is full, it shrinks to its best Ritz vectors and grows again. Blocks find equal eigenvalues
together and keep the processor busy; narrow ones need fewer products. SciPy's ``eigsh`` takes 4
(sparse) to 15 times (dense) as long for the same axes; the power steps of a randomised SVD leave a slack
200 times as large (``python -m benchmarks.lanczos``).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from modae.data.moments import largest_spread, unit_of
from modae.data.rows import Rows, centred_product, centred_squares, mean_row, shifted_blocks
from modae.data.spectrum import KeptRows, Spectrum, tidy
from modae.utils.arrays import Array
from modae.utils.parallel import effective_jobs

#: Axes that the Krylov method finds beyond those asked for: they lower the hidden variance, and make
#: the iteration for the others converge faster.
OVERSAMPLING = 20

#: Vectors in a block. Narrower ones need fewer products, wider ones make better use of the processor.
WIDTH = 16

#: Vectors in a full basis beyond those that are wanted.
ROOM = 256

#: By bytes of a number: the share of the smallest loss by which the captured variance may be too small,
#: and the share of the variance that may be slack where this decides whether a bound is attained.
ACCURACY = {8: 1e-10, 4: 1e-6}

#: Products for each vector that is wanted, at most. Any basis gives a true bound, so there is no need to
#: go on for ever on a flat spectrum.
PATIENCE = 12

#: Columns of a block that sparse rows are multiplied with at once: few enough to stay in the cache of
#: a processor. The pieces are the same for any number of threads, so the result is too.
PIECE = 8


def spectrum_by_krylov(kept: KeptRows, n_axes: int) -> Spectrum:
    """The leading ``n_axes`` axes, from products with the rows alone; inexact, and says by how much."""
    data = CentredData.of(kept)
    basis = leading_basis(data, n_axes)
    return spectrum_in_basis(data, data.axes_from(basis) if data.is_wide else basis)


def leading_basis(data: CentredData, n_axes: int) -> Array:
    """A basis for the leading axes, on the smaller side: (D, K), or (n, K) if there are fewer rows."""
    side = min(data.rows.shape)
    count = min(n_axes + OVERSAMPLING, side - 1)
    if data.total_variance == 0.0:
        return np.eye(side, count)
    if count + ROOM + WIDTH > side:
        return np.eye(side)  # so small that the basis would hold everything
    rng = np.random.default_rng(0)
    iteration = BlockLanczos(data.smaller_times, side, WIDTH, count + ROOM, rng)
    seen = 0
    while True:  # grow and restart until the leading Ritz pairs are good enough, or patience ends
        for _ in range(4):  # a look at the Ritz pairs costs as much as half a block
            if not iteration.is_full:
                iteration.grow()
        ritz = iteration.ritz()
        if iteration.n_products >= PATIENCE * count:
            return iteration.vectors(ritz, count)
        if iteration.size >= count and is_enough(ritz, n_axes, count, data):
            # A block finds at most as many copies of an eigenvalue as it is wide: look for more.
            copies = equal_values(ritz.values[:count])
            if copies < WIDTH or copies == seen:
                return iteration.vectors(ritz, count)
            seen = copies
            iteration.refresh(ritz, count)
        elif iteration.is_full:
            iteration.restart(ritz, count + ROOM // 2)


def is_enough(ritz: Ritz, n_axes: int, count: int, data: CentredData) -> bool:
    r"""Whether more products would change neither the loss nor what can be proven about it.

    A Ritz value with a residual of length r is too small by at most r, and by about
    :math:`r^2/\text{gap}`, where the gap is the distance to the values that are not kept. The slack only
    matters where the hidden variance is so small that the bound may be attained.
    """
    values, residuals = ritz.values[:count], ritz.residuals[:, :count]
    accuracy, total = ACCURACY[data.rows.dtype.itemsize], data.total_variance
    noise = 4.0 * float(np.finfo(data.rows.dtype).eps) * float(values[0])
    lengths = np.linalg.norm(residuals, axis=0)[:n_axes]
    gaps = np.maximum(values[:n_axes] - values[-1], lengths)
    missing = float((lengths**2 / np.maximum(gaps, noise)).sum())
    left = max(0.0, total - float(values[:n_axes].sum()))
    if missing > accuracy * left + noise:
        return False
    if total - float(values.sum()) > values[n_axes - 1]:
        return True
    return bool(np.linalg.norm(residuals, "nuc") <= accuracy * total + count * noise)


def equal_values(values: Array) -> int:
    """How many positive values at most are equal, to one in a million, for values that fall."""
    positive = values[values > 1e-12 * values[0]]
    ends = np.searchsorted(-positive, -positive * (1.0 - 1e-6), side="right")
    return int((ends - np.arange(len(positive))).max())


def spectrum_in_basis(data: CentredData, basis: Array) -> Spectrum:
    """The best axes inside the span of any basis (D, K), with a true account of what it misses."""
    basis = np.linalg.qr(basis)[0]
    image = data.covariance_times(basis)
    small = basis.T @ image
    eigenvalues, rotation = np.linalg.eigh((small + small.T) / 2.0)
    triangle = np.asarray(np.linalg.qr(image - basis @ small, mode="r"))  # same singular values
    hidden = max(0.0, data.total_variance - float(eigenvalues.sum()))
    slack = float(np.linalg.norm(triangle, "nuc"))
    axes, mean = (basis @ rotation[:, ::-1]).T, data.mean * data.unit
    spectrum = Spectrum(mean, axes, eigenvalues[::-1], data.total_variance, data.unit, hidden, slack)
    return tidy(spectrum, data.rows.dtype)


@dataclass(frozen=True, eq=False)
class Ritz:
    """Ritz pairs by falling value.

    Parameters
    ----------
    values : ndarray of shape (m,)
    rotation : ndarray of shape (m, m)
        Takes the basis to the Ritz vectors.
    residuals : ndarray of shape (width, m)
        Residuals in an orthonormal basis of their own: their lengths and angles are the true ones.
    """

    values: Array
    rotation: Array
    residuals: Array


class BlockLanczos:
    """A basis that grows block by block towards the leading eigenvectors.

    Parameters
    ----------
    times : callable
        The operator times a block (side, k).
    side : int
        Length of a vector; ``capacity + width`` must not exceed it.
    width : int
        Vectors in a block.
    capacity : int
        Vectors in a full basis.
    rng : numpy Generator
        Picks the first block, and new directions where the iteration has seen all it can reach.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.data.krylov import BlockLanczos
    >>> eigenvalues = 0.5 ** np.arange(100)
    >>> rng = np.random.default_rng(0)
    >>> iteration = BlockLanczos(lambda block: eigenvalues[:, None] * block, 100, 4, 40, rng)
    >>> for _ in range(8):
    ...     iteration.grow()
    >>> iteration.ritz().values[:3].round(6).tolist()
    [1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        times: Callable[[Array], Array],
        side: int,
        width: int,
        capacity: int,
        rng: np.random.Generator,
    ) -> None:
        self.times = times
        self.rng = rng
        self.width = width
        self.size = 0
        self.n_products = 0
        self._vectors = np.empty((side, capacity), order="F")
        self._small = np.zeros((capacity, capacity))
        self._next: Array = np.linalg.qr(rng.standard_normal((side, width)))[0]
        self._coupling: Array = np.zeros((width, width))

    @property
    def is_full(self) -> bool:
        """Whether another block does not fit."""
        return self.size + self.width > self._vectors.shape[1]

    def grow(self) -> None:
        """Take the next block into the basis, and prepare the one after it."""
        start, self.size = self.size, self.size + self.width
        self._vectors[:, start : self.size] = self._next
        image = self.times(self._next)
        self.n_products += self.width
        inside, self._next, self._coupling = self._split(image)
        self._small[: self.size, start : self.size] = inside
        self._small[start : self.size, : self.size] = inside.T

    def _split(self, image: Array) -> tuple[Array, Array, Array]:
        """``image = basis @ inside + block @ coupling``, the block orthonormal and outside the basis.

        Once is not enough to be orthogonal to round-off, twice is. Directions that vanish have been
        exhausted, so random ones take their place: nothing couples to them.
        """
        basis = self._vectors[:, : self.size]
        inside = basis.T @ image
        image = image - basis @ inside
        block, triangle = np.linalg.qr(image)
        left, lengths, right = np.linalg.svd(triangle)
        block, coupling = block @ left, lengths[:, None] * right  # by falling length
        size = 10.0 * np.sqrt(len(self._vectors)) * np.abs(self._small).max()
        vanished = np.abs(coupling).max(axis=1) <= float(np.finfo(np.float64).eps * size)
        coupling[vanished] = 0.0
        shape = len(image), int(vanished.sum())
        block[:, vanished] = self.rng.standard_normal(shape) / np.sqrt(len(image))
        again = basis.T @ block
        block, triangle = np.linalg.qr(block - basis @ again)
        return inside + again @ coupling, block, triangle @ coupling

    def ritz(self) -> Ritz:
        """The Ritz pairs of the basis as it is."""
        values, rotation = np.linalg.eigh(self._small[: self.size, : self.size])
        rotation = rotation[:, ::-1]
        return Ritz(values[::-1], rotation, self._coupling @ rotation[-self.width :])

    def vectors(self, ritz: Ritz, count: int) -> Array:
        """The leading Ritz vectors, (side, count)."""
        return self._vectors[:, : self.size] @ ritz.rotation[:, :count]

    def refresh(self, ritz: Ritz, count: int) -> None:
        """Restart, with a random next block: what the old one held back does not count any more.

        From one start a block iteration reaches, in exact arithmetic, as many copies of an eigenvalue
        as the block is wide. Another start finds more.
        """
        self.restart(ritz, count)
        _, self._next, _ = self._split(self.rng.standard_normal(self._next.shape))
        self._coupling = np.zeros_like(self._coupling)

    def restart(self, ritz: Ritz, count: int) -> None:
        """Shrink the basis to its leading Ritz vectors. The next block stays: it holds all residuals."""
        self._vectors[:, :count] = self.vectors(ritz, count)
        self._small[:] = 0.0
        np.fill_diagonal(self._small[:count, :count], ritz.values[:count])
        self.size = count


@dataclass(frozen=True, eq=False)
class CentredData:
    """Rows in their unit, with mean and shares: covariance and Gram matrix as operators.

    Products are made in the precision of the rows and answered in float64. Dense rows are shifted block
    by block and the blocks summed in float64; sparse rows stay sparse, and use all processors.

    Examples
    --------
    >>> import numpy as np
    >>> from modae.data.krylov import CentredData
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
            return self._adjoint_times(self.shares[:, None] * self._times(block))
        # Each block of rows is shifted once for both products.
        total = np.zeros((self.rows.shape[1], block.shape[1]))
        block, shares = self._as_rows(block), self._as_rows(self.shares)[:, None]
        for cut, rows in shifted_blocks(self.rows, self.mean):
            total += rows.T @ (shares[cut] * (rows @ block))
        return total

    def gram_times(self, block: Array) -> Array:
        """The Gram matrix times a block of vectors (n, k)."""
        return np.sqrt(self.shares)[:, None] * self._times(self.axes_from(block))

    def axes_from(self, block: Array) -> Array:
        """From vectors of the Gram matrix (n, k) to those of the covariance (D, k), of other length."""
        return self._adjoint_times(np.sqrt(self.shares)[:, None] * block)

    def _as_rows(self, values: Array) -> Array:
        """In the precision of the rows."""
        return values.astype(self.rows.dtype, copy=False)

    def _times(self, block: Array) -> Array:
        """Centred rows times a block (D, k)."""
        if issparse(self.rows):
            return in_pieces(self.rows, self._as_rows(block)) - self.mean @ block
        return centred_product(self.rows, self.mean, block)

    def _adjoint_times(self, block: Array) -> Array:
        """The transpose of the centred rows times a block (n, k)."""
        right = self._as_rows(block)
        if issparse(self.rows):
            return in_pieces(self.rows.T, right) - np.outer(self.mean, block.sum(axis=0))
        total = np.zeros((self.rows.shape[1], block.shape[1]))
        for cut, rows in shifted_blocks(self.rows, self.mean):
            total += rows.T @ right[cut]
        return total


def in_pieces(rows: Rows, block: Array) -> Array:
    """Sparse rows times a block, some columns at a time in threads of their own, in float64.

    Products of scipy's sparse matrices let other threads run.
    """
    pieces = [np.ascontiguousarray(block[:, i : i + PIECE]) for i in range(0, block.shape[1], PIECE)]
    # One inside a worker of joblib: as many threads as cores in each would only get in their way.
    with ThreadPoolExecutor(effective_jobs(-1)) as pool:
        parts = list(pool.map(lambda piece: rows @ piece, pieces))
    return np.concatenate(parts, axis=1, dtype=np.float64)
